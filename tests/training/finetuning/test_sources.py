"""A user's own data: what it may lack, its columns and names, and mistakes, of which each is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.data import TaskData
from vocabless.training.finetuning.sources import data_name, load_own_data
from vocabless.training.texts import corpora

MODEL = "hashformer-lsh-proj-tiny"


def read(file: Path, text: str, **options: Any) -> TaskData:
    file.write_text(text, encoding="utf-8")
    return load_own_data(GlueArguments(model_name_or_path=MODEL, train_file=str(file), **options))


# Suffix → rows of which one has no text and one no label.
ROWS = [("a", "x"), ("", "x"), ("d", "y"), ("e", None), ("b", "x"), ("c", "y")]
GAPS = {
    "csv": 'text,label\na,x\n,x\n\n"two\nlines",y\n"in quotes",\nb,x\nc,y\n',
    "tsv": "text\tlabel\na\tx\n \tx\n\n\nd\ty\nin quotes\t\nb\tx\nc\ty\n",
    "jsonl": "\n\n".join(json.dumps({"text": text, "label": label}) for text, label in ROWS),
}


@pytest.mark.parametrize(("suffix", "text", "label"), [("csv", 3, 7), ("tsv", 3, 7), ("jsonl", 3, 7)])
def test_all_empty_rows_are_named_by_their_lines(suffix, text, label, tmp_path, empty_cache) -> None:
    file = tmp_path / f"mine.{suffix}"
    with pytest.raises(ValueError) as raised:
        read(file, GAPS[suffix])
    assert str(raised.value) == (
        f"{str(file)!r} has no text in line {text} and no label in line {label}; fill them or drop them."
    )


def test_ten_empty_rows_are_named_and_the_others_counted(tmp_path, empty_cache) -> None:
    with pytest.raises(ValueError, match="no text in lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more and no label in"):
        read(tmp_path / "mine.csv", "text,label\n" + ",x\n" * 13 + "a,\nb,\n")


def test_rows_of_files_without_lines_are_counted_from_zero(tmp_path, empty_cache) -> None:
    rows = [{"text": text, "label": label} for text, label in [("a", "x"), (None, "y"), ("b", None)]]
    with pytest.raises(ValueError, match=r"mine\.json' has no text in row 1 and no label in row 2;"):
        read(tmp_path / "mine.json", json.dumps(rows, indent=1))


def test_groups_stay_with_their_rows(tmp_path, empty_cache) -> None:
    rows = "".join(f"{text},{'xy'[row % 2]},{row // 2}\n" for row, text in enumerate("abcdef"))
    task = read(tmp_path / "mine.csv", "text,label,group\n" + rows, group_column="group",
                validation_split_percentage=50)  # fmt: skip
    for part in (task.train.texts, task.validation[""].texts):
        assert part and (("c" in part) == ("d" in part)) and (("e" in part) == ("f" in part))


def test_a_text_with_several_labels_may_have_none(tmp_path, empty_cache) -> None:
    file = tmp_path / "mine.csv"
    task = read(file, "text,label\na,x; y\nb,\nc,y\n", label_separator=";", validation_file=str(file))
    assert task.train.labels == [["x", "y"], [], ["y"]]
    assert task.problem.target([]).tolist() == [0, 0]
    rows = "text,a,b\nt,x,\nu,,\nv,,y\nw,x,y\n"
    task = read(file, rows, label_column=["a", "b"], validation_file=str(file))
    assert task.train.labels == [["x"], [], ["y"], ["x", "y"]]


@pytest.mark.parametrize(
    "names", [("sentence1", "sentence2"), ("text1", "text2"), ("premise", "hypothesis"), ("question1", "question2")]
)
def test_usual_names_of_pairs_are_found(names, tmp_path, empty_cache) -> None:
    first, second = names
    file = tmp_path / "mine.csv"
    task = read(file, f"{second},label,{first}\nc,x,a\nd,y,b\n", validation_file=str(file))
    assert (task.text_columns, task.train.texts, task.train.pairs) == (names, ["a", "b"], ["c", "d"])
    task = read(file, f"{second},label,{first},text\nc,x,a,e\nd,y,b,f\n", validation_file=str(file))
    assert (task.text_columns, task.train.texts, task.train.pairs) == (("text",), ["e", "f"], None)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("spam.csv", "spam"),
        ("train.csv", "train"),
        ("data/train.csv", "train"),
        ("spam/train.csv", "spam"),
        ("spam/data/train-00000-of-00002.parquet", "spam"),
        ("../other/train.csv", "other"),
        ("{here}/train.csv", "train"),
        ("{here}/spam/train.csv", "spam"),
    ],
)
def test_data_have_the_name_of_their_file_or_of_a_folder_that_is_not_the_users(
    file, name, tmp_path, monkeypatch
) -> None:
    here = tmp_path / "clone" / "work"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    assert data_name(GlueArguments(model_name_or_path=MODEL, train_file=file.format(here=here))) == name


def test_a_data_set_of_the_hub_has_a_configuration_and_a_revision(monkeypatch) -> None:
    asked = []
    rows = Dataset.from_dict({"text": ["a", "b"], "label": ["x", "y"]})
    tables = {"train": rows, "validation": rows}
    monkeypatch.setattr(corpora, "load_dataset", lambda **options: asked.append(options) or tables)
    arguments = GlueArguments(model_name_or_path=MODEL, dataset_name="you/films:small@v2")
    assert load_own_data(arguments).name == data_name(arguments) == "films-small"
    assert asked == [{"path": "you/films", "name": "small", "revision": "v2"}]


def load(folder: Path, columns: dict[str, list[Any]], **options: Any) -> TaskData:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    file = folder / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load_own_data(GlueArguments(model_name_or_path=MODEL, train_file=str(file), **options))


TEXTS = ["a b", "c d", "e f", "g h"]


def test_a_number_of_several_columns_is_checked_too(tmp_path, empty_cache) -> None:
    columns = {"text": TEXTS, "a": [0.0] * 4, "b": [0.0, float("nan"), 1.0, 1.0]}
    with pytest.raises(ValueError, match=r"row 1 of train has the label \[0.0, nan\] in 'a'"):
        load(tmp_path, columns, label_column=["a", "b"])


@pytest.mark.parametrize(
    ("labels", "problem_type", "sentence"),
    [
        ([0.5, 1.5, float("inf"), 2.0], None, "row 2 of train has the label inf in 'label'; give a finite number"),
        ([0.5, float("nan")] * 2, "single_label_classification", "row 1 of train has the label nan in 'label'; give"),
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


def test_copies_that_differ_in_case_marks_or_space_are_held_out_together_and_counted(tmp_path, empty_cache) -> None:
    texts = [f"Word {word}" for word in "abcdefgh"]
    copies = [
        form(text) for text in texts for form in (str, str.upper, lambda t: f"{t}!", lambda t: t.replace(" ", "  "))
    ]
    (tmp_path / "test.jsonl").write_text('{"text": "word a."}\n{"text": "other"}\n')
    columns = {"text": copies, "label": ["x", "y"] * 16}
    task = load(tmp_path, columns, validation_split_percentage=25, test_file=str(tmp_path / "test.jsonl"))
    train, held_out = (
        {text.lower().strip("!").split()[1] for text in part.texts} for part in (task.train, task.validation[""])
    )
    assert len(task.validation[""]) == 8 and len(held_out) == 2 and not train & held_out
    assert "mine: 24 of 32 training rows are copies of others" in task.footnotes[0]
    assert task.footnotes[-1].startswith("mine: 1 of 2 test rows have the texts of training rows")


def test_an_empty_cell_of_the_group_column_is_a_group_of_its_own(tmp_path, empty_cache) -> None:
    columns = {"text": [f"word {number}" for number in range(8)], "label": ["x", "y"] * 4, "group": ["", None] * 4}
    task = load(tmp_path, columns, group_column="group", validation_split_percentage=25)
    assert len(task.validation[""]) == 2
