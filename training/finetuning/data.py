"""The data of a fine-tuning run: texts with labels, the rows that are held out, and rows as token ids."""

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from vocabless.tokenization.forms import normal_form
from vocabless.training.finetuning.metrics import FOLDS
from vocabless.training.finetuning.problems import Problem

TOKENIZER_BATCH_SIZE = 1000  # texts
SAMPLING_SEED = 42  # fixed: all seeds of a run use the same held-out and the same sampled rows
_ACCENTS = regex.compile(r"[\u0300-\u036f]")  # of Latin, Greek and Cyrillic letters
_MARKS = regex.compile(r"[^\p{L}\p{M}\p{N}]+")  # what is no letter, accent or digit
Rows = NDArray[np.int64]
WEIGHT = "weight"
# Of each row the token ids, `label`, its target, and `WEIGHT`, if it has them. A collator pads them batch by batch.
EncodedRows = list[dict[str, Any]]


@dataclass
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

        columns = [self.texts, *([] if self.pairs is None else [self.pairs])]
        return [tuple(map(key, row)) for row in zip(*columns, strict=True)]

    def select(self, indices: Sequence[int]) -> "Examples":
        """Returns the examples with these indices."""
        columns = {name: column for name, column in vars(self).items() if column is not None}
        return replace(self, **{name: [column[index] for index in indices] for name, column in columns.items()})


@dataclass
class TaskData:
    """A problem, and the examples to train on, to evaluate on and to predict."""

    name: str  # of the folder in the output folder
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
            self.train = self.train.select(sample_rows(len(self.train), rows))
            if self.is_cross_validated:
                self.score_folds(self.scored_folds)

    def constant_baselines(self) -> dict[str, float]:
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
        known["label"] = [problem.target(label) for label in examples.labels]
    if examples.weights is not None:
        known[WEIGHT] = examples.weights
    rows: EncodedRows = []
    for start in range(0, len(examples), TOKENIZER_BATCH_SIZE):
        part = slice(start, start + TOKENIZER_BATCH_SIZE)
        pairs = None if examples.pairs is None else examples.pairs[part]
        options: Any = {"truncation": True, "max_length": max_seq_length, "return_attention_mask": False}
        encoding = tokenizer(examples.texts[part], pairs, **options)
        for index in range(len(encoding["input_ids"])):
            row = {name: _compact(values[index]) for name, values in encoding.items()}
            rows.append(row | {name: values[start + index] for name, values in known.items()})
    return rows


def weights_of(rows: EncodedRows) -> NDArray[np.float64] | None:
    """Returns the weight of each row, (n,), or None if the rows have none."""
    return np.array([row[WEIGHT] for row in rows], np.float64) if rows and WEIGHT in rows[0] else None


def sample_rows(count: int, limit: int) -> list[int]:
    """Returns at most `limit` random rows of `count`, sorted, the same on every call."""
    return sorted(random.Random(SAMPLING_SEED).sample(range(count), min(limit, count)))


def folds_of(strata: Sequence[Any], groups: Sequence[Hashable] | None = None) -> list[Rows]:
    """Returns the rows of each of `FOLDS` folds, sorted. Folds differ by at most one group, for each label and in all.

    The strata are the label of each row, or a number. Rows of a group, which counts with the label of its first row,
    are in the same fold; None makes each row a group.
    """
    folds: list[list[int]] = [[] for _ in range(FOLDS)]
    for position, rows in enumerate(_stratified_order(strata, groups)):
        folds[position % FOLDS] += rows
    return [np.array(sorted(fold), np.int64) for fold in folds]


def hold_out(
    strata: Sequence[Any],
    share: float,
    groups: Sequence[Hashable] | None = None,
    labels: Sequence[Sequence[str]] | None = None,
) -> Rows:
    """Returns the rows of a share of the groups, at least one, of each label as many as its share; see `folds_of`.

    `labels` are the names of the labels of each row. A group with the last other rows of a label is not held out; there
    may be none left, so that nothing is held out.
    """
    order = _stratified_order(strata, groups)
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


def _stratified_order(strata: Sequence[Any], groups: Sequence[Hashable] | None) -> list[list[int]]:
    """Returns the rows of each group; groups are in the order of their labels, and in random order within a label."""
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups or range(len(strata))):
        members.setdefault(group, []).append(row)
    order = list(members.values())
    random.Random(SAMPLING_SEED).shuffle(order)
    return sorted(order, key=lambda rows: strata[rows[0]])


def _compact(values: Any) -> NDArray[Any] | list[int]:
    """Returns blocks (S, K) as uint16 to save memory, and other token ids unchanged."""
    return np.asarray(values, np.uint16) if len(values) and not np.isscalar(values[0]) else values
