"""Padding: rows of different lengths, given end to end, become one array."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers.utils.generic import PaddingStrategy

# The padding value of each name; other names are not padded.
PAD_VALUES = {"input_ids": 0, "attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1}

BatchArray = NDArray[Any] | Sequence[Any]  # one array for all rows, or a list of arrays or lists, one for each row


def padded_width(
    lengths: Sequence[int], strategy: PaddingStrategy, max_length: int | None, multiple: int | None
) -> int | None:
    """Returns the length that all rows are padded to, or None if they are not padded."""
    if strategy == PaddingStrategy.DO_NOT_PAD:
        return None
    width = max(lengths, default=0)
    if strategy == PaddingStrategy.MAX_LENGTH and max_length is not None:
        width = max(width, max_length)
    return -(-width // multiple) * multiple if multiple else width


class RowPadding:
    """The lengths of a batch's rows, and where their padding is.

    Args:
        lengths: number of tokens of each row.
        width: the length that rows are padded to, at least the longest; None: rows are not padded.
        side: which side is padded, "right" or "left".

    >>> RowPadding([1, 2], width=3, side="left").pad_rows(np.array([7, 8, 9]), value=0).tolist()
    [[0, 0, 7], [0, 8, 9]]
    """

    def __init__(self, lengths: Sequence[int], width: int | None, side: str) -> None:
        self.lengths, self._side = lengths, side
        shortest, longest = (min(lengths), max(lengths)) if lengths else (0, 0)
        self._is_ragged = width is None and shortest != longest
        self._width = longest if width is None else width
        self._is_full = shortest == self._width

    @cached_property
    def counts(self) -> list[tuple[int, int]]:
        """The number of padding positions on the left and on the right of each row."""
        missing = [0 if self._is_ragged else self._width - length for length in self.lengths]
        return [(count, 0) if self._side == "left" else (0, count) for count in missing]

    @cached_property
    def _is_token(self) -> NDArray[np.bool_]:
        """Whether each position holds a token, (rows, width)."""
        is_token = np.arange(self._width) < np.array(self.lengths)[:, None]
        return is_token[:, ::-1] if self._side == "left" else is_token

    def zeros(self) -> BatchArray:
        """Returns 0 for each position, int64."""
        if self._is_ragged:
            return [np.zeros(length, dtype=np.int64) for length in self.lengths]
        return np.zeros((len(self.lengths), self._width), dtype=np.int64)

    def mask(self) -> BatchArray:
        """Returns 1 for each token and 0 for padding, int64."""
        if self._is_ragged:
            return [np.ones(length, dtype=np.int64) for length in self.lengths]
        if not self._is_full:
            return self._is_token.astype(np.int64)
        ones = np.empty((len(self.lengths), self._width), dtype=np.int64)
        ones.fill(1)  # np.ones takes twice as long for a single text
        return ones

    def pad_rows(self, flat: NDArray[Any], value: int) -> BatchArray:
        """Returns the rows of `flat`, (sum of lengths, …), each padded with `value`."""
        if self._is_ragged:
            ends = accumulate(self.lengths)
            return [flat[end - length : end] for length, end in zip(self.lengths, ends, strict=True)]
        shape = (len(self.lengths), self._width, *flat.shape[1:])
        if self._is_full:
            return flat.reshape(shape)
        padded = np.full(shape, value, dtype=flat.dtype)
        padded[self._is_token] = flat
        return padded


def pad_arrays(columns: Mapping[str, Sequence[Any]], padding: RowPadding) -> dict[str, BatchArray]:
    """Returns each name's values as arrays, padded if `PAD_VALUES` has the name.

    Args:
        columns: name → for each row, its values.
        padding: has the lengths of the rows of `input_ids`.

    Raises:
        ValueError: a name that is padded differs from `input_ids` in the lengths of its rows.
    """
    arrays: dict[str, BatchArray] = {}
    for name, column in columns.items():
        rows = [np.asarray(row) for row in column]
        arrays[name] = rows
        if name in PAD_VALUES and padding.lengths:
            if [len(row) for row in rows] != padding.lengths:
                raise ValueError(f"pad got {name} of other lengths than input_ids; give one value for each block.")
            arrays[name] = padding.pad_rows(np.concatenate(rows), PAD_VALUES[name])
    return arrays
