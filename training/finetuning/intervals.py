"""The interval in which the score on any number of other texts of the same kind would lie."""

import math

from vocabless.training.finetuning.tasks import FOLDS

QUANTILE = 1.959964  # of the normal distribution, for 95 %
CORRELATIONS = ("matthews_correlation", "pearson", "spearman")


def interval(metric: str, value: float, count: int, scored_folds: int = 0) -> tuple[float, float]:
    """Returns the 95 % confidence interval of a score on `count` examples.

    A correlation gets Fisher's interval. Every other score is treated as a share of the examples and gets Wilson's
    interval (1927), which does not shrink to a point at 0 and 1.

    The model that was scored on folds is not the one that was saved, and folds share training rows. So the variance of
    a score on J folds of n rows each is not σ² / (J·n), but (1/J + test rows / training rows) σ² / n (Nadeau & Bengio
    2003, section 3), as if there were fewer examples. Without it, 84 % of the intervals held the score of the saved
    model on thousands of other rows.

    Args:
        metric: key of `METRICS`, or one of the values that a metric returns.
        value: the score, 0–1; a correlation −1 to 1.
        count: examples that were scored.
        scored_folds: see `Task`.

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
    margin = QUANTILE * math.sqrt(value * (1 - value) / effective + weight / (4 * count)) / (1 + weight)
    return max(0.0, center - margin), min(1.0, center + margin)
