"""Tasks to fine-tune on: a problem, and examples of it to learn from, to be measured on and to be predicted."""
# mypy: allow-untyped-calls

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from datasets import ClassLabel, Dataset

from vocabless.training.finetuning.problems import Problem
from vocabless.training.finetuning.task_files import find_columns, read_labels, read_texts

TEXT_COLUMNS = ("text", "sentence", "tokens", "words")
LABEL_COLUMNS = ("label", "labels", "ner_tags", "tags")
SAMPLING_SEED = 42  # what is held out or left out is the same for every seed of a run


@dataclass(frozen=True)
class Columns:
    """Where a table keeps what; empty is the usual names.

    Attributes:
        texts: columns of a text, or of a text and its pair.
        labels: column of the labels; several make a list.
        separator: between the labels in one string; None if they are not in one.
        cpc_positions: whether labels are CPC codes to be relabelled, see `label_positions`.
    """

    texts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    separator: str | None = None
    cpc_positions: bool = False


@dataclass
class Examples:
    """Texts, or lists of words, with the texts that they are paired with and their labels, if there are any."""

    texts: list[Any]
    pairs: list[str] | None = None
    labels: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def plain_texts(self) -> list[str]:
        """Returns all texts and pairs as strings."""
        texts = [text if isinstance(text, str) else " ".join(text) for text in self.texts]
        return [*texts, *(self.pairs or [])]

    def sample(self, limit: int | None) -> "Examples":
        """Returns `limit` of them drawn at random, in their order; all if it is None or no limit."""
        if limit is None or limit >= len(self):
            return self
        return self.select(sorted(random.Random(SAMPLING_SEED).sample(range(len(self)), limit)))

    def select(self, rows: Sequence[int]) -> "Examples":
        """Returns those of these rows."""
        columns = (self.texts, self.pairs, self.labels)
        return Examples(*(column and [column[row] for row in rows] for column in columns))  # type: ignore[arg-type]


@dataclass
class Task:
    """A problem and its examples.

    Attributes:
        name: of its folder.
        title: of its row in a table.
        problem: with labels and measures.
        train: what is learned.
        validation: suffix of the measures' names → what is evaluated; the one under "" decides the best epoch.
        test: suffix → what is predicted.
        footnotes: what a reader of the figures must know.
    """

    name: str
    title: str
    problem: Problem
    train: Examples
    validation: dict[str, Examples]
    test: dict[str, Examples] = field(default_factory=dict)
    footnotes: list[str] = field(default_factory=list)

    def limit(self, train: int | None, validation: int | None, test: int | None) -> None:
        """Keeps that many examples of each part, at random; None keeps all."""
        if train is not None and train < len(self.train):
            self.footnotes.append(f"{self.title}: trained on {train:,} of {len(self.train):,} rows")
            self.train = self.train.sample(train)
        for suffix, examples in self.validation.items():
            if validation is not None and validation < len(examples):
                self.footnotes.append(f"{self.title}: evaluated on {validation:,} of {len(examples):,} rows")
                self.validation[suffix] = examples.sample(validation)
        self.test = {suffix: examples.sample(test) for suffix, examples in self.test.items()}

    def floors(self) -> dict[str, float]:
        """Returns what the best constant prediction scores on the validation labels, by measure."""
        targets = {suffix: self.targets(examples) for suffix, examples in self.validation.items()}
        return {
            f"{name}{suffix}": value
            for suffix, values in targets.items()
            for name, value in self.problem.floors(values).items()
        }

    def targets(self, examples: Examples) -> list[Any]:
        """Returns what the model is trained on for each example."""
        return [self.problem.target(label) for label in examples.labels or []]


def read_examples(table: Dataset, where: str, columns: Columns, needs_labels: bool) -> Examples:
    """Returns the examples of a table.

    Args:
        table: has rows.
        where: its name, for messages.
        columns: where it keeps what.
        needs_labels: whether it must have labels.

    Raises:
        ValueError: a column is missing or holds what it must not.
    """
    names = find_columns(table, where, columns.texts, TEXT_COLUMNS, "--text_column")
    texts, _ = read_texts(table, where, names[0])
    pairs = None
    if len(names) > 1:
        pairs, is_words = read_texts(table, where, names[1])
        if is_words:
            raise ValueError(f"the column {names[1]!r} of {where} holds lists; a pair is made of strings.")
    if not needs_labels and not _has_labels(table, columns):
        return Examples(texts, pairs)
    label_columns = find_columns(table, where, columns.labels, LABEL_COLUMNS, "--label_column")
    return Examples(texts, pairs, read_labels(table, where, label_columns))


def _has_labels(table: Dataset, columns: Columns) -> bool:
    names = [name for name in columns.labels or LABEL_COLUMNS if name in table.column_names]
    if not names or (columns.labels and len(names) < len(columns.labels)):
        return False
    values = table[names[0]][:]
    is_class = isinstance(table.features[names[0]], ClassLabel)
    return not all(value is None or (is_class and value == -1) for value in values)
