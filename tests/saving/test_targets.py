"""Target folders of conversions: written whole or not at all, and never blocked by a command that was killed."""

import errno
import importlib
import os
import signal

import pytest
from refusals import refusal

from vocabless.conversion.__main__ import VERBS, main
from vocabless.saving.checkpoint import atomic_folder
from vocabless.saving.targets import check_target

WEIGHTS = "model.safetensors"


def test_an_error_leaves_an_empty_folder(tmp_path):
    with pytest.raises(OSError, match="full"), atomic_folder(tmp_path / "new") as folder:
        (folder / WEIGHTS).write_text("half")
        raise OSError("the disk is full")
    assert list((tmp_path / "new").iterdir()) == []


def test_all_files_have_the_mode_of_a_new_file_whatever_wrote_them(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_folder(tmp_path / "new") as folder:
            (folder / "a.json").touch()
            (folder / "a.safetensors").touch(mode=0o600)  # as safetensors makes its files
            (folder / "in").mkdir()
            (folder / "in" / "b.safetensors").touch(mode=0o600)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "new").rglob("*") if path.is_file()}
    assert modes == dict.fromkeys(("a.json", "a.safetensors", "b.safetensors"), 0o640)


def test_files_of_a_user_are_never_removed_and_a_broken_link_is_no_target(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".writing-1").mkdir()
    with pytest.raises(ValueError, match="not an empty folder"):
        check_target(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"notes.txt", ".writing-1"}
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    for target, what in (("link/new", "link to nothing"), ("notes.txt/new", "file")):
        with pytest.raises(ValueError, match=rf"cannot be made: '.*' is a {what}; give another one\."):
            check_target(tmp_path / target, overwrite=True)


def test_overwrite_replaces_files_of_the_same_names_and_keeps_others(save_model, tmp_path):
    target, (_, checkpoint) = tmp_path / "new", save_model("eelbert-word-uno")
    main(["hub", str(checkpoint), str(target)])
    written = {file.name: file.read_bytes() for file in target.iterdir()}
    (target / WEIGHTS).write_text("old")
    (target / "thesis.txt").write_text("precious")
    before = {file.name: file.read_bytes() for file in target.iterdir()}
    message = "is not an empty folder; give another one, or --overwrite, which replaces files of the same names"
    assert message in refusal(main, "hub", checkpoint, target)
    assert {file.name: file.read_bytes() for file in target.iterdir()} == before
    main(["hub", str(checkpoint), str(target), "--overwrite"])
    assert {file.name: file.read_bytes() for file in target.iterdir()} == {**written, "thesis.txt": b"precious"}


def contents(folder):
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def link(path, to):
    path.symlink_to(to, target_is_directory=True)
    return path


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_overwrites_its_source(verb, tmp_path, monkeypatch):
    source, outside = tmp_path / "runs" / "mine", tmp_path / "outside"
    (source / "checkpoint-2").mkdir(parents=True)
    outside.mkdir()
    for name in (WEIGHTS, "README.md", f"checkpoint-2/{WEIGHTS}"):
        (source / name).write_text(f"the source's {name}")
    (outside / WEIGHTS).write_text("outside")
    monkeypatch.chdir(tmp_path)
    links_out = tmp_path / "links-out"  # a source of a link
    links_out.mkdir()
    (links_out / WEIGHTS).symlink_to(outside / WEIGHTS)
    links_in = tmp_path / "links-in"  # a target, a folder of which is one of the source
    links_in.mkdir()
    link(links_in / "checkpoint-2", source / "checkpoint-2")
    before = contents(tmp_path)
    module = importlib.import_module(f"vocabless.conversion.{verb}")
    monkeypatch.setattr(module, "write", lambda *_: pytest.fail("worked for nothing"))
    flags = {"encoder": ["--variant", "ewe-bert-tiny"]}.get(verb, [])
    for read, target in [
        (source, source), (source, "runs/../runs/mine"), ("runs/mine", source), (source, link(tmp_path / "to", source)),
        (tmp_path / "to", source), (source, source / "checkpoint-2"), (source, source.parent), (links_out, outside),
        (source, links_in),
    ]:  # fmt: skip
        sources = ["--model", read, outside / WEIGHTS] if verb == "search" else [read]
        for more in ([], ["--overwrite"]):
            said = refusal(main, verb, *sources, target, *flags, *more)
            assert said.endswith("which is read and must not be overwritten; give another target.")
    if verb == "search":
        assert "holds files of 'outside'" in refusal(main, verb, "outside", outside, "--overwrite")
    assert contents(tmp_path) == before


def test_a_graph_is_replaced_in_its_checkpoint_and_a_new_folder_in_the_source_is_a_target(tmp_path):
    for folder in ("onnx", "new"):
        (tmp_path / folder).mkdir()
    for name in (WEIGHTS, "onnx/model.onnx"):
        (tmp_path / name).touch()
    for folder in ("onnx", "new", "newer"):
        assert check_target(tmp_path / folder, True, [str(tmp_path), "me/mine"]) == tmp_path / folder


@pytest.mark.parametrize(("name", "written"), [("README.md", "README.md"), ("1_Pooling", "1_Pooling/config.json")])
def test_nothing_is_written_where_a_folder_has_the_name_of_a_file_or_the_reverse(name, written, tmp_path):
    (tmp_path / WEIGHTS).write_text("old")
    (tmp_path / name).mkdir() if name == written else (tmp_path / name).write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=rf"{name}' is a \w+, but a \w+ of this name is to be written; move it, or"):
        with atomic_folder(tmp_path) as folder:
            (folder / "1_Pooling").mkdir()
            for file in ("a.json", "1_Pooling/a.json", WEIGHTS, written):
                (folder / file).write_text("new")
    assert contents(tmp_path) == before


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


@pytest.mark.parametrize("verb", VERBS)
def test_a_target_that_cannot_be_written_is_refused_before_the_work(verb, tmp_path, monkeypatch):
    make, closed = os.mkdir, str(tmp_path)  # the test user may be root, who may do everything

    def mkdir(path, *arguments, **options):
        if str(path).startswith(closed):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        make(path, *arguments, **options)

    monkeypatch.setattr(os, "mkdir", mkdir)
    monkeypatch.setattr(
        importlib.import_module(f"vocabless.conversion.{verb}"), "write", lambda *_: pytest.fail("worked for nothing")
    )
    flags = {"encoder": ["--variant", "ewe-bert-tiny"]}.get(verb, [])
    documents = ["texts"] if verb == "search" else []
    said = refusal(main, verb, "me/mine", *documents, tmp_path / "new" / "page", *flags)
    assert said.endswith(f"nothing can be written into {closed!r}: read-only file system; give another target.")
