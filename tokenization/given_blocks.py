"""Reads blocks and encodings that a caller hands back: lists, arrays or tensors, of one text or of several."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .block_coders import Integers


def as_blocks(value: Any, block_size: int) -> Integers:
    """Returns the blocks of one text, (S, K) int64; a single block, (K,), becomes (1, K).

    Raises:
        ValueError: the last axis is not K = `block_size` elements.

    >>> as_blocks([2, 0, 0], block_size=3)
    array([[2, 0, 0]])
    """
    try:
        blocks = np.asarray(value, dtype=np.int64)
    except ValueError:
        raise ValueError(
            f"got blocks that differ in length, but this tokenizer's blocks have {block_size} elements each; "
            "give what this tokenizer returned."
        ) from None
    if blocks.shape == (0,):
        blocks = blocks.reshape(0, block_size)
    if blocks.ndim not in (1, 2) or blocks.shape[-1] != block_size:
        raise ValueError(
            f"got blocks of shape {blocks.shape}, but this tokenizer's blocks have shape (units, {block_size}); "
            "give what this tokenizer returned, or load the tokenizer that wrote them."
        )
    return blocks.reshape(-1, block_size)


def as_columns(encoded: Any, block_size: int) -> tuple[dict[str, list[Any]], bool]:
    """Returns the values of each row, by name, and whether a batch was given; `input_ids` are arrays (S, K) int64.

    `encoded` is what the tokenizer returned: a mapping of names to the values of one row or of a batch, or a list of
    mappings, one for each row.

    Raises:
        ValueError: `input_ids` is missing, or its blocks have another size.
    """
    if not isinstance(encoded, Mapping):
        names = encoded[0].keys() if encoded else ["input_ids"]
        encoded = {name: [row[name] for row in encoded] for name in names}
    if "input_ids" not in encoded:
        raise ValueError(f"pad got {sorted(encoded)}; it needs input_ids as this tokenizer returns them.")
    is_batch = depth(encoded["input_ids"]) != 2
    columns = {name: list(values) if is_batch else [values] for name, values in encoded.items() if values is not None}
    columns["input_ids"] = [as_blocks(row, block_size) for row in columns["input_ids"]]
    return columns, is_batch


def depth(value: Any) -> int:
    """Returns the nesting depth of a sequence, array or tensor; an empty sequence has depth 3, as a batch has."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape)
    if not isinstance(value, (list, tuple)):
        return 0
    return 1 + (depth(value[0]) if len(value) else 2)
