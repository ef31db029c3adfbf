import json
import statistics

import pytest

from vocabless.training.finetuning.glue import GLUE, average
from vocabless.training.finetuning.report import Report, summarise

METRICS = {
    name: {metric: (3 + row + column) / 20 for column, metric in enumerate(task.metrics)}
    for row, (name, task) in enumerate(GLUE.items())
}
METRICS["mnli"]["accuracy_mm"] = 0.44


def test_seeds_are_summarised_by_their_mean_with_the_samples_deviation():
    values = [0.70, 0.71, 0.78]
    scores = {"sst2": {str(seed): {"accuracy": value} for seed, value in enumerate(values)}}
    by_mean = summarise(scores)["sst2"]["accuracy"]
    assert by_mean.center == pytest.approx(0.73)
    assert by_mean.deviation == pytest.approx(((0.03**2 + 0.02**2 + 0.05**2) / 2) ** 0.5)
    assert str(by_mean) == "73.0 ± 4.4"
    assert str(summarise({"sst2": {"1": {"accuracy": 0.5}}})["sst2"]["accuracy"]) == "50.0"


def test_the_mean_of_an_average_is_that_of_the_seeds_averages():
    scores = {task: {"1": metrics, "2": {n: v / 2 for n, v in metrics.items()}} for task, metrics in METRICS.items()}
    summary = summarise(scores)["average"]["HashFormers"]
    both = [average("HashFormers", METRICS), average("HashFormers", METRICS) / 2]
    assert summary.center == pytest.approx(statistics.mean(both))
    assert summary.deviation == pytest.approx(statistics.stdev(both))


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
    assert content["summary"]["sst2"]["accuracy"] == {"center": 0.8125, "deviation": None}
    assert content["constant_baselines"] == {"sst2": {"accuracy": 0.509}}
    assert content["runs"]["sst2"]["42"]["rows"] == {"accuracy": 872} and "log" not in content["runs"]["sst2"]["42"]


def test_a_teachers_scores_stand_beside_the_students():
    taught = run(accuracy=0.8) | {"teacher": {"measures": {"accuracy": 0.9125}}}
    report = Report({"sst2": {"42": taught}, "rte": {"42": run(accuracy=0.5)}}, {})
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.as_markdown().splitlines()]
    assert ["task", "measure", "mean", "interval", "rows", "constant", "teacher"] in cells
    assert ["sst2", "accuracy", "80.0", "", "", "50.9", "91.2"] in cells
    assert ["rte", "accuracy", "50.0", "", "", "50.9", ""] in cells
    assert "Teacher: the score of the model whose outputs were learned." in report.as_markdown()
