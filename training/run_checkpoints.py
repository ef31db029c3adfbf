"""The checkpoints of a run: which are whole, which one training continues from, and which are removed.

A checkpoint is a folder `checkpoint-<steps>`. `begin` marks it before its first file is written, `complete` after its
last one; the second mark holds a digest of every file. Folders without a mark belong to the user and stay.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from transformers.trainer import TRAINER_STATE_NAME

COMPLETE = "whole"  # JSON: the number of steps, and file → digest
INCOMPLETE = "unfinished"  # empty
_NAME = re.compile(r"checkpoint-(\d+)")


class Found(NamedTuple):
    """What `find_last` found.

    Attributes:
        checkpoint: the whole checkpoint with the most steps; None if there is none.
        damaged: checkpoints with more steps → what is wrong with each.
    """

    checkpoint: Path | None
    damaged: dict[Path, str]


def begin(checkpoint: Path) -> None:
    """Marks a checkpoint that is going to be written."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    (checkpoint / INCOMPLETE).touch()
    (checkpoint / COMPLETE).unlink(missing_ok=True)


def complete(checkpoint: Path) -> None:
    """Marks a checkpoint that every process has written."""
    for mark in (COMPLETE, INCOMPLETE):
        (checkpoint / mark).unlink(missing_ok=True)
    files = {str(file.relative_to(checkpoint)): _digest(file) for file in checkpoint.rglob("*") if file.is_file()}
    temporary = checkpoint / INCOMPLETE
    temporary.write_text(json.dumps({"steps": _steps(checkpoint), "files": files}, indent=1), encoding="utf-8")
    os.replace(temporary, checkpoint / COMPLETE)


def find_last(folder: str | os.PathLike[str]) -> Found:
    """Returns the checkpoint that training continues from, and the damaged ones behind it.

    A checkpoint with a damaged or missing best checkpoint counts as damaged, because the run may end with the best.
    """
    damaged: dict[Path, str] = {}
    for checkpoint in sorted(_complete(Path(folder)), key=_steps, reverse=True):
        problem = _damage(checkpoint) or _damage_of_best(checkpoint)
        if problem is None:
            return Found(checkpoint, damaged)
        damaged[checkpoint] = problem
    return Found(None, damaged)


def remove(checkpoint: Path) -> None:
    """Removes a checkpoint. If this is interrupted, an incomplete checkpoint is left."""
    begin(checkpoint)
    shutil.rmtree(checkpoint)


def remove_incomplete(folder: str | os.PathLike[str]) -> None:
    """Removes the checkpoints that the run was writing or removing when it was killed."""
    for checkpoint in _numbered(Path(folder)):
        if (checkpoint / INCOMPLETE).is_file():
            remove(checkpoint)


def remove_all(folder: str | os.PathLike[str]) -> None:
    """Removes all checkpoints of a run."""
    remove_incomplete(folder)
    for checkpoint in _complete(Path(folder)):
        remove(checkpoint)


def remove_old(folder: str | os.PathLike[str], limit: int | None, best_steps: int | None) -> None:
    """Keeps `limit` checkpoints: the last one, the best one, and the next ones before the last; None keeps all.

    The last and the best one are kept also if that is one too many.
    """
    by_age = sorted(_complete(Path(folder)), key=_steps)
    kept = {path for path in by_age if _steps(path) == best_steps} | set(by_age[-1:])
    others = [path for path in by_age if path not in kept]
    for checkpoint in others[: max(0, len(by_age) - limit)] if limit else []:
        remove(checkpoint)


def _numbered(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob("checkpoint-*") if _NAME.fullmatch(path.name) and path.is_dir())


def _complete(folder: Path) -> list[Path]:
    """Returns the checkpoints that the run has completed; a copy under another number is not one of them."""
    marked = [path for path in _numbered(folder) if (path / COMPLETE).is_file()]
    return [path for path in marked if (_mark(path) or {}).get("steps", _steps(path)) == _steps(path)]


def _steps(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])


def _mark(checkpoint: Path) -> dict[str, Any] | None:
    """Returns the content of a mark; None if it is damaged. The empty mark of an earlier version names no files."""
    try:
        content = json.loads((checkpoint / COMPLETE).read_text(encoding="utf-8") or "{}")
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _damage(checkpoint: Path) -> str | None:
    """Returns what is wrong with the files of a checkpoint, or None."""
    mark = _mark(checkpoint)
    if mark is None:
        return f"{COMPLETE} is damaged"
    for name, digest in mark.get("files", {}).items():
        if not (checkpoint / name).is_file():
            return f"{name} is missing"
        if _digest(checkpoint / name) != digest:
            return f"{name} is damaged"
    return None


def _damage_of_best(checkpoint: Path) -> str | None:
    """Returns what is wrong with the best checkpoint that a whole checkpoint names, or None."""
    try:
        steps = json.loads((checkpoint / TRAINER_STATE_NAME).read_text(encoding="utf-8")).get("best_global_step")
    except (OSError, ValueError):  # under the mark of an earlier version
        return f"{TRAINER_STATE_NAME} is damaged"
    best = checkpoint.with_name(f"checkpoint-{steps}")
    if steps is None or best == checkpoint:
        return None
    problem = _damage(best) if (best / COMPLETE).is_file() else "it is missing"
    return problem and f"of its best checkpoint {best.name}, {problem}"


def _digest(file: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with file.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
