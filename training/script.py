"""The command line of both scripts: dataclasses become flags, recipes become defaults; the flags that both have."""

import copy
import dataclasses
import json
import logging
import math
import os
import sys
from argparse import SUPPRESS, Action, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml
from transformers import HfArgumentParser, TrainingArguments
from transformers.trainer_utils import HubStrategy

from vocabless.first_look import hint
from vocabless.overrides import parse_overrides
from vocabless.saving.run_folder import HUB_ARGUMENTS
from vocabless.texts.text_format import TextFormat

_LOGGER = logging.getLogger(__name__)
RECIPES = Path(__file__).parent / "recipes"  # YAML files with flags of a script: the hyper-parameters of the papers
ADDED = ("set",)  # lists of the command line that are added to the recipe's; others take its place
EPILOG = (
    "Flags of transformers' TrainingArguments work, too, such as --weight_decay and --bf16:\n"
    "https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments"
)
METAVARS: dict[Any, str] = {int: "N", float: "X"}  # of a flag's values, by type; other types are a VALUE
# A run with other values of these is still the same run: they say where it writes, how it reports, how fast it prepares
# the data, and which of several runs a command asks for.
IGNORED_FLAGS = (
    *("set", "output_dir", "logging_dir", "logging_steps", "logging_strategy", "disable_tqdm", "report_to", "run_name"),
    *("ddp_timeout", "task_name", "seeds", "example", *HUB_ARGUMENTS),
)


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


ANY_SIZE = Limit()
COUNT = Limit(1)
POSITIVE = Limit(0, above=True)
SHARE = Limit(0, 1)
MIN_VOCABULARY = 6  # of a subword tokenizer: five special tokens and one more
# Of the Trainer's flags that have no limit of their own.
TRAINER_LIMITS = {
    "gradient_accumulation_steps": COUNT,
    "per_device_train_batch_size": ANY_SIZE,
    "per_device_eval_batch_size": COUNT,
    "max_steps": Limit(1, also=(-1, "for whole epochs")),
    "num_train_epochs": POSITIVE,
    "learning_rate": ANY_SIZE,
    "weight_decay": ANY_SIZE,
    "max_grad_norm": ANY_SIZE,
    "warmup_steps": ANY_SIZE,
    "logging_steps": POSITIVE,
    "eval_steps": POSITIVE,
    "save_steps": POSITIVE,
    "save_total_limit": COUNT,
}


def flag(default: Any, help: str, **metadata: Any) -> Any:
    """Returns a field of a dataclass that `ScriptParser` makes a flag of.

    Args:
        default: its value without the flag; each dataclass gets a copy of a list.
        help: meaning, unit, and what 0 or None does.
        metadata: `group`, its title in the help; without one it is that of the flag before. `limit`, a `Limit`, which
            `check_limits` checks. All else are arguments of argparse's `add_argument`.
    """
    options: dict[str, Any] = {"metadata": {"help": help, **metadata}}
    if isinstance(default, list):
        return dataclasses.field(default_factory=default.copy, **options)
    return dataclasses.field(default=default, **options)


def check_limits(arguments: Any) -> None:
    """Raises ValueError if a field of a dataclass of flags is outside its limits; None is always allowed."""
    for field in dataclasses.fields(arguments):
        limit, value = field.metadata.get("limit") or TRAINER_LIMITS.get(field.name), getattr(arguments, field.name)
        if limit is not None and value is not None and not limit.allows(value):
            raise ValueError(f"--{field.name} {value} is out of range; give {limit}.")


@dataclass
class ModelArguments:
    """Overrides of the model."""

    set: list[str] | None = flag(  # noqa: RUF009
        None,
        "NAME=VALUE …: change a variant, for ablations: size, splitter, coder, front_end, ngrams (train is the 50 000 "
        "most frequent ones), or an option such as encoder_options.num_hidden_layers=3.",
        group="model",
        action="extend",
    )

    def __post_init__(self) -> None:
        check_limits(self)
        parse_overrides(self.set or ())

    @property
    def overrides(self) -> dict[str, Any]:
        """What `--set` gives, see `parse_overrides`."""
        return parse_overrides(self.set or ())

    @property
    def ngrams(self) -> str | None:
        """The n-grams that have a feature: a file, `train`, or None for all."""
        return self.overrides.get("ngrams")


@dataclass
class TextFileArguments:
    """The format of text files."""

    encoding: str = flag(
        "utf-8", "Encoding of csv, tsv, jsonl, json and txt files; of Excel on Windows cp1252.", group="text files"
    )
    delimiter: str | None = flag(
        None, "Delimiter of csv and tsv files, such as ';' or tab. None is a comma, in tsv a tab."
    )

    @property
    def text_format(self) -> TextFormat:
        """The format of local text files. Raises ValueError, see `TextFormat`."""
        return TextFormat(self.encoding, self.delimiter)


@dataclass
class ScriptTrainingArguments(TrainingArguments):
    """The Trainer's arguments, for a script that chooses its own output folder and uploads finished runs only.

    A process uses one GPU at most: a launcher such as `accelerate launch` starts one process for each. A precision of
    the launcher counts as --bf16 or --fp16. bf16 works on a CPU without further flags, and memory is pinned only where
    there is a GPU.
    """

    output_dir: str | None = None
    hub_strategy: HubStrategy | str = "end"
    total_batch_size: int | None = flag(
        None,
        "Examples of a training step over all devices and --gradient_accumulation_steps, which follows from it; "
        "--per_device_train_batch_size is then the most at once.",
        limit=COUNT,
        group="training",
    )

    def __post_init__(self) -> None:
        check_limits(self)
        if self.save_only_model:
            raise ValueError("--save_only_model makes checkpoints from which no run can continue; leave it out.")
        output_dir = self.output_dir
        accelerator = getattr(torch, "accelerator", torch.cuda)  # torch 2.5 has no `torch.accelerator`
        launched = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
        if launched not in ("no", "bf16", "fp16"):
            raise ValueError(f"the launcher has --mixed_precision {launched}; give it no, bf16 or fp16.")
        if not (self.bf16 or self.fp16):  # the Trainer would train in the launcher's precision and record none
            self.bf16, self.fp16 = launched == "bf16", launched == "fp16"
        if self.bf16 and not accelerator.is_available():
            self.use_cpu = True  # else the Trainer refuses bf16 on a machine without a GPU
        super().__post_init__()
        self.output_dir = output_dir  # the Trainer replaces None by a folder of its own
        self._n_gpu = min(1, self.n_gpu)  # else the Trainer trains on all of them, with as many times the batch
        if self.total_batch_size is not None:
            at_once = self.per_device_train_batch_size or self.total_batch_size
            sizes = split_batch(self.total_batch_size, self.world_size, at_once, self.gradient_accumulation_steps)
            self.per_device_train_batch_size, self.gradient_accumulation_steps = sizes
        self.dataloader_pin_memory = self.dataloader_pin_memory and torch.cuda.is_available()
        # An x86 CPU without AVX-512.
        if self.bf16 and self.device.type == "cpu" and torch.backends.cpu.get_cpu_capability() == "AVX2":
            _LOGGER.warning(
                "--bf16 is 4 to 14 times slower than float32 on this CPU, which has no AVX-512; leave it out."
            )


def split_batch(total: int, devices: int, largest: int, accumulation: int = 1) -> tuple[int, int]:
    """Returns the examples that a device trains on at once, and how often it does so in a training step.

    All devices together train on `total` examples in a step, each on at most `largest` at once. The user's number of
    times, `accumulation`, must fit; 1 is no wish.

    Raises:
        ValueError: the examples cannot be divided so.

    Example:
        >>> split_batch(128, 2, 16)
        (16, 4)
    """
    share, rest = divmod(total, devices)
    at_once = min(largest, share) or 1
    times, rest_of_share = divmod(share, at_once)
    if rest or rest_of_share or not share or accumulation not in (1, times):
        raise ValueError(
            f"--total_batch_size {total} is not {devices} devices × {at_once} examples at once × a whole number"
            f"{f', which is {accumulation}' if accumulation > 1 else ''} of times; give another number of processes, "
            "--per_device_train_batch_size or --total_batch_size."
        )
    return at_once, times


def fingerprint(arguments: ModelArguments, training: ScriptTrainingArguments, *more: Any) -> dict[str, Any]:
    """Returns the arguments that make a run this run and no other, by name; `more` are further dataclasses of flags.

    `overrides` has what `--set` gives. The number of processes counts: with another one, steps have other examples.
    The seed does not count where a command has several; they are in the names of folders.
    """
    values = {"overrides": arguments.overrides, "world_size": training.world_size, **training.to_sanitized_dict()}
    for flags in (arguments, *more):
        values |= dataclasses.asdict(flags)
    ignored = {*IGNORED_FLAGS, "seed"} if "seeds" in values else {*IGNORED_FLAGS}
    return {name: value for name, value in values.items() if name not in ignored}


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
    """Makes dataclasses, `types`, from the command line.

    `description` is the first part of the help, `program` the command's name in it. `leading` is the flag of
    words in front of all flags, for instance `train_file`.

    The help lists our own flags in their groups. Those of the Trainer without a group are accepted all the same.
    """

    def __init__(
        self, types: Iterable[Any], description: str | None = None, program: str | None = None, leading: str = ""
    ) -> None:
        self.recipe: dict[str, Any] = {}  # flag → its value in the recipe of the last `parse`
        self._leading = leading
        self._groups: dict[str, Any] = {}  # title → group; the last one is that of the flag before
        super().__init__(
            list(types),
            prog=program,
            usage=f"%(prog)s {f'[{leading.upper()}] ' if leading else ''}--FLAG VALUE --FLAG VALUE …",
            description=description,
            epilog=EPILOG,
            formatter_class=partial(_HelpFormatter, max_help_position=36),
            allow_abbrev=False,
        )
        self.add_argument(
            "--recipe",
            metavar="NAME_OR_PATH",
            help="YAML file with flags; those on the command line override them. A path, or one of "
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
        if self._leading and argv and not argv[0].startswith("-"):
            argv.insert(0, f"--{self._leading}")
        name = self.parse_known_args(argv)[0].recipe
        if name is not None:
            self._set_recipe(name, argv, replaces or {})
        *parsed, _, rest = self.parse_args_into_dataclasses(
            argv, return_remaining_strings=True, look_for_args_file=False
        )
        if rest:
            unknown = [argument.partition("=")[0] for argument in rest if argument.startswith("-")]
            if not unknown:
                raise ValueError(f"{rest[0]!r} belongs to no flag; write --FLAG VALUE, or see --help.")
            raise ValueError(f"unknown flag {', '.join(unknown)}; {hint(unknown, self._flags(), '--')}")
        return tuple(parsed)

    def _parse_dataclass_field(self, parser: ArgumentParser, field: "dataclasses.Field[Any]") -> None:  # type: ignore[override]
        """Adds a field as a flag, to its group in the help if it is ours; see `HfArgumentParser`."""
        metadata = dict(field.metadata)
        title, _ = metadata.pop("group", None), metadata.pop("limit", None)
        target: Any = parser
        if title is None and field.name in TrainingArguments.__dataclass_fields__:
            metadata["help"] = SUPPRESS
        else:
            title = title or next(reversed(self._groups))
            target = self._groups[title] = self._groups.pop(title, None) or self.add_argument_group(title)  # now last
        field, known = copy.copy(field), len(self._actions)
        field.metadata = metadata  # type: ignore[assignment]
        HfArgumentParser._parse_dataclass_field(target, field)
        for action in self._actions[known:]:
            action.option_strings = action.option_strings[:1]  # the help shows one spelling; --max-steps works, too
            if action.help != SUPPRESS and action.default not in (None, False, "", SUPPRESS):
                action.help = f"{action.help} (default: {str(action.default).replace('%', '%%')})"

    def _set_recipe(self, name: str, argv: Sequence[str], replaces: Mapping[str, str]) -> None:
        """Makes the recipe's values the defaults, without those that `argv` takes the place of."""
        self.recipe = read_recipe(name)
        unknown = [flag for flag in self.recipe if flag not in self._flags()]
        if unknown:
            remedy = hint(unknown, self._flags())
            raise ValueError(f"the recipe {name!r} sets unknown flags: {', '.join(unknown)}; {remedy}")
        given = {word[2:].partition("=")[0].replace("-", "_") for word in argv if word.startswith("--")}
        replaced = {recipe_flag for flag, recipe_flag in replaces.items() if flag in given} | (given - {*ADDED})
        for flag, value in self.recipe.items():
            if value is not None and flag not in replaced:
                text = json.dumps(value) if isinstance(value, dict) else str(value)  # argparse converts text alone
                self.set_defaults(**{flag: value if isinstance(value, list) else text})

    def _flags(self) -> list[str]:
        return [field.name for type_ in self.dataclass_types for field in dataclasses.fields(type_) if field.init]


class _HelpFormatter(RawDescriptionHelpFormatter):
    """Shows a short sign for the value of a flag, and none where a flag needs no value."""

    def _format_args(self, action: Action, default_metavar: str) -> str:
        is_switch = action.const is True and action.default is False
        return "" if is_switch else super()._format_args(action, METAVARS.get(action.type, "VALUE"))
