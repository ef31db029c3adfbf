"""Says in a sentence which disk is full, or which folder cannot be written, from an error of any library.

The errors of torch, safetensors, datasets and shutil name no folder. So the disk is the one with the least free space
of those that a command writes to: the folders in its words, the current one, the temporary one and the caches.
"""

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

UNFINISHED = ".writing-"  # begins the names of temporary folders, within those that they become
# What libraries say; numpy and torch do not say why.
_FULL = re.compile(
    r"No space left|quota exceeded|os error (?:28|122)\b|file write failed|unexpected pos|"
    r"requested and \d+ written"
)
_FULL_NUMBERS = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


def describe_disk_error(error: BaseException, words: Sequence[str]) -> str | None:
    """Returns a sentence if an error of a command, or what it came from, says that a disk is full; else None."""
    chain = list(_chain(error))
    if not any(getattr(each, "errno", None) in _FULL_NUMBERS or _FULL.search(str(each)) for each in chain):
        return None
    named = [str(each.filename) for each in chain if isinstance(each, OSError) and each.filename]
    folders = [existing_folder(Path(path)) for path in named or _written_by(words)]
    folder = min(folders, key=lambda path: shutil.disk_usage(path).free)
    free = shutil.disk_usage(folder).free
    return (
        f"the disk of {str(folder)!r} is full: {_size(free)} are free, and more is needed; free some space, or "
        "give a folder on another disk (an output folder, TMPDIR for temporary files, HF_HOME for caches)."
    )


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raises ValueError if the disk of a folder has less free space than `needed` bytes for `what`."""
    free = shutil.disk_usage(existing_folder(folder)).free
    folder = folder.parent if folder.name.startswith(UNFINISHED) else folder  # the one that the user named
    if free < needed:
        raise ValueError(
            f"the disk of {str(folder)!r} has {_size(free)} free, but {_size(needed)} are needed for {what}; free some "
            "space, or give a folder on another disk."
        )


def existing_folder(path: Path) -> Path:
    """Returns the nearest folder of a path that exists."""
    return next(folder for folder in (path, *path.absolute().parents) if folder.is_dir())


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yields an error, and those that it came from, each once: `raise cause from error` makes a ring."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _written_by(words: Sequence[str]) -> list[str]:
    """Returns the folders that a command may write to."""
    modules = {name: sys.modules.get(name) for name in ("datasets.config", "huggingface_hub.constants")}
    caches = [getattr(modules["datasets.config"], "HF_DATASETS_CACHE", None)]
    caches.append(getattr(modules["huggingface_hub.constants"], "HF_HUB_CACHE", None))
    paths = [word for word in words if not word.startswith("-")]
    return [*paths, os.getcwd(), tempfile.gettempdir(), *(str(cache) for cache in caches if cache)]


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
