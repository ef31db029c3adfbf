"""Truncation and overflow: which units of one or two sequences stand in a row."""

from transformers.tokenization_utils_base import TruncationStrategy

Range = tuple[int, int]  # units (start, stop)


def truncated_ranges(
    lengths: list[int], room: int, strategy: TruncationStrategy, stride: int, side: str, overflow: bool
) -> list[list[Range]]:
    """Returns the rows that a sample becomes: for each, the units (start, stop) of each sequence.

    Args:
        lengths: units of each of one or two sequences; too many together.
        room: units that fit a row.
        strategy: which sequence is cut.
        stride: units that neighbouring rows share.
        side: "right" cuts the end off, "left" the beginning.
        overflow: whether the rest is returned too, in further rows.

    Raises:
        ValueError: nothing would be left, or the overflow of a pair under longest_first is asked for.

    >>> truncated_ranges([5], 3, TruncationStrategy.LONGEST_FIRST, stride=1, side="right", overflow=True)
    [[(0, 3)], [(2, 5)]]
    """
    if room < 0:
        raise ValueError(f"max_length is {-room} less than the special tokens take; raise max_length.")
    if len(lengths) == 2 and strategy == TruncationStrategy.LONGEST_FIRST:
        if overflow:
            raise ValueError(
                "overflow of a pair under truncation='longest_first' has no one meaning; "
                "give truncation='only_first' or 'only_second'."
            )
        return [[_kept(n, keep, side) for n, keep in zip(lengths, _longest_first(lengths, room), strict=True)]]
    cut = int(strategy == TruncationStrategy.ONLY_SECOND)
    if cut >= len(lengths):
        raise ValueError("truncation='only_second' got a single text; give text_pair, or truncation=True.")
    size = room - sum(lengths) + lengths[cut]
    if size <= 0 and len(lengths) == 2:
        raise ValueError(
            f"cutting the {'second' if cut else 'first'} sequence alone leaves {size} of its {lengths[cut]} tokens; "
            "raise max_length, or give truncation='longest_first'."
        )
    parts = _windows(lengths[cut], size, stride, side) if overflow else [_kept(lengths[cut], size, side)]
    whole = [(0, n) for n in lengths]
    return [[*whole[:cut], part, *whole[cut + 1 :]] for part in parts]


def _windows(length: int, size: int, stride: int, side: str) -> list[Range]:
    """Returns ranges of `size` units that cover all, each `stride` units into the one before."""
    if not 0 <= stride < size:
        raise ValueError(
            f"stride={stride} must be at least 0 and less than the {size} tokens that fit a row; "
            "lower stride, or raise max_length."
        )
    starts = range(0, max(length - stride, 1), size - stride)
    parts = [(start, min(start + size, length)) for start in starts]
    return [(length - stop, length - start) for start, stop in parts] if side == "left" else parts


def _longest_first(lengths: list[int], room: int) -> list[int]:
    """Returns how much of each of two sequences is kept when the longer one always gives way."""
    shorter = min(min(lengths), room // 2)
    longer = room - shorter
    return [longer, shorter] if lengths[0] > lengths[1] else [shorter, longer]


def _kept(length: int, keep: int, side: str) -> Range:
    return (length - keep, length) if side == "left" else (0, keep)
