"""The base class of the problems that a model can be fine-tuned for."""
# mypy: allow-untyped-calls

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding

from vocabless.training.finetuning.metrics import score
from vocabless.training.trainer import EXACT_LOSS

IGNORED = -100  # target of a token without a label; losses and metrics skip it
Array = NDArray[Any]


class Problem(ABC):
    """Base class: how labels become targets, how predictions are evaluated, and how they are written to a file.

    Class attributes:
        name: the task type, as in `--task_type` and `config.problem_type`.
        per_word: whether a text is a list of words and each word has a label.
        min_labels: smallest number of different labels that makes sense.
        auto_class: the `AutoModelFor…` class with the right head.
        collator: class that pads a batch.
        default_metrics, default_best_metric: used if the constructor does not get others.

    Attributes:
        labels: label names by index; empty for regression.
        metrics: keys of `vocabless.training.finetuning.metrics.METRICS`.
        best_metric: the metric that selects the best epoch.
        threshold: see `MultiLabel`; other problems ignore it.
    """

    name: str
    per_word: bool = False
    min_labels: int = 2
    auto_class: Any = AutoModelForSequenceClassification
    collator: Any = DataCollatorWithPadding
    default_metrics: tuple[str, ...]
    default_best_metric: str

    def __init__(
        self,
        labels: Sequence[str] = (),
        metrics: Sequence[str] | None = None,
        best_metric: str | None = None,
        threshold: float = 0.3,
    ) -> None:
        self.labels = list(labels)
        self.metrics = tuple(metrics or self.default_metrics)
        self.best_metric = best_metric or self.default_best_metric
        self.threshold = threshold
        self._index_of = {label: index for index, label in enumerate(self.labels)}

    @classmethod
    @abstractmethod
    def parse_label(cls, label: Any) -> Any:
        """Returns a label from a data file in the form that `target` takes.

        Raises:
            ValueError: the label does not fit the problem.
        """

    @classmethod
    @abstractmethod
    def label_names(cls, label: Any) -> Sequence[str]:
        """Returns the label names in a parsed label."""

    @abstractmethod
    def target(self, label: Any) -> Any:
        """Returns the training target of a parsed label."""

    @abstractmethod
    def evaluation_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the mean loss over all targets of an evaluation.

        Training uses the loss of the model's own head. Evaluation uses this one because the Trainer's value is a mean
        over the means of batches, which depends on the batch size if batches have different numbers of targets.

        Args:
            logits: (N, labels) float64, the logits of all examples; (N, S, labels) for tagging.
            targets: the targets of all examples.
        """

    @abstractmethod
    def prediction_records(self, logits: Array, targets: Array) -> Iterable[dict[str, Any]]:
        """Yields one JSON record per example for the predictions file.

        Args:
            logits: the logits of all examples, like those of `evaluation_loss`.
            targets: the targets of all examples; only their `IGNORED` positions are used.
        """

    @abstractmethod
    def _metric_inputs(self, logits: Array, targets: Array) -> tuple[Any, Any]:
        """Returns predictions and references as the metrics take them."""

    @abstractmethod
    def _baseline_candidates(self, targets: Sequence[Any]) -> Iterable[Any]:
        """Returns the constant predictions, in the metrics' form, among which the best is searched."""

    @property
    def config(self) -> dict[str, Any]:
        """Arguments of the model's configuration."""
        names = {"id2label": dict(enumerate(self.labels)), "label2id": dict(self._index_of)}
        return {"num_labels": len(self.labels), "problem_type": self.name, **names}

    @property
    def metric_options(self) -> dict[str, Any]:
        """Keyword arguments of the metrics."""
        return {}

    def unknown_labels(self, labels: Iterable[Any]) -> list[str]:
        """Returns the label names in parsed labels that `self.labels` does not hold."""
        names = dict.fromkeys(name for label in labels for name in self.label_names(label))
        return [name for name in names if name not in self._index_of]

    def compute_metrics(self, prediction: Any) -> dict[str, float]:
        """Returns the metrics of an evaluation, and its loss as `EXACT_LOSS`, for `Trainer(compute_metrics=…)`.

        Args:
            prediction: `EvalPrediction` of all examples, with `predictions` (logits) and `label_ids` (targets).
        """
        logits, targets = np.asarray(prediction.predictions, np.float64), np.asarray(prediction.label_ids)
        loss = float(self.evaluation_loss(torch.from_numpy(logits), torch.from_numpy(targets)))
        return {EXACT_LOSS: loss, **score(self.metrics, *self._metric_inputs(logits, targets), self.metric_options)}

    def constant_baselines(self, targets: Sequence[Any]) -> dict[str, float]:
        """Returns, for each metric, the best score of a prediction that is the same for every example."""
        references = self._references(targets)
        scores = [
            score(self.metrics, self._repeat(candidate, references), references, self.metric_options)
            for candidate in self._baseline_candidates(targets)
        ]
        return {name: max(values[name] for values in scores) for name in scores[0]}

    def _references(self, targets: Sequence[Any]) -> Any:
        """Returns targets in the form of the metrics' references."""
        return targets

    def _repeat(self, candidate: Any, references: Any) -> list[Any]:
        """Returns a constant prediction for every reference."""
        return [candidate] * len(references)
