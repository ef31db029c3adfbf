"""The format of text files that are tables or documents: their encoding and delimiter."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vocabless.texts.csv_records import read_records

DELIMITERS = {".csv": ",", ".tsv": "\t"}


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

    def records(self, file: str) -> Iterator[tuple[int, list[str]]]:
        """Yields the header and the rows of a csv or tsv file with their lines, see `read_records`."""
        with self.open(file) as stream:
            yield from read_records(stream, self.delimiter or DELIMITERS[suffix_of(file)], file)

    def row_lines(self, file: str) -> list[int]:
        """Returns the line in which each row of a csv, tsv or jsonl file begins, from 1; none for parquet."""
        if suffix_of(file) in DELIMITERS:
            return [line for line, _ in self.records(file)][1:]
        if suffix_of(file) == ".parquet":
            return []
        with self.open(file) as stream:
            return [number for number, text in enumerate(stream, 1) if text.strip()]


UTF8 = TextFormat()


def suffix_of(file: str) -> str:
    """Returns the last suffix of a file, in lower case."""
    return Path(file).suffix.lower()
