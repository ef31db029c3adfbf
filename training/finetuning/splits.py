"""Which rows are held out: the same shares of each label, and rows that belong together on the same side."""

import random
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def folds_of(strata: Sequence[Any], count: int, seed: int, groups: Sequence[Hashable] | None = None) -> list[Rows]:
    """Returns the rows of each fold, sorted. Folds differ by at most one group, for each label and in all.

    Args:
        strata: of each row, what all folds shall have alike: a label, or a number.
        count: of folds, at least 2.
        seed: of the order of rows with the same label.
        groups: of each row; rows of a group, which counts with the label of its first row, are in the same fold. None
            makes each row a group.

    Example:
        >>> [fold.tolist() for fold in folds_of(["a", "b", "a", "b"], 2, seed=0)]
        [[1, 2], [0, 3]]
    """
    folds: list[list[int]] = [[] for _ in range(count)]
    for position, rows in enumerate(_stratified_order(strata, seed, groups)):
        folds[position % count] += rows
    return [np.array(sorted(fold), np.int64) for fold in folds]


def hold_out(strata: Sequence[Any], share: float, seed: int, groups: Sequence[Hashable] | None = None) -> Rows:
    """Returns the rows of a share of the groups, at least one, of each label as many as its share; see `folds_of`."""
    order = _stratified_order(strata, seed, groups)
    share = max(share, 1 / len(order))
    chosen = [rows for place, rows in enumerate(order) if int((place + 1) * share + 1e-9) > int(place * share + 1e-9)]
    return np.array(sorted(row for rows in chosen for row in rows), np.int64)


def _stratified_order(strata: Sequence[Any], seed: int, groups: Sequence[Hashable] | None) -> list[list[int]]:
    """Returns the rows of each group; groups are in the order of their labels, and in random order within a label."""
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups or range(len(strata))):
        members.setdefault(group, []).append(row)
    order = list(members.values())
    random.Random(seed).shuffle(order)
    return sorted(order, key=lambda rows: strata[rows[0]])
