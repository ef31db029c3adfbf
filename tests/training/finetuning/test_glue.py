import pytest

from vocabless.training.finetuning.glue import AVERAGES, GLUE, average, find_glue_tasks, missing_for

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


def test_the_three_averages_are_those_of_the_papers():
    hashformers = (0.40 + 0.62 + 0.65 + 0.55 + 0.80 + 0.70 + 0.10 + 0.50) / 8
    small = (0.80 + 0.70 + 0.75 + (0.40 + 0.44) / 2 + 0.62 + 0.55) / 6
    base = (6 * small + 0.10 + 0.60) / 8
    averages = {name: average(name, METRICS) for name in AVERAGES}
    assert averages == pytest.approx({"HashFormers": hashformers, "EELBERT base": base, "EELBERT small": small})


def test_what_an_average_lacks_is_named():
    incomplete = {task: dict(metrics) for task, metrics in METRICS.items() if task != "rte"}
    del incomplete["mnli"]["accuracy_mm"]
    assert missing_for("HashFormers", incomplete) == ["rte"]
    assert missing_for("EELBERT small", incomplete) == ["mnli accuracy_mm", "rte"]
    assert missing_for("EELBERT base", METRICS) == []


def test_all_stands_for_every_task_and_no_task_comes_twice():
    assert [row.name for row in find_glue_tasks(["rte", "all", "rte"])][:2] == ["rte", "cola"]
    assert len(find_glue_tasks(["rte", "all", "rte"])) == len(find_glue_tasks(["all"])) == 9
    with pytest.raises(ValueError, match=r"unknown task sst; choose from cola, .*, or all"):
        find_glue_tasks(["sst"])
