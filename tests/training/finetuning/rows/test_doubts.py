"""Doubts about own data: each is one line at the top and a footnote of the table, and clean data have none."""

import json
import re

import pytest

from vocabless.training.finetuning.rows.sources import describe_own_data, load_own_data
from vocabless.training.finetuning.tasks.arguments import DataArguments

pytestmark = pytest.mark.usefixtures("empty_cache")
XY = ["x", "y"] * 3
TEXTS = [f"text {number}" for number in range(20)]


def load(folder, columns, **options):
    """The task of a file with these columns, and what is said of it but for its first line."""
    names = [*columns] if "text" in columns or "text_column" in options else ["text", *columns]
    columns = {"text": TEXTS[: len(next(iter(columns.values())))]} | columns
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(columns[name] for name in names), strict=True)]
    file = folder / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return load_file(file, **options)


def load_file(file, **options):
    task = load_own_data(DataArguments(train_file=str(file), **options), scores_folds=True)
    said, shown = [f"{note}." for note in task.footnotes], describe_own_data(task, options.get("problem_type"))
    assert (
        shown.splitlines()[1:3] == said[:2]
        and len(shown.splitlines()) <= 4
        and not any(re.search(r"[.?] *\.$", line) for line in said)
    )
    return task, said


@pytest.mark.parametrize(("cells", "sentence"), [
    ([1.0, 0.0] * 3, "mine: the whole numbers 0 and 1 are read as names of classes; --problem_type regression reads"),
    (["7%", "19 %"] * 3, "labels such as '19 %' look like numbers, but are read as names; write numbers as 1200.5"),
    (["1.200,5", "12,50 €"] * 3, "labels such as '1.200,5' look like numbers"),
    ([["x"], ["y"]] * 3, "each list has one label; if no text can have several, give --problem_type single_label_"),
    (["a, b", "a", "b"] * 2, "labels such as 'a, b' seem to be several in a cell; --label_separator ',' divides them"),
    (["a;b;", "b;"] * 3, "labels such as 'a;b;' and 'b;' seem to be several in a cell; --label_separator ';' divides"),
    (["a\nb", "a", "b"] * 2, r"labels such as 'a\nb' seem to be several in a cell; --label_separator '\n' divides"),
    (["Kind", *XY], "1 of 3 labels have one row only, such as 'Kind'; add rows, or drop such labels"),
    ([*XY, "v", "w"], "2 of 4 labels have one row only, such as 'v' and 'w'; add rows, or drop such labels"),
    ([*XY, "X", "X"], "mine: labels differ by case alone: X/x."),
])  # fmt: skip
def test_labels_that_may_mean_something_else_are_told(cells, sentence, tmp_path) -> None:
    _, said = load(tmp_path, {"label": cells})
    assert len(said) == 1 and sentence in said[0]


@pytest.mark.parametrize("cells", [
    XY, [0, 1] * 3, ["007", "010"] * 3, [0.5, 1.0] * 3, ["Sport/Ball", "Sport/Run", "News"] * 2,
    ["Austin, TX", "Buffalo, NY"] * 3, ["1.2.3", "x"] * 3, [["x"], ["x", "y"]] * 3, ["no", "no way, never"] * 3,
])  # fmt: skip
def test_clean_labels_have_no_doubt(cells, tmp_path) -> None:
    assert load(tmp_path, {"label": cells})[1] == []


def test_a_separator_can_be_a_line_end(tmp_path) -> None:
    task, _ = load(tmp_path, {"label": ["a\nb", "a", "b"] * 2}, label_separator=r"\n")
    assert task.train.labels == [["a", "b"], ["a"], ["b"]] * 2


def test_numbers_with_a_comma_are_told_also_as_several_labels(tmp_path) -> None:
    for cells, more in ((["3,5", "1,25", "0,5"], ", --label_separator several labels"), (["5%", "7.5%", "9%"], "")):
        (tmp_path / "mine.csv").write_text(
            "text;label\n" + "".join(f"t {row};{cell}\n" for row, cell in enumerate(cells * 2))
        )
        _, said = load_file(tmp_path / "mine.csv", delimiter=";")
        reading = f"are read as numbers; --problem_type single_label_classification reads names{more}"
        assert said[0] == f"mine: labels such as {cells[0]!r} {reading}."


def test_texts_with_two_labels_are_counted_whatever_their_case_marks_and_space(tmp_path) -> None:
    texts = ["A text", "a  TEXT!", "b", "b", "c", "d"]
    _, said = load(tmp_path, {"text": texts, "label": ["x", "y", "y", "x", "x", "y"]})
    assert said[0].startswith(
        "mine: 2 of 4 texts have several labels, such as 'A text' ('x' and 'y'); drop the wrong rows; "
    )
    _, said = load(tmp_path, {"text": texts, "label": [["x", "y"], ["x"], ["y"], ["y"], ["x"], []]})
    assert said[0].startswith("mine: 1 of 4 texts have several labels, such as 'A text' ('x, y' and 'x'); ")
    _, said = load(tmp_path, {"text": texts, "label": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]})
    assert "copies" in said[0] and "labels" not in " ".join(said)


def test_rows_that_an_annotator_rejected_are_left_out_and_counted(tmp_path) -> None:
    answers = ["accept", "reject", "ignore", None, "accept", "accept", "accept", "accept"]
    task, said = load(tmp_path, {"label": ["x", "y"] * 4, "answer": answers})
    assert task.train.texts == [TEXTS[row] for row in (0, 3, 4, 5, 6, 7)]
    assert said[0] == "mine: 2 of 8 training rows are left out: their answer is reject or ignore."
    task, _ = load(tmp_path, {"text": TEXTS[:8], "answer": answers[:3] * 2 + ["accept"] * 2}, label_column=["answer"])
    assert len(task.train) == 8  # it is the label
    task, said = load(tmp_path, {"label": ["x", "y"] * 4, "answer": ["reject", "yes"] * 4})
    assert len(task.train) == 8 and said == []  # it is not that of Prodigy
    with pytest.raises(ValueError, match=r"no text in line 4; fill"):
        load(tmp_path, {"text": ["a", "", "b", "", "c", "d", "e", "f"], "label": [*XY, "x", "y"], "answer": answers})


def test_rows_that_another_column_rejects_are_told(tmp_path) -> None:
    for state in (["Approved", "Rejected", "Submitted"], ["submitted", "discarded", None]):
        task, said = load(tmp_path, {"label": XY, "status": state * 2})
        assert said == ["mine: 2 of 6 rows are rejected by the column 'status', but read; drop those that are wrong."]
        assert len(task.train) == 6
    assert load(tmp_path, {"label": XY, "status": ["approved"] * 6, "kind": ["reject", "other"] * 3})[1] == []
    assert load(tmp_path, {"label": ["approved", "rejected"] * 3})[1] == []


def test_further_headers_of_a_survey_are_left_out(tmp_path) -> None:
    rows = ["Q1,Q2", '"Why, please?",Which?', '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"']
    rows += [f"t {number},{'xy'[number % 2]}" for number in range(6)]
    (tmp_path / "mine.csv").write_text("\n".join(rows))
    task, said = load_file(tmp_path / "mine.csv", text_column=["Q1"], label_column=["Q2"])
    assert task.problem.labels == ["x", "y"] and len(task.train) == 6
    assert said == ["mine: 2 of 8 training rows are left out: they are further headers of Qualtrics."]


@pytest.mark.parametrize("error", ["#NAME?", "#N/A", "#REF!", "#WERT!", "#¡VALOR!", "#ССЫЛКА!"])
def test_errors_of_a_spreadsheet_are_empty_cells(error, tmp_path) -> None:
    told = re.escape(f"(errors of a spreadsheet count as empty cells: {error} (2)); fill")
    with pytest.raises(ValueError, match=f"no text in line 2 and no label in line 3 {told}"):
        load(tmp_path, {"text": ["a", error, *"cdef"], "label": ["x", "y", f" {error}", "y", "x", "y"]})
    task, said = load(tmp_path, {"label": [error, "x;y", "x", "y", "x", "y"]}, label_separator=";")
    assert task.train.labels[0] == [] and task.problem.labels == ["x", "y"]
    assert said == [f"mine: errors of a spreadsheet count as empty cells: {error} (1)."]
    assert load(tmp_path, {"text": ["#WOW!", "#1", "#", "#na", "#N", "#REF"], "label": XY})[0].train.texts[0] == "#WOW!"


def test_a_test_label_that_is_not_learned_is_a_footnote(tmp_path) -> None:
    (tmp_path / "new.jsonl").write_text('{"text": "new", "label": "Y"}\n{"text": "other", "label": "x"}')
    _, said = load(tmp_path, {"label": XY}, test_file=str(tmp_path / "new.jsonl"))
    assert said == ["mine: 1 of 2 test rows have labels of no training row, Y, which count as mistakes."]


@pytest.mark.parametrize("rows", [
    ["a text,x", "another one,y", "a third,x"], ["x,a text", "y,another one", "x,a third"], ["a text,0.5", "b,0.7"],
])  # fmt: skip
def test_a_header_that_is_a_row_is_told(rows, tmp_path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("\n".join(rows))
    with pytest.raises(ValueError, match=r"they seem to be a row; write a first line with the names .*text,label\."):
        load_file(file)
    first, second = rows[0].split(",")
    columns = [first, second] if " " in first else [second, first]
    more = [row.replace("a", f"{number}") for number in range(3) for row in rows]
    file.write_text("\n".join([*rows, *more]))
    _, said = load_file(file, text_column=columns[:1], label_column=columns[1:])
    assert said[0].startswith("mine: the names of columns seem to be a row, which is not read; write names above it")


def test_a_header_of_questions_or_of_pandas_is_no_row(tmp_path) -> None:
    for header in ("What happened? Tell us in your own words.,Which kind?", "0,1"):
        (tmp_path / "mine.csv").write_text(f"{header}\na,x\nb,y\n")
        with pytest.raises(ValueError, match=r": give one by --text_column and one by --label_column\.$"):
            load_file(tmp_path / "mine.csv")


def test_the_screen_has_three_lines_of_doubts_and_the_table_all(tmp_path):
    labels = ["a", "b", "A", "a;b"] * 5 + ["c"]
    file = tmp_path / "mine.jsonl"
    rows = [{"text": f"text {number % 18}", "label": label} for number, label in enumerate(labels)]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    task = load_own_data(DataArguments(train_file=str(file)), scores_folds=True)
    shown = describe_own_data(task, None).splitlines()[1:]
    assert shown[:2] == [f"{note}." for note in task.footnotes[:2]] and len(task.footnotes) == 5
    assert shown[2:] == ["mine: 3 more doubts are in table.md, which the run writes."]
