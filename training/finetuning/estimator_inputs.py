"""What the estimators for scikit-learn take: texts, labels and weights, of numpy, pandas, Polars or Arrow."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets


def listed(rows: Any) -> Any:
    """Returns a column of Arrow as a list, and all else as it is."""
    return rows.to_pylist() if hasattr(rows, "to_pylist") and not hasattr(rows, "column_names") else rows


def check_texts(texts: Any) -> list[str]:
    """Returns the texts as a list; raises an error for anything else."""
    texts = listed(texts)
    is_column = not isinstance(texts, str | Mapping | set | frozenset) and len(getattr(texts, "shape", (1,))) == 1
    rows = list(texts) if is_column else []
    wrong = [repr(row) for row in rows if not isinstance(row, str)]
    if wrong or not rows:
        kind = wrong[0] if wrong else "nothing" if is_column else f"one {type(texts).__name__}"
        raise ValueError(f"texts are a list of strings, but here is {kind}; give a list with a string for each text.")
    return rows


def check_labels(texts: list[str], labels: Any) -> NDArray[Any]:
    """Returns the labels, (n,); raises an error unless each text has one class."""
    labels = listed(labels)
    if isinstance(labels, str | Mapping | set | frozenset):
        kind = type(labels).__name__
        raise ValueError(f"labels are a list, but here is one {kind}; give a list with a label for each text.")
    rows = list(labels)
    if len(texts) != len(rows):
        raise ValueError(f"{len(texts)} texts have {len(rows)} labels; give each text one label.")
    if any(isinstance(label, list | tuple | set | dict) for label in rows):
        raise ValueError(
            "a label is a list; give each text one label, or make a matrix of 0 and 1 of several: "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(labels)."
        )
    column: NDArray[Any] = column_or_1d(np.asarray(labels if hasattr(labels, "ndim") else rows))
    if pd.isna(np.array(rows, object)).any():  # among strings, numpy makes the text "nan" of it
        raise ValueError("a label is missing (None, NaN or NA); give each text one label.")
    check_classification_targets(column)
    return column


def check_number(name: str, value: Any, least: float, may_be_none: bool = False, is_whole: bool = True) -> None:
    """Raises an error for anything but a number of at least the least one."""
    kinds = (int, np.integer) if is_whole else (int, float, np.number)
    is_number = isinstance(value, kinds) and not isinstance(value, bool) and least <= value < float("inf")
    if not is_number and not (value is None and may_be_none):
        kind, other = "a whole number" if is_whole else "a number", ", or None" if may_be_none else ""
        raise ValueError(f"{name} {value!r} is out of range; give {kind} of at least {least:g}{other}.")


def columns_of(labels: Any) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """Returns the names of a matrix of several labels and its rows (n, labels) of 0 and 1; None if it is no matrix.

    Raises:
        ValueError: the matrix holds other numbers.
    """
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    if len(shape) != 2 or shape[1] < 2:
        return None
    names = np.asarray(labels.columns if hasattr(labels, "columns") else np.arange(shape[1]))
    matrix = np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels)
    if matrix.dtype == object or not np.isin(matrix, (0, 1)).all():
        raise ValueError("labels in several columns are 0 or 1, but here are others; give a column for each label.")
    return names, matrix.astype(np.int64)


def check_weights(weights: Any, texts: list[str]) -> list[float]:
    """Returns the weights of the texts; raises an error unless each text has one."""
    numbers = np.asarray(listed(weights), np.float64)
    if numbers.shape != (len(texts),):
        raise ValueError(f"sample_weight has the shape {numbers.shape}; give a number for each of {len(texts)} texts.")
    wrong = numbers[~(np.isfinite(numbers) & (numbers >= 0))]
    if len(wrong) or not numbers.any():
        found = f"{wrong[0]:g}" if len(wrong) else "0 alone"
        raise ValueError(f"sample_weight has {found}; give finite numbers of at least 0, and some above 0.")
    return [float(number) for number in numbers]


def as_json(class_weight: Any) -> Any:
    """Returns a class weight as `results.json` holds it."""
    if isinstance(class_weight, Mapping):
        return {str(label): float(weight) for label, weight in class_weight.items()}
    return [as_json(each) for each in class_weight] if isinstance(class_weight, list) else class_weight
