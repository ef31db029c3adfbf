"""Objectives: what is done to a sequence of blocks before the model sees it, and what the model has to say.

`ShuffleRandom` is HashFormers 3.6; `MaskedTokens` is BERT's masked LM (EELBERT 4.1). Both are functions of the tokens
and a random generator alone. Replacements are tokens of real text, never random bits: those give themselves away by
their number of ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray

from vocabless.tokenization.block_coders import NUM_SPECIAL
from vocabless.tokenization.tokenization_vocabless import CLS, MASK, SEP, VocablessTokenizer

Integers = NDArray[np.int64]
INTACT, SHUFFLED, REPLACED = range(3)
IGNORED = -100


class Objective(Protocol):
    """Corrupts a sequence and says what is to be found."""

    def __call__(
        self, blocks: Integers, targets: Integers | None, donors: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Corrupts.

        Args:
            blocks: (n, K) elements of ordinary tokens; not changed.
            targets: (n,) target ids, or None.
            donors: (m, K) tokens of another sequence, m ≥ 1, that replacements are drawn from.
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
        self, blocks: Integers, targets: Integers | None, donors: Integers, rng: np.random.Generator
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
        self, blocks: Integers, targets: Integers | None, donors: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Corrupts, see `Objective`."""
        assert targets is not None
        chosen = rng.random(len(blocks)) < self.mask_probability
        fate = rng.random(len(blocks))
        masked, replaced = chosen & (fate < 0.8), np.flatnonzero(chosen & (fate >= 0.9))
        corrupted = blocks.copy()
        corrupted[masked] = special_block(MASK, blocks.shape[1])
        corrupted[replaced] = donors[rng.integers(len(donors), size=len(replaced))]
        return corrupted, np.where(chosen, targets, IGNORED)


class PretrainingDataset(torch.utils.data.Dataset[dict[str, Any]]):
    """Corrupted sequences of a prepared corpus. What is done to one depends on seed, epoch and its number alone.

    So workers, processes, batch sizes and a restart never change what a sequence looks like in an epoch.

    Args:
        sequences: see `corpus.prepare`.
        tokenizer: the one that wrote them.
        objective: the corruption.
        seed: of all that is random.
    """

    def __init__(self, sequences: Dataset, tokenizer: VocablessTokenizer, objective: Objective, seed: int) -> None:
        self.sequences = sequences
        self.tokenizer = tokenizer
        self.objective = objective
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Draws other corruptions in another epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.sequences)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        rngs = [np.random.default_rng((self.seed, self.epoch, index)) for index in indices]
        donor_indices = [int(rng.integers(len(self.sequences))) for rng in rngs]
        rows = self.sequences[[*indices, *donor_indices]]
        blocks = [self._blocks(raw) for raw in rows["blocks"]]
        targets: list[Any] = [np.frombuffer(raw, np.int32).astype(np.int64) for raw in rows.get("targets", [])]
        targets = targets or [None] * len(indices)
        count = len(indices)
        return [self._item(*self.objective(blocks[i], targets[i], blocks[count + i], rngs[i])) for i in range(count)]

    def _blocks(self, raw: bytes) -> Integers:
        return self.tokenizer.widen(np.frombuffer(raw, np.uint8).reshape(-1, self.tokenizer.raw_block_size))

    def _item(self, blocks: Integers, labels: Integers) -> dict[str, Any]:
        size = blocks.shape[1]
        input_ids = np.concatenate([special_block(CLS, size)[None], blocks, special_block(SEP, size)[None]])
        return {
            "input_ids": input_ids,
            "attention_mask": np.ones(len(input_ids), dtype=np.int64),
            "labels": [IGNORED, *labels.tolist(), IGNORED],
        }


def special_block(special_id: int, block_size: int) -> Integers:
    """Returns the block [id, 0, …, 0] of a special token."""
    assert special_id < NUM_SPECIAL
    return np.array([special_id] + [0] * (block_size - 1), dtype=np.int64)


OBJECTIVES: dict[str, Callable[..., Objective]] = {"shuffle-random": ShuffleRandom, "mlm": MaskedTokens}
