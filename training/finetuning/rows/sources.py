"""A user's own files, or a data set on the Hub → texts and labels.

The columns are found by their names, and the problem type is inferred from the labels. `held_out.py` chooses the rows
that are held out.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from datasets import Dataset

from vocabless.texts.corpora import load_hub
from vocabless.texts.tables import STRING_TYPES, TAGGER, check_texts, column_type, read_files
from vocabless.texts.text_format import PACKED, suffix_of
from vocabless.training.finetuning.rows.doubts import (
    doubts,
    errors_in,
    is_row,
    rejections,
    rows_left_out,
    without_errors,
)
from vocabless.training.finetuning.rows.held_out import choose_validation
from vocabless.training.finetuning.rows.labels import Cells, parse_labels, read_cells
from vocabless.training.finetuning.tasks.arguments import DataArguments, DataSource
from vocabless.training.finetuning.tasks.columns import (
    LABEL_COLUMNS,
    TEXT_COLUMNS,
    Wanted,
    enumerated,
    find_columns,
    named,
    text_columns,
)
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.problems import Problem

TAG_FILES = (".conll", ".conllu", ".iob", ".iob2", ".bio")
SHARD = re.compile(r"-\d+-of-\d+")  # in the name of a file
SPLITS = ("train", "validation", "test")
DOUBTS = 3  # lines of doubts on the screen; the table of a run has all
# Names of files and folders that do not say what the data are.
GENERAL_NAMES = ("train", "training", "train_subset", "all", "full", "data", "dataset", "csv", "json", "parquet")


def load_own_data(arguments: DataArguments, scores_folds: bool = False) -> TaskData:
    """Returns the task that `--train_file` or `--dataset_name` describes; for `scores_folds` see `choose_validation`.

    Raises:
        ValueError: a file or column is missing, the labels fit no problem type, there are too few labels, or the
            validation rows have labels that the training rows lack.
    """
    name, tables = data_name(arguments), _read_tables(arguments)
    train = tables["train"]
    texts, labels, notes = _columns(train, arguments)
    problem, examples, cells, of_splits = _read_splits(tables, texts, labels, arguments)
    _check_names(problem, examples.get("validation"))
    test = {"": examples["test"]} if "test" in examples else {}
    task = TaskData(name, name, problem, examples["train"], {}, test, text_columns=tuple(texts))
    notes += of_splits
    if is_row(train, [*texts, *labels]):
        notes.append("the names of columns seem to be a row, which is not read; write names above it as the first line")
    notes += [*rejections(train, [*texts, *labels]), *doubts(task, cells["train"], arguments.problem_type)]
    task = replace(task, label_columns=tuple(labels), footnotes=tuple(f"{name}: {note}" for note in notes))
    return choose_validation(task, arguments, scores_folds, examples.get("validation"))


def _read_splits(
    tables: dict[str, Dataset], texts: list[str], labels: list[str], arguments: DataArguments
) -> tuple[Problem, dict[str, Examples], dict[str, Cells], list[str]]:
    """Returns the problem of the labels, the examples of each split, their cells of labels, and footnotes on them."""
    used = [*texts, *labels]
    left_out: dict[str, dict[int, str]] = {}
    examples: dict[str, Examples] = {}
    for split, table in tables.items():
        # Names may be written in another case, or with white space.
        others = {column: name for name in used for column in named(table.column_names, name) if column != name}
        tables = {**tables, split: (table := table.rename_columns(others))}
        left_out[split] = rows_left_out(table, used)
        kept = [row for row in range(len(table)) if row not in left_out[split]]
        examples[split] = _read(table, split, texts, labels, arguments.group_column).select(kept)
    cells = {split: part.labels for split, part in examples.items() if part.labels is not None}
    problem, parsed = parse_labels(cells, labels, tables["train"].features[labels[0]], arguments)
    examples |= {split: replace(examples[split], labels=parts) for split, parts in parsed.items()}
    notes = []
    for split, part in examples.items():
        errors = errors_in(tables[split], used)
        _check_empty_rows(part, split, arguments, left_out[split], errors)
        reasons = Counter(left_out[split].values())
        rows = f"{len(tables[split]):,} {'training' if split == 'train' else split} rows"
        notes += [f"{count:,} of {rows} are left out: {reason}" for reason, count in reasons.items()]
        notes += [errors] if errors else []
    return problem, examples, cells, notes


def _check_names(problem: Problem, validation: Examples | None) -> None:
    """Raises ValueError if there are too few labels, or if validation rows have others."""
    if len(problem.labels) < problem.min_labels:
        found = f"the train rows have {len(problem.labels)} label ({', '.join(problem.labels)})"
        raise ValueError(f"{found}; {problem.name} needs at least {problem.min_labels}.")
    if unknown := problem.unknown_labels([] if validation is None else validation.labels or []):
        mistake = f"the validation rows have labels that the training rows do not have: {enumerated(unknown)}"
        raise ValueError(f"{mistake}; drop these rows, or add training rows.")


def _columns(train: Dataset, arguments: DataArguments) -> tuple[list[str], list[str], list[str]]:
    """Returns the columns of the texts, those of the labels, and a footnote if names did not tell them."""
    texts = text_columns(train.column_names, arguments.text_column)
    labels: Sequence[str] = arguments.label_column or ()
    if found := _of_two(train, texts, labels):
        text, label = found
        return (
            [text],
            [label],
            [f"the text is {text!r} and the label {label!r}; --text_column and --label_column change it"],
        )
    wanted = (texts, TEXT_COLUMNS, "--text_column"), (labels, LABEL_COLUMNS, "--label_column")
    texts, labels = _find_columns(train, "train", *wanted)
    return texts, labels, []


def _of_two(train: Dataset, texts: Sequence[str], labels: Sequence[str]) -> tuple[str, str] | None:
    """Returns the text and the label column of a table of two, if the name of one is known, or one has longer texts.

    None for any other table, where names tell both, and where the user gave names that it has not.
    """
    names = train.column_names
    are_given = len(texts) < 2 and len(labels) < 2 and all(named(names, name) for name in (*texts, *labels))
    text, label = (
        next((found[0] for name in wanted if (found := named(names, name))), None)
        for wanted in (texts or TEXT_COLUMNS, labels or LABEL_COLUMNS)
    )
    if len(names) != 2 or (text and label) or not are_given or is_row(train, names):
        return None
    if text or label:
        (other,) = (name for name in names if name not in (text, label))
        return text or other, label or other
    cells = {name: [str(cell) for cell in train[name]] for name in names}
    text, label = sorted(names, key=lambda name: -sum(map(len, cells[name])))
    has_classes = 4 <= 2 * len({*cells[label]}) <= len({*cells[text]})
    return (text, label) if has_classes and column_type(train.features[text]) in STRING_TYPES else None


def _find_columns(table: Dataset, where: str, *wanted: Wanted) -> list[list[str]]:
    """See `find_columns`."""
    return find_columns(table.column_names, where, *wanted, are_row=lambda: is_row(table, table.column_names))


def _read(table: Dataset, split: str, texts: Sequence[str], labels: Sequence[str], group: str | None) -> Examples:
    """Returns the examples of a split; a test split may have no labels, and the training rows alone have groups."""
    has_labels = {*labels} <= {*table.column_names} and any(cell is not None for cell in read_cells(table, labels[:1]))
    examples = read_examples(table, split, texts, labels if has_labels or split != "test" else ())
    columns = {name: without_errors(column) for name, column in vars(examples).items() if column is not None}
    if group is not None and split == "train":
        ((name,),) = _find_columns(table, "train", ([group], (), "--group_column"))
        cells = enumerate(table[name])  # an empty one is a group of its own, and a list is a group, too
        columns["groups"] = [row if cell in (None, "") else repr(cell) for row, cell in cells]
    return Examples(**columns)


def describe_own_data(task: TaskData, problem_type: str | None) -> str:
    """Returns lines that say what was read: rows, columns, the kind of problem, its labels, and the first doubts.

    `problem_type` is what the user gave. Of GLUE, it says nothing.
    """
    if not task.is_own:
        return ""
    names = [" ".join(name.split()) for name in task.problem.labels]
    labels = f" with {len(names)} labels ({enumerated(names)})" if names else ""
    origin = ", inferred from the labels; --problem_type changes it" if problem_type is None else ""
    columns = " and ".join(repr(column) for column in task.text_columns)
    rows = f"{len(task.validation['']):,} {'of them scored' if task.is_cross_validated else 'validation rows'}"
    data = f"Data {task.name}: {len(task.train):,} training rows and {rows}, text in {columns}; "
    notes = [f"{note}." for note in task.footnotes]
    if len(notes) > DOUBTS:
        notes[DOUBTS - 1 :] = [
            f"{task.title}: {len(notes) - DOUBTS + 1} more doubts are in table.md, which the run writes."
        ]
    return "\n".join([f"{data}{task.problem.name}{labels}{origin}.", *notes])


def data_name(source: DataSource) -> str:
    """Returns the name of a user's own data, for tables and folders.

    That of a file is its own or, if it says nothing, that of the nearest folder that does. The folder in which a user
    works, and those above it, say nothing of the data. The name has one line, since it is a cell of tables.

    >>> [data_name(DataSource(train_file=file)) for file in ("train.csv", "spam/train.csv")]
    ['train', 'spam']
    """
    if source.train_file is None:
        name, _, _ = str(source.dataset_name).partition("@")
        return name.rpartition("/")[2].replace(":", "-")
    file = Path(source.train_file)
    name = file.stem if file.suffix.lower() in PACKED else file.name
    stem = SHARD.sub("", Path(name).stem, count=1)
    homes = {folder for home in (Path.cwd(), Path.home()) for folder in (home, *home.parents)}
    names = [stem, *(folder.name for folder in Path(os.path.abspath(file)).parents if folder not in homes)]
    return " ".join(next((name for name in names if name.lower() not in GENERAL_NAMES), stem).splitlines())


def _read_tables(arguments: DataArguments) -> dict[str, Dataset]:
    """Returns the splits that have rows."""
    if arguments.dataset_name is None:
        files = {split: getattr(arguments, f"{split}_file") for split in SPLITS}
        if tagged := next((file for file in files.values() if file and suffix_of(file) in TAG_FILES), None):
            raise ValueError(f"the file {tagged!r} has a word and its tag in each line, not whole texts; {TAGGER}.")
        return {split: read_files([file], arguments.text_format).flatten() for split, file in files.items() if file}
    hub_id = str(arguments.dataset_name)
    splits = load_hub(hub_id, "data set", "check --dataset_name.")
    tables = {split: splits[split] for split in SPLITS if split in splits and len(splits[split])}
    if "train" not in tables:
        raise ValueError(f"{hub_id} has no rows in a split train; it has {', '.join(splits)}: give files instead.")
    return tables


def _check_empty_rows(
    examples: Examples, split: str, arguments: DataArguments, left_out: Collection[int], errors: str
) -> None:
    """Raises an error that names all rows without a text or, if the split has labels, without a label."""
    empty = {"text": examples.empty_rows()}
    empty["label"] = [row for row, label in enumerate(examples.labels or []) if label is None]
    if any(empty.values()):
        file = None if arguments.dataset_name is not None else getattr(arguments, f"{split}_file")
        lines = [] if file is None else arguments.text_format.row_lines(file)
        count = len(examples) + len(left_out)
        unit, numbers = ("line", lines) if len(lines) == count else ("row", range(count))
        kept = [number for row, number in enumerate(numbers) if row not in left_out]
        places = {what: enumerated([kept[row] for row in rows]) for what, rows in empty.items() if rows}
        parts = [f"no {what} in {unit}{'s' * (len(empty[what]) > 1)} {place}" for what, place in places.items()]
        parts[-1] += errors and f" ({errors})"
        raise ValueError(f"{split if file is None else repr(file)} has {' and '.join(parts)}; fill them or drop them.")


def read_examples(table: Dataset, where: str, text_columns: Sequence[str], label_columns: Sequence[str]) -> Examples:
    """Returns the examples of a table, which messages call `where`; two text columns make text pairs.

    Several label columns make a list of labels for each row; none leaves the labels out.

    Raises:
        ValueError: a column is missing or does not hold texts.
    """
    _find_columns(
        table, where, (text_columns, (), "--text_column"), (label_columns, table.column_names, "--label_column")
    )
    for column in text_columns:
        check_texts(table.features, column, where)
    examples = Examples(*(table[column][:] for column in text_columns))
    return replace(examples, labels=read_cells(table, label_columns)) if label_columns else examples
