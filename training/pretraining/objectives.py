"""The table of pre-training objectives. A new one is a file with a subclass of `Objective`, and a row here."""

from collections.abc import Sequence

from vocabless.training.pretraining.distill import Distill
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.objective import Objective
from vocabless.training.pretraining.shuffle_random import ShuffleRandom

OBJECTIVES: dict[str, type[Objective]] = {objective.name: objective for objective in (ShuffleRandom, MaskedLM, Distill)}
DEFAULT_OBJECTIVE = ShuffleRandom.name  # for a variant that was published without pre-training


def choose_objective(objectives: Sequence[Objective], name: str) -> Objective:
    """Returns the objective of that name.

    Args:
        objectives: one of each row, built from the command line.
        name: a key of `OBJECTIVES`.

    Raises:
        ValueError: an unknown name.
    """
    if name not in OBJECTIVES:
        raise ValueError(f"unknown objective {name!r}; choose one of {', '.join(OBJECTIVES)}.")
    return next(objective for objective in objectives if objective.name == name)
