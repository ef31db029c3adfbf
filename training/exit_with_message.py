"""How a command ends: if it cannot go on, with one sentence; beside other processes, after all of them."""

import atexit
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from safetensors import SafetensorError

from vocabless.interrupts import INTERRUPTED, LINE, interruptible
from vocabless.saving.full_disk import full_disk_sentence, is_disk_full


@contextmanager
def exit_with_message(command: str) -> Iterator[None]:
    """Ends the command with one sentence if the user made a mistake, a disk or a folder failed, or after Ctrl-C.

    The name of the command is the first word of the sentence. Characters that the output cannot encode are printed as
    escapes.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with interruptible():
            yield
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{command}: {LINE}\n")
        raise SystemExit(INTERRUPTED) from None
    except (ValueError, OSError, RuntimeError, SafetensorError) as error:
        if is_disk_full(error):
            sys.exit(f"{command}: {full_disk_sentence()}")
        if not isinstance(error, ValueError | OSError):
            raise
        message = " ".join(str(error).split())
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EROFS):
            message = (
                f"{error.filename!r} cannot be read or written ({error.strerror}); change its permissions, or give "
                "another folder: for the output on the command line, for caches by HF_HOME."
            )
        sys.exit(f"{command}: {message}")


def exit_launched_process() -> None:
    """Ends this process if a launcher started it beside others, after they all have come here; else does nothing.

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
