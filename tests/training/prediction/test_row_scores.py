"""The score on rows with labels, whose cells are as their file has them."""

import numpy as np
import pytest

from vocabless.conversion.onnx_program.onnx_model import OnnxClassifier
from vocabless.training.prediction.row_scores import RowScores


def scores(labels, is_multi_label=False, separator=None):
    """The scores of a classifier that gives 0.5 or more to the labels that it means."""
    classifier = object.__new__(OnnxClassifier)
    classifier.labels, classifier.is_multi_label, classifier.threshold = labels, is_multi_label, 0.5
    return RowScores(classifier, separator)


@pytest.mark.parametrize(("labels", "cells", "right"), [
    (["a", "b"], ["a", " b ", "b"], 2),
    (["0", "1"], ["0.0", 1.0, 0], 3),
    (["-1", "1"], ["-1.00", "+1", "-1"], 3),
    (["a", "007"], ["a", "007", "a"], 3),
    (["False", "True"], ["false", True, "FALSE"], 3),
    (["a", "b"], [["a"], ["b"], ["b"]], 2),
    (["a", "b"], ["a", "c", "A"], 1),
    (["a", "b"], ["a", "", None], 1),
    (["a", "[b]"], ["a", "[b]", "[b"], 2),
])  # fmt: skip
def test_one_label_is_found_in_each_form(labels, cells, right):
    told = scores(labels)
    for cell, row in zip(cells, np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]), strict=True):
        told.add([cell], row[None])
    count = sum(cell not in ("", None) for cell in cells)
    others = "; 2 have labels that the model lacks, such as 'c'" if "c" in cells else ""
    others = "; 1 have labels that the model lacks, such as '[b'" if "[b" in cells else others
    assert str(told) == f"Accuracy {100 * right / count:.1f}, of {count} rows with labels{others}."


@pytest.mark.parametrize("cells", [
    ["a;b", "b", ""],
    ["['a', 'b']", "['b']", "[]"],
    [["a", "b"], ["b"], []],
    [{"a": "1", "b": "1.0", "c": "0"}, {"a": "", "b": "True", "c": None}, {"a": 0, "b": 0.0, "c": "false"}],
    [{"first": "a", "second": "b"}, {"first": "b", "second": None}, {"first": "", "second": None}],
])  # fmt: skip
def test_several_labels_are_found_in_each_form(cells):
    told = scores(["a", "b", "c"], is_multi_label=True)
    told.add(cells, np.array([[0.6, 0.4, 0.5], [0.1, 0.5, 0.1], [0.0, 0.0, 0.9]]))
    assert str(told) == "Micro F1 57.1, of 3 rows with labels."  # 2 right of 4 given and 3 true


def test_the_separator_of_the_training_alone_parts_labels():
    told = scores(["a, b", "c"], is_multi_label=True, separator=";")
    told.add(["a, b; c", "c"], np.array([[0.9, 0.9], [0.1, 0.9]]))
    assert str(told) == "Micro F1 100.0, of 2 rows with labels."
    told = scores(["a", "b"], is_multi_label=True, separator=" / ")
    told.add(["a / b", "b"], np.array([[0.9, 0.9], [0.1, 0.9]]))
    assert str(told) == "Micro F1 100.0, of 2 rows with labels."


def test_numbers_have_pearsons_correlation_over_all_chunks():
    told, chance = scores(["value"]), np.random.default_rng(0)
    numbers, values = chance.normal(2000, 3, 60), chance.normal(0, 1, 60)
    values += numbers
    for start in range(0, 60, 7):
        told.add([f"{number} %" for number in numbers[start : start + 7]], values[start : start + 7, None])
    told.add([None, "", "none", "nan", "inf"], np.zeros((5, 1)))
    assert str(told) == f"Pearson {100 * np.corrcoef(numbers, values)[0, 1]:.1f}, of 60 rows with labels."


def test_a_file_without_labels_is_not_scored():
    told = scores(["a", "b"])
    told.add(["", None], np.zeros((2, 2)))
    assert str(told) == "" and str(scores(["value"])) == str(scores(["a"], is_multi_label=True)) == ""
