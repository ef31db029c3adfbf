"""A full disk is one sentence that names the disk, whatever library met it."""

import errno
import shutil
from collections import namedtuple

import pytest
from safetensors import SafetensorError

from vocabless import VocablessModel, disk_errors, load_config, load_tokenizer
from vocabless.exit_with_message import exit_with_message
from vocabless.saving.checkpoint import save_checkpoint


def raised_from(error, cause):
    error.__cause__ = cause
    return error


NO_SPACE = OSError(errno.ENOSPC, "No space left on device")
COPYING = shutil.Error([("a", "out/a", "[Errno 28] No space left on device: 'out/a'")])
SERIALIZING = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
TORCH = RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 320 vs 214")


def test_what_is_to_be_written_and_the_free_space_are_told_before_it_is_written(tmp_path, monkeypatch):
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(2e6))
    disk_errors.check_space(tmp_path / "new", 2_000_000, "the weights")
    with pytest.raises(ValueError, match=r"new' has 2.0 MB free, but 2.5 MB are needed for the weights; free some"):
        disk_errors.check_space(tmp_path / "new", 2_500_000, "the weights")
    model = VocablessModel(load_config("hashgram-nano"))
    with pytest.raises(ValueError, match=r"/model' has 0.0 MB free, but 1.8 MB are needed for the weights"):
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1e4))
        save_checkpoint(model, load_tokenizer("hashgram-nano"), tmp_path / "model")
    assert not (tmp_path / "model" / "config.json").exists()


@pytest.mark.parametrize("error", [
    NO_SPACE, COPYING, SERIALIZING, TORCH, raised_from(ValueError("the corpus cannot be read"), NO_SPACE),
    OSError("1280 requested and 512 written"), OSError(errno.EDQUOT, "Disk quota exceeded"),
], ids=lambda error: type(error).__name__)  # fmt: skip
def test_the_disk_with_the_least_free_space_among_those_of_the_command_is_named(error, tmp_path, monkeypatch):
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(2e6 if path == tmp_path else 9e9))
    words = ["--output_dir", str(tmp_path / "new" / "run"), "--seed", "1"]
    with pytest.raises(SystemExit) as stopped, exit_with_message("command.py", words):
        raise error
    sentence = f"command.py: the disk of {str(tmp_path)!r} is full: 2.0 MB are free, and more is needed; free some"
    assert stopped.value.code.startswith(sentence)


def test_the_disk_of_a_file_that_the_error_names_is_named(tmp_path):
    error = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "cache" / "rows.arrow"))
    assert f"the disk of {str(tmp_path)!r} is full" in disk_errors.describe_disk_error(error, [])


def test_other_errors_say_nothing_of_a_disk():
    assert disk_errors.describe_disk_error(OSError(errno.ENOENT, "No such file", "x"), []) is None
    assert disk_errors.describe_disk_error(RuntimeError("shapes"), []) is None


def test_an_error_that_is_raised_from_its_own_effect_ends_the_command(tmp_path):
    cause = ValueError("line 2 is the header again; drop the line.")
    with pytest.raises(SystemExit) as stopped, exit_with_message("command.py", [str(tmp_path)]):
        raise cause from raised_from(RuntimeError("no rows"), cause)
    assert stopped.value.code == "command.py: line 2 is the header again; drop the line."
