"""Recipes: YAML files with flags of a script. Those of the package hold the hyper-parameters of the papers."""

import os
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "recipes"


def list_recipes() -> list[str]:
    """Returns the names of the recipes of the package, for instance `proformer`."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def read_recipe(name_or_path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the flags of a recipe and their values.

    Args:
        name_or_path: path of a YAML file, or a name of `list_recipes`.

    Raises:
        ValueError: the recipe does not exist, or is not a mapping of flags to values.

    Example:
        >>> read_recipe("elementwise-patents")["threshold"]
        0.3
    """
    name = str(name_or_path)
    path = Path(name)
    if not path.is_file():
        path = FOLDER / f"{name}.yaml"
    if not path.is_file():
        raise ValueError(f"unknown recipe {name!r}; give the path of a YAML file or {', '.join(list_recipes())}.")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        cause = " ".join(str(error).split())
        raise ValueError(f"the recipe {name!r} is not valid YAML: {cause}; correct the file.") from error
    if not isinstance(content, dict):
        raise ValueError(f"the recipe {name!r} is not a mapping; write one 'flag: value' per line.")
    return {str(flag): value for flag, value in content.items()}
