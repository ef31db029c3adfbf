"""How a command ends: with one sentence if it cannot go on; a process of a launcher ends after all others."""

import atexit
import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from types import TracebackType

from vocabless.disk_errors import describe_disk_error

INTERRUPTED = 130  # exit status after Ctrl-C


class exit_with_message:
    """Ends the command with one sentence if the user made a mistake or a file cannot be used, and after Ctrl-C.

    The name of the command is the first word of the sentence. Its `words`, None are those of this process, may name
    folders. `continues` says whether the same command again continues its work, or begins anew. Characters that the
    output cannot encode are printed as escapes.
    """

    def __init__(self, command: str, words: Sequence[str] | None = None, continues: bool = True) -> None:
        self.command, self.words, self.continues = command, words, continues

    def __enter__(self) -> None:
        if signal.getsignal(signal.SIGINT) is end_interrupted:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            what = "to continue" if self.continues else "to begin anew"
            sys.stderr.write(f"\n{self.command}: interrupted; give the same command again {what}.\n")
            raise SystemExit(INTERRUPTED) from None
        if isinstance(error, Exception):
            sentence = describe_disk_error(error, sys.argv[1:] if self.words is None else self.words)
            if sentence is None and isinstance(error, (ValueError, OSError)):
                sentence = " ".join(str(error).split())
            if sentence is not None:
                raise SystemExit(f"{self.command}: {sentence}") from error


def end_interrupted(*_: object) -> None:
    """Ends a command that is interrupted while it imports its modules: `vocabless` sets this handler for Ctrl-C."""
    os.write(2, b"\nvocabless: interrupted before it began.\n")
    os._exit(INTERRUPTED)


def exit_launched_process() -> None:
    """Ends this process of a launcher after all others have come here; does nothing if there is no launcher.

    When Python shuts down, it frees the objects that still refer to gloo's process group. That waits for gloo's worker
    threads while it holds the interpreter's lock, and a worker thread may wait for that lock: then the process never
    ends, though its work is done. So the exit handlers run here, and the process ends without a shutdown.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        from accelerate import PartialState

        state = PartialState()
        state.wait_for_everyone()
        state.destroy_process_group()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
