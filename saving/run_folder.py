"""The output folder of a run: `run.json` holds the arguments, `results.json` the results."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

ARGUMENTS = "run.json"
RESULTS = "results.json"
# The Trainer's upload arguments. They may change between two commands for the same run.
HUB_ARGUMENTS = (
    *("push_to_hub", "hub_model_id", "hub_token", "hub_private_repo"),
    *("hub_strategy", "hub_revision", "hub_always_push"),
)


def claim(folder: str | os.PathLike[str], arguments: dict[str, Any], allow_finished: bool = False) -> None:
    """Prepares an output folder for a run: creates a new one, or accepts one that the same arguments have started.

    Args:
        folder: output folder; it is created if it does not exist.
        arguments: what identifies the run. They are written to `run.json` of a new folder.
        allow_finished: whether the folder may hold the results of a finished run with the same arguments.

    Raises:
        ValueError: the folder holds a finished run, a run with other arguments (they are named), or other files.
    """
    path = Path(folder)
    # A command that fails early leaves only run.json. No work is lost if another command replaces it.
    if not path.exists() or {file.name for file in path.iterdir()} <= {ARGUMENTS}:
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / ARGUMENTS, {"arguments": arguments, "versions": versions()})
        return
    if not (path / ARGUMENTS).is_file():
        raise ValueError(f"the output folder {str(path)!r} holds other files; give an empty or a new one.")
    differences = _differences(json.loads((path / ARGUMENTS).read_text(encoding="utf-8"))["arguments"], arguments)
    if differences:
        raise ValueError(
            f"the output folder {str(path)!r} holds another run, which differs in {', '.join(differences)}; "
            "give another folder, or the same arguments to continue it."
        )
    if (path / RESULTS).is_file() and not allow_finished:
        raise ValueError(f"the run in {str(path)!r} is finished; give another output folder to run it again.")


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages that a result depends on."""
    packages = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "numpy")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes JSON in one step: a reader never sees a part of the file."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=2, sort_keys=True, default=str) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def _differences(saved: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    """Returns the arguments whose values differ, with both values."""
    current = json.loads(json.dumps(arguments))  # as JSON reads them back: a tuple is a list
    return [
        f"{name} ({saved.get(name)!r} in the folder, {current.get(name)!r} now)"
        for name in sorted({*saved, *current})
        if saved.get(name) != current.get(name)
    ]
