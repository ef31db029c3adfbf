"""Reads local files with `datasets`, by their literal names."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset, IterableDataset
from datasets.exceptions import DatasetGenerationError

from vocabless.training.texts.text_format import UTF8, TextFormat

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".tsv": "csv", ".txt": "text"}
STRING_TYPES = ("string", "large_string")
INDEX = "__index_level_0__"  # column in which `datasets` puts the first fields of rows that are longer than the header
_NESTED = {"Json": "values of several types", "List": "lists", "LargeList": "lists", "dict": "objects"}


def load_files(
    files: Sequence[str], where: str, text_format: TextFormat = UTF8, streaming: bool = False
) -> Dataset | IterableDataset:
    """Returns the rows of files of one format; with `streaming`, they are read when they are needed.

    Empty files are left out, unless all are empty. Messages call the files `where`, such as "the corpus 'texts'".

    Raises:
        ValueError: the files are damaged or empty, have another encoding, or rows with more fields than their header.
    """
    suffix = Path(files[0]).suffix
    # Links are followed: `datasets` would compare the time of a link with that in its cache, not that of the file.
    names = [glob.escape(os.path.realpath(file)) for file in files if os.path.getsize(file)]
    if not names:
        raise ValueError(f"{where} is empty; give a file with rows.")
    read = getattr(Dataset, f"from_{FORMATS[suffix]}")  # `load_dataset` would ask a server, to count a download
    try:
        rows: Any = read(names, split="train", streaming=streaming, **text_format.options(suffix))
        columns = rows.column_names or list(next(iter(rows.take(1)), {}))
    except (DatasetGenerationError, OSError, ValueError) as error:
        for file in files if suffix != ".parquet" else ():
            text_format.check(file)
        cause = " ".join(str(error.__cause__ or error).split())
        if "corresponds to no data" in cause:  # a header alone
            raise ValueError(f"{where} is empty; give a file with rows.") from error
        raise ValueError(f"{where} cannot be read: {cause}; check that it is complete.") from error
    if INDEX in columns:
        raise ValueError(f"{where} has rows with more fields than its header; put texts with delimiters in quotes.")
    return rows  # type: ignore[no-any-return]


def load_table(file: str, flag: str, columns: Sequence[str]) -> Any:
    """Returns the rows of the parquet, jsonl or csv file that a flag names. `label` may be the name of `score`.

    Raises:
        ValueError: the file does not exist, cannot be read, or lacks one of the columns.
    """
    where = f"{flag} {file!r}"
    if not Path(file).is_file() or Path(file).suffix not in FORMATS:
        raise ValueError(f"{where} is no parquet, jsonl or csv file; give one.")
    rows: Any = load_files([file], where)
    if "score" in columns and "score" not in rows.column_names and "label" in rows.column_names:
        rows = rows.rename_column("label", "score")
    missing = [name for name in columns if name not in rows.column_names]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}; it needs the columns {', '.join(columns)}.")
    return rows


def column_type(feature: Any) -> str:
    """Returns what a column holds, for checks and messages: a dtype such as `string`, or words for nested values."""
    return getattr(feature, "dtype", None) or _NESTED.get(type(feature).__name__, str(feature))
