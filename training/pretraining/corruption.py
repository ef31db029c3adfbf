"""Objectives: what is done to a sequence of blocks before the model sees it, and what the model has to say.

`ShuffleRandom` is HashFormers 3.6; `MaskedTokens` is BERT's masked LM (EELBERT 4.1). Both are functions of the tokens
and a random generator alone. Replacements are tokens of real text, never random bits: those give themselves away by
their number of ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vocabless.training.pretraining.codecs import Integers

INTACT, SHUFFLED, REPLACED = range(3)
IGNORED = -100


class Objective(Protocol):
    """Corrupts a sequence and says what is to be found."""

    def __call__(
        self, blocks: Integers, targets: Integers | None, donors: Integers, mask: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Corrupts.

        Args:
            blocks: (n, K) elements of ordinary tokens; not changed.
            targets: (n,) target ids, or None.
            donors: (m, K) tokens of another sequence, m ≥ 1, that replacements are drawn from.
            mask: (K,) elements of the mask token.
            rng: all that is random.

        Returns:
            The corrupted blocks (n, K) and the labels (n,), −100 where nothing is asked.
        """
        ...


@dataclass(frozen=True)
class ShuffleRandom:
    """Shuffles some tokens among themselves, replaces others; labels 0 intact, 1 shuffled, 2 replaced.

    A position that received its own token back is intact. Source: HashFormers 3.6. Differs from the paper's code:
    replacements are real tokens, and each of the two shares is set on its own.

    Attributes:
        shuffle_probability: share of the tokens that are shuffled among themselves.
        replace_probability: share of the tokens that are replaced.
    """

    shuffle_probability: float = 0.15
    replace_probability: float = 0.15

    def __call__(
        self, blocks: Integers, targets: Integers | None, donors: Integers, mask: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Corrupts, see `Objective`."""
        draw = rng.random(len(blocks))
        shuffled = np.flatnonzero(draw < self.shuffle_probability)
        replaced = np.flatnonzero(draw >= 1 - self.replace_probability)
        corrupted = blocks.copy()
        corrupted[shuffled] = blocks[rng.permutation(shuffled)]
        corrupted[replaced] = donors[rng.integers(len(donors), size=len(replaced))]
        labels = np.full(len(blocks), INTACT)
        labels[shuffled], labels[replaced] = SHUFFLED, REPLACED
        labels[(corrupted == blocks).all(axis=1)] = INTACT
        return corrupted, labels


@dataclass(frozen=True)
class MaskedTokens:
    """Hides some tokens: eight in ten become [MASK], one a token of real text, one stays; labels are their target ids.

    Attributes:
        mask_probability: share of the tokens that are to be predicted.
    """

    mask_probability: float = 0.15

    def __call__(
        self, blocks: Integers, targets: Integers | None, donors: Integers, mask: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Corrupts, see `Objective`."""
        assert targets is not None
        chosen = rng.random(len(blocks)) < self.mask_probability
        fate = rng.random(len(blocks))
        masked, replaced = chosen & (fate < 0.8), np.flatnonzero(chosen & (fate >= 0.9))
        corrupted = blocks.copy()
        corrupted[masked] = mask
        corrupted[replaced] = donors[rng.integers(len(donors), size=len(replaced))]
        return corrupted, np.where(chosen, targets, IGNORED)


OBJECTIVES: dict[str, Callable[..., Objective]] = {"shuffle-random": ShuffleRandom, "mlm": MaskedTokens}
