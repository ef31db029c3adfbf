"""GLUE's tasks with their examples, from the Hub or from a folder of parquet files."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from pathlib import Path

from datasets import ClassLabel, Dataset

from vocabless.training.finetuning.glue import GlueTask
from vocabless.training.finetuning.problems import PROBLEMS
from vocabless.training.finetuning.task_files import GLUE_REPOSITORY, find_split, read_files, read_hub
from vocabless.training.finetuning.tasks import Columns, Examples, Task, read_examples

MISMATCHED = "_mm"  # suffix of the measures on MNLI's mismatched part


def load_glue_task(row: GlueTask, data_dir: str | None) -> Task:
    """Returns a task of GLUE, from the Hub or from a folder of parquet files.

    Args:
        row: which one.
        data_dir: holds a folder of each task's name with `train.parquet`, `validation*.parquet` and so on; None is the
            Hub. A file of another name that begins alike stands in for one that is missing, and a footnote says so.

    Raises:
        ValueError: the folder, a file or a column is missing, or holds what it must not.
    """
    tables, footnotes = _glue_from_hub(row) if data_dir is None else _glue_from_folder(row, Path(data_dir))
    columns = Columns(texts=row.texts, labels=("label",))
    for split in set(tables) & set(row.test_splits):  # secret: −1 on the Hub, −1.0 for STS-B
        tables[split] = tables[split].remove_columns([n for n in tables[split].column_names if n == "label"])
    if row.labels:
        tables = {split: _with_names(table, row.labels) for split, table in tables.items()}
    read = {
        split: read_examples(table, f"{split} of {row.name}", columns, needs_labels=not split.startswith("test"))
        for split, table in tables.items()
    }
    kind = PROBLEMS["single_label_classification" if row.labels else "regression"]
    problem = kind(row.labels, metrics=row.metrics, best=row.best)
    parts = {prefix: _by_suffix(read, prefix) for prefix in ("validation", "test")}
    return Task(row.name, row.title, problem, read["train"], parts["validation"], parts["test"], footnotes)


def _glue_from_hub(row: GlueTask) -> tuple[dict[str, Dataset], list[str]]:
    tables = read_hub(GLUE_REPOSITORY, row.name, "give --data_dir, a folder that holds its parquet files.")
    return {split: tables[split] for split in (*row.splits, *row.test_splits) if split in tables}, []


def _glue_from_folder(row: GlueTask, data_dir: Path) -> tuple[dict[str, Dataset], list[str]]:
    folder = data_dir / row.name
    if not folder.is_dir():
        there = ", ".join(sorted(path.name for path in data_dir.glob("*/"))) if data_dir.is_dir() else "nothing"
        raise ValueError(f"{str(folder)!r} is no folder ({str(data_dir)!r} holds {there}); mend --data_dir.")
    tables, footnotes = {}, []
    for split in (*row.splits, *row.test_splits):
        files, is_plain = find_split(folder, split)
        if not files:
            if split in row.needed_splits:
                raise ValueError(f"{str(folder)!r} holds no {split}.parquet; put it there, or leave {row.name} out.")
            continue
        tables[split] = read_files(files)
        rows, official = len(tables[split]), row.splits.get(split)
        if official and (not is_plain or rows != official):
            footnotes.append(f"{row.title}: {Path(files[0]).name} has {rows:,} rows, the official one {official:,}")
    return tables, footnotes


def _by_suffix(read: dict[str, Examples], prefix: str) -> dict[str, Examples]:
    found = {split: examples for split, examples in read.items() if split.startswith(prefix)}
    return {MISMATCHED if split.endswith("mismatched") else "": examples for split, examples in found.items()}


def _with_names(table: Dataset, labels: Sequence[str]) -> Dataset:
    if "label" not in table.column_names:
        return table
    found = sorted({value for value in table["label"] if not -1 <= (-2 if value is None else value) < len(labels)})
    if found:
        raise ValueError(f"the labels {found} are none of 0 to {len(labels) - 1}; check the files.")
    features = table.features.copy()
    features["label"] = ClassLabel(names=list(labels))
    return table.cast(features)
