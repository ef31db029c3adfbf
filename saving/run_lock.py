"""The lock of a run's folder: one command at a time works in it."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # on Windows there is no lock
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other commands out of a folder within a `with` block.

    The lock ends with the process, also if it is killed; the file stays. Processes that this one starts do not hold it.

    Raises:
        ValueError: another process holds the lock; the message names it.
        OSError: the lock file cannot be written.
    """
    with (folder / LOCK).open("a+", encoding="utf-8") as file:
        if not _lock(file):
            raise ValueError(
                f"another command works in the output folder {str(folder)!r}: {_holder(file)}; wait until it ends, "
                "stop it, or give another folder."
            )
        file.truncate(0)
        start = datetime.now().astimezone().isoformat(" ", "seconds")
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "start": start}))
        file.flush()
        yield


def _lock(file: IO[str]) -> bool:
    if fcntl is None:
        return True
    try:
        # `lockf`, because a child process would inherit a lock of `flock` and might outlive this process.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _holder(file: IO[str]) -> str:
    file.seek(0)
    try:
        holder = json.loads(file.read())
        return f"process {holder['pid']} on {holder['host']}, started {holder['start']}"
    except (ValueError, KeyError, TypeError):  # it has not yet written who it is
        return "a process that has just started"
