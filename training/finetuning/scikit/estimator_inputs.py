"""What the estimators for scikit-learn take: texts, labels and weights, of numpy, pandas, Polars or Arrow."""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from vocabless.training.finetuning.tasks.columns import enumerated


def listed(rows: Any, what: str) -> Any:
    """Returns rows, those of Arrow and of Python as a list; raises an error for what has no order of rows."""
    if isinstance(rows, str | Mapping | AbstractSet):
        raise ValueError(
            f"{what} are a list, but here is one {type(rows).__name__}; give a list with one for each text."
        )
    if hasattr(rows, "to_pylist") and not hasattr(rows, "column_names"):
        return rows.to_pylist()
    return rows if hasattr(rows, "shape") else list(rows)


def check_texts(texts: Any) -> list[str]:
    """Returns the texts as a list; raises an error for anything else, and for texts of white space alone."""
    rows = listed(texts, "texts")
    if len(getattr(rows, "shape", (1,))) != 1:
        raise ValueError(f"texts are a list, but here is one {type(rows).__name__} of columns; give one of them.")
    rows = list(rows)
    wrong = [repr(row) for row in rows if not isinstance(row, str)]
    if wrong or not rows:
        found = wrong[0] if wrong else "nothing"
        raise ValueError(f"texts are a list of strings, but here is {found}; give a string for each text.")
    if blank := [row for row, text in enumerate(rows) if not text.strip()]:
        raise ValueError(f"the texts {enumerated(blank)} are empty; fill them or drop them.")
    return rows


def read_labels(texts: list[str], labels: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns the classes, sorted, and the label of each text, (n,); or the names of columns, and 0 or 1, (n, labels).

    Raises:
        ValueError: a text has no label, the labels are of no class, or all the same.
    """
    labels = listed(labels, "labels")
    is_list = isinstance(labels, list)
    if is_list and all(isinstance(row, list | tuple) and {*map(type, row)} <= {int, bool} for row in labels):
        labels = np.asarray(labels) if len({*map(len, labels)}) == 1 else labels  # else told below
    rows = labels.shape[0] if hasattr(labels, "shape") else len(labels)
    if len(texts) != rows:
        raise ValueError(f"{len(texts)} texts have {rows} labels; give each text one label.")
    if isinstance(labels, list) and any(isinstance(row, list | tuple | set | dict) for row in labels):
        raise ValueError(
            "a label is a list; give each text one label, or make a matrix of 0 and 1 of several: "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(labels)."
        )
    if len(getattr(labels, "shape", ())) == 2 and labels.shape[1] > 1:
        return _columns(labels)
    column: NDArray[Any] = column_or_1d(np.asarray(labels), warn=True)
    values = np.asarray(labels, object).ravel()  # among strings, numpy makes the text "nan" of a missing one
    if pd.isna(values).any():
        raise ValueError("a label is missing (None, NaN or NA); give each text one label.")
    if len({isinstance(value, str) for value in values}) > 1:
        raise ValueError("labels are texts and numbers; give one kind alone.")
    if wrong := [value for value in values if isinstance(value, float) and not value.is_integer()]:
        raise ValueError(
            f"labels are numbers such as {wrong[0]:g}; give classes, or fit VocablessRegressor, which gives numbers."
        )
    check_classification_targets(column)
    classes = np.unique(column)
    if len(classes) < 2:
        raise ValueError(f"all texts have the label {classes.tolist()[0]!r}; give texts of at least two labels.")
    return classes, column


def _columns(labels: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Returns the names of a matrix of several labels and its rows (n, labels) of 0 and 1; ValueError for others."""
    names = np.asarray(labels.columns if hasattr(labels, "columns") else np.arange(labels.shape[1]))
    if twice := [name for name, count in Counter(names.tolist()).items() if count > 1]:
        raise ValueError(f"several columns of labels are called {twice[0]!r}; give each its own name.")
    matrix = np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels)
    if wrong := [cell for cell in matrix.ravel().tolist() if isinstance(cell, str) or cell not in (0, 1)]:
        raise ValueError(
            f"labels in several columns are 0 or 1, but here is {wrong[0]!r}; give a column for each label."
        )
    return names, matrix.astype(np.int64)


def check_targets(texts: list[str], targets: Any) -> list[float]:
    """Returns the number of each text; raises an error for anything else."""
    try:
        numbers = column_or_1d(np.asarray(listed(targets, "targets")), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"targets are no numbers ({error}); give one for each text, or fit VocablessClassifier."
        ) from error
    if len(numbers) != len(texts) or not np.isfinite(numbers).all():
        raise ValueError(f"{len(texts)} texts have {np.isfinite(numbers).sum()} numbers; give each text one.")
    return [float(number) for number in numbers]


def check_number(
    name: str, value: Any, least: float, may_be_none: bool = False, is_whole: bool = True, most: float = float("inf")
) -> None:
    """Raises an error for anything but a finite number from the least one to the largest."""
    kinds = (int, np.integer) if is_whole else (int, float, np.number)
    is_number = isinstance(value, kinds) and not isinstance(value, bool) and least <= value <= most
    if not (is_number and isfinite(value)) and not (value is None and may_be_none):
        kind, other = "a whole number" if is_whole else "a number", ", or None" if may_be_none else ""
        limits = f"of at least {least:g}" + (f" and at most {most:g}" if isfinite(most) else "")
        raise ValueError(f"{name} {value!r} is out of range; give {kind} {limits}{other}.")


def weights_of_classes(class_weight: Any, classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    """Returns the weight of each text by its label, (n,), or by its labels, (n, labels).

    Raises:
        ValueError: `class_weight` is of another form, or names an unknown label or a weight below 0.
    """
    is_several = labels.ndim == 2
    tables = class_weight if is_several and isinstance(class_weight, list) else [class_weight]
    has_form = len(tables) == (len(classes) if is_several else 1) and all(isinstance(each, Mapping) for each in tables)
    if not has_form and class_weight != "balanced":
        form = (
            f"a list of {len(classes)} dictionaries, one for each label"
            if is_several
            else "a dictionary label → weight"
        )
        raise ValueError(f'class_weight is {class_weight!r}; give "balanced", or {form}.')
    known = [0, 1] if is_several else classes.tolist()
    for label, weight in (item for table in tables if has_form for item in table.items()):
        if label not in known:
            raise ValueError(f"class_weight has {label!r}, which no text has; the labels are {enumerated(known)}.")
        if isinstance(weight, str) or not 0 <= weight < float("inf"):
            raise ValueError(f"class_weight of {label!r} is {weight!r}; give a finite number of at least 0.")
    weights: NDArray[np.float64] = compute_sample_weight(class_weight, labels)
    return weights


def check_weights(weights: Any, texts: list[str]) -> list[float]:
    """Returns the weights of the texts, with the mean 1; raises an error unless each text has one.

    The strength of the regularisation would depend on their size, but only their ratios are meant.
    """
    numbers = np.asarray(listed(weights, "weights"), np.float64)
    if numbers.shape != (len(texts),):
        raise ValueError(f"sample_weight has the shape {numbers.shape}; give a number for each of {len(texts)} texts.")
    if not (np.isfinite(numbers) & (numbers >= 0)).all() or not numbers.any():
        raise ValueError("the weights of texts are not all finite and at least 0, with some above 0; mend them.")
    numbers = numbers / numbers.max()  # their sum could be too large
    return [float(number) for number in numbers / numbers.mean()]
