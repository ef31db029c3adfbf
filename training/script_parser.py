"""The command line of the scripts: dataclasses become flags, recipes become defaults, and `--help` has groups.

A field's metadata may name the `group` of its flag. A field without it is in the group of the field before it, so a new
field needs no other change. `--help` leaves out the flags that few need: those whose metadata has `"is_rare": True`,
and those of the Trainer, the fields of its arguments without a `group`. `--help-all` shows every flag.
"""
# mypy: allow-untyped-calls

import copy
import dataclasses
import difflib
import json
import sys
from argparse import SUPPRESS, Action, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from transformers import HfArgumentParser, TrainingArguments

from vocabless.training.recipes import list_recipes, read_recipe

FIRST_GROUP = "flags"  # of fields before the first one that names a group
ADDED = ("set",)  # lists of the command line that are added to the recipe's; others take its place
TRAINER_GROUP = "flags of the transformers Trainer"
EPILOG = (
    "--help-all shows also the flags that few need and those of the transformers Trainer, such as --weight_decay and "
    "--bf16."
)
METAVARS: dict[Any, str] = {int: "N", float: "X"}  # of a flag's values, by type; other types are a VALUE


class ScriptParser(HfArgumentParser):
    """Makes dataclasses from the command line.

    Args:
        types: the dataclasses to make.
        description: first part of the help, printed as it is written.
    """

    def __init__(self, types: Iterable[Any], description: str | None = None) -> None:
        types = list(types)
        self._titles = _group_titles(types)
        self._sections: dict[str, Any] = {}
        self._hidden: dict[str, str] = {}  # flag → its text in --help-all
        self.recipe: dict[str, Any] = {}  # flag → its value in the recipe of the last `parse`
        super().__init__(
            types,
            usage="%(prog)s --FLAG VALUE --FLAG VALUE …",
            description=description,
            epilog=EPILOG,
            formatter_class=_HelpFormatter,
        )
        places = {flag: place for place, flag in enumerate(self._titles)}
        for section in self._sections.values():  # the Trainer's own order does not count
            section._group_actions.sort(key=lambda action: places.get(action.dest, 0))
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

        A flag on the command line overrides the recipe, and the recipe overrides the defaults.

        Args:
            argv: arguments without the program's name. None reads `sys.argv`.
            replaces: flag of the command line → flag of the recipe that it takes the place of, for instance
                `train_file` → `task_name`.

        Raises:
            ValueError: a flag, the recipe or one of its keys is unknown (similar flags are named), or the recipe is not
                a mapping.
        """
        argv = list(sys.argv[1:] if argv is None else argv)
        name = _name_of_recipe(argv)
        if name is not None:
            self.recipe = self._recipe_defaults(name)
            self._take_defaults(self.recipe, argv, replaces or {})
        *parsed, rest = self.parse_args_into_dataclasses(argv, return_remaining_strings=True, look_for_args_file=False)
        if rest:
            unknown = [argument.partition("=")[0] for argument in rest if argument.startswith("-")]
            if not unknown:
                raise ValueError(f"{rest[0]!r} belongs to no flag; write --FLAG VALUE, or see --help.")
            raise ValueError(f"unknown flag {', '.join(unknown)}; {self._hint(unknown, '--')}")
        return tuple(parsed[: len(list(self.dataclass_types))])

    def print_all_help(self) -> None:
        """Prints the help with the flags that `--help` leaves out."""
        for action in self._actions:
            if action.const is not False:
                action.help = self._hidden.get(action.dest, action.help)
        self.print_help()

    def _parse_dataclass_field(self, parser: ArgumentParser, field: "dataclasses.Field[Any]") -> None:  # type: ignore[override]
        """Adds the flag of a field to the group of the field."""
        if not self._sections:  # create all groups in the order of the help
            titles = dict.fromkeys([*self._titles.values(), TRAINER_GROUP])
            self._sections = {title: parser.add_argument_group(title) for title in titles}
        section = self._sections[self._titles.get(field.name, TRAINER_GROUP)]
        field = copy.copy(field)
        metadata = dict(field.metadata)
        metadata.pop("group", None)
        is_hidden = metadata.pop("is_rare", False) or field.name not in self._titles
        field.metadata = metadata  # type: ignore[assignment]
        super()._parse_dataclass_field(section, field)
        for action in section._group_actions:
            if action.dest != field.name:
                continue
            if is_hidden and action.const is not False:
                self._hidden[field.name] = action.help or ""
            if is_hidden or action.const is False:  # --no_…, beside the flag itself
                action.help = SUPPRESS

    def _take_defaults(self, defaults: dict[str, Any], argv: Sequence[str], replaces: Mapping[str, str]) -> None:
        """Makes the recipe's values the defaults, without those that the command line replaces."""
        for action in self._actions:
            action.required = action.required and action.dest not in defaults
        values = vars(self.parse_known_args(argv)[0])
        given = {flag for flag, value in values.items() if value != self.get_default(flag)}
        replaced = {recipe_flag for flag, recipe_flag in replaces.items() if flag in given}
        # argparse would append a list on the command line to the recipe's.
        replaced |= {flag for flag in given if isinstance(defaults.get(flag), list) and flag not in ADDED}
        self.set_defaults(**{flag: value for flag, value in defaults.items() if flag not in replaced})

    def _recipe_defaults(self, name: str) -> dict[str, Any]:
        """Returns the recipe's values as defaults for the parser."""
        recipe = read_recipe(name)
        flags = self._flags()
        unknown = [flag for flag in recipe if flag not in flags]
        if unknown:
            raise ValueError(f"the recipe {name!r} sets unknown flags: {', '.join(unknown)}; {self._hint(unknown)}")
        return {flag: _as_command_line_value(value) for flag, value in recipe.items()}

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
    """Prints the whole help and ends the program."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        assert isinstance(parser, ScriptParser)
        parser.print_all_help()
        parser.exit()


class _HelpFormatter(RawDescriptionHelpFormatter):
    """Shows each flag once, with a short sign for its value, and its default if that says more than None or False."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **{"max_help_position": 36, **options})

    def _format_action_invocation(self, action: Action) -> str:
        values = self._format_args(action, METAVARS.get(action.type, "VALUE"))
        values = "" if action.const is True and action.default is False else values  # --streaming needs no value
        return " ".join(filter(None, [", ".join(_spellings(action)), values]))

    def _get_help_string(self, action: Action) -> str:
        default = action.default.value if isinstance(action.default, Enum) else action.default
        says_nothing = default is None or default is False or default in ("", [], SUPPRESS)
        return (action.help or "") + ("" if says_nothing else f" (default: {default})".replace("%", "%%"))


def _spellings(action: Action) -> list[str]:
    """Returns the names of a flag without its second spelling: `--max_steps` is `--max-steps`, too."""
    names = action.option_strings
    return [name for name in names if "-" not in name[2:] or f"--{name[2:].replace('-', '_')}" not in names]


def _group_titles(types: Iterable[Any]) -> dict[str, str]:
    """Returns field → title of its group, in the order of the fields. A later field of the same name is the same."""
    titles: dict[str, str] = {}
    for type_ in types:
        title = FIRST_GROUP
        for field in dataclasses.fields(type_):
            if issubclass(type_, TrainingArguments) and "group" not in field.metadata:
                continue
            title = field.metadata.get("group", title)
            if field.init:
                titles.setdefault(field.name, title)
    return titles


def _name_of_recipe(argv: Sequence[str]) -> str | None:
    """Returns the value of `--recipe`, without a look at the other flags, which the recipe may give."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--recipe")
    name: str | None = parser.parse_known_args(argv)[0].recipe
    return name


def _as_command_line_value(value: Any) -> Any:
    """Returns a value as on the command line: argparse converts and checks only defaults that are strings.

    YAML reads `3e-5` as a string; argparse makes a float of it.
    """
    if isinstance(value, dict):
        return json.dumps(value)
    return value if value is None or isinstance(value, list) else str(value)
