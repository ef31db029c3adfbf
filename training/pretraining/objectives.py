"""The table of pre-training objectives. A new one is a file with a subclass of `Objective`, and a row here."""

from vocabless.training.pretraining.distill import Distill
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.objective import Objective
from vocabless.training.pretraining.shuffle_random import ShuffleRandom

OBJECTIVES: dict[str, type[Objective]] = {objective.name: objective for objective in (ShuffleRandom, MaskedLM, Distill)}
DEFAULT_OBJECTIVE = ShuffleRandom.name  # for a variant that was published without pre-training
