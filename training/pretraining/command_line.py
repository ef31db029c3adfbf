"""The command line of `run_pretraining.py`: its arguments, and those that identify a run."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from vocabless.saving.public_names import public_name
from vocabless.saving.run_folder import HUB_ARGUMENTS
from vocabless.training.pretraining.arguments import DEFAULT_VARIANT, FLAGS, PretrainingArguments
from vocabless.training.pretraining.objective import Objective
from vocabless.training.pretraining.objectives import DEFAULT_OBJECTIVE, OBJECTIVES, choose_objective
from vocabless.training.pretraining.starting_weights import objective_of_checkpoint
from vocabless.training.pretraining.training_arguments import PretrainingTrainingArguments
from vocabless.training.script_parser import ScriptParser
from vocabless.training.texts.ngrams import check_has_features
from vocabless.variants import Variant

# A run with other values of these is still the same run: they say where it writes and how it reports.
NOT_IDENTIFYING = (
    *("output_dir", "logging_dir", "disable_tqdm", "report_to", "run_name", "preprocessing_num_workers", "example"),
    *HUB_ARGUMENTS,
)


def parse_command_line(
    argv: Sequence[str] | None, description: str | None
) -> tuple[PretrainingArguments, Objective, PretrainingTrainingArguments]:
    """Returns the arguments of a run, and its objective, built from its own flags.

    Args:
        argv: the arguments; None is the program's own.
        description: first part of `--help`.

    Raises:
        ValueError: an unknown flag, recipe, variant or objective; n-grams for a coder without them; both a variant and
            a checkpoint to begin from.
    """
    types = [PretrainingArguments, *OBJECTIVES.values(), PretrainingTrainingArguments]
    parser = ScriptParser(types, FLAGS, description)
    arguments, *objectives, training = parser.parse(argv, {"model_name_or_path": "variant"})
    start = arguments.model_name_or_path
    if start is None:
        arguments.variant = arguments.variant or DEFAULT_VARIANT
        shape = arguments.shape
        if arguments.ngrams is not None and isinstance(shape, Variant):
            check_has_features(shape.coder[0])
    elif arguments.variant is not None:
        raise ValueError(
            f"--variant {arguments.variant} has fresh weights and --model_name_or_path {start} trained ones; "
            "give one of them."
        )
    if training.output_dir is None:
        training.output_dir = f"runs/{arguments.variant if start is None else f'{Path(start).name}-continued'}"
    name = arguments.objective or next((objective.name for objective in objectives if objective.is_implied), None)
    if name is None:
        name = objective_of_checkpoint(start) if start is not None else arguments.shape.objective
    return arguments, choose_objective(objectives, name or DEFAULT_OBJECTIVE), training


def identifying_arguments(
    arguments: PretrainingArguments, objective: Objective, training: PretrainingTrainingArguments
) -> dict[str, Any]:
    """Returns every argument that makes a run this run and no other, by name; flags of other objectives as defaults."""
    objectives = [*(row() for row in OBJECTIVES.values()), objective]
    settings = {name: value for part in (arguments, *objectives) for name, value in asdict(cast(Any, part)).items()}
    settings |= training.identity()
    if arguments.model_name_or_path is not None:
        settings["model_name_or_path"] = public_name(arguments.model_name_or_path)
    return {name: value for name, value in settings.items() if name not in NOT_IDENTIFYING}
