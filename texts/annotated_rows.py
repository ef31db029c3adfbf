"""Labelled texts as fastText and Label Studio write them → rows."""

from collections.abc import Iterable
from typing import Any

MARK = "__label__"  # of fastText, before each label

Row = dict[str, Any]


def read_fasttext(lines: Iterable[str]) -> list[Row]:
    """Returns a row for each line of words and labels.

    >>> read_fasttext(["__label__money The bill is too high", "It is loud __label__noise"])
    [{'text': 'The bill is too high', 'label': 'money'}, {'text': 'It is loud', 'label': 'noise'}]
    """
    rows = []
    for words in filter(None, map(str.split, lines)):
        labels = [word.removeprefix(MARK) for word in words if word.startswith(MARK)]
        rows.append({"text": " ".join(word for word in words if not word.startswith(MARK)), "label": labels})
    return _with_one_label(rows, ["label"])


def flat_tasks(rows: list[Row]) -> list[Row]:
    """Returns rows as they are; of the tasks of Label Studio a row for each annotation, as in its flat formats."""
    if not all({"data", "annotations"} <= row.keys() and isinstance(row["data"], dict) for row in rows):
        return rows
    flat: list[Row] = []
    names: set[str] = set()
    for task in rows:
        done = [annotation["result"] for annotation in task["annotations"] if not annotation.get("was_cancelled")]
        for parts in done or [[]]:
            choices = {part["from_name"]: part["value"]["choices"] for part in parts if part.get("type") == "choices"}
            names |= choices.keys()
            flat.append(task["data"] | choices)
    return _with_one_label(flat, names)


def _with_one_label(rows: list[Row], columns: Iterable[str]) -> list[Row]:
    """Returns rows in which a column of lists of labels is one of labels, if no row has several."""
    for name in columns:
        if all(len(row.get(name, ())) < 2 for row in rows):
            for row in rows:
                row[name] = next(iter(row.get(name, ())), None)
    return rows
