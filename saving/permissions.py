"""Finds out before the work begins that files may not be read, or a folder may not be written.

transformers and safetensors tell of a file without permission as of one that is missing.
"""

import errno
import os
from pathlib import Path


def check_readable(source: str) -> None:
    """Raises PermissionError for the first of a folder and its files that may not be read. A Hub id passes."""
    if not os.path.isdir(source):
        return
    _check(source, os.R_OK | os.X_OK)
    for file in sorted(Path(source).iterdir()):
        if file.is_file():
            _check(file, os.R_OK)


def check_writable(folder: Path) -> None:
    """Raises PermissionError if a folder, or the nearest one above that exists, may not be written."""
    _check(next(path for path in (folder, *folder.absolute().parents) if path.exists()), os.W_OK | os.X_OK)


def _check(path: str | os.PathLike[str], mode: int) -> None:
    if not os.access(path, mode):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
