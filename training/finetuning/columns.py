"""Files and data sets of the Hub → texts and labels: which columns hold them."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import ClassLabel, Dataset, load_dataset

from vocabless.public_names import DATASET_ID
from vocabless.training.finetuning.data import Examples
from vocabless.training.texts.local_files import FORMATS, STRING_TYPES, column_type, load_files
from vocabless.training.texts.text_format import UTF8, TextFormat

TABLES = [suffix for suffix in FORMATS if suffix != ".txt"]
TEXT_COLUMNS = ("text", "sentence")
PAIR_COLUMNS = (("sentence1", "sentence2"), ("text1", "text2"), ("premise", "hypothesis"), ("question1", "question2"))
LABEL_COLUMNS = ("label", "labels", "tags")
SHARD = re.compile(r"-\d+-of-\d+")  # in the name of a file


def read_files(files: Sequence[str], text_format: TextFormat = UTF8) -> Dataset:
    """Returns the rows of one or more files of the same format.

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
    return check_rows(load_files(files, f"the file {files[0]!r}", text_format), files[0])


def read_hub(source: str, remedy: str) -> dict[str, Dataset]:
    """Returns the splits of a data set on the Hub, `owner/name[:configuration][@revision]`.

    Raises:
        ValueError: it does not exist or cannot be downloaded; `remedy` is the end of the message.
    """
    match = DATASET_ID.fullmatch(source)
    try:
        return dict(load_dataset(**match.groupdict()) if match else load_dataset(source))
    except (OSError, RuntimeError, ValueError) as error:
        cause = " ".join(str(error).split())
        raise ValueError(f"the data set {source} cannot be loaded from the Hub: {cause}; {remedy}") from error


def check_rows(table: Dataset, where: str) -> Dataset:
    """Returns the table unchanged; raises an error if it has no rows."""
    if not table.column_names or not len(table):
        raise ValueError(f"{where} has no rows; give data with at least one.")
    return table


def find_columns(table: Dataset, where: str, names: Sequence[str], candidates: Sequence[str], flag: str) -> list[str]:
    """Returns the columns with these names; without names, the first candidate that the table has.

    Raises:
        ValueError: the table, for the message `where`, has no such column; `flag` names one.
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


def find_text_columns(table: Dataset, where: str, names: Sequence[str]) -> list[str]:
    """Returns the text column of a table, or the two columns of a text pair, see `find_columns`."""
    if not names and not set(TEXT_COLUMNS) & set(table.column_names):
        names = next((pair for pair in PAIR_COLUMNS if set(pair) <= set(table.column_names)), ())
    return find_columns(table, where, names, TEXT_COLUMNS, "--text_column")


def read_examples(table: Dataset, where: str, text_columns: Sequence[str], label_columns: Sequence[str]) -> Examples:
    """Returns the examples of a table, which messages call `where`; two text columns make text pairs.

    Several label columns make a list of labels for each row; none leaves the labels out.

    Raises:
        ValueError: a column is missing or does not hold texts, or a row has a label that is no finite number.
    """
    find_columns(table, where, text_columns, (), "--text_column")
    find_columns(table, where, label_columns, table.column_names, "--label_column")
    texts: Any = (_read_texts(table, where, column) for column in text_columns)
    examples = Examples(*texts)
    if label_columns:
        examples.labels = _read_labels(table, where, label_columns)
    return examples


def has_labels(table: Dataset, columns: Sequence[str]) -> bool:
    """Returns whether a table has all label columns, and the first one at least one label."""
    if not set(columns) <= set(table.column_names):
        return False
    return any(label is not None for label in _class_names(table.features[columns[0]], table[columns[0]][:]))


def _read_texts(table: Dataset, where: str, column: str) -> list[str]:
    """Returns the texts of a column."""
    kind = column_type(table.features[column])
    if kind not in STRING_TYPES:
        raise ValueError(f"the column {column!r} of {where} holds {kind}, not text; name a column of strings.")
    texts: list[str] = table[column][:]
    return texts


def _read_labels(table: Dataset, where: str, columns: Sequence[str]) -> list[Any]:
    """Returns one label for each row, None if it has none; several columns make a list of labels for each row."""
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
