"""The records of csv and tsv files, by the strict rules of quotes: what a lenient reader would misread is named."""

import csv
import re
from collections.abc import Iterable, Iterator
from typing import IO

LONGEST_CELL = 1 << 27  # characters; Python's limit is 128 KiB
FIRST_ROWS = 1000  # whose cells are known
SHORT_CELL = 50  # characters of a cell that several rows may have, such as a label
_QUOTES = 'put such a text in quotes and write each quote in it twice, "a ""b"" c", or give a jsonl file'


class MisreadError(ValueError):
    """A file that would be misread; the message is a sentence that names the line."""


def read_records(stream: IO[str], delimiter: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the header and the rows of a file, each with the line in which it begins, from 1.

    Blank lines are left out. A row may have fewer fields than the header. `stream` is open with its line ends as they
    are; messages call it `file`.

    Raises:
        MisreadError: a row has more fields than the header, or is the header again; the header has a name twice or
            another delimiter; a quote is not closed, or a cell in quotes swallowed other rows.
    """
    csv.field_size_limit(LONGEST_CELL)
    lines: list[str] = []  # the first two of a record
    reader = csv.reader(_remember(stream, lines), delimiter=delimiter, strict=True)
    header: list[str] = []
    known: set[tuple[int, str]] = set()  # columns and cells of rows
    doubtful: list[tuple[int, set[tuple[int, str]]]] = []  # lines of rows, and what their texts hold
    number, line = 0, 1
    try:
        for record in reader:
            if len(record) > 1 or lines[0].strip():
                if not header:
                    header = record
                    _check_header(record, lines[0], f"line {line} of {file!r}")
                elif len(record) > len(header) or record[-1] == header[-1]:
                    _check_row(record, header, f"line {line} of {file!r}")
                if reader.line_num > line:
                    doubtful.append((line, _swallowed(record, lines, delimiter)))
                number += 1
                if number <= FIRST_ROWS or reader.line_num > line:
                    known |= _short(enumerate(record), delimiter)
                yield line, record
            line = reader.line_num + 1
            lines.clear()
    except csv.Error as error:
        raise MisreadError(
            f"line {line} of {file!r} has a cell that begins with a quote and does not end with it; {_QUOTES}."
        ) from error
    for line, cells in doubtful:
        if cells & known:
            raise MisreadError(f"line {line} of {file!r} has a quote that swallowed other rows; {_QUOTES}.")


def _check_row(record: list[str], header: list[str], where: str) -> None:
    if len(record) > len(header):
        fields = f"has {len(record)} fields, and its header {len(header)}"
        raise MisreadError(f"{where} {fields}; put texts with delimiters in quotes.")
    if len(header) > 1 and [cell.strip("\ufeff ") for cell in record] == header:
        raise MisreadError(f"{where} is the header again; drop the line.")


def _remember(stream: IO[str], lines: list[str]) -> Iterator[str]:
    for line in stream:
        if len(lines) < 2:
            lines.append(line)
        yield line


def _short(cells: Iterable[tuple[int, str]], delimiter: str) -> set[tuple[int, str]]:
    """Returns the short cells; any number is 0, but not between commas, which stand in numbers, too."""
    short = {(column, cell) for column, cell in cells if 0 < len(cell) <= SHORT_CELL}
    return short if delimiter == "," else {(column, re.sub(r"\d+", "0", cell)) for column, cell in short}


def _swallowed(record: list[str], lines: list[str], delimiter: str) -> set[tuple[int, str]]:
    """Returns what are cells of other rows if the text of a record has swallowed them; else, they are its words.

    A lone quote before a text opens a cell that the next lone quote closes. The first of its lines ends with the cells
    that stood behind the text, and the second begins with those that stood before it.
    """
    text = next((column for column, cell in enumerate(record) if "\n" in cell or "\r" in cell), 0)
    first, second = (list(enumerate(line.rstrip("\r\n").split(delimiter))) for line in lines)
    behind = first[text + 1 :] if len(first) == len(record) else []
    before = second[:text] if len(second) == len(record) else []
    return _short([*behind, *before], delimiter)


def _check_header(header: list[str], text: str, where: str) -> None:
    if re.fullmatch(r'"?sep=.?"?\s*', text, re.I):
        raise MisreadError(f"{where} is {text.strip()!r}, not the header; drop the first line and give --delimiter.")
    mark = next((mark for mark in ";\t|," if mark in header[0]), None) if len(header) == 1 else None
    if mark is not None:
        name = "tab" if mark == "\t" else repr(mark)
        raise MisreadError(f"{where} is one column, {header[0]!r}; give --delimiter {name}, or write it with commas.")
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise MisreadError(f"{where} has the column {twice!r} twice; give each column its own name.")
