"""The folder of a run: who owns it, what was asked for, what came out."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

ARGUMENTS = "run.json"
RESULTS = "results.json"
# Of the Trainer's arguments: where a finished run is uploaded to, which does not make it another run.
HUB_ARGUMENTS = (
    *("push_to_hub", "hub_model_id", "hub_token", "hub_private_repo"),
    *("hub_strategy", "hub_revision", "hub_always_push"),
)
HUB_STRATEGY_HELP = "When --push_to_hub uploads; the only choice is end, when the run is finished."


def claim(folder: str | os.PathLike[str], arguments: dict[str, Any]) -> None:
    """Takes a folder for a run, a new one or one that the same command began and did not finish.

    Raises:
        ValueError: the folder holds a finished run, a run with other arguments (they are named), or other files.
    """
    path = Path(folder)
    # A run.json alone is what a command that failed at its start leaves behind: there is nothing to lose yet.
    if not path.exists() or {file.name for file in path.iterdir()} <= {ARGUMENTS}:
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / ARGUMENTS, {"arguments": arguments, "versions": versions()})
        return
    if not (path / ARGUMENTS).is_file():
        raise ValueError(f"the output folder {str(path)!r} holds other files; give an empty or a new one.")
    before = json.loads((path / ARGUMENTS).read_text(encoding="utf-8"))["arguments"]
    now = json.loads(json.dumps(arguments))
    differing = [
        f"{name} ({before.get(name)!r} there, {now.get(name)!r} here)"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if differing:
        raise ValueError(
            f"the output folder {str(path)!r} holds another run, which differs in {', '.join(differing)}; "
            "give another folder, or the same arguments to continue it."
        )
    if (path / RESULTS).is_file():
        raise ValueError(f"the run in {str(path)!r} is finished; give another output folder to run it again.")


def versions() -> dict[str, str]:
    """Returns the versions that a result depends on."""
    packages = ("torch", "transformers", "tokenizers", "datasets", "accelerate", "numpy")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes JSON so that the file is either whole or not there."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=2, sort_keys=True, default=str) + "\n", encoding="utf-8")
    os.replace(temporary, path)
