"""Tables and texts in local files → rows. A csv file is counted: pandas reads as many rows as it has records.

Each csv cell is a text, also where it looks like a number: `007` stays `007`. An empty cell alone is missing: "NA",
"None" and "null" are texts, as in a jsonl file.
"""

import codecs
import glob
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from datasets import Dataset, Features, IterableDataset, Value
from datasets.exceptions import DatasetGenerationError

from vocabless.training.texts.csv_records import FIRST_ROWS, MisreadError, read_records

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".tsv": "csv", ".txt": "text"}
TABLES = [suffix for suffix in FORMATS if suffix != ".txt"]
DELIMITERS = {".csv": ",", ".tsv": "\t"}
STRING_TYPES = ("string", "large_string")
# An escape of half a surrogate pair in JSON; `datasets` would drop it from a list without a word.
_HALF_PAIR = re.compile(
    r"(?<!\\)(?:\\\\)*(?:\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]..)"
)
_NESTED = {"Json": "values of several types", "List": "lists", "LargeList": "lists", "dict": "objects"}


@dataclass(frozen=True)
class TextFormat:
    r"""The format of csv, tsv, txt, jsonl and json files; other files are not read with it.

    Raises:
        ValueError: the encoding is unknown, or the delimiter is not one character.
    """

    encoding: str = "utf-8"
    delimiter: str | None = None  # `\t` or `tab` is a tab; None is a comma in csv, a tab in tsv

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise ValueError(f"--encoding {self.encoding!r} is unknown; give one that Python has.") from error
        if self.delimiter in ("tab", r"\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ValueError(f"--delimiter {self.delimiter!r} is not one character; give one, for instance ';' or tab.")

    def open(self, file: str) -> IO[str]:
        """Opens a text file for reading; its line ends stay as they are, and a byte order mark is left out."""
        return open(file, encoding="utf-8-sig" if self.encoding == "utf-8" else self.encoding, newline="")

    def check(self, file: str) -> None:
        """Decodes a text file. Raises ValueError if a byte does not belong to the encoding."""
        decoder, start = codecs.getincrementaldecoder(self.encoding)(), 0
        with open(file, "rb") as stream:
            while chunk := stream.read(1 << 20):
                try:
                    decoder.decode(chunk, len(chunk) < 1 << 20)
                except UnicodeError as error:
                    data, place = getattr(error, "object", chunk), getattr(error, "start", 0)
                    raise ValueError(
                        f"the file {file!r} is not {self.encoding} (byte {start + len(chunk) - len(data) + place} is "
                        f"0x{data[place]:02x}); give its own, such as --encoding latin-1, or convert it to UTF-8."
                    ) from error
                start += len(chunk)

    def records(self, file: str) -> Iterator[tuple[int, list[str]]]:
        """Yields the header and the rows of a csv or tsv file with their lines, see `read_records`."""
        with self.open(file) as stream:
            yield from read_records(stream, self.delimiter or DELIMITERS[suffix_of(file)], file)

    def row_lines(self, file: str) -> list[int]:
        """Returns the line in which each row of a csv, tsv or jsonl file begins, from 1; nothing for other files."""
        kind = FORMATS.get(suffix_of(file))
        if kind == "csv":
            return [line for line, _ in self.records(file)][1:]
        if kind != "json":
            return []
        with self.open(file) as stream:
            return [number for number, text in enumerate(stream, 1) if text.strip()]


UTF8 = TextFormat()


def suffix_of(file: str) -> str:
    """Returns the last suffix of a file, in lower case."""
    return Path(file).suffix.lower()


def load_files(
    files: Sequence[str], where: str, text_format: TextFormat = UTF8, streaming: bool = False
) -> Dataset | IterableDataset:
    """Returns the rows of files of one format; with `streaming`, they are read when they are needed.

    Empty files are left out, unless all are empty. Messages call the files `where`, such as "the corpus 'texts'".

    Raises:
        ValueError: the files are damaged or empty, have another encoding or delimiter, or would be misread.
    """
    kind, filled = FORMATS[suffix_of(files[0])], [file for file in files if os.path.getsize(file)]
    try:
        if not filled:
            raise MisreadError(f"{where} is empty; give a file with rows.")
        if kind == "csv":
            delimiter = text_format.delimiter or DELIMITERS[suffix_of(files[0])]
            return _load_csv(filled, where, replace(text_format, delimiter=delimiter), streaming)
        # By another name than "utf-8", `datasets` decodes JSON, too, and finds wrong bytes.
        encoding = "utf8" if text_format.encoding == "utf-8" else text_format.encoding
        options = {} if kind == "parquet" else {"encoding": encoding}
        read = getattr(Dataset, f"from_{kind}")  # `load_dataset` would ask a server, to count a download
        rows: Any = read(_literal(filled), split="train", streaming=streaming, **options)
        if kind == "json":
            _refuse_columns(filled[0], rows)
            for file in filled:
                _check_json(file, text_format, where, is_read=True)
        elif streaming:
            next(iter(rows.take(1)), None)
    except (DatasetGenerationError, OSError, ValueError) as error:
        raise explained(error, files, where, text_format) from error
    return rows  # type: ignore[no-any-return]


def explained(error: Exception, files: Sequence[str], where: str, text_format: TextFormat) -> ValueError:
    """Returns an error of one sentence for an error of a library that read files; it names the file and the line.

    Raises:
        ValueError: a byte does not belong to the encoding, or a line is no JSON.
    """
    if isinstance(error, MisreadError):
        return error
    for file in (file for file in files if suffix_of(file) != ".parquet"):
        text_format.check(file)
        if FORMATS[suffix_of(file)] == "json":
            _check_json(file, text_format, where)
    cause = " ".join(str(error.__cause__ or error).split())
    if "corresponds to no data" in cause:
        return ValueError(f"{where} is empty; give a file with rows.")
    return ValueError(f"{where} cannot be read: {cause}; check that it is complete.")


def _literal(files: Sequence[str]) -> Any:
    """Returns the names of files as `datasets` takes them: no patterns, and no links.

    `datasets` would compare the time of a link with that in its cache, not that of the file.
    """
    return [glob.escape(os.path.realpath(file)) for file in files]


def _load_csv(files: list[str], where: str, text_format: TextFormat, streaming: bool) -> Dataset | IterableDataset:
    """Returns the rows of csv files with the same columns, all of them texts."""
    headers = [next(text_format.records(file), (1, []))[1] for file in files]
    other = next((file for file, header in zip(files, headers, strict=True) if {*header} != {*headers[0]}), None)
    if other is not None:
        raise MisreadError(f"{other!r} has other columns than {files[0]!r}; give files with the same header.")
    features = Features(dict.fromkeys(_names(headers[0]), Value("string")))
    records = (record for file in files for record in islice(text_format.records(file), 1, None))
    number = sum(1 for _ in (islice(records, FIRST_ROWS) if streaming else records))
    if not number:
        raise MisreadError(f"{where} is empty; give a file with rows.")
    if streaming:
        options = {"files": files, "text_format": text_format}
        return IterableDataset.from_generator(_csv_rows, features, gen_kwargs=options)
    table: Any = Dataset.from_csv(
        _literal(files),
        features=features,
        keep_default_na=False,
        na_values=[""],
        sep=text_format.delimiter,
        encoding=text_format.encoding,
    )
    if len(table) != number:
        raise MisreadError(f"{where} has {number:,} rows, of which {len(table):,} can be read; convert it to jsonl.")
    return table  # type: ignore[no-any-return]


def _names(header: list[str]) -> list[str]:
    """Returns the names of the columns, for those without one the names that pandas gives."""
    return [name or f"Unnamed: {index}" for index, name in enumerate(header)]


def _csv_rows(files: list[str], text_format: TextFormat) -> Iterator[dict[str, str | None]]:
    for file in files:
        records = text_format.records(file)
        names = _names(next(records, (1, []))[1])
        for _, record in records:
            yield dict.fromkeys(names) | {name: cell or None for name, cell in zip(names, record, strict=False)}


def _refuse_columns(file: str, rows: Any) -> None:
    first = list(rows.take(2))
    if len(first) == 1 and all(isinstance(value, list | dict) for value in first[0].values()):
        form = "pandas' to_json(orient='records', lines=True) does"
        raise MisreadError(f"{file!r} holds columns, not rows; write an object for each row, as {form}.")


def _check_json(file: str, text_format: TextFormat, where: str, is_read: bool = False) -> None:
    """Raises MisreadError for the first wrong line; of files that `datasets` has read, lists alone are checked."""
    with text_format.open(file) as stream:
        is_list = stream.read(1 << 10).lstrip().startswith("[")
        stream.seek(0)
        if is_read and not is_list:
            return
        for number, text in [(1, stream.read())] if is_list else enumerate(map(str.strip, stream), 1):
            if half := _HALF_PAIR.search(text):
                line = f"line {number + text.count(chr(10), 0, half.start())} of {file!r}"
                raise MisreadError(f"{line} has half of a surrogate pair; replace it, for instance by a space.")
            try:
                value = {} if is_read or not text else json.loads(text)
            except json.JSONDecodeError as error:
                line = f"line {number + error.lineno - 1} of {file!r}"
                if text.endswith("},"):
                    raise MisreadError(f"{line} ends with a comma; drop the commas at the ends of lines.") from error
                cause = f"{line} is no whole JSON ({error.msg})"
                raise MisreadError(f"{where} cannot be read: {cause}; check that it is complete.") from error
            if not is_list and not isinstance(value, dict):
                raise MisreadError(f'line {number} of {file!r} is no object such as {{"text": "…"}}; make it one.')


def read_files(files: Sequence[str], text_format: TextFormat = UTF8) -> Dataset:
    """Returns the rows of one or more files of the same format, at least one.

    Raises:
        ValueError: a file does not exist, has an unknown format, has no rows, or cannot be read, see `load_files`.
    """
    for file in files:
        if not Path(file).is_file():
            raise ValueError(f"the file {file!r} does not exist; give a {', '.join(TABLES)} file.")
        if suffix_of(file) not in TABLES:
            raise ValueError(f"the file {file!r} has an unknown format; convert it to one of {', '.join(TABLES)}.")
    return check_rows(load_files(files, f"the file {files[0]!r}", text_format), files[0])


def check_rows(table: Any, where: str) -> Dataset:
    """Returns the table unchanged; raises an error if it has no rows."""
    if not table.column_names or not len(table):
        raise ValueError(f"{where} has no rows; give data with at least one.")
    return table  # type: ignore[no-any-return]


def load_table(file: str, flag: str, columns: Sequence[str]) -> Any:
    """Returns the rows of the parquet, jsonl or csv file that a flag names.

    `score` is a column of numbers; its name may be `label`.

    Raises:
        ValueError: the file does not exist, cannot be read, lacks one of the columns, or has a score that is no number.
    """
    where = f"{flag} {file!r}"
    if not Path(file).is_file() or suffix_of(file) not in FORMATS:
        raise ValueError(f"{where} is no parquet, jsonl or csv file; give one.")
    rows: Any = load_files([file], where)
    if "score" in columns and "score" not in rows.column_names and "label" in rows.column_names:
        rows = rows.rename_column("label", "score")
    missing = [name for name in columns if name not in rows.column_names]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}; it needs the columns {', '.join(columns)}.")
    try:
        return rows.cast_column("score", Value("float64")) if "score" in columns else rows
    except (pa.ArrowInvalid, TypeError) as error:
        raise ValueError(f"{where} has a score that is no number ({error}); mend it.") from error


def column_type(feature: Any) -> str:
    """Returns what a column holds, for checks and messages: a dtype such as `string`, or words for nested values."""
    return getattr(feature, "dtype", None) or _NESTED.get(type(feature).__name__, str(feature))
