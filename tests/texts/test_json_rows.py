"""Rows of json files in each form that other programs write: each value stays as it is written."""

import json
from itertools import product

import pytest

from vocabless.texts.corpora import load_text
from vocabless.texts.tables import load_files, read_files

pytestmark = pytest.mark.usefixtures("empty_cache")
ROWS = [{"text": "a b", "label": "x"}, {"text": "c", "label": "007"}, {"text": "d", "label": None}]
NAMES = ["text", "label"]
BY_ROW = {str(number): row for number, row in enumerate(ROWS)}
BY_COLUMN = {name: [row[name] for row in ROWS] for name in NAMES}
CELLS = [[row["text"], row["label"]] for row in ROWS]


@pytest.mark.parametrize("text", [
    json.dumps(ROWS),
    "\n\n".join(map(json.dumps, ROWS)),
    ",\n".join(map(json.dumps, ROWS)) + ",\n",
    "\n".join(json.dumps(row, indent=2) for row in ROWS),
    " ".join(map(json.dumps, ROWS)),
    json.dumps({"version": "1", "data": ROWS, "ids": [1, 2]}),
    json.dumps({"schema": {"fields": [{"name": "text"}]}, "data": ROWS}, indent=1),
    json.dumps({"result": {"count": 3, "items": ROWS}}),
    json.dumps(BY_ROW),
    json.dumps({f"id {number}": row for number, row in BY_ROW.items()}),
    json.dumps(BY_COLUMN),
    json.dumps({"data": BY_COLUMN}),
    json.dumps({name: dict(enumerate(column)) for name, column in BY_COLUMN.items()}),
    json.dumps({"columns": NAMES, "index": [0, 1, 2], "data": CELLS}),
])  # fmt: skip
@pytest.mark.parametrize("streaming", [False, True])
def test_a_table_of_any_form_is_read(text, streaming, tmp_path) -> None:
    for name in ("a.json", "a.jsonl"):
        (tmp_path / name).write_text(text)
        assert list(load_files([str(tmp_path / name)], "", streaming=streaming)) == ROWS


def test_one_object_with_a_text_or_without_a_table_is_a_row(tmp_path) -> None:
    rows = [
        {"text": "one", "spans": [{"start": 1}], "meta": {"a": {"b": 1}, "c": {"b": 2}}},
        {"config": {"lang": ["en"]}, "docs": []},
    ]
    for row in rows:
        (tmp_path / "a.json").write_text(json.dumps(row))
        assert list(read_files([str(tmp_path / "a.json")])) == [row]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
@pytest.mark.quick("a.jsonl-False", "a.json-True")
def test_a_text_beside_values_of_other_types_is_read_as_it_is(name, streaming, tmp_path) -> None:
    texts = ["007", "true", "null", "{}", '"a"', "a", ""]
    for other, text in product([7, True, {"a": [7, {"b": "x"}]}], texts):
        for values in ([other, text], [text, [other]], [{"a": other}, {"a": text}], [[text, other], []]):
            lines = [json.dumps({"label": value, "text": "words"}) for value in values]
            file = tmp_path / name
            file.write_text("\n".join(lines) if name == "a.jsonl" else f"[{', '.join(lines)}]")
            assert [row["label"] for row in load_files([str(file)], "", streaming=streaming)] == values


def test_a_type_that_changes_after_many_rows_is_read_too(tmp_path) -> None:
    for last, values in (("007", [*range(1500), "007"]), (0.5, [*map(float, range(1500)), 0.5])):
        lines = [json.dumps({"text": "t", "label": value}) for value in [*range(1500), last]]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        assert read_files([str(tmp_path / "a.jsonl")])["label"][:] == values
    (tmp_path / "a.jsonl").write_text('{"text": "t"}\n' * 1500 + '{"text": "u", "label": "x"}')
    assert read_files([str(tmp_path / "a.jsonl")])["label"][:] == [*[None] * 1500, "x"]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_texts_that_look_like_times_are_read_as_they_are(name, streaming, tmp_path) -> None:
    times = ["2024-01-01", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05", None]
    rows = [
        {"text": f"text {number}", "label": time, "days": [time, "1999-12-31"], "more": {"at": time}, "number": number}
        for number, time in enumerate(times)
    ]
    file = tmp_path / name
    lines = [json.dumps(row) for row in rows]
    file.write_text("\n".join(lines) if name == "a.jsonl" else f"[{', '.join(lines)}]")
    assert list(load_files([str(file)], "", streaming=streaming)) == rows
    for text in ("2024-01-01", "2024-01-01T00:00:00"):  # a column of texts, from a cache that knows the file's content
        file.write_text(json.dumps({"text": text}))
        assert [row["text"] for row in load_text(str(file), streaming=streaming)] == [text]


def test_not_a_number_is_nothing(tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": NaN}\n{"text": "b", "label": "x"}')
    assert read_files([str(tmp_path / "a.jsonl")])["label"][:] == [None, "x"]
