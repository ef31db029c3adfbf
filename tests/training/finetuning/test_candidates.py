"""The candidates that may be saved: their intervals, the choice among them, and the limit of several labels."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, pearsonr

from vocabless.training.finetuning.candidates import HEAD, MEAN, TRAINED, Candidate, interval, simplest
from vocabless.training.finetuning.rows.held_out import training_folds, with_folds
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.logits import TextLogits
from vocabless.training.finetuning.tasks.problems import MultiLabel, SingleLabel


def in_folds(data):
    return with_folds(data, training_folds(data))


def candidate(data, name, logits):
    return Candidate.of(name, data, {"": TextLogits(logits, logits[:0], np.empty(0, int))})


@pytest.mark.parametrize(("right", "count"), [(0, 4), (4, 4), (7, 10), (65, 100), (872, 1000)])
def test_a_share_has_the_interval_of_scipy_which_holds_it_on_folds_too(right, count):
    expected = binomtest(right, count).proportion_ci(0.95, "wilson")
    assert interval("accuracy", right / count, count) == pytest.approx((expected.low, expected.high))
    for folds in (1, 5):
        low, high = interval("accuracy", right / count, count, folds)
        assert -1e-9 <= low <= right / count + 1e-9 and right / count - 1e-9 <= high <= 1 + 1e-9
        assert low < expected.low + 1e-9 and high > expected.high - 1e-9  # rows of folds say less


def test_a_correlation_has_the_interval_of_scipy():
    chance = np.random.default_rng(0)
    x = chance.normal(size=50)
    result = pearsonr(x, x + chance.normal(size=50))
    low, high = result.confidence_interval(0.95)
    assert interval("pearson", result.statistic, 50) == pytest.approx((low, high))
    for value in (-1.0, 1.0):
        assert interval("spearman", value, 3) == (-1.0, 1.0)  # three rows say nothing
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


@pytest.mark.parametrize(("better", "worse", "scale", "is_head"), [
    (0, 0, 1, True), (6, 5, 1, True), (8, 4, 1, False), (40, 0, 1, False), (40, 0, 9, False),
])  # fmt: skip
def test_fine_tuning_must_gain_more_than_half_a_standard_error_whatever_the_scale_of_its_logits(
    better, worse, scale, is_head
):
    """The head is right in 50 of 100 rows; fine-tuning in some others, too, but not in all of these."""
    examples = Examples(["t"] * 100, labels=["a"] * 100)
    data = in_folds(TaskData("t", "t", SingleLabel(["a", "b"]), examples))
    logits = np.tile([[1.0, 0.0]], (100, 1))
    head, tuned = logits * 1, scale * logits
    head[50:] *= -1
    tuned[50 + better :] *= -1
    tuned[:worse] *= -1
    head, tuned = (candidate(data, name, logits) for name, logits in ((HEAD, head), (TRAINED, tuned)))
    assert (simplest([head, tuned]) is head) == is_head


def test_the_simplest_candidate_that_no_other_one_is_better_than_is_chosen():
    """Each has a share of right rows, and no two are wrong in the same ones."""
    examples = Examples(["t"] * 1000, labels=["a"] * 1000)
    data = in_folds(TaskData("t", "t", SingleLabel(["a", "b"]), examples))

    def named(name, errors):
        logits = np.tile([[1.0, 0.0]], (1000, 1))
        logits[:errors] *= -1
        return candidate(data, name, logits)

    for errors, expected in {
        (100, 100, 100): HEAD, (100, 50, 50): TRAINED, (100, 90, 40): MEAN, (40, 90, 90): HEAD, (60, 40, 90): TRAINED,
    }.items():  # fmt: skip
        candidates = [named(*each) for each in zip((HEAD, TRAINED, MEAN), errors, strict=True)]
        assert simplest(candidates).name == expected
    assert simplest(candidates[:1]) is candidates[0]


@pytest.mark.parametrize(("metric", "scores", "expected"), [
    ("accuracy", (0.8, 0.85, 0.85), TRAINED), ("accuracy", (0.8, 0.8, 0.8), HEAD), ("accuracy", (0.8, 0.7, 0.81), MEAN),
    ("loss", (0.6, 0.7, 0.7), HEAD), ("loss", (0.6, 0.5, 0.4), MEAN),
])  # fmt: skip
def test_a_metric_decides_where_it_chose_the_best_epoch(metric, scores, expected):
    examples = Examples(["t"], labels=["a"])
    data = TaskData("t", "t", SingleLabel(["a", "b"]), examples, validation={"": examples})
    first = candidate(data, HEAD, np.zeros((1, 2)))
    named = zip((HEAD, TRAINED, MEAN), scores, strict=True)
    candidates = [replace(first, name=name, scores={metric: score}) for name, score in named]
    assert simplest(candidates, metric).name == expected


def test_a_candidate_has_the_scores_of_the_model_that_is_saved():
    """With its temperature and its sentences: here, these make the second of two texts right."""
    examples = Examples(["t"] * 2, labels=["a", "b"])
    data = TaskData("t", "t", SingleLabel(["a", "b"]), examples, validation={"": examples, "_mm": examples})
    texts, sentences = np.array([[2.0, 0.0], [0.2, 0.0]]), np.array([[0.0, 0.0], [0.0, 3.0]])
    logits = TextLogits(texts, sentences, np.array([1, 1]))
    found = Candidate.of(TRAINED, data, {"": logits, "_mm": logits.select(np.array([0, 1]))}, True, is_calibrated=False)
    assert found.temperature in data.problem.temperatures and found.temperature != 1 and found.reads_sentences
    expected = data.problem.score(logits.joined(found.temperature), [0, 1])
    assert expected["accuracy"] == 1 and data.problem.score(texts, [0, 1])["accuracy"] == 0.5
    assert found.scores == expected | {f"{name}_mm": value for name, value in expected.items()}


@pytest.mark.parametrize("spread", [0.5, 2.0, 5.0])
def test_the_limit_of_several_labels_has_nearly_the_best_f1_and_is_nearer_to_a_half_for_few_rows(spread):
    """The probabilities are right: a label is drawn with its probability."""
    random = np.random.default_rng(0)
    logits = random.normal(-1, spread, (4000, 3))
    has_label = random.random(logits.shape) < 1 / (1 + np.exp(-logits))
    problem = MultiLabel(["a", "b", "c"])

    def limit_of(rows):
        labels = [[name for name, has in zip("abc", row, strict=True) if has] for row in has_label[:rows]]
        examples = Examples(["t"] * rows, labels=labels)
        task = TaskData("t", "t", problem, examples, validation={"": examples})
        return candidate(task, HEAD, logits[:rows]).threshold

    def f1(limit):
        return problem.with_threshold(limit).score(logits, has_label)["micro_f1"]

    best = max(f1(limit / 50) for limit in range(1, 50))
    assert f1(limit_of(4000)) > best - 0.005 and limit_of(4000) == pytest.approx(best / 2, abs=0.01)
    few = limit_of(5)
    labels = has_label[:5]
    best_of_few = max(
        2 * (given & labels).sum() / max(given.sum() + labels.sum(), 1)
        for given in (1 / (1 + np.exp(-logits[:5])) >= limit / 20 for limit in range(1, 20))
    )
    assert few == pytest.approx((best_of_few + 1) / 4, abs=0.006)  # as many sure rows as these


def test_the_limit_is_a_half_where_nothing_is_wrong_and_for_other_problems():
    examples = Examples(["t"] * 40, labels=[["a"], []] * 20)
    data = TaskData("t", "t", MultiLabel(["a"]), examples, validation={"": examples})
    assert candidate(data, HEAD, np.tile([[9.0], [-9.0]], (20, 1))).threshold == 0.5
    single = Examples(["t"] * 40, labels=["a", "b"] * 20)
    data = TaskData("t", "t", SingleLabel(["a", "b"]), single, validation={"": single})
    assert candidate(data, HEAD, np.zeros((40, 2))).threshold == 0.5
