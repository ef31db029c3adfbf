"""The rows of a batch: which units of which sample stand in each, and the tokens that this comes to."""

from collections.abc import Sequence

import numpy as np
from transformers.tokenization_utils_base import TruncationStrategy

from .block_coders import CLS, SEP, Integers
from .truncation import Range, truncated_ranges

Row = tuple[int, Sequence[Range]]  # (sample, the units of each of its sequences)
Samples = Sequence[Sequence[Sequence[int]]]  # the units of one or two sequences of each sample, as rows of a table


def plan_rows(
    samples: Samples, room: int | None, strategy: TruncationStrategy, stride: int, side: str, overflow: bool
) -> list[Row]:
    """Returns rows of at most `room` units, or of any length if None; for the rest see `truncated_ranges`."""
    rows: list[Row] = []
    for sample, sequences in enumerate(samples):
        lengths = list(map(len, sequences))
        if room is None or sum(lengths) <= room:
            rows.append((sample, [(0, length) for length in lengths]))
        else:
            windows = truncated_ranges(lengths, room, strategy, stride, side, overflow)
            rows += [(sample, ranges) for ranges in windows]
    return rows


def write_rows(samples: Samples, rows: Sequence[Row], adds_special_tokens: bool) -> tuple[list[int], list[int]]:
    """Returns the tokens of all rows end to end, as rows of a table, and how many each sequence of each row has."""
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


def type_ids(segments: Sequence[int]) -> Integers:
    """Returns the number of its sequence, 0 or 1, for each token of pairs."""
    return np.repeat(np.arange(len(segments)) % 2, segments)
