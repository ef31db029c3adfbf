"""The sentence on a run that is no better than a constant prediction."""

import random
from types import SimpleNamespace

import pytest
from coloured_texts import fine_tune, write_csv

from vocabless.training.finetuning.fine_tuning import constant_baseline_note
from vocabless.training.finetuning.metrics import interval
from vocabless.training.finetuning.problems import SingleLabel
from vocabless.training.finetuning.task_files import Examples
from vocabless.training.finetuning.tasks import Task


def task_of(count: int, problem=None) -> Task:
    examples = Examples(["a"] * count)
    return Task("t", "Trees", problem or SingleLabel(["x", "y"]), examples, {"": examples})


def note_of(
    score: float, problem=None, constant: float = 0.5, rows: int = 400, arguments: dict | None = None, **changes: object
) -> str | None:
    """The note on a run of `rows` rows with an encoder 128 wide."""
    task = task_of(rows, problem)
    metric = task.problem.best_metric
    training = SimpleNamespace(
        **({"learning_rate": 3e-5, "num_train_epochs": 5.0, "max_steps": -1} | (arguments or {}))
    )
    results = {
        "from_scratch": True,
        "epochs": 5.0,
        "intervals": {metric: interval(metric, score, rows)},
        "measures": {metric: score},
        "constant_baselines": {metric: constant},
        "seed": 7,
    }
    return constant_baseline_note(task, results | changes, training, 128)


@pytest.mark.parametrize(("score", "is_noted"), [(0.4, True), (0.5, True), (0.548, True), (0.551, False), (1.0, False)])
def test_a_score_whose_interval_holds_the_constant_is_noted(score, is_noted):
    assert bool(note_of(score)) == is_noted


def test_a_score_below_the_constant_is_called_so():
    assert ") is below the constant baseline 50.0, so " in note_of(0.44)


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({}, "try --learning_rate 0.00044, --num_train_epochs 10, or start from"),
        ({"learning_rate": 4.4e-4}, "try --learning_rate 0.00088, --num_train_epochs 10,"),
        ({"learning_rate": 5e-3, "num_train_epochs": 12.0}, "try --learning_rate 0.00044, --num_train_epochs 24,"),
        ({"max_steps": 40}, "--max_steps 80,"),
    ],
)
def test_the_sentence_has_the_score_the_limit_and_numbers_to_try(arguments, remedy):
    note = note_of(0.51, arguments=arguments)
    start = "Trees, seed 7: accuracy 51.0 (46.1 to 55.9) cannot be told from the constant baseline 50.0, so "
    assert note.startswith(start)
    assert remedy in note and "\n" not in note


def test_a_checkpoint_gets_no_advice_to_begin_from_a_checkpoint():
    assert note_of(0.51, from_scratch=False).endswith("; try --num_train_epochs 10")
    assert note_of(0.51, from_scratch=False, epochs=0.0).endswith("; try fine-tuning, without --head_only")


def test_every_row_right_is_not_chance():
    """Four of four rows: the interval begins at 51."""
    assert note_of(1.0, rows=4) is None


def test_a_run_at_its_constant_says_so_on_stderr_in_the_table_and_in_the_card(tmp_path, capsys):
    chance = random.Random(0)
    texts = [" ".join(chance.choices(["red", "blue", "stone"], k=4)) for _ in range(40)]
    labels = [chance.choice("xy") for _ in texts]
    data = write_csv(tmp_path / "noise.csv", zip(texts, labels, strict=True))
    flags = ["--validation_file", data, "--learning_rate", "1e-9", "--max_seq_length", "8", "--num_train_epochs", "1"]
    folder, results = fine_tune(tmp_path / "run", "--train_file", data, *flags)
    streams = capsys.readouterr()
    (warning,) = [line for line in streams.err.splitlines() if line.startswith("Warning: ")]
    sentence = warning.removeprefix("Warning: ")
    assert "--learning_rate 0.00044, --num_train_epochs 2, or start" in sentence
    assert f"- {sentence}\n" in streams.out and f"- {sentence}\n" in (tmp_path / "run" / "table.md").read_text()
    assert f"- {sentence}\n" in (folder / "README.md").read_text()
    assert results["constant_baseline_note"] + "." == sentence
