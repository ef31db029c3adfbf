"""What `run_glue.py` chooses if the user gives no learning rate, no epochs and no patience."""

import pytest
from script_runs import fine_tune, write_csv

from vocabless.training.finetuning.tasks.arguments import (
    GlueTrainingArguments,
    default_epochs,
    default_patience,
)
from vocabless.variants import SIZES, default_learning_rate


def test_base_has_the_papers_rate_narrower_encoders_have_more_and_patience_grows_with_the_epochs():
    rates = {name: default_learning_rate(size.hidden_size) for name, size in SIZES.items()}
    assert rates == {"nano": 1.2e-3, "uno": 4.4e-4, "tiny": 4.4e-4, "mini": 1.6e-4, "small": 5.5e-5, "base": 3e-5}
    assert default_learning_rate(1024) == pytest.approx(3e-5 * 0.75**1.5, rel=0.05)
    assert default_learning_rate(16) == default_learning_rate(64)
    assert [default_patience(epochs) for epochs in (0.5, 5.0, 7.0, 10.0, 300.0)] == [2, 2, 2, 4, 120]


@pytest.mark.parametrize(
    ("rows", "batch", "accumulation", "epochs"),
    [(1_000, 32, 1, 19), (1_000, 32, 2, 38), (3_840, 32, 1, 5), (67_349, 32, 1, 5), (2_490, 32, 1, 8), (1, 32, 1, 600)],
)
def test_a_small_data_set_gets_more_epochs(rows, batch, accumulation, epochs):
    sizes = {"per_device_train_batch_size": batch, "gradient_accumulation_steps": accumulation}
    assert default_epochs(rows, GlueTrainingArguments(use_cpu=True, **sizes)) == epochs


@pytest.mark.parametrize(("flags", "expected"), [
    (["--per_device_train_batch_size", "1", "--max_steps", "1"], (4.4e-4, 19, 7)),
    (["--num_train_epochs", "1", "--learning_rate", "1e-3", "--early_stopping_patience", "0"], (1e-3, 1, 0)),
    (["--recipe", "proformer"], (3e-5, 5, 0)),
])  # fmt: skip
def test_choices_of_flags_and_recipes_are_printed_and_recorded(tmp_path, capsys, flags, expected):
    data = write_csv(tmp_path / "stones.csv", [("a stone", "x"), ("the river", "y")] * 16)
    files = ["--train_file", data, "--validation_file", data, "--max_seq_length", "8"]
    folder, results = fine_tune(tmp_path / "run", *files, *flags)
    names = ("learning_rate", "num_train_epochs", "early_stopping_patience")
    assert tuple(results["arguments"][name] for name in names) == expected
    assert f"- Learning rate: {expected[0]}\n" in (folder / "README.md").read_text()
    sentence = "Learning rate: 0.00044, chosen for an encoder 128 wide.\n"
    assert (sentence in capsys.readouterr().out) == ("--max_steps" in flags)
