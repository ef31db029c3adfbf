"""Loads the examples of a GLUE task, from the Hub or from a folder of parquet files."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from pathlib import Path

from datasets import ClassLabel, Dataset

from vocabless.training.finetuning.glue import GlueTask
from vocabless.training.finetuning.problems import PROBLEMS
from vocabless.training.finetuning.task_files import GLUE_REPOSITORY, find_split, read_files, read_hub
from vocabless.training.finetuning.tasks import Columns, Examples, Task, read_examples

MISMATCHED = "_mm"  # suffix of the metrics on MNLI's mismatched part


def load_glue_task(row: GlueTask, data_dir: str | None) -> Task:
    """Returns a task of GLUE with its examples.

    Args:
        row: row of `GLUE`.
        data_dir: folder with a subfolder `<task>/` that holds `train.parquet`, `validation*.parquet` and so on; None
            downloads from the Hub. If a file is missing, `find_split` may use another, and a footnote says so.

    Raises:
        ValueError: the folder, a file or a column is missing, or a label is out of range.
    """
    tables, footnotes = _read_hub(row) if data_dir is None else _read_folder(row, Path(data_dir))
    for split in set(tables) & set(row.test_splits):  # the labels are not published: −1 on the Hub
        tables[split] = tables[split].select_columns([name for name in tables[split].column_names if name != "label"])
    if row.labels:
        tables = {split: _name_labels(table, row.labels) for split, table in tables.items()}
    columns = Columns(texts=row.texts, labels=("label",))
    examples = {
        split: read_examples(table, f"{split} of {row.name}", columns, needs_labels=split not in row.test_splits)
        for split, table in tables.items()
    }
    for split, part in examples.items():
        empty = next((number for number, values in enumerate(part.rows()) if None in values), None)
        if empty is not None:
            raise ValueError(f"row {empty} of {split} of {row.name} has no text or no label; mend the file.")
    problem_class = PROBLEMS["single_label_classification" if row.labels else "regression"]
    return Task(
        name=row.name,
        title=row.title,
        problem=problem_class(row.labels, metrics=row.metrics, best_metric=row.best_metric),
        train=examples["train"],
        validation=_by_suffix(examples, "validation"),
        test=_by_suffix(examples, "test"),
        footnotes=footnotes,
        text_columns=row.texts,
    )


def _read_hub(row: GlueTask) -> tuple[dict[str, Dataset], list[str]]:
    """Returns the splits, and no footnotes."""
    tables = read_hub(GLUE_REPOSITORY, row.name, "give --data_dir, a folder that holds its parquet files.")
    return {split: tables[split] for split in (*row.splits, *row.test_splits) if split in tables}, []


def _read_folder(row: GlueTask, data_dir: Path) -> tuple[dict[str, Dataset], list[str]]:
    """Returns the splits, and a footnote for each file that is not the official one."""
    folder = data_dir / row.name
    if not folder.is_dir():
        names = sorted(path.name for path in data_dir.glob("*/")) if data_dir.is_dir() else []
        raise ValueError(
            f"{str(folder)!r} is not a folder ({str(data_dir)!r} holds {', '.join(names) or 'nothing'}); "
            "check --data_dir."
        )
    tables, footnotes = {}, []
    for split in (*row.splits, *row.test_splits):
        files, is_standard = find_split(folder, split)
        if not files and split in row.required_splits:
            raise ValueError(f"{str(folder)!r} holds no {split}.parquet; put it there, or leave {row.name} out.")
        if not files:
            continue
        tables[split] = read_files(files)
        rows, official = len(tables[split]), row.splits.get(split)
        if official and (not is_standard or rows != official):
            footnotes.append(f"{row.title}: {Path(files[0]).name} has {rows:,} rows, the official one {official:,}")
    return tables, footnotes


def _by_suffix(examples: dict[str, Examples], prefix: str) -> dict[str, Examples]:
    """Returns metric suffix → examples of the splits whose names begin with the prefix."""
    splits = [split for split in examples if split.startswith(prefix)]
    return {MISMATCHED if split.endswith("mismatched") else "": examples[split] for split in splits}


def _name_labels(table: Dataset, names: Sequence[str]) -> Dataset:
    """Returns the table with the names of the labels in the type of its label column."""
    if "label" not in table.column_names:
        return table
    invalid = sorted({label for label in table["label"] if label is None or not -1 <= label < len(names)}, key=str)
    if invalid:
        raise ValueError(f"the labels {invalid} are outside 0 to {len(names) - 1}; check the files.")
    features = table.features.copy()
    features["label"] = ClassLabel(names=list(names))
    return table.cast(features)
