"""Prepared corpora → the examples of pre-training: corrupted sequences, from memory-mapped files or from a stream.

The corruption of a sequence depends on the seed, the epoch and the sequence's number alone, so batch sizes and restarts
never change it. For memory-mapped files, the numbers of workers and processes do not change it either.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import datasets
import numpy as np
import torch
from torch.utils.data import get_worker_info

from vocabless.training.pretraining.packing import Packing, Record

if TYPE_CHECKING:  # that file imports this one
    from vocabless.training.pretraining.token_objective import TokenObjective

IGNORED = -100  # label of a token that the loss leaves out


def make_example(
    packing: Packing, objective: TokenObjective, record: Record, donor: Record, rng: np.random.Generator
) -> dict[str, Any]:
    """Returns a stored sequence as a corrupted example; replacements come from the donor, or from the vocabulary."""
    blocks, targets = packing.read(record)
    donors = packing.vocabulary if objective.draws_from_vocabulary else None
    if donors is None:
        donors, _ = packing.read(donor)
    blocks, labels = objective.corrupt(blocks, targets, donors, packing.mask, rng)
    input_ids = packing.input_ids(blocks)
    return {
        "input_ids": input_ids,
        "attention_mask": np.ones(len(input_ids), dtype=np.int64),
        "labels": [IGNORED, *labels.tolist(), IGNORED],
    }


class PretrainingDataset(torch.utils.data.Dataset[dict[str, Any]]):
    """Corrupted sequences of a memory-mapped corpus, see `Packing.prepare`.

    The seed is the source of all randomness, with the epoch and the sequence's number.
    """

    def __init__(self, sequences: datasets.Dataset, packing: Packing, objective: TokenObjective, seed: int) -> None:
        self.sequences, self.seed, self.epoch = sequences.with_format("numpy"), seed, 0
        self._make_example = partial(make_example, packing, objective)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch. Each epoch has other corruptions."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.sequences)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        rngs = [np.random.default_rng((self.seed, self.epoch, index)) for index in indices]
        donors = [int(rng.integers(len(self.sequences))) for rng in rngs]
        columns = self.sequences[[*indices, *donors]]  # one read for the whole batch
        records = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        sequences, donor_sequences = records[: len(indices)], records[len(indices) :]
        return [self._make_example(*trio) for trio in zip(sequences, donor_sequences, rngs, strict=True)]


class PretrainingStream(torch.utils.data.IterableDataset[dict[str, Any]]):
    """Corrupted sequences of a streamed corpus, without an end, see `packing.part_of_process`.

    Each epoch reads them in another order. The donor of a sequence's replacements is the sequence before it. Each
    worker of each process has its own files and its own random numbers, from the seed, the epoch, the process (`rank`)
    and the worker.
    """

    def __init__(
        self, sequences: datasets.IterableDataset, packing: Packing, objective: TokenObjective, seed: int, rank: int = 0
    ) -> None:
        self.sequences, self.seed, self.rank = sequences, seed, rank
        self._make_example = partial(make_example, packing, objective)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for epoch in itertools.count():
            examples = self.epoch(epoch)
            first = next(examples, None)
            if first is None:  # there are more workers than files
                return
            yield from itertools.chain([first], examples)

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Yields an example of each sequence of this worker's part."""
        worker = get_worker_info()
        rng = np.random.default_rng((self.seed, number, self.rank, worker.id if worker else 0))
        self.sequences.set_epoch(number)
        donor: Record | None = None
        for record in self.sequences:
            yield self._make_example(record, donor or record, rng)
            donor = record
