"""How the text files of a user are written: their encoding, and the delimiter of csv and tsv files."""

import codecs
import csv
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

DELIMITERS = {".csv": ",", ".tsv": "\t"}
TEXT_FILES = (*DELIMITERS, ".txt", ".jsonl", ".json", ".conll")
OTHER_DELIMITERS = (";", "\t", "|", ",")
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
BYTES = 1 << 16  # that are read of a file to check it
MOST_CHARACTERS = (1 << 31) - 1  # of a field; the csv module of Python refuses texts of 128 KiB by default


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
            raise ValueError(
                f"--encoding {self.encoding!r} is unknown; give utf-8, latin-1, cp1252 or another one that Python has."
            ) from error
        if self.delimiter in ("tab", r"\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ValueError(f"--delimiter {self.delimiter!r} is not one character; give one, for instance ';' or tab.")

    def options(self, suffix: str) -> dict[str, Any]:
        """Returns the arguments of `load_dataset` for files with a suffix.

        In a csv file an empty cell alone is missing: "NA", "None" and "null" are texts, as in a jsonl file.
        """
        options: dict[str, Any] = {"keep_default_na": False, "na_values": [""]} if suffix in DELIMITERS else {}
        if suffix in TEXT_FILES and self.encoding != "utf-8":
            options["encoding"] = self.encoding
        if suffix in DELIMITERS and self._delimiter(suffix) != ",":
            options["sep"] = self._delimiter(suffix)
        return options

    def check(self, file: str, may_be_empty: bool = False) -> None:
        """Looks at the start of a text file.

        Raises:
            ValueError: the file has another encoding, its header has another delimiter or a name twice, its first row
                has more fields than the header, or it is empty.
        """
        suffix = Path(file).suffix
        if suffix not in TEXT_FILES:
            return
        with open(file, "rb") as stream:
            content = stream.read(BYTES)
        try:
            text = codecs.getincrementaldecoder(self.encoding)().decode(content)
        except UnicodeError as error:
            raise self.decoding_error(f"the file {file!r}", error, content) from error
        lines = [line for line in text.splitlines() if line.strip("\ufeff \t")]
        if suffix in DELIMITERS and lines:
            self._check_delimiter(file, lines[0])
            with suppress(UnicodeError):  # of a long first row; reading the file names it
                self._check_first_row(file)
        is_header_only = suffix in DELIMITERS and len(lines) == 1 and len(content) < BYTES
        if not may_be_empty and (not lines or is_header_only):
            state = ", with a header and no rows" if lines else ""
            raise ValueError(f"the file {file!r} is empty{state}; give a file with rows.")

    def decoding_error(self, where: str, error: UnicodeError, content: bytes = b"") -> ValueError:
        """Returns an error for text in another encoding; `where`, what was read, is the subject of the sentence."""
        likely = "latin-1 or cp1252" if self.encoding == "utf-8" else "utf-8"
        likely = "utf-16" if content.startswith(UTF16_MARKS) else likely
        return ValueError(
            f"{where} is not {self.encoding} ({error}); give its encoding, perhaps --encoding {likely}, or convert it "
            "to UTF-8."
        )

    def row_lines(self, file: str) -> list[int]:
        """Returns the line in which each row of a csv, tsv or jsonl file begins, from 1; nothing for other files."""
        if Path(file).suffix in DELIMITERS:
            return [line for line, _ in self._records(file)][1:]
        if Path(file).suffix not in (".jsonl", ".json"):
            return []
        with open(file, encoding=self.encoding_of_files) as stream:
            return [number for number, line in enumerate(stream, 1) if line.strip()]

    def _delimiter(self, suffix: str) -> str:
        return self.delimiter or DELIMITERS[suffix]

    def _check_first_row(self, file: str) -> None:
        """Checks what pandas accepts: it takes the first fields of a long first row for the names of rows."""
        (_, header), *first = list(islice(self._records(file), 2)) or [(0, [])]
        twice = next((name for name in header if name and header.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"the header of {file!r} has the column {twice!r} twice; rename one of them.")
        for line, record in first:
            if len(record) > len(header):
                raise ValueError(
                    f"line {line} of {file!r} has {len(record)} fields, but the header has {len(header)}; put a text "
                    "with delimiters in quotes, or name all columns."
                )

    def _records(self, file: str) -> Iterator[tuple[int, list[str]]]:
        """Yields the line in which each record of a csv or tsv file begins, and its fields; the header is the first."""
        csv.field_size_limit(MOST_CHARACTERS)
        with open(file, encoding=self.encoding_of_files, newline="") as stream:
            reader, line = csv.reader(stream, delimiter=self._delimiter(Path(file).suffix)), 1
            for record in reader:
                if len(record) > 1 or any(map(str.strip, record)):
                    yield line, record
                line = reader.line_num + 1

    @property
    def encoding_of_files(self) -> str:
        """The encoding with which a file is read: UTF-8 may begin with a mark, which is no text."""
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding

    def _check_delimiter(self, file: str, header: str) -> None:
        delimiter = self._delimiter(Path(file).suffix)
        others = [other for other in OTHER_DELIMITERS if other != delimiter and other in header]
        if delimiter not in header and others:
            most = max(others, key=header.count)
            name = "tab" if most == "\t" else f"'{most}'"
            raise ValueError(
                f"the header of {file!r} has no {delimiter!r} but {name} between its columns; give --delimiter {name}."
            )


UTF8 = TextFormat()
