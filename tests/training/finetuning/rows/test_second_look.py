"""Rows that need a second look, as a file of a run."""

import csv

import numpy as np
from script_runs import coloured, write_csv

from vocabless.training.finetuning.rows.second_look import MOST_ROWS, SECOND_LOOK, write_second_look
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.problems import MultiLabel, SingleLabel


def read(folder):
    with (folder / SECOND_LOOK).open(encoding="utf-8", newline="") as stream:
        return [*csv.DictReader(stream)]


def data_of(texts, labels, names=("a", "b", "c"), pairs=None):
    rows = Examples(texts, pairs, labels=labels)
    return TaskData("t", "t", SingleLabel(names), rows, {"": rows})


def test_texts_with_several_labels_come_first_then_rows_by_how_far_another_label_is_ahead(tmp_path):
    data = data_of(["One", "two", "one!", "three", "four"], ["a", "b", "b", "c", "c"])
    shares = [[0.8, 0.1, 0.1], [0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]]
    assert write_second_look(tmp_path, data, np.log(np.add(shares, 1e-9))) == 4  # "one!" once
    found = [[row["text"], row["label"], row["other_label"], row["probability_of_label"]] for row in read(tmp_path)]
    assert found[:2] == [["One", "a", "b", ""], ["one!", "b", "a", ""]]
    assert found[2:] == [["three", "c", "b", "0.05"], ["two", "b", "a", "0.3"]]
    assert read(tmp_path)[2]["probability_of_other_label"] == "0.9"


def test_at_most_twenty_rows_are_written_and_none_where_all_is_right_or_a_text_has_several_labels(tmp_path):
    texts = [f"text {number}" for number in range(50)]
    wrong = np.tile([0.0, 1.0, 0.0], (50, 1))
    assert write_second_look(tmp_path, data_of(texts, ["a"] * 50), -wrong) == 0
    several = TaskData("t", "t", MultiLabel(["a", "b"]), Examples(texts, labels=[["a"]] * 50))
    assert write_second_look(tmp_path, several, wrong) == 0 and not (tmp_path / SECOND_LOOK).exists()
    assert write_second_look(tmp_path, data_of(texts, ["a"] * 50, pairs=texts), wrong) == MOST_ROWS
    assert len(read(tmp_path)) == MOST_ROWS and read(tmp_path)[0]["second_text"] == read(tmp_path)[0]["text"]


def test_a_run_lists_the_rows_with_a_wrong_label(tune, tmp_path, capsys):
    rows = coloured(60)
    wrong = {rows[3][0], rows[10][0]}
    labelled = [(text, "blue" if text in wrong and label != "blue" else label) for text, label in rows]
    flags = ["--num_train_epochs", "0", "--max_seq_length", "32"]
    folder, _ = tune(tmp_path / "runs", "--train_file", write_csv(tmp_path / "mine.csv", labelled), *flags)
    found = read(folder)
    assert f"{len(found)} rows need a second look; they are in" in capsys.readouterr().out
    assert all(row["label"] != row["other_label"] for row in found) and len(found) <= MOST_ROWS
