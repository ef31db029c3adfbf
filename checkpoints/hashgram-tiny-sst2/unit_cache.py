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
ENTRY_BYTES = 140  # of a block and its index in a dictionary, beside the block's bytes

# One lock for all caches. A fork takes it first, so the child never inherits a half-changed cache.
_LOCK = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class UnitCache:
    """Embeddings of the blocks seen so far, on the CPU. It is never saved, and a copy or pickle of it is empty.

    After a call in which it has grown beyond `MAX_CACHED_BYTES`, the cache is emptied. The environment variable
    `VOCABLESS_CACHED_MIB` sets this limit, by default 64 MiB; with 0 nothing is cached between calls.

    Args:
        embedding_size: D.
        weights: the parameters that the embeddings depend on, in their present version.
    """

    def __init__(self, embedding_size: int, weights: Sequence[Tensor] = ()) -> None:
        self._embedding_size = embedding_size
        self._dtype = torch.float32
        self._weights = [(ref(weight), _state(weight)) for weight in weights]
        self._clear()

    def __len__(self) -> int:
        return len(self._index)

    @property
    def num_bytes(self) -> int:
        """The memory that the embeddings and the blocks take, nearly."""
        size_of_block = len(next(iter(self._index), b"")) + ENTRY_BYTES
        return self._table.nbytes + len(self._index) * size_of_block

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitCache, (self._embedding_size,)

    def is_valid_for(self, weights: Sequence[Tensor]) -> bool:
        """Returns whether these are the parameters that the cache was made for, unchanged since then."""
        pairs = zip(self._weights, weights, strict=False)
        return len(weights) == len(self._weights) and all(
            old() is weight and state == _state(weight) for (old, state), weight in pairs
        )

    def look_up(self, blocks: Tensor, embed: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns the embeddings of blocks, (…, D), in the type that `embed` gives.

        Args:
            blocks: (…, K) int64 on the CPU, values 0–260.
            embed: maps distinct blocks, (n, K) int64, to their embeddings, (n, D), of any floating-point type.
        """
        keys = _keys(blocks)
        with _LOCK:
            try:
                indices = np.fromiter(map(self._index.__getitem__, keys), np.intp, len(keys))
                if self._index.new_blocks:
                    self._add_new_blocks(embed)
                embeddings = self._table.take(indices, axis=0)
                if self.num_bytes > MAX_CACHED_BYTES:
                    self._clear()
            except BaseException:  # Ctrl-C between two changes: a half-made entry would be wrong for ever
                self._clear()
                raise
        return torch.from_numpy(embeddings).to(self._dtype).unflatten(0, blocks.shape[:-1])

    def _clear(self) -> None:
        self._index = _BlockIndex()
        self._table: NDArray[np.floating[Any]] = np.empty((0, self._embedding_size), np.float32)

    def _add_new_blocks(self, embed: Callable[[Tensor], Tensor]) -> None:
        embeddings = embed(_blocks(self._index.new_blocks))
        self._dtype = embeddings.dtype
        # NumPy has no bfloat16; float32 holds its values exactly.
        new = embeddings.to(torch.promote_types(self._dtype, torch.float32)).numpy()
        used = len(self._index) - len(new)
        if len(self._table) < len(self._index):
            grown = np.empty((2 * len(self._index), self._embedding_size), new.dtype)
            grown[:used] = self._table[:used]
            self._table = grown
        self._table[used : used + len(new)] = new
        self._index.new_blocks.clear()


def _state(weight: Tensor) -> tuple[int, int, torch.dtype]:
    """Returns a value that changes with the parameter: in-place operations raise its version, `.data = …` moves it."""
    return weight._version, weight.data_ptr(), weight.dtype


def distinct_blocks(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the distinct ones of blocks, in the order in which they come first, and where each block stands there.

    The same as `torch.unique(dim=0)` up to the order, and ten times as fast.

    Args:
        blocks: (…, K) int64 on the CPU, values 0–260.

    Returns:
        (n, K) int64 and (…) int64.
    """
    keys = _keys(blocks)
    index = _BlockIndex()
    indices = np.fromiter(map(index.__getitem__, keys), np.int64, len(keys))
    units = _blocks(index.new_blocks) if keys else blocks.flatten(0, -2)
    return units, torch.from_numpy(indices).unflatten(0, blocks.shape[:-1])


def _keys(blocks: Tensor) -> list[bytes]:
    """Returns the elements of each block, (…, K) int64, as bytes."""
    elements = np.ascontiguousarray(blocks.numpy().astype(np.int16))
    return elements.view(f"V{2 * elements.shape[-1]}").ravel().tolist()


def _blocks(keys: list[bytes]) -> Tensor:
    """Returns the blocks of at least one key, (n, K) int64."""
    elements = np.frombuffer(b"".join(keys), np.int16).reshape(len(keys), -1)
    return torch.from_numpy(elements.astype(np.int64))


class _BlockIndex(dict[bytes, int]):
    """Maps a block to its index in the table. A new block gets the next index and is added to `new_blocks`."""

    def __init__(self) -> None:
        super().__init__()
        self.new_blocks: list[bytes] = []

    def __missing__(self, block: bytes) -> int:
        self.new_blocks.append(block)
        index = self[block] = len(self)
        return index
