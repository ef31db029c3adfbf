"""Rows of a user's own data without a text or a label: all are named at once, or left out by `--drop_empty`."""

from collections.abc import Sequence

from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.tasks import Examples

MOST_NAMED = 10  # rows in a message


def files_of(arguments: GlueArguments) -> dict[str, str]:
    """Returns split → file; empty for a data set on the Hub."""
    files = {"validation": arguments.validation_file, "test": arguments.test_file}
    if arguments.train_file is None:
        return {}
    return {"train": arguments.train_file} | {split: file for split, file in files.items() if file is not None}


def fill(examples: Examples, split: str, arguments: GlueArguments) -> tuple[Examples, list[str]]:
    """Returns the examples that have a text and, if the split has labels, a label; and a footnote on the others.

    Args:
        examples: with labels as `Problem.parse_labels` returns them.
        split: its name.
        arguments: `drop_empty`, and the files, whose lines the message names.

    Raises:
        ValueError: a row is empty without `--drop_empty`, or all rows are.
    """
    texts, labels = examples.empty_rows()
    empty = {*texts, *labels}
    if not empty:
        return examples, []
    if not arguments.drop_empty or len(empty) == len(examples):
        where, lines, unit = _lines(split, len(examples), arguments)
        parts = [
            f"no {what} in {unit}{'s' if len(rows) > 1 else ''} {_enumerate([lines[row] for row in rows])}"
            for what, rows in (("text", texts), ("label", labels))
            if rows
        ]
        remedy = "fill them." if arguments.drop_empty else "fill them, or leave these rows out by --drop_empty."
        raise ValueError(f"{where} has {' and '.join(parts)}; {remedy}")
    kept = examples.select([row for row in range(len(examples)) if row not in empty])
    return kept, [f"{len(empty):,} of {len(examples):,} {split} rows without a text or a label are left out"]


def _lines(split: str, count: int, arguments: GlueArguments) -> tuple[str, Sequence[int], str]:
    """Returns a name of the data, the number of each row in it, and what is numbered: lines from 1, or rows from 0."""
    file = files_of(arguments).get(split)
    lines = [] if file is None else arguments.text_format.row_lines(file)
    if file is None or len(lines) != count:
        return split if file is None else repr(file), range(count), "row"
    return repr(file), lines, "line"


def _enumerate(numbers: Sequence[int]) -> str:
    """Returns the first numbers, and how many follow.

    >>> _enumerate([3, 7]), _enumerate(range(12))
    ('3 and 7', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    named = [str(number) for number in numbers[:MOST_NAMED]]
    last = f"{len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else named.pop()
    return f"{', '.join(named)} and {last}" if named else last
