"""A task: a problem, and the examples to train on, to evaluate on and to predict; which rows are held out."""

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vocabless.training.finetuning.metrics import FOLDS
from vocabless.training.finetuning.problems import Problem
from vocabless.training.finetuning.task_files import SAMPLING_SEED, Examples

Rows = NDArray[np.int64]


@dataclass
class Task:
    """A problem and its examples."""

    name: str  # of the task's folder in the output folder
    title: str  # name in tables
    problem: Problem
    train: Examples
    validation: dict[str, Examples]  # suffix of the metrics' names → examples; those under "" select the best epoch
    test: dict[str, Examples] = field(default_factory=dict)  # suffix → examples that `--do_predict` predicts
    footnotes: list[str] = field(default_factory=list)  # for the reader of the figures, without a full stop
    text_columns: tuple[str, ...] = ()  # one, or the two of a text pair
    # How many of the `FOLDS` of the training rows are scored, each by a model that learned from the others: their rows
    # are the validation examples. 0 if the validation examples are apart.
    scored_folds: int = 0

    @property
    def is_cross_validated(self) -> bool:
        """Whether the scores are those of other models than the saved one, which learns from all rows."""
        return self.scored_folds > 0

    def targets(self, examples: Examples) -> list[Any]:
        """Returns the training targets of examples with labels."""
        return [self.problem.target(label) for label in examples.labels or []]

    def folds(self) -> list[Rows]:
        """Returns the training rows of each fold, the same for all seeds."""
        return folds_of(self.problem.strata(self.targets(self.train)), self.train.groups)

    def scored_rows(self) -> Rows:
        """Returns the training rows of the scored folds, sorted."""
        return np.sort(np.concatenate(self.folds()[: self.scored_folds]))

    def score_folds(self, count: int) -> None:
        """Makes the rows of so many folds the validation examples."""
        self.scored_folds = count
        self.validation = {"": self.train.select(self.scored_rows().tolist())}

    def limit(self, rows: int | None) -> None:
        """Keeps at most this number of random training rows; None keeps all."""
        if rows is not None and rows < len(self.train):
            self.footnotes.append(f"{self.title}: trained on {rows:,} of {len(self.train):,} rows")
            self.train = self.train.sample(rows)
            if self.is_cross_validated:
                self.score_folds(self.scored_folds)

    def constant_baselines(self) -> dict[str, float]:
        """Returns, for each metric, the best score of a constant prediction on the validation examples."""
        return {
            f"{name}{suffix}": value
            for suffix, examples in self.validation.items()
            for name, value in self.problem.constant_baselines(self.targets(examples)).items()
        }


def folds_of(strata: Sequence[Any], groups: Sequence[Hashable] | None = None) -> list[Rows]:
    """Returns the rows of each of `FOLDS` folds, sorted. Folds differ by at most one group, for each label and in all.

    The strata are the label of each row, or a number. Rows of a group, which counts with the label of its first row,
    are in the same fold; None makes each row a group.
    """
    folds: list[list[int]] = [[] for _ in range(FOLDS)]
    for position, rows in enumerate(_stratified_order(strata, groups)):
        folds[position % FOLDS] += rows
    return [np.array(sorted(fold), np.int64) for fold in folds]


def hold_out(strata: Sequence[Any], share: float, groups: Sequence[Hashable] | None = None) -> Rows:
    """Returns the rows of a share of the groups, at least one, of each label as many as its share; see `folds_of`."""
    order = _stratified_order(strata, groups)
    share = max(share, 1 / len(order))
    chosen = [rows for place, rows in enumerate(order) if int((place + 1) * share + 1e-9) > int(place * share + 1e-9)]
    return np.array(sorted(row for rows in chosen for row in rows), np.int64)


def _stratified_order(strata: Sequence[Any], groups: Sequence[Hashable] | None) -> list[list[int]]:
    """Returns the rows of each group; groups are in the order of their labels, and in random order within a label."""
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups or range(len(strata))):
        members.setdefault(group, []).append(row)
    order = list(members.values())
    random.Random(SAMPLING_SEED).shuffle(order)
    return sorted(order, key=lambda rows: strata[rows[0]])
