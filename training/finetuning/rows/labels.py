"""Cells of label columns → labels: names, numbers or lists of names, and the kind of problem that they make.

`doubts.py` tells what may be meant otherwise.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

from datasets import ClassLabel, Dataset, Value

from vocabless.texts.tables import STRING_TYPES, column_type
from vocabless.texts.text_format import DELIMITERS, suffix_of
from vocabless.training.finetuning.tasks.arguments import DataArguments
from vocabless.training.finetuning.tasks.columns import MARKS
from vocabless.training.finetuning.tasks.problems import PROBLEMS, MultiLabel, Problem, Regression, SingleLabel

Cells = list[Any]  # of the rows of a split
# What a column of strings holds if all of them match: its type, a pattern, and how to read one. But 007 is a name.
_READERS: list[tuple[str, str, Callable[[str], Any]]] = [
    ("int64", r"[-+]?(0|[1-9]\d*)", int),
    ("float64", r"[-+]?(((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?|inf)", float),
    ("bool", "(?i:true|false)", lambda cell: cell.lower() == "true"),
]
# The same for numbers that are written for people. Three digits after a comma may be thousands.
_WRITTEN_NUMBERS = [r"[-+]?(0|[1-9]\d*)(,(?!\d{3}$)\d+)?", r"[-+]?\d+([.,]\d+)?\s?%"]
MOST_CODES = 10  # different whole numbers, written as 1.0, that are classes: pandas writes so beside empty cells
_LIST = re.compile(r"[\[({].*[\])}]", re.S)


def parse_labels(
    cells: Mapping[str, Cells], columns: Sequence[str], feature: Any, arguments: DataArguments
) -> tuple[Problem, dict[str, Cells]]:
    """Returns the problem of the label columns, and the labels of each split, None where one is missing.

    Args:
        cells: of the splits that have labels, see `read_cells`. The first one, `train` if it is there, decides.
        columns: names of the label columns. Several with 0 and 1 alone are labels: those of a row have 1.
        feature: of the first column, in the first split.
        arguments: without a problem type, it is the one that fits the column; without a separator, a string is one
            label, or the list that it shows.

    Raises:
        ValueError: a label does not fit the problem, or the column fits no problem.
    """
    names: Sequence[str] = []
    first = next(iter(cells))
    problem_type, separator = arguments.problem_type, arguments.label_separator
    separator = separator and separator.replace(r"\n", "\n")
    inner = getattr(feature, "feature", feature)
    is_list = len(columns) > 1 or separator is not None
    if not isinstance(inner, ClassLabel):
        cells = _mapped(_stripped, cells)
    elif not is_list:
        names = inner.names
    if len(columns) > 1:
        if _are_marks(cells, columns):
            names, cells = columns, _mapped(lambda row: [*compress(columns, _marks(row))], cells)
    elif _are_strings(cells[first]) and any(_list_in(cell) is not None for cell in cells[first]):
        cells = _mapped(lambda cell: cell if (found := _list_in(cell)) is None else _stripped(found), cells)
        is_list = True
    elif not is_list and suffix_of(arguments.train_file or "") in DELIMITERS:
        feature, numbers = _read_numbers(cells[first], problem_type)
        cells = {**cells, first: numbers}
    if not is_list and not _are_strings(cells[first]):
        strings = {split: part for split, part in cells.items() if _are_strings(part)}
        cells = {**cells, **{split: _read_numbers(part, problem_type)[1] for split, part in strings.items()}}
        if are_codes(cells[first]):
            feature = Value("int64")
    problem_class = _problem_class(problem_type, columns[0], feature, is_list)
    labels = {split: _parsed(part, problem_class, split, separator) for split, part in cells.items()}
    found = {name for label in labels[first] for name in Problem.names_in(label)}
    is_number = all(name.removeprefix("-").isdecimal() for name in found)
    return problem_class(names or sorted(found, key=int if is_number else None)), labels


def are_codes(cells: Cells) -> bool:
    """Returns whether numbers are classes: few whole ones, at least two rows for each.

    >>> are_codes([1.0, 0.0, 1.0, None, 0.0]), are_codes([0.5, 1.0] * 2), are_codes([1.0, 2.0])
    (True, False, False)
    """
    known = [cell for cell in cells if cell is not None]
    are_whole = all(isinstance(cell, float | int) and float(cell).is_integer() for cell in known)
    return are_whole and len(set(known)) <= min(MOST_CODES, len(known) // 2)


def _mapped(change: Callable[[Any], Any], cells: Mapping[str, Cells]) -> dict[str, Cells]:
    return {split: [change(cell) for cell in part] for split, part in cells.items()}


def _stripped(label: Any) -> Any:
    """Returns a label, or a list of labels, without white space at the ends of strings; None for an empty one."""
    if isinstance(label, list):
        return [_stripped(part) for part in label]
    return label.strip() or None if isinstance(label, str) else label


def _are_strings(cells: Cells) -> bool:
    return all(isinstance(cell, str | None) for cell in cells)


def _marks(row: Cells) -> list[bool | None]:
    """Returns for each of the label columns of a row whether it has 1; None if the cell is neither 1 nor 0."""
    return [MARKS.get(str(cell or "").lower()) for cell in row]


def _are_marks(cells: Mapping[str, Cells], columns: Sequence[str]) -> bool:
    """Returns whether the rows of the first split have marks, 0 and 1; ValueError if they have and another has not."""
    found = {mark for row in next(iter(cells.values())) for mark in _marks(row)}
    if None in found or True not in found:
        return False
    for split, part in cells.items():
        for number, row in enumerate(part):
            if None in _marks(row):
                raise ValueError(f"row {number} of {split} has {row}; give 0 or 1 for each of {', '.join(columns)}.")
    return True


def _list_in(cell: Any) -> list[Any] | None:
    """Returns the list that a string shows, as pandas or Label Studio writes it; None if it shows none.

    >>> _list_in("['bad', 'hotel']"), _list_in("bad"), _list_in("[neutral]")
    (['bad', 'hotel'], None, None)
    >>> _list_in('{"choices":["bad","hotel"]}')
    ['bad', 'hotel']
    """
    if not isinstance(cell, str) or not _LIST.fullmatch(cell):
        return None
    try:
        value = ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    # Without a comma, as numpy writes lists, Python joins strings.
    is_damaged = value is None and cell.startswith("[") and "," in cell
    if is_damaged or re.search(r"""(['"])\s+['"]""", cell):
        raise ValueError(f"the label {cell!r} is no list; write ['a', 'b'], or give --label_separator.")
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    return sorted(value, key=str) if isinstance(value, set) else [*value] if isinstance(value, list | tuple) else None


def _read_numbers(cells: Cells, problem_type: str | None) -> tuple[Value, Cells]:
    """Returns the type of a column of strings, and its numbers or booleans, or the strings if some are others."""
    known = [cell for cell in cells if cell is not None]
    for dtype, pattern, read in _READERS:
        if all(re.fullmatch(pattern, cell) for cell in known):
            # Codes such as 1.10 stay as they are where the user wants classes.
            is_code = dtype == "float64" and problem_type not in (None, Regression.name)
            if not is_code or all(float(cell).is_integer() for cell in known):
                return Value(dtype), [None if cell is None else read(cell) for cell in cells]
    are_written = any(all(re.fullmatch(pattern, cell) for cell in known) for pattern in _WRITTEN_NUMBERS)
    if are_written and problem_type in (None, Regression.name) and any(re.search("[,%]", cell) for cell in known):
        numbers = [None if cell is None else float(cell.rstrip("% \u00a0").replace(",", ".")) for cell in cells]
        if problem_type is not None or not are_codes(numbers):
            return Value("float64"), numbers
    return Value("string"), cells


def _problem_class(problem_type: str | None, column: str, feature: Any, is_list: bool) -> type[Problem]:
    """Returns the class of the given problem type, or of the one that fits the type of the label column.

    Strings, integers and booleans are one label for each text; floats a number. Lists of strings or integers are
    several labels.
    """
    if problem_type is not None:
        if problem_type not in PROBLEMS:
            raise ValueError(f"unknown problem type {problem_type!r}; choose one of {', '.join(PROBLEMS)}.")
        return PROBLEMS[problem_type]
    inner = getattr(feature, "feature", None)  # of a column of lists
    dtype = column_type(feature if inner is None else inner)
    is_name = dtype in (*STRING_TYPES, "bool") or dtype.startswith(("int", "uint"))
    if is_list or (is_name and inner is not None):
        return MultiLabel
    if is_name:
        return SingleLabel
    if inner is None and dtype.startswith(("float", "decimal")):
        return Regression
    found = f"the column {column!r} holds {'' if inner is None else 'lists of '}{dtype}"
    raise ValueError(f"{found}; labels are strings or numbers, or lists of strings or integers.")


def _parsed(labels: Cells, problem_class: type[Problem], split: str, separator: str | None) -> Cells:
    """Returns the labels in the problem's form, None where one is missing; strings are split at the separator."""
    parsed: Cells = []
    for row, label in enumerate(labels):
        if separator is not None and not isinstance(label, list):
            label = [part.strip() for part in str("" if label is None else label).split(separator) if part.strip()]
        try:
            parsed.append(None if problem_class.is_missing(label) else problem_class.parse_label(label))
        except ValueError as error:
            mistake = f"row {row} of {split} does not fit {problem_class.name}: {error}"
            raise ValueError(f"{mistake}; mend it, drop it, or check --problem_type and --label_column.") from error
    return parsed


def read_cells(table: Dataset, columns: Sequence[str]) -> Cells:
    """Returns the cell of each row, None if it is empty; of several columns a list of cells for each row.

    If a column declares names, these are the cells; −1, the Hub's unknown label, becomes None.
    """
    columns_of_cells = []
    for column in columns:
        feature, cells = table.features[column], table[column][:]
        inner = getattr(feature, "feature", feature)
        if isinstance(inner, ClassLabel):
            names = dict(enumerate(inner.names))
            cells = [[*map(names.get, cell)] if isinstance(cell, list) else names.get(cell) for cell in cells]
        columns_of_cells.append(cells)
    return columns_of_cells[0] if len(columns) == 1 else [list(row) for row in zip(*columns_of_cells, strict=True)]
