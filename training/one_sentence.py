"""How a script ends that cannot go on: with one sentence and no traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # exit status after Ctrl-C


@contextmanager
def one_sentence(script: str) -> Iterator[None]:
    """Ends the script with one sentence if the user made a mistake, the disk or a folder failed, or after Ctrl-C.

    Args:
        script: name of the script, the first word of the sentence.
    """
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{script}: interrupted; give the same command again to continue.\n")
        raise SystemExit(INTERRUPTED) from None
    except (ValueError, OSError) as error:
        sys.exit(f"{script}: {' '.join(str(error).split())}")
