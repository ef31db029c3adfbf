"""The rows of a batch: which units of which sample each row holds, and the tokens that are written for it."""

from collections.abc import Sequence

import numpy as np
from transformers.tokenization_utils_base import TruncationStrategy

from .block_coders import CLS, SEP, Integers
from .truncation import Range, truncated_ranges

Row = tuple[int, Sequence[Range]]  # (index of its sample, the range of units of each of its sequences)
Samples = Sequence[Sequence[Sequence[int]]]  # for each sample, the table indices of the units of its 1 or 2 sequences


def plan_rows(
    samples: Samples, max_units: int | None, strategy: TruncationStrategy, stride: int, side: str, overflow: bool
) -> list[Row]:
    """Returns the rows of a batch: one for each sample, or several for a long sample if `overflow`.

    Args:
        samples: see `Samples`.
        max_units: units that fit a row; None: any number.
        strategy: which sequence is cut.
        stride: number of units that neighbouring rows of a sample share.
        side: "right" cuts off the end, "left" the beginning.
        overflow: whether the units that were cut off follow in further rows.
    """
    rows: list[Row] = []
    for sample, sequences in enumerate(samples):
        lengths = list(map(len, sequences))
        if max_units is None or sum(lengths) <= max_units:
            rows.append((sample, [(0, length) for length in lengths]))
        else:
            windows = truncated_ranges(lengths, max_units, strategy, stride, side, overflow)
            rows += [(sample, ranges) for ranges in windows]
    return rows


def write_rows(samples: Samples, rows: Sequence[Row], adds_special_tokens: bool) -> tuple[list[int], list[int]]:
    """Returns the tokens of all rows end to end, as table indices, and the number of tokens of each sequence.

    A special token belongs to the sequence before it, [CLS] to the first. The table index of a special token is its id.

    >>> write_rows([[[7, 8], [9]]], [(0, [(0, 2), (0, 1)])], adds_special_tokens=True)
    ([2, 7, 8, 3, 9, 3], [4, 2])
    """
    tokens: list[int] = []
    segments = []
    for sample, ranges in rows:
        before = len(tokens)
        if adds_special_tokens:
            tokens.append(CLS)
        for sequence, (start, stop) in zip(samples[sample], ranges, strict=True):
            tokens += sequence[start:stop]
            if adds_special_tokens:
                tokens.append(SEP)
            segments.append(len(tokens) - before)
            before = len(tokens)
    return tokens, segments


def row_lengths(segments: list[int], is_pair: bool) -> list[int]:
    """Returns the number of tokens of each row; a row of a pair has two sequences.

    Args:
        segments: the number of tokens of each sequence.
        is_pair: whether the samples are pairs.

    >>> row_lengths([4, 2], is_pair=True)
    [6]
    """
    return list(map(sum, zip(segments[::2], segments[1::2], strict=True))) if is_pair else segments


def pair_type_ids(segments: Sequence[int]) -> Integers:
    """Returns the token type ids of pairs, (tokens,) int64: 0 in first sequences, 1 in second ones.

    Args:
        segments: the number of tokens of each sequence.

    >>> pair_type_ids([4, 2]).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    return np.repeat(np.arange(len(segments)) % 2, segments)
