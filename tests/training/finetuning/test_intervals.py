"""Confidence intervals of scores."""

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
