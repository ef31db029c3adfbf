"""What a run reports: GLUE's averages, the table with its summaries, and the scores of each label of a test file."""

import json
import re
import statistics
from types import SimpleNamespace

import numpy as np
import pytest
from script_runs import fine_tune, predictions_of, write_csv
from sklearn.metrics import classification_report, f1_score

from vocabless.training.finetuning.report import Report, summarise
from vocabless.training.finetuning.rows.glue import AVERAGES, GLUE, average, find_glue_tasks, missing_for
from vocabless.training.finetuning.tasks.label_scores import label_table, score_labels
from vocabless.training.finetuning.tasks.problems import MultiLabel, SingleLabel

# All values differ, so that a formula with a wrong metric gives a wrong average.
METRICS = {
    "cola": {"matthews_correlation": 0.10},
    "sst2": {"accuracy": 0.80},
    "mrpc": {"accuracy": 0.70, "f1": 0.81},
    "stsb": {"pearson": 0.60, "spearman": 0.50},
    "qqp": {"accuracy": 0.75, "f1": 0.65},
    "mnli": {"accuracy": 0.40, "accuracy_mm": 0.44},
    "qnli": {"accuracy": 0.62},
    "rte": {"accuracy": 0.55},
    "wnli": {"accuracy": 0.01},
}


def test_the_table_names_the_nine_tasks_and_their_published_metrics():
    assert list(GLUE) == "cola sst2 mrpc stsb qqp mnli qnli rte wnli".split()
    assert {name: row.metrics for name, row in GLUE.items()} == {
        name: tuple(metric for metric in metrics if not metric.endswith("_mm")) for name, metrics in METRICS.items()
    }
    best = {name: row.best_metric for name, row in GLUE.items() if row.best_metric is not None}
    assert best == {"stsb": "spearman", "qqp": "f1"}  # of the others the first


def test_the_three_averages_are_those_of_the_papers_and_what_they_lack_is_named():
    hashformers = (0.40 + 0.62 + 0.65 + 0.55 + 0.80 + 0.70 + 0.10 + 0.50) / 8
    small = (0.80 + 0.70 + 0.75 + (0.40 + 0.44) / 2 + 0.62 + 0.55) / 6
    base = (6 * small + 0.10 + 0.60) / 8
    averages = {name: average(name, METRICS) for name in AVERAGES}
    assert averages == pytest.approx({"HashFormers": hashformers, "EELBERT base": base, "EELBERT small": small})
    incomplete = {task: dict(metrics) for task, metrics in METRICS.items() if task != "rte"}
    del incomplete["mnli"]["accuracy_mm"]
    assert missing_for("HashFormers", incomplete) == ["rte"]
    assert missing_for("EELBERT small", incomplete) == ["rte", "mnli accuracy_mm"]
    assert missing_for("EELBERT base", METRICS) == []


def test_all_stands_for_every_task_and_no_task_comes_twice():
    assert [row.name for row in find_glue_tasks(["rte", "all", "rte"])][:2] == ["rte", "cola"]
    assert len(find_glue_tasks(["rte", "all", "rte"])) == len(find_glue_tasks(["all"])) == 9
    with pytest.raises(ValueError, match=r"unknown task sst; choose from cola, .*, or all"):
        find_glue_tasks(["sst"])


def test_seeds_are_summarised_by_their_mean_with_the_samples_deviation():
    values = [0.70, 0.71, 0.78]
    results = {"sst2": {str(seed): run(accuracy=value) for seed, value in enumerate(values)}}
    (of_task,) = (row for row in summarise(results) if row.task == "sst2")
    assert of_task.mean == pytest.approx(0.73)
    assert of_task.deviation == pytest.approx(((0.03**2 + 0.02**2 + 0.05**2) / 2) ** 0.5)
    assert "| sst2 | accuracy | 73.0 ± 4.4 | " in Report(results, {}).as_markdown()
    assert "| sst2 | accuracy | 50.0 | " in Report({"sst2": {"1": run(accuracy=0.5)}}, {}).as_markdown()
    halves = {task: {name: value / 2 for name, value in metrics.items()} for task, metrics in METRICS.items()}
    results = {task: {"1": run(**metrics), "2": run(**halves[task])} for task, metrics in METRICS.items()}
    del results["wnli"]["2"]  # so the second seed has no average
    first = average("HashFormers", METRICS)
    (alone,) = (row for row in summarise(results) if row.metric == "HashFormers")
    assert (alone.mean, alone.deviation) == (first, None)
    results["wnli"]["2"] = run(**halves["wnli"])
    (both,) = (row for row in summarise(results) if row.metric == "HashFormers")
    assert both.mean == pytest.approx(statistics.mean([first, first / 2]))
    assert both.deviation == pytest.approx(statistics.stdev([first, first / 2]))


def run(**metrics):
    return {"measures": metrics, "constant_baselines": dict.fromkeys(metrics, 0.509), "scored_folds": 0}


def test_the_table_shows_figures_constant_baselines_notes_and_what_averages_lack():
    results = {"sst2": {"42": run(accuracy=0.8125) | {"rows": {"accuracy": 872}, "log": ["long"]}}}
    report = Report(results, {"sst2": "SST-2"}, heading="a model", footnotes=["SST-2: one", "SST-2: one"])
    text = report.as_markdown()
    assert "| task  | measure  | mean |  interval | rows | constant |" in text
    assert "| SST-2 | accuracy | 81.2 | 78.5–83.7 |  872 |     50.9 |" in text
    assert "Constant: the best score of a prediction that is the same for every example." in text
    assert "No EELBERT small average without mrpc, qqp, mnli, qnli, rte." in text
    assert text.count("SST-2: one.") == 1
    assert text.startswith("a model\n")
    content = json.loads(json.dumps(report.as_json()))
    (row,) = content["table"]
    assert (row["task"], row["metric"], row["mean"], row["deviation"]) == ("sst2", "accuracy", 0.8125, None)
    assert content["constant_baselines"] == {"sst2": {"accuracy": 0.509}}
    assert content["runs"]["sst2"]["42"]["rows"] == {"accuracy": 872} and "log" not in content["runs"]["sst2"]["42"]


@pytest.mark.parametrize("name", ["average", "sst2"])  # of averages, and of a task
def test_own_data_may_have_a_name_that_glue_uses(name):
    report = Report({name: {"42": run(accuracy=0.5) | {"rows": {"accuracy": 30}, "is_own_data": True}}}, {})
    (row,) = report.as_json()["table"]
    low, high = row["interval"]
    assert (row["task"], row["mean"]) == (name, 0.5) and low < 0.5 < high
    assert "No " not in report.as_markdown()


def test_scores_of_test_rows_stand_below_the_others_as_a_mean_over_the_seeds():
    rows = {"rows": {"accuracy": 40, "test_accuracy": 872}}
    runs = {str(seed): run(accuracy=0.5) | rows for seed in (1, 2)}
    for seed, value in (("1", 0.80), ("2", 0.825)):
        runs[seed]["measures"] = {"accuracy": 0.5, "test_accuracy": value}
    lines = Report({"mine": runs}, {"mine": "Mine"}).as_markdown().splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| Mine")]
    assert [each[1] for each in cells] == ["accuracy", "accuracy, test rows"]
    assert cells[1] == ["Mine", "accuracy, test rows", "81.2 ± 1.8", "78.5–83.7", "872", ""]


def test_the_heading_is_of_the_first_task_and_folds_are_told_of_each():
    names = {"a": (5, 111), "b": (1, 222)}
    results = {
        name: {"42": run(accuracy=0.5) | {"rows": {"accuracy": 30, "test_accuracy": 500}, "scored_folds": folds} | {
            "parameters": parameters, "from_scratch": False,
        }}
        for name, (folds, parameters) in names.items()
    }  # fmt: skip
    tasks = [SimpleNamespace(name=name, title=name.upper(), footnotes=[f"{name}: one"]) for name in names]
    report = Report.of(tasks, results, SimpleNamespace(model_name_or_path="mine", overrides=None))
    assert report.heading == "mine, 111 parameters; seeds: 42"
    rest = "30 rows; the model saved learned from all"
    assert report.footnotes[2:] == [
        f"A: cross-validated, 5 folds of {rest}", f"B: evaluated by a model that did not see {rest}"
    ]  # fmt: skip


def test_a_teachers_scores_stand_beside_the_students():
    taught = run(accuracy=0.8) | {"teacher": {"measures": {"accuracy": 0.9125}}}
    report = Report({"sst2": {"42": taught}, "rte": {"42": run(accuracy=0.5)}}, {})
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.as_markdown().splitlines()]
    assert ["task", "measure", "mean", "interval", "rows", "constant", "teacher"] in cells
    assert ["sst2", "accuracy", "80.0", "", "", "50.9", "91.2"] in cells
    assert ["rte", "accuracy", "50.0", "", "", "50.9", ""] in cells
    assert "Teacher: the score of the model whose outputs were learned." in report.as_markdown()


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
    rows = [("red stone", "warm"), ("blue stone", "cold")] * 8
    train = write_csv(tmp_path / "train.csv", rows)
    test = write_csv(tmp_path / "test.csv", [*rows, ("red stone", "bear"), ("blue stone", "bear")])
    flags = [] if separator is None else ["--label_separator", separator]
    files = ["--train_file", train, "--validation_file", train, "--test_file", test, "--num_train_epochs", "1"]
    folder, results = fine_tune(tmp_path / "run", *flags, *files)
    measures, predicted = results["measures"], predictions_of(folder)
    assert len(predicted) == 18 and 0 <= measures[metric] < 1
    assert results["rows"][metric] == 18 and results["rows"][metric.removeprefix("test_")] == 16
    low, high = results["intervals"][metric]
    assert low <= measures[metric] <= high and results["train_rows"] == 16
    if separator is None:
        right = [row["label"] == label for row, (_, label) in zip(predicted, rows, strict=False)]
        assert measures[metric] == sum(right) / 18
        assert all(sum(row["probabilities"].values()) == pytest.approx(1, abs=1e-4) for row in predicted)
    name = metric.removeprefix("test_").replace("_", " ")
    printed = capsys.readouterr().out
    assert f"; test rows: {name} {100 * measures[metric]:.1f}" in printed
    table = (tmp_path / "run" / "table.md").read_text(encoding="utf-8")
    assert re.search(rf"\| {name}, test rows +\| +{100 * measures[metric]:.1f} ", table)
    assert f"Model: {folder}, with predictions.jsonl of the test rows\n" in printed
    assert "do not have: bear." in (folder / "test.md").read_text()
