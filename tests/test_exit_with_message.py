"""How a command ends that cannot go on."""

import io
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vocabless.conversion import __main__ as conversion
from vocabless.exit_with_message import exit_with_message

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(("error", "message"), [
    (ValueError("two\n lines"), "command.py: two lines"),
    (FileNotFoundError(2, "No such file", "mine.csv"), "command.py: [Errno 2] No such file: 'mine.csv'"),
])  # fmt: skip
def test_a_mistake_is_one_line(error, message) -> None:
    with pytest.raises(SystemExit) as stopped, exit_with_message("command.py"):
        raise error
    assert stopped.value.code == message


def test_a_verb_that_is_interrupted_ends_with_one_line_and_leaves_no_folder(tmp_path, monkeypatch, capsys) -> None:
    def raise_interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vocabless.conversion.hub.write", raise_interrupt)
    with pytest.raises(SystemExit, match="130"):
        conversion.main(["hub", "eelbert-word-uno", str(tmp_path / "new")])
    line = "vocabless hub: interrupted; give the same command again to begin anew."
    assert capsys.readouterr().err.strip() == line and not (tmp_path / "new").exists()


def test_a_run_that_is_interrupted_says_that_it_can_be_continued(capsys) -> None:
    with pytest.raises(SystemExit, match="130"), exit_with_message("vocabless finetune"):
        raise KeyboardInterrupt
    assert (
        capsys.readouterr().err.strip() == "vocabless finetune: interrupted; give the same command again to continue."
    )


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
@pytest.mark.parametrize("command", [["-m", "vocabless.conversion", "onnx", "a", "b"], [str(ROOT / "run_glue.py")]])
@pytest.mark.quick("command1")
def test_a_command_that_is_interrupted_while_it_imports_shows_no_traceback(command) -> None:
    started = subprocess.Popen(
        [sys.executable, "-v", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    lines = iter(started.stderr)
    next(line for line in lines if line.startswith("import 'transformers"))  # -v prints each import
    started.send_signal(signal.SIGINT)
    said = [line for line in lines if "Traceback" in line or ": interrupted" in line]
    assert len(said) == 1 and ": interrupted" in said[0]
    assert started.wait() == 130


def test_a_fault_of_the_program_keeps_its_traceback() -> None:
    with pytest.raises(RuntimeError, match="shapes"), exit_with_message("command.py"):
        raise RuntimeError("shapes")


def test_what_the_output_cannot_encode_is_printed_as_escapes(monkeypatch) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", output)
    with exit_with_message("command.py"):
        sys.stdout.write("été ± 1\n")
        sys.stdout.flush()
    assert output.buffer.getvalue() == b"\\xe9t\\xe9 \\xb1 1\n"
