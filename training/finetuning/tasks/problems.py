"""The problems that a model can be fine-tuned for: a single label, a number, several labels.

To add one, write a subclass of `Problem` and add it to `PROBLEMS`: `--problem_type` then accepts its name.
"""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from torch import Tensor
from torch.nn import functional as F

from vocabless.training.finetuning.tasks.metrics import Scores, score
from vocabless.training.trainer import EXACT_LOSS

ABSENT = -10.0  # logit of a label that the training rows do not have
TOLERANCE = 1e-3  # of the gradient of a logistic regression; smaller ones take longer and change no score
Array = NDArray[Any]
Linear = tuple[Array, Array]  # weight (labels, D) and bias (labels,) of a linear model
PRIOR, LIKELY_TEMPERATURE = 4.0, 1.2  # of `Problem.temperature`: nats for a squared log, and where it is 0
THRESHOLD = 0.5  # see `Problem.threshold`; held-out rows may choose another one


class Problem(ABC):
    """How labels become targets, how outputs are scored, and how they are written to a file.

    Args:
        labels: label names by index; empty for regression.
        metrics: keys of `METRICS`; None takes the default ones.
        best_metric: the metric that selects the best epoch; None is the first one.
        threshold: probability from which on `MultiLabel` gives a label; other problems ignore it.
    """

    name: str  # the problem type, as in `--problem_type` and `config.problem_type`
    min_labels: int = 2  # smallest number of different labels that makes sense
    default_metrics: tuple[str, ...]
    temperatures: tuple[float, ...] = tuple(1.2**power for power in range(-8, 13))  # see `temperature`

    def __init__(
        self,
        labels: Sequence[str] = (),
        metrics: Sequence[str] | None = None,
        best_metric: str | None = None,
        threshold: float = THRESHOLD,
    ) -> None:
        self.labels = list(labels)
        self.metrics = tuple(metrics or self.default_metrics)
        self.best_metric = best_metric or self.metrics[0]
        self.threshold = threshold
        self._index_of = {label: index for index, label in enumerate(self.labels)}

    def with_threshold(self, threshold: float) -> "Problem":
        """Returns a copy with another limit."""
        problem = copy(self)
        problem.threshold = threshold
        return problem

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
        if isinstance(label, list) and len(label) == 1:
            (label,) = label
        if isinstance(label, list | dict):
            raise ValueError(f"the label {label!r} is a {type(label).__name__}")
        if isinstance(label, float) and not math.isfinite(label):
            raise ValueError(f"the label {label!r} is not a finite number")
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
    def constant_logits(self, targets: Array) -> Iterable[Any]:
        """Returns logits (labels,) of the constant predictions of which one has the best score."""

    @abstractmethod
    def prediction_records(self, logits: Array) -> Iterable[dict[str, Any]]:
        """Yields one JSON record per example for the predictions file."""

    @abstractmethod
    def fit_linear(self, vectors: Any, targets: Array, strength: float, weights: Array | None) -> Linear:
        """Returns a linear model of standardised vectors (n, D) and n targets.

        `strength` is the inverse regularisation, above 0, as scikit-learn's C; `weights` (n,) of the rows are its
        `sample_weight`.
        """

    def memberships(self, targets: Array) -> Array | None:
        """Returns the classes of n targets, (n, classes) of 0 and 1; None without classes."""
        result: Array = np.eye(len(self.labels))[targets]
        return result

    @property
    def config(self) -> dict[str, Any]:
        """Arguments of the model's configuration."""
        names = {"id2label": dict(enumerate(self.labels)), "label2id": dict(self._index_of)}
        return {"num_labels": len(self.labels), "problem_type": self.name, **names}

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the loss of each row of logits (N, labels) and targets, (N,); here, cross-entropies of classes."""
        return F.cross_entropy(logits, targets.long(), reduction="none")

    def temperature(self, logits: Array, targets: Array, weights: Array | None = None) -> float:
        """Returns what the logits are divided by for the smallest loss, in which rows may have weights (N,).

        Source: Guo et al. 2017, with a prior: few rows without a mistake do not say that there is none. For numbers,
        the temperature is 1.
        """
        counts = torch.from_numpy(np.ones(len(logits)) if weights is None else weights)

        def nats(temperature: float) -> float:
            losses = self.losses(torch.from_numpy(logits / temperature), torch.from_numpy(targets))
            prior = PRIOR * math.log(temperature / LIKELY_TEMPERATURE) ** 2
            return float((losses * counts).sum()) + prior

        return min(self.temperatures, key=nats)

    def nats(self, losses: Array) -> float:
        """Returns the negative log-likelihood of rows with these losses, up to a constant; here, their sum."""
        return float(losses.sum())

    def teacher_losses(self, logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
        """Returns the loss of each row against a teacher, (N,); here, the cross-entropy with its probabilities.

        The temperature divides both logits, (N, labels). The losses are multiplied by its square, so that gradients
        keep their size (Hinton et al. 2015).
        """
        probabilities = (teacher_logits / temperature).softmax(dim=-1)
        return F.cross_entropy(logits / temperature, probabilities, reduction="none") * temperature**2

    def score(self, logits: Any, targets: Any) -> Scores:
        """Returns the scores of the logits and targets of all examples.

        The loss is the mean over the examples. The Trainer's is a mean over the means of batches, which depends on the
        batch size.
        """
        logits, targets = np.asarray(logits, np.float64), np.asarray(targets)
        loss = float(self.losses(torch.from_numpy(logits), torch.from_numpy(targets)).mean())
        return {"loss": loss, **score(self.metrics, *self.decode(logits, targets))}

    def compute_metrics(self, prediction: Any) -> Scores:
        """Returns the scores of an `EvalPrediction`, the loss as `EXACT_LOSS`, for `Trainer(compute_metrics=…)`."""
        scores = self.score(prediction.predictions, prediction.label_ids)
        return {EXACT_LOSS: scores.pop("loss"), **scores}

    def constant_baselines(self, targets: Array) -> Scores:
        """Returns, for each metric, the best score of a prediction that is the same for every example."""
        scores = [
            score(self.metrics, *self.decode(np.tile(logits, (len(targets), 1)), targets))
            for logits in self.constant_logits(targets)
        ]
        return {name: max(values[name] for values in scores) for name in scores[0]}

    def unknown_labels(self, labels: Iterable[Any]) -> list[str]:
        """Returns the names in parsed labels that `self.labels` does not hold."""
        names = dict.fromkeys(name for label in labels for name in self.names_in(label))
        return [name for name in names if name not in self._index_of]


class SingleLabel(Problem):
    """One label for each text."""

    name = "single_label_classification"
    default_metrics = ("accuracy", "macro_f1")

    def target(self, label: str) -> int:
        """Returns the label's index."""
        return self._index_of[label]

    def decode(self, logits: Array, targets: Any) -> tuple[Any, Any]:
        """Returns the most likely classes, and the correct ones."""
        return logits.argmax(-1), targets

    def constant_logits(self, targets: Array) -> Iterable[Any]:
        """Returns the two most frequent labels. The F1 of class 1 may be better for the less frequent of two."""
        counts = np.bincount(targets, minlength=len(self.labels))
        return np.eye(len(self.labels))[np.argsort(-counts, kind="stable")[:2]]

    def fit_linear(self, vectors: Any, targets: Array, strength: float, weights: Array | None) -> Linear:
        """Returns a multinomial logistic regression. A label without a row is never the most likely one."""
        return _logistic_regression(vectors, targets, len(self.labels), strength, weights)

    def prediction_records(self, logits: Array) -> Iterable[dict[str, Any]]:
        """Yields the most likely label and the probabilities of all labels."""
        for probabilities in softmax(logits, axis=-1):
            label = self.labels[int(probabilities.argmax())]
            yield {"label": label, "probabilities": _by_label(self.labels, probabilities)}


class Regression(Problem):
    """A number for each text."""

    name = "regression"
    min_labels = 0
    default_metrics = ("pearson", "spearman")
    temperatures = (1.0,)

    @classmethod
    def parse_label(cls, label: Any) -> float:
        """Returns the label as a number."""
        with suppress(TypeError, ValueError):
            if math.isfinite(number := float(label)):
                return number
        raise ValueError(f"the label {label!r} is not a finite number")

    @property
    def config(self) -> dict[str, Any]:
        """Arguments of the model's configuration."""
        return {"num_labels": 1, "problem_type": self.name}

    def target(self, label: float) -> float:
        """Returns the number."""
        return float(label)

    def decode(self, logits: Array, targets: Any) -> tuple[Any, Any]:
        """Returns (N,) numbers of each side."""
        return logits.reshape(-1), targets.reshape(-1)

    def constant_logits(self, targets: Array) -> Iterable[Any]:
        """Returns the mean."""
        return [np.mean(targets)]

    def memberships(self, targets: Array) -> Array | None:
        """Returns None."""
        return None

    def fit_linear(self, vectors: Any, targets: Array, strength: float, weights: Array | None) -> Linear:
        """Returns a ridge regression."""
        model = Ridge(alpha=1 / strength).fit(vectors, targets, sample_weight=weights)
        return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the squared errors of (N, 1) logits and (N,) targets."""
        return (logits.flatten() - targets.to(logits.dtype).flatten()).square()

    def nats(self, losses: Array) -> float:
        """Returns that of errors with a normal distribution, whose variance is their mean square."""
        return len(losses) / 2 * math.log(max(float(losses.mean()), np.finfo(np.float64).tiny))

    def teacher_losses(self, logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
        """Returns the squared differences from the teacher's numbers, (N,); the temperature changes nothing."""
        return self.losses(logits, teacher_logits)

    def prediction_records(self, logits: Array) -> Iterable[dict[str, Any]]:
        """Yields the predicted number."""
        for value in logits.reshape(-1):
            yield {"value": float(value)}


class MultiLabel(Problem):
    """Any number of labels for each text; those whose probability is at least `threshold` are predicted."""

    name = "multi_label_classification"
    min_labels = 1
    default_metrics = ("micro_f1",)

    @classmethod
    def is_missing(cls, label: Any) -> bool:
        """Returns False: a text may have no label."""
        return False

    @classmethod
    def parse_label(cls, label: Any) -> list[str]:
        """Returns the label names of a list, or of a single label; none for an empty cell."""
        parts = label if isinstance(label, list) else [label]
        return [Problem.parse_label(part) for part in parts if part is not None and part != ""]

    def target(self, label: list[str]) -> Array:
        """Returns (labels,) float32: 1 for each label of the text, 0 for the others."""
        target = np.zeros(len(self.labels), np.float32)
        target[[self._index_of[name] for name in label]] = 1
        return target

    def decode(self, logits: Array, targets: Any) -> tuple[Any, Any]:
        """Returns (N, labels) booleans: which labels are predicted, and which are correct."""
        return expit(logits) >= self.threshold, targets.astype(bool)

    def constant_logits(self, targets: Array) -> Iterable[Any]:
        """Returns the k most frequent labels, for the k with the best micro F1 = 2·right / (predicted + references)."""
        counts = targets.sum(0)
        order = np.argsort(-counts, kind="stable")
        k = np.arange(1, len(counts) + 1)
        f1 = 2 * counts[order].cumsum() / (len(targets) * k + counts.sum())
        logits = np.full(len(counts), -np.inf)
        logits[order[: int(f1.argmax()) + 1]] = np.inf
        return [logits]

    def memberships(self, targets: Array) -> Array | None:
        """Returns whether a text has each label, then whether it lacks it."""
        return np.concatenate([targets, 1 - targets], axis=1)

    def fit_linear(self, vectors: Any, targets: Array, strength: float, weights: Array | None) -> Linear:
        """Returns a logistic regression of each label against the others."""
        models = [_logistic_regression(vectors, column, 2, strength, weights) for column in targets.T.astype(int)]
        return np.stack([w[1] - w[0] for w, _ in models]), np.array([bias[1] - bias[0] for _, bias in models])

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the binary cross-entropies of (N, labels) logits and targets, (N,) means over the labels."""
        targets = targets.to(logits.dtype)
        return F.binary_cross_entropy_with_logits(logits, targets, reduction="none").mean(dim=-1)

    def teacher_losses(self, logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
        """Returns the binary cross-entropies with the teacher's probability of each label, (N,)."""
        return self.losses(logits / temperature, (teacher_logits / temperature).sigmoid()) * temperature**2

    def prediction_records(self, logits: Array) -> Iterable[dict[str, Any]]:
        """Yields the predicted labels and the probabilities of all labels."""
        for probabilities in expit(logits):
            labels = [name for name, value in zip(self.labels, probabilities, strict=True) if value >= self.threshold]
            yield {"labels": labels, "probabilities": _by_label(self.labels, probabilities)}


def _logistic_regression(vectors: Any, classes: Array, count: int, strength: float, weights: Array | None) -> Linear:
    """Returns a model of the classes 0 to count − 1, of which some may be absent."""
    weight, bias = np.zeros((count, vectors.shape[1])), np.full(count, ABSENT)
    present = np.unique(classes)
    if len(present) == 1:
        bias[present] = 0
        return weight, bias
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes")  # of labels with few rows each
        model = LogisticRegression(C=strength, tol=TOLERANCE, max_iter=200).fit(vectors, classes, weights)
    # Of two classes, scikit-learn gives the weights of their difference.
    signs = np.array([[-0.5], [0.5]]) if len(present) == 2 else np.ones((len(present), 1))
    weight[present], bias[present] = signs * model.coef_, signs[:, 0] * model.intercept_
    return weight, bias


def _by_label(labels: Sequence[str], probabilities: Array) -> dict[str, float]:
    return {label: round(float(value), 6) for label, value in zip(labels, probabilities, strict=True)}


PROBLEMS: dict[str, type[Problem]] = {problem.name: problem for problem in (SingleLabel, Regression, MultiLabel)}
