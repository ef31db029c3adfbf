"""What `run_glue.py` chooses if the user gives no learning rate, no epochs and no patience."""

import json
from pathlib import Path

import pytest
from coloured_texts import fine_tune, write_csv

from vocabless.training.finetuning.arguments import (
    GlueArguments,
    GlueTrainingArguments,
    choose_learning_rate,
    default_epochs,
    default_learning_rate,
    default_patience,
)
from vocabless.variants import SIZES


def arguments_of(folder: Path, *flags: object) -> dict:
    """Trains on a file of 32 rows; returns the arguments that the run records."""
    data = write_csv(folder / "stones.csv", [("a stone", "x"), ("the river", "y")] * 16)
    files = ["--train_file", data, "--validation_file", data, "--max_seq_length", "8"]
    _, results = fine_tune(folder / "run", *files, *flags)
    return results["arguments"]


def test_base_has_the_papers_rate_and_narrower_encoders_have_more():
    rates = {name: default_learning_rate(size.hidden_size) for name, size in SIZES.items()}
    assert rates == {"nano": 1.2e-3, "uno": 4.4e-4, "tiny": 4.4e-4, "mini": 1.6e-4, "small": 5.5e-5, "base": 3e-5}
    assert default_learning_rate(1024) == pytest.approx(3e-5 * 0.75**1.5, rel=0.05)
    assert default_learning_rate(16) == default_learning_rate(64)


@pytest.mark.parametrize(
    ("rows", "batch", "accumulation", "epochs"),
    [(1_000, 32, 1, 19), (1_000, 32, 2, 38), (3_840, 32, 1, 5), (67_349, 32, 1, 5), (2_490, 32, 1, 8), (1, 32, 1, 600)],
)
def test_a_small_data_set_gets_more_epochs(rows, batch, accumulation, epochs):
    training = GlueTrainingArguments(
        use_cpu=True, per_device_train_batch_size=batch, gradient_accumulation_steps=accumulation
    )
    assert default_epochs(rows, training) == epochs


def test_patience_grows_with_the_epochs():
    assert [default_patience(epochs) for epochs in (0.5, 5.0, 7.0, 10.0, 300.0)] == [2, 2, 2, 4, 120]


def test_the_rate_goes_by_the_width_of_the_model(save_model):
    _, folder = save_model("hashformer-lsh-proj-tiny", "VocablessForSequenceClassification")
    width = json.loads((folder / "config.json").read_text())["encoder_config"]["hidden_size"]
    for name, expected in (("eelbert-word-mini", 256), ("bert-small", 512), (str(folder), width)):
        training = GlueTrainingArguments(use_cpu=True)
        sentence = choose_learning_rate(GlueArguments(model_name_or_path=name), training)
        assert sentence.endswith(f" {expected} wide.")
        assert training.learning_rate == default_learning_rate(expected)


def test_choices_are_printed_and_recorded(tmp_path, capsys):
    chosen = arguments_of(tmp_path, "--per_device_train_batch_size", "1", "--max_steps", "1")
    assert (chosen["learning_rate"], chosen["num_train_epochs"], chosen["early_stopping_patience"]) == (4.4e-4, 19, 7)
    assert "Learning rate: 0.00044, chosen for an encoder 128 wide.\n" in capsys.readouterr().out
    assert json.loads((tmp_path / "run" / "run.json").read_text())["arguments"]["learning_rate"] == 4.4e-4
    (card,) = (tmp_path / "run").glob("*/seed-42/README.md")
    assert "- Learning rate: 0.00044\n" in card.read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--num_train_epochs", "1", "--learning_rate", "1e-3", "--early_stopping_patience", "0"], (1e-3, 1, 0)),
        (["--max_steps", "3"], (4.4e-4, 600, 240)),
        (["--recipe", "proformer"], (3e-5, 5, 0)),
    ],
)
def test_flags_and_recipes_decide(tmp_path, capsys, arguments, expected):
    given = arguments_of(tmp_path, *arguments)
    names = ("learning_rate", "num_train_epochs", "early_stopping_patience")
    assert tuple(given[name] for name in names) == expected
    assert ("Learning rate:" in capsys.readouterr().out) == (arguments[0] == "--max_steps")
