"""Names without the place of a file or folder on this machine: nothing else of a path may be uploaded."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def public_name(source: str) -> str:
    """Returns the name of a model without the place of its folder: a Hub id, or the last part of a path.

    >>> public_name("you/base"), public_name("/home/me/runs/base/")
    ('you/base', 'base')
    """
    is_hub_id = _HUB_ID.fullmatch(source) and not os.path.exists(source)
    return source if is_hub_id else Path(os.path.abspath(source)).name


def public_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments in which files and folders of this machine are named without their place.

    >>> public_arguments({"corpus": ["/data/a/*.txt", "you/texts"], "max_steps": 5})
    {'corpus': ['*.txt', 'you/texts'], 'max_steps': 5}
    """
    return {name: _without_place(value) for name, value in arguments.items()}


def _without_place(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_without_place(item) for item in value]
    if isinstance(value, dict):
        return public_arguments(value)
    return public_name(value) if isinstance(value, str) and _is_path(value) else value


def _is_path(value: str) -> bool:
    """Returns whether a value is a path of this machine, or a pattern of paths such as `runs/{task}/*`."""
    first_folder, slash, _ = value.partition("/")
    is_pattern = bool(slash) and not _HUB_ID.fullmatch(value) and os.path.isdir(first_folder)
    return os.path.isabs(value) or os.path.exists(value) or is_pattern
