"""Mistakes of a user of run_glue.py: each ends with one sentence that names it."""

import huggingface_hub
import pytest
from test_run_glue import MODEL, run, write

GOOD = {"text": ["a b", "c d"] * 4, "label": ["x", "y"] * 4}


@pytest.mark.parametrize(
    ("train", "validation", "arguments", "sentence"),
    [
        (GOOD, GOOD, ["--text_column", "body"], "no column body; its columns are text, label"),
        ({"sentence": ["a"], "kind": ["x"]}, None, [], "no column label or"),
        (GOOD, {"text": ["a"], "label": ["z"]}, [], "the training rows do not have: z"),
        (GOOD, {"text": [], "label": []}, [], "has no rows|is empty"),
        ({"text": ["a", "b"], "label": ["x", "x"]}, None, [], "needs at least 2"),
        (GOOD, GOOD, ["--problem_type", "clustering"], "unknown problem type.*; choose one of single_label"),
        (GOOD, GOOD, ["--max_seq_length", "513"], "give 3 to 512"),
        (GOOD, None, ["--validation_split_percentage", "0"], "cannot be held out"),
        (GOOD, GOOD, ["--example", "a", "b"], "--example has 2 texts, but .* has 1 in each row; give one text, in quo"),
        (GOOD, GOOD, ["--task_name", "rte"], "--task_name and --train_file cannot be combined"),
        (GOOD, GOOD, ["--tokenizer_name", "train"], "does not use --tokenizer_name"),
        (GOOD, GOOD, ["--model_name_or_path", "bert-tiny"], "give --tokenizer_name PATH, or train"),
        (GOOD, GOOD, ["--model_name_or_path", "no-such-model"], "cannot be loaded .*; give a variant"),
        (GOOD, GOOD, ["--model_name_or_path", "hashgram-tinny"], "; did you mean hashgram-tiny or "),
        (GOOD, GOOD, ["--validation_file", "none.csv"], "'none.csv' does not exist"),
        (GOOD, GOOD, ["--metric_for_best_model", "foo"], "foo is not reported.*; give one of loss, accuracy, macro_f1"),
        (GOOD, GOOD, ["--output_dir", "/proc/run"], "'/proc/run' cannot be written"),
        (GOOD, {"text": ["a"], "label": [""]}, [], "validation.jsonl' has no label in line 1; fill"),
    ],
)
def test_a_mistake_ends_with_one_sentence(tmp_path, monkeypatch, train, validation, arguments, sentence):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    command = ["--model_name_or_path", MODEL, "--output_dir", tmp_path / "run"]
    command += ["--train_file", write(tmp_path, "train.parquet", train)]
    if validation is not None:
        command += ["--validation_file", write(tmp_path, "validation.jsonl", validation)]
    with pytest.raises(SystemExit, match=sentence) as raised:
        run(*command, *arguments)
    assert str(raised.value).startswith("run_glue.py: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--task_name", "rte", "--data_dir", "no/such"], "is not a folder"),
        (["--task_name", "rte", "--data_dir", "."], r"holds no train\.parquet"),
        ([], "no data is given; give one of --task_name"),
    ],
)
def test_a_missing_task_is_named(tmp_path, monkeypatch, arguments, sentence):
    (tmp_path / "rte").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=sentence):
        run("--model_name_or_path", MODEL, "--output_dir", tmp_path / "run", *arguments)
