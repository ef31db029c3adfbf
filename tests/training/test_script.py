"""The command line of both scripts: their help and number of flags, limits, recipes, wrong flags, fingerprints."""

import dataclasses
import math
import os
import re
from dataclasses import dataclass

import datasets
import pytest
from transformers import TrainingArguments

import run_glue
import run_pretraining
from vocabless.training.finetuning.tasks.arguments import DataArguments, GlueArguments, GlueTrainingArguments
from vocabless.training.pretraining.arguments import PretrainingArguments, PretrainingTrainingArguments
from vocabless.training.pretraining.command_line import OBJECTIVES, parse_command_line
from vocabless.training.run import prepare_process
from vocabless.training.script import (
    COUNT,
    POSITIVE,
    SHARE,
    Limit,
    ScriptParser,
    ScriptTrainingArguments,
    check_limits,
    fingerprint,
    flag,
    split_batch,
)

SCRIPTS = {
    run_glue: (DataArguments, GlueArguments, GlueTrainingArguments),
    run_pretraining: (PretrainingArguments, *OBJECTIVES.values(), PretrainingTrainingArguments),
}


@dataclass
class Data:
    count: int = flag(1, "Count, 100 %%.", group="one")
    first: str | None = flag(None, "Beside it.")
    share: float = flag(0.5, "Share.", group="two", limit=SHARE)
    switch: bool = flag(False, "Switch.", group="one")
    columns: list[str] = flag(["text"], "Columns.")


def parse(*argv):
    return ScriptParser((Data, TrainingArguments)).parse(argv)


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_two_screens_of_our_flags_of_which_at_most_32_are_new(script, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as stopped:
        script.main(["--help"])
    shown = capsys.readouterr().out
    flags = re.findall(r"^  --(\w+)", shown, re.M)
    assert not stopped.value.code and script.__doc__.strip() in shown and len(shown.splitlines()) <= 100
    declared = {field.name for each in SCRIPTS[script] for field in dataclasses.fields(each)}
    new = {"recipe", *declared} - {*TrainingArguments.__dataclass_fields__}
    assert new <= {*flags} and len(flags) == len({*flags}) and len(new) <= 32
    assert "learning_rate" in flags and "adam_beta1" not in flags and "--no_" not in shown


def test_a_field_without_a_group_is_in_that_of_the_field_before_it():
    shown = ScriptParser((Data, TrainingArguments)).format_help()
    one, two = shown.index("\none:\n"), shown.index("\ntwo:\n")
    places = [shown.index(f"\n  --{name}") for name in ("count N ", "first VALUE", "switch ", "columns ", "share X")]
    assert [one, *places] == sorted([one, *places]) and places[3] < two < places[4]
    assert "Count, 100 %. (default: 1)" in shown and "(default: 0.5)" in shown and "Beside it.\n" in shown
    assert parse("--save-steps", "7")[1].save_steps == 7


@pytest.mark.parametrize(("limit", "good", "bad", "remedy"), [
    (SHARE, (0, 0.5, 1), (-1, 1.01, math.nan, math.inf), "a number of at least 0 and at most 1"),
    (COUNT, (1, 10**9), (0, -1), "a number of at least 1"),
    (POSITIVE, (1e-9, 5), (0, -0.0, math.nan, math.inf), "a number above 0"),
    (Limit(1, also=(-1, "for all")), (-1, 1), (0, -2), "a number of at least 1, or -1 for all"),
])  # fmt: skip
def test_a_value_outside_its_limit_is_refused_with_the_remedy(limit, good, bad, remedy):
    made = dataclasses.make_dataclass("Made", [("share", float, flag(1, "", limit=limit))])
    for value in (None, *good):
        check_limits(made(value))
    for value in bad:
        with pytest.raises(ValueError, match=f"^--share {value} is out of range; give {remedy}[.]$"):
            check_limits(made(value))


def test_limits_hold_in_python_too():
    with pytest.raises(ValueError, match=r"--dropout 1.5 is out of range; give a number of at least 0 and at most 1"):
        PretrainingArguments(dropout=1.5)


def test_a_recipe_gives_defaults_and_flags_override_it(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "count: 7\nfirst: a b\nshare: 0.25\nswitch: true\ncolumns: [a, b]\nlearning_rate: 3e-5\nmax_steps: -1\n"
        "lr_scheduler_type: cosine\nlr_scheduler_kwargs: {num_cycles: 2}\noptim: null\n"
    )
    argv = ["--recipe", str(file), "--share=0.75"]
    data, training = ScriptParser((Data, TrainingArguments)).parse(argv)
    assert data == Data(count=7, first="a b", share=0.75, switch=True, columns=["a", "b"])
    assert (training.learning_rate, training.max_steps, training.lr_scheduler_type) == (3e-5, -1, "cosine")
    assert training.lr_scheduler_kwargs == {"num_cycles": 2}
    assert ScriptParser((Data, TrainingArguments)).parse([*argv, "--columns", "c"])[0].columns == ["c"]
    assert ScriptParser((Data, TrainingArguments)).parse(argv, {"share": "first"})[0].first is None


def test_words_in_front_of_all_flags_belong_to_the_leading_one():
    def parser():
        return ScriptParser((Data, TrainingArguments), leading="columns")

    assert parser().parse(["a", "b", "--count=1"])[0].columns == ["a", "b"]
    assert parser().parse(["--count=1", "--first", "a"])[0].columns == ["text"]
    assert parser().format_help().startswith(f"usage: {parser().prog} [COLUMNS] --FLAG")
    with pytest.raises(ValueError, match="'a' belongs to no flag"):
        parse("a")


@pytest.mark.parametrize(("text", "sentence"), [
    ("- a", "not a mapping"),
    ("a: [", "not valid YAML"),
    ("learning_rat: 1", "sets unknown flags: learning_rat; did you mean .*learning_rate"),
    (None, "unknown recipe .*elementwise-patents, .*proformer"),
])  # fmt: skip
def test_a_file_that_is_not_a_recipe_is_refused(tmp_path, text, sentence):
    file = tmp_path / "mine.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=sentence) as raised:
        parse("--recipe", str(file))
    assert "\n" not in str(raised.value)


def test_one_process_uses_one_gpu_and_its_step_has_the_batch_that_is_asked_for(monkeypatch):
    prepare = TrainingArguments.__post_init__
    monkeypatch.setattr(TrainingArguments, "__post_init__", lambda self: (prepare(self), setattr(self, "_n_gpu", 4)))
    assert TrainingArguments("x", use_cpu=True, per_device_train_batch_size=8).train_batch_size == 32
    training = ScriptTrainingArguments(use_cpu=True, per_device_train_batch_size=8, total_batch_size=32)
    assert (training.n_gpu, training.train_batch_size) == (1, 8) and training.gradient_accumulation_steps == 4


@pytest.mark.parametrize("launched", ["no", "bf16", "fp16", "fp8"])
@pytest.mark.parametrize("flags", [[], ["--bf16", "true"]])
def test_the_precision_of_a_launcher_is_that_of_the_record(launched, flags, monkeypatch):
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", launched)
    command = ["--variant", "hashformer-lsh-proj-base", "--use_cpu", "true", *flags]
    if launched == "fp8":
        with pytest.raises(ValueError, match="the launcher has --mixed_precision fp8; give it no, bf16 or fp16"):
            parse_command_line(command)
        return
    objective = parse_command_line(command)
    recorded = {name for name in ("bf16", "fp16") if objective.fingerprint()[name]} or {"no"}
    assert recorded == {"bf16" if flags else launched} == {objective.training.mixed_precision}  # what the Trainer uses


@pytest.mark.parametrize(
    ("total", "devices", "largest", "times", "expected"),
    [(128, 8, 16, 1, (16, 1)), (128, 1, 16, 8, (16, 8)), (32, 1, 64, 1, (32, 1)), (100, 8, 16, 1, None),
     (64, 1, 16, 3, None), (2, 4, 1, 1, None)],
)  # fmt: skip
def test_a_batch_is_divided_or_refused(total, devices, largest, times, expected):
    if expected is None:
        with pytest.raises(ValueError, match=rf"--total_batch_size {total} is not {devices} devices × .* give another"):
            split_batch(total, devices, largest, times)
    else:
        assert split_batch(total, devices, largest, times) == expected


def test_the_batch_of_hashformers_is_divided_among_any_number_of_devices_that_divides_it():
    """docs/papers.md: 128 sequences a step, on any number of GPUs that divides 128, 16 at most at once."""
    for devices in range(1, 130):
        if 128 % devices:
            with pytest.raises(ValueError, match="give another number of processes"):
                split_batch(128, devices, 16)
        else:
            at_once, times = split_batch(128, devices, 16)
            assert at_once * times * devices == 128 and at_once <= 16


@pytest.mark.parametrize(("flags", "differing"), [
    (["--output_dir", "elsewhere", "--logging_steps", "7", "--push_to_hub", "--hub_token", "secret"], set()),
    (["--mlm_probability", "0.3"], set()),  # of another objective
    (["--seed", "7"], {"seed"}),
    (["--max_steps", "9"], {"max_steps"}),
    (["--set", "size=tiny"], {"overrides"}),
])  # fmt: skip
def test_the_fingerprint_of_a_run_has_what_changes_it(flags, differing):
    command = ["--objective", "shuffle-random", "--variant", "hashformer-lsh-proj-base", "--use_cpu", "true"]
    one, other = (parse_command_line([*command, *more]).fingerprint() for more in ([], flags))
    assert one["objective"] == "shuffle-random" and "secret" not in str(other)
    assert {name for name in one if one[name] != other[name]} == differing and one.keys() == other.keys()


def test_the_fingerprint_of_a_command_leaves_out_which_runs_it_asks_for():
    def of(*flags):
        command = ["--model_name_or_path", "bert-tiny", "--use_cpu", "true", *flags]
        return fingerprint(*run_glue.parse_command_line([*command, "--output_dir", "x"]))

    assert of("--task_name", "rte") == of("--task_name", "rte", "mrpc", "--seeds", "2", "--seed", "7", "--example", "a")
    assert of("--task_name", "rte") != of("--task_name", "rte", "--max_seq_length", "9")


def test_a_cache_that_cannot_be_written_is_replaced_by_a_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache" / "datasets")
    prepare_process(ScriptTrainingArguments(output_dir="unused"))
    assert datasets.config.HF_DATASETS_CACHE == tmp_path / "cache" / "datasets"
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    prepare_process(ScriptTrainingArguments(output_dir="unused"))
    assert datasets.config.HF_DATASETS_CACHE.is_dir() and not datasets.config.HF_DATASETS_CACHE.is_relative_to(tmp_path)
