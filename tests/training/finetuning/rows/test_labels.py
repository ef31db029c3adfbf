"""Cells of label columns: codes, numbers, marks, lists as text, and spaces."""

import json

import pytest

from vocabless.training.finetuning.rows.sources import describe_own_data, load_own_data
from vocabless.training.finetuning.tasks.arguments import DataArguments

pytestmark = pytest.mark.usefixtures("empty_cache")
TWO = {"label_column": ["noise", "dirt"]}


def load(folder, cells, test=(), **options):
    """The task of rows with these cells, which a file of the same rows validates."""
    for name, rows in (("train", cells), ("test", test)) if test else [("train", cells)]:
        file, header = folder / f"{name}.csv", ",".join(["text", *options.get("label_column", ["label"])])
        if isinstance(rows[0], dict):
            file, header = folder / f"{name}.jsonl", ""
        texts = [f"t{number}" for number in range(len(rows))]
        lines = [
            json.dumps({"text": text} | row) if isinstance(row, dict) else f"{text},{row}"
            for text, row in zip(texts, rows, strict=True)
        ]
        file.write_text("\n".join([header, *lines]))
        options[f"{name}_file"] = str(file)
    options["validation_file"] = options["train_file"]
    task = load_own_data(DataArguments(**options))
    return task, describe_own_data(task, options.get("problem_type"))


CODES = ["007", "010"]
SINGLE = {"problem_type": "single_label_classification"}


@pytest.mark.parametrize(("cells", "test", "labels", "tested", "options"), [
    (CODES, ["007"], CODES, ["007"], {}),
    (["007", "x"], ["007"], ["007", "x"], ["007"], {}),  # a file of codes alone, too
    (CODES, [{"label": "010"}], CODES, ["010"], {}),
    ([{"label": code} for code in CODES], ["010"], CODES, ["010"], {}),
    (["1", "0"], ["1.0"], ["0", "1"], ["1"], {}),
    (["0.5", "2"], ["3"], [], [3.0], {}),
    (["3.0"] * 3 + ["4.0"], [], [], None, {"problem_type": "regression"}),
    (["4%", "7 %"], ["4%"], ["4%", "7 %"], ["4%"], SINGLE),
    (["1.10", "1.1"], ["1.10"], ["1.1", "1.10"], ["1.10"], SINGLE),
    (["true", "FALSE"], ["True"], ["False", "True"], ["True"], {}),
    ([" a", "b  "], ["a "], ["a", "b"], ["a"], {}),
    (["a ; b", "b"], [], ["a", "b"], None, {"label_separator": ";"}),
    ([""""['a', 'b ']\"""", """"[]\""""], ["['b']"], ["a", "b"], [["b"]], {}),
    (['"[""a"", ""b""]"', "b"], [], ["a", "b"], None, {"label_separator": ","}),
    (["[a]", "[b]"], [], ["[a]", "[b]"], None, {}),
    (["0,1", "0,0", ",1"], ["1,1"], ["noise", "dirt"], [["noise", "dirt"]], TWO),
    (["True,FALSE", "false,true"], [], ["noise", "dirt"], None, TWO),
    ([{"noise": True, "dirt": 0}, {"noise": False, "dirt": 1.0}], [], ["noise", "dirt"], None, TWO),
    (["a,b", ",b"], [], ["a", "b"], None, TWO),
])  # fmt: skip
def test_labels_are_read(cells, test, labels, tested, options, tmp_path) -> None:
    task, described = load(tmp_path, cells * 2, test, **options)
    assert task.problem.labels == labels
    assert all("rows have the texts of training rows" in line for line in described.splitlines()[1:])
    assert (task.test[""].labels if task.test else None) == tested


@pytest.mark.parametrize("cells", [["1", "2", "1"], ["a", "b", "a"], ["0.5", "2", "3"], ["true", "false", "true"]])
def test_test_rows_without_labels_have_none_whatever_the_labels_of_training_are(cells, tmp_path) -> None:
    (tmp_path / "plain.csv").write_text("text\nt\nt")
    task, _ = load(tmp_path, cells, test_file=str(tmp_path / "plain.csv"))
    assert task.test[""].labels is None and len(task.test[""]) == 2


def test_marks_in_columns_are_the_labels_of_their_rows(tmp_path) -> None:
    task, _ = load(tmp_path, ["0,1", "0,0", "1,1"], **TWO)
    assert task.train.labels == [["dirt"], [], ["noise", "dirt"]]


@pytest.mark.parametrize(("cells", "test", "options", "sentence"), [
    (["['a' 'b']", "x"], [], {}, r"the label \"\['a' 'b'\]\" is no list; write \['a', 'b'\]"),
    (['"[a, b]"', "x"], [], {}, r"the label '\[a, b\]' is no list; write"),
    (["0,1", "1,0"], ["1,2"], TWO, r"row 0 of test has \['1', '2'\]; give 0 or 1 for each of noise, dirt"),
    (["a", "  "], [], {}, "has no label in line 3; fill"),
])  # fmt: skip
def test_labels_that_would_be_misread_are_named(cells, test, options, sentence, tmp_path) -> None:
    with pytest.raises(ValueError, match=sentence):
        load(tmp_path, cells, test, **options)


NUMBER = "regression"
NAME = "single_label_classification"


@pytest.mark.parametrize(("cells", "problem_type", "found"), [
    (["1.0", "0.0"] * 2, None, ["1", "0"] * 2),  # as pandas writes them beside an empty cell
    ([{"label": 1.0}, {"label": 0.0}] * 2, None, ["1", "0"] * 2),
    (["1.0", "0.0"] * 2, NUMBER, [1.0, 0.0] * 2),
    (["1.0", "2.0", "3.0"], None, [1.0, 2.0, 3.0]),
    (["1.0", "0.5"] * 2, None, [1.0, 0.5] * 2),
    (['"3,5"', '"1,25"', "4", '"-0,5"'], None, [3.5, 1.25, 4.0, -0.5]),
    (['"3,5"', '"1,25"'], NAME, ["3,5", "1,25"]),
    (['"1,200"', '"3,5"'], None, ["1,200", "3,5"]),  # perhaps thousands
    (["10%", "2.5 %", '"3,5%"'], None, [10.0, 2.5, 3.5]),
    (["7%", "19%"] * 2, None, ["7%", "19%"] * 2),
    (["7%", "19%"] * 2, NUMBER, [7.0, 19.0] * 2),
    ([{"label": ["a"]}, {"label": ["b"]}], NAME, ["a", "b"]),
    (['"{""choices"":[""a"",""b""]}"', "a"], None, [["a", "b"], ["a"]]),  # of Label Studio
])  # fmt: skip
def test_numbers_that_people_and_programs_write_are_read(cells, problem_type, found, tmp_path) -> None:
    options = {"problem_type": problem_type} if problem_type else {}
    assert load(tmp_path, cells, **options)[0].train.labels == found
