"""Metrics against values that were worked out by hand, and the problems' labels."""

import math
from unittest.mock import Mock

import numpy as np
import pytest

from vocabless.training.finetuning.tasks.metrics import score
from vocabless.training.finetuning.tasks.problems import MultiLabel, Regression, SingleLabel


def test_classes_are_scored_as_by_hand():
    # 3 true positives, 1 false positive, 2 false negatives, 4 true negatives
    references = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    predictions = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    values = score(["accuracy", "f1", "macro_f1", "matthews_correlation"], predictions, references)
    assert values["accuracy"] == pytest.approx(0.7)
    assert values["f1"] == pytest.approx(6 / 9)
    assert values["macro_f1"] == pytest.approx((6 / 9 + 8 / 11) / 2)
    assert values["matthews_correlation"] == pytest.approx((3 * 4 - 1 * 2) / math.sqrt(4 * 5 * 5 * 6))
    values = score(["matthews_correlation"], [0, 1, 2, 2], [0, 1, 2, 1])
    # Gorodkin's formula: c = 3 right of s = 4; true counts (1, 2, 1), predicted (1, 1, 2)
    assert values["matthews_correlation"] == pytest.approx((3 * 4 - 5) / math.sqrt((16 - 6) * (16 - 6)))


def test_correlations_are_those_of_their_definitions(recwarn):
    values = score(["pearson", "spearman"], [1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 40.0])
    assert values["spearman"] == pytest.approx(1 - 6 * (1 + 1) / (4 * 15))
    x, y = np.array([1, 2, 4, 3]) - 2.5, np.array([1, 2, 3, 40]) - 11.5
    assert values["pearson"] == pytest.approx((x @ y) / math.sqrt((x @ x) * (y @ y)))
    for value in (2.0, 0.1):  # predictions that are all the same correlate with nothing
        assert score(["pearson", "spearman"], [value] * 3, [1.0, 2.0, 3.0]) == {"pearson": 0.0, "spearman": 0.0}
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


def test_the_temperature_of_few_rows_without_a_mistake_is_near_1_and_that_of_many_is_the_best():
    problem = SingleLabel(["a", "b", "c"])

    def best(count):
        return problem.temperature(np.array([[3.0, 0.0, 0.0]] * count), np.zeros(count))

    def cost(count, by):
        return count * math.log(1 + 2 * math.exp(-3 / by)) + 4 * (math.log(by) - math.log(1.2)) ** 2

    counts = 3, 30, 10**5
    assert [*map(best, counts)] == [min(problem.temperatures, key=lambda by: cost(n, by)) for n in counts]
    assert 1 <= best(3) <= 1.2 and best(10**5) == min(problem.temperatures)
    assert Regression().temperature(np.ones((3, 1)), np.zeros(3)) == 1


def test_the_likelihood_of_numbers_is_that_of_normal_errors():
    losses = np.array([0.5, 1.5])
    assert SingleLabel(["a", "b", "c"]).nats(losses) == 2
    far, near = (Regression().nats(each) for each in (losses * 100, losses))
    assert far - near == pytest.approx(math.log(100))  # two rows, half of a logarithm each
    assert math.isfinite(Regression().nats(np.zeros(2)))


def test_constant_baselines_are_the_best_of_constant_predictions():
    classes = SingleLabel(["a", "b"], metrics=("accuracy", "f1", "matthews_correlation"))
    # three of four are class 0: always 0 has accuracy 0.75; always 1 has F1 2·1/(4 + 1)
    assert classes.constant_baselines(np.array([0, 0, 1, 0])) == pytest.approx(
        {"accuracy": 0.75, "f1": 0.4, "matthews_correlation": 0}
    )
    assert Regression().constant_baselines(np.array([1.0, 2.0, 4.0])) == {"pearson": 0, "spearman": 0}
    # 3 of 4 texts have "a", 2 have "b": predicting {a} has F1 2·3/(4 + 5), {a, b} has 2·5/(8 + 5)
    targets = np.array([[1, 1], [1, 0], [1, 1], [0, 0]])
    assert MultiLabel(["a", "b"]).constant_baselines(targets)["micro_f1"] == pytest.approx(10 / 13)


def test_label_names_are_strings_and_whole_floats_lose_their_fraction():
    assert SingleLabel.parse_label(3.0) == SingleLabel.parse_label(3) == "3"
    assert Regression.parse_label("2.5") == 2.5
    assert MultiLabel.parse_label("a") == ["a"] and MultiLabel.parse_label(["a", 1]) == ["a", "1"]


@pytest.mark.parametrize(("problem", "label", "sentence"), [
    (SingleLabel, ["a", "b"], "is a list"),
    (SingleLabel, {"a": 1}, "is a dict"),
    (MultiLabel, [["a", "b"]], "is a list"),
    (Regression, [1.0], r"\[1.0\] is not a finite number"),
    (Regression, {"a": 1}, "is not a finite number"),
    (Regression, "nan", "'nan' is not a finite number"),
    (Regression, float("inf"), "inf is not a finite number"),
    (Regression, "many", "'many' is not a finite number"),
])  # fmt: skip
def test_a_label_that_does_not_fit_the_problem_is_refused(problem, label, sentence):
    with pytest.raises(ValueError, match=sentence):
        problem.parse_label(label)


def test_scores_need_no_cache(monkeypatch, tmp_path):
    monkeypatch.setattr("builtins.open", Mock(side_effect=OSError(30, "Read-only file system")))
    monkeypatch.setattr("os.makedirs", Mock(side_effect=OSError(30, "Read-only file system")))
    names = ["accuracy", "f1", "macro_f1", "matthews_correlation"]
    assert score(names, [1, 0], [1, 0]) == dict.fromkeys(names, 1.0)
    assert score(["pearson", "spearman"], [1.0, 0.5], [2.0, 1.0]) == pytest.approx({"pearson": 1, "spearman": 1})
    assert score(["micro_f1"], [[True, False]], [[True, True]])["micro_recall"] == 0.5
