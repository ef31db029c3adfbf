"""A task: a problem, and the examples to train on, to evaluate on and to predict."""
# mypy: allow-untyped-calls

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from datasets import ClassLabel, Dataset

from vocabless.training.finetuning.base_problem import Problem
from vocabless.training.finetuning.splits import Rows, folds_of
from vocabless.training.finetuning.task_files import find_columns, read_labels, read_texts

TEXT_COLUMNS = ("text", "sentence", "tokens", "words")
PAIR_COLUMNS = (
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
)
LABEL_COLUMNS = ("label", "labels", "ner_tags", "tags")
FOLDS = 5
SAMPLING_SEED = 42  # fixed: all seeds of a run use the same held-out and the same sampled rows


@dataclass(frozen=True)
class Columns:
    """The columns of a table that hold texts and labels.

    Attributes:
        texts: the text column, or the two columns of a text pair; empty searches `TEXT_COLUMNS`, then
            `PAIR_COLUMNS`.
        labels: the label column; several columns make a list of labels; empty searches `LABEL_COLUMNS`.
        separator: separator of several labels in one string; None if a string is one label.
    """

    texts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    separator: str | None = None


@dataclass
class Examples:
    """Texts, or lists of words; optionally the second texts of pairs, labels and groups."""

    texts: list[Any]
    pairs: list[str] | None = None
    labels: list[Any] | None = None
    groups: list[Any] | None = None  # of rows that are held out together

    def __len__(self) -> int:
        return len(self.texts)

    def plain_texts(self) -> list[str]:
        """Returns all texts, first and second, as strings."""
        texts = [text if isinstance(text, str) else " ".join(text) for text in self.texts]
        return [*texts, *(self.pairs or [])]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yields what each example has: text, second text, label."""
        return zip(*(column for column in (self.texts, self.pairs, self.labels) if column is not None), strict=True)

    def sample(self, limit: int | None) -> "Examples":
        """Returns at most `limit` random examples in their original order; None returns all."""
        if limit is None or limit >= len(self):
            return self
        return self.select(sorted(random.Random(SAMPLING_SEED).sample(range(len(self)), limit)))

    def empty_rows(self) -> tuple[list[int], list[int]]:
        """Returns the rows without a text, and the rows without a label; labels are those of `Problem.parse_labels`."""
        texts = [
            row
            for row, each in enumerate(zip(self.texts, self.pairs or self.texts, strict=True))
            if any(map(_is_empty, each))
        ]
        return texts, [row for row, label in enumerate(self.labels or []) if label is None]

    def select(self, indices: Sequence[int]) -> "Examples":
        """Returns the examples with these indices."""
        columns = (self.texts, self.pairs, self.labels, self.groups)
        return Examples(*(column and [column[index] for index in indices] for column in columns))  # type: ignore[arg-type]


@dataclass
class Task:
    """A problem and its examples.

    Attributes:
        name: name of the task's folder in the output folder.
        title: name in tables.
        problem: with its labels and metrics.
        train: training examples.
        validation: suffix of the metrics' names → examples; those under "" select the best epoch.
        test: suffix → examples that `--do_predict` predicts.
        footnotes: remarks for the reader of the figures, without a full stop.
        text_columns: the text column of the training data, or the two columns of a text pair.
        scored_folds: of the `FOLDS` of the training rows, those that are scored by a model that learned from the other
            folds; their rows are the validation examples. 0 if the validation examples are apart.
    """

    name: str
    title: str
    problem: Problem
    train: Examples
    validation: dict[str, Examples]
    test: dict[str, Examples] = field(default_factory=dict)
    footnotes: list[str] = field(default_factory=list)
    text_columns: tuple[str, ...] = ()
    scored_folds: int = 0

    @property
    def is_cross_validated(self) -> bool:
        """Whether the scores are those of other models than the saved one, which learns from all rows."""
        return self.scored_folds > 0

    def folds(self) -> list[Rows]:
        """Returns the training rows of each fold, the same for all seeds."""
        targets = [self.problem.target(label) for label in self.train.labels or []]
        return folds_of(self.problem.strata(targets), FOLDS, SAMPLING_SEED, self.train.groups)

    def scored_rows(self) -> Rows:
        """Returns the training rows of the scored folds, sorted."""
        return np.sort(np.concatenate(self.folds()[: self.scored_folds]))

    def score_folds(self, count: int) -> None:
        """Makes the rows of so many folds the validation examples."""
        self.scored_folds = count
        self.validation = {"": self.train.select(self.scored_rows().tolist())}

    def limit(self, train: int | None, validation: int | None, test: int | None) -> None:
        """Keeps at most this number of random examples in each part; None keeps all."""
        if train is not None and train < len(self.train):
            self.footnotes.append(f"{self.title}: trained on {train:,} of {len(self.train):,} rows")
            self.train = self.train.sample(train)
            if self.is_cross_validated:
                self.score_folds(self.scored_folds)
        for suffix, examples in () if self.is_cross_validated else self.validation.items():
            if validation is not None and validation < len(examples):
                self.footnotes.append(f"{self.title}: evaluated on {validation:,} of {len(examples):,} rows")
                self.validation[suffix] = examples.sample(validation)
        self.test = {suffix: examples.sample(test) for suffix, examples in self.test.items()}

    def constant_baselines(self) -> dict[str, float]:
        """Returns, for each metric, the best score of a constant prediction on the validation examples."""
        return {
            f"{name}{suffix}": value
            for suffix in self.validation
            for name, value in self.problem.constant_baselines(self.targets(suffix)).items()
        }

    def targets(self, suffix: str = "") -> list[Any]:
        """Returns the targets of the validation examples."""
        return [self.problem.target(label) for label in self.validation[suffix].labels or []]


def read_examples(table: Dataset, where: str, columns: Columns, needs_labels: bool) -> Examples:
    """Returns the examples of a table.

    Args:
        table: a data set with rows.
        where: name of the table, for messages.
        columns: the columns to read.
        needs_labels: whether to refuse a table without labels.

    Raises:
        ValueError: a column is missing or does not hold texts or labels.
    """
    examples = read_text_examples(table, where, find_text_columns(table, where, columns))
    if needs_labels or _has_labels(table, columns):
        label_columns = find_columns(table, where, columns.labels, LABEL_COLUMNS, "--label_column")
        examples.labels = read_labels(table, where, label_columns)
    return examples


def find_text_columns(table: Dataset, where: str, columns: Columns) -> list[str]:
    """Returns the text column of a table, or the two columns of a text pair, see `find_columns`."""
    if not columns.texts and not set(TEXT_COLUMNS) & set(table.column_names):
        pair = next((pair for pair in PAIR_COLUMNS if set(pair) <= set(table.column_names)), None)
        if pair is not None:
            return list(pair)
    return find_columns(table, where, columns.texts, TEXT_COLUMNS, "--text_column")


def read_text_examples(table: Dataset, where: str, names: Sequence[str]) -> Examples:
    """Returns examples without labels, from the text column or the two columns of a text pair.

    Raises:
        ValueError: a column does not hold texts.
    """
    texts, _ = read_texts(table, where, names[0])
    pairs = None
    if len(names) > 1:
        pairs, is_words = read_texts(table, where, names[1])
        if is_words:
            raise ValueError(f"the column {names[1]!r} of {where} holds lists; a text pair needs strings.")
    return Examples(texts, pairs)


def _is_empty(text: Any) -> bool:
    """Returns whether a text, or a list of words, has nothing to read."""
    return text is None or (not text.strip() if isinstance(text, str) else not text or None in text)


def _has_labels(table: Dataset, columns: Columns) -> bool:
    """Returns whether all label columns exist and the first one has at least one label."""
    names = [name for name in columns.labels or LABEL_COLUMNS if name in table.column_names]
    if not names or (columns.labels and len(names) < len(columns.labels)):
        return False
    values = table[names[0]][:]
    is_class = isinstance(table.features[names[0]], ClassLabel)
    return not all(value is None or (is_class and value == -1) for value in values)  # −1 is the Hub's unknown label
