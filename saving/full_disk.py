"""Tells a full disk from other errors. Libraries report it in their own types, and wrap it in others.

A file that is larger than `ulimit -f` allows counts as one: torch reports both by the same error.
"""

import tempfile
from collections.abc import Iterator

from huggingface_hub import constants

# What the errors of Python, Rust, Arrow, datasets and torch's writer say.
MARKS = (
    *("No space left on device", "Disk quota exceeded", "Not enough disk space", "File too large"),
    "inline_container",
)


def is_disk_full(error: BaseException) -> bool:
    """Returns whether an error, or an error behind it, means a full disk or a file beyond the limit.

    >>> is_disk_full(OSError(28, "No space left on device"))
    True

    Args:
        error: it hides the error that led to it if it was raised `from None`.
    """
    return any(mark in str(each) for each in _chain(error) for mark in MARKS)


def full_disk_sentence() -> str:
    """Returns what to say if the folder on the full disk is not known."""
    return (
        "a disk is full, or a file is larger than `ulimit -f` allows; free some space for the output, for temporary "
        f"files ({tempfile.gettempdir()!r}) and for caches ({constants.HF_HOME!r}), or raise the limit, and give the "
        "same command again."
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yields an error and those that led to it, as a traceback shows them."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
