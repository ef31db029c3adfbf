"""Own data with mistakes in it: each is named, and none is trained on in silence."""

import json
from pathlib import Path
from typing import Any

import pytest

from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.own_tasks import load_own_task
from vocabless.training.finetuning.tasks import Task


def load(folder: Path, columns: dict[str, list[Any]], **options: Any) -> Task:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    file = folder / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load_own_task(GlueArguments(model_name_or_path="hashformer-lsh-proj-tiny", train_file=str(file), **options))


TEXTS = ["a b", "c d", "e f", "g h"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "problem_type", [None, "single_label_classification", "multi_label_classification", "regression"]
)
def test_a_label_that_is_no_finite_number_is_named_with_its_row(problem_type, value, tmp_path, empty_cache) -> None:
    with pytest.raises(ValueError, match=rf"row 2 of train has the label {value} in 'label'; give a finite number"):
        load(tmp_path, {"text": TEXTS, "label": [0.5, 1.5, value, 2.0]}, problem_type=problem_type)


def test_a_number_of_several_columns_is_checked_too(tmp_path, empty_cache) -> None:
    columns = {"text": TEXTS, "a": [0.0] * 4, "b": [0.0, float("nan"), 1.0, 1.0]}
    with pytest.raises(ValueError, match=r"row 1 of train has the label \[0.0, nan\] in 'a'"):
        load(tmp_path, columns, label_column=["a", "b"])


@pytest.mark.parametrize(
    ("labels", "problem_type", "sentence"),
    [
        (["1", "2", "nan", "3"], "regression", "row 2 of train .* the label 'nan' is not a finite number; mend"),
        ([{"a": 1}] * 4, "regression", "row 0 of train .* is not a number"),
        ([{"a": 1}] * 4, "single_label_classification", "row 0 of train .* is a dict"),
        ([{"a": 1}] * 4, None, "the column 'label' holds objects; labels are"),
        (["x", 1, "x", "x"], None, "the column 'label' holds values of several types; labels are"),
    ],
)
def test_a_label_that_does_not_fit_is_named_with_its_row(labels, problem_type, sentence, tmp_path, empty_cache) -> None:
    with pytest.raises(ValueError, match=sentence):
        load(tmp_path, {"text": TEXTS, "label": labels}, problem_type=problem_type)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ([1, "b", "c", "d"], "values of several types"),
        ([["a"], "b", "c", "d"], "values of several types"),
        ([{"a": 1}] * 4, "objects"),
        ([[1]] * 4, "lists"),
    ],
)
def test_texts_of_another_type_are_named(texts, kind, tmp_path, empty_cache) -> None:
    with pytest.raises(ValueError, match=f"the column 'text' of train holds {kind}, not text; name a column"):
        load(tmp_path, {"text": texts, "label": ["x", "y"] * 2})


def test_groups_may_be_lists(tmp_path, empty_cache) -> None:
    groups = [["a", "b"], ["c"]] * 4
    columns = {"text": TEXTS * 2, "label": ["x", "y"] * 4, "group": groups}
    task = load(tmp_path, columns, group_column="group", validation_split_percentage=50)
    assert sorted(task.validation[""].texts) in (sorted(TEXTS[::2] * 2), sorted(TEXTS[1::2] * 2))


@pytest.mark.parametrize(("number", "rows"), [(4, "4 of 4 validation rows have"), (1, "1 of 4 val"), (0, None)])
def test_validation_rows_that_are_training_rows_are_counted_in_a_footnote(number, rows, tmp_path, empty_cache) -> None:
    texts = [*TEXTS[:number], *(f"new {text}" for text in TEXTS[number:])]
    validation = tmp_path / "dev.jsonl"
    validation.write_text("".join(json.dumps({"text": text, "label": "x"}) + "\n" for text in texts))
    task = load(tmp_path, {"text": TEXTS, "label": ["x", "y"] * 2}, validation_file=str(validation))
    assert [note.startswith(f"mine: {rows}") for note in task.footnotes] == ([] if rows is None else [True])


def test_a_file_of_labels_names_those_that_no_row_has(tmp_path, empty_cache) -> None:
    (tmp_path / "names.txt").write_text("z\nx\n\ny\n")
    columns = {"text": TEXTS, "label": list("xyxy")}
    assert load(tmp_path, columns, label_names=str(tmp_path / "names.txt")).problem.labels == ["z", "x", "y"]


@pytest.mark.parametrize(("text", "message"), [("", "is empty"), ("x\ny\nx", "names 'x' twice"), (None, "be read")])
def test_a_file_of_labels_names_each_once(text, message, tmp_path, empty_cache) -> None:
    if text is not None:
        (tmp_path / "names.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        load(tmp_path, {"text": TEXTS, "label": list("xyxy")}, label_names=str(tmp_path / "names.txt"))
