"""The base class of the problems that a model can be fine-tuned for."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from vocabless.training.finetuning.metrics import score
from vocabless.training.trainer import EXACT_LOSS

Array = NDArray[Any]


class Problem(ABC):
    """How labels become targets, how outputs are scored, and how they are written to a file.

    Args:
        labels: label names by index; empty for regression.
        metrics: keys of `METRICS`; None takes the default ones.
        best_metric: the metric that selects the best epoch; None is the first one.
        threshold: see `MultiLabel`; other problems ignore it.
    """

    name: str  # the problem type, as in `--problem_type` and `config.problem_type`
    min_labels: int = 2  # smallest number of different labels that makes sense
    default_metrics: tuple[str, ...]

    def __init__(
        self,
        labels: Sequence[str] = (),
        metrics: Sequence[str] | None = None,
        best_metric: str | None = None,
        threshold: float = 0.3,
    ) -> None:
        self.labels = list(labels)
        self.metrics = tuple(metrics or self.default_metrics)
        self.best_metric = best_metric or self.metrics[0]
        self.threshold = threshold
        self._index_of = {label: index for index, label in enumerate(self.labels)}

    @classmethod
    def is_missing(cls, label: Any) -> bool:
        """Returns whether a row of a data file has no label."""
        return label is None or label == "" or (isinstance(label, list) and None in label)

    @classmethod
    def parse_label(cls, label: Any) -> Any:
        """Returns a label from a data file as a name, a number or a list of names; here, as a name: 3.0 is "3".

        Raises:
            ValueError: the label does not fit the problem.
        """
        if isinstance(label, list | dict):
            raise ValueError(f"the label {label!r} is a {type(label).__name__}")
        return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)

    @staticmethod
    def names_in(label: Any) -> list[str]:
        """Returns the label names in a parsed label; none in a number."""
        return [label] if isinstance(label, str) else label if isinstance(label, list) else []

    @abstractmethod
    def target(self, label: Any) -> Any:
        """Returns the training target of a parsed label."""

    @abstractmethod
    def decode(self, logits: Array, targets: Any) -> tuple[Any, Any]:
        """Returns predictions and references as the metrics take them, of the logits and targets of all examples."""

    @abstractmethod
    def constant_logits(self, targets: Sequence[Any]) -> Iterable[Any]:
        """Returns logits (labels,) of the constant predictions of which one has the best score."""

    @abstractmethod
    def prediction_records(self, logits: Array) -> Iterable[dict[str, Any]]:
        """Yields one JSON record per example for the predictions file."""

    @abstractmethod
    def fit_linear(self, vectors: Any, targets: Sequence[Any], strength: float) -> tuple[Array, Array]:
        """Returns weight (labels, D) and bias (labels,) of a linear model of standardised vectors (n, D) and n targets.

        `strength` is the inverse regularisation, above 0, as scikit-learn's C.
        """

    def strata(self, targets: Sequence[Any]) -> Sequence[Any]:
        """Returns what held-out rows shall have as often as all rows: here, the targets."""
        return targets

    @property
    def config(self) -> dict[str, Any]:
        """Arguments of the model's configuration."""
        names = {"id2label": dict(enumerate(self.labels)), "label2id": dict(self._index_of)}
        return {"num_labels": len(self.labels), "problem_type": self.name, **names}

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the loss of each row of logits (N, labels) and targets, (N,); here, cross-entropies of classes."""
        return F.cross_entropy(logits, targets.long(), reduction="none")

    def teacher_losses(self, logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
        """Returns the loss of each row against a teacher, (N,); here, the cross-entropy with its probabilities.

        The temperature divides both logits, (N, labels). The losses are multiplied by its square, so that gradients
        keep their size (Hinton et al. 2015).
        """
        probabilities = (teacher_logits / temperature).softmax(dim=-1)
        return F.cross_entropy(logits / temperature, probabilities, reduction="none") * temperature**2

    def score(self, logits: Any, targets: Any) -> dict[str, float]:
        """Returns `loss` and the metrics of the logits and targets of all examples.

        The loss is the mean over the examples. The Trainer's is a mean over the means of batches, which depends on the
        batch size.
        """
        logits, targets = np.asarray(logits, np.float64), np.asarray(targets)
        loss = float(self.losses(torch.from_numpy(logits), torch.from_numpy(targets)).mean())
        return {"loss": loss, **score(self.metrics, *self.decode(logits, targets))}

    def compute_metrics(self, prediction: Any) -> dict[str, float]:
        """Returns the scores of an `EvalPrediction`, the loss as `EXACT_LOSS`, for `Trainer(compute_metrics=…)`."""
        scores = self.score(prediction.predictions, prediction.label_ids)
        return {EXACT_LOSS: scores.pop("loss"), **scores}

    def constant_baselines(self, targets: Sequence[Any]) -> dict[str, float]:
        """Returns, for each metric, the best score of a prediction that is the same for every example."""
        scores = [
            score(self.metrics, *self.decode(np.tile(logits, (len(targets), 1)), np.asarray(targets)))
            for logits in self.constant_logits(targets)
        ]
        return {name: max(values[name] for values in scores) for name in scores[0]}

    def unknown_labels(self, labels: Iterable[Any]) -> list[str]:
        """Returns the names in parsed labels that `self.labels` does not hold."""
        names = dict.fromkeys(name for label in labels for name in self.names_in(label))
        return [name for name in names if name not in self._index_of]
