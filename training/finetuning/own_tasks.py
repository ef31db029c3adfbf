"""Loads a task from a user's own files or from a data set on the Hub; infers the problem type from the labels."""
# mypy: allow-untyped-calls

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import ClassLabel, Dataset

from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.base_problem import Problem
from vocabless.training.finetuning.empty_rows import files_of, fill
from vocabless.training.finetuning.load_model import is_trained_vocabless
from vocabless.training.finetuning.problems import PROBLEMS, MultiLabel, Regression, SingleLabel, Tagging
from vocabless.training.finetuning.splits import hold_out
from vocabless.training.finetuning.task_files import SHARD, check_rows, find_columns, read_files, read_hub
from vocabless.training.finetuning.tasks import (
    FOLDS,
    LABEL_COLUMNS,
    SAMPLING_SEED,
    Columns,
    Examples,
    Task,
    find_text_columns,
    read_examples,
)
from vocabless.training.texts.local_files import STRING_TYPES, column_type

CROSS_VALIDATED = 1000  # fewer training rows are all scored, in folds; of more rows those of one fold
TRAINED_TWICE = 10_000  # of fewer training rows, the saved model learns from all
HELD_OUT = 10.0  # percent of more rows
# Names of files and folders that do not say what the data are.
GENERAL_NAMES = ("train", "training", "train_subset", "all", "full", "data", "dataset", "csv", "json", "parquet")


def load_own_task(arguments: GlueArguments) -> Task:
    """Returns the task that `--train_file` or `--dataset_name` describes.

    Raises:
        ValueError: a file or column is missing, the labels fit no problem type, there are too few labels, or the
            validation rows have labels that the training rows lack.
    """
    columns, name, tables = _columns(arguments), data_name(arguments), _read_tables(arguments)
    for split, table in tables.items():
        check_rows(table, split)
    examples = {split: read_examples(table, split, columns, split != "test") for split, table in tables.items()}
    examples["train"].groups = _groups(examples["train"], tables["train"], arguments)
    problem_class = _find_problem(arguments.problem_type, tables["train"], examples["train"], columns)
    footnotes = []
    for split in examples:
        _parse_labels(examples[split], problem_class, split, columns)
        examples[split], notes = fill(examples[split], split, arguments)
        footnotes += [f"{name}: {note}" for note in notes]
    labels = _read_label_names(arguments) or _declared_labels(tables["train"], columns)
    labels = labels or _sorted_labels(examples["train"], problem_class)
    if len(labels) < problem_class.min_labels:
        raise ValueError(
            f"the train rows have {len(labels)} label ({', '.join(labels)}); "
            f"{problem_class.name} needs at least {problem_class.min_labels}."
        )
    problem = problem_class(labels, threshold=arguments.threshold)
    scored_folds = 0
    if "validation" in examples:
        _check_known_labels(problem, examples["validation"])
        footnotes += _training_rows_note(name, examples["train"], examples["validation"])
    else:
        train = examples["train"]
        scored_folds = _scored_folds(train, problem, arguments)
        if not scored_folds:
            given = arguments.validation_split_percentage
            examples["train"], examples["validation"] = _hold_out(train, problem, HELD_OUT if given is None else given)
            held_out = len(examples["validation"])
            footnotes.append(f"{name}: evaluated on {held_out:,} rows held out of the training data")
    test = {"": examples["test"]} if "test" in examples else {}
    text_columns = tuple(find_text_columns(tables["train"], "train", columns))
    validation = {"": examples.get("validation", examples["train"])}
    task = Task(name, name, problem, examples["train"], validation, test, footnotes, text_columns)
    if scored_folds:
        task.score_folds(scored_folds)
        ways = (
            f"cross-validated, {FOLDS} folds of" if scored_folds == FOLDS else "evaluated by a model that did not see"
        )
        footnotes.append(f"{name}: {ways} {len(task.validation['']):,} rows; the model saved learned from all")
    return task


def describe_own_task(task: Task, arguments: GlueArguments) -> str:
    """Returns a sentence that says what was read: rows, columns, the kind of problem and its labels."""
    names = ", ".join(task.problem.labels[:5]) + (", …" if len(task.problem.labels) > 5 else "")
    labels = f" with {len(task.problem.labels)} labels ({names})" if task.problem.labels else ""
    origin = ", inferred from the labels; --problem_type changes it" if arguments.problem_type is None else ""
    columns = " and ".join(repr(column) for column in task.text_columns)
    count = f"{len(task.validation['']):,}"
    validation = f"{count} of them scored" if task.is_cross_validated else f"{count} validation rows"
    return (
        f"Data {task.name}: {len(task.train):,} training rows and {validation}, text in {columns}; "
        f"{task.problem.name}{labels}{origin}."
    )


def _columns(arguments: GlueArguments) -> Columns:
    if arguments.text_pair_column is not None and arguments.text_column is None:
        raise ValueError("--text_pair_column names the second text; name the first one, too, by --text_column.")
    return Columns(
        texts=tuple(name for name in (arguments.text_column, arguments.text_pair_column) if name),
        labels=tuple(arguments.label_column or ()),
        separator=arguments.label_separator,
    )


def data_name(arguments: GlueArguments) -> str:
    """Returns the name of a user's own data, for tables and folders."""
    if arguments.train_file is not None:
        return _name_of(Path(arguments.train_file))
    parts = [str(arguments.dataset_name).rpartition("/")[2], arguments.dataset_config_name]
    return "-".join(filter(None, parts))


def _read_tables(arguments: GlueArguments) -> dict[str, Dataset]:
    """Returns the splits."""
    files = files_of(arguments)
    if files:
        return {split: read_files([file], arguments.text_format) for split, file in files.items()}
    hub_id, config = str(arguments.dataset_name), arguments.dataset_config_name
    tables = read_hub(hub_id, config, "check --dataset_name.")
    if "train" not in tables:
        raise ValueError(f"{hub_id} has no split train; it has {', '.join(tables)}: give files instead.")
    return {split: tables[split] for split in ("train", "validation", "test") if split in tables}


def _name_of(file: Path) -> str:
    r"""Returns a name for the data in a file: that of the file or, if it says nothing, of the nearest folder that does.

    The folder in which a user works, and those above it, say nothing of the data. The name has one line, since it
    stands in tables.

    >>> _name_of(Path("/data/reviews/all/train-00000-of-00002.parquet")), _name_of(Path("/data/beasts\nof prey.csv"))
    ('reviews', 'beasts of prey')
    >>> _name_of(Path("train.csv")), _name_of(Path("spam/train.csv"))
    ('train', 'spam')
    """
    own = SHARD.sub("", file.stem, count=1)
    homes = {folder for home in (Path.cwd(), Path.home()) for folder in (home, *home.parents)}
    names = [own, *(folder.name for folder in Path(os.path.abspath(file)).parents if folder not in homes)]
    return " ".join(next((name for name in names if name.lower() not in GENERAL_NAMES), own).splitlines())


def _find_problem(problem_type: str | None, table: Dataset, examples: Examples, columns: Columns) -> type[Problem]:
    """Returns the class of the given problem type; None infers it from the labels."""
    if problem_type is None:
        return _infer_problem(table, examples, columns)
    if problem_type not in PROBLEMS:
        raise ValueError(f"unknown problem type {problem_type!r}; choose one of {', '.join(PROBLEMS)}.")
    return PROBLEMS[problem_type]


def _infer_problem(table: Dataset, examples: Examples, columns: Columns) -> type[Problem]:
    """Returns the problem that fits the type of the label column.

    Strings, integers and booleans are one label for each text; floats a number. Lists of strings or integers are
    several labels, or tags if the texts are lists of words.
    """
    names = _label_columns(table, columns)
    if len(names) > 1 or columns.separator is not None:
        return MultiLabel
    feature: Any = table.features[names[0]]
    inner = getattr(feature, "feature", None)  # of a column of lists
    is_list = inner is not None
    dtype = column_type(inner if is_list else feature)
    is_name = dtype in (*STRING_TYPES, "bool") or dtype.startswith(("int", "uint"))
    if is_list and is_name:
        return Tagging if _has_words(examples) else MultiLabel
    if not is_list and (is_name or _are_integers_with_gaps(examples.labels or [])):
        return SingleLabel
    if not is_list and dtype.startswith(("float", "decimal")):
        return Regression
    raise ValueError(
        f"the column {names[0]!r} holds {'lists of ' if is_list else ''}{dtype}; "
        "labels are strings, integers or numbers, or lists of strings or integers."
    )


def _has_words(examples: Examples) -> bool:
    """Returns whether the texts are lists of words."""
    return isinstance(next(filter(None, examples.texts), None), list)


def _are_integers_with_gaps(labels: Sequence[Any]) -> bool:
    """Returns whether labels are whole numbers and some are missing: pandas makes floats of such integers."""
    given = [label for label in labels if label is not None]
    return len(given) < len(labels) and all(isinstance(label, float) and label.is_integer() for label in given)


def _label_columns(table: Dataset, columns: Columns) -> list[str]:
    return find_columns(table, "train", columns.labels, LABEL_COLUMNS, "--label_column")


def _parse_labels(examples: Examples, problem_class: type[Problem], split: str, columns: Columns) -> None:
    """Converts the labels in place: splits strings, and gives them the problem's form."""
    if _has_words(examples) != problem_class.per_word:
        needed = "lists of words" if problem_class.per_word else "texts, not lists of words"
        raise ValueError(
            f"{problem_class.name} takes {needed}; the {split} rows differ: check --text_column or --problem_type."
        )
    if examples.labels is None:
        return
    labels = examples.labels
    if columns.separator is not None:
        cells = ["" if label is None else str(label) for label in labels]
        labels = [[part.strip() for part in cell.split(columns.separator) if part.strip()] for cell in cells]
    examples.labels = problem_class.parse_labels(labels, split)
    if problem_class.per_word:
        _check_one_label_per_word(examples, split)


def _check_one_label_per_word(examples: Examples, split: str) -> None:
    for row, (words, tags) in enumerate(zip(examples.texts, examples.labels or [], strict=True)):
        if words and tags and len(words) != len(tags):
            raise ValueError(
                f"row {row} of {split} has {len(words)} words but {len(tags)} tags; give each word one tag."
            )


def _declared_labels(table: Dataset, columns: Columns) -> list[str]:
    """Returns the label names that the label column declares; empty if it declares none, or labels are split."""
    names = _label_columns(table, columns)
    feature: Any = table.features[names[0]]
    inner = getattr(feature, "feature", feature)
    is_unchanged = len(names) == 1 and not columns.separator
    return list(inner.names) if is_unchanged and isinstance(inner, ClassLabel) else []


def _read_label_names(arguments: GlueArguments) -> list[str]:
    """Returns the labels of `--label_names`; empty if it is not given.

    Raises:
        ValueError: the file cannot be read, is empty, or names a label twice.
    """
    if arguments.label_names is None:
        return []
    try:
        lines = Path(arguments.label_names).read_text(encoding=arguments.encoding).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"--label_names {arguments.label_names!r} cannot be read ({error}); give a text file."
        ) from error
    names = [line.strip() for line in lines if line.strip()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if not names or twice is not None:
        problem = "is empty" if twice is None else f"names {twice!r} twice"
        raise ValueError(f"--label_names {arguments.label_names!r} {problem}; write each label in one line.")
    return names


def _sorted_labels(examples: Examples, problem_class: type[Problem]) -> list[str]:
    """Returns all label names: integers by value, other names by the alphabet with O, the tag of no entity, first."""
    names = {name for label in examples.labels or [] for name in problem_class.label_names(label)}
    if all(name.removeprefix("-").isdecimal() for name in names):
        return sorted(names, key=int)
    return sorted(names, key=lambda name: (name != "O", name))


def _groups(examples: Examples, table: Dataset, arguments: GlueArguments) -> list[Any]:
    """Returns what rows that are held out together have in common: the value of `--group_column`, else the text."""
    if arguments.group_column is None:
        return [repr(row) for row in zip(examples.texts, examples.pairs or examples.texts, strict=True)]
    (column,) = find_columns(table, "train", [arguments.group_column], (), "--group_column")
    return list(map(repr, table[column]))  # lists are groups, too


def _hold_out(examples: Examples, problem: Problem, percentage: float) -> tuple[Examples, Examples]:
    """Returns training and held-out examples, see `hold_out`."""
    number = len(set(examples.groups or ()))
    if not 0 < percentage <= 50 or number < 2:
        raise ValueError(
            f"{percentage:g} % of {number} training rows or groups cannot be held out; give --validation_file, or "
            "--validation_split_percentage above 0 and at most 50 and at least two rows."
        )
    targets = [problem.target(label) for label in examples.labels or []]
    held_out = set(hold_out(problem.strata(targets), percentage / 100, SAMPLING_SEED, examples.groups).tolist())
    rest = [row for row in range(len(examples)) if row not in held_out]
    return examples.select(rest), examples.select(sorted(held_out))


def _scored_folds(examples: Examples, problem: Problem, arguments: GlueArguments) -> int:
    """Returns how many folds are scored; 0 if rows are held out for good.

    Scoring five folds trains five times more, which takes seconds only for our trained encoders and few rows. A head
    alone takes seconds for all. A teacher's logits belong to one split, and misspelt copies need rows that the model
    has not learned from.
    """
    rows = min(len(examples), arguments.max_train_samples or len(examples))
    is_free = arguments.validation_split_percentage is None and arguments.teacher is None and not arguments.noise
    enough = len(set(examples.groups or ())) >= FOLDS
    is_possible = rows < TRAINED_TWICE and is_free and enough and not problem.per_word
    if not is_possible or not is_trained_vocabless(arguments):
        return 0
    return FOLDS if rows < CROSS_VALIDATED or arguments.head_only else 1


def _training_rows_note(name: str, train: Examples, validation: Examples) -> list[str]:
    """Returns a footnote if validation texts are among the training texts; else none."""
    known, texts = (
        list(zip(map(str, part.texts), part.pairs or [""] * len(part), strict=True)) for part in (train, validation)
    )
    number = sum(map(set(known).__contains__, texts))
    rows = f"{name}: {number:,} of {len(texts):,} validation rows have the texts of training rows"
    return [f"{rows}, so the score tells less about new texts"] if number else []


def _check_known_labels(problem: Problem, examples: Examples) -> None:
    """Raises an error if the validation rows have a label that the training rows lack."""
    unknown = problem.unknown_labels(examples.labels or [])
    if unknown:
        names = ", ".join(unknown[:5]) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
        raise ValueError(
            f"the validation rows have labels that the training rows do not have: {names}; drop these rows, add "
            "training rows, or give all labels by --label_names."
        )
