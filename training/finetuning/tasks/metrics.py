"""The metrics of the tasks.

Each is a function of scikit-learn or scipy. `evaluate.load` would download a script, and `evaluate` writes a cache.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
        value = METRICS[name](np.asarray(references), np.asarray(predictions))
        scores |= value if isinstance(value, dict) else {name: float(value)}
    return scores


def is_gain(gains: NDArray[np.float64], standard_errors: float) -> bool:
    """Returns whether the mean of the gains of n rows is above so many of its standard errors."""
    return bool(gains.mean() > standard_errors * gains.std() / math.sqrt(len(gains)))


def _micro_f1(references: Any, predictions: Any) -> dict[str, float]:
    """Precision, recall and F1 over all pairs of text and label."""
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        references, predictions, average="micro", zero_division=0
    )
    return {"micro_precision": float(precision), "micro_recall": float(recall), "micro_f1": float(f1)}


def _correlation(function: Any, references: Any, predictions: Any) -> Any:
    """Returns a correlation by scipy; a side whose numbers are all the same correlates with nothing."""
    sides = predictions.astype(np.float64), references.astype(np.float64)
    return 0.0 if any(len(side) < 2 or np.ptp(side) == 0 for side in sides) else function(*sides).statistic


METRICS: dict[str, Callable[[Any, Any], Any]] = {  # references, predictions → value, as in scikit-learn
    "accuracy": metrics.accuracy_score,
    "f1": partial(metrics.f1_score, zero_division=0),  # of class 1; 0 if neither side has it
    "macro_f1": partial(metrics.f1_score, average="macro", zero_division=0),
    "matthews_correlation": metrics.matthews_corrcoef,
    "pearson": partial(_correlation, stats.pearsonr),
    "spearman": partial(_correlation, stats.spearmanr),
    "micro_f1": _micro_f1,
}
