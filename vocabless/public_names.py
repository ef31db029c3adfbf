"""Names of the Hub, and names of files and folders without their place: nothing else of a path may be uploaded."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# A data set of the Hub with its configuration and revision.
DATASET_ID = re.compile(r"(?P<path>[\w.-]+/[\w.-]+)(?::(?P<name>[\w.-]+))?(?:@(?P<revision>[\w./-]+))?")
EMBEDDED = "pydocs"  # the corpus that every installation has
_MODEL_ID = re.compile(r"[\w.-]+(/[\w.-]+)?(@[\w./-]+)?")  # with a revision
_OWN_FOLDERS = (".", "..", "checkpoints", "runs")  # of these pages; nobody on the Hub has such a name


def without_path(source: str) -> str:
    """Returns the name of a model without the place of its folder: a Hub id, or the last part of a path.

    >>> without_path("you/base@v1"), without_path("/home/me/runs/base/")
    ('you/base@v1', 'base')
    """
    is_hub_id = _MODEL_ID.fullmatch(source) and not os.path.exists(source)
    return source if is_hub_id else Path(os.path.abspath(source)).name


def has_path_shape(source: str) -> bool:
    """Returns whether a name, of something that may not exist, can only be that of a folder or file, and no Hub id.

    >>> [has_path_shape(name) for name in ("runs/mine", "./mine", "/home/me/mine", "you/mine", "bert-base-uncased")]
    [True, True, True, False, False]
    """
    first, slash, _ = source.partition("/")
    return not _MODEL_ID.fullmatch(source) or (bool(slash) and (first in _OWN_FOLDERS or os.path.isdir(first)))


def model_of_run(name: str) -> str:
    """Returns the only model in the folder of a run; any other name as it is. Raises ValueError for several models."""
    folder = Path(name)
    if not folder.is_dir() or (folder / "config.json").exists():
        return name
    models = sorted(file.parent for depth in ("", "*/") for file in folder.glob(f"{depth}seed-*/config.json"))
    if len(models) > 1:
        raise ValueError(f"{name!r} has {len(models)} models; give one of {', '.join(map(str, models))}.")
    return str(models[0]) if models else name


def without_paths(value: Any) -> Any:
    """Returns a value, or a list or mapping of values, in which files and folders are named without their place.

    >>> without_paths({"corpus": ["/data/a/*.txt", "you/texts"], "max_steps": 5})
    {'corpus': ['*.txt', 'you/texts'], 'max_steps': 5}
    """
    if isinstance(value, (list, tuple)):
        return [without_paths(item) for item in value]
    if isinstance(value, Mapping):
        return {name: without_paths(item) for name, item in value.items()}
    return without_path(value) if isinstance(value, str) and _is_path(value) else value


def _is_path(value: str) -> bool:
    """Returns whether a value is a path of this machine, or a pattern of paths such as `runs/{task}/*`."""
    first_folder, slash, _ = value.partition("/")
    is_pattern = bool(slash) and not _MODEL_ID.fullmatch(value) and os.path.isdir(first_folder)
    return os.path.isabs(value) or os.path.exists(value) or is_pattern
