"""The command: verbs, help, mistakes."""

import subprocess
import sys

import pytest

from vocabless.conversion.__main__ import VERBS, Verb, main


def test_help_names_every_verb(capsys) -> None:
    with pytest.raises(SystemExit) as error:
        main(["--help"])
    assert error.value.code == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in VERBS)


@pytest.mark.parametrize("verb", ["hashformer", "encoder", "hash-init"])
def test_a_verb_says_what_it_takes(verb: str, capsys) -> None:
    with pytest.raises(SystemExit) as error:
        main([verb, "--help"])
    assert error.value.code == 0
    printed = capsys.readouterr().out
    assert "SOURCE" in printed and "TARGET" in printed


def test_an_unknown_verb_gets_the_known_ones() -> None:
    with pytest.raises(SystemExit, match=r"unknown verb 'convert'; choose one of hashformer, encoder"):
        main(["convert", "a", "b"])


def test_a_verb_that_is_not_installed_gets_one_sentence(monkeypatch) -> None:
    monkeypatch.setitem(VERBS, "later", Verb("later", "comes with a newer version"))
    with pytest.raises(SystemExit, match="'later' is not part of this installation"):
        main(["later", "a", "b"])


def test_a_verb_imports_no_other() -> None:
    code = "import sys; from vocabless.conversion.__main__ import main\ntry: main(['{}'])\nexcept SystemExit: pass\n"
    code += "print(sorted(name for name in sys.modules if name.startswith('vocabless.conversion.')))"
    done = subprocess.run([sys.executable, "-c", code.format("hash-init")], capture_output=True, text=True, check=True)
    assert "hash_init" in done.stdout and "distillation" not in done.stdout and "hashformer" not in done.stdout
