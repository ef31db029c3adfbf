"""Texts without labels, of any form that a task has."""

import pytest
from datasets import Dataset

from vocabless.training.finetuning.problems import SingleLabel, Tagging
from vocabless.training.finetuning.task_distillation import read_unlabelled
from vocabless.training.finetuning.tasks import Examples, Task


def task_of(*columns: str, problem: type = SingleLabel) -> Task:
    return Task("t", "T", problem(["a", "b"]), Examples([]), {}, text_columns=columns)


@pytest.fixture
def files(tmp_path) -> dict[str, str]:
    tables = {
        "more.parquet": {"sentence": ["one text", "", None, "another"], "label": ["z", "z", "z", "z"]},
        "pairs.jsonl": {"a": ["p", "q"], "b": ["r", "s"]},
        "words.parquet": {"tokens": [["one", "two"], []]},
        "other.csv": {"body": ["text"]},
        "empty.jsonl": {"sentence": [" ", ""]},
    }
    for name, columns in tables.items():
        table = Dataset.from_dict(columns)
        write = {"parquet": table.to_parquet, "jsonl": table.to_json, "csv": table.to_csv}[name.partition(".")[2]]
        write(str(tmp_path / name))
    (tmp_path / "lines.txt").write_text("first line\n\nsecond line\n")
    return {name: str(tmp_path / name) for name in [*tables, "lines.txt"]}


def test_lines_and_columns_of_single_texts_are_joined_without_empty_ones(files) -> None:
    examples = read_unlabelled([files["lines.txt"], files["more.parquet"]], task_of("sentence"))
    assert examples == Examples(["first line", "second line", "one text", "another"])


def test_pairs_and_lists_of_words_come_from_the_tasks_columns(files) -> None:
    assert read_unlabelled([files["pairs.jsonl"]], task_of("b", "a")) == Examples(["r", "s"], ["p", "q"])
    assert read_unlabelled([files["words.parquet"]], task_of("tokens", problem=Tagging)) == Examples([["one", "two"]])


@pytest.mark.parametrize(
    ("name", "task", "sentence"),
    [
        ("other.csv", task_of("sentence"), "no column 'sentence' in .*other.csv; its columns are body"),
        ("pairs.jsonl", task_of("a", "c"), "has no column c; its columns are a, b"),
        ("lines.txt", task_of("a", "b"), "has an unknown format"),
        ("more.parquet", task_of("sentence", problem=Tagging), "holds no lists of words"),
        ("other.csv", task_of("body", problem=Tagging), "holds no lists of words"),
        ("empty.jsonl", task_of("sentence"), "--unlabelled .* holds no text; give files with text"),
        ("none.txt", task_of("sentence"), "none.txt' does not exist"),
    ],
)
def test_a_file_that_does_not_fit_the_task_is_refused(files, name: str, task: Task, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_unlabelled([files.get(name, name)], task)
