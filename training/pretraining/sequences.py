"""Prepared corpora → what a model trains on: corrupted sequences, from memory-mapped files or from a stream.

What is done to a sequence is a function of the seed, the epoch and the sequence's number alone. So batch sizes and
restarts never change it, nor, where sequences are numbered before they are dealt out, workers and processes.
"""
# mypy: allow-untyped-calls

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import datasets
import numpy as np
import torch
from torch.utils.data import get_worker_info

from vocabless.training.pretraining.codecs import Codec, Integers
from vocabless.training.pretraining.corruption import IGNORED, Objective

Row = Mapping[str, bytes]  # a sequence as `corpus.pack` stores it


class _Corrupting:
    """What both kinds of data set do to a row."""

    def __init__(self, codec: Codec, objective: Objective, seed: int) -> None:
        self.codec = codec
        self.objective = objective
        self.seed = seed

    def _item(self, row: Row, donor: Row, rng: np.random.Generator) -> dict[str, Any]:
        targets = np.frombuffer(row["targets"], np.int32).astype(np.int64) if "targets" in row else None
        blocks, labels = self.objective(self._blocks(row), targets, self._blocks(donor), self.codec.mask, rng)
        input_ids = self.codec.input_ids(blocks)
        return {
            "input_ids": input_ids,
            "attention_mask": np.ones(len(input_ids), dtype=np.int64),
            "labels": [IGNORED, *labels.tolist(), IGNORED],
        }

    def _blocks(self, row: Row) -> Integers:
        return self.codec.widen(np.frombuffer(row["blocks"], np.uint8).reshape(-1, self.codec.raw_block_size))


class PretrainingDataset(_Corrupting, torch.utils.data.Dataset[dict[str, Any]]):
    """Corrupted sequences of a memory-mapped corpus. What is done to one depends on seed, epoch and its number alone.

    Args:
        sequences: see `corpus.prepare`.
        codec: the one that wrote them.
        objective: the corruption.
        seed: of all that is random.
    """

    def __init__(self, sequences: datasets.Dataset, codec: Codec, objective: Objective, seed: int) -> None:
        super().__init__(codec, objective, seed)
        self.sequences = sequences
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
        donors = [int(rng.integers(len(self.sequences))) for rng in rngs]
        columns = self.sequences[[*indices, *donors]]
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        return [self._item(rows[i], rows[len(indices) + i], rng) for i, rng in enumerate(rngs)]


class PretrainingStream(_Corrupting, torch.utils.data.IterableDataset[dict[str, Any]]):
    """Corrupted sequences of a streamed corpus, without end: epoch follows epoch, its files in another order.

    A number of sequences waits in a buffer, from which the next one and the donor of its replacements are drawn. Each
    worker of each process has its own part of the files, its own buffer, its own numbers.

    Args:
        sequences: see `corpus.prepare`, this process's part of them.
        codec: the one that writes them.
        objective: the corruption.
        seed: of all that is random.
        buffer_size: sequences in the buffer.
        rank: number of this process.
    """

    def __init__(
        self,
        sequences: datasets.IterableDataset,
        codec: Codec,
        objective: Objective,
        seed: int,
        buffer_size: int = 1000,
        rank: int = 0,
    ) -> None:
        super().__init__(codec, objective, seed)
        self.sequences = sequences
        self.buffer_size = buffer_size
        self.rank = rank

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for epoch in itertools.count():
            some = False
            for item in self.epoch(epoch):
                some = True
                yield item
            if not some:  # more workers than files
                return

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Yields each sequence of this worker's part once."""
        worker = get_worker_info()
        rng = np.random.default_rng((self.seed, number, self.rank, worker.id if worker else 0))
        self.sequences.set_epoch(number)
        buffer: list[Row] = []
        for row in self.sequences:
            buffer.append(row)
            if len(buffer) == self.buffer_size:
                yield self._draw(buffer, rng)
        while buffer:
            yield self._draw(buffer, rng)

    def _draw(self, buffer: list[Row], rng: np.random.Generator) -> dict[str, Any]:
        """Takes a sequence out of the buffer; another one, if there is one, lends the replacements."""
        chosen = int(rng.integers(len(buffer)))
        buffer[chosen], buffer[-1] = buffer[-1], buffer[chosen]
        row = buffer.pop()
        return self._item(row, buffer[int(rng.integers(len(buffer)))] if buffer else row, rng)
