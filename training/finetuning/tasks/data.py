"""The data of a fine-tuning run: texts with labels, and rows as token ids."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from vocabless.tokenization.forms import normal_form
from vocabless.training.finetuning.tasks.metrics import Scores
from vocabless.training.finetuning.tasks.problems import Problem

TOKENIZER_BATCH_SIZE = 1000  # texts
SAMPLING_SEED = 42  # fixed: all seeds of a run use the same held-out and the same sampled rows
_ACCENTS = regex.compile(r"[\u0300-\u036f]")  # of Latin, Greek and Cyrillic letters
_MARKS = regex.compile(r"[^\p{L}\p{M}\p{N}]+")  # all but letters, accents and digits
Rows = NDArray[np.int64]
WEIGHT = "weight"
# Of each row the token ids, `label`, its target, and `WEIGHT`, if it has them. A collator pads them batch by batch.
EncodedRows = list[dict[str, Any]]


@dataclass(frozen=True)
class Examples:
    """Texts; optionally the second texts of pairs, labels, groups of rows that are held out together, and weights."""

    texts: list[str]
    pairs: list[str] | None = None
    labels: list[Any] | None = None
    groups: list[Any] | None = None
    weights: list[float] | None = None  # how much each row counts in training; None: all the same

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yields what each example has: text, second text, label."""
        return zip(*(column for column in (self.texts, self.pairs, self.labels) if column is not None), strict=True)

    def empty_rows(self) -> list[int]:
        """Returns the rows without a text, or with one text of a pair."""
        texts = zip(self.texts, self.pairs or self.texts, strict=True)
        return [row for row, both in enumerate(texts) if not all(text and text.strip() for text in both)]

    def keys(self) -> list[tuple[str, ...]]:
        """Returns the texts of each row without case, accents, marks and white space: copies have the same key.

        >>> Examples(["Is it you?", "is it  you", "Ís ìt yoú", "?!"]).keys()
        [('is it you',), ('is it you',), ('is it you',), ('?!',)]
        """

        def key(text: str) -> str:
            return _MARKS.sub(" ", _ACCENTS.sub("", normal_form(text.casefold(), "NFKD"))).strip() or text

        return [tuple(map(key, row)) for row in Examples(self.texts, self.pairs).rows()]

    def select(self, indices: Sequence[int]) -> "Examples":
        """Returns the examples with these indices."""
        columns = {name: column for name, column in vars(self).items() if column is not None}
        return replace(self, **{name: [column[index] for index in indices] for name, column in columns.items()})


@dataclass(frozen=True)
class TaskData:
    """A problem, and the examples to train on, to evaluate on and to predict."""

    name: str  # of the folder in the output folder
    title: str  # name in tables
    problem: Problem
    train: Examples
    # Suffix of the names of scores → examples. Those under "" select the best epoch.
    validation: Mapping[str, Examples] = field(default_factory=dict)
    test: Mapping[str, Examples] = field(default_factory=dict)  # suffix → examples that `--do_predict` predicts
    footnotes: tuple[str, ...] = ()  # for the reader of the figures, without a full stop
    text_columns: tuple[str, ...] = ()  # one, or the two of a text pair
    label_columns: tuple[str, ...] = ()
    is_own: bool = True  # not GLUE
    scored_folds: int = 0  # of the training rows, see `held_out.with_folds`; 0: validation rows are apart

    @property
    def is_cross_validated(self) -> bool:
        """Whether the scores are those of other models than the saved one, which learns from all rows."""
        return self.scored_folds > 0

    def targets(self, examples: Examples) -> NDArray[Any]:
        """Returns the training targets of n examples with labels, (n,) or (n, labels)."""
        return np.asarray([self.problem.target(label) for label in examples.labels or []])

    def constant_baselines(self) -> Scores:
        """Returns, for each metric, the best score of a constant prediction on the validation examples."""
        return {
            f"{name}{suffix}": value
            for suffix, examples in self.validation.items()
            for name, value in self.problem.constant_baselines(self.targets(examples)).items()
        }


def encode(
    examples: Examples, problem: Problem, tokenizer: PreTrainedTokenizerBase, max_seq_length: int
) -> EncodedRows:
    """Returns the token ids, targets and weights of examples, of at most `max_seq_length` tokens each."""
    known: dict[str, list[Any]] = {}
    if examples.labels is not None:
        known["label"] = [*map(problem.target, examples.labels)]
    if examples.weights is not None:
        known[WEIGHT] = examples.weights
    rows: EncodedRows = []
    options: Any = {"truncation": True, "max_length": max_seq_length, "return_attention_mask": True}
    for first in range(0, len(examples), TOKENIZER_BATCH_SIZE):
        part = slice(first, first + TOKENIZER_BATCH_SIZE)
        texts = examples.texts[part], examples.pairs and examples.pairs[part]
        encoding = dict(tokenizer(*texts, padding=True, return_tensors="np", **options))
        for index, is_token in enumerate(encoding.pop("attention_mask") > 0):
            row = {name: _compact(values[index][is_token]) for name, values in encoding.items()}
            rows.append(row | {name: values[first + index] for name, values in known.items()})
    return rows


def shorten(
    rows: EncodedRows, examples: Examples, problem: Problem, tokenizer: PreTrainedTokenizerBase, max_seq_length: int
) -> int:
    """Cuts the rows of examples that have more than `max_seq_length` tokens; returns how many they are."""
    long = [index for index, row in enumerate(rows) if len(row["input_ids"]) > max_seq_length]
    for index, row in zip(long, encode(examples.select(long), problem, tokenizer, max_seq_length), strict=True):
        rows[index] = row
    return len(long)


def weights_of(rows: EncodedRows) -> NDArray[np.float64] | None:
    """Returns the weight of each row, (n,), or None if the rows have none."""
    return np.array([row[WEIGHT] for row in rows], np.float64) if rows and WEIGHT in rows[0] else None


def sample_rows(count: int, limit: int) -> list[int]:
    """Returns at most `limit` random rows of `count`, sorted, the same on every call."""
    return sorted(random.Random(SAMPLING_SEED).sample(range(count), min(limit, count)))


def _compact(values: NDArray[Any]) -> NDArray[Any]:
    """Returns blocks (S, K) of the smallest type that holds them, to save memory, and other token ids unchanged."""
    return values.astype(np.min_scalar_type(values.max())) if values.ndim > 1 else values
