"""`UnitCache`: remembers the embeddings of blocks, for front ends that embed each block alone."""
# mypy: allow-untyped-calls, no-warn-return-any

import os
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any
from weakref import ref

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MAX_CACHED_BYTES = int(float(os.environ.get("VOCABLESS_CACHED_MIB", 64)) * 2**20)

# One lock for all caches. A fork takes it first, so the child never inherits a half-changed cache.
_LOCK = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class UnitCache:
    """Embeddings of the blocks seen so far, on the CPU. It is never saved, and a copy or pickle of it is empty.

    After a call in which the table has grown beyond `MAX_CACHED_BYTES`, the cache is emptied. The environment variable
    `VOCABLESS_CACHED_MIB` sets this limit, by default 64 MiB; with 0 nothing is cached between calls.

    Args:
        embedding_size: D.
        weights: the parameters that the embeddings depend on, in their present version.
    """

    def __init__(self, embedding_size: int, weights: Sequence[Tensor] = ()) -> None:
        self._embedding_size = embedding_size
        self._weights = [(ref(weight), weight._version) for weight in weights]
        self._clear()

    def __len__(self) -> int:
        return len(self._index)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitCache, (self._embedding_size,)

    def is_valid_for(self, weights: Sequence[Tensor]) -> bool:
        """Returns whether these are the parameters that the cache was made for, unchanged since then."""
        pairs = zip(self._weights, weights, strict=False)
        return len(weights) == len(self._weights) and all(
            old() is weight and version == weight._version for (old, version), weight in pairs
        )

    def look_up(self, blocks: Tensor, embed: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns the embeddings of blocks, (…, D) float32.

        Args:
            blocks: (…, K) int64 on the CPU, values 0–260.
            embed: maps distinct blocks, (n, K) int64, to their embeddings, (n, D) float32.
        """
        elements = np.ascontiguousarray(blocks.numpy().astype(np.int16))
        keys = elements.view(f"V{2 * elements.shape[-1]}").ravel().tolist()
        with _LOCK:
            try:
                indices = np.fromiter(map(self._index.__getitem__, keys), np.intp, len(keys))
                if self._index.new_blocks:
                    self._add_new_blocks(elements.shape[-1], embed)
                embeddings = self._table.take(indices, axis=0)
                if self._table.nbytes > MAX_CACHED_BYTES:
                    self._clear()
            except BaseException:  # Ctrl-C between two changes: a half-made entry would be wrong for ever
                self._clear()
                raise
        return torch.from_numpy(embeddings).unflatten(0, blocks.shape[:-1])

    def _clear(self) -> None:
        self._index = _BlockIndex()
        self._table: NDArray[np.float32] = np.empty((0, self._embedding_size), np.float32)

    def _add_new_blocks(self, block_size: int, embed: Callable[[Tensor], Tensor]) -> None:
        blocks = np.frombuffer(b"".join(self._index.new_blocks), np.int16).reshape(-1, block_size)
        new = embed(torch.from_numpy(blocks.astype(np.int64))).numpy()
        used = len(self._index) - len(new)
        if len(self._table) < len(self._index):
            grown = np.empty((2 * len(self._index), self._embedding_size), np.float32)
            grown[:used] = self._table[:used]
            self._table = grown
        self._table[used : used + len(new)] = new
        self._index.new_blocks.clear()


class _BlockIndex(dict[bytes, int]):
    """Maps a block to its index in the table. A new block gets the next index and is added to `new_blocks`."""

    def __init__(self) -> None:
        super().__init__()
        self.new_blocks: list[bytes] = []

    def __missing__(self, block: bytes) -> int:
        self.new_blocks.append(block)
        index = self[block] = len(self)
        return index
