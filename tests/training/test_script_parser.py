"""The help of the scripts: quick, in groups, the same before and after the heavy imports; wrong flags."""

import dataclasses
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from transformers import TrainingArguments

import run_glue
import run_pretraining
from vocabless.training.finetuning import arguments as finetuning
from vocabless.training.pretraining import arguments as pretraining
from vocabless.training.pretraining.objectives import OBJECTIVES
from vocabless.training.script_parser import TRAINER_GROUP, ScriptParser

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = {"run_glue": (run_glue, finetuning), "run_pretraining": (run_pretraining, pretraining)}
CPU_SECONDS = 2.0
# Runs a script with --help; then prints whether torch was imported, and the CPU time of the process.
QUICK = """
import json, runpy, sys, time
sys.argv = [sys.argv[1], "--help"]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as stop:
    assert not stop.code
print(json.dumps({"torch": "torch" in sys.modules, "seconds": time.process_time()}))
"""


@dataclass
class Data:
    first: int = field(default=3, metadata={"group": "one", "help": "First, 100 %%."})
    neighbour: str | None = field(default=None, metadata={"help": "Beside it."})
    other: bool = field(default=True, metadata={"group": "two", "help": "Other."})
    switch: bool = field(default=False, metadata={"group": "one", "help": "Switch."})


def help_of(script, flag, capsys):
    with pytest.raises(SystemExit) as stop:
        SCRIPTS[script][0].main([flag])
    assert not stop.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_quick_and_is_that_of_the_whole_parser(script, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    file = ROOT / f"{script}.py"
    done = subprocess.run(
        [sys.executable, "-c", QUICK, str(file)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    shown, _, facts = done.stdout.rstrip().rpartition("\n")
    assert json.loads(facts)["torch"] is False and json.loads(facts)["seconds"] < CPU_SECONDS
    monkeypatch.setattr(sys, "argv", [str(file)])
    assert shown.rstrip() == help_of(script, "--help", capsys).rstrip()


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_shows_our_flags_once_and_the_examples_as_they_were_written(script, capsys):
    shown = help_of(script, "--help", capsys)
    module, arguments = SCRIPTS[script]
    assert module.__doc__.strip() in shown
    flags = [entry.name for type_ in arguments.FLAGS for entry in dataclasses.fields(type_)]
    assert len(flags) > 30
    for flag in flags:
        assert len(re.findall(rf"^  --{flag}\b", shown, re.M)) == 1, flag
    assert "--adam_beta1" not in shown and TRAINER_GROUP not in shown
    assert "--learning-rate" not in shown and "--no_" not in shown


@pytest.mark.parametrize("script", SCRIPTS)
def test_all_help_ends_with_the_flags_of_the_trainer(script, capsys):
    ours, _, trainers = help_of(script, "--help-all", capsys).partition(f"\n{TRAINER_GROUP}:\n")
    assert "--adam_beta1" in trainers and "--adam_beta1" not in ours
    assert "--learning_rate" in ours and "  --learning_rate" not in trainers


def test_the_flags_of_an_objective_are_those_in_the_help():
    shown = {entry.name for type_ in pretraining.FLAGS for entry in dataclasses.fields(type_)}
    for objective in OBJECTIVES.values():
        assert {entry.name for entry in dataclasses.fields(objective)} <= shown


def test_a_field_without_a_group_is_in_that_of_the_field_before_it():
    shown = ScriptParser((Data, TrainingArguments), (Data,)).format_help()
    one, two = shown.index("\none:\n"), shown.index("\ntwo:\n")
    places = {flag: shown.index(f"\n  --{flag}") for flag in ("first N", "neighbour VALUE", "switch", "other [VALUE]")}
    assert one < places["first N"] < places["neighbour VALUE"] < places["switch"] < two < places["other [VALUE]"]
    assert "First, 100 %. (default: 3)" in shown and "Switch.\n" in shown and "Beside it.\n" in shown


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--learnin_rate", "1"], r"unknown flag --learnin_rate; did you mean --learning_rate\b"),
        (["--weight-decai=1"], r"unknown flag --weight-decai; did you mean --weight_decay\b"),
        (["--xyzzy"], "unknown flag --xyzzy; see --help and --help-all for the flags"),
        (["7"], "'7' belongs to no flag; write --FLAG VALUE"),
    ],
)
def test_a_wrong_flag_names_the_near_ones(argv, sentence):
    with pytest.raises(ValueError, match=sentence):
        ScriptParser((Data, TrainingArguments), (Data,)).parse(argv)
