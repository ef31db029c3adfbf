"""How a command ends: with one sentence if it cannot go on; a process of a launcher ends after all others."""

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper

INTERRUPTED = 130  # exit status after Ctrl-C


@contextmanager
def exit_with_message(command: str) -> Iterator[None]:
    """Ends the command with one sentence if the user made a mistake or a file cannot be used, and after Ctrl-C.

    The name of the command is the first word of the sentence. Characters that the output cannot encode are printed as
    escapes.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{command}: interrupted; give the same command again to continue.\n")
        raise SystemExit(INTERRUPTED) from None
    except (ValueError, OSError) as error:
        sys.exit(f"{command}: {' '.join(str(error).split())}")


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
