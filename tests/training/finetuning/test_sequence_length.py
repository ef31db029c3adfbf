"""The length of a run is chosen from its texts, and the checkpoint remembers it."""

import pytest
from coloured_texts import coloured, write_csv
from transformers import AutoTokenizer

from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.load_model import load_model
from vocabless.training.finetuning.own_tasks import load_own_task
from vocabless.training.finetuning.sequence_length import choose_sequence_length


def rows_of(lengths):
    """Rows with this number of tokens each, with [CLS] and [SEP]."""
    return [(" ".join(["word"] * (length - 3)) + f" w{row}", "ab"[row % 2]) for row, length in enumerate(lengths)]


@pytest.mark.parametrize(
    ("lengths", "chosen", "cut"),
    [
        ([10] * 100, 64, None),
        ([64] * 100, 64, None),
        ([65] * 2 + [10] * 98, 128, None),
        ([65] + [10] * 99, 64, "1.0"),
        ([129] * 50, 256, None),
        ([300] * 50, 512, None),
        ([600] * 10 + [10] * 90, 512, "10.0"),
    ],
)
def test_the_shortest_length_that_holds_99_of_100_texts_is_chosen(lengths, chosen, cut, encoder, tmp_path):
    data = write_csv(tmp_path / "mine.csv", rows_of(lengths))
    arguments = GlueArguments(model_name_or_path=encoder, train_file=str(data))
    task = load_own_task(arguments)
    loaded = load_model(arguments, task, tmp_path)
    sentence = "" if cut is None else f"Texts are read up to {chosen} tokens, which cuts {cut} % of them."
    assert choose_sequence_length(arguments, task, loaded) == (chosen, sentence)
    assert choose_sequence_length(arguments, task, None) == (128, "")  # random weights
    arguments.max_seq_length = 100
    assert choose_sequence_length(arguments, task, loaded) == (100, "")


def test_the_checkpoint_remembers_the_length_and_longer_texts_continue_from_it(tune, tmp_path, capsys):
    short = write_csv(tmp_path / "short.csv", coloured(12))
    folder, results = tune(tmp_path / "run", "--train_file", short, "--validation_file", short, "--head_only", "true")
    assert results["arguments"]["max_seq_length"] == AutoTokenizer.from_pretrained(folder).model_max_length == 64
    long = write_csv(tmp_path / "long.csv", rows_of([10] * 18 + [600] * 2))
    folder, results = tune(tmp_path / "next", "--train_file", long, "--validation_file", long, "--model_name_or_path",
                           folder, "--num_train_epochs", "1", "--head_only", "true")  # fmt: skip
    assert results["arguments"]["max_seq_length"] == AutoTokenizer.from_pretrained(folder).model_max_length == 512
    assert "Texts are read up to 512 tokens, which cuts 10.0 % of them.\n" in capsys.readouterr().out
