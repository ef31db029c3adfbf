"""The records of csv and tsv files, by the strict rules of quotes: what a lenient reader would misread is named."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO

LONGEST_CELL = 1 << 27  # characters; Python's limit is 128 KiB
FIRST_ROWS = 1000  # whose cells are known
MOST_NAMED = 10  # lines in a message


class MisreadError(ValueError):
    """A file that would be misread; the message is a sentence that names the line."""


def read_records(stream: IO[str], delimiter: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the header and the rows of a file, each with the line in which it begins, from 1.

    Blank lines are left out. A column without a name gets that of pandas, and a row may have fewer fields than the
    header. `stream` is open with its line ends as they are; messages call it `file`.

    Raises:
        MisreadError: a row has more fields than the header, or is the header again; the header has a name twice or
            another delimiter; a quote is not closed, or a cell in quotes swallowed other rows.
    """
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    header: list[str] = []
    known: set[tuple[int, str]] = set()  # columns and cells of the first rows
    doubtful: list[tuple[int, set[tuple[int, str]]]] = []  # lines of rows, and what their texts hold
    problems: dict[str, list[int]] = {}  # what is wrong with rows, and their lines
    line = 1
    try:
        for number, record in enumerate(reader):
            is_row = len(record) > 1 or len(header) == 1  # with one column, also a line of spaces
            if record and (is_row or not record[0].isspace()):
                if problem := _problem(record, header, delimiter):
                    problems.setdefault(problem, []).append(line)
                    if not header:
                        break
                    line = reader.line_num + 1
                    continue
                if not header:
                    header, record = record, [name or f"Unnamed: {column}" for column, name in enumerate(record)]
                cells = _swallowed(record, delimiter) if reader.line_num > line else set()
                if cells and (number <= FIRST_ROWS or cells & known):  # after the first rows, all that count are known
                    doubtful.append((line, cells))
                if number <= FIRST_ROWS:
                    known |= _cells(enumerate(record), delimiter)
                yield line, record
            line = reader.line_num + 1
        line = next((line for line, cells in doubtful if cells & known), 0)
        if line and not problems:
            raise csv.Error("a quote swallowed other rows")
    except csv.Error as error:
        raise MisreadError(
            f"line {line} of {file!r} has a cell that begins with a quote and does not end with it; put such a text in "
            'quotes and write each quote in it twice, "a ""b"" c", or give a jsonl file.'
        ) from error
    _refuse(problems, file)


def _refuse(problems: Mapping[str, Sequence[int]], file: str) -> None:
    """Raises MisreadError if there are problems; it has a sentence for each of them."""
    if problems:
        raise MisreadError(" ".join(_told(lines, file, problem) for problem, lines in problems.items()))


def _told(lines: Sequence[int], file: str, problem: str) -> str:
    """Returns a sentence on the rows of a file that have a problem; of many, their first lines."""
    named = ", ".join(map(str, lines[:MOST_NAMED])) + (", …" if len(lines) > MOST_NAMED else "")
    place = f"line {named}" if len(lines) == 1 else f"each of the {len(lines)} lines {named}"
    return f"{place} of {file!r} {problem}"


def _problem(record: list[str], header: list[str], delimiter: str) -> str:
    """Returns what is wrong with a row, or with a header, which has none itself; "" for nothing."""
    if header:
        if len(record) > len(header):
            return f"has {len(record)} fields, and its header {len(header)}; put texts with delimiters in quotes."
        if header[0] not in record[0] or len(record) == 1:  # the quick answer
            return ""
        is_header = [cell.strip("\ufeff ") for cell in record] == header
        remedy = "drop the line, or write names above line 1 if that is a row, too."
        return f"is the header again; {remedy}" if is_header else ""
    text = delimiter.join(record)
    if re.fullmatch(r"sep=.?\s*", text, re.I):
        return f"is {text!r}, not the header; drop the first line and give --delimiter."
    if len(record) == 1 and (mark := re.search(r"[;\t|,]", text)):
        return f"is one column, {text!r}; give --delimiter {mark[0]!r}, or write it with commas."
    twice = [name for name in record if name and record.count(name) > 1]
    return f"has the column {twice[0]!r} twice; give each column its own name." if twice else ""


def _cells(cells: Iterable[tuple[int, str]], delimiter: str) -> set[tuple[int, str]]:
    """Returns (column, cell) of each cell that is not empty. Every number is 0 if no comma separates the cells."""
    return {(column, cell if delimiter == "," else re.sub(r"\d+", "0", cell)) for column, cell in cells if cell}


def _swallowed(record: list[str], delimiter: str) -> set[tuple[int, str]]:
    """Returns the cells of other rows that the text of a record may have swallowed. They may be words of the text.

    A lone quote before a text opens a cell that the next lone quote closes. The first of its lines ends with the cells
    after the text, and the second begins with those before it.
    """
    text = next(column for column, cell in enumerate(record) if "\n" in cell or "\r" in cell)
    lines = re.split("\r\n|\r|\n", delimiter.join(record))
    first, second = (list(enumerate(line.split(delimiter))) for line in lines[:2])
    after = first[text + 1 :] if len(first) == len(record) else []
    before = second[:text] if len(second) == len(record) else []
    return _cells([*after, *before], delimiter)
