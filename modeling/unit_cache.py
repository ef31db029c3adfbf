"""`UnitCache`: blocks → embeddings that are a function of the block alone, kept in one table."""
# mypy: allow-untyped-calls, no-warn-return-any

import os
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MAX_CACHED_BYTES = int(float(os.environ.get("VOCABLESS_CACHED_MIB", 64)) * 2**20)

# One lock for all caches, so that a fork can wait until no thread is in the middle of a change.
_LOCK = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class UnitCache:
    """Embeddings of the units seen so far, on the CPU; never saved, pickled or copied.

    Between calls its table takes at most `MAX_CACHED_BYTES`, by default 64 MiB, `VOCABLESS_CACHED_MIB` in the
    environment; beyond that it is forgotten. 0 keeps nothing.

    Args:
        embedding_size: D.
    """

    def __init__(self, embedding_size: int) -> None:
        self._embedding_size = embedding_size
        self._clear()

    def __len__(self) -> int:
        return len(self._rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitCache, (self._embedding_size,)

    def look_up(self, blocks: Tensor, embed: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns the embeddings, (…, D) float32, of blocks (…, K) on the CPU, values 0–260.

        Args:
            blocks: int64.
            embed: maps distinct blocks, (n, K) int64, to (n, D) float32.
        """
        elements = np.ascontiguousarray(blocks.numpy().astype(np.int16))
        keys = elements.view(f"V{2 * elements.shape[-1]}").ravel().tolist()
        with _LOCK:
            rows = np.fromiter(map(self._rows.__getitem__, keys), np.intp, len(keys))
            if self._rows.unseen:
                self._add(elements.shape[-1], embed)
            found = self._table.take(rows, axis=0)
            if self._table.nbytes > MAX_CACHED_BYTES:
                self._clear()
        return torch.from_numpy(found).unflatten(0, blocks.shape[:-1])

    def _clear(self) -> None:
        self._rows = _Rows()
        self._table: NDArray[np.float32] = np.empty((0, self._embedding_size), np.float32)

    def _add(self, block_size: int, embed: Callable[[Tensor], Tensor]) -> None:
        unseen = np.frombuffer(b"".join(self._rows.unseen), np.int16).reshape(-1, block_size)
        new = embed(torch.from_numpy(unseen.astype(np.int64))).numpy()
        used = len(self._rows) - len(new)
        if len(self._table) < len(self._rows):
            grown = np.empty((2 * len(self._rows), self._embedding_size), np.float32)
            grown[:used] = self._table[:used]
            self._table = grown
        self._table[used : used + len(new)] = new
        self._rows.unseen.clear()


class _Rows(dict[bytes, int]):
    """Block → row of the table. A new one gets the next row and waits in `unseen`."""

    def __init__(self) -> None:
        super().__init__()
        self.unseen: list[bytes] = []

    def __missing__(self, block: bytes) -> int:
        self.unseen.append(block)
        row = self[block] = len(self)
        return row
