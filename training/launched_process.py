"""The end of a process that a launcher started, such as `accelerate launch`."""

import atexit
import os
import sys

from accelerate import PartialState


def exit_launched_process() -> None:
    """Ends this process if a launcher started it beside others, after they all have come here; else does nothing.

    When Python shuts down, it frees the objects that still refer to gloo's process group. That waits for gloo's worker
    threads while it holds the interpreter's lock, and a worker thread may wait for that lock: then the process never
    ends, though its work is done. So the exit handlers run here, and the process ends without a shutdown.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        state = PartialState()
        state.wait_for_everyone()
        state.destroy_process_group()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
