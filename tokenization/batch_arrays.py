"""The arrays that a call returns, by name, and their forms: nested lists or tensors."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.tokenization_utils_base import BatchEncoding

from .block_coders import NUM_SPECIAL, Elements, Integers
from .block_encodings import BlockEncoding
from .padding import PAD_VALUES, BatchArray, RowPadding


def is_requested(name: str, flag: bool | None, model_input_names: Collection[str]) -> bool:
    """Returns whether a call returns an array: `flag` if the caller gave one, else whether models take the array."""
    return name in model_input_names if flag is None else flag


def requested_arrays(
    blocks: Elements,
    type_ids: Integers | None,
    padding: RowPadding,
    encodings: Sequence[BlockEncoding],
    model_input_names: Collection[str],
    flags: Mapping[str, Any],
) -> dict[str, BatchArray]:
    """Returns `input_ids` and the other arrays that the caller requests, by name.

    Args:
        blocks: (tokens, K), the blocks of all rows end to end, special tokens included.
        type_ids: (tokens,), or None if all are 0.
        padding: pads the rows.
        encodings: the offsets and lengths of the rows.
        model_input_names: the arrays that models take.
        flags: the library's arguments `return_token_type_ids`, `return_attention_mask`, `return_special_tokens_mask`,
            `return_offsets_mapping` and `return_length`; each may be missing.
    """
    data: dict[str, BatchArray] = {"input_ids": padding.pad_rows(blocks, PAD_VALUES["input_ids"])}
    if is_requested("token_type_ids", flags.get("return_token_type_ids"), model_input_names):
        value = PAD_VALUES["token_type_ids"]
        data["token_type_ids"] = padding.zeros() if type_ids is None else padding.pad_rows(type_ids, value)
    if is_requested("attention_mask", flags.get("return_attention_mask"), model_input_names):
        data["attention_mask"] = padding.mask()
    if flags.get("return_special_tokens_mask"):
        is_special = (blocks[:, 0] < NUM_SPECIAL).astype(np.int64)
        data["special_tokens_mask"] = padding.pad_rows(is_special, PAD_VALUES["special_tokens_mask"])
    if flags.get("return_offsets_mapping"):
        data["offset_mapping"] = [encoding.offsets for encoding in encodings]
    if flags.get("return_length"):
        data["length"] = np.array([len(encoding) for encoding in encodings], dtype=np.int64)
    return data


def to_lists(data: Mapping[str, BatchArray], is_batch: bool) -> dict[str, Any]:
    """Returns the arrays as nested lists: all rows if `is_batch`, else the values of the only row."""
    lists = {
        name: rows.tolist()
        if isinstance(rows, np.ndarray)
        else [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
        for name, rows in data.items()
    }
    return lists if is_batch else {name: rows[0] for name, rows in lists.items()}


def to_tensors(data: Mapping[str, BatchArray], kind: Any) -> dict[str, Any]:
    """Returns the arrays as tensors of a kind that `transformers` has, such as "pt" or "np".

    Raises:
        ValueError: the rows of a name differ in length, or are not numbers.
    """
    if kind == "pt":
        return {name: torch.from_numpy(_stack(name, rows)) for name, rows in data.items()}
    arrays = {name: _stack(name, rows) for name, rows in data.items()}
    return arrays if kind == "np" else BatchEncoding(arrays, tensor_type=kind).data


def _stack(name: str, rows: BatchArray) -> NDArray[Any]:
    """Returns one array of int64, float32 or bool for all rows."""
    if isinstance(rows, np.ndarray) and rows.dtype == np.int64:
        return rows
    if not isinstance(rows, np.ndarray):
        rows = [np.asarray(row) for row in rows]
        shapes = {row.shape for row in rows}
        if len(shapes) > 1:
            lengths = sorted({len(row) if row.ndim else 1 for row in rows})
            raise ValueError(
                f"return_tensors needs rows of one length, but the rows of {name} have lengths {lengths}; "
                "give padding=True, and truncation=True if needed."
            )
        rows = np.stack(rows) if rows else np.zeros(0, dtype=np.int64)
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"return_tensors needs numbers, but {name} holds no numbers; leave it out, or give None.")
    if rows.dtype.kind == "f":
        return rows.astype(np.float32)  # as torch makes of Python floats
    return rows if rows.dtype.kind == "b" else rows.astype(np.int64, copy=False)
