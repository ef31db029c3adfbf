"""The checkpoints of a run: folders `checkpoint-<steps>`.

The Trainer writes one in the folder `UNFINISHED`. It gets its place when every process has written its part. What a
killed process leaves in that folder is removed.
"""

import shutil
from pathlib import Path

PREFIX, UNFINISHED = "checkpoint-", "unfinished-checkpoint"  # the number of steps follows the prefix


def list_all(folder: Path) -> list[Path]:
    """Returns the checkpoints of a run by their steps."""
    paths = (path for path in folder.glob(f"{PREFIX}*") if path.is_dir() and path.name[len(PREFIX) :].isdecimal())
    return sorted(paths, key=_steps)


def find_last(folder: Path) -> Path | None:
    """Returns the checkpoint that training continues from, if there is one; removes an unfinished one."""
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    return next(reversed(list_all(folder)), None)


def finish(folder: Path, name: str) -> None:
    """Gives a checkpoint its place."""
    (folder / UNFINISHED / name).rename(folder / name)
    (folder / UNFINISHED).rmdir()


def remove_old(folder: Path, limit: int | None, best_steps: int | None) -> None:
    """Keeps `limit` checkpoints, or all if it is None; the last and the best one are kept in any case."""
    by_age = list_all(folder)
    others = [path for path in by_age[:-1] if _steps(path) != best_steps]
    for checkpoint in others[: max(0, len(by_age) - limit)] if limit else []:
        shutil.rmtree(checkpoint)


def _steps(checkpoint: Path) -> int:
    return int(checkpoint.name[len(PREFIX) :])
