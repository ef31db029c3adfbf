"""Confidence intervals of scores."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, pearsonr

from vocabless.training.finetuning.intervals import interval


@pytest.mark.parametrize(("right", "count"), [(0, 4), (4, 4), (7, 10), (65, 100), (872, 1000)])
def test_a_share_has_the_interval_of_scipy(right, count):
    expected = binomtest(right, count).proportion_ci(0.95, "wilson")
    assert interval("accuracy", right / count, count) == pytest.approx((expected.low, expected.high))


def test_a_correlation_has_the_interval_of_scipy():
    chance = np.random.default_rng(0)
    x = chance.normal(size=50)
    result = pearsonr(x, x + chance.normal(size=50))
    low, high = result.confidence_interval(0.95)
    assert interval("pearson", result.statistic, 50) == pytest.approx((low, high))


@pytest.mark.parametrize("value", [-1.0, 1.0])
def test_three_rows_say_nothing_of_a_correlation(value):
    assert interval("spearman", value, 3) == (-1.0, 1.0)
    low, high = interval("spearman", value, 50)
    assert -1 <= low <= high <= 1


@pytest.mark.parametrize("folds", [1, 5])
def test_the_interval_of_a_score_on_folds_has_the_variance_of_nadeau_and_bengio(folds):
    """(1/J + test rows / training rows) σ², where σ² is the variance of the score on one fold of many rows."""
    share, rows_of_a_fold = 0.8, 100_000
    variance = (1 / folds + 1 / 4) * share * (1 - share) / rows_of_a_fold
    low, high = interval("accuracy", share, folds * rows_of_a_fold, folds)
    assert high - low == pytest.approx(2 * 1.959964 * variance**0.5, rel=1e-3)
    low, high = (math.atanh(bound) for bound in interval("pearson", 0.5, folds * rows_of_a_fold, folds))
    assert high - low == pytest.approx(2 * 1.959964 * ((1 / folds + 1 / 4) / rows_of_a_fold) ** 0.5, rel=1e-3)
