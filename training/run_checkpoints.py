"""The checkpoints of a run: which are complete, which one training continues from, and which are removed.

A checkpoint is a folder `checkpoint-<steps>`. `complete` marks it after its last file was written. Folders without this
mark are not used and stay: they belong to the user, or the run writes them again when it reaches their step.
"""

import json
import logging
import os
import shutil
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from safetensors import SafetensorError, safe_open

COMPLETE = "complete"  # text: the name of the checkpoint, and those of its files
PICKLES = (".pt", ".pth", ".bin")  # zip files, as torch writes them
_LOGGER = logging.getLogger(__name__)


def complete(checkpoint: Path) -> None:
    """Marks a checkpoint that every process has written."""
    files = [str(file.relative_to(checkpoint)) for file in checkpoint.rglob("*") if file.is_file()]
    (checkpoint / COMPLETE).write_text("\n".join([checkpoint.name, *files]), encoding="utf-8")


def list_complete(folder: str | os.PathLike[str]) -> list[Path]:
    """Returns the complete checkpoints of a run by their steps; a copy under another number is not one of them."""
    marked = [mark.parent for mark in Path(folder).glob(f"checkpoint-*/{COMPLETE}")]
    return sorted((path for path in marked if _mark(path)[:1] == [path.name]), key=_steps)


def find_last(folder: str | os.PathLike[str]) -> Path | None:
    """Returns the checkpoint that training continues from. Names and removes those behind it that cannot be loaded."""
    for checkpoint in reversed(list_complete(folder)):
        damaged = next((name for name in _mark(checkpoint)[1:] if not _is_readable(checkpoint / name)), None)
        if damaged is None:
            return checkpoint
        remedy = "it is removed, and training continues from the one before"
        _LOGGER.warning("%s is damaged (%s is missing or cannot be read); %s.", checkpoint, damaged, remedy)
        _remove(checkpoint)
    return None


def remove_all(folder: str | os.PathLike[str]) -> None:
    """Removes all checkpoints of a run."""
    for checkpoint in list_complete(folder):
        _remove(checkpoint)


def remove_old(folder: str | os.PathLike[str], limit: int | None, best_steps: int | None) -> None:
    """Keeps `limit` checkpoints: the last one, the best one, and the next ones before the last; None keeps all.

    The last and the best one are kept also if that is one too many.
    """
    by_age = list_complete(folder)
    others = [path for path in by_age[:-1] if _steps(path) != best_steps]
    for checkpoint in others[: max(0, len(by_age) - limit)] if limit else []:
        _remove(checkpoint)


def _mark(checkpoint: Path) -> list[str]:
    return (checkpoint / COMPLETE).read_text(encoding="utf-8", errors="replace").splitlines()


def _steps(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])


def _remove(checkpoint: Path) -> None:
    """Removes a checkpoint, its mark last: what an interrupted call leaves is removed later."""
    for path in sorted(checkpoint.iterdir(), key=lambda path: path.name == COMPLETE):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    checkpoint.rmdir()


def _is_readable(file: Path) -> bool:
    """Returns whether a file is there and whole, as far as its format tells."""
    try:
        if file.suffix == ".safetensors":
            with safe_open(file, "pt"):
                return True
        if file.suffix in PICKLES:
            with ZipFile(file) as archive:
                return archive.testzip() is None
        if file.suffix == ".json":
            json.loads(file.read_bytes())
    except (OSError, ValueError, BadZipFile, SafetensorError):
        return False
    return file.is_file()
