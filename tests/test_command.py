"""The command of the package: each verb leads to its module, under the name by which the user called it."""

import re

import pytest

from vocabless import __main__ as command
from vocabless.conversion.__main__ import VERBS

SCRIPT_OF = {"finetune": "run_glue.py", "pretrain": "run_pretraining.py"}


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
        assert [name for name in (*SCRIPT_OF, *VERBS) if not re.search(rf"^  {name} +\w", shown, re.M)] == []


@pytest.mark.parametrize("verb", [*SCRIPT_OF, "space"])
def test_the_help_of_a_verb_names_the_command_and_no_script(verb, capsys) -> None:
    status, shown = said_by(capsys, verb, "--help")
    assert status == 0 and shown.startswith(f"usage: vocabless {verb} ")
    assert f"    vocabless {verb} " in shown and "python " not in shown.partition("options:")[0]


@pytest.mark.parametrize("verb", SCRIPT_OF)
def test_a_mistake_is_told_under_the_name_of_the_command(verb) -> None:
    with pytest.raises(SystemExit, match=rf"^vocabless {verb}: unknown flag --nothing"):
        command.main([verb, "--nothing", "1"])


def test_an_unknown_verb_is_told_with_all_others() -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["fine-tune"])
    verbs = ", ".join((*SCRIPT_OF, *VERBS))
    assert stopped.value.code == f"vocabless: unknown verb 'fine-tune'; choose one of {verbs}."
