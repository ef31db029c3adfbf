"""Doubts about a user's own rows and labels, a sentence for each: what is read in one way may be meant otherwise."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from datasets import Dataset

from vocabless.texts.tables import STRING_TYPES, column_type
from vocabless.training.finetuning.tasks.columns import enumerated, short
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.problems import MultiLabel, Problem, Regression, SingleLabel

REJECTED = {"reject", "rejected", "ignore", "ignored", "discard", "discarded", "skip", "skipped", "declined"}
ACCEPTED = {"accept", "accepted", "approve", "approved", "validated", "submitted"}
_SEPARATORS = [";", ",", "|", "/", "\n"]
_NUMBER = re.compile(r"[-+]?[€$£]?\s?\d[\d.,'’\s]*[%‰€$£]?")
# What a spreadsheet writes for a formula that has no value, in English and other languages.
ERRORS = frozenset(
    """#NAME? #N/A #REF! #VALUE! #DIV/0! #NUM! #NULL! #SPILL! #CALC! #FIELD! #BLOCKED! #CONNECT! #BUSY! #UNKNOWN!
    #ERROR! #GETTING_DATA #NV #WERT! #BEZUG! #ZAHL! #ÜBERLAUF! #NOM? #VALEUR! #NOMBRE! #NUL! #¿NOMBRE? #¡VALOR!
    #¡REF! #¡DIV/0! #¡NUM! #¡NULO! #N/D #NOME? #VALORE! #RIF! #VALOR! #NÚM! #NAAM? #WAARDE! #VERW! #N/B #GETAL!
    #DEEL/0! #LEEG! #NAZWA? #ARG! #ADR! #LICZBA! #DZIEL/0! #ИМЯ? #ССЫЛКА! #ЗНАЧ! #ДЕЛ/0! #ЧИСЛО! #Н/Д #NAMN?
    #VÄRDEFEL! #REFERENS! #SAKNAS! #DIVISION/0! #NAVN? #VÆRDI! #REFERENCE! #I/T #NIMI? #ARVO! #VIITTAUS!
    #PUUTTUU! #JAKO/0! #AD? #DEĞER! #BAŞV! #SAYI/0! #YOK #NÁZEV? #HODNOTA! #ODKAZ! #DĚLENÍ_NULOU!
    #NENÍ_K_DISPOZICI""".split()
)
_SURVEY = '{"ImportId":'  # begins each cell of the last header of Qualtrics


def rows_left_out(table: Dataset, used: Sequence[str]) -> dict[int, str]:
    """Returns row → why it is no example, by what its program writes; `used` are the columns of texts and labels.

    Qualtrics has two more headers. Prodigy has a column `answer`, by which an annotator rejects or skips a label.
    """
    first = [any(str(cell).startswith(_SURVEY) for cell in row.values()) for row in table.take(min(3, len(table)))]
    headers = range(first.index(True) + 1 if any(first) else 0)
    found = dict.fromkeys(headers, "they are further headers of Qualtrics")
    if "answer" not in used and _holds_texts(table, "answer"):
        answers = table["answer"][:]
        if {*answers} <= {"accept", "reject", "ignore", None}:
            found |= {row: "their answer is reject or ignore" for row, cell in enumerate(answers) if cell in REJECTED}
    return found


def rejections(table: Dataset, used: Sequence[str]) -> Iterator[str]:
    """Yields a doubt for each other column that says of some rows that they are rejected."""
    for name in table.column_names:
        if name not in (*used, "answer") and _holds_texts(table, name):
            cells = [str(cell or "").lower() for cell in table[name][:]]
            count = sum(cell in REJECTED for cell in cells)
            if count and {*cells} <= {*ACCEPTED, *REJECTED, ""}:
                rows = f"{count:,} of {len(table):,} rows"
                yield f"{rows} are rejected by the column {name!r}, but read; drop those that are wrong"


def is_row(table: Dataset, names: Sequence[str]) -> bool:
    """Returns whether names of columns seem to be the first row: one is a cell of its column, or a number.

    The numbers 0, 1 and so on are names that pandas writes.
    """
    first = table.take(min(len(table), 1000))
    return any(
        (_holds_texts(first, name) and name in first[name])
        or (_NUMBER.fullmatch(name) and name != str(table.column_names.index(name)))
        for name in names
    )


def without_errors(cells: list[Any]) -> list[Any]:
    """Returns cells, or rows of cells, in which errors of a spreadsheet are empty ones.

    >>> without_errors(["a", "#NAME?", ["#NV", "#hashtag"]])
    ['a', None, [None, '#hashtag']]
    """
    cells = [without_errors(cell) if isinstance(cell, list) else cell for cell in cells]
    return [None if isinstance(cell, str) and cell.strip() in ERRORS else cell for cell in cells]


def errors_in(table: Dataset, used: Sequence[str]) -> str:
    """Returns words that say which errors of a spreadsheet the columns of texts and labels have, or ""."""
    cells = [str(cell).strip() for name in used if _holds_texts(table, name) for cell in table[name][:]]
    errors = [f"{error} ({count:,})" for error, count in Counter(cell for cell in cells if cell in ERRORS).items()]
    return f"errors of a spreadsheet count as empty cells: {enumerated(errors)}" if errors else ""


def doubts(task: TaskData, cells: Sequence[Any], problem_type: str | None) -> list[str]:
    """Returns footnotes on the labels of a task. `cells` are those of the training rows, as they are written."""
    of_problem = _of_problem(task, cells) if problem_type is None else ()
    return [*of_problem, *_contradictions(task.train), *_of_names(task), *_unlearned(task)]


def _of_problem(task: TaskData, cells: Sequence[Any]) -> Iterator[str]:
    """Yields a doubt about the kind of problem that was inferred."""
    texts, problem, labels = [cell for cell in cells if isinstance(cell, str)], task.problem, task.problem.labels
    if isinstance(problem, Regression) and (cell := next((cell for cell in texts if re.search("[,%]", cell)), None)):
        others = f"--problem_type {SingleLabel.name} reads names" + ", --label_separator several labels" * ("," in cell)
        yield f"labels such as {cell!r} are read as numbers; {others}"
    if not isinstance(problem, SingleLabel):
        if isinstance(problem, MultiLabel) and all(isinstance(cell, list) and len(cell) == 1 for cell in cells):
            yield f"each list has one label; if no text can have several, give --problem_type {SingleLabel.name}"
        return
    if any(isinstance(cell, float) or re.fullmatch(r"[-+]?\d+\.0*", str(cell)) for cell in cells):
        names = f"the whole numbers {enumerated(labels)} are read as names of classes"
        yield f"{names}; --problem_type {Regression.name} reads them as numbers"
    elif all(map(_NUMBER.fullmatch, labels)) and not all(map(str.isdecimal, (name.lstrip("-") for name in labels))):
        yield f"labels such as {labels[0]!r} look like numbers, but are read as names; write numbers as 1200.5"
        return
    for separator in _SEPARATORS:
        several = [name for name in labels if separator in name]
        parts = Counter(part for name in labels for part in {*_parts(name, separator)})
        known = [parts[part] > 1 for name in several for part in _parts(name, separator)]
        if several and sum(known) > len(known) / 2:
            seem = f"labels such as {_shown(several)} seem to be several in a cell"
            yield f"{seem}; --label_separator {separator!r} divides them"


def _of_names(task: TaskData) -> Iterator[str]:
    """Yields doubts about the names of labels: some differ by case alone, or have one row."""
    forms: dict[str, list[str]] = {}
    for name in task.problem.labels:
        forms.setdefault(name.casefold(), []).append(name)
    if alike := ["/".join(names) for names in forms.values() if len(names) > 1]:
        yield f"labels differ by case alone: {enumerated(alike)}"
    counts = Counter(name for label in task.train.labels or [] for name in Problem.names_in(label))
    if single := [name for name, count in counts.items() if count == 1]:
        rows = f"{len(single):,} of {len(counts):,} labels have one row only, such as {_shown(single)}"
        yield f"{rows}; add rows, or drop such labels and second headers"


def _contradictions(examples: Examples) -> Iterator[str]:
    """Yields a doubt if copies of a text, see `Examples.keys`, have other labels."""
    found: dict[tuple[str, ...], dict[str, str]] = {}  # key → label → the first text of a row with it
    for key, (text, *_, label) in zip(examples.keys(), examples.rows(), strict=True):
        if not isinstance(label, float):
            name = ", ".join(sorted(label)) or "none" if isinstance(label, list) else str(label)
            found.setdefault(key, {}).setdefault(name, text)
    if wrong := [labels for labels in found.values() if len(labels) > 1]:
        text = short(next(iter(wrong[0].values())))
        are = f"{len(wrong):,} of {len(found):,} texts have several labels, such as {text!r} ({_shown(wrong[0])})"
        yield f"{are}; drop the wrong rows; labels that are all right go into one cell, see --label_separator"


def _unlearned(task: TaskData) -> Iterator[str]:
    """Yields a doubt for test rows that have labels of no training row."""
    for examples in task.test.values():
        labels = [label for label in examples.labels or [] if label is not None]
        if names := task.problem.unknown_labels(labels):
            count = sum(bool(task.problem.unknown_labels([label])) for label in labels)
            rows = f"{count:,} of {len(labels):,} test rows have labels of no training row"
            yield f"{rows}, {enumerated(names)}, which count as mistakes"


def _shown(names: Iterable[str]) -> str:
    return enumerated([repr(short(name)) for name in islice(names, 3)])


def _holds_texts(table: Dataset, column: str) -> bool:
    return column in table.column_names and column_type(table.features[column]) in STRING_TYPES


def _parts(name: str, separator: str) -> list[str]:
    return [part.strip() for part in name.split(separator) if part.strip()]
