"""The metrics of the tasks.

Each is a metric of `evaluate` around a function of scikit-learn or scipy. So it needs no network: `evaluate.load` would
download a script.
"""

from collections.abc import Callable, Sequence
from typing import Any

import evaluate
import numpy as np
from datasets import Features, Value
from datasets import Sequence as ListOf
from scipy import stats
from sklearn import metrics

Scores = dict[str, float]  # name of a metric, or "loss" → value


def score(names: Sequence[str], predictions: Any, references: Any) -> Scores:
    """Returns the scores by several metrics, keys of `METRICS`, for n predictions and references.

    One of them is a class, a number, or a row of booleans.

    Example:
        >>> score(["accuracy", "f1"], [1, 0, 1], [1, 1, 1])
        {'accuracy': 0.6666666666666666, 'f1': 0.8}
    """
    scores: Scores = {}
    for name in names:
        scores |= _Metric(name).compute(predictions=predictions, references=references) or {}
    return scores


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
