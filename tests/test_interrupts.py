"""Ctrl-C at any moment: one line, exit status 130."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vocabless.conversion import __main__ as conversion

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT on Windows")
ROOT = Path(__file__).parent.parent
LINE = "interrupted; give the same command again to continue."
# Each step prints its name, and is interrupted there. The file is imported alone: to import the package takes seconds.
STEPS = """
import sys, time
from interrupts import exit_on_interrupt, interruptible

def wait(step):
    print(step, flush=True)
    time.sleep(60)

exit_on_interrupt()
if sys.argv[1] == "start":
    wait("start")
try:
    with interruptible():
        try:
            wait("work")
        finally:
            if sys.argv[1] == "inside":
                wait("inside")
except KeyboardInterrupt:
    print("cleaned up", flush=True)
    if sys.argv[1] == "twice":
        wait("cleaning")
    sys.exit("one sentence")
"""


@pytest.fixture(autouse=True)
def not_ignored() -> Iterator[None]:
    """Programs that the tests start obey Ctrl-C, even if the tests were started by one that ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(*command: str, after: tuple[str, ...], path: Path) -> tuple[int, str, str]:
    """Starts Python and sends SIGINT after each of the lines that it prints; returns its status and its two outputs.

    Modules in `path` are found before installed ones.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(ROOT)])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, *command], env=environment, **pipes)
    printed = ""
    for line in after:
        while not printed.endswith(f"{line}\n"):
            more = process.stdout.readline()
            assert more, process.stderr.read()
            printed += more
        process.send_signal(signal.SIGINT)
    more, errors = process.communicate(timeout=60)
    return process.returncode, printed + more, errors


@pytest.mark.parametrize(("case", "steps", "ending"), [
    ("start", ("start",), (130, "start\n", f"\n{LINE}\n")),
    ("once", ("work",), (1, "work\ncleaned up\n", "one sentence\n")),
    ("inside", ("work", "inside"), (130, "work\ninside\n", f"\n{LINE}\n")),
    ("twice", ("work", "cleaning"), (130, "work\ncleaned up\ncleaning\n", f"\n{LINE}\n")),
])  # fmt: skip
def test_the_first_interrupt_lets_the_work_clean_up_and_all_others_end_the_process(case, steps, ending) -> None:
    assert interrupted("-c", STEPS, case, after=steps, path=ROOT / "vocabless") == ending


@pytest.mark.parametrize("command", [["run_pretraining.py"], ["run_glue.py"], ["-m", "vocabless.conversion", "hub"]])
def test_a_command_that_is_still_importing_ends_with_one_line(command, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("datasets", "transformers"):  # the first large package of each command
        (tmp_path / f"{name}.py").write_text("import time\nprint('imports', flush=True)\ntime.sleep(60)\n")
    status, printed, errors = interrupted(*command, after=("imports",), path=tmp_path)
    assert (status, errors) == (130, f"\n{LINE}\n") and printed.endswith("imports\n")


def test_a_verb_that_works_ends_with_one_line_and_leaves_no_folder(tmp_path, monkeypatch, capsys) -> None:
    def raise_interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vocabless.conversion.hub.write_repository", raise_interrupt)
    with pytest.raises(SystemExit) as stopped:
        conversion.main(["hub", "eelbert-word-uno", str(tmp_path / "new")])
    assert stopped.value.code == 130 and capsys.readouterr().err.strip() == f"python -m vocabless.conversion: {LINE}"
    assert not (tmp_path / "new").exists()


def test_a_program_that_imports_the_package_keeps_its_own_handler(tmp_path) -> None:
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "__init__.py").write_text("import vocabless\n")
    (tmp_path / "foreign" / "__main__.py").touch()
    asks = "import signal, sys\nprint(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\nsys.exit()\n"
    (tmp_path / "transformers.py").write_text(asks)  # the first large package that is imported
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-m", "foreign"]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.stdout == "True\n", process.stderr
