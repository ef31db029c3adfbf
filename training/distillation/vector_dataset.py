"""Texts with a teacher's vectors as examples of training."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import datasets
import numpy as np
import torch
from numpy.typing import NDArray

from vocabless.training.distillation.sentence_measures import unit_vectors

Change = Callable[[str, np.random.Generator], str]
TEXTS_AT_ONCE = 10_000


def mean_vector(vectors: datasets.Dataset) -> NDArray[np.float32]:
    """Returns the mean of the column `vector`, (vector size,), each vector divided by its length first."""
    total = np.zeros(vectors.features["vector"].length)
    for batch in vectors.with_format("numpy").iter(batch_size=TEXTS_AT_ONCE):
        total += unit_vectors(batch["vector"]).sum(axis=0)
    return (total / max(1, len(vectors))).astype(np.float32)


class VectorDataset(torch.utils.data.Dataset[dict[str, Any]]):
    """Examples with a `text` and the teacher's `vector`.

    Args:
        texts: with a column `text`, n rows.
        vectors: with a column `vector`, see `sentence_teacher.add_vectors`.
        targets: (n,) the row in `vectors` of each text.
        length_of: returns the length of each text of a list, in any unit.
        rows: (examples,) the row in `texts` of each example; None takes each text once.
        mean: (vector size,) taken from each vector of length 1, see `mean_vector`; None changes no vector.
        change: changes the text that the student reads, for instance misspells it; None leaves it. Each epoch has other
            changes.
        seed: source of all randomness, with the epoch and the number of the example.
    """

    def __init__(
        self,
        texts: datasets.Dataset,
        vectors: datasets.Dataset,
        targets: NDArray[np.int64],
        length_of: Callable[[list[str]], list[int]],
        rows: NDArray[np.int64] | None = None,
        mean: NDArray[np.float32] | None = None,
        change: Change | None = None,
        seed: int = 0,
    ) -> None:
        self._texts = texts.with_format("numpy")
        self._vectors = vectors.with_format("numpy")
        self._targets = targets
        self._rows = np.arange(len(texts)) if rows is None else rows
        self.mean = mean
        self._change = change
        self._seed = seed
        self._epoch = 0
        batches = (length_of(batch["text"]) for batch in texts.iter(batch_size=TEXTS_AT_ONCE))
        lengths = np.fromiter(chain.from_iterable(batches), np.int64, len(texts))
        self.lengths: NDArray[np.int64] = lengths[self._rows]  # (examples,)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        rows = self._rows[list(indices)]
        texts, vectors = self._texts[rows]["text"], self._vectors[self._targets[rows]]["vector"]
        if self.mean is not None:
            vectors = unit_vectors(vectors) - self.mean
        found = zip(indices, texts, vectors, strict=True)
        return [{"text": self._changed(str(text), index), "vector": vector} for index, text, vector in found]

    def _changed(self, text: str, index: int) -> str:
        if self._change is None:
            return text
        return self._change(text, np.random.default_rng((self._seed, self._epoch, index)))
