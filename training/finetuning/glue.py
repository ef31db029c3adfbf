"""The tasks of GLUE, and the averages over them that the papers report.

To add a task, add a row to `GLUE`. Its files are in `<--data_dir>/<name>/`, or it is a configuration of nyu-mll/glue.

The papers' "GLUE averages" have different formulas: HashFormers takes F1 of QQP and Spearman of STS-B, EELBERT takes
accuracy and Pearson; for its small models EELBERT leaves out CoLA and STS-B. `AVERAGES` holds the three formulas.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Metrics = Mapping[str, float]  # metric → value


@dataclass(frozen=True)
class GlueTask:
    """A row of `GLUE`.

    Attributes:
        name: folder of its files, and configuration of the Hub's data set.
        title: name in tables.
        texts: the text column, or the two columns of a text pair.
        labels: label names by number; empty for regression.
        metrics: the published metrics.
        best_metric: the metric that selects the best epoch: the one that the average of HashFormers uses.
        splits: split with labels → official number of rows; training first.
        test_splits: splits whose labels are not published.
    """

    name: str
    title: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    best_metric: str
    splits: Mapping[str, int]
    test_splits: tuple[str, ...] = ("test",)

    @property
    def required_splits(self) -> tuple[str, ...]:
        """The training split and the first validation split."""
        return tuple(self.splits)[:2]


_ROWS = (
    GlueTask(
        name="cola",
        title="CoLA",
        texts=("sentence",),
        labels=("unacceptable", "acceptable"),
        metrics=("matthews_correlation",),
        best_metric="matthews_correlation",
        splits={"train": 8_551, "validation": 1_043},
    ),
    GlueTask(
        name="sst2",
        title="SST-2",
        texts=("sentence",),
        labels=("negative", "positive"),
        metrics=("accuracy",),
        best_metric="accuracy",
        splits={"train": 67_349, "validation": 872},
    ),
    GlueTask(
        name="mrpc",
        title="MRPC",
        texts=("sentence1", "sentence2"),
        labels=("not_equivalent", "equivalent"),
        metrics=("accuracy", "f1"),
        best_metric="accuracy",
        splits={"train": 3_668, "validation": 408},
    ),
    GlueTask(
        name="stsb",
        title="STS-B",
        texts=("sentence1", "sentence2"),
        labels=(),
        metrics=("pearson", "spearman"),
        best_metric="spearman",
        splits={"train": 5_749, "validation": 1_500},
    ),
    GlueTask(
        name="qqp",
        title="QQP",
        texts=("question1", "question2"),
        labels=("not_duplicate", "duplicate"),
        metrics=("accuracy", "f1"),
        best_metric="f1",
        splits={"train": 363_846, "validation": 40_430},
    ),
    GlueTask(
        name="mnli",
        title="MNLI",
        texts=("premise", "hypothesis"),
        labels=("entailment", "neutral", "contradiction"),
        metrics=("accuracy",),
        best_metric="accuracy",
        splits={"train": 392_702, "validation_matched": 9_815, "validation_mismatched": 9_832},
        test_splits=("test_matched", "test_mismatched"),
    ),
    GlueTask(
        name="qnli",
        title="QNLI",
        texts=("question", "sentence"),
        labels=("entailment", "not_entailment"),
        metrics=("accuracy",),
        best_metric="accuracy",
        splits={"train": 104_743, "validation": 5_463},
    ),
    GlueTask(
        name="rte",
        title="RTE",
        texts=("sentence1", "sentence2"),
        labels=("entailment", "not_entailment"),
        metrics=("accuracy",),
        best_metric="accuracy",
        splits={"train": 2_490, "validation": 277},
    ),
    GlueTask(
        name="wnli",
        title="WNLI",
        texts=("sentence1", "sentence2"),
        labels=("not_entailment", "entailment"),
        metrics=("accuracy",),
        best_metric="accuracy",
        splits={"train": 635, "validation": 71},
    ),
)
GLUE: dict[str, GlueTask] = {row.name: row for row in _ROWS}

# Average → its terms: (task, metrics). A term with two metrics is their mean; `_mm` is MNLI's mismatched part.
_EELBERT_SMALL = (
    ("sst2", ("accuracy",)),
    ("mrpc", ("accuracy",)),
    ("qqp", ("accuracy",)),
    ("mnli", ("accuracy", "accuracy_mm")),
    ("qnli", ("accuracy",)),
    ("rte", ("accuracy",)),
)
AVERAGES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "HashFormers": (
        ("mnli", ("accuracy",)),
        ("qnli", ("accuracy",)),
        ("qqp", ("f1",)),
        ("rte", ("accuracy",)),
        ("sst2", ("accuracy",)),
        ("mrpc", ("accuracy",)),
        ("cola", ("matthews_correlation",)),
        ("stsb", ("spearman",)),
    ),
    "EELBERT base": (("cola", ("matthews_correlation",)), ("stsb", ("pearson",)), *_EELBERT_SMALL),
    "EELBERT small": _EELBERT_SMALL,
}


def find_glue_tasks(names: Sequence[str]) -> list[GlueTask]:
    """Returns the rows with these names, in this order and each only once; `all` stands for all rows.

    Raises:
        ValueError: a task is unknown; the message lists the known tasks.
    """
    expanded = dict.fromkeys(task for name in names for task in (GLUE if name == "all" else (name,)))
    unknown = [name for name in expanded if name not in GLUE]
    if unknown:
        raise ValueError(f"unknown task {', '.join(unknown)}; choose from {', '.join(GLUE)}, or all.")
    return [GLUE[name] for name in expanded]


def average(name: str, metrics: Mapping[str, Metrics]) -> float:
    """Returns an average over GLUE.

    Args:
        name: key of `AVERAGES`.
        metrics: task → metric → value.

    Raises:
        KeyError: a metric is missing, see `missing_for`.

    Example:
        >>> tasks = ("sst2", "mrpc", "qqp", "qnli", "rte")
        >>> metrics = {task: {"accuracy": 0.8} for task in tasks} | {"mnli": {"accuracy": 0.1, "accuracy_mm": 0.3}}
        >>> round(average("EELBERT small", metrics), 6)
        0.7
    """
    terms = [statistics.fmean(metrics[task][metric] for metric in names) for task, names in AVERAGES[name]]
    return statistics.fmean(terms)


def missing_for(name: str, metrics: Mapping[str, Metrics]) -> list[str]:
    """Returns what an average needs and `metrics` lacks: a whole task, or "task metric"."""
    missing = []
    for task, names in AVERAGES[name]:
        if task not in metrics:
            missing.append(task)
        else:
            missing += [f"{task} {metric}" for metric in names if metric not in metrics[task]]
    return missing
