"""Texts with a teacher's vectors as examples of training."""

from collections.abc import Callable, Sequence
from typing import Any

import datasets
import numpy as np
import torch
from numpy.typing import NDArray

Change = Callable[[str, np.random.Generator], str]


class VectorDataset(torch.utils.data.Dataset[dict[str, Any]]):
    """Examples with a `text` and the teacher's `vector`.

    Args:
        texts: see `sentence_teacher.add_vectors`.
        change: changes the text that the student reads, for instance misspells it; None leaves it. Each epoch has other
            changes.
        seed: source of all randomness, with the epoch and the number of the text.

    Attributes:
        lengths: (n,) characters of each text.
    """

    def __init__(self, texts: datasets.Dataset, change: Change | None = None, seed: int = 0) -> None:
        self._texts = texts.with_format("numpy")
        self._change = change
        self._seed = seed
        self._epoch = 0
        self.lengths: NDArray[np.int64] = np.array([len(text) for text in texts["text"]])

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        columns = self._texts[list(indices)]
        rows = zip(indices, columns["text"], columns["vector"], strict=True)
        return [{"text": self._changed(str(text), index), "vector": vector} for index, text, vector in rows]

    def _changed(self, text: str, index: int) -> str:
        if self._change is None:
            return text
        return self._change(text, np.random.default_rng((self._seed, self._epoch, index)))
