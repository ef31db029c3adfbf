"""The command line of the scripts: dataclasses become flags with limits, recipes become defaults, `--help` has groups.

Recipes are YAML files with flags of a script. Those of the package hold the hyper-parameters of the papers.
"""

import copy
import dataclasses
import difflib
import json
import math
import os
import sys
from argparse import SUPPRESS, Action, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from transformers import HfArgumentParser, TrainingArguments

RECIPES = Path(__file__).parent / "recipes"
FIRST_GROUP = "flags"  # of fields before the first one that names a group
ADDED = ("set",)  # lists of the command line that are added to the recipe's; others take its place
TRAINER_GROUP = "flags of the transformers Trainer"
EPILOG = (
    "--help-all shows also the flags that few need and those of the transformers Trainer, such as --weight_decay and "
    "--bf16."
)
METAVARS: dict[Any, str] = {int: "N", float: "X"}  # of a flag's values, by type; other types are a VALUE


def flag(default: Any, help: str, **metadata: Any) -> Any:
    """Returns a field of a dataclass that `ScriptParser` makes a flag of.

    Args:
        default: its value without the flag; each dataclass gets a copy of a list.
        help: meaning, unit, and what 0 or None does.
        metadata: `group`, its place in the help; without one it is that of the field before. `is_rare=True` leaves the
            flag to `--help-all`. All else are arguments of argparse's `add_argument`.
    """
    metadata["help"] = help
    if isinstance(default, list):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


class Limit(NamedTuple):
    """The values that a flag may have: from `low` to `high`, both included."""

    low: float = 0
    high: float = math.inf
    above: bool = False  # whether `low` is left out
    also: tuple[float, str] | None = None  # a value outside the limits that has a meaning of its own, and that meaning

    def allows(self, value: float) -> bool:
        """Returns whether a flag may have the value; NaN and infinity never."""
        if self.also is not None and value == self.also[0]:
            return True
        return math.isfinite(value) and (value > self.low if self.above else value >= self.low) and value <= self.high

    def __str__(self) -> str:
        """Returns the remedy, for instance "a number of at least 0 and at most 1"."""
        words = f"a number above {self.low:g}" if self.above else f"a number of at least {self.low:g}"
        words += f" and at most {self.high:g}" if math.isfinite(self.high) else ""
        return words if self.also is None else f"{words}, or {self.also[0]:g} {self.also[1]}"


MIN_VOCABULARY = 6  # of a subword tokenizer: five special tokens and one more
SHARE = Limit(0, 1)
COUNT = Limit(1)
POSITIVE = Limit(0, above=True)


def check_limits(values: Mapping[str, Any], limits: Mapping[str, Limit]) -> None:
    """Checks the values of flags, without their dashes, against the limits of some of them; None is always allowed.

    Raises:
        ValueError: a value is outside its limits.
    """
    for name, limit in limits.items():
        value = values[name]
        if value is not None and not limit.allows(value):
            raise ValueError(f"--{name} {value} is out of range; give {limit}.")


def list_recipes() -> list[str]:
    """Returns the names of the recipes of the package, for instance `proformer`."""
    return sorted(file.stem for file in RECIPES.glob("*.yaml"))


def read_recipe(name_or_path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the flags and values of a recipe: the path of a YAML file, or a name of `list_recipes`.

    Raises:
        ValueError: the recipe does not exist, or is not a mapping of flags to values.
    """
    name = str(name_or_path)
    path = Path(name) if Path(name).is_file() else RECIPES / f"{name}.yaml"
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


class ScriptParser(HfArgumentParser):
    """Makes dataclasses, `types`, from the command line; `description` is the first part of the help.

    `--help` leaves out the flags that few need: those that say so, and those of the Trainer, the fields of its
    arguments without a group. `--help-all` shows every flag.
    """

    def __init__(self, types: Iterable[Any], description: str | None = None) -> None:
        self.recipe: dict[str, Any] = {}  # flag → its value in the recipe of the last `parse`
        self.hidden: dict[Action, str] = {}  # flag → its text in --help-all
        super().__init__(
            list(types),
            usage="%(prog)s --FLAG VALUE --FLAG VALUE …",
            description=description,
            epilog=EPILOG,
            formatter_class=_HelpFormatter,
        )
        self._sort_into_groups()
        self.add_argument(
            "--help-all", nargs=0, action=_HelpAll, help="show every flag, also those of the Trainer, and exit"
        )
        self.add_argument(
            "--recipe",
            metavar="NAME_OR_PATH",
            help="YAML file with flags; flags on the command line override them. Give a path, or one of "
            f"{', '.join(list_recipes())}.",
        )

    def parse(self, argv: Sequence[str] | None = None, replaces: Mapping[str, str] | None = None) -> tuple[Any, ...]:
        """Returns the dataclasses, filled from the command line and from the recipe that `--recipe` names.

        A flag on the command line overrides the recipe, and the recipe overrides the defaults. `replaces` says which
        flag of the recipe a flag of the command line takes the place of, for instance `train_file` → `task_name`.

        Raises:
            ValueError: a flag, the recipe or one of its keys is unknown (similar flags are named), or the recipe is not
                a mapping.
        """
        argv = list(sys.argv[1:] if argv is None else argv)
        first_look = ArgumentParser(add_help=False, allow_abbrev=False)  # the recipe may give required flags
        first_look.add_argument("--recipe")
        name = first_look.parse_known_args(argv)[0].recipe
        if name is not None:
            self._take_recipe(name, argv, replaces or {})
        *parsed, rest = self.parse_args_into_dataclasses(argv, return_remaining_strings=True, look_for_args_file=False)
        if rest:
            unknown = [argument.partition("=")[0] for argument in rest if argument.startswith("-")]
            if not unknown:
                raise ValueError(f"{rest[0]!r} belongs to no flag; write --FLAG VALUE, or see --help.")
            raise ValueError(f"unknown flag {', '.join(unknown)}; {self._hint(unknown, '--')}")
        return tuple(parsed[: len(list(self.dataclass_types))])

    @staticmethod
    def _parse_dataclass_field(parser: ArgumentParser, field: "dataclasses.Field[Any]") -> None:
        field = copy.copy(field)
        field.metadata = {name: field.metadata[name] for name in field.metadata if name not in ("group", "is_rare")}  # type: ignore[assignment]
        HfArgumentParser._parse_dataclass_field(parser, field)

    def _sort_into_groups(self) -> None:
        """Gives each flag its group in the help, in the order of the fields; hides the flags that few need."""
        titles: dict[str, str] = {}  # flag → title of its group; a later field of the same name is the same flag
        rare = set()
        for type_ in self.dataclass_types:
            title = FIRST_GROUP
            for field in dataclasses.fields(type_):
                if issubclass(type_, TrainingArguments) and "group" not in field.metadata:
                    continue
                title = field.metadata.get("group", title)
                titles.setdefault(field.name, title)
                rare |= {field.name} if "is_rare" in field.metadata else set()
        flags = [action for action in self._actions if action.dest != "help"]
        places = {name: place for place, name in enumerate(titles)}
        for title in dict.fromkeys([*titles.values(), TRAINER_GROUP]):
            own = [action for action in flags if titles.get(action.dest, TRAINER_GROUP) == title]
            group = self.add_argument_group(title)
            group._group_actions.extend(sorted(own, key=lambda action: places.get(action.dest, 0)))
        self._optionals._group_actions = [action for action in self._actions if action.dest == "help"]
        for action in flags:
            if action.const is False:  # --no_…, beside the flag itself
                action.help = SUPPRESS
            elif action.dest in rare or action.dest not in titles:
                self.hidden[action], action.help = action.help or "", SUPPRESS

    def _take_recipe(self, name: str, argv: Sequence[str], replaces: Mapping[str, str]) -> None:
        """Makes the recipe's values the defaults, without those that the command line replaces."""
        self.recipe = {flag: _as_command_line_value(value) for flag, value in read_recipe(name).items()}
        unknown = [flag for flag in self.recipe if flag not in self._flags()]
        if unknown:
            raise ValueError(f"the recipe {name!r} sets unknown flags: {', '.join(unknown)}; {self._hint(unknown)}")
        for action in self._actions:
            action.required = action.required and action.dest not in self.recipe
        values = vars(self.parse_known_args(argv)[0])
        given = {flag for flag, value in values.items() if value != self.get_default(flag)}
        replaced = {recipe_flag for flag, recipe_flag in replaces.items() if flag in given}
        # argparse would append a list on the command line to the recipe's.
        replaced |= {flag for flag in given if isinstance(self.recipe.get(flag), list) and flag not in ADDED}
        self.set_defaults(**{flag: value for flag, value in self.recipe.items() if flag not in replaced})

    def _flags(self) -> list[str]:
        return [field.name for type_ in self.dataclass_types for field in dataclasses.fields(type_) if field.init]

    def _hint(self, unknown: Sequence[str], prefix: str = "") -> str:
        """Returns the remedy for unknown flags: the similar ones, or where to find the list."""
        words = [flag.lstrip("-").replace("-", "_") for flag in unknown]
        similar = [match for word in words for match in difflib.get_close_matches(word, self._flags(), 3, 0.6)]
        if similar:
            return f"did you mean {' or '.join(prefix + flag for flag in dict.fromkeys(similar))}?"
        return "see --help and --help-all for the flags."


class _HelpAll(Action):
    """Prints the help with the flags that `--help` leaves out, and ends the program."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        assert isinstance(parser, ScriptParser)
        for action, text in parser.hidden.items():
            action.help = text
        parser.print_help()
        parser.exit()


class _HelpFormatter(RawDescriptionHelpFormatter):
    """Shows each flag once, with a short sign for its value, and its default if that says more than None or False."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **{"max_help_position": 36, **options})

    def _format_action_invocation(self, action: Action) -> str:
        names = action.option_strings  # without the second spelling: `--max_steps` is `--max-steps`, too
        names = [name for name in names if "-" not in name[2:] or f"--{name[2:].replace('-', '_')}" not in names]
        values = self._format_args(action, METAVARS.get(action.type, "VALUE"))
        values = "" if action.const is True and action.default is False else values  # --streaming needs no value
        return " ".join(filter(None, [", ".join(names), values]))

    def _get_help_string(self, action: Action) -> str:
        default = action.default.value if isinstance(action.default, Enum) else action.default
        says_nothing = default is None or default is False or default in ("", [], SUPPRESS)
        return (action.help or "") + ("" if says_nothing else f" (default: {default})".replace("%", "%%"))


def _as_command_line_value(value: Any) -> Any:
    """Returns a value as on the command line: argparse converts and checks only defaults that are strings.

    YAML reads `3e-5` as a string; argparse makes a float of it.
    """
    if isinstance(value, dict):
        return json.dumps(value)
    return value if value is None or isinstance(value, list) else str(value)
