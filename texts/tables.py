"""Tables and texts in local files → rows.

Each csv cell is a text, also where it looks like a number: `007` stays `007`. An empty cell alone is missing: "NA",
"None" and "null" are texts, as in a jsonl file.
"""

import codecs
import glob
import hashlib
import os
import re
from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import datasets
from datasets import Dataset, Features, IterableDataset, Json, Value
from datasets.exceptions import DatasetGenerationError

from vocabless.texts.csv_records import FIRST_ROWS, MisreadError
from vocabless.texts.csv_tables import load_csv
from vocabless.texts.json_records import check_json, check_mixed, mixed_values, with_times_as
from vocabless.texts.text_format import UTF8, TextFormat, suffix_of

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".tsv": "csv", ".txt": "text"}
TABLES = [suffix for suffix in FORMATS if suffix != ".txt"]
STRING_TYPES = ("string", "large_string")
WINDOWS_ONLY = re.compile(rb"[\x80\x82-\x84\x86-\x8c\x8e\x91-\x9c\x9e\x9f]")  # 0x85 is a line end, too
_NESTED = {"Json": "values of several types", "List": "lists", "LargeList": "lists", "dict": "objects"}


def load_files(
    files: Sequence[str], where: str, text_format: TextFormat = UTF8, streaming: bool = False
) -> Dataset | IterableDataset:
    """Returns the rows of files of one format; with `streaming`, they are read when they are needed.

    Empty files are left out, unless all are empty. Messages call the files `where`, such as "the corpus 'texts'".

    Raises:
        ValueError: the files are damaged or empty, have another encoding or delimiter, or would be misread.
    """
    kind, filled = FORMATS[suffix_of(files[0])], [file for file in files if os.path.getsize(file)]
    rows: Any = Dataset.from_dict({})
    try:
        if kind != "parquet":
            for file in filled:
                _check_latin1(file, text_format)
        if filled and kind == "csv":
            rows = _load_csv(filled, text_format, streaming)
        elif filled:
            rows = _load_by_library(kind, filled, text_format, streaming)
        first = list(rows.take(FIRST_ROWS if streaming else 2))
        if not first:
            raise MisreadError(f"{where} is empty; give a file with rows.")
        if kind == "json" and len(first) == 1 and all(isinstance(value, list | dict) for value in first[0].values()):
            form = "pandas' to_json(orient='records', lines=True) does"
            raise MisreadError(f"{filled[0]!r} holds columns, not rows; write an object for each row, as {form}.")
        mixed = mixed_values(rows.features) if kind == "json" else []
        for file in filled if kind == "json" else []:
            with text_format.open(file) as stream:
                check_json(stream, file, lists_only=True)
                if mixed:
                    stream.seek(0)
                    check_mixed(stream, file, mixed)
    except (DatasetGenerationError, OSError, ValueError) as error:
        raise explained(error, files, where, text_format) from error
    return rows  # type: ignore[no-any-return]


def _load_by_library(kind: str, files: Sequence[str], text_format: TextFormat, streaming: bool) -> Any:
    """Returns the rows of files as `datasets` reads this kind."""
    paths = [glob.escape(os.path.realpath(file)) for file in files]  # no patterns
    # By another name than "utf-8", `datasets` decodes JSON, too, and finds wrong bytes.
    encoding = "utf8" if text_format.encoding == "utf-8" else text_format.encoding
    options = {} if kind == "parquet" else {"encoding": encoding}
    read = getattr(Dataset, f"from_{kind}")  # `load_dataset` would ask a server, to count a download
    read = partial(read, paths, split="train", **options)
    cache_id = _cache_id(files, text_format)
    rows = read(streaming=True) if streaming else None
    if rows is None or rows.features is None:  # a list in a json file is read whole in any case
        rows = read(config_id=cache_id)
    if kind == "json" and with_times_as(rows.features, Json()) != rows.features:
        # `datasets` decodes a Json cell to what was written; read as texts alone, times would be in another form.
        features = Features(with_times_as(rows.features, Json()))
        names = [name for name, feature in features.items() if feature != rows.features[name]]
        texts = Features(with_times_as(rows.features, Value("string")))
        is_whole = isinstance(rows, Dataset)
        rows = read(features=features, **({"config_id": f"{cache_id}-times"} if is_whole else {"streaming": True}))
        rows = rows.map(
            lambda *columns: dict(zip(names, columns, strict=True)), input_columns=names, batched=True, features=texts
        )
    return rows.to_iterable_dataset() if streaming and isinstance(rows, Dataset) else rows


def explained(error: Exception, files: Sequence[str], where: str, text_format: TextFormat) -> ValueError:
    """Returns an error of one sentence for an error of a library that read files.

    Raises:
        MisreadError: a line is not JSON; the sentence names it.
    """
    cause = error.__cause__ if isinstance(error, DatasetGenerationError) else error
    if isinstance(cause, MisreadError):
        return cause
    try:
        for file in files:
            if suffix_of(file) != ".parquet":
                with text_format.open(file) as stream:
                    if FORMATS.get(suffix_of(file)) == "json":
                        check_json(stream, file)
                    deque(stream, 0)
    except UnicodeError as wrong:
        return MisreadError(
            f"the file {file!r} is not {text_format.encoding} ({wrong.args[-1]}); give its own encoding, such as "
            "--encoding cp1252 for a file of Excel on Windows, or convert it to UTF-8."
        )
    if "corresponds to no data" in str(cause):
        return ValueError(f"{where} is empty; give a file with rows.")
    return ValueError(f"{where} cannot be read: {' '.join(str(cause).split())}; check that it is complete.")


def _check_latin1(file: str, text_format: TextFormat) -> None:
    """Raises MisreadError for a byte that is a letter or a mark in Windows-1252, but a control character in Latin-1."""
    if codecs.lookup(text_format.encoding).name != "iso8859-1":
        return
    with open(file, "rb") as stream:
        for part in iter(lambda: stream.read(1 << 20), b""):
            if found := WINDOWS_ONLY.search(part):
                raise MisreadError(
                    f"the file {file!r} has the byte 0x{found[0].hex()}, which {text_format.encoding} has no character "
                    f"for, and Windows-1252 has {found[0].decode('cp1252')!r}; give --encoding cp1252."
                )


def _load_csv(files: list[str], text_format: TextFormat, streaming: bool) -> Dataset | IterableDataset:
    """Returns the rows of csv files with the same columns, all of them texts; without a header, there are none."""
    headers = [next(text_format.records(file), (1, []))[1] for file in files]
    other = next((file for file, header in zip(files, headers, strict=True) if {*header} != {*headers[0]}), None)
    if other is not None:
        raise MisreadError(f"{other!r} has other columns than {files[0]!r}; give files with the same header.")
    features = Features(dict.fromkeys(headers[0], Value("string")))
    if not features:
        return Dataset.from_dict({})
    readers = [partial(text_format.records, file) for file in files]
    return load_csv(readers, features, None if streaming else _cache_id(files, text_format))


def _cache_id(files: Sequence[str], text_format: TextFormat) -> str:
    """Returns the name under which `datasets` keeps the rows of files: a hash of what they hold, not of their times."""
    state = hashlib.blake2b(repr((datasets.__version__, text_format)).encode(), digest_size=16)
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
        if suffix_of(file) not in TABLES:
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
        raise ValueError(f"the column {column!r} of {where} holds {kind}, not text; name a column of strings.")
