"""Texts that fastText and Label Studio labelled."""

import json

import pytest

from vocabless.texts.tables import read_files

pytestmark = pytest.mark.usefixtures("empty_cache")


def read(file, text):
    file.write_text(text, encoding="utf-8")
    return list(read_files([str(file)]))


@pytest.mark.parametrize("name", ["a.txt", "a.train", "a.csv"])
def test_lines_of_fasttext_are_texts_with_a_label_or_several(name, tmp_path) -> None:
    one = "__label__x the first, long\n\n__label__y-z\tthe second\n"
    assert read(tmp_path / name, one) == [
        {"text": "the first, long", "label": "x"},
        {"text": "the second", "label": "y-z"},
    ]
    several = read(tmp_path / name, f"{one}__label__x __label__y the third\n")
    assert [row["label"] for row in several] == [["x"], ["y-z"], ["x", "y"]]


def task(text, *annotations, **more):
    parts = [{"result": [choices], "was_cancelled": choices is None} for choices in annotations]
    return {"id": 1, "data": {"text": text}, "annotations": parts, **more}


def choice(*names):
    return {"from_name": "kind", "to_name": "text", "type": "choices", "value": {"choices": [*names]}}


def test_a_task_of_label_studio_is_a_row_for_each_annotation(tmp_path) -> None:
    tasks = [task("a", choice("x")), task("b", choice("x"), None, choice("y"), predictions=[]), task("c")]
    found = read(tmp_path / "a.json", json.dumps(tasks, indent=1))
    assert [(row["text"], row["kind"]) for row in found] == [("a", "x"), ("b", "x"), ("b", "y"), ("c", None)]
    found = read(tmp_path / "a.json", json.dumps([*tasks, task("d", choice("x", "y"))]))
    assert [row["kind"] for row in found] == [["x"], ["x"], ["y"], None, ["x", "y"]]
