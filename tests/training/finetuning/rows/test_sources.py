"""A user's own data: what it may lack, its columns and names, and mistakes, of which each is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from vocabless.texts import corpora
from vocabless.texts.corpora import load_text
from vocabless.training.finetuning.rows.sources import data_name, load_own_data
from vocabless.training.finetuning.tasks.arguments import DataArguments
from vocabless.training.finetuning.tasks.columns import PAIR_COLUMNS
from vocabless.training.finetuning.tasks.data import TaskData


def read(file: Path, text: str, **options: Any) -> TaskData:
    file.write_text(text, encoding="utf-8")
    return load_own_data(DataArguments(train_file=str(file), **options))


def load(folder: Path, columns: dict[str, list[Any]], **options: Any) -> TaskData:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return read(folder / "mine.jsonl", "\n".join(map(json.dumps, rows)), **options)


# Rows of which one has no text and one no label, in files of each kind.
ROWS = [{"text": text, "label": label} for text, label in [("a", "x"), ("", "x"), ("d", "y"), ("e", None)]]
GAPS = [
    ("mine.csv", 'text,label\na,x\n,x\n\n"two\nlines",y\n"in quotes",\nb,x\nc,y\n', "line 3 and no label in line 7"),
    ("mine.tsv", "text\tlabel\na\tx\n \tx\n\n\nd\ty\nin quotes\t\nb\tx\n", "line 3 and no label in line 7"),
    ("mine.jsonl", "\n\n".join(map(json.dumps, ROWS)), "line 3 and no label in line 7"),
    ("mine.json", json.dumps(ROWS, indent=1), "row 1 and no label in row 3"),
    ("mine.csv", "text,label\n" + ",x\n" * 13 + "a,\nb,\n",
     "lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more and no label in lines 15 and 16"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "places"), GAPS)
def test_all_empty_rows_are_named_by_their_lines_or_numbers(name, text, places, tmp_path, empty_cache) -> None:
    with pytest.raises(ValueError) as raised:
        read(tmp_path / name, text)
    assert str(raised.value) == f"{str(tmp_path / name)!r} has no text in {places}; fill them or drop them."


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_words_for_nothing_are_texts_and_labels(kind, tmp_path, empty_cache) -> None:
    words, file = ["NA", "None", "null", "nan", "N/A", "NULL", "x"] * 2, tmp_path / f"words.{kind}"
    rows = [json.dumps({"text": word, "label": word}) if kind == "jsonl" else f"{word},{word}" for word in words]
    lines = "\n".join(rows if kind == "jsonl" else ["text,label", *rows])
    task = read(file, lines, validation_file=str(file))
    assert task.train.texts == task.train.labels == load_text(str(file))["text"][:] == words


@pytest.mark.parametrize(("names", "flags", "columns"), [
    ("text,kind", {}, ("text", "kind")),
    ("label,message", {}, ("message", "label")),
    ("kind,message", {}, ("message", "kind")),
    ("kind,message", {"text_column": ["message"]}, ("message", "kind")),
])  # fmt: skip
def test_a_table_of_two_columns_needs_one_name_or_a_column_of_longer_texts(
    names, flags, columns, tmp_path, empty_cache
) -> None:
    is_last = names.endswith(("kind", "label"))
    rows = [(f"this is text {row}", "ab"[row % 2]) for row in range(20)]
    lines = "\n".join([names, *(",".join(row if is_last else row[::-1]) for row in rows)])
    task = read(tmp_path / "mine.csv", lines, **flags)
    told = [note for note in task.footnotes if "change it" in note]
    assert task.text_columns == columns[:1]
    assert task.problem.labels == ["a", "b"]
    text, label = columns
    assert told == [f"mine: the text is {text!r} and the label {label!r}; --text_column and --label_column change it"]


def test_two_columns_of_texts_that_are_alike_are_not_told_apart(tmp_path, empty_cache) -> None:
    with pytest.raises(ValueError, match="no column text or sentence and no column label or labels or tags"):
        read(tmp_path / "mine.csv", "\n".join(["one,two", *(f"text {row},other {row}" for row in range(20))]))
    with pytest.raises(ValueError, match="train has no column sort; its columns are text, kind: give one by --label_c"):
        read(tmp_path / "mine.csv", "text,kind\na b c,x\nd e f,y\n", label_column=["sort"])


def test_a_text_with_several_labels_may_have_none(tmp_path, empty_cache) -> None:
    file = tmp_path / "mine.csv"
    task = read(file, "text,label\na,x; y\nb,\nc,y\n", label_separator=";", validation_file=str(file))
    assert task.train.labels == [["x", "y"], [], ["y"]]
    assert task.problem.target([]).tolist() == [0, 0]
    rows = "text,a,b\nt,x,\nu,,\nv,,y\nw,x,y\n"
    task = read(file, rows, label_column=["a", "b"], validation_file=str(file))
    assert task.train.labels == [["x"], [], ["y"], ["x", "y"]]


@pytest.mark.parametrize("names", PAIR_COLUMNS)
def test_usual_names_of_pairs_are_found(names, tmp_path, empty_cache) -> None:
    first, second = names
    file = tmp_path / "mine.csv"
    task = read(file, f"{second},label,{first}\nc,x,a\nd,y,b\n", validation_file=str(file))
    assert (task.text_columns, task.train.texts, task.train.pairs) == (names, ["a", "b"], ["c", "d"])
    task = read(file, f"{second},label,{first},text\nc,x,a,e\nd,y,b,f\n", validation_file=str(file))
    assert (task.text_columns, task.train.texts, task.train.pairs) == (("text",), ["e", "f"], None)


@pytest.mark.parametrize(("file", "name"), [
    ("spam.csv", "spam"),
    ("train.csv", "train"),
    ("data/train.csv", "train"),
    ("spam/train.csv", "spam"),
    ("spam/data/train-00000-of-00002.parquet", "spam"),
    ("../other/train.csv", "other"),
    ("{here}/train.csv", "train"),
    ("{here}/spam/train.csv", "spam"),
    ("beasts\nof prey.csv", "beasts of prey"),
    ("data/spam.csv.gz", "spam"),
])  # fmt: skip
def test_data_have_the_name_of_their_file_or_of_another_folder_than_the_users(file, name, tmp_path, monkeypatch):
    here = tmp_path / "clone" / "work"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    assert data_name(DataArguments(train_file=file.format(here=here))) == name


def test_a_data_set_of_the_hub_has_a_configuration_and_a_revision(monkeypatch) -> None:
    asked = []
    rows = Dataset.from_dict({"text": ["a", "b"], "label": ["x", "y"]})
    tables = {"train": rows, "validation": rows}
    monkeypatch.setattr(corpora, "load_dataset", lambda **options: asked.append(options) or tables)
    arguments = DataArguments(dataset_name="you/films:small@v2")
    assert load_own_data(arguments).name == data_name(arguments) == "films-small"
    assert asked == [{"path": "you/films", "name": "small", "revision": "v2"}]


def test_columns_are_found_in_any_case_and_with_white_space(tmp_path, empty_cache) -> None:
    test = tmp_path / "new.csv"
    test.write_text("label,text,GROUP\nx,c,1\n")
    rows = "\ufeffText , LABEL,Group\na,x,1\nb,y,2\n"
    for options in ({}, {"text_column": ["text"], "label_column": [" Label"], "group_column": "group"}):
        task = read(tmp_path / "mine.csv", rows, validation_file=str(test), test_file=str(test), **options)
        assert (task.train.texts, task.train.labels, task.text_columns) == (["a", "b"], ["x", "y"], ("Text ",))
        assert (task.validation[""].texts, task.test[""].labels) == (["c"], ["x"])
    with pytest.raises(ValueError, match="no column text or sentence; its columns are Text, TEXT, label"):
        read(tmp_path / "mine.csv", "Text,TEXT,label\na,b,x\n")  # which one?
    task = read(tmp_path / "mine.csv", "Text,text,label\na,b,x\nc,d,y\n", validation_file=str(test))
    assert task.train.texts == ["b", "d"]
    pairs = read(tmp_path / "mine.csv", "Sentence1,Sentence2 ,Label\na,b,x\nc,d,x\ne,f,y\ng,h,y\n")
    assert pairs.text_columns == ("Sentence1", "Sentence2 ")


def test_columns_within_objects_have_names_with_dots(tmp_path, empty_cache) -> None:
    columns = {"data": [{"text": text} for text in TEXTS], "cats": [{"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 1.0}] * 2}
    task = load(tmp_path, columns, text_column=["data.text"], label_column=["cats.x", "cats.y"])
    assert task.problem.labels == ["cats.x", "cats.y"] and ["cats.y"] in task.train.labels


def test_columns_that_are_missing_are_told_together(tmp_path, empty_cache) -> None:
    rows = "body,kind,who\na,x,me\n"
    with pytest.raises(
        ValueError, match=r"no column text or sentence and no column label or .*by --text_.* by --label"
    ):
        read(tmp_path / "mine.csv", rows)
    with pytest.raises(
        ValueError, match=r"^train has no column label or labels or tags; its columns are body, kind, who"
    ):
        read(tmp_path / "mine.csv", rows, text_column=["body"])


def test_a_tag_for_each_word_is_left_to_the_page_of_taggers(tmp_path, empty_cache) -> None:
    options = {"text_column": ["tokens"], "label_column": ["ner_tags"]}
    with pytest.raises(ValueError, match=r"'tokens' of train holds lists, .*'Train a tagger' in docs/pipelines\.md"):
        load(tmp_path, {"tokens": [["a"], ["b"]], "ner_tags": [[0], [1]]}, **options)
    with pytest.raises(ValueError, match=r"mine\.conll' has a word and its tag in each line, .*docs/pipelines\.md"):
        read(tmp_path / "mine.conll", "EU B-ORG\n")


TEXTS = ["a b", "c d", "e f", "g h"]
XY, SINGLE = ["x", "y"] * 2, "single_label_classification"


@pytest.mark.parametrize(("columns", "problem_type", "sentence"), [
    ({"label": [0.5, 1.5, float("inf"), 2.0]}, None, "row 2 of train .* the label inf is not a finite number"),
    ({"label": [0.5, float("nan")] * 2}, SINGLE, "has no label in lines 2 and 4; fill them or drop them"),
    ({"label": ["1", "2", "nan", "3"]}, "regression", "row 2 of train .* 'nan' is not a finite number; mend"),
    ({"label": [["a", "b"]] * 4}, SINGLE, "row 0 of train .* is a list"),
    ({"label": [[{"a": 1}]] * 4}, None, "the column 'label' holds lists of objects; labels are"),
    ({"label": [{"a": 1}] * 4}, None, "the train rows have 1 label .1.; single"),
    ({"label": ["['a']", 1, "x", "x"]}, None, "the column 'label' holds values of several types; labels are"),
    ({"a": [0.0] * 4, "b": [0.0, float("inf"), 1.0, 1.0]}, None, "row 1 of train .* the label inf is not"),
    ({"label": XY, "text": [1, "b", "c", "d"]}, None, "'text' of train holds values of several types, not text"),
    ({"label": XY, "text": [["a"], "b", "c", "d"]}, None, "'text' of train holds values of several types, not"),
    ({"label": XY, "text": [{"a": 1}] * 4}, None, "the column 'text.a' of train holds int64, not text; name"),
    ({"label": XY, "text": [["a b", "c d"]] * 4}, None, r"holds lists, not text; .* as pandas' explode\('text'\) does"),
])  # fmt: skip
def test_a_text_or_a_label_that_does_not_fit_is_named(columns, problem_type, sentence, tmp_path, empty_cache) -> None:
    options = {"problem_type": problem_type} | ({"label_column": ["a", "b"]} if "a" in columns else {})
    with pytest.raises(ValueError, match=sentence):
        load(tmp_path, {"text": TEXTS, **columns}, **options)


def test_groups_stay_with_their_rows_may_be_lists_and_an_empty_cell_is_one_of_its_own(tmp_path, empty_cache) -> None:
    def parts(texts: list[str], groups: list[Any], share: int) -> list[list[str]]:
        columns = {"text": texts, "label": ["x", "y"] * (len(texts) // 2), "group": groups}
        task = load(tmp_path, columns, group_column="group", validation_split_percentage=share)
        return [task.train.texts, task.validation[""].texts]

    for part in parts(list("abcdef"), [0, 0, 1, 1, 2, 2], 50):
        assert part and (("c" in part) == ("d" in part)) and (("e" in part) == ("f" in part))
    assert sorted(parts(TEXTS * 2, [["a", "b"], ["a", "b"], ["c"], ["c"]] * 2, 50)[1]) in (
        sorted(TEXTS[:2] * 2), sorted(TEXTS[2:] * 2)
    )  # fmt: skip
    assert len(parts([f"word {number}" for number in range(8)], ["", None] * 4, 25)[1]) == 2


@pytest.mark.parametrize(("number", "rows"), [(4, "4 of 4 validation rows have"), (1, "1 of 4 val"), (0, None)])
def test_validation_rows_that_are_training_rows_are_counted_in_a_footnote(number, rows, tmp_path, empty_cache) -> None:
    texts = [*TEXTS[:number], *(f"new {text}" for text in TEXTS[number:])]
    validation = tmp_path / "dev.jsonl"
    validation.write_text("".join(json.dumps({"text": text, "label": "x"}) + "\n" for text in texts))
    task = load(tmp_path, {"text": TEXTS, "label": ["x", "y"] * 2}, validation_file=str(validation))
    assert [note.startswith(f"mine: {rows}") for note in task.footnotes] == ([] if rows is None else [True])


def test_copies_that_differ_in_case_marks_or_space_are_held_out_together_and_counted(tmp_path, empty_cache) -> None:
    texts = [f"Word {word}" for word in "abcdefgh"]
    copies = [copy for text in texts for copy in (text, text.upper(), f"{text}!", text.replace(" ", "  "))]
    (tmp_path / "test.jsonl").write_text('{"text": "word a."}\n{"text": "other"}\n')
    columns = {"text": copies, "label": ["x", "y"] * 16}
    task = load(tmp_path, columns, validation_split_percentage=25, test_file=str(tmp_path / "test.jsonl"))
    parts = task.train, task.validation[""]
    train, held_out = ({text.lower().strip("!").split()[1] for text in part.texts} for part in parts)
    assert len(task.validation[""]) == 8 and len(held_out) == 2 and not train & held_out
    assert "mine: 24 of 32 training rows are copies of others" in task.footnotes[1]
    assert task.footnotes[-1].startswith("mine: 1 of 2 test rows have the texts of training rows")


@pytest.mark.parametrize("number", [2, 4, 40])
@pytest.mark.parametrize("texts", [2, 3, 40])
def test_each_label_is_learned_whatever_is_held_out(number, texts, tmp_path, empty_cache) -> None:
    rows = [(f"text {row % texts}", f"label {row % number}") for row in range(400)]
    columns = {"text": [text for text, _ in rows], "label": [label for _, label in rows]}
    try:
        task = load(tmp_path, columns, validation_split_percentage=20)
    except ValueError as error:
        assert f"none of the {texts} different training texts or groups can be held out, since no other" in str(error)
        kept = [{label for text, label in rows if text != f"text {each}"} for each in range(texts)]
        assert all(len(labels) < number for labels in kept)
    else:
        assert len(task.validation[""]) and set(task.train.labels) == {label for _, label in rows}
