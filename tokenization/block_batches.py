"""Blocks as callers hand them back: lists, arrays or tensors, of one text or of several."""

from typing import Any

import numpy as np

from .block_coders import Integers


def as_blocks(value: Any, block_size: int) -> Integers:
    """Returns (S, K) int64 of the blocks of one text; a block alone, (K,), is one of S = 1.

    Raises:
        ValueError: they are no blocks of K = `block_size` elements.

    >>> as_blocks([2, 0, 0], block_size=3)
    array([[2, 0, 0]])
    """
    try:
        blocks = np.asarray(value, dtype=np.int64)
    except ValueError:
        raise ValueError(
            f"got blocks that differ in length, where this tokenizer's have {block_size} elements each; "
            "give what this tokenizer returned."
        ) from None
    if blocks.shape == (0,):
        blocks = blocks.reshape(0, block_size)
    if blocks.ndim not in (1, 2) or blocks.shape[-1] != block_size:
        raise ValueError(
            f"got blocks of shape {blocks.shape}, where this tokenizer's are (units, {block_size}); "
            "give what this tokenizer returned, or load the tokenizer that wrote them."
        )
    return blocks.reshape(-1, block_size)


def depth(value: Any) -> int:
    """Returns how deep a nested sequence, array or tensor is; an empty one counts as a batch."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape)
    if not isinstance(value, (list, tuple)):
        return 0
    return 1 + (depth(value[0]) if len(value) else 2)
