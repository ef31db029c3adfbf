"""Reads tables of examples from files or from data sets on the Hub; checks their columns."""
# mypy: allow-untyped-calls

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import ClassLabel, Dataset, load_dataset

from vocabless.training.texts import conll
from vocabless.training.texts.local_files import FORMATS, STRING_TYPES, column_type, load_files
from vocabless.training.texts.text_format import UTF8, TextFormat

TABLES = [*(suffix for suffix in FORMATS if suffix != ".txt"), conll.SUFFIX]
GLUE_REPOSITORY = "nyu-mll/glue"
SHARD = re.compile(r"-\d+-of-\d+")


def read_files(files: Sequence[str], text_format: TextFormat = UTF8) -> Dataset:
    """Returns the rows of one or more files of the same format.

    Args:
        files: paths.
        text_format: encoding and delimiter of csv, tsv, jsonl and json files.

    Raises:
        ValueError: a file does not exist, has an unknown format, is damaged, has another encoding or delimiter, or has
            no rows.
    """
    for file in files:
        if not Path(file).is_file():
            raise ValueError(f"the file {file!r} does not exist; give a {', '.join(TABLES)} file.")
        if Path(file).suffix not in TABLES:
            raise ValueError(f"the file {file!r} has an unknown format; convert it to one of {', '.join(TABLES)}.")
        if not Path(file).stat().st_size:
            raise ValueError(f"the file {file!r} is empty; give a file with rows.")
    if Path(files[0]).suffix == conll.SUFFIX:
        return check_rows(conll.read_conll(files, text_format), files[0])
    return check_rows(load_files(files, f"the file {files[0]!r}", text_format), files[0])


def read_hub(name: str, config: str | None, remedy: str) -> dict[str, Dataset]:
    """Returns the splits of a data set on the Hub.

    Args:
        name: id of the data set.
        config: name of a configuration; None for a data set with only one.
        remedy: what the user can do if the download fails, for the message.

    Raises:
        ValueError: the data set does not exist or cannot be downloaded.
    """
    try:
        return dict(load_dataset(name, config))
    except (OSError, RuntimeError, ValueError) as error:
        cause = " ".join(str(error).split())
        label = name if config is None else f"{name} ({config})"
        raise ValueError(f"the data set {label} cannot be loaded from the Hub: {cause}; {remedy}") from error


def find_split(folder: Path, split: str) -> tuple[list[str], bool]:
    """Returns the parquet files of a split, and whether they have its standard name.

    `train.parquet` and `train-00000-of-00002.parquet` are standard names. If there is no such file, another file whose
    name begins with the split's name is used instead, for instance `validation_partial.parquet`.
    """
    candidates = sorted(folder.glob(f"{split}*.parquet"))
    standard = [file for file in candidates if SHARD.sub("", file.stem, count=1) == split]
    return [str(file) for file in standard or candidates[:1]], bool(standard)


def check_rows(table: Dataset, where: str) -> Dataset:
    """Returns the table unchanged.

    Raises:
        ValueError: it has no rows.
    """
    if not table.column_names or not len(table):
        raise ValueError(f"{where} has no rows; give data with at least one.")
    return table


def find_columns(table: Dataset, where: str, names: Sequence[str], candidates: Sequence[str], flag: str) -> list[str]:
    """Returns the columns with these names; without names, the first candidate that the table has.

    Args:
        table: a data set.
        where: name of the table, for the message.
        names: names that the user gave, or empty.
        candidates: usual names.
        flag: the flag that gives the names, for the message.

    Raises:
        ValueError: the table has no such column; the message lists its columns.
    """
    existing = table.column_names
    missing = [name for name in names if name not in existing]
    columns = list(names) or [name for name in candidates if name in existing][:1]
    if missing or not columns:
        expected = ", ".join(missing) or " or ".join(candidates)
        raise ValueError(
            f"{where} has no column {expected}; its columns are {', '.join(existing)}: give one by {flag}."
        )
    return columns


def read_texts(table: Dataset, where: str, column: str) -> tuple[list[Any], bool]:
    """Returns the texts of a column, and whether they are lists of words.

    Raises:
        ValueError: the column does not hold strings or lists of strings.
    """
    feature: Any = table.features[column]
    inner = getattr(feature, "feature", None)  # of a column of lists
    is_words = inner is not None and getattr(inner, "dtype", None) in STRING_TYPES
    kind = column_type(feature)
    if not is_words and kind not in STRING_TYPES:
        raise ValueError(f"the column {column!r} of {where} holds {kind}, not text; name a column of strings.")
    return table[column][:], is_words


def read_labels(table: Dataset, where: str, columns: Sequence[str]) -> list[Any]:
    """Returns one label for each row, None if it has none; several columns make a list of labels for each row.

    Numbers whose names the column declares (`ClassLabel`) become these names.

    Raises:
        ValueError: a row has a label that is no finite number.
    """
    values = [_class_names(table.features[column], table[column][:]) for column in columns]
    labels = values[0] if len(values) == 1 else [list(row) for row in zip(*values, strict=True)]
    for row, label in enumerate(labels):
        parts = label if isinstance(label, list) else [label]
        if any(isinstance(part, float) and not math.isfinite(part) for part in parts):
            raise ValueError(
                f"row {row} of {where} has the label {label} in {columns[0]!r}; give a finite number or drop the row."
            )
    return labels


def _class_names(feature: Any, values: list[Any]) -> list[Any]:
    """Returns the names of the values if the column declares names; −1, the Hub's unknown label, becomes None."""
    inner = getattr(feature, "feature", feature)
    if not isinstance(inner, ClassLabel):
        return values
    names = [*inner.names, None]  # index −1 is the last
    if inner is feature:
        return [None if value is None else names[value] for value in values]
    return [None if row is None else [None if value is None else names[value] for value in row] for row in values]
