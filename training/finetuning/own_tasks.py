"""Tasks of a user's own tables: what is asked goes by the type of the labels."""
# mypy: allow-untyped-calls

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from datasets import ClassLabel, Dataset

from vocabless.training.finetuning.patents import label_positions
from vocabless.training.finetuning.problems import PROBLEMS
from vocabless.training.finetuning.task_files import TEXTS, find_columns, with_rows
from vocabless.training.finetuning.tasks import LABEL_COLUMNS, SAMPLING_SEED, Columns, Examples, Task, read_examples


def load_own_task(
    name: str,
    tables: Mapping[str, Dataset],
    columns: Columns,
    kind: str | None = None,
    threshold: float = 0.3,
    held_out: float = 0.1,
    group_column: str | None = None,
) -> Task:
    """Returns a task of a user's own tables.

    Args:
        name: of its folder.
        tables: `train`, and maybe `validation` and `test`.
        columns: where they keep what.
        kind: a key of `PROBLEMS`; None goes by the type of the labels: strings and integers are one label for a text,
            floating-point numbers a number, lists many labels, or tags if the text is a list of as many words.
        threshold: probability above which one of many labels holds.
        held_out: share of the training rows that is evaluated where there is no `validation`.
        group_column: rows of one value in it are held out together.

    Raises:
        ValueError: a column is missing or holds what it must not, no kind fits the labels, or the validation rows have
            labels that the training rows lack.
    """
    read = {
        split: read_examples(with_rows(table, split), split, columns, split != "test")
        for split, table in tables.items()
    }
    kind = kind or _kind(tables["train"], read["train"], columns)
    if kind not in PROBLEMS:
        raise ValueError(f"unknown task type {kind!r}; choose one of {', '.join(PROBLEMS)}.")
    declared = _declared_names(tables["train"], columns)
    for split, examples in read.items():
        if isinstance(examples.texts[0], list) != (kind == "token_classification"):
            needed = "lists of words" if kind == "token_classification" else "texts, not lists of words"
            raise ValueError(f"{kind} takes {needed}; the {split} rows differ: mend --text_column or --task_type.")
        if examples.labels is not None:
            examples.labels = _as_kind(kind, examples, split, columns)
    labels = declared or _names(kind, read["train"].labels or [])
    if kind != "regression" and len(labels) < (1 if kind == "multi_label_classification" else 2):
        raise ValueError(f"the train rows have {len(labels)} label ({', '.join(labels)}); there must be at least two.")
    problem = PROBLEMS[kind](labels, threshold=threshold)
    footnotes = []
    if "validation" not in read:
        groups = None if group_column is None else _groups(tables["train"], group_column)
        read["train"], read["validation"] = _hold_out(read["train"], held_out, groups)
        footnotes = [f"{name}: evaluated on {len(read['validation']):,} rows held out of the training data"]
    for split, examples in read.items():
        unknown = problem.unknown(examples.labels or [])
        if unknown:
            some = ", ".join(unknown[:5]) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
            raise ValueError(
                f"the {split} rows have labels that training never saw: {some}; drop them or train on them."
            )
    test = {"": read["test"]} if "test" in read else {}
    return Task(name, name, problem, read["train"], {"": read["validation"]}, test, footnotes)


def _label_columns(table: Dataset, columns: Columns) -> list[str]:
    return find_columns(table, "train", columns.labels, LABEL_COLUMNS, "--label_column")


def _kind(table: Dataset, examples: Examples, columns: Columns) -> str:
    names = _label_columns(table, columns)
    feature: Any = table.features[names[0]]
    if len(names) > 1 or columns.separator is not None:
        return "multi_label_classification"
    inner = getattr(feature, "feature", None)
    dtype = str(getattr(feature if inner is None else inner, "dtype", ""))
    is_name = dtype in (*TEXTS, "bool") or dtype.startswith(("int", "uint"))
    if inner is None and (is_name or dtype.startswith(("float", "decimal"))):
        return "single_label_classification" if is_name else "regression"
    if inner is None or not is_name:
        raise ValueError(
            f"the column {names[0]!r} holds {dtype or feature}{' in lists' if inner is not None else ''}; "
            "labels are strings, integers or numbers, or lists of strings or integers."
        )
    return "token_classification" if isinstance(examples.texts[0], list) else "multi_label_classification"


def _declared_names(table: Dataset, columns: Columns) -> list[str]:
    """Returns the names that the label column declares, if all labels are such."""
    names = _label_columns(table, columns)
    feature: Any = table.features[names[0]]
    inner = getattr(feature, "feature", feature)
    is_plain = len(names) == 1 and columns.separator is None and not columns.cpc_positions
    return list(inner.names) if is_plain and isinstance(inner, ClassLabel) else []


def _as_kind(kind: str, examples: Examples, split: str, columns: Columns) -> list[Any]:
    """Returns the labels as the kind takes them: names, numbers, or lists of names."""
    labels = examples.labels or []
    if columns.separator is not None:
        labels = [[part.strip() for part in str(label).split(columns.separator) if part.strip()] for label in labels]
    if columns.cpc_positions:
        if kind != "multi_label_classification":
            raise ValueError(f"--cpc_positions relabels lists of codes, not labels of {kind}; leave it out.")
        labels = [label_positions([_name(code) for code in _listed(label)]) for label in labels]
    convert: dict[str, Callable[[Any], Any]] = {
        "single_label_classification": _name,
        "regression": float,
        "multi_label_classification": lambda label: [_name(part) for part in _listed(label)],
        "token_classification": lambda label: [_name(tag) for tag in label],
    }
    is_list = isinstance(labels[0], list)
    if is_list and kind in ("single_label_classification", "regression"):
        raise ValueError(f"the {split} rows have lists of labels, which {kind} cannot take; mend --task_type.")
    if kind == "token_classification":
        if not is_list:
            raise ValueError(f"{kind} takes lists of tags; the {split} rows have none: mend --label_column.")
        for number, (words, tags) in enumerate(zip(examples.texts, labels, strict=True)):
            if len(words) != len(tags):
                raise ValueError(
                    f"row {number} of {split} has {len(words)} words but {len(tags)} tags; give each word one tag."
                )
    try:
        return [convert[kind](label) for label in labels]
    except ValueError as error:
        raise ValueError(f"the {split} rows have labels that are no numbers ({error}); mend --task_type.") from error


def _listed(label: Any) -> list[Any]:
    return label if isinstance(label, list) else [label]


def _name(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _names(kind: str, labels: Iterable[Any]) -> list[str]:
    """Returns the names of the labels: numbers by size, others by the alphabet, and O before all tags."""
    if kind == "regression":
        return []
    found = set(labels) if kind == "single_label_classification" else {part for label in labels for part in label}
    if all(name.removeprefix("-").isdecimal() for name in found):
        return sorted(found, key=int)
    return sorted(found, key=lambda name: (name != "O", name))


def _groups(table: Dataset, column: str) -> list[Any]:
    return list(table[find_columns(table, "train", [column], (), "--group_column")[0]])


def _hold_out(examples: Examples, share: float, groups: list[Any] | None) -> tuple[Examples, Examples]:
    """Returns what is left of the examples and what is held out: whole groups, at least `share` of the rows."""
    groups = list(range(len(examples))) if groups is None else groups
    order = list(dict.fromkeys(groups))
    if not 0 < share <= 0.5 or len(order) < 2:
        raise ValueError(
            f"{share:.1%} of {len(order)} training rows or groups cannot be held out; give --validation_file, or "
            "--validation_split_percentage above 0 and at most 50 and at least two rows."
        )
    random.Random(SAMPLING_SEED).shuffle(order)
    chosen = set(order[: max(1, round(share * len(order)))])
    parts: tuple[list[int], list[int]] = ([], [])
    for row, group in enumerate(groups):
        parts[group in chosen].append(row)
    return examples.select(parts[0]), examples.select(parts[1])
