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
    is_hub_id = _HUB_ID.fullmatch(source) and not os.path.isdir(source)
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
    if isinstance(value, str) and (os.path.isabs(value) or os.path.exists(value)):
        return public_name(value)
    return value
