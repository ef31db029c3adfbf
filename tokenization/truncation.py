"""Truncation and overflow: which units of one or two sequences a row holds."""

from collections.abc import Iterable, Sequence
from typing import Any

Range = tuple[int, int]  # units (start, stop)
Row = tuple[int, Sequence[Range]]  # (index of its sample, the range of units of each of its sequences)


def rows_of_samples(samples: Iterable[Sequence[int]], max_units: int, *options: Any) -> tuple[list[Row], bool]:
    """Returns the rows of all samples, given by the number of units of their sequences, and whether one was cut.

    See `truncated_ranges` for the other arguments.

    >>> rows_of_samples([[2], [5]], 3, "longest_first", "right")
    ([(0, [(0, 2)]), (1, [(0, 3)])], True)
    """
    rows: list[Row] = []
    is_cut = False
    for index, lengths in enumerate(samples):
        if sum(lengths) <= max_units:
            rows.append((index, [(0, length) for length in lengths]))
        else:
            rows += [(index, ranges) for ranges in truncated_ranges(lengths, max_units, *options)]
            is_cut = True
    return rows, is_cut


def truncated_ranges(
    lengths: Sequence[int], max_units: int, strategy: str, side: str, stride: int = 0, overflow: bool = False
) -> list[list[Range]]:
    """Returns, for each row of a sample, the units (start, stop) of each sequence.

    Args:
        lengths: number of units of each of one or two sequences.
        max_units: units that fit a row.
        strategy: which sequence is cut: `longest_first`, `only_first` or `only_second`.
        side: "right" cuts off the end, "left" the beginning.
        stride: number of units that neighbouring rows share.
        overflow: whether the units that were cut off follow in further rows.

    Raises:
        ValueError: no units would be left, the side is another, or `overflow` of a pair under longest_first.

    >>> truncated_ranges([5], 3, "longest_first", "right", stride=1, overflow=True)
    [[(0, 3)], [(2, 5)]]
    """
    if sum(lengths) <= max_units:
        return [[(0, length) for length in lengths]]
    if side not in ("left", "right"):
        raise ValueError(f"truncation_side={side!r} is unknown; give left or right.")
    if max_units < 0:
        raise ValueError(f"max_length is {-max_units} less than the number of special tokens; raise max_length.")
    if len(lengths) == 2 and strategy == "longest_first":
        if overflow:
            raise ValueError(
                "the overflow of a pair is ambiguous under truncation='longest_first'; "
                "give truncation='only_first' or 'only_second'."
            )
        shorter = min(*lengths, max_units // 2)
        kept = (max_units - shorter, shorter) if lengths[0] > lengths[1] else (shorter, max_units - shorter)
        return [[_kept_range(length, count, side) for length, count in zip(lengths, kept, strict=True)]]
    cut = int(strategy == "only_second")  # index of the sequence that is cut
    if cut >= len(lengths):
        raise ValueError("truncation='only_second' got a single text; give text_pair, or truncation=True.")
    size = max_units - sum(lengths) + lengths[cut]
    if size <= 0 and len(lengths) == 2:
        raise ValueError(
            f"cutting only the {'second' if cut else 'first'} sequence leaves {size} of its {lengths[cut]} tokens; "
            "raise max_length, or give truncation='longest_first'."
        )
    parts = _windows(lengths[cut], size, stride, side) if overflow else [_kept_range(lengths[cut], size, side)]
    whole = [(0, length) for length in lengths]
    return [[*whole[:cut], part, *whole[cut + 1 :]] for part in parts]


def _windows(length: int, size: int, stride: int, side: str) -> list[Range]:
    """Returns ranges of at most `size` units that cover all units; neighbours share `stride` units."""
    if not 0 <= stride < size:
        raise ValueError(
            f"stride={stride} must be at least 0 and less than the {size} tokens that fit a row; "
            "lower stride, or raise max_length."
        )
    starts = range(0, max(length - stride, 1), size - stride)
    parts = [(start, min(start + size, length)) for start in starts]
    return [(length - stop, length - start) for start, stop in parts] if side == "left" else parts


def _kept_range(length: int, count: int, side: str) -> Range:
    return (length - count, length) if side == "left" else (0, count)
