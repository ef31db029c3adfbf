"""The folder of a run: one command at a time, one set of arguments, no file of anybody else, no place in its names."""

import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vocabless.public_names import without_paths
from vocabless.saving.run_folder import ARGUMENTS, HOLDER, LOCK, RESULTS, locked_run_folder, read_results, write_json

ROOT = Path(__file__).parent.parent.parent


def claim(folder, arguments):
    with locked_run_folder(folder, arguments):
        pass


def add_checkpoint(folder):
    (folder / "checkpoint-2").mkdir()
    (folder / "checkpoint-2" / "model.safetensors").touch()


@pytest.mark.parametrize("results", [None, {"done": True}])
def test_a_run_is_accepted_with_the_same_arguments_and_no_file_changes_but_the_lock(results, tmp_path):
    def contents():
        files = [file for file in tmp_path.rglob("*.*") if file.name not in (LOCK, HOLDER)]
        return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}

    claim(tmp_path, {"seed": 1, "corpus": ("a",)})
    add_checkpoint(tmp_path)
    if results:
        write_json(tmp_path / RESULTS, results)
    before = contents()
    claim(tmp_path, {"seed": 1, "corpus": ("a",)})
    with pytest.raises(ValueError, match=r"differs in seed \(1 in the folder, 2 now\)"):
        claim(tmp_path, {"seed": 2, "corpus": ("a",)})
    assert contents() == before
    assert read_results(tmp_path) == results


def test_numbers_that_json_lacks_are_null(tmp_path):
    numbers = {"log": [{"grad_norm": math.inf}, {"grad_norm": 0.5}], "pair": (math.nan, 1)}
    write_json(tmp_path / RESULTS, numbers)
    read = json.loads((tmp_path / RESULTS).read_text(), parse_constant=pytest.fail)
    assert read == {"log": [{"grad_norm": None}, {"grad_norm": 0.5}], "pair": [None, 1]}


def test_a_command_that_failed_at_its_start_does_not_keep_the_folder(tmp_path):
    (tmp_path / LOCK).touch()
    (tmp_path / "run.tmp").write_text("{")  # killed while it wrote run.json
    claim(tmp_path, {"corpus": "misspelt"})
    claim(tmp_path, {"corpus": "right"})
    add_checkpoint(tmp_path)
    claim(tmp_path, {"corpus": "right"})


@pytest.mark.parametrize("has_work", [True, False])
@pytest.mark.parametrize("content", ["", "[1]", "half", '{"arguments": []}', '{"arguments": {}}', '{"my": "notes"}'])
def test_a_damaged_record_or_one_of_somebody_else_is_named_with_a_remedy_and_kept(tmp_path, content, has_work):
    if has_work:
        add_checkpoint(tmp_path)
    (tmp_path / ARGUMENTS).write_text(content)
    with pytest.raises(ValueError, match=r"run\.json.*; give another folder"):
        claim(tmp_path, {})
    assert (tmp_path / ARGUMENTS).read_text() == content and read_results(tmp_path) is None
    if not content.startswith("{"):
        (tmp_path / RESULTS).write_text(content)
        with pytest.raises(ValueError, match=r"results\.json.* is damaged.*; remove it"):
            read_results(tmp_path)


def test_a_folder_of_other_files_or_that_cannot_be_written_is_named_and_left_alone(tmp_path):
    (tmp_path / "file").write_text("mine")
    link = tmp_path.with_name("link")
    link.symlink_to(tmp_path / "absent")
    for folder in (tmp_path / "file", tmp_path / "file" / "run", "/proc/run", tmp_path, link, link / "run"):
        with pytest.raises(ValueError, match=rf"the output folder {re.escape(repr(str(folder)))} .*; give an") as error:
            claim(folder, {})
        assert "exists" not in str(error.value)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"file": "mine"}


@pytest.mark.parametrize("name", [ARGUMENTS, RESULTS, "README.md", "model.safetensors"])
def test_a_folder_with_the_name_of_a_file_of_a_run_is_refused_before_the_work(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match="holds other files; give an empty or a new one"):
        claim(tmp_path, {})
    assert [file.name for file in tmp_path.iterdir()] == [name]


HOLD = """
import os, sys, time
from run_folder import locked_run_folder
with locked_run_folder(sys.argv[1], {"seed": 1}):
    if sys.argv[2] == "a child" and os.fork() == 0:
        os.close(1)
        time.sleep(60)
    print(os.getpid(), flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("survivor", ["nothing", "a child"])
def test_one_command_at_a_time_works_in_a_folder_and_a_killed_one_leaves_it(tmp_path, survivor):
    claim(tmp_path, {"seed": 1})
    # The file alone: to import the package takes seconds.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "saving")}
    command = [sys.executable, "-c", HOLD, str(tmp_path), survivor]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True) as other:
        try:
            assert int(other.stdout.readline()) == other.pid
            holder = rf"process {other.pid} on {re.escape(socket.gethostname())}, started {time.strftime('%Y-')}"
            with pytest.raises(ValueError, match=rf"another command works in .*{holder}.*; wait until it ends"):
                claim(tmp_path, {"seed": 1})
            os.kill(other.pid, signal.SIGKILL)
            other.wait()
            time.sleep(0.3)  # a child closes its copy of the lock just after the fork
            claim(tmp_path, {"seed": 1})
        finally:
            if survivor == "a child":
                os.killpg(other.pid, signal.SIGKILL)


@pytest.mark.parametrize(("value", "public"), [
    ("runs/teacher", "teacher"), ("runs/texts.parquet", "texts.parquet"), ("runs/teachers/{task}", "{task}"),
    ("runs/texts/*.parquet", "*.parquet"), ("runs/*", "*"), (["../runs/{task}", 3, None], ["{task}", 3, None]),
    ("you/base", "you/base"), ('{"width": "3/4"}', '{"width": "3/4"}'), ("3/4 of the rows", "3/4 of the rows"),
])  # fmt: skip
def test_places_are_left_out_of_results(value: object, public: object, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "runs" / "teacher").mkdir(parents=True)
    (tmp_path / "runs" / "texts.parquet").touch()
    monkeypatch.chdir(tmp_path)
    assert without_paths({"argument": value}) == {"argument": public}
