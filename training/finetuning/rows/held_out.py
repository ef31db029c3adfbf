"""Which rows a model does not learn, so that they tell how good it is: folds, or rows apart.

docs/measurements.md, "Own data", and docs/log.md have what was measured for the numbers.
"""

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vocabless.training.finetuning.tasks.arguments import DataArguments
from vocabless.training.finetuning.tasks.data import SAMPLING_SEED, Examples, Rows, TaskData, sample_rows

FOLDS = 5  # of the training rows
TRAINED_TWICE = 10_000  # of fewer training rows, the saved model learns from all, and others are scored on folds
FEW_ROWS = 200  # up to so many rows, fine-tuning is scored on all folds; of more rows, on one
HELD_OUT = 10.0  # percent of the training rows, where they are held out for good


def choose_validation(
    data: TaskData, arguments: DataArguments, scores_folds: bool, validation: Examples | None = None
) -> TaskData:
    """Returns the data with validation examples: those that are given, folds, or rows that are held out for good.

    Copies of a text, see `Examples.keys`, are held out together unless the rows have other groups. Footnotes tell of
    copies. With `scores_folds` models may be scored on folds; more of them are trained, which takes seconds only for
    our trained encoders and few rows.

    Raises:
        ValueError: no rows can be held out.
    """
    name, keys = data.name, data.train.keys()
    train = replace(data.train, groups=data.train.groups or keys)
    notes = list(data.footnotes)
    if copies := len(keys) - len(set(keys)):
        notes.append(
            f"{name}: {copies:,} of {len(keys):,} training rows are copies of others but for case, accents and marks"
        )
    data = replace(data, train=train, footnotes=tuple(notes))
    if validation is not None:
        data = replace(data, validation={"": validation})
    elif scores_folds and are_folds_scored(train, arguments):
        data = with_folds(data, training_folds(data))
    else:
        data = _with_rows_held_out(data, arguments.validation_split_percentage)
    others = {} if validation is None else {"validation": validation}
    others |= {f"test{suffix}": examples for suffix, examples in data.test.items()}
    known, notes = set(keys), list(data.footnotes)
    for part, examples in others.items():
        if number := sum(key in known for key in examples.keys()):
            rows = f"{name}: {number:,} of {len(examples):,} {part} rows have the texts of training rows"
            notes.append(f"{rows}, so the score tells less about new texts")
    return replace(data, footnotes=tuple(notes))


def are_folds_scored(train: Examples, arguments: DataArguments) -> bool:
    """Returns whether models of few rows are scored on folds, and the saved one learns from all rows."""
    is_free = arguments.validation_split_percentage is None
    rows = min(len(train), arguments.max_train_samples or len(train))
    return is_free and rows < TRAINED_TWICE and len(set(train.groups or ())) > 1


def folds_to_train(rows: int) -> int:
    """Returns on how many folds fine-tuning is scored: each takes the time of a training run."""
    return FOLDS if rows <= FEW_ROWS else 1


def with_folds(data: TaskData, folds: Sequence[Rows]) -> TaskData:
    """Returns the data with the rows of some `training_folds` as the validation examples.

    Each of these folds is scored by a model that learned from the other folds.
    """
    rows = np.sort(np.concatenate(folds)).tolist()
    return replace(data, scored_folds=len(folds), validation={"": data.train.select(rows)})


def training_folds(data: TaskData) -> list[Rows]:
    """Returns the training rows of each fold, the same for all seeds."""
    return folds_of(data.targets(data.train), data.train.groups)


def limited(data: TaskData, rows: int | None) -> TaskData:
    """Returns the data with at most this number of random training rows; None keeps all."""
    if rows is None or rows >= len(data.train):
        return data
    note = f"{data.title}: trained on {rows:,} of {len(data.train):,} rows"
    train = data.train.select(sample_rows(len(data.train), rows))
    fewer = replace(data, train=train, footnotes=(*data.footnotes, note))
    return with_folds(fewer, training_folds(fewer)[: data.scored_folds]) if data.is_cross_validated else fewer


def _with_rows_held_out(data: TaskData, percentage: float | None) -> TaskData:
    """Returns the data with a share of the training rows as validation examples; ValueError if none can be."""
    train, percentage = data.train, HELD_OUT if percentage is None else percentage
    number = len(set(train.groups or ()))
    targets, labels = data.targets(train), [data.problem.names_in(label) for label in train.labels or []]
    held_out = hold_out(targets, percentage / 100, train.groups, labels).tolist() if number > 1 else []
    if not held_out:
        raise ValueError(
            f"none of the {number} different training texts or groups can be held out, since no other rows have their "
            "labels; give --validation_file, or more rows of each label."
        )
    note = f"{data.name}: evaluated on {len(held_out):,} rows held out of the training data"
    learned = train.select(sorted(set(range(len(train))) - set(held_out)))
    validation = {"": train.select(held_out)}
    return replace(data, train=learned, validation=validation, footnotes=(*data.footnotes, note))


def folds_of(targets: Any, groups: Sequence[Hashable] | None = None) -> list[Rows]:
    """Returns the rows of each of `FOLDS` folds, sorted; of fewer groups, each is a fold.

    Folds differ by at most one group, for each target, or set of labels, of the rows and in all. Rows of a group, which
    counts with the target of its first row, are in the same fold; None makes each row a group.
    """
    rows_of: list[list[int]] = [[] for _ in range(FOLDS)]
    for position, rows in enumerate(_stratified_order(targets, groups)):
        rows_of[position % FOLDS] += rows
    return [np.array(sorted(rows), np.int64) for rows in rows_of if rows]


def hold_out(
    targets: Any,
    share: float,
    groups: Sequence[Hashable] | None = None,
    labels: Sequence[Sequence[str]] | None = None,
) -> Rows:
    """Returns the rows of a share of the groups, at least one, of each target as many as its share; see `folds_of`.

    `labels` are the names of the labels of each row. A group with the last other rows of a label is not held out; there
    may be none left, so that nothing is held out.
    """
    order = _stratified_order(targets, groups)
    share = max(share, 1 / len(order))
    chosen = [int((place + 1) * share + 1e-9) > int(place * share + 1e-9) for place in range(len(order))]
    left = Counter(name for names in labels or [] for name in names)
    held_out: list[int] = []
    for is_chosen in (True, False):  # one of the others, if none of the chosen ones can be held out
        for rows in (rows for rows, was_chosen in zip(order, chosen, strict=True) if was_chosen == is_chosen):
            names = Counter(name for row in rows if labels for name in labels[row])
            if (is_chosen or not held_out) and all(left[name] > count for name, count in names.items()):
                left -= names
                held_out += rows
    return np.array(sorted(held_out), np.int64)


def _stratified_order(targets: Any, groups: Sequence[Hashable] | None) -> list[list[int]]:
    """Returns the rows of each group; groups are in the order of their targets, and in random order within a target."""
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups or range(len(targets))):
        members.setdefault(group, []).append(row)
    order = list(members.values())
    random.Random(SAMPLING_SEED).shuffle(order)
    order.sort(key=lambda rows: tuple(np.ravel(targets[rows[0]])))
    return order
