"""The scored test file: the table of each label as scikit-learn has it, and labels that training never saw."""

import numpy as np
import pytest
from coloured_texts import fine_tune, predictions_of
from sklearn.metrics import classification_report, f1_score

from vocabless.training.finetuning.problems import MultiLabel, SingleLabel
from vocabless.training.finetuning.report import label_table, score_labels

chance = np.random.default_rng(0)
LABELS = ["cat", "dog | wolf", "fox"]
LOGITS = chance.normal(size=(60, 3))
CORRECT = [LABELS[index] for index in chance.integers(0, 3, 60)]
PREDICTED = [LABELS[index] for index in LOGITS.argmax(1)]


def test_each_label_has_the_scores_of_scikit_learn():
    report = classification_report(CORRECT, PREDICTED, digits=3)
    assert label_table(SingleLabel(LABELS), LOGITS, CORRECT) == f"```\n{report}```\n"


def test_a_label_that_training_never_saw_is_a_mistake_and_is_named():
    correct = ["bear" if row < 15 else label for row, label in enumerate(CORRECT)]
    problem = SingleLabel(LABELS)
    scores = score_labels(problem, LOGITS, correct)
    assert scores["accuracy"] == np.mean([one == two for one, two in zip(PREDICTED, correct, strict=True)])
    assert scores["macro_f1"] == f1_score(correct, PREDICTED, average="macro")
    text = label_table(problem, LOGITS, correct)
    assert "\nThe training rows do not have: bear. Each of these texts counts as a mistake.\n" in text
    assert ["bear", "0.000", "0.000", "0.000", "15"] in [line.split() for line in text.splitlines()]
    assert score_labels(problem, LOGITS, CORRECT)["accuracy"] > scores["accuracy"] and problem.labels == LABELS


def test_a_label_of_several_that_training_never_saw_is_never_predicted():
    correct = [[label] if row % 3 else [label, "bear"] for row, label in enumerate(CORRECT)]
    problem = MultiLabel(LABELS, threshold=0.4)
    predicted = 1 / (1 + np.exp(-LOGITS)) > 0.4
    wide = np.array([[name in row for name in (*LABELS, "bear")] for row in correct])
    expected = f1_score(wide, np.pad(predicted, ((0, 0), (0, 1))), average="micro")
    assert score_labels(problem, LOGITS, correct)["micro_f1"] == pytest.approx(expected)
    text = label_table(problem, LOGITS, correct)
    assert ["bear", "0.000", "0.000", "0.000", "20"] in [line.split() for line in text.splitlines()]


@pytest.mark.parametrize(("separator", "metric"), [(None, "test_accuracy"), (";", "test_micro_f1")])
def test_a_test_file_is_predicted_and_scored_without_another_flag(separator, metric, tmp_path, capsys):
    flags = [] if separator is None else ["--label_separator", separator]
    for name, extra in (("train", ""), ("test", "\nred stone,bear\nblue stone,bear")):
        rows = ["red stone,warm", "blue stone,cold"] * 8
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *rows]) + extra)
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    files = ["--train_file", train, "--validation_file", train, "--test_file", test, "--num_train_epochs", "1"]
    folder, results = fine_tune(tmp_path / "run", *flags, *files)
    measures, predicted = results["measures"], predictions_of(folder)
    assert len(predicted) == 18 and 0 <= measures[metric] < 1
    if separator is None:
        right = [row["label"] == ("warm", "cold")[number % 2] for number, row in enumerate(predicted[:16])]
        assert measures[metric] == sum(right) / 18
    name = metric.removeprefix("test_").replace("_", " ")
    assert f"; test rows: {name} {100 * measures[metric]:.1f}" in capsys.readouterr().out
    assert "do not have: bear." in (folder / "test.md").read_text()
