"""The checkpoints of a run: folders `checkpoint-<steps>`.

The Trainer writes one in the folder `UNFINISHED`. It gets its place when every process has written its part. So each
one in its place is whole, and what a killed process leaves in the other folder is removed.
"""

import re
import shutil
from pathlib import Path

UNFINISHED = "unfinished-checkpoint"
_NAME = re.compile(r"checkpoint-\d+")


def path_of(folder: Path, steps: int) -> Path:
    """Returns the place of a checkpoint after so many steps of the optimizer."""
    return folder / f"checkpoint-{steps}"


def list_all(folder: Path) -> list[Path]:
    """Returns the checkpoints of a run by their steps."""
    return sorted(
        (path for path in folder.glob("checkpoint-*") if path.is_dir() and _NAME.fullmatch(path.name)), key=_steps
    )


def find_last(folder: Path) -> Path | None:
    """Returns the checkpoint that training continues from, if there is one; removes an unfinished one."""
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    return next(reversed(list_all(folder)), None)


def finish(folder: Path, steps: int) -> None:
    """Gives a checkpoint its place."""
    path_of(folder / UNFINISHED, steps).rename(path_of(folder, steps))
    (folder / UNFINISHED).rmdir()


def remove_all(folder: Path) -> None:
    """Removes all checkpoints of a run."""
    for checkpoint in list_all(folder):
        shutil.rmtree(checkpoint)


def remove_old(folder: Path, limit: int | None, best_steps: int | None) -> None:
    """Keeps `limit` checkpoints: the last one, the best one, and the next ones before the last; None keeps all.

    The last and the best one are kept also if that is one too many.
    """
    by_age = list_all(folder)
    others = [path for path in by_age[:-1] if _steps(path) != best_steps]
    for checkpoint in others[: max(0, len(by_age) - limit)] if limit else []:
        shutil.rmtree(checkpoint)


def _steps(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])
