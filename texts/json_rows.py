"""The rows of jsonl and json files, in each of the forms in which other programs write tables."""

import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO, Any

from vocabless.texts.annotated_rows import Row, flat_tasks
from vocabless.texts.csv_records import MisreadError

TEXTS = {"text", "sentence", "content", "body"}  # an object with one of them is a row, whatever else it holds
_BETWEEN = re.compile(r"[\s,]*")  # values; some programs write a comma after each line
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # perhaps of a surrogate pair
_DECODER = json.JSONDecoder(parse_constant=lambda name: None if name == "NaN" else float(name))


def read_json(stream: IO[str], file: str) -> Iterator[Row]:
    """Yields the rows of a file: an object for each row, or one value that holds all rows, see `_rows_in`.

    Raises:
        MisreadError: the file is no whole JSON, or holds no rows.
    """
    lines = enumerate(stream, 1)
    number, first = next(((number, line) for number, line in lines if line.strip()), (1, ""))
    try:
        list(_values(number, first, file))
        pieces = chain([(number, first)], lines)
    except MisreadError:  # a value has several lines
        pieces = chain([(number, first + stream.read())])
    values = (value for number, text in pieces for value in _values(number, text, file))
    head = list(islice(values, 2))
    if len(head) == 1:
        rows = _rows_in(head[0][1])
        if rows is None:
            form = "pandas' to_json(orient='records', lines=True) does"
            raise MisreadError(
                f"{file!r} holds no list of objects, or several; write an object for each row, as {form}."
            )
        yield from flat_tasks(rows)
        return
    for number, value in chain(head, values):
        if not isinstance(value, dict):
            raise MisreadError(f'line {number} of {file!r} is no object such as {{"text": "…"}}; make it one.')
        yield value


def _values(line: int, text: str, file: str) -> Iterator[tuple[int, Any]]:
    """Yields the JSON values of a text, each with the line in which it ends; the first line of the text is `line`."""
    start, ended = _BETWEEN.match(text).end(), line  # type: ignore[union-attr]
    while start < len(text):
        try:
            value, end = _DECODER.raw_decode(text, start)
            if _HALF.search(text, start, end):
                json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"half of a surrogate pair, {error.object[: error.end][-20:]!r}"
            raise MisreadError(f"the JSON from line {ended} of {file!r} has {half}; replace it.") from error
        except json.JSONDecodeError as error:
            place, is_json = f"line {line + error.lineno - 1} of {file!r}", text[start] in "{["
            remedy = "check that it is complete" if is_json else "name a file after what it is, such as .csv"
            raise MisreadError(f"{place} is no whole JSON ({error.msg}); {remedy}.") from error
        ended += text.count("\n", start, end)
        yield ended, value
        start = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]
        ended += text.count("\n", end, start)


def _rows_in(value: Any) -> list[Row] | None:
    """Returns the rows that one value holds, in a form of pandas or `datasets`, or within another object; else None.

    >>> _rows_in({"version": 1, "data": {"text": ["a", "b"], "label": [0, 1]}})
    [{'text': 'a', 'label': 0}, {'text': 'b', 'label': 1}]
    >>> _rows_in({"0": {"text": "a"}, "1": {"text": "b"}}) == _rows_in({"text": {"0": "a", "1": "b"}})
    True
    >>> _rows_in({"columns": ["text"], "data": [["a"], ["b"]]})
    [{'text': 'a'}, {'text': 'b'}]
    """
    if not isinstance(value, dict):
        return value if value == [] or _holds(value, dict) else None
    parts = [part for part in value.values() if isinstance(part, list | dict)]
    if not parts or any(isinstance(value[name], str) for name in value if name.lower() in TEXTS):
        return [value]
    names: Any = value.get("columns")
    cells: Any = value.get("data")
    if _holds(names, str) and _holds(cells, list):
        return [dict(zip(names, row, strict=True)) for row in cells] if {*map(len, cells)} == {len(names)} else None
    if len(parts) == len(value):
        inner = _rows_in(parts[0]) if len(parts) == 1 else None
        if _holds(parts, dict) and (inner or parts) == parts:
            return _rows_of_dict(value)
        if _holds(parts, list) and not any(isinstance(cell, dict) for cell in chain(*parts)):
            is_table = len({*map(len, parts)}) == 1
            return [dict(zip(value, row, strict=True)) for row in zip(*parts, strict=True)] if is_table else None
    tables: list[Any] = [part for part in parts if _holds(part, dict)]
    tables = tables or [rows for part in parts if len(rows := _rows_in(part) or []) > 1]
    return tables[0] if len(tables) == 1 else None if tables else [value]


def _rows_of_dict(value: dict[str, Row]) -> list[Row] | None:
    """Returns the rows of an object of objects, by pandas' `orient` index or columns: a table has numbers as its index.

    Where neither are numbers, it has more rows than columns.
    """
    outer, inner = list(value), list(dict.fromkeys(name for part in value.values() for name in part))
    are_numbers = [all(name.isdecimal() for name in names) for names in (outer, inner)]
    are_rows = are_numbers[0] if are_numbers[0] != are_numbers[1] else len(outer) > len(inner)
    if are_rows:
        return list(value.values())
    is_table = all(len(part) == len(inner) for part in value.values())
    return [{name: value[name][row] for name in outer} for row in inner] if is_table else None


def _holds(value: Any, kind: type) -> bool:
    """Returns whether a value is a list of this kind alone, and not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, kind) for each in value)
