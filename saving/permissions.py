"""Finds out before the work begins that files may not be read, or a folder may not be written.

transformers and safetensors tell of a file without permission as of one that is missing.
"""

import errno
import os
from pathlib import Path


def check_readable(source: str) -> None:
    """Checks that a folder and the files in it may be read. Anything else than a folder, such as a Hub id, passes.

    Raises:
        PermissionError: the first of them that may not be read.
    """
    if not os.path.isdir(source):
        return
    _check(source, os.R_OK | os.X_OK)
    for file in sorted(Path(source).iterdir()):
        if file.is_file():
            _check(file, os.R_OK)


def check_writable(folder: Path) -> None:
    """Checks that a folder, or the nearest one above that exists, may be written.

    Raises:
        PermissionError: it may not.
    """
    _check(next(path for path in (folder, *folder.absolute().parents) if path.exists()), os.W_OK | os.X_OK)


def _check(path: str | os.PathLike[str], mode: int) -> None:
    if not os.access(path, mode):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
