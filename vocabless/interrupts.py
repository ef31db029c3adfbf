"""Ctrl-C ends a command with one line, also while torch is imported and while Python shuts down.

This file imports no other file of the package: commands call it before they import torch.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

INTERRUPTED = 130  # exit status
LINE = "interrupted; give the same command again to continue."
_PROCESS = os.getpid()  # a fork has another number


def runs_own_command() -> bool:
    """Returns whether this process runs `vocabless`, or `python -m` with this package or its conversion."""
    if sys.argv[:1] == ["-m"]:  # until Python has imported the module that it will run
        return not {"vocabless", "vocabless.conversion"}.isdisjoint(sys.orig_argv)
    return Path("".join(sys.argv[:1])).stem == "vocabless"


def exit_on_interrupt() -> None:
    """Makes Ctrl-C end this process at once with one line, and its forks without a line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # nohup, for instance, ignores Ctrl-C
        signal.signal(signal.SIGINT, _exit)


@contextmanager
def interruptible() -> Iterator[None]:
    """Lets the first Ctrl-C raise KeyboardInterrupt, so that the block can clean up; the next one ends the process.

    The block changes nothing in a process that has not called `exit_on_interrupt`.
    """
    exits = signal.getsignal(signal.SIGINT) is _exit
    if exits:
        signal.signal(signal.SIGINT, _raise_once)
    try:
        yield
    finally:
        if exits:
            signal.signal(signal.SIGINT, _exit)


def _raise_once(*_: Any) -> None:
    signal.signal(signal.SIGINT, _exit)
    if os.getpid() != _PROCESS:
        os._exit(INTERRUPTED)
    raise KeyboardInterrupt


def _exit(*_: Any) -> None:
    if os.getpid() == _PROCESS:
        os.write(2, f"\n{LINE}\n".encode())
    os._exit(INTERRUPTED)
