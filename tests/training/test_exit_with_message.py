"""How a command ends that cannot go on."""

import errno
import io
import os
import shutil
import sys

import pytest
from safetensors import SafetensorError

from vocabless.training.exit_with_message import exit_with_message

NO_SPACE = os.strerror(errno.ENOSPC)


def ending(error: Exception, cause: Exception | None = None) -> str:
    with pytest.raises(SystemExit) as stopped, exit_with_message("command.py"):
        raise error from cause
    return str(stopped.value.code)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, NO_SPACE),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
        OSError(errno.EFBIG, os.strerror(errno.EFBIG)),
        SafetensorError("Error while serializing: I/O error: File too large (os error 27)"),
        OSError("Not enough disk space. Needed: Unknown size (download: Unknown size"),
        shutil.Error([(f"from/{number}", f"to/{number}", f"[Errno 28] {NO_SPACE}: ...") for number in range(20)]),
        SafetensorError(f"Error while serializing: I/O error: {NO_SPACE} (os error 28)"),
        RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 2579392 vs 2579280"),
    ],
)
def test_a_full_disk_is_named_with_the_remedy(error) -> None:
    for message in (ending(error), ending(ValueError("the corpus cannot be read; check its files"), error)):
        assert message.startswith("command.py: a disk is full, or a file is larger than `ulimit -f` allows; free some ")
        assert message.endswith("and give the same command again.") and "\n" not in message


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_write_to_a_full_device_ends_with_the_sentence() -> None:
    with (
        pytest.raises(SystemExit, match="a disk is full"),
        exit_with_message("command.py"),
        open("/dev/full", "w") as file,
    ):
        file.write("weights")


def test_a_sentence_that_names_the_full_disk_itself_stays() -> None:
    with pytest.raises(SystemExit, match=r"^command.py: runs/a is full at step 4.$"), exit_with_message("command.py"):
        try:
            raise OSError(errno.ENOSPC, NO_SPACE)
        except OSError:
            raise ValueError("runs/a is full at step 4.") from None


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_folder_that_may_not_be_written_is_named_with_the_remedy(number) -> None:
    message = ending(OSError(number, os.strerror(number), "caches/datasets"))
    assert f"'caches/datasets' cannot be read or written ({os.strerror(number)}); change" in message
    assert message.endswith("for caches by HF_HOME.")


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


def test_a_mistake_is_one_line() -> None:
    assert ending(ValueError("two\n lines")) == "command.py: two lines"
