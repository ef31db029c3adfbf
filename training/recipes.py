"""Recipes: YAML files with flags of a script. Those of the package hold the hyper-parameters of the papers."""

import dataclasses
import difflib
import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from transformers import HfArgumentParser

FOLDER = Path(__file__).parent / "recipes"


def list_recipes() -> list[str]:
    """Returns the names of the recipes of the package, for instance `proformer`."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def parse_with_recipe(
    parser: HfArgumentParser, argv: Sequence[str] | None = None, replaces: Mapping[str, str] | None = None
) -> tuple[Any, ...]:
    """Returns the parser's dataclasses, filled from the command line and from the recipe that `--recipe` names.

    A flag on the command line overrides the recipe, and the recipe overrides the defaults.

    Args:
        parser: parser of one or more dataclasses; `--recipe` is added to it.
        argv: arguments without the program's name. None reads `sys.argv`.
        replaces: flag of the command line → flag of the recipe that it takes the place of, for instance
            `train_file` → `task_name`.

    Raises:
        ValueError: the recipe is unknown, is not a mapping, or has a key that is not a flag (similar flags are named).
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    parser.add_argument(
        "--recipe",
        metavar="NAME_OR_PATH",
        help="YAML file with flags; flags on the command line override them. Give a path, or one of "
        f"{', '.join(list_recipes())}.",
    )
    recipe = _name_of_recipe(argv)
    if recipe is not None:
        defaults = _defaults(parser, recipe)
        for action in parser._actions:
            action.required = action.required and action.dest not in defaults
        given = _given(parser, argv)
        replaced = {recipe_flag for flag, recipe_flag in (replaces or {}).items() if flag in given}
        # argparse would append a list on the command line to the recipe's.
        replaced |= {flag for flag in given if isinstance(defaults.get(flag), list)}
        parser.set_defaults(**{flag: value for flag, value in defaults.items() if flag not in replaced})
    parsed = parser.parse_args_into_dataclasses(argv, look_for_args_file=False)
    return tuple(parsed[: len(list(parser.dataclass_types))])


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


def _name_of_recipe(argv: Sequence[str]) -> str | None:
    """Returns the value of `--recipe`, without a look at the other flags, which the recipe may give."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--recipe")
    name: str | None = parser.parse_known_args(argv)[0].recipe
    return name


def _given(parser: HfArgumentParser, argv: Sequence[str]) -> set[str]:
    """Returns the flags that have another value than their default on the command line."""
    values = vars(parser.parse_known_args(argv)[0])
    return {flag for flag, value in values.items() if value != parser.get_default(flag)}


def _defaults(parser: HfArgumentParser, name: str) -> dict[str, Any]:
    """Returns the recipe's values as defaults for the parser."""
    recipe = read_recipe(name)
    flags = {
        field.name for dataclass in parser.dataclass_types for field in dataclasses.fields(dataclass) if field.init
    }
    unknown = [flag for flag in recipe if flag not in flags]
    if unknown:
        similar = dict.fromkeys(
            match for flag in unknown for match in difflib.get_close_matches(flag, flags, n=3, cutoff=0.5)
        )
        hint = f"did you mean {' or '.join(similar)}?" if similar else "see --help for the flags."
        raise ValueError(f"the recipe {name!r} sets unknown flags: {', '.join(unknown)}; {hint}")
    return {flag: _as_command_line_value(value) for flag, value in recipe.items()}


def _as_command_line_value(value: Any) -> Any:
    """Returns a value as on the command line: argparse converts and checks only defaults that are strings.

    YAML reads `3e-5` as a string; argparse makes a float of it.
    """
    if isinstance(value, dict):
        return json.dumps(value)
    return value if value is None or isinstance(value, list) else str(value)
