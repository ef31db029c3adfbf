"""Padding: rows of different lengths, standing end to end, become one array; arrays become lists or tensors."""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.tokenization_utils_base import BatchEncoding
from transformers.utils.generic import PaddingStrategy

# What each name is padded with; other names are not padded.
PAD_VALUES = {"input_ids": 0, "attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1}

Rows = NDArray[Any] | Sequence[Any]  # an array, or a list of one array or list per row where their lengths differ


def padded_width(
    lengths: Sequence[int], strategy: PaddingStrategy, max_length: int | None, multiple: int | None
) -> int | None:
    """Returns the length that all rows are padded to, or None where there is to be no padding."""
    if strategy == PaddingStrategy.DO_NOT_PAD:
        return None
    width = max(lengths, default=0)
    if strategy == PaddingStrategy.MAX_LENGTH and max_length is not None:
        width = max(width, max_length)
    return -(-width // multiple) * multiple if multiple else width


class Layout:
    """Where rows that stand end to end go in a batch.

    Args:
        lengths: of each row.
        width: see `padded_width`; None does not pad.
        side: which side is padded, "right" or "left".

    >>> Layout([1, 2], width=3, side="left").spread(np.array([7, 8, 9]), value=0).tolist()
    [[0, 0, 7], [0, 8, 9]]
    """

    def __init__(self, lengths: Sequence[int], width: int | None, side: str) -> None:
        self._lengths, self._side = lengths, side
        shortest, longest = (min(lengths), max(lengths)) if lengths else (0, 0)
        self._is_ragged = width is None and shortest != longest
        self._width = longest if width is None else width
        self._is_full = shortest == self._width

    @cached_property
    def padding(self) -> list[tuple[int, int]]:
        """Positions of padding on the left and on the right of each row."""
        missing = [0 if self._is_ragged else self._width - length for length in self._lengths]
        return [(count, 0) if self._side == "left" else (0, count) for count in missing]

    @cached_property
    def _inside(self) -> NDArray[np.bool_]:
        inside = np.arange(self._width) < np.array(self._lengths)[:, None]
        return inside[:, ::-1] if self._side == "left" else inside

    def zeros(self) -> Rows:
        """Returns rows of 0, int64."""
        if self._is_ragged:
            return [np.zeros(length, dtype=np.int64) for length in self._lengths]
        return np.zeros((len(self._lengths), self._width), dtype=np.int64)

    def mask(self) -> Rows:
        """Returns rows of 1, padded with 0, int64."""
        if self._is_ragged:
            return [np.ones(length, dtype=np.int64) for length in self._lengths]
        if not self._is_full:
            return self._inside.astype(np.int64)
        rows = np.empty((len(self._lengths), self._width), dtype=np.int64)
        rows.fill(1)  # np.ones takes twice as long for a single text
        return rows

    def spread(self, flat: NDArray[Any], value: int) -> Rows:
        """Returns the rows of `flat`, (sum of lengths, …), each padded with `value`."""
        if self._is_ragged:
            ends = accumulate(self._lengths)
            return [flat[end - length : end] for length, end in zip(self._lengths, ends, strict=True)]
        shape = (len(self._lengths), self._width, *flat.shape[1:])
        if self._is_full:
            return flat.reshape(shape)
        rows = np.full(shape, value, dtype=flat.dtype)
        rows[self._inside] = flat
        return rows


def to_lists(data: dict[str, Rows], is_batch: bool) -> dict[str, Any]:
    """Returns the rows as nested lists; of a batch of one that is no batch, that row."""
    lists = {
        name: rows.tolist()
        if isinstance(rows, np.ndarray)
        else [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
        for name, rows in data.items()
    }
    return lists if is_batch else {name: rows[0] for name, rows in lists.items()}


def to_tensors(data: dict[str, Rows], kind: Any) -> dict[str, Any]:
    """Returns the rows as tensors of a kind that `transformers` knows: "pt", "np", ….

    Raises:
        ValueError: the rows of a name differ in length, or hold something else than numbers.
    """
    if kind == "pt":
        return {name: torch.from_numpy(_stack(name, rows)) for name, rows in data.items()}
    arrays = {name: _stack(name, rows) for name, rows in data.items()}
    return arrays if kind == "np" else BatchEncoding(arrays, tensor_type=kind).data


def _stack(name: str, rows: Rows) -> NDArray[Any]:
    if isinstance(rows, np.ndarray) and rows.dtype == np.int64:
        return rows
    if not isinstance(rows, np.ndarray):
        rows = [np.asarray(row) for row in rows]
        shapes = {row.shape for row in rows}
        if len(shapes) > 1:
            lengths = sorted({len(row) if row.ndim else 1 for row in rows})
            raise ValueError(
                f"tensors were asked for, but the rows of {name} have lengths {lengths}; "
                "give padding=True, and truncation=True if needed."
            )
        rows = np.stack(rows) if rows else np.zeros(0, dtype=np.int64)
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"tensors were asked for, but {name} holds no numbers; leave it out, or return_tensors=None.")
    if rows.dtype.kind == "f":
        return rows.astype(np.float32)  # as torch makes of Python floats
    return rows if rows.dtype.kind == "b" else rows.astype(np.int64, copy=False)
