"""The format of files of texts, tables or documents: their encoding, their delimiter, and what is in them."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

from vocabless.texts.annotated_rows import MARK, read_fasttext
from vocabless.texts.csv_records import MisreadError, read_records
from vocabless.texts.encodings import marked
from vocabless.texts.json_rows import read_json

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".tsv": "csv", ".txt": "text"}
DELIMITERS = {".csv": ",", ".tsv": "\t"}
STDIN = "-"  # the file that is standard input; csv, if it does not begin as another format
PACKED = (".gz", ".bz2", ".xz")
_OPENERS: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_FOREIGN = {
    b"PK\x03\x04": "an Excel workbook or a zip archive",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"7z\xbc\xaf\x27\x1c": "packed by 7-Zip",
    b"%PDF": "a PDF document",
    b"SQLite format 3\0": "a database of SQLite",
}  # how files begin that hold no text


@dataclass(frozen=True)
class TextFormat:
    r"""The format of csv, tsv, txt, jsonl and json files; other files are not read with it.

    Raises:
        ValueError: the encoding is unknown, or the delimiter is not one character.
    """

    encoding: str = "utf-8"  # Latin-1 is read as Windows-1252, as browsers do
    delimiter: str | None = None  # `\t` or `tab` is a tab; None is a comma in csv, a tab in tsv

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise ValueError(f"--encoding {self.encoding!r} is unknown; give one that Python has.") from error
        if codecs.lookup(self.encoding).name == "iso8859-1":  # Windows-1252 has the same characters, and “, €, …
            object.__setattr__(self, "encoding", "cp1252")
        if self.delimiter in ("tab", r"\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ValueError(f"--delimiter {self.delimiter!r} is not one character; give one, for instance ';' or tab.")

    @contextmanager
    def open(self, file: str) -> Iterator[IO[str]]:
        """Opens a text file, unpacked, for reading; its line ends stay as they are, a byte order mark is left out.

        Raises:
            MisreadError: the file has another encoding, or is packed and damaged.
        """
        with open_bytes(file) as stream:
            encoding = (marked(stream.peek(4)) if self.encoding == "utf-8" else None) or self.encoding
            try:
                yield io.TextIOWrapper(stream, encoding, newline="")
            except UnicodeError as error:
                raise self.misread(file, error) from error

    def misread(self, file: str, error: UnicodeError) -> MisreadError:
        """Returns an error of one sentence for a file of another encoding."""
        return MisreadError(
            f"the file {file!r} is not {self.encoding} ({error.args[-1]}); give its own encoding, such as "
            "--encoding cp1252 for a file of Excel on Windows, or convert it to UTF-8."
        )

    def rows(self, file: str, kind: str | None = None) -> Iterator[dict[str, Any]]:
        """Yields the rows of a file that is not parquet; a csv cell that is empty or missing is None.

        `kind` is its format; None is that of `kind_of`.
        """
        kind = kind or kind_of(file)
        if kind == "csv":
            records = self.records(file)
            _, header = next(records, (1, []))
            for _, record in records:
                yield {name: cell or None for name, cell in zip_longest(header, record)}
            return
        with self.open(file) as stream:
            if kind == "json":
                yield from read_json(stream, file)
            elif kind == "fasttext":
                yield from read_fasttext(stream)
            else:
                yield from ({"text": line.rstrip("\r\n")} for line in stream)

    def records(self, file: str) -> Iterator[tuple[int, list[str]]]:
        """Yields the header and the rows of a csv or tsv file with their lines, see `read_records`."""
        with self.open(file) as stream:
            yield from read_records(stream, self.delimiter or DELIMITERS.get(suffix_of(file), ","), file)

    def row_lines(self, file: str) -> list[int]:
        """Returns the line in which each row of a file begins, from 1; none for parquet."""
        kind = kind_of(file)
        if kind == "csv":
            return [line for line, _ in self.records(file)][1:]
        if kind == "parquet":
            return []
        with self.open(file) as stream:
            return [number for number, text in enumerate(stream, 1) if text.strip()]


UTF8 = TextFormat()


def suffix_of(file: str) -> str:
    """Returns the last suffix of a file, in lower case; of a packed file the one before.

    >>> suffix_of("a.b.CSV"), suffix_of("a.jsonl.gz")
    ('.csv', '.jsonl')
    """
    path = Path(file.lower())
    return Path(path.stem).suffix if path.suffix in PACKED else path.suffix


@contextmanager
def open_bytes(file: str) -> Iterator[Any]:
    """Opens a file, or standard input, for reading bytes; one that is packed is unpacked, whatever its name.

    Raises:
        MisreadError: the file is packed and damaged, or standard input is packed.
    """
    source: Any = nullcontext(sys.stdin.buffer) if file == STDIN else open(file, "rb")
    with source as stream:
        start = stream.peek(8)
        opener = next((opener for mark, opener in _OPENERS.items() if start.startswith(mark)), None)
        if file == STDIN:
            if opener is not None:  # it cannot be read twice, for its format and for its rows
                raise MisreadError("standard input is packed; unpack it before, for instance by gzip -dc FILE |.")
            yield stream
            return
    try:
        with (opener or open)(file, "rb") as stream:
            yield stream
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise MisreadError(f"the file {file!r} is packed and damaged ({error}); pack it again.") from error


def kind_of(file: str) -> str | None:
    """Returns the format of a file, one of `FORMATS` or `fasttext`, by how it begins, or else by its name.

    Raises:
        MisreadError: it is a file of another program.
    """
    with open_bytes(file) as stream:
        start = stream.peek(8).removeprefix(codecs.BOM_UTF8)
    if found := next((kind for mark, kind in _FOREIGN.items() if start.startswith(mark)), None):
        raise MisreadError(f"the file {file!r} is {found}, not text; unpack it, or save it as csv in UTF-8.")
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(MARK.encode()):
        return "fasttext"
    kind = "csv" if file == STDIN else FORMATS.get(suffix_of(file))
    if kind in ("csv", "json") and start[:16].lower().startswith((b"<html", b"<!doctype html")):
        raise MisreadError(f"the file {file!r} is a web page, no table; save the table itself as csv.")
    return "json" if kind == "csv" and re.match(rb"\[?\s*\{\s*\"", start) else kind
