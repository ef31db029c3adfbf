"""The columns of a table that hold its texts and labels, found by their names; and names of things in messages."""

from collections.abc import Callable, Sequence
from typing import Any

TEXT_COLUMNS = ("text", "sentence")
PAIR_COLUMNS = (("sentence1", "sentence2"), ("text1", "text2"), ("premise", "hypothesis"), ("question1", "question2"))
LABEL_COLUMNS = ("label", "labels", "tags")
# Cells of a column that is a label by itself.
MARKS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False, "": False}
MOST_COLUMNS = 20  # in a message
SHOWN = 60  # characters of a text or a name in a message
MOST_NAMED = 10  # rows or labels in a message

Wanted = tuple[Sequence[str], Sequence[str], str]  # names, candidates, and the flag that names such columns


def find_columns(
    existing: Sequence[str], where: str, *wanted: Wanted, are_row: Callable[[], bool] = bool
) -> list[list[str]]:
    """Returns for each of `wanted` the columns with these names; without names, the first candidate in the table.

    White space at the ends of names does not count, nor does their case, unless two columns differ by it.

    Messages call the table `where`. If columns are missing, `are_row` says whether the existing ones seem to be a row.

    Raises:
        ValueError: the table lacks columns; the sentence has all of them.
    """
    found, missing, flags = [], [], []
    for names, candidates, flag in wanted:
        columns = [column for name in names for column in named(existing, name)]
        if not names:
            columns = next(filter(None, (named(existing, name) for name in candidates)), [])
        lacking = [name for name in names if not named(existing, name)]
        if lacking or not columns:
            missing.append(f"no column {', '.join(lacking) or ' or '.join(candidates)}")
            flags.append(flag)
        found.append(columns)
    if missing:
        remedy = f"give one by {' and one by '.join(flags)}"
        if are_row():
            remedy = "they seem to be a row; write a first line with the names of the columns, such as text,label"
        shown = ", ".join(map(short, existing[:MOST_COLUMNS])) + ", …" * (len(existing) > MOST_COLUMNS)
        raise ValueError(f"{where} has {' and '.join(missing)}; its columns are {shown}: {remedy}.")
    return found


def text_columns(existing: Sequence[str], given: Sequence[str] | None) -> Sequence[str]:
    """Returns the names of text columns that the user gave, or else those of a pair, if no column is a single text."""
    if given or any(named(existing, name) for name in TEXT_COLUMNS):
        return given or ()
    return next((pair for pair in PAIR_COLUMNS if all(named(existing, name) for name in pair)), ())


def named(existing: Sequence[str], name: str) -> list[str]:
    """Returns the column with a name, or the only one that has it in another case or with white space; else nothing."""
    alike = [column for column in existing if column.strip().casefold() == name.strip().casefold()]
    return [name] if name in existing else alike if len(alike) == 1 else []


def short(text: str) -> str:
    """Returns a text, or its beginning, for a message."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def enumerated(items: Sequence[Any]) -> str:
    """Returns the first items, and how many follow.

    >>> enumerated([3, 7]), enumerated(range(12))
    ('3 and 7', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    named = [str(item) for item in items[:MOST_NAMED]]
    last = f"{len(items) - MOST_NAMED} more" if len(items) > MOST_NAMED else named.pop()
    return f"{', '.join(named)} and {last}" if named else last
