"""Tables of examples: parquet, jsonl, json and csv files, or a data set of the Hub, with their columns checked."""
# mypy: allow-untyped-calls

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import ClassLabel, Dataset, load_dataset
from datasets.exceptions import DatasetGenerationError

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv"}
GLUE_REPOSITORY = "nyu-mll/glue"
TEXTS = ("string", "large_string")
_SHARD = re.compile(r"-\d+-of-\d+")


def read_files(files: Sequence[str]) -> Dataset:
    """Returns the rows of files of one format.

    Raises:
        ValueError: a file that is not there, of an unknown format, damaged or without rows.
    """
    for file in files:
        if not Path(file).is_file():
            raise ValueError(f"the file {file!r} does not exist; give a {', '.join(FORMATS)} file.")
        if Path(file).suffix not in FORMATS:
            raise ValueError(f"the file {file!r} is none of {', '.join(FORMATS)}; convert it to one of these.")
        if not Path(file).stat().st_size:
            raise ValueError(f"the file {file!r} is empty; give one with rows.")
    try:
        table = load_dataset(FORMATS[Path(files[0]).suffix], data_files=list(files), split="train")
    except (DatasetGenerationError, ValueError) as error:
        cause = " ".join(str(error.__cause__ or error).split())
        raise ValueError(f"the file {files[0]!r} cannot be read: {cause}; check that it is whole.") from error
    return with_rows(table, files[0])


def read_hub(name: str, config: str | None, remedy: str) -> dict[str, Dataset]:
    """Returns the splits of a data set on the Hub.

    Args:
        name: its id.
        config: one of its configurations; None is its only one.
        remedy: what to do where it cannot be had.

    Raises:
        ValueError: there is none, or it cannot be fetched.
    """
    try:
        return dict(load_dataset(name, config))
    except (OSError, RuntimeError, ValueError) as error:
        cause = " ".join(str(error).split())
        where = name if config is None else f"{name} ({config})"
        raise ValueError(f"the data set {where} cannot be had from the Hub: {cause}; {remedy}") from error


def find_split(folder: Path, split: str) -> tuple[list[str], bool]:
    """Returns the parquet files of a split, and whether they bear its plain name.

    `train.parquet` and `train-00000-of-00002.parquet` do; `validation_partial.parquet` stands in where neither is.
    """
    found = sorted(folder.glob(f"{split}*.parquet"))
    plain = [file for file in found if not _SHARD.sub("", file.stem, count=1).removeprefix(split)]
    return [str(file) for file in plain or found[:1]], bool(plain)


def with_rows(table: Dataset, where: str) -> Dataset:
    """Returns the table.

    Raises:
        ValueError: it has no rows.
    """
    if not table.column_names or not len(table):
        raise ValueError(f"{where} has no rows; give data with at least one.")
    return table


def find_columns(table: Dataset, where: str, names: Sequence[str], candidates: Sequence[str], flag: str) -> list[str]:
    """Returns the columns of these names, or the first of the candidates.

    Args:
        table: has columns.
        where: its name, for the message.
        names: what was asked for; empty takes a candidate.
        candidates: usual names.
        flag: that names a column.

    Raises:
        ValueError: no such column; those that there are are listed.
    """
    there = table.column_names
    missing = [name for name in names if name not in there]
    found = list(names) or [name for name in candidates if name in there][:1]
    if missing or not found:
        wanted = ", ".join(missing) or " or ".join(candidates)
        raise ValueError(f"{where} has no column {wanted}; its columns are {', '.join(there)}: name one by {flag}.")
    return found


def read_texts(table: Dataset, where: str, column: str) -> tuple[list[Any], bool]:
    """Returns the texts of a column, and whether they are lists of words.

    Raises:
        ValueError: it holds something else, or nothing in some row.
    """
    feature: Any = table.features[column]
    inner = getattr(feature, "feature", None)
    is_words = inner is not None and getattr(inner, "dtype", None) in TEXTS
    if not is_words and (inner is not None or getattr(feature, "dtype", None) not in TEXTS):
        kind = getattr(feature, "dtype", feature)
        raise ValueError(f"the column {column!r} of {where} holds {kind}, not text; name a column of strings.")
    texts = table[column][:]
    for number, text in enumerate(texts):
        if text is None or (is_words and None in text):
            raise ValueError(
                f"row {number} of the column {column!r} of {where} holds no text; fill it or drop the row."
            )
    return texts, is_words


def read_labels(table: Dataset, where: str, columns: Sequence[str]) -> list[Any]:
    """Returns the labels of a table: names where it has them, else its values; of several columns, lists.

    Raises:
        ValueError: a row without a label.
    """
    read = [_named(table.features[column], table[column][:]) for column in columns]
    labels = read[0] if len(read) == 1 else [list(row) for row in zip(*read, strict=True)]
    for number, label in enumerate(labels):
        if label is None or (isinstance(label, list) and None in label):
            raise ValueError(f"row {number} of {where} has no label in {columns[0]!r}; fill it or drop the row.")
    return labels


def _named(feature: Any, values: list[Any]) -> list[Any]:
    """Returns values by name where the column declares names; −1, the Hub's sign for an unknown label, is none."""
    inner = getattr(feature, "feature", feature)
    if not isinstance(inner, ClassLabel):
        return values
    names = [*inner.names, None]  # −1 is the last
    if inner is feature:
        return [None if value is None else names[value] for value in values]
    return [None if row is None else [None if value is None else names[value] for value in row] for row in values]
