"""Target folders of conversions: written whole or not at all, and never blocked by a command that was killed."""

import os
import signal

import pytest
from huggingface_hub import constants
from refusals import refusal

from vocabless.conversion import hub
from vocabless.conversion.__main__ import main
from vocabless.saving.checkpoint import atomic_folder
from vocabless.saving.targets import check_target

WEIGHTS = "model.safetensors"


@pytest.fixture
def checkpoint(save_model):
    return save_model("eelbert-word-uno")[1]


def test_an_error_leaves_an_empty_folder(tmp_path):
    with pytest.raises(OSError, match="full"), atomic_folder(tmp_path / "new") as folder:
        (folder / WEIGHTS).write_text("half")
        raise OSError("the disk is full")
    assert list((tmp_path / "new").iterdir()) == []


def test_files_of_a_user_are_never_removed_and_a_broken_link_is_no_target(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".writing-1").mkdir()
    with pytest.raises(ValueError, match="not an empty folder"):
        check_target(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"notes.txt", ".writing-1"}
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    with pytest.raises(ValueError, match="not a folder"):
        check_target(tmp_path / "link", overwrite=True)


def test_overwrite_replaces_files_of_the_same_names_and_keeps_others(checkpoint, tmp_path):
    target = tmp_path / "new"
    main(["hub", str(checkpoint), str(target)])
    written = {file.name: file.read_bytes() for file in target.iterdir()}
    (target / WEIGHTS).write_text("old")
    (target / "thesis.txt").write_text("precious")
    assert "give another one, or --overwrite" in refusal(main, "hub", checkpoint, target)
    main(["hub", str(checkpoint), str(target), "--overwrite"])
    assert {file.name: file.read_bytes() for file in target.iterdir()} == {**written, "thesis.txt": b"precious"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_command_leaves_nothing_that_looks_finished_or_blocks(tmp_path):
    target = tmp_path / "target"
    child = os.fork()  # to import the package in another process takes seconds
    if child == 0:
        with atomic_folder(target) as folder:
            (folder / "config.json").write_text("{}")
            (folder / WEIGHTS).write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert [file.name[:9] for file in target.iterdir()] == [".writing-"]
    with atomic_folder(target) as folder:
        (folder / WEIGHTS).write_text("whole")
    assert {file.name: file.read_text() for file in target.iterdir()} == {WEIGHTS: "whole"}


def test_ctrl_c_ends_a_verb_with_one_line(tmp_path, monkeypatch, capsys):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(hub, "write_repository", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main(["hub", "eelbert-word-uno", str(tmp_path / "new")])
    assert stopped.value.code == 130
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("config", "config.json' holds a list, not an object; give a complete checkpoint"),
        ("empty folder", "holds no config.json; give the folder of a checkpoint"),
        ("missing", "is neither a folder nor a reachable Hub repository with config.json"),
        ("proc target", "/proc"),
        ("full target", "is not an empty folder; give another one, or --overwrite"),
    ],
)
def test_a_bad_source_or_target_ends_with_one_sentence(damage, sentence, checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    source, target = checkpoint, tmp_path / "target"
    if damage == "config":
        (checkpoint / "config.json").write_text("[1]")
    elif damage == "proc target":
        target = "/proc/vocabless/new"
    elif damage == "full target":
        target.mkdir()
        (target / "thesis.txt").write_text("precious")
    else:
        source = tmp_path / "source"
        if damage == "empty folder":
            source.mkdir()
    assert sentence in refusal(main, "hub", source, target)
    if damage == "full target":
        assert [file.name for file in target.iterdir()] == ["thesis.txt"]
    else:
        assert damage == "proc target" or not target.exists()


def test_a_folder_that_may_not_be_written_is_named_before_the_work(tmp_path, monkeypatch):
    allowed = os.access  # the test user may be root, who may do everything
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path and allowed(path, mode))
    monkeypatch.setattr("vocabless.conversion.onnx.load_checkpoint", lambda _: pytest.fail("it worked for nothing"))
    message = refusal(main, "onnx", "any", tmp_path / "a" / "b")
    assert f"the folder {str(tmp_path)!r} may not be written; change its permissions, or give another target" in message
    assert list(tmp_path.iterdir()) == []
