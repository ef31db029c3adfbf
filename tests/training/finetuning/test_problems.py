import numpy as np
import pytest

from vocabless.training.finetuning.problems import MultiLabel, Regression, SingleLabel


def test_constant_baselines_are_the_best_of_constant_predictions():
    classes = SingleLabel(["a", "b"], metrics=("accuracy", "f1", "matthews_correlation"))
    # three of four are class 0: always 0 has accuracy 0.75; always 1 has F1 2·1/(4 + 1)
    assert classes.constant_baselines([0, 0, 1, 0]) == pytest.approx(
        {"accuracy": 0.75, "f1": 0.4, "matthews_correlation": 0}
    )
    assert Regression().constant_baselines([1.0, 2.0, 4.0]) == {"pearson": 0, "spearman": 0}
    # 3 of 4 texts have "a", 2 have "b": predicting {a} has F1 2·3/(4 + 5), {a, b} has 2·5/(8 + 5)
    targets = [np.array(row) for row in ([1, 1], [1, 0], [1, 1], [0, 0])]
    assert MultiLabel(["a", "b"]).constant_baselines(targets)["micro_f1"] == pytest.approx(10 / 13)


def test_label_names_are_strings_and_whole_floats_lose_their_fraction():
    assert SingleLabel.parse_label(3.0) == SingleLabel.parse_label(3) == "3"
    assert Regression.parse_label("2.5") == 2.5
    assert MultiLabel.parse_label("a") == ["a"] and MultiLabel.parse_label(["a", 1]) == ["a", "1"]


@pytest.mark.parametrize(
    ("problem", "label", "sentence"),
    [
        (SingleLabel, ["a"], "is a list"),
        (SingleLabel, {"a": 1}, "is a dict"),
        (MultiLabel, [["a"]], "is a list"),
        (Regression, [1.0], r"\[1.0\] is not a number"),
        (Regression, {"a": 1}, "is not a number"),
        (Regression, "nan", "'nan' is not a finite number"),
        (Regression, float("inf"), "inf is not a finite number"),
        (Regression, "many", "'many' is not a number"),
    ],
)
def test_a_label_that_does_not_fit_the_problem_is_refused(problem, label, sentence):
    with pytest.raises(ValueError, match=sentence):
        problem.parse_label(label)
