import json
import statistics

import numpy as np
import pytest

from vocabless.training.finetuning.glue import (
    AVERAGES,
    GLUE,
    Report,
    average,
    find_glue_tasks,
    missing_for,
    read_baseline,
)
from vocabless.training.finetuning.patents import label_positions
from vocabless.training.finetuning.problems import MultiLabel, Problem, Regression, Tagging

# Every measure of every task has a value of its own, so that a formula that takes a wrong one shows.
MEASURES = {
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


def test_the_table_names_the_nine_tasks_and_their_published_measures():
    assert list(GLUE) == "cola sst2 mrpc stsb qqp mnli qnli rte wnli".split()
    assert {name: row.metrics for name, row in GLUE.items()} == {
        name: tuple(measure for measure in measures if not measure.endswith("_mm"))
        for name, measures in MEASURES.items()
    }
    assert all(row.best in row.metrics for row in GLUE.values())


def test_the_three_averages_are_those_of_the_papers():
    hashformers = (0.40 + 0.62 + 0.65 + 0.55 + 0.80 + 0.70 + 0.10 + 0.50) / 8
    small = (0.80 + 0.70 + 0.75 + (0.40 + 0.44) / 2 + 0.62 + 0.55) / 6
    base = (6 * small + 0.10 + 0.60) / 8
    found = {name: average(name, MEASURES) for name in AVERAGES}
    assert found == pytest.approx({"HashFormers": hashformers, "EELBERT base": base, "EELBERT small": small})


def test_what_an_average_lacks_is_named():
    there = {task: dict(measures) for task, measures in MEASURES.items() if task != "rte"}
    del there["mnli"]["accuracy_mm"]
    assert missing_for("HashFormers", there) == ["rte"]
    assert missing_for("EELBERT small", there) == ["mnli accuracy_mm", "rte"]
    assert missing_for("EELBERT base", MEASURES) == []


def test_all_is_every_task_and_a_name_comes_once():
    assert [row.name for row in find_glue_tasks(["rte", "all", "rte"])][:2] == ["rte", "cola"]
    assert len(find_glue_tasks(["all"])) == 9
    with pytest.raises(ValueError, match=r"unknown task sst; choose from cola, .*, or all"):
        find_glue_tasks(["sst"])


def test_seeds_are_summarised_by_mean_or_median_with_the_samples_deviation():
    values = [0.70, 0.71, 0.78]
    scores = {"sst2": {str(seed): {"accuracy": value} for seed, value in enumerate(values)}}
    by_mean, by_median = (Report(scores, {}, {}, summary).lines()["sst2"]["accuracy"] for summary in ("mean", "median"))
    assert by_mean.center == pytest.approx(0.73)
    assert by_median.center == pytest.approx(0.71)
    assert by_mean.deviation == pytest.approx(((0.03**2 + 0.02**2 + 0.05**2) / 2) ** 0.5)
    assert str(by_mean) == "73.0 ± 4.4"
    assert str(Report({"sst2": {"1": {"accuracy": 0.5}}}, {}, {}).lines()["sst2"]["accuracy"]) == "50.0"


def test_an_average_is_made_for_each_seed_and_then_summarised():
    scores = {
        task: {"1": measures, "2": {n: v / 2 for n, v in measures.items()}} for task, measures in MEASURES.items()
    }
    line = Report(scores, {}, {}).averages()["HashFormers"]
    both = [average("HashFormers", MEASURES), average("HashFormers", MEASURES) / 2]
    assert line.center == pytest.approx(statistics.mean(both))
    assert line.deviation == pytest.approx(statistics.stdev(both))


def test_the_retention_ratio_is_ours_over_the_baselines():
    ours = {task: {"1": {name: value / 2 for name, value in measures.items()}} for task, measures in MEASURES.items()}
    baseline = {task: {"7": measures} for task, measures in MEASURES.items()}
    baseline["cola"] = {"7": {"matthews_correlation": 0.0}}
    report = Report(ours, {}, {}, baseline=baseline)
    retention = report.retention()
    assert retention["mrpc"] == pytest.approx({"accuracy": 0.5, "f1": 0.5})
    assert retention["average"]["EELBERT small"] == pytest.approx(0.5)
    assert retention["cola"] == {}  # nothing to retain
    row = next(line for line in report.as_markdown().splitlines() if line.startswith("| cola"))
    assert row.rstrip("| ").endswith("–")


def test_the_table_shows_figures_floors_notes_and_what_averages_lack():
    report = Report(
        {"sst2": {"42": {"accuracy": 0.8125}}},
        {"sst2": "SST-2"},
        {"sst2": {"accuracy": 0.509}},
        heading="a model",
        footnotes=["SST-2: one", "SST-2: one"],
    )
    text = report.as_markdown()
    assert "| SST-2 | accuracy | 81.2 |  50.9 |" in text
    assert "No EELBERT small average without mrpc, qqp, mnli, qnli, rte." in text
    assert text.count("SST-2: one.") == 1
    assert "PRR" not in text
    assert text.startswith("a model\n")
    assert json.loads(json.dumps(report.as_json()))["summary"]["sst2"]["accuracy"]["center"] == 0.8125


def test_a_baseline_without_scores_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no scores"):
        read_baseline(tmp_path)
    (tmp_path / "results.json").write_text("[]")
    with pytest.raises(ValueError, match="holds no scores"):
        read_baseline(tmp_path)


def test_floors_are_the_best_of_constant_predictions():
    classes = Problem(["a", "b"], metrics=("accuracy", "f1", "matthews_correlation"))
    # three of four are class 0: always 0 is right in 0.75; always 1 has an F1 of 2·1/(4 + 1)
    assert classes.floors([0, 0, 1, 0]) == pytest.approx({"accuracy": 0.75, "f1": 0.4, "matthews_correlation": 0})
    assert Regression().floors([1.0, 2.0, 4.0]) == {"pearson": 0, "spearman": 0}
    # "a" holds for 3 of 4, "b" for 2: {a}: 2·3/(4 + 5); {a, b}: 2·5/(8 + 5)
    targets = [np.array(row) for row in ([1, 1], [1, 0], [1, 1], [0, 0])]
    assert MultiLabel(["a", "b"]).floors(targets)["micro_f1"] == pytest.approx(10 / 13)
    assert Tagging(["O", "B-a"]).floors([[0, 1], [0]])["entity_f1"] == 0


def test_the_first_code_of_a_claim_is_told_from_the_later_ones():
    assert label_positions(["A01B", "C07D"]) == ["First-A01B", "Later-C07D"]
    assert label_positions(["A01B", "A01B"]) == ["First-A01B"]
    assert label_positions([]) == []
