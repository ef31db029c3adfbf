"""The rules on held-out rows: the same shares of each label, groups that stay together, intervals and choices."""

import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, pearsonr

from vocabless.training.finetuning.data import Examples, TaskData
from vocabless.training.finetuning.held_out import (
    FOLDS,
    folds_of,
    hold_out,
    interval,
    is_simpler_better,
    is_simpler_better_on_folds,
    limited,
    scored_rows,
    threshold_of,
    training_folds,
    with_scored_folds,
)
from vocabless.training.finetuning.problems import MultiLabel, SingleLabel
from vocabless.training.finetuning.text_logits import TextLogits

labels = st.lists(st.integers(0, 3), min_size=10, max_size=60)


@given(labels)
def test_each_row_is_in_one_fold_and_folds_have_the_same_labels(strata):
    folds = folds_of(strata)
    assert sorted(row for fold in folds for row in fold) == list(range(len(strata)))
    for label in set(strata):
        sizes = [sum(strata[row] == label for row in fold) for fold in folds]
        assert max(sizes) - min(sizes) <= 1


@given(labels, st.floats(0.02, 0.5))
def test_a_held_out_part_has_its_share_of_each_label(strata, share):
    held_out = hold_out(strata, share)
    assert len(held_out) == max(1, int(len(strata) * share + 1e-9))
    counts = Counter(strata[row] for row in held_out)
    for label, count in Counter(strata).items():
        assert abs(counts[label] - share * count) <= max(1, 1 / len(strata) * count)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.lists(st.sampled_from("abcdef"), max_size=3)), min_size=2, max_size=40),
    st.floats(0.02, 0.5),
)
def test_no_label_loses_its_last_training_row_and_something_is_held_out_where_that_is_possible(rows, share):
    groups, labels = [group for group, _ in rows], [names for _, names in rows]
    held_out = set(hold_out([tuple(sorted(names)) for names in labels], share, groups, labels).tolist())
    learned = {name for row, names in enumerate(labels) if row not in held_out for name in names}
    assert learned == {name for names in labels for name in names}
    assert {groups[row] for row in held_out}.isdisjoint(groups[row] for row in range(len(rows)) if row not in held_out)
    if not held_out:
        for each in set(groups):
            others = {name for group, names in rows if group != each for name in names}
            assert not learned <= others


@given(labels, st.floats(0.02, 0.5))
def test_rows_are_held_out_as_before_where_no_label_would_lose_its_last_row(strata, share):
    expected = hold_out(strata, share)
    if set(strata) == {strata[row] for row in range(len(strata)) if row not in expected}:
        assert np.array_equal(hold_out(strata, share, None, [[str(label)] for label in strata]), expected)


def test_rows_of_a_group_are_never_divided():
    groups = [row // 3 for row in range(30)]
    for fold in folds_of([0] * 30, groups):
        assert len(fold) == 6 and len({groups[row] for row in fold}) == 2
    held_out = hold_out([0] * 30, 0.2, groups)
    assert len(held_out) == 6 and len({groups[row] for row in held_out}) == 2


@pytest.mark.parametrize("strata", [[0.1 * row for row in range(50)], [(row % 2, row % 3) for row in range(50)]])
def test_numbers_and_sets_of_labels_are_divided_evenly(strata):
    means = [np.mean([np.sum(strata[row]) for row in fold]) for fold in folds_of(strata)]
    assert np.ptp(means) < 0.5 * np.std([np.sum(each) for each in strata])


def test_the_validation_rows_are_those_of_the_scored_folds_also_of_fewer_rows_and_the_data_stay():
    examples = Examples([str(row) for row in range(40)], labels=["a", "b"] * 20)
    data = TaskData("t", "t", SingleLabel(["a", "b"]), examples)
    for count in (1, FOLDS):
        scored = with_scored_folds(data, count)
        rows = scored_rows(scored).tolist()
        assert rows == sorted(np.concatenate(training_folds(data)[:count]).tolist()) and len(rows) == 8 * count
        assert scored.validation[""].texts == [str(row) for row in rows]
        fewer = limited(scored, 20)
        assert len(fewer.train) == 20 and len(fewer.validation[""]) == 4 * count
        assert set(fewer.validation[""].texts) <= set(fewer.train.texts)
        assert fewer.footnotes == ("t: trained on 20 of 40 rows",) and limited(scored, 40) is limited(scored, None)
    assert data.validation == {} and not data.is_cross_validated and not data.footnotes


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


@pytest.mark.parametrize(("name", "greater", "best", "is_better"), [
    *(("accuracy", True, 0.85, False), ("accuracy", True, 0.8, True), ("eval_accuracy", True, 0.7, True)),
    *(("loss", False, 0.5, False), ("loss", False, 0.7, True), ("unknown", True, 0.1, False)),
])  # fmt: skip
def test_a_head_is_saved_if_no_epoch_is_better(name, greater, best, is_better):
    training = SimpleNamespace(metric_for_best_model=name, greater_is_better=greater, load_best_model_at_end=True)
    tuned = {name.removeprefix("eval_"): best}
    assert is_simpler_better(training, {"accuracy": 0.8, "loss": 0.6}, tuned) == is_better


@pytest.mark.parametrize(("better", "worse", "scale", "is_head"), [
    (0, 0, 1, True), (6, 5, 1, True), (8, 4, 1, False), (40, 0, 1, False), (40, 0, 9, False),
])  # fmt: skip
def test_on_folds_fine_tuning_must_gain_more_than_half_a_standard_error_whatever_the_scale_of_its_logits(
    better, worse, scale, is_head
):
    """The head is right in 50 of 100 rows; fine-tuning in some others, too, but not in all of these."""
    examples = Examples(["t"] * 100, labels=["a"] * 100)
    data = with_scored_folds(TaskData("t", "t", SingleLabel(["a", "b"]), examples), FOLDS)
    logits = np.tile([[1.0, 0.0]], (100, 1))
    head, tuned = logits * 1, scale * logits
    head[50:] *= -1
    tuned[50 + better :] *= -1
    tuned[:worse] *= -1
    head, tuned = (TextLogits(logits, logits[:0], np.empty(0, int)) for logits in (head, tuned))
    assert is_simpler_better_on_folds(data, head, tuned) == is_head


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
        return threshold_of(TaskData("t", "t", problem, examples, validation={"": examples}), logits[:rows])

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
    assert threshold_of(data, np.tile([[9.0], [-9.0]], (20, 1))) == 0.5
    assert threshold_of(replace(data, problem=SingleLabel(["a", "b"])), np.zeros((40, 2))) == 0.5
