"""Tables and texts in local files → rows.

Each csv cell is a text, also where it looks like a number: `007` stays `007`. An empty cell alone is missing: "NA",
"None" and "null" are texts, as in a jsonl file.
"""

import glob
import hashlib
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import datasets
from datasets import Dataset, Features, IterableDataset, Value
from datasets.exceptions import DatasetGenerationError

from vocabless.texts.csv_records import FIRST_ROWS, MisreadError
from vocabless.texts.row_tables import load_rows
from vocabless.texts.text_format import FORMATS, UTF8, TextFormat, kind_of, suffix_of

READING = 2  # of the rows of a file; a change in what is read raises it, so that no cache has the former rows
TABLES = [suffix for suffix in FORMATS if suffix != ".txt"]
TAGGER = "for a tag of each word, see 'Train a tagger' in docs/pipelines.md"
STRING_TYPES = ("string", "large_string")
_NESTED = {"Json": "values of several types", "List": "lists", "LargeList": "lists", "dict": "objects"}


def load_files(
    files: Sequence[str], where: str, text_format: TextFormat = UTF8, streaming: bool = False
) -> Dataset | IterableDataset:
    """Returns the rows of files of one format; with `streaming`, they are read when they are needed.

    Empty files are left out, unless all are empty. Messages call the files `where`, such as "the corpus 'texts'".

    Raises:
        ValueError: the files are damaged or empty, have another encoding or delimiter, or would be misread.
    """
    filled = [file for file in files if os.path.getsize(file)]
    rows: Any = Dataset.from_dict({})
    try:
        if filled and kind_of(filled[0]) == "parquet":
            paths = [glob.escape(os.path.realpath(file)) for file in filled]  # no patterns
            config = {"streaming": True} if streaming else {"config_id": _cache_id(filled, text_format)}
            rows = Dataset.from_parquet(paths, split="train", **config)  # `load_dataset` would ask a server
        elif filled:
            rows = _load_texts(filled, text_format, streaming)
        if not list(rows.take(FIRST_ROWS if streaming else 1)):
            raise MisreadError(f"{where} is empty; give a file with rows.")
    except (DatasetGenerationError, OSError, ValueError) as error:
        raise explained(error, where) from error
    return rows  # type: ignore[no-any-return]


def explained(error: Exception, where: str) -> ValueError:
    """Returns an error of one sentence for an error of a library that read files."""
    cause = error.__cause__ if isinstance(error, DatasetGenerationError) else error
    if isinstance(cause, MisreadError):
        return MisreadError(str(cause))  # not the cause itself, which would be its own cause
    if re.search("corresponds to no data|at least one example", str(cause)):
        return ValueError(f"{where} is empty; give a file with rows.")
    return ValueError(f"{where} cannot be read: {' '.join(str(cause).split())}; check that it is complete.")


def _load_texts(files: list[str], text_format: TextFormat, streaming: bool) -> Dataset | IterableDataset:
    """Returns the rows of text files; those of csv files have the same columns, all of them texts."""
    features = None
    if kind_of(files[0]) == "csv":
        headers = [next(text_format.records(file), (1, []))[1] for file in files]
        other = next((file for file, header in zip(files, headers, strict=True) if {*header} != {*headers[0]}), None)
        if other is not None:
            raise MisreadError(f"{other!r} has other columns than {files[0]!r}; give files with the same header.")
        features = Features(dict.fromkeys(headers[0], Value("string")))
        if not features:
            return Dataset.from_dict({})
    readers = [partial(text_format.rows, file) for file in files]
    return load_rows(readers, None if streaming else _cache_id(files, text_format), features)


def _cache_id(files: Sequence[str], text_format: TextFormat) -> str:
    """Returns the name under which `datasets` keeps the rows of files: a hash of what they hold, not of their times."""
    state = hashlib.blake2b(repr((datasets.__version__, READING, text_format)).encode(), digest_size=16)
    for file in files:
        of_file = hashlib.blake2b(suffix_of(file).encode())
        with open(file, "rb") as stream:
            while piece := stream.read(1 << 20):
                of_file.update(piece)
        state.update(of_file.digest())
    return f"content-{state.hexdigest()}"


def read_files(files: Sequence[str], text_format: TextFormat = UTF8) -> Dataset:
    """Returns the rows of one or more files of the same format, at least one.

    Raises:
        ValueError: a file does not exist, has an unknown format, has no rows, or cannot be read, see `load_files`.
    """
    for file in files:
        if Path(file).is_dir():
            raise ValueError(f"{file!r} is a folder; give a {', '.join(TABLES)} file.")
        if not Path(file).is_file():
            raise ValueError(f"the file {file!r} does not exist; give a {', '.join(TABLES)} file.")
        if kind_of(file) in (None, "text"):
            raise ValueError(f"the file {file!r} has an unknown format; convert it to one of {', '.join(TABLES)}.")
    return load_files(files, f"the file {files[0]!r}", text_format)  # type: ignore[return-value]


def load_table(file: str, flag: str, columns: Sequence[str]) -> Any:
    """Returns the rows of the file that a flag names. `score` is a column of numbers; its name may be `label`.

    Raises:
        ValueError: the file cannot be read, see `read_files`, lacks one of the columns, or has a score that is no
            number.
    """
    rows = read_files([file])
    if "score" in columns and "score" not in rows.column_names and "label" in rows.column_names:
        rows = rows.rename_column("label", "score")
    if missing := [name for name in columns if name not in rows.column_names]:
        raise ValueError(f"{flag} {file!r} lacks {', '.join(missing)}; it needs the columns {', '.join(columns)}.")
    try:
        return rows.cast_column("score", Value("float64")) if "score" in columns else rows
    except (ValueError, TypeError) as error:
        raise ValueError(f"{flag} {file!r} has a score that is no number ({error}); mend it.") from error


def column_type(feature: Any) -> str:
    """Returns what a column holds, for checks and messages: a dtype such as `string`, or words for nested values."""
    return getattr(feature, "dtype", None) or _NESTED.get(type(feature).__name__, str(feature))


def check_texts(features: Features, column: str, where: str) -> None:
    """Raises ValueError if a column holds other values than texts; it may hold nothing at all."""
    kind = column_type(features[column])
    if kind not in (*STRING_TYPES, "null"):
        remedy = "name a column of strings"
        if kind == "lists":
            remedy += f", or write a row for each text, as pandas' explode({column!r}) does; {TAGGER}"
        raise ValueError(f"the column {column!r} of {where} holds {kind}, not text; {remedy}.")
