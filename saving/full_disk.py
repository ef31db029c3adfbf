"""Tells a full disk from other errors. Libraries report it in their own types, and wrap it in others.

A file that is larger than `ulimit -f` allows counts as one: torch reports both by the same error.
"""

import tempfile

from huggingface_hub import constants

# What the errors of Python, Rust, Arrow, datasets and torch's writer say.
MARKS = (
    "No space left on device", "Disk quota exceeded", "Not enough disk space", "File too large", "inline_container",
)  # fmt: skip


def is_disk_full(error: BaseException) -> bool:
    """Returns whether an error, or one that led to it as a traceback shows it, means a full disk or too large a file.

    >>> is_disk_full(OSError(28, "No space left on device"))
    True
    """
    behind = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return any(mark in str(error) for mark in MARKS) or (behind is not None and is_disk_full(behind))


def full_disk_sentence() -> str:
    """Returns what to say if the folder on the full disk is not known."""
    return (
        "a disk is full, or a file is larger than `ulimit -f` allows; free some space for the output, for temporary "
        f"files ({tempfile.gettempdir()!r}) and for caches ({constants.HF_HOME!r}), or raise the limit, and give the "
        "same command again."
    )
