"""Recipes: flags of a script in a YAML file, the hyper-parameters of a paper by name."""

import dataclasses
import difflib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from transformers import HfArgumentParser

FOLDER = Path(__file__).parent / "recipes"


def list_recipes() -> list[str]:
    """Returns the names of the recipes that come with the package, for instance `proformer`."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def parse_with_recipe(parser: HfArgumentParser, argv: Sequence[str] | None = None) -> tuple[Any, ...]:
    """Returns the parser's dataclasses, filled from the file that `--recipe` names and from the other flags.

    A flag on the command line goes before the recipe, the recipe before a default. Adds `--recipe` to the parser.

    Args:
        parser: of dataclasses.
        argv: the command line without the program's name; None is the program's own.

    Raises:
        ValueError: unknown recipe, a file that is no mapping, or keys in it that are no flags; near ones are named.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    parser.add_argument(
        "--recipe",
        metavar="NAME_OR_PATH",
        help=f"YAML file of flags, which other flags override: a path, or one of {', '.join(list_recipes())}.",
    )
    where = parser.parse_known_args(argv)[0].recipe
    if where is not None:
        parser.set_defaults(**_defaults(parser, where))
    parsed = parser.parse_args_into_dataclasses(argv, look_for_args_file=False)
    return tuple(parsed[: len(list(parser.dataclass_types))])


def read_recipe(where: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the flags of a recipe.

    Args:
        where: a path, or a name of `list_recipes`.

    Raises:
        ValueError: neither, or the file is no mapping of flags to values.

    Example:
        >>> read_recipe("elementwise-patents")["threshold"]
        0.3
    """
    path = Path(where)
    if not path.is_file():
        path = FOLDER / f"{where}.yaml"
    if not path.is_file():
        raise ValueError(f"unknown recipe {str(where)!r}; give the path of a YAML file or {', '.join(list_recipes())}.")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"the recipe {str(where)!r} is no YAML: {' '.join(str(error).split())}; mend it.") from error
    if not isinstance(content, dict):
        raise ValueError(f"the recipe {str(where)!r} is no mapping; write one 'flag: value' a line.")
    return {str(name): value for name, value in content.items()}


def _defaults(parser: HfArgumentParser, where: str) -> dict[str, Any]:
    recipe = read_recipe(where)
    known = {field.name for kind in parser.dataclass_types for field in dataclasses.fields(kind) if field.init}
    unknown = [name for name in recipe if name not in known]
    if unknown:
        near = {close: None for name in unknown for close in difflib.get_close_matches(name, known, n=3, cutoff=0.5)}
        hint = f"did you mean {' or '.join(near)}?" if near else "see --help for the flags."
        raise ValueError(f"the recipe {where!r} sets {', '.join(unknown)}, which no flag is called; {hint}")
    return {name: _as_typed(value) for name, value in recipe.items()}


def _as_typed(value: Any) -> Any:
    """Returns a value as it would be typed: argparse converts and checks defaults that are strings (3e-5 is one)."""
    if isinstance(value, dict):
        return json.dumps(value)
    return value if value is None or isinstance(value, list) else str(value)
