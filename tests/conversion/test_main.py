"""The command python -m vocabless.conversion: its verbs, help texts and error messages."""

import inspect
import re
import sys
from io import BytesIO, TextIOWrapper
from types import SimpleNamespace

import pytest

from vocabless.conversion import __main__ as command
from vocabless.conversion.__main__ import VERBS, main


def test_help_names_every_verb(capsys) -> None:
    with pytest.raises(SystemExit) as error:
        main(["--help"])
    assert error.value.code == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_explains_it_and_its_arguments(verb: str, capsys) -> None:
    with pytest.raises(SystemExit) as error:
        main([verb, "--help"])
    assert error.value.code == 0
    printed = capsys.readouterr().out
    assert f"python -m vocabless.conversion {verb} " in printed.partition("TARGET")[2]  # an example to paste
    assert all(re.search(rf"^  {name} +\w", printed, re.M) for name in ("SOURCE", "TARGET"))


def test_the_error_for_an_unknown_verb_lists_all_verbs() -> None:
    with pytest.raises(SystemExit, match=rf"unknown verb 'convert'; choose one of {', '.join(VERBS)}"):
        main(["convert", "a", "b"])


def test_a_package_that_a_verb_lacks_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.delitem(sys.modules, "vocabless.conversion.hashformer", raising=False)
    with pytest.raises(SystemExit, match=r"the verb 'hashformer' needs the package 'tqdm', .*; pip install tqdm"):
        main(["hashformer", "a", "b"])


def test_a_verb_imports_no_other(monkeypatch) -> None:
    imported = []
    import_module = command.importlib.import_module
    monkeypatch.setattr(command.importlib, "import_module", lambda name: imported.append(name) or import_module(name))
    with pytest.raises(SystemExit):
        main(["hub"])
    assert imported == ["vocabless.conversion.hub"]
    assert not re.search(r"^from vocabless\.conversion", inspect.getsource(import_module(imported[0])), re.M)


def test_a_report_that_the_terminal_cannot_write_is_escaped(tmp_path, monkeypatch) -> None:
    verb = SimpleNamespace(__doc__="", add_arguments=lambda parser: None)
    verb.write = lambda arguments, folder: setattr(arguments, "target", "là") or "| été | 1×16 |"
    monkeypatch.setattr("vocabless.conversion.__main__._load", lambda name: verb)
    monkeypatch.setattr("sys.stdout", TextIOWrapper(BytesIO(), encoding="ascii"))
    main(["hub", "source", str(tmp_path / "target")])
    sys.stdout.seek(0)
    assert sys.stdout.read() == "| \\xe9t\\xe9 | 1\\xd716 |\nThe repository is l\\xe0.\n"
