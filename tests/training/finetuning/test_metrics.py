"""Metrics against values that were worked out by hand, and their confidence intervals."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, pearsonr

from vocabless.training.finetuning.metrics import interval, score
from vocabless.training.finetuning.problems import MultiLabel


def test_classes_are_scored_as_by_hand():
    # 3 true positives, 1 false positive, 2 false negatives, 4 true negatives
    references = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    predictions = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    values = score(["accuracy", "f1", "macro_f1", "matthews_correlation"], predictions, references)
    assert values["accuracy"] == pytest.approx(0.7)
    assert values["f1"] == pytest.approx(6 / 9)
    assert values["macro_f1"] == pytest.approx((6 / 9 + 8 / 11) / 2)
    assert values["matthews_correlation"] == pytest.approx((3 * 4 - 1 * 2) / math.sqrt(4 * 5 * 5 * 6))


def test_three_classes_have_a_matthews_correlation():
    values = score(["matthews_correlation"], [0, 1, 2, 2], [0, 1, 2, 1])
    # Gorodkin's formula: c = 3 right of s = 4; true counts (1, 2, 1), predicted (1, 1, 2)
    assert values["matthews_correlation"] == pytest.approx((3 * 4 - 5) / math.sqrt((16 - 6) * (16 - 6)))


def test_correlations_are_those_of_their_definitions():
    values = score(["pearson", "spearman"], [1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 40.0])
    assert values["spearman"] == pytest.approx(1 - 6 * (1 + 1) / (4 * 15))
    x, y = np.array([1, 2, 4, 3]) - 2.5, np.array([1, 2, 3, 40]) - 11.5
    assert values["pearson"] == pytest.approx((x @ y) / math.sqrt((x @ x) * (y @ y)))


@pytest.mark.parametrize("values", [[2.0, 2.0, 2.0], [0.1, 0.1, 0.1]])
def test_predictions_that_are_all_the_same_correlate_with_nothing(values, recwarn):
    scores = score(["pearson", "spearman"], values, [1.0, 2.0, 3.0])
    assert scores == {"pearson": 0.0, "spearman": 0.0}
    assert not recwarn.list


def test_the_threshold_decides_which_labels_hold():
    logits = np.log(probabilities := np.array([[0.9, 0.35, 0.1], [0.2, 0.31, 0.8]])) - np.log(1 - probabilities)
    targets = np.array([[1, 0, 1], [0, 1, 1]], np.float32)

    def scores(threshold):
        return list(MultiLabel(["a", "b", "c"], threshold=threshold).score(logits, targets).values())[1:]

    # above 0.3: {0, 1}, {1, 2}: three of four right, of four that hold
    assert scores(0.3) == pytest.approx([3 / 4, 3 / 4, 3 / 4])  # precision, recall, F1
    # above 0.5: {0}, {2}
    assert scores(0.5) == pytest.approx([1.0, 1 / 2, 2 / 3])
    assert scores(0.95) == [0, 0, 0]


@pytest.mark.parametrize(("right", "count"), [(0, 4), (4, 4), (7, 10), (65, 100), (872, 1000)])
def test_a_share_has_the_interval_of_scipy(right, count):
    expected = binomtest(right, count).proportion_ci(0.95, "wilson")
    assert interval("accuracy", right / count, count) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("folds", [0, 1, 5])
def test_the_interval_of_a_share_holds_the_share(folds):
    for count in (4, 24, 500):
        low, high = interval("accuracy", 0.0, count, folds)
        assert low == pytest.approx(0) and high > 0.001
        low, high = interval("accuracy", 1.0, count, folds)
        assert low < 0.999 and high == pytest.approx(1)


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
