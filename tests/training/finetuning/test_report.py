import json
import statistics

import pytest

from vocabless.training.finetuning.glue import GLUE, average
from vocabless.training.finetuning.report import NoisyScores, Report, read_baseline

METRICS = {
    name: {metric: (3 + row + column) / 20 for column, metric in enumerate(task.metrics)}
    for row, (name, task) in enumerate(GLUE.items())
}
METRICS["mnli"]["accuracy_mm"] = 0.44


def test_seeds_are_summarised_by_mean_or_median_with_the_samples_deviation():
    values = [0.70, 0.71, 0.78]
    scores = {"sst2": {str(seed): {"accuracy": value} for seed, value in enumerate(values)}}
    by_mean, by_median = (
        Report(scores, {}, {}, summary).summaries()["sst2"]["accuracy"] for summary in ("mean", "median")
    )
    assert by_mean.center == pytest.approx(0.73)
    assert by_median.center == pytest.approx(0.71)
    assert by_mean.deviation == pytest.approx(((0.03**2 + 0.02**2 + 0.05**2) / 2) ** 0.5)
    assert str(by_mean) == "73.0 ± 4.4"
    assert str(Report({"sst2": {"1": {"accuracy": 0.5}}}, {}, {}).summaries()["sst2"]["accuracy"]) == "50.0"


def test_the_mean_of_an_average_is_that_of_the_seeds_averages():
    scores = {task: {"1": metrics, "2": {n: v / 2 for n, v in metrics.items()}} for task, metrics in METRICS.items()}
    summary = Report(scores, {}, {}).averages()["HashFormers"]
    both = [average("HashFormers", METRICS), average("HashFormers", METRICS) / 2]
    assert summary.center == pytest.approx(statistics.mean(both))
    assert summary.deviation == pytest.approx(statistics.stdev(both))


# EELBERT, Table 1: the score of BERT-base and EELBERT-base, and the medians over five seeds that it is made of.
EELBERT_TABLE_1 = {
    0.775: {"cola": 0.410, "stsb": 0.870, "sst2": 0.899, "mrpc": 0.833, "qqp": 0.898, "qnli": 0.866, "rte": 0.625,
            "mnli": (0.799, 0.802)},
    0.760: {"cola": 0.373, "stsb": 0.851, "sst2": 0.900, "mrpc": 0.838, "qqp": 0.895, "qnli": 0.864, "rte": 0.563,
            "mnli": (0.790, 0.795)},
}  # fmt: skip


@pytest.mark.parametrize(("published", "medians"), EELBERT_TABLE_1.items())
def test_a_median_is_taken_for_each_task_and_then_averaged(published, medians):
    """Each task has another bad seed, so a median over the seeds' averages would be lower than the paper's score."""
    metric = {"cola": ("matthews_correlation",), "stsb": ("pearson",), "mnli": ("accuracy", "accuracy_mm")}
    scores: dict = {}
    for number, (task, values) in enumerate(medians.items()):
        for seed in range(5):
            names = metric.get(task, ("accuracy",))
            shift = {number % 5: -0.2, (number + 1) % 5: -0.1, (number + 2) % 5: 0.0}.get(seed, 0.005)
            figures = zip(names, values if len(names) > 1 else [values], strict=True)
            scores.setdefault(task, {})[str(seed)] = {name: value + shift for name, value in figures}
    report = Report(scores, {}, {}, "median")
    assert report.averages()["EELBERT base"].center == pytest.approx(published, abs=5e-4)
    by_seed = [average("EELBERT base", {task: seeds[seed] for task, seeds in scores.items()}) for seed in "01234"]
    assert statistics.median(by_seed) < published - 0.01  # what would be reported if the averages were made first
    assert report.averages()["EELBERT base"].deviation == pytest.approx(statistics.stdev(by_seed))


def test_the_retention_ratio_is_ours_over_the_baselines():
    ours = {task: {"1": {name: value / 2 for name, value in metrics.items()}} for task, metrics in METRICS.items()}
    baseline = {task: {"7": metrics} for task, metrics in METRICS.items()}
    baseline["cola"] = {"7": {"matthews_correlation": 0.0}}
    report = Report(ours, {}, {}, baseline=baseline)
    retention = report.retention()
    assert retention["mrpc"] == pytest.approx({"accuracy": 0.5, "f1": 0.5})
    assert retention["average"]["EELBERT small"] == pytest.approx(0.5)
    assert retention["cola"] == {}  # the baseline's figure is 0
    cells = {tuple(cell.strip() for cell in line.split("|")[1:3]): line for line in report.as_markdown().splitlines()}
    assert cells["cola", "matthews correlation"].endswith("|    – |")
    assert cells["mrpc", "f1"].endswith("| 50.0 |") and cells["average", "EELBERT small"].endswith("| 50.0 |")
    assert "PRR: our figure divided by the baseline's." in report.as_markdown()


def test_the_table_shows_figures_constant_baselines_notes_and_what_averages_lack():
    report = Report(
        {"sst2": {"42": {"accuracy": 0.8125}}},
        {"sst2": "SST-2"},
        {"sst2": {"accuracy": 0.509}},
        heading="a model",
        footnotes=["SST-2: one", "SST-2: one"],
    )
    text = report.as_markdown()
    assert "| task  | measure  | mean | constant |" in text
    assert "| SST-2 | accuracy | 81.2 |     50.9 |" in text
    assert "Constant: the best score of a prediction that is the same for every example." in text
    assert "No EELBERT small average without mrpc, qqp, mnli, qnli, rte." in text
    assert text.count("SST-2: one.") == 1
    assert "PRR" not in text
    assert text.startswith("a model\n")
    content = json.loads(json.dumps(report.as_json()))
    assert content["summary"]["sst2"]["accuracy"] == {"center": 0.8125, "deviation": None}
    assert content["constant_baselines"] == {"sst2": {"accuracy": 0.509}}


def test_scores_on_misspelt_texts_stand_beside_the_others_with_what_is_lost():
    clean = {task: {"1": metrics} for task, metrics in METRICS.items()}
    misspelt = {task: {"1": {name: value / 2 for name, value in m.items()}} for task, m in METRICS.items()}
    report = Report(clean, {}, {}, baseline=clean, noisy=NoisyScores(0.1, 42, misspelt))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.as_markdown().splitlines()]
    assert lines[2] == ["task", "measure", "mean", "constant", "misspelt", "lost", "PRR"]
    assert ["cola", "matthews correlation", "15.0", "", "7.5", "7.5", "100.0"] in lines
    (average_row,) = [line for line in lines if line[:2] == ["average", "HashFormers"]]
    assert float(average_row[2]) == pytest.approx(2 * float(average_row[4]), abs=0.2)
    assert "Misspelt: with 10 % of the words misspelt. Lost: the difference." in report.as_markdown()
    content = json.loads(json.dumps(report.as_json()))["noisy"]
    assert (content["probability"], content["seed"], content["scores"]) == (0.1, 42, misspelt)
    assert content["summary"]["cola"]["matthews_correlation"] == {"center": 0.075, "deviation": None}
    assert set(content["averages"]) == {"HashFormers", "EELBERT base", "EELBERT small"}


def test_a_baseline_without_scores_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no scores"):
        read_baseline(tmp_path)
    (tmp_path / "results.json").write_text("[]")
    with pytest.raises(ValueError, match="holds no scores"):
        read_baseline(tmp_path)


def test_a_teachers_scores_stand_beside_the_students():
    report = Report(
        {"sst2": {"42": {"accuracy": 0.8}}, "rte": {"42": {"accuracy": 0.5}}},
        {},
        {},
        teacher={"sst2": {"accuracy": 0.9125}},
        baseline={"sst2": {"42": {"accuracy": 0.4}}},
    )
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.as_markdown().splitlines()]
    assert ["task", "measure", "mean", "constant", "teacher", "PRR"] in cells
    assert ["sst2", "accuracy", "80.0", "", "91.2", "200.0"] in cells
    assert ["rte", "accuracy", "50.0", "", "", "–"] in cells
    assert "Teacher: the score of the model whose outputs were learned." in report.as_markdown()
    assert report.as_json()["teacher"] == {"sst2": {"accuracy": 0.9125}}
