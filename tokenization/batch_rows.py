"""The rows of a batch: which units of which sample each row holds, and the tokens that are written for it."""

from collections.abc import Sequence

import numpy as np
from transformers.tokenization_utils_base import TruncationStrategy

from .block_coders import CLS, SEP, Integers
from .truncation import Range, truncated_ranges

Row = tuple[int, Sequence[Range]]  # (index of its sample, the range of units of each of its sequences)
Samples = Sequence[Sequence[bytes]]  # for each sample, the blocks of its 1 or 2 sequences, end to end


def plan_rows(
    num_units: Sequence[list[int]],
    max_units: int | None,
    strategy: TruncationStrategy,
    stride: int,
    side: str,
    overflow: bool,
) -> list[Row]:
    """Returns the rows of a batch: one for each sample, or several for a long sample if `overflow`.

    Args:
        num_units: of the sequences of each sample.
        max_units: units that fit a row; None: any number.
        strategy: which sequence is cut.
        stride: number of units that neighbouring rows of a sample share.
        side: "right" cuts off the end, "left" the beginning.
        overflow: whether the units that were cut off follow in further rows.
    """
    rows: list[Row] = []
    for sample, lengths in enumerate(num_units):
        if max_units is None or sum(lengths) <= max_units:
            rows.append((sample, [(0, length) for length in lengths]))
        else:
            windows = truncated_ranges(lengths, max_units, strategy, stride, side, overflow)
            rows += [(sample, ranges) for ranges in windows]
    return rows


def write_rows(
    samples: Samples, rows: Sequence[Row], block_bytes: int, special: Sequence[bytes] | None
) -> tuple[list[bytes], list[int]]:
    """Returns the blocks of all rows end to end, in parts, and the number of tokens of each sequence.

    A special token belongs to the sequence before it, [CLS] to the first.

    Args:
        samples: see `Samples`.
        rows: see `Row`.
        block_bytes: size of a block.
        special: the blocks of the special tokens by id; None writes none.

    >>> write_rows([[b"ab", b"c"]], [(0, [(0, 2), (0, 1)])], 1, [b"P", b"U", b"C", b"S"])
    ([b'C', b'ab', b'S', b'c', b'S'], [4, 2])
    """
    parts: list[bytes] = []
    segments = []
    for sample, ranges in rows:
        num_special = 0
        if special:
            parts.append(special[CLS])
            num_special = 2  # of the first sequence
        for sequence, (start, stop) in zip(samples[sample], ranges, strict=True):
            parts.append(sequence[start * block_bytes : stop * block_bytes])
            if special:
                parts.append(special[SEP])
            segments.append(stop - start + num_special)
            num_special = bool(special)
    return parts, segments


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
