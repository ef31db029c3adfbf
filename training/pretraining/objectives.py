"""The table of pre-training objectives. A new one is a file with a subclass of `Objective`, and a row here."""

from collections.abc import Sequence

from vocabless.stock_shapes import find_shape
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.objective import Objective
from vocabless.training.pretraining.shuffle_random import ShuffleRandom

OBJECTIVES: dict[str, type[Objective]] = {objective.name: objective for objective in (ShuffleRandom, MaskedLM)}
DEFAULT = ShuffleRandom.name  # for a variant that was published without pre-training


def choose_objective(objectives: Sequence[Objective], name: str | None, variant: str) -> Objective:
    """Returns the objective of that name.

    Args:
        objectives: one of each row, built from the command line.
        name: value of `--objective`; None is the one that the variant was published with.
        variant: name of a variant or a stock shape.

    Raises:
        ValueError: an unknown objective or variant.
    """
    chosen = name or find_shape(variant).objective or DEFAULT
    if chosen not in OBJECTIVES:
        raise ValueError(f"unknown objective {chosen!r}; choose one of {', '.join(OBJECTIVES)}.")
    return next(objective for objective in objectives if objective.name == chosen)
