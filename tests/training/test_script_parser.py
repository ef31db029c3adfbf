"""The help of the scripts: its groups, its flags; wrong flags."""

import math
import re
from dataclasses import dataclass, field

import pytest
from transformers import TrainingArguments

import run_glue
import run_pretraining
from vocabless.training.script_parser import COUNT, POSITIVE, SHARE, TRAINER_GROUP, Limit, ScriptParser, check_limits

SCRIPTS = {"run_glue": run_glue, "run_pretraining": run_pretraining}


@dataclass
class Data:
    first: int = field(default=3, metadata={"group": "one", "help": "First, 100 %%."})
    neighbour: str | None = field(default=None, metadata={"help": "Beside it."})
    other: bool = field(default=True, metadata={"group": "two", "help": "Other."})
    switch: bool = field(default=False, metadata={"group": "one", "help": "Switch."})


def help_of(script, flag, capsys):
    with pytest.raises(SystemExit) as stop:
        SCRIPTS[script].main([flag])
    assert not stop.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_shows_our_flags_once_and_the_examples_as_they_were_written(script, capsys):
    shown = help_of(script, "--help", capsys)
    assert SCRIPTS[script].__doc__.strip() in shown
    flags = re.findall(r"^  --(\w+)", shown, re.M)
    assert {"model_name_or_path", "set", "output_dir", "recipe"} <= {*flags} and len(flags) == len({*flags})
    assert len(flags) <= 35 and {"encoding", "save_steps"}.isdisjoint(flags)
    assert "adam_beta1" not in flags and TRAINER_GROUP not in shown and "--no_" not in shown


@pytest.mark.parametrize("script", SCRIPTS)
def test_all_help_shows_what_the_help_leaves_out_and_ends_with_the_flags_of_the_trainer(script, capsys):
    ours, _, trainers = help_of(script, "--help-all", capsys).partition(f"\n{TRAINER_GROUP}:\n")
    assert "--adam_beta1" in trainers and "--adam_beta1" not in ours and "  --encoding VALUE " in ours
    assert "--output_dir" in ours and "  --output_dir" not in trainers


def test_a_field_without_a_group_is_in_that_of_the_field_before_it():
    shown = ScriptParser((Data, TrainingArguments)).format_help()
    one, two = shown.index("\none:\n"), shown.index("\ntwo:\n")
    places = {flag: shown.index(f"\n  --{flag}") for flag in ("first N", "neighbour VALUE", "switch", "other [VALUE]")}
    assert one < places["first N"] < places["neighbour VALUE"] < places["switch"] < two < places["other [VALUE]"]
    assert "First, 100 %. (default: 3)" in shown and "Switch.\n" in shown and "Beside it.\n" in shown


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--learnin_rate", "1"], r"unknown flag --learnin_rate; did you mean --learning_rate\b"),
        (["--xyzzy"], "unknown flag --xyzzy; see --help and --help-all for the flags"),
        (["7"], "'7' belongs to no flag; write --FLAG VALUE"),
    ],
)
def test_a_wrong_flag_names_the_near_ones(argv, sentence):
    with pytest.raises(ValueError, match=sentence):
        ScriptParser((Data, TrainingArguments)).parse(argv)


@pytest.mark.parametrize(
    ("limit", "good", "bad", "remedy"),
    [
        (SHARE, (0, 0.5, 1), (-1, 1.01, math.nan, math.inf), "a number of at least 0 and at most 1"),
        (COUNT, (1, 10**9), (0, -1), "a number of at least 1"),
        (POSITIVE, (1e-9, 5), (0, -0.0, math.nan, math.inf), "a number above 0"),
        (Limit(1, also=(-1, "for all")), (-1, 1), (0, -2), "a number of at least 1, or -1 for all"),
    ],
)
def test_a_value_outside_its_limit_is_refused_with_the_remedy(limit, good, bad, remedy):
    for value in (None, *good):
        check_limits({"flag": value}, {"flag": limit})
    for value in bad:
        with pytest.raises(ValueError, match=f"^--flag {value} is out of range; give {remedy}[.]$"):
            check_limits({"flag": value}, {"flag": limit})
