"""The metrics of the tasks, and the interval in which the score on other texts would lie.

Each is a metric of `evaluate` around a function of scikit-learn or scipy. So it needs no network: `evaluate.load` would
download a script.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import evaluate
import numpy as np
from datasets import Features, Value
from datasets import Sequence as ListOf
from scipy import stats
from sklearn import metrics

FOLDS = 5  # of the training rows, for scores without validation rows
QUANTILE = 1.959964  # of the normal distribution, for 95 %
CORRELATIONS = ("matthews_correlation", "pearson", "spearman")


def score(names: Sequence[str], predictions: Any, references: Any) -> dict[str, float]:
    """Returns the values of several metrics, keys of `METRICS`, for n predictions and references.

    One of them is a class, a number, or a row of booleans.

    Example:
        >>> score(["accuracy", "f1"], [1, 0, 1], [1, 1, 1])
        {'accuracy': 0.6666666666666666, 'f1': 0.8}
    """
    values: dict[str, float] = {}
    for name in names:
        values |= _Metric(name).compute(predictions=predictions, references=references) or {}
    return values


def interval(metric: str, value: float, count: int, scored_folds: int = 0) -> tuple[float, float]:
    """Returns the 95 % confidence interval of a score on `count` examples.

    A correlation gets Fisher's interval. Every other score is treated as a share of the examples and gets Wilson's
    interval (1927), which does not shrink to a point at 0 and 1.

    The model that was scored on folds is not the one that was saved, and folds share training rows. So the variance of
    a score on J folds of n rows each is not σ² / (J·n), but (1/J + test rows / training rows) σ² / n (Nadeau & Bengio
    2003, section 3), as if there were fewer examples. Without it, 84 % of the intervals held the score of the saved
    model on thousands of other rows.

    Example:
        >>> [round(bound, 2) for bound in interval("accuracy", 1.0, 4)]
        [0.51, 1.0]
        >>> [round(bound, 2) for bound in interval("spearman", 0.8, 103)]
        [0.72, 0.86]
        >>> [round(bound, 2) for bound in interval("accuracy", 0.8, 500, scored_folds=5)]
        [0.74, 0.85]
    """
    effective = count / (1 + scored_folds / (FOLDS - 1))
    if metric in CORRELATIONS:
        if effective <= 3:
            return -1.0, 1.0
        center = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, value)))
        margin = QUANTILE / math.sqrt(effective - 3)
        return math.tanh(center - margin), math.tanh(center + margin)
    weight = QUANTILE**2 / effective
    center = (value + weight / 2) / (1 + weight)
    margin = QUANTILE * math.sqrt(value * (1 - value) / effective + weight / (4 * effective)) / (1 + weight)
    return max(0.0, center - margin), min(1.0, center + margin)


class _Metric(evaluate.Metric):
    """A row of `METRICS` as a metric of `evaluate`, which checks the form of predictions and references."""

    def __init__(self, name: str) -> None:
        self._row = name, *METRICS[name]  # `_info` is called at once
        # The default, a file in the user's cache, fails if several processes compute at the same time.
        super().__init__(keep_in_memory=True)

    def _info(self) -> evaluate.MetricInfo:
        name, form, _ = self._row
        return evaluate.MetricInfo(
            description=name, citation="", features=Features({"predictions": form, "references": form})
        )

    def _compute(self, predictions: Any, references: Any) -> dict[str, float]:
        name, _, function = self._row
        value = function(predictions, references)
        return value if isinstance(value, dict) else {name: float(value)}


def _of_classes(function: Any, **options: Any) -> Callable[[Any, Any], Any]:
    """Returns a metric of scikit-learn, which takes the references first."""
    return lambda predictions, references: function(references, predictions, **options)


def _micro_f1(predictions: Any, references: Any) -> dict[str, float]:
    """Precision, recall and F1 over all pairs of text and label."""
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        np.asarray(references, bool), np.asarray(predictions, bool), average="micro", zero_division=0
    )
    return {"micro_precision": float(precision), "micro_recall": float(recall), "micro_f1": float(f1)}


def _correlation(function: Any) -> Callable[[Any, Any], Any]:
    """Returns a metric; a side whose numbers are all the same correlates with nothing."""

    def correlate(predictions: Any, references: Any) -> Any:
        sides = [np.asarray(side, np.float64) for side in (predictions, references)]
        return 0.0 if any(len(side) < 2 or np.ptp(side) == 0 for side in sides) else function(*sides).statistic

    return correlate


CLASS, NUMBER, LABELS = Value("int64"), Value("float64"), ListOf(Value("bool"))
METRICS: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {  # name → form of a prediction, and the function
    "accuracy": (CLASS, _of_classes(metrics.accuracy_score)),
    "f1": (CLASS, _of_classes(metrics.f1_score, zero_division=0)),  # of class 1; 0 if neither side has it
    "macro_f1": (CLASS, _of_classes(metrics.f1_score, average="macro", zero_division=0)),
    "matthews_correlation": (CLASS, _of_classes(metrics.matthews_corrcoef)),
    "pearson": (NUMBER, _correlation(stats.pearsonr)),
    "spearman": (NUMBER, _correlation(stats.spearmanr)),
    "micro_f1": (LABELS, _micro_f1),
}
