"""The rows of a file, or of standard input, and those that are written: as dictionaries, one after the other."""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

from vocabless.texts.text_format import STDIN, TextFormat, kind_of

FORMATS = {"csv": ",", "tsv": "\t", "jsonl": ""}  # that are written, with their delimiters
Row = dict[str, Any]


def read_rows(file: str, text_format: TextFormat, is_lines: bool, batch: int) -> Iterator[Row]:
    """Returns the rows of a file.

    `is_lines`: whether each line is a text, whatever the name of the file. `batch` rows of parquet are read at once.

    Raises:
        ValueError: the file does not exist, has an unknown format or no rows.
    """
    if file != STDIN and not Path(file).is_file():
        raise ValueError(
            f"the file {file!r} {'is a folder' if Path(file).is_dir() else 'does not exist'}; give a file."
        )
    kind = "text" if is_lines else kind_of(file)
    if kind is None or (kind == "parquet" and file == STDIN):
        found = "has an unknown format" if kind is None else "is parquet, which cannot be read from standard input"
        raise ValueError(f"{file!r} {found}; give a csv, tsv, jsonl, json, parquet or txt file, or --lines.")
    if kind == "parquet":
        from pyarrow.parquet import ParquetFile

        parts = ParquetFile(file).iter_batches(batch)
        rows: Iterator[Row] = chain.from_iterable(part.to_pylist() for part in parts)
    else:
        rows = text_format.rows(file, kind)
    first = next(rows, None)
    if first is None:
        raise ValueError(
            f"{file!r} has no rows; give some below the names of columns, or one text in each line and --lines."
        )
    return chain([first], rows)


def flat(row: Row) -> Row:
    """Returns a row in which values within objects have names of their own.

    >>> flat({"id": 7, "data": {"text": "a", "tags": []}})
    {'id': 7, 'data.text': 'a', 'data.tags': []}
    """
    cells: Row = {}
    for name, value in row.items():
        inner = flat(value) if isinstance(value, dict) else {}
        cells |= {f"{name}.{key}": cell for key, cell in inner.items()} or {name: value}
    return cells


def output_format(file: str | None, given: str | None) -> str:
    """Returns the key of `FORMATS` for a file, None is standard output. Raises ValueError if it exists or says none."""
    kind = given or ("csv" if file is None else Path(file).suffix.lower().removeprefix("."))
    if kind not in FORMATS:
        raise ValueError(f"--output {file!r} names no format; call it .csv, .tsv or .jsonl, or give --format.")
    if file is not None and Path(file).exists():
        raise ValueError(f"--output {file!r} exists; give another name, or remove it.")
    if file is not None and not Path(file).parent.is_dir():
        raise ValueError(f"the folder of --output {file!r} does not exist; create it, or give another one.")
    return kind


@contextmanager
def row_writer(file: str | None, kind: str, columns: Sequence[str]) -> Iterator[Callable[[Sequence[Row]], None]]:
    """Yields what writes rows, into a file that has its name only when it is whole, or to standard output.

    Raises:
        ValueError: a row has a column that the first rows lack, for which csv has no place.
    """
    if file is None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        yield _writer(sys.stdout, kind, columns)
        sys.stdout.flush()
        return
    part = Path(f"{file}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as stream:
            yield _writer(stream, kind, columns)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def _writer(stream: TextIO, kind: str, columns: Sequence[str]) -> Callable[[Sequence[Row]], None]:
    if kind == "jsonl":
        return lambda rows: stream.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    lines = SimpleNamespace(write=lambda line: stream.write(f"{line[:-2]}\n"))
    # csv quotes a cell with a \r only if \r ends lines.
    table, known = csv.writer(lines, delimiter=FORMATS[kind], lineterminator="\r\n"), {*columns}
    table.writerow(columns)

    def write(rows: Sequence[Row]) -> None:
        for row in map(flat, rows):
            if others := [name for name in row if name not in known]:
                raise ValueError(f"a row has the column {others[0]!r}, which the first rows lack; give --format jsonl.")
            table.writerow([_cell(row.get(name)) for name in columns])

    return write


def _cell(value: Any) -> Any:
    """Returns a value as csv holds it; a list is JSON."""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value
