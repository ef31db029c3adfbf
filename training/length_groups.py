"""An order of examples in which those of a batch have nearly the same length, so that little is padded."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch.utils.data import Sampler

BATCHES_PER_POOL = 100  # examples of so many batches are sorted by length together


class LengthGroups(Sampler[int]):
    """Yields the numbers of examples, those of a batch together and the batches in random order.

    The order depends on the seed and the epoch alone.

    Args:
        examples: if they have `set_epoch`, they learn the epoch: with several processes, Accelerate tells it to the
            sampler alone.
        lengths: one for each example, in any unit.
        batch_size: examples of a batch.
        seed: source of all randomness, with the epoch.
    """

    def __init__(self, examples: Any, lengths: ArrayLike, batch_size: int, seed: int) -> None:
        self._examples = examples
        self._lengths = np.asarray(lengths)
        self._batch_size = batch_size
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch. Each epoch has another order."""
        self._epoch = epoch
        if hasattr(self._examples, "set_epoch"):
            self._examples.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng((self._seed, self._epoch))
        order = rng.permutation(len(self._lengths))
        pools = _cut(order, self._batch_size * BATCHES_PER_POOL)
        batches = [
            batch
            for pool in pools
            for batch in _cut(pool[np.argsort(self._lengths[pool], kind="stable")], self._batch_size)
        ]
        last = [batches.pop()] if len(batches[-1]) < self._batch_size else []  # a short batch would shift the others
        for batch in [*(batches[number] for number in rng.permutation(len(batches))), *last]:
            yield from batch.tolist()


def _cut(values: Any, size: int) -> list[Any]:
    return [values[start : start + size] for start in range(0, len(values), size)]
