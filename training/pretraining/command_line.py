"""The command line of `vocabless pretrain`, and the table of its objectives.

A new objective is a file with a subclass of `Objective`, and a row in `OBJECTIVES`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vocabless.texts.subwords_and_ngrams import check_has_features, has_features
from vocabless.training.load import is_checkpoint
from vocabless.training.pretraining.arguments import DEFAULT_VARIANT, PretrainingArguments, PretrainingTrainingArguments
from vocabless.training.pretraining.distill import Distill
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.objective import Objective, objective_of_checkpoint
from vocabless.training.pretraining.shuffle_random import ShuffleRandom
from vocabless.training.script import ScriptParser
from vocabless.variants import Variant

PROGRAM = "vocabless pretrain"
OBJECTIVES: dict[str, type[Objective]] = {objective.name: objective for objective in (ShuffleRandom, MaskedLM, Distill)}
DEFAULT_OBJECTIVE = ShuffleRandom.name  # for a variant that was published without pre-training


def parse_command_line(argv: Sequence[str] | None, description: str | None = None) -> Objective:
    """Returns the objective of a run, built from its own flags, with the arguments of the run.

    `argv` None is the program's own; see `ScriptParser` for `description`.

    Raises:
        ValueError: an unknown flag, recipe, variant, objective or measure; n-grams for a coder without them; both a
            variant and a checkpoint to begin from.
    """
    types = [PretrainingArguments, *OBJECTIVES.values(), PretrainingTrainingArguments]
    parser = ScriptParser(types, description, PROGRAM, "corpus")
    arguments, *objectives, training = parser.parse(argv, {"model_name_or_path": "variant"})
    source = arguments.model_name_or_path
    if source is None:
        arguments.variant = arguments.variant or DEFAULT_VARIANT
    elif arguments.variant is not None:
        raise ValueError(
            f"--variant {arguments.variant} has fresh weights and --model_name_or_path {source} trained ones; "
            "give one of them."
        )
    elif not is_checkpoint(source):
        raise ValueError(f"{source} has no weights to begin from; give --variant {source} for fresh ones.")
    _check_ngrams(arguments, parser.recipe)
    if training.output_dir is None:
        training.output_dir = f"runs/{arguments.variant if source is None else f'{Path(source).name}-continued'}"
    named: dict[str, Any] = {objective.name: objective for objective in objectives}
    name = arguments.objective or (None if named[Distill.name].teacher is None else Distill.name)
    if name is None:
        name = objective_of_checkpoint(source) if source is not None else arguments.shape.objective
    objective: Objective | None = named.get(name or DEFAULT_OBJECTIVE)
    if objective is None:
        raise ValueError(f"unknown objective {name!r}; choose one of {', '.join(OBJECTIVES)}.")
    if training.metric_for_best_model not in (None, *objective.measures):
        raise ValueError(
            f"--metric_for_best_model {training.metric_for_best_model} is not measured; "
            f"give one of {', '.join(objective.measures)}."
        )
    objective.set_arguments(arguments, training)
    return objective


def _check_ngrams(arguments: PretrainingArguments, recipe: Mapping[str, Any]) -> None:
    """Leaves a recipe's n-grams out if the model has no n-gram features: one recipe is for LSH, MD5 and the baselines.

    Those that the user asks for are an error then.
    """
    shape = arguments.shape if arguments.model_name_or_path is None else None
    coder = shape.coder[0] if isinstance(shape, Variant) else None
    if arguments.ngrams is None or (coder is not None and has_features(coder)):
        return
    if f"ngrams={arguments.ngrams}" in (recipe.get("set") or ()):
        arguments.set = [item for item in arguments.set or () if not item.startswith("ngrams=")]
    elif coder is not None:
        check_has_features(coder)
