"""The command of the package: each verb leads to its module, under the name by which the user called it."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import TrainingArguments

from tests.help_pages import PARSERS, help_of
from vocabless import __main__ as command
from vocabless import first_look
from vocabless.conversion.__main__ import VERBS

ROOT = Path(__file__).resolve().parent.parent
TRAINING = ("finetune", "pretrain")


def said_by(capsys, *argv: str) -> tuple[object, str]:
    """The exit status, and all that was printed."""
    with pytest.raises(SystemExit) as stopped:
        command.main([*argv])
    printed = capsys.readouterr()
    return stopped.value.code, printed.out + printed.err


def test_the_help_has_a_line_for_every_verb(capsys) -> None:
    for argv in ([], ["--help"]):
        command.main(argv)
        shown = capsys.readouterr().out
        assert [name for name in (*command.SCRIPTS, *VERBS) if not re.search(rf"^  {name} +\w", shown, re.M)] == []


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python break lines at other places")
@pytest.mark.parametrize("verb", PARSERS)
def test_the_help_of_a_verb_is_what_its_parser_prints(verb) -> None:
    assert first_look.read_help(verb) == help_of(verb), "run `python -m tests.help_pages`"


def test_help_and_mistakes_are_told_before_torch_is_imported() -> None:
    code = """
import sys
from pathlib import Path
from vocabless.__main__ import main
for words in (["space", "--help"], ["finetune", "--taks_name", "rte"], ["search", "gone/", "page/"]):
    try:
        main(words)
    except SystemExit as stopped:
        print(stopped)
print({"torch", "transformers", "numpy"} & {*sys.modules})
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-3:] == [
        "vocabless finetune: unknown flag --taks_name; did you mean --task_name or --dataset_name or --tokenizer_name?",
        "vocabless search: 'gone/' does not exist; check the path.",
        "set()",
    ]


@pytest.mark.parametrize(("verb", "words", "problem"), [
    ("finetune", "--train_file gone.csv", "--train_file 'gone.csv' does not exist"),
    ("finetune", "gone.csv --test_file more.csv", "--train_file 'gone.csv' does not exist"),
    ("finetune", "--task_name rte --data_dir=gone/glue", "--data_dir 'gone/glue' does not exist"),
    ("pretrain", "--corpus a/b ./gone", "--corpus './gone' does not exist"),
    ("pretrain", "--corpus you/texts gone/*.txt --weight-decay 0.1 --variant bert-tiny --learning_rate -1", None),
    ("finetune", "--model_name_or_path you/base@main --no_use_liger_kernel --train_file README.md", None),
    ("hub", "runs/gone/folder you/new", "'runs/gone/folder' does not exist"),
    ("hub", "hashgram-tiny you/new --push", None),
    ("predict", "you/mine gone.csv --lines", "'gone.csv' does not exist"),
    ("predict", "runs/gone -", "'runs/gone' does not exist"),
    ("predict", "you/mine - --output gone.csv", None),
    ("onnx", "you/classifier runs/gone", None),
    ("onnx", "hashgram-tiny-sentence new/ --int8", None),
    ("space", "you/classifier new/page.html --title Help --overwrite", None),
    ("search", "faq.csv found/ --title Help", "'faq.csv' does not exist"),
    ("search", "docs runs/gone --base_url https://example.org/", None),
    ("search", "--model you/base docs runs/gone", None),
    ("search", "--model=you/base docs runs/gone", None),
    ("search", "--model runs/gone docs found", "--model 'runs/gone' does not exist"),
    ("space", "you/classifier --title Help runs/gone", None),
])  # fmt: skip
def test_only_what_can_be_a_file_alone_must_exist(verb, words, problem) -> None:
    if problem is None:
        first_look.check(verb, words.split())
    else:
        with pytest.raises(ValueError, match=f"^{re.escape(problem)}; check the path"):
            first_look.check(verb, words.split())


def test_the_flags_of_the_trainer_are_read_without_an_import() -> None:
    assert first_look.trainer_flags() == {field.name for field in dataclasses.fields(TrainingArguments)}


def test_a_command_shows_no_bar_of_a_short_time() -> None:
    code = "import vocabless.command_environment; from transformers.utils import logging; list(logging.tqdm(range(9)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("verb", [*TRAINING, "space"])
def test_the_help_of_a_verb_names_the_command_and_no_script(verb, capsys) -> None:
    command.main([verb, "--help"])
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: vocabless {verb} ")
    assert f"    vocabless {verb} " in shown and "python " not in shown.partition("options:")[0]


def test_the_product_names_its_commands_as_a_user_of_the_wheel_gives_them() -> None:
    folders = (
        "browser",
        "conversion",
        "model_cards",
        "modeling",
        "saving",
        "texts",
        "tokenization",
        "training",
        "vocabless",
    )
    files = [*ROOT.glob("run_*.py"), *(file for name in folders for file in (ROOT / name).rglob("*.*"))]
    text = {
        str(file): file.read_text(encoding="utf-8") for file in files if file.suffix in (".py", ".js", ".md", ".txt")
    }
    others = r"run_glue\.py|run_pretraining\.py|-m vocabless\.(?!saving\.shipped_code|variants_table)"
    assert len(text) > 100 and [name for name, content in text.items() if re.search(others, content)] == []


@pytest.mark.parametrize("verb", TRAINING)
def test_a_mistake_is_told_under_the_name_of_the_command(verb) -> None:
    with pytest.raises(SystemExit, match=rf"^vocabless {verb}: unknown flag --nothing"):
        command.main([verb, "--nothing", "1"])


def test_an_unknown_verb_is_told_with_all_others() -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["fine-tune"])
    verbs = ", ".join((*command.SCRIPTS, *VERBS))
    assert stopped.value.code == f"vocabless: unknown verb 'fine-tune'; choose one of {verbs}."
