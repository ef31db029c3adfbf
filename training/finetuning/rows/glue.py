"""The tasks of GLUE, their examples, and the averages over them that the papers report.

To add a task, add a row to `GLUE`. Its files are in `<--data_dir>/<name>/`, or it is a configuration of nyu-mll/glue.

The papers' "GLUE averages" have different formulas: HashFormers takes F1 of QQP and Spearman of STS-B, EELBERT takes
accuracy and Pearson; for its small models EELBERT leaves out CoLA and STS-B. `AVERAGES` holds the three formulas.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from datasets import Dataset

from vocabless.saving.record import GLUE_REPOSITORY, GLUE_TITLES, MISMATCHED
from vocabless.texts.corpora import load_hub
from vocabless.texts.tables import read_files
from vocabless.training.finetuning.rows.sources import SHARD, read_examples
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.metrics import Scores
from vocabless.training.finetuning.tasks.problems import Regression, SingleLabel


@dataclass(frozen=True)
class GlueTask:
    """A row of `GLUE`."""

    name: str  # folder of its files, and configuration of the Hub's data set
    texts: tuple[str, ...]  # the text column, or the two columns of a text pair
    labels: tuple[str, ...]  # names by number; empty for regression
    metrics: tuple[str, ...]  # the published ones
    splits: Mapping[str, int]  # split with labels → official number of rows; training first
    best_metric: str | None = None  # selects the best epoch, as in the average of HashFormers; None is the first
    test_splits: tuple[str, ...] = ("test",)  # their labels are not published


ACCURACY: tuple[str, ...] = ("accuracy",)
SENTENCES, F1 = ("sentence1", "sentence2"), ("accuracy", "f1")
MATTHEWS, ENTAILMENT = ("matthews_correlation",), ("entailment", "not_entailment")
_ROWS = (
    GlueTask("cola", ("sentence",), ("unacceptable", "acceptable"), MATTHEWS, {"train": 8_551, "validation": 1_043}),
    GlueTask("sst2", ("sentence",), ("negative", "positive"), ACCURACY, {"train": 67_349, "validation": 872}),
    GlueTask("mrpc", SENTENCES, ("not_equivalent", "equivalent"), F1, {"train": 3_668, "validation": 408}),
    GlueTask("stsb", SENTENCES, (), ("pearson", "spearman"), {"train": 5_749, "validation": 1_500}, "spearman"),
    GlueTask("qqp", ("question1", "question2"), ("not_duplicate", "duplicate"), F1,
             {"train": 363_846, "validation": 40_430}, "f1"),
    GlueTask("mnli", ("premise", "hypothesis"), ("entailment", "neutral", "contradiction"), ACCURACY,
             {"train": 392_702, "validation_matched": 9_815, "validation_mismatched": 9_832},
             test_splits=("test_matched", "test_mismatched")),
    GlueTask("qnli", ("question", "sentence"), ENTAILMENT, ACCURACY, {"train": 104_743, "validation": 5_463}),
    GlueTask("rte", SENTENCES, ENTAILMENT, ACCURACY, {"train": 2_490, "validation": 277}),
    GlueTask("wnli", SENTENCES, ("not_entailment", "entailment"), ACCURACY, {"train": 635, "validation": 71}),
)  # fmt: skip
GLUE: dict[str, GlueTask] = {row.name: row for row in _ROWS}

# Average → task → its metrics. The term of a task with two metrics is their mean; `_mm` is MNLI's mismatched part.
_EELBERT_SMALL = dict.fromkeys(("sst2", "mrpc", "qqp", "mnli", "qnli", "rte"), ACCURACY)
_EELBERT_SMALL |= {"mnli": ("accuracy", "accuracy_mm")}
_HASHFORMERS = dict.fromkeys(("mnli", "qnli", "qqp", "rte", "sst2", "mrpc"), ACCURACY)
_HASHFORMERS |= {"qqp": ("f1",), "cola": MATTHEWS, "stsb": ("spearman",)}
AVERAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "HashFormers": _HASHFORMERS,
    "EELBERT base": {"cola": MATTHEWS, "stsb": ("pearson",)} | _EELBERT_SMALL,
    "EELBERT small": _EELBERT_SMALL,
}


def find_glue_tasks(names: Sequence[str]) -> list[GlueTask]:
    """Returns the rows with these names, in this order and each only once; `all` means all rows.

    Raises:
        ValueError: a task is unknown; the message lists the known tasks.
    """
    expanded = dict.fromkeys(task for name in names for task in (GLUE if name == "all" else (name,)))
    unknown = [name for name in expanded if name not in GLUE]
    if unknown:
        raise ValueError(f"unknown task {', '.join(unknown)}; choose from {', '.join(GLUE)}, or all.")
    return [GLUE[name] for name in expanded]


def average(name: str, scores: Mapping[str, Scores]) -> float:
    """Returns an average over GLUE, a key of `AVERAGES`, of task → scores.

    Raises:
        KeyError: a score is missing, see `missing_for`.

    Example:
        >>> tasks = ("sst2", "mrpc", "qqp", "qnli", "rte")
        >>> scores = {task: {"accuracy": 0.8} for task in tasks} | {"mnli": {"accuracy": 0.1, "accuracy_mm": 0.3}}
        >>> round(average("EELBERT small", scores), 6)
        0.7
    """
    terms = [statistics.fmean(scores[task][metric] for metric in names) for task, names in AVERAGES[name].items()]
    return statistics.fmean(terms)


def missing_for(name: str, scores: Mapping[str, Scores]) -> list[str]:
    """Returns what an average needs and the scores of the tasks lack: a whole task, or "task metric"."""
    needed = AVERAGES[name]
    known = [(task, metric) for task in needed if task in scores for metric in needed[task]]
    lacking = [f"{task} {metric}" for task, metric in known if metric not in scores[task]]
    return [*(task for task in needed if task not in scores), *lacking]


def load_glue_task(row: GlueTask, data_dir: str | None) -> TaskData:
    """Returns a task of GLUE with its examples.

    `data_dir` has a subfolder `<task>/` that holds `train.parquet`, `validation*.parquet` and so on; None downloads
    from the Hub. A footnote tells of each file with another number of rows than the official one.

    Raises:
        ValueError: the folder, a file or a column is missing, or a label is out of range.
    """
    footnotes: list[str] = []
    if data_dir is None:
        remedy = "give --data_dir, a folder that holds its parquet files."
        tables = load_hub(f"{GLUE_REPOSITORY}:{row.name}", "data set", remedy)
    else:
        tables, footnotes = _read_folder(row, Path(data_dir))
    problem_class = SingleLabel if row.labels else Regression
    problem = problem_class(row.labels, metrics=row.metrics, best_metric=row.best_metric)
    train, *validation = row.splits

    def read(splits: Sequence[str]) -> dict[str, Examples]:
        found = [split for split in splits if split in tables]
        suffixes = [MISMATCHED if split.endswith("mismatched") else "" for split in found]
        return {suffix: _read_split(row, tables[split], split) for suffix, split in zip(suffixes, found, strict=True)}

    texts = (_read_split(row, tables[train], train), read(validation), read(row.test_splits))
    return TaskData(row.name, GLUE_TITLES[row.name], problem, *texts, tuple(footnotes), row.texts, is_own=False)


def _read_folder(row: GlueTask, data_dir: Path) -> tuple[dict[str, Dataset], list[str]]:
    """Returns the splits, and a footnote for each that has another number of rows than the official one."""
    folder = data_dir / row.name
    if not folder.is_dir():
        names = ", ".join(sorted(path.name for path in data_dir.glob("*/"))) or "nothing"
        raise ValueError(f"{str(folder)!r} is not a folder ({str(data_dir)!r} holds {names}); check --data_dir.")
    tables, footnotes = {}, []
    for split in (*row.splits, *row.test_splits):
        # The name is `train.parquet`, or `train-00000-of-00002.parquet` for each of several files.
        candidates = sorted(folder.glob(f"{split}*.parquet"))
        files = [str(file) for file in candidates if SHARD.sub("", file.stem, count=1) == split]
        if files:
            tables[split] = read_files(files)
            rows, official = len(tables[split]), row.splits.get(split)
            if official not in (None, rows):
                footnotes.append(f"{GLUE_TITLES[row.name]}: {split} has {rows:,} rows, the official one {official:,}")
        elif split in tuple(row.splits)[:2]:
            raise ValueError(f"{str(folder)!r} holds no {split}.parquet; put it there, or leave {row.name} out.")
    return tables, footnotes


def _read_split(row: GlueTask, table: Dataset, split: str) -> Examples:
    """Returns the examples of a split, with the names of the labels; those of a test split are not published."""
    where = f"{split} of {row.name}"
    examples = read_examples(table, where, row.texts, () if split in row.test_splits else ("label",))
    if row.labels and examples.labels is not None:
        names = dict(enumerate(row.labels))
        if invalid := sorted({*table["label"]} - {*names}, key=str):
            raise ValueError(f"the labels {invalid} are outside 0 to {len(row.labels) - 1}; check the files.")
        examples = replace(examples, labels=[names[label] for label in table["label"]])
    empty = next((number for number, values in enumerate(examples.rows()) if None in values), None)
    if empty is not None:
        raise ValueError(f"row {empty} of {where} has no text or no label; mend the file.")
    return examples
