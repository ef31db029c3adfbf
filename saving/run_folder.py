"""The output folder of a run: `run.json` holds the arguments, `results.json` the results."""

import hashlib
import json
import math
import os
import platform
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

ARGUMENTS = "run.json"
RESULTS = "results.json"
LOCK = ".lock"
HOLDER = ".lock-holder"  # text: who works in the folder, or did last
FILE_SUFFIXES = (".json", ".md", ".py", ".safetensors")  # of what a run writes: no folder may have these names
TEMPORARY = ".tmp"  # suffix of a file that is being written
# The Trainer's upload arguments. They may change between two commands for the same run.
HUB_ARGUMENTS = (
    *("push_to_hub", "hub_model_id", "hub_token", "hub_private_repo"),
    *("hub_strategy", "hub_revision", "hub_always_push"),
)


@contextmanager
def locked_run_folder(folder: str | os.PathLike[str], arguments: dict[str, Any]) -> Iterator[None]:
    """Prepares an output folder for a run and keeps other commands out of it within a `with` block.

    Creates a new folder, or accepts one that the same arguments have started or finished. They identify the run, its
    data as `rows_fingerprint`, and `run.json` holds them. The lock ends with the process, also if it is killed; the
    file stays. Processes that this one starts do not hold it.

    Raises:
        ValueError: the folder cannot be written, is in use, or holds a run with other arguments (they are named), a
            damaged `run.json`, or other files.
    """
    path = Path(folder)
    if not _is_new(path) and not (path / ARGUMENTS).is_file():
        raise ValueError(f"the output folder {str(path)!r} holds other files; give an empty or a new one.")
    holder = path / HOLDER
    try:
        path.mkdir(parents=True, exist_ok=True)
        held = FileLock(path / LOCK, blocking=False).acquire()
    except Timeout as error:
        who = holder.read_text(encoding="utf-8") if holder.is_file() else "a process that has just started"
        raise ValueError(
            f"another command works in the output folder {str(path)!r}: {who}; wait until it ends, stop it, or give "
            "another folder."
        ) from error
    except OSError as error:
        raise ValueError(
            f"the output folder {str(path)!r} cannot be written ({error.strerror}); give another one."
        ) from error
    with held:
        holder.write_text(
            f"process {os.getpid()} on {socket.gethostname()}, started {time.strftime('%Y-%m-%d %H:%M:%S')}", "utf-8"
        )
        # A command that fails early leaves only run.json. No work is lost if another command replaces it.
        if _is_new(path):
            if (path / ARGUMENTS).exists():
                _saved_arguments(path)
            write_json(path / ARGUMENTS, {"arguments": arguments, "versions": versions()})
        else:
            _check_same(path, arguments)
        yield


def nearest_folder(path: Path, what: str) -> Path:
    """Returns a folder that exists or is to be made, or else its nearest parent that exists.

    Raises ValueError, which calls the folder `what`, if the one that is returned would be a file or a broken link.
    """
    nearest = next(folder for folder in (path, *path.absolute().parents) if os.path.lexists(folder))
    if not nearest.is_dir():
        kind = "file" if nearest.exists() else "link to nothing"
        raise ValueError(f"the {what} {str(path)!r} cannot be made: {str(nearest)!r} is a {kind}; give another one.")
    return nearest


def rows_fingerprint(rows: Iterable[Any]) -> str:
    """Returns the number of rows and a hash of their contents, in their order.

    >>> rows_fingerprint([["a text", "its label"]]), rows_fingerprint([["a text", "its label"]] * 2)
    ('1 with hash a4e41442cf8c7f1f', '2 with hash a4b4c8cb88fe63f4')
    """
    state, number = hashlib.blake2b(digest_size=8), 0
    for row in rows:
        state.update(json.dumps(row).encode() + b"\n")
        number += 1
    return f"{number:,} with hash {state.hexdigest()}"


def read_results(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Returns the results of a finished run; None if it is not finished. Raises ValueError if the file is damaged."""
    file = Path(folder) / RESULTS
    return read_json(file, "remove it and give the same command again") if file.is_file() else None


def read_json(file: Path, remedy: str) -> dict[str, Any]:
    """Returns the object of a JSON file. Raises ValueError with a remedy if the file holds none."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(file)!r} is damaged ({error}); {remedy}.") from error
    if not isinstance(content, dict):
        raise ValueError(f"{str(file)!r} is damaged: it holds no object; {remedy}.")
    return content


version = cache(metadata.version)  # which parses all that a package says of itself


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages that a result depends on."""
    packages = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "numpy")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes JSON in one step: a reader never sees a part of the file. NaN and infinity, which JSON lacks, are null."""
    temporary = path.with_suffix(TEMPORARY)
    text = json.dumps(_with_null(content), indent=2, sort_keys=True, default=str, allow_nan=False)
    temporary.write_text(text + "\n", encoding="utf-8")
    os.replace(temporary, path)


def _with_null(value: Any) -> Any:
    """Returns a value with None for each number that is not finite, as the log of a run may have for a gradient."""
    if isinstance(value, Mapping):
        return {name: _with_null(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_null(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_new(path: Path) -> bool:
    """Returns whether a path is free, or a folder with at most what commands write before they start to work."""
    nearest_folder(path, "output folder")
    first = {ARGUMENTS, LOCK, HOLDER, Path(ARGUMENTS).with_suffix(TEMPORARY).name}
    files = (file for file in path.rglob("*") if file.suffix in FILE_SUFFIXES or not file.is_dir())
    return all(file.name in first and file.is_file() for file in files)


def _saved_arguments(path: Path) -> dict[str, Any]:
    remedy = "give another folder"
    content = read_json(path / ARGUMENTS, remedy)
    if not (content.keys() == {"arguments", "versions"} and isinstance(content["arguments"], dict)):
        raise ValueError(f"{str(path / ARGUMENTS)!r} is not what a run writes; {remedy}.")
    arguments: dict[str, Any] = content["arguments"]
    return arguments


def _check_same(path: Path, arguments: dict[str, Any]) -> None:
    saved = _saved_arguments(path)
    current = json.loads(json.dumps(arguments))  # as JSON reads them back: a tuple is a list
    differences = [
        f"{name} ({saved.get(name)!r} in the folder, {current.get(name)!r} now)"
        for name in sorted({*saved, *current})
        if saved.get(name) != current.get(name)
    ]
    if differences:
        raise ValueError(
            f"the output folder {str(path)!r} holds another run, which differs in {', '.join(differences)}; "
            "give another --output_dir, or the same arguments and data to continue it."
        )
