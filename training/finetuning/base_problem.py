"""The base class of the problems that a model can be fine-tuned for."""
# mypy: allow-untyped-calls

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding

from vocabless.training.finetuning.metrics import score
from vocabless.training.trainer import EXACT_LOSS

IGNORED = -100  # target of a token without a label; losses and metrics skip it
Array = NDArray[Any]


class Prediction(NamedTuple):
    """Logits and targets, as `Problem.compute_metrics` takes them."""

    predictions: Any
    label_ids: Any


class Problem(ABC):
    """Base class: how labels become targets, how predictions are evaluated, and how they are written to a file.

    Class attributes:
        name: the problem type, as in `--problem_type` and `config.problem_type`.
        per_word: whether a text is a list of words and each word has a label.
        has_logits: whether outputs are logits of labels of a text, so that those of two models can be added.
        min_labels: smallest number of different labels that makes sense.
        auto_class: the `AutoModelFor…` class with the right head.
        collator: class that pads a batch.
        default_metrics, default_best_metric: used if the constructor does not get others.

    Attributes:
        labels: label names by index; empty for regression.
        metrics: keys of `vocabless.training.finetuning.metrics.METRICS`.
        best_metric: the metric that selects the best epoch.
        threshold: see `MultiLabel`; other problems ignore it.
        is_balanced: see `SingleLabel`; other problems ignore it.
    """

    name: str
    per_word: bool = False
    has_logits: bool = False
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
        self.is_balanced = False
        self._index_of = {label: index for index, label in enumerate(self.labels)}

    @classmethod
    def is_missing(cls, label: Any) -> bool:
        """Returns whether a row of a data file has no label."""
        return label is None or label == "" or (isinstance(label, list) and None in label)

    @classmethod
    @abstractmethod
    def parse_label(cls, label: Any) -> Any:
        """Returns a label from a data file in the form that `target` takes.

        Raises:
            ValueError: the label does not fit the problem.
        """

    @classmethod
    def parse_labels(cls, labels: Iterable[Any], where: str) -> list[Any]:
        """Returns the labels of a table, see `parse_label`; None where a label is missing.

        Args:
            labels: one for each row.
            where: name of the table, for the message.

        Raises:
            ValueError: a label does not fit the problem; the message names its row.
        """
        parsed: list[Any] = []
        for label in labels:
            try:
                parsed.append(None if cls.is_missing(label) else cls.parse_label(label))
            except ValueError as error:
                raise ValueError(
                    f"row {len(parsed)} of {where} does not fit {cls.name}: {error}; mend or drop the row, or check "
                    "--problem_type and --label_column."
                ) from error
        return parsed

    @classmethod
    @abstractmethod
    def label_names(cls, label: Any) -> Sequence[str]:
        """Returns the label names in a parsed label."""

    @abstractmethod
    def target(self, label: Any) -> Any:
        """Returns the training target of a parsed label."""

    @abstractmethod
    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the loss of each target, (P,).

        Args:
            logits: (P, labels), see `scored`.
            targets: their targets.
        """

    @abstractmethod
    def teacher_losses(self, logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
        """Returns the loss of each row of logits against those of a teacher, (P,).

        Args:
            logits: (P, labels), see `scored`.
            teacher_logits: (P, labels).
            temperature: divides both logits. The losses are multiplied by its square, so that gradients keep their size
                (Hinton et al. 2015).
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

    def strata(self, targets: Sequence[Any]) -> Sequence[Any]:
        """Returns what held-out rows shall have as often as all rows: here, the targets."""
        return targets

    def fit_linear(self, vectors: Array, targets: Sequence[Any], strength: float) -> tuple[Array, Array]:
        """Returns weight (labels, D) and bias (labels,) of a regularised linear model.

        Args:
            vectors: (n, D) standardised.
            targets: n of them.
            strength: inverse regularisation, above 0, as scikit-learn's C.
        """
        raise NotImplementedError(f"{self.name} has no linear model of one vector for each text.")

    @property
    def config(self) -> dict[str, Any]:
        """Arguments of the model's configuration."""
        names = {"id2label": dict(enumerate(self.labels)), "label2id": dict(self._index_of)}
        return {"num_labels": len(self.labels), "problem_type": self.name, **names}

    @property
    def metric_options(self) -> dict[str, Any]:
        """Keyword arguments of the metrics."""
        return {}

    @property
    def placeholder(self) -> Any:
        """The target of a text without a label, which no loss reads."""
        return 0

    def scored(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the logits that have a target, (P, labels), and these targets. Each text has one, unless per word."""
        return logits, targets

    def evaluation_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Returns the mean loss over all targets of an evaluation; 0 if there are none.

        Training uses the loss of the model's own head. Evaluation uses this one because the Trainer's value is a mean
        over the means of batches, which depends on the batch size if batches have different numbers of targets.

        Args:
            logits: (N, labels) float64, the logits of all examples; (N, S, labels) for tagging.
            targets: the targets of all examples.
        """
        losses = self.losses(*self.scored(logits, targets))
        return losses.mean() if len(losses) else logits.sum() * 0

    def distillation_loss(
        self,
        logits: Tensor,
        targets: Tensor,
        teacher_logits: Tensor,
        is_gold: Tensor,
        gold_weight: float,
        temperature: float,
    ) -> Tensor:
        """Returns the mean over all rows of g·(loss of the label) + (1 − g)·(loss against the teacher).

        g is 1 where the teacher has no logits, and 0 where there is no label. Rows with neither do not count.

        Args:
            logits: the logits of a batch, as the model returns them.
            targets: their targets; placeholders where there is no label.
            teacher_logits: (P, labels), one row for each row of `scored`; NaN where the teacher has none.
            is_gold: (P,) bool, whether the target is a label.
            gold_weight: g where there are both, 0–1.
            temperature: see `teacher_losses`.
        """
        logits, targets = self.scored(logits, targets)
        is_taught = ~teacher_logits.isnan().any(dim=-1)
        gold_share = torch.where(is_taught, gold_weight, 1.0) * is_gold
        teacher_share = (1 - gold_share) * is_taught
        gold = self.losses(logits, targets)
        taught = self.teacher_losses(logits, teacher_logits.nan_to_num(), temperature)
        return (gold_share * gold + teacher_share * taught).sum() / (is_taught | is_gold).sum().clamp(min=1)

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

    def score(self, logits: Array, targets: Sequence[Any]) -> dict[str, float]:
        """Returns `loss` and the metrics of logits (n, outputs) and n targets; not for a problem per word."""
        metrics = self.compute_metrics(Prediction(logits, np.asarray(targets)))
        return {"loss": metrics.pop(EXACT_LOSS), **metrics}

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
