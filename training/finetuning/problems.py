"""Kinds of problems: one label, many labels or a number for a text, or a tag for each word.

A kind knows how labels become targets, which loss and measures hold, what a constant prediction scores, and how a
prediction reads. `PROBLEMS` is the table; the names are those of `config.problem_type`.
"""
# mypy: allow-untyped-calls

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
)

from vocabless.training.finetuning.metrics import score
from vocabless.training.trainer import EXACT_LOSS

IGNORED = -100  # target of a token that is not scored
Array = NDArray[Any]


class Problem:
    """One label for a text, the kind that others differ from.

    Attributes:
        labels: names, by index; empty where a number is asked for.
        metrics: keys of `vocabless.training.finetuning.metrics.METRICS`.
        best: the measure that decides which epoch is the best.
        threshold: probability above which one of many labels holds.
    """

    name = "single_label_classification"
    auto_class: Any = AutoModelForSequenceClassification
    collator: Any = DataCollatorWithPadding
    default_metrics: tuple[str, ...] = ("accuracy", "macro_f1")
    default_best = "accuracy"
    options: dict[str, Any]  # of the metrics

    def __init__(
        self,
        labels: Sequence[str] = (),
        metrics: Sequence[str] | None = None,
        best: str | None = None,
        threshold: float = 0.3,
    ) -> None:
        self.labels = list(labels)
        self.metrics = tuple(metrics or self.default_metrics)
        self.best = best or self.default_best
        self.threshold = threshold
        self.options = {}
        self._indices = {label: index for index, label in enumerate(self.labels)}

    @property
    def config(self) -> dict[str, Any]:
        """What the configuration of a model for it says."""
        names = {"id2label": dict(enumerate(self.labels)), "label2id": dict(self._indices)}
        return {"num_labels": len(self.labels), "problem_type": self.name, **names}

    def unknown(self, values: Iterable[Any]) -> list[str]:
        """Returns the labels among `values` that are none of this problem's."""
        found = dict.fromkeys(label for value in values for label in self._labels_of(value))
        return [label for label in found if label not in self._indices]

    def target(self, value: Any) -> Any:
        """Returns what the model is trained on."""
        return self._indices[value]

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the mean loss.

        Args:
            logits: (N, labels) float64.
            targets: (N,) integers.
        """
        return F.cross_entropy(logits, targets.long())

    def measure(self, prediction: Any) -> dict[str, float]:
        """Returns the measures and the loss of an evaluation.

        The Trainer's own loss is a mean of means over batches, which depends on how they were made up where they have
        unlike numbers of targets; this one, `EXACT_LOSS`, replaces it.

        Args:
            prediction: `predictions`, the logits of all examples, and `label_ids`, their targets.
        """
        logits, targets = np.asarray(prediction.predictions, np.float64), np.asarray(prediction.label_ids)
        loss = float(self.loss(torch.from_numpy(logits), torch.from_numpy(targets)))
        found = score(self.metrics, *self._decided(logits, targets), self.options)
        return {EXACT_LOSS: loss, **found}

    def floors(self, targets: Sequence[Any]) -> dict[str, float]:
        """Returns the best that a prediction scores which is the same for every example."""
        scores = [score(self.metrics, *self._as_scored(p, targets), self.options) for p in self._constants(targets)]
        return {name: max(found[name] for found in scores) for name in scores[0]}

    def rows(self, logits: Array, targets: Array) -> Iterable[dict[str, Any]]:
        """Yields the predictions as they are written.

        Args:
            logits: of all examples.
            targets: of all examples; only where they are ignored matters.
        """
        for row in _softmax(logits):
            yield {"label": self.labels[int(row.argmax())], "probabilities": _named(self.labels, row)}

    def _labels_of(self, value: Any) -> Iterable[str]:
        return (value,)

    def _decided(self, logits: Array, targets: Array) -> tuple[Any, Any]:
        return logits.argmax(-1), targets

    def _as_scored(self, constant: Any, targets: Sequence[Any]) -> tuple[Any, Any]:
        return [constant] * len(targets), targets

    def _constants(self, targets: Sequence[Any]) -> Iterable[Any]:
        """Returns the candidates: F1 of class 1 may be best served by the rarer of two classes."""
        classes, counts = np.unique(np.asarray(targets), return_counts=True)
        return [int(label) for label in classes[np.argsort(-counts, kind="stable")][:2]]


class Regression(Problem):
    """A number for a text."""

    name = "regression"
    default_metrics = ("pearson", "spearman")
    default_best = "pearson"

    @property
    def config(self) -> dict[str, Any]:
        """What the configuration of a model for it says."""
        return {"num_labels": 1, "problem_type": self.name}

    def target(self, value: Any) -> float:
        """Returns what the model is trained on."""
        return float(value)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the mean squared error of (N, 1) logits."""
        return F.mse_loss(logits.flatten(), targets.double().flatten())

    def rows(self, logits: Array, targets: Array) -> Iterable[dict[str, Any]]:
        """Yields the predictions as they are written."""
        for value in logits.reshape(-1):
            yield {"value": float(value)}

    def _labels_of(self, value: Any) -> Iterable[str]:
        return ()

    def _decided(self, logits: Array, targets: Array) -> tuple[Any, Any]:
        return logits.reshape(-1), targets.reshape(-1)

    def _constants(self, targets: Sequence[Any]) -> Iterable[Any]:
        return [float(np.mean(targets))]


class MultiLabel(Problem):
    """Any number of labels for a text."""

    name = "multi_label_classification"
    default_metrics = ("micro_f1",)
    default_best = "micro_f1"

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.options = {"threshold": self.threshold}

    def target(self, value: Any) -> Array:
        """Returns what the model is trained on: (labels,) float32, 1 where a label holds."""
        holds = np.zeros(len(self.labels), np.float32)
        holds[[self._indices[label] for label in value]] = 1
        return holds

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the mean binary cross-entropy of (N, labels) logits."""
        return F.binary_cross_entropy_with_logits(logits, targets.double())

    def rows(self, logits: Array, targets: Array) -> Iterable[dict[str, Any]]:
        """Yields the predictions as they are written."""
        for row in _sigmoid(logits):
            holding = [label for label, value in zip(self.labels, row, strict=True) if value > self.threshold]
            yield {"labels": holding, "probabilities": _named(self.labels, row)}

    def _labels_of(self, value: Any) -> Iterable[str]:
        return value  # type: ignore[no-any-return]

    def _decided(self, logits: Array, targets: Array) -> tuple[Any, Any]:
        return _sigmoid(logits), targets.astype(np.int64)

    def _as_scored(self, constant: Any, targets: Sequence[Any]) -> tuple[Any, Any]:
        return [constant] * len(targets), np.stack(targets).astype(np.int64)

    def _constants(self, targets: Sequence[Any]) -> Iterable[Any]:
        """Returns the k commonest labels, for the k of the best F1."""
        counts = np.stack(targets).sum(0)
        order = np.argsort(-counts, kind="stable")
        ranks = np.arange(1, len(counts) + 1)
        f1 = 2 * counts[order].cumsum() / (len(targets) * ranks + counts.sum())
        holds = np.zeros(len(counts))
        holds[order[: int(f1.argmax()) + 1]] = 1
        return [holds]


class Tagging(Problem):
    """A tag for each word of a text; a word's first token bears it."""

    name = "token_classification"
    auto_class = AutoModelForTokenClassification
    collator = DataCollatorForTokenClassification
    default_metrics = ("entity_f1",)
    default_best = "entity_f1"

    @property
    def config(self) -> dict[str, Any]:
        """What the configuration of a model for it says."""
        return super().config | {"problem_type": None}

    def target(self, value: Any) -> list[int]:
        """Returns what the model is trained on, before it is laid on tokens: an index for each word."""
        return [self._indices[tag] for tag in value]

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the mean over tagged tokens of (N, S, labels) logits; 0 if there is none."""
        asked = targets != IGNORED
        return F.cross_entropy(logits[asked], targets[asked].long()) if asked.any() else logits.sum() * 0

    def rows(self, logits: Array, targets: Array) -> Iterable[dict[str, Any]]:
        """Yields the predictions as they are written: the tags of the words that have a token."""
        for scores, row in zip(logits, targets, strict=True):
            likely = _softmax(scores[row != IGNORED])
            tags = [self.labels[index] for index in likely.argmax(-1)]
            yield {"labels": tags, "probabilities": [round(float(word.max()), 6) for word in likely]}

    def _labels_of(self, value: Any) -> Iterable[str]:
        return value  # type: ignore[no-any-return]

    def _decided(self, logits: Array, targets: Array) -> tuple[Any, Any]:
        found, asked = logits.argmax(-1), targets != IGNORED
        return self._tags(found, asked), self._tags(targets, asked)

    def _tags(self, indices: Array, asked: Array) -> list[list[str]]:
        pairs = zip(indices, asked, strict=True)
        return [[self.labels[index] for index in row[chosen]] for row, chosen in pairs]

    def _as_scored(self, constant: Any, targets: Sequence[Any]) -> tuple[Any, Any]:
        tags = [[self.labels[index] for index in row] for row in targets]
        return [[constant] * len(row) for row in tags], tags

    def _constants(self, targets: Sequence[Any]) -> Iterable[Any]:
        return ["O"]


def _softmax(logits: Array) -> Array:
    return np.asarray(torch.from_numpy(np.asarray(logits, np.float64)).softmax(-1))


def _sigmoid(logits: Array) -> Array:
    return np.asarray(torch.from_numpy(np.asarray(logits, np.float64)).sigmoid())


def _named(labels: Sequence[str], probabilities: Array) -> dict[str, float]:
    return {label: round(float(value), 6) for label, value in zip(labels, probabilities, strict=True)}


PROBLEMS: dict[str, type[Problem]] = {kind.name: kind for kind in (Problem, Regression, MultiLabel, Tagging)}
