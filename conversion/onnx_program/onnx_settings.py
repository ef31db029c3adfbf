"""The settings of an ONNX graph: inference.json, the file beside it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SETTINGS = "inference.json"
MODEL_FILES = ("model.onnx", "model_int8.onnx")  # of a folder, the first that it holds is read
PROBLEM_TYPES = ("single_label_classification", "multi_label_classification", "regression")
FEWEST_TOKENS = 3  # two special ones, and a word
LEGAL: dict[str, Callable[[Any], bool]] = {  # of the settings: name → whether a value is legal
    **dict.fromkeys(("splitter", "coder", "architecture"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("splitter_options", "coder_options"), lambda value: isinstance(value, dict)),
    "labels": lambda value: isinstance(value, list) and all(isinstance(label, str | int) for label in value),
    "mask_token": lambda value: isinstance(value, str | None),
    "max_tokens": lambda value: isinstance(value, int) and value >= FEWEST_TOKENS,
    "outputs": lambda value: isinstance(value, list),
    "problem_type": lambda value: value in (None, *PROBLEM_TYPES),
    "threshold": lambda value: isinstance(value, int | float) and 0 <= value <= 1,
    "truncation_side": lambda value: value in ("left", "right"),
}


def read_settings(path: str | Path) -> tuple[Path, dict[str, Any]]:
    """Returns the .onnx file that a path means, see `OnnxModel`, and its settings, the content of inference.json."""
    files = [Path(path) / name for name in MODEL_FILES] if Path(path).is_dir() else [Path(path)]
    file = next(filter(Path.is_file, files), None)
    if file is None:
        problem = f"holds none of {', '.join(MODEL_FILES)}" if Path(path).is_dir() else "does not exist"
        raise ValueError(f"{str(path)!r} {problem}; give the folder or a file of an exported model.")
    settings = read_json(file.with_name(SETTINGS))
    if not isinstance(settings, dict):
        raise damaged(file.with_name(SETTINGS), "it holds no object")
    return file, settings


def read_json(file: Path) -> Any:
    """Returns the content of a file. Raises ValueError if it is no JSON."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise damaged(file, str(error)) from error


def check_settings(file: Path, settings: dict[str, Any], needed: Sequence[str]) -> None:
    """Raises ValueError if the settings of a graph lack a name of `needed`, or have a value that is not legal."""
    if missing := [name for name in needed if name not in settings]:
        raise damaged(file.with_name(SETTINGS), f"it lacks {', '.join(missing)}")
    for name, is_legal in LEGAL.items():
        if name in settings and not is_legal(settings[name]):
            raise damaged(file.with_name(SETTINGS), f"its {name} cannot be {settings[name]!r}")


def damaged(file: Path, problem: str) -> ValueError:
    """Returns an error of one sentence for a file of an exported model."""
    return ValueError(f"{str(file)!r} is damaged: {problem}; export the model again.")
