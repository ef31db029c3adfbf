"""Truncation and overflow: which units of one or two sequences a row holds."""

from transformers.tokenization_utils_base import TruncationStrategy

Range = tuple[int, int]  # units (start, stop)


def truncated_ranges(
    lengths: list[int], max_units: int, strategy: TruncationStrategy, stride: int, side: str, overflow: bool
) -> list[list[Range]]:
    """Returns, for each row of a sample that is too long, the units (start, stop) of each sequence.

    Args:
        lengths: number of units of each of one or two sequences; their sum exceeds `max_units`.
        max_units: units that fit a row.
        strategy: which sequence is cut.
        stride: number of units that neighbouring rows share.
        side: "right" cuts off the end, "left" the beginning.
        overflow: whether the units that were cut off follow in further rows.

    Raises:
        ValueError: no units would be left, or `overflow` of a pair under longest_first.

    >>> truncated_ranges([5], 3, TruncationStrategy.LONGEST_FIRST, stride=1, side="right", overflow=True)
    [[(0, 3)], [(2, 5)]]
    """
    if max_units < 0:
        raise ValueError(f"max_length is {-max_units} less than the number of special tokens; raise max_length.")
    if len(lengths) == 2 and strategy == TruncationStrategy.LONGEST_FIRST:
        if overflow:
            raise ValueError(
                "the overflow of a pair is ambiguous under truncation='longest_first'; "
                "give truncation='only_first' or 'only_second'."
            )
        kept = _longest_first(lengths, max_units)
        return [[_kept_range(length, count, side) for length, count in zip(lengths, kept, strict=True)]]
    cut = int(strategy == TruncationStrategy.ONLY_SECOND)  # index of the sequence that is cut
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


def _longest_first(lengths: list[int], max_units: int) -> list[int]:
    """Returns the number of units kept of each of two sequences, when units are removed from the longer one first."""
    shorter = min(min(lengths), max_units // 2)
    longer = max_units - shorter
    return [longer, shorter] if lengths[0] > lengths[1] else [shorter, longer]


def _kept_range(length: int, count: int, side: str) -> Range:
    return (length - count, length) if side == "left" else (0, count)
