"""The scored test file: tables as scikit-learn has them, labels that training never saw, and the surest mistakes."""

import re

import numpy as np
import pytest
from coloured_texts import fine_tune, predictions_of
from sklearn.metrics import classification_report, confusion_matrix, f1_score

from vocabless.training.finetuning.predictions import describe_mistakes, score_labels
from vocabless.training.finetuning.problems import MultiLabel, SingleLabel
from vocabless.training.finetuning.task_files import Examples

chance = np.random.default_rng(0)
LABELS = ["cat", "dog | wolf", "fox"]
LOGITS = chance.normal(size=(60, 3))
CORRECT = [LABELS[index] for index in chance.integers(0, 3, 60)]
PREDICTED = [LABELS[index] for index in LOGITS.argmax(1)]
TEXTS = [f"text {row}" for row in range(60)]


def tables(text: str) -> list[list[list[str]]]:
    """The cells of each table of a Markdown text, without rules."""
    found = re.findall(r"(?:^\|.*\n)+", text, re.M)
    rows = [[re.split(r" ?(?<!\\)\| ?", line)[1:-1] for line in table.splitlines()] for table in found]
    return [[row for row in table if not set("".join(row)) <= set("-:")] for table in rows]


def test_each_label_has_the_scores_of_scikit_learn():
    report = classification_report(CORRECT, PREDICTED, output_dict=True)
    (_, *rows), *_ = tables(describe_mistakes(SingleLabel(LABELS), Examples(TEXTS, labels=CORRECT), LOGITS))
    for (name, *cells), label in zip(rows, LABELS, strict=True):
        expected = report[label]
        shares = [f"{100 * expected[key]:.1f}" for key in ("precision", "recall", "f1-score")]
        assert (name.replace("\\", ""), cells) == (label, [*shares, str(int(expected["support"]))])


def test_the_confusion_matrix_is_that_of_scikit_learn_and_large_ones_are_left_out():
    _, (header, *rows), _ = tables(describe_mistakes(SingleLabel(LABELS), Examples(TEXTS, labels=CORRECT), LOGITS))
    assert [cell.replace("\\", "") for cell in header] == ["", *LABELS]
    counts = confusion_matrix(CORRECT, PREDICTED, labels=LABELS)
    assert [[int(cell) for cell in row[1:]] for row in rows] == counts.tolist()
    many = [f"label {number}" for number in range(31)]
    assert "Columns:" not in describe_mistakes(SingleLabel(many), Examples(many, labels=many), np.eye(31))


def test_the_twenty_surest_mistakes_come_first_to_last_and_right_answers_never():
    pairs = [f"second\nline {row}" for row in range(60)]
    *_, (_, *rows) = tables(describe_mistakes(SingleLabel(LABELS), Examples(TEXTS, pairs, CORRECT), LOGITS))
    probabilities = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    wrong = [row for row in range(60) if CORRECT[row] != PREDICTED[row]]
    surest = sorted(wrong, key=lambda row: -probabilities[row].max())[:20]
    assert [row[3] for row in rows] == [f"text {row} / second line {row}" for row in surest]
    assert [row[0] for row in rows] == [f"{100 * probabilities[row].max():.1f}" for row in surest]
    perfect = Examples(TEXTS, labels=PREDICTED)
    assert "surest" not in describe_mistakes(SingleLabel(LABELS), perfect, LOGITS)
    long = Examples(["word " * 100, "b"], labels=["dog | wolf", "cat"])
    *_, (_, row) = tables(describe_mistakes(SingleLabel(LABELS), long, np.eye(3)[[0, 0]]))
    assert len(row[3]) <= 200


def test_a_label_that_training_never_saw_is_a_mistake_and_is_named():
    correct = ["bear" if row < 15 else label for row, label in enumerate(CORRECT)]
    problem = SingleLabel(LABELS)
    scores = score_labels(problem, LOGITS, correct)
    assert scores["accuracy"] == np.mean([one == two for one, two in zip(PREDICTED, correct, strict=True)])
    assert scores["macro_f1"] == f1_score(correct, PREDICTED, average="macro")
    text = describe_mistakes(problem, Examples(TEXTS, labels=correct), LOGITS)
    assert "\nThe training rows do not have: bear. Each of these texts counts as a mistake.\n" in text
    assert "| bear | 0.0 | 0.0 | 0.0 | 15 |" in text
    assert score_labels(problem, LOGITS, CORRECT)["accuracy"] > scores["accuracy"] and problem.labels == LABELS


def test_a_label_of_several_that_training_never_saw_is_never_predicted():
    correct = [[label] if row % 3 else [label, "bear"] for row, label in enumerate(CORRECT)]
    problem = MultiLabel(LABELS, threshold=0.4)
    predicted = 1 / (1 + np.exp(-LOGITS)) > 0.4
    wide = np.array([[name in row for name in (*LABELS, "bear")] for row in correct])
    expected = f1_score(wide, np.pad(predicted, ((0, 0), (0, 1))), average="micro")
    assert score_labels(problem, LOGITS, correct)["micro_f1"] == pytest.approx(expected)
    text = describe_mistakes(problem, Examples(TEXTS, labels=correct), LOGITS)
    assert "do not have: bear. Each" in text and "| bear | 0.0 | 0.0 | 0.0 | 20 |" in text and "Columns:" not in text


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
