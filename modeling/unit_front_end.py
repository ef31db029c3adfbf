"""Base class of the front ends that embed each distinct block once: their embedding depends on the block alone."""
# mypy: no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods)

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .blocks import FrontEnd

ENTRY_BYTES = 200  # of a key and its hashes in a dictionary, without their contents

Hashes = tuple[Tensor, Tensor]  # of all units, one after the other, (H,); and their number for each unit, (n,) int64


class UnitFrontEnd(FrontEnd):
    """Embeds each distinct block of a batch once, in two steps: its hashes, and what the weights make of them.

    On the CPU, hashes are kept from call to call. Results of weights are never kept, because weights may change in ways
    that nobody can see from here: by a fused optimizer, an adapter, a hook.
    """

    hash_dtype: type[np.generic] = np.float32
    # In an exported graph, blocks are cut after the longest unit, to no fewer elements than this. None: not cut, since
    # the operations of `embed_units` depend on the length.
    traced_length: int | None = 1

    def __init__(self, block_size: int, embedding_size: int) -> None:
        super().__init__(block_size, embedding_size)
        self._cache = UnitCache(self.hash_dtype)

    def embed_units(self, blocks: Tensor) -> Tensor:
        """Maps blocks, (…, k) int64 with k ≤ K and all zeros after the longest unit, to embeddings (…, D).

        No shape depends on the values of the blocks, as a compiled graph needs it.
        """
        raise NotImplementedError

    def hash_units(self, units: Tensor) -> Hashes:
        """Returns what the embeddings need of units, (n, k) int64, and weights do not change.

        By default these are the embeddings, of a front end without parameters.
        """
        embeddings = self.embed_units(units)
        return embeddings.flatten(), torch.full(units.shape[:1], self.embedding_size)

    def embed_hashes(self, hashes: Tensor, counts: Tensor, units: Tensor) -> Tensor:
        """Maps what `hash_units` gave, and units (n, K), to embeddings (n, D)."""
        return hashes.view(-1, self.embedding_size)

    def replace_special_tokens(self, blocks: Tensor) -> Tensor:
        """Returns what `embed_units` is called with. By default the blocks themselves."""
        return blocks

    def forward(self, blocks: Tensor) -> Tensor:
        if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
            return self.embed_units(self.replace_special_tokens(blocks))
        if blocks.device.type == "cpu":
            units, inverse = distinct_blocks(blocks)
            hashes = self._cache.look_up(units, self._hash_distinct)
        else:
            units, inverse = blocks.flatten(0, -2).unique(dim=0, return_inverse=True)
            hashes = self._hash_distinct(units)
        return self.embed_hashes(*hashes, units)[inverse.view(blocks.shape[:-1])]

    def _hash_distinct(self, units: Tensor) -> Hashes:
        """Returns the hashes of distinct blocks, (n, K) int64. Blocks are cut after the longest unit."""
        units = self.replace_special_tokens(units)
        longest = int((units.amax(dim=0) > 0).sum()) if len(units) else 1
        return self.hash_units(units[:, : max(longest, 1)])


class UnitCache:
    """Hashes of the units seen so far, on the CPU. It is never saved, and a copy or pickle of it is empty.

    After a call in which it has grown beyond its limit, the cache is emptied. The environment variable
    `VOCABLESS_CACHED_MIB` sets this limit, by default 64 MiB; with 0 nothing is kept between calls. Threads may share
    it: no call changes or removes an entry that another one reads. `dtype` is the type of the hashes.

    Raises:
        ValueError: `VOCABLESS_CACHED_MIB` is no number.
    """

    def __init__(self, dtype: type[np.generic]) -> None:
        text = os.environ.get("VOCABLESS_CACHED_MIB", "64")
        if not re.fullmatch(r"\d+(\.\d+)?", text):
            raise ValueError(f"VOCABLESS_CACHED_MIB is {text!r}; give a number of MiB from 0 up, or unset it for 64.")
        self.max_bytes, self.num_bytes = int(float(text) * 2**20), 0
        self._dtype = np.dtype(dtype)
        self._hashes: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitCache, (self._dtype.type,)

    def look_up(self, units: Tensor, hash_units: Callable[[Tensor], Hashes]) -> Hashes:
        """Returns what `hash_units` gives for these units, (n, K) int64 and all distinct; calls it for new ones."""
        keys = _keys(units)
        hashes = self._hashes  # emptying the cache replaces this dictionary and does not change it
        new = [index for index, key in enumerate(keys) if key not in hashes]
        if new:
            values, counts = hash_units(units[new])
            data, ends = values.numpy().tobytes(), (counts.cumsum(0) * self._dtype.itemsize).tolist()
            spans = zip(new, [0, *ends], ends, strict=False)
            hashes.update((keys[index], data[start:end]) for index, start, end in spans)
            self.num_bytes += len(data) + len(new) * (len(keys[0]) + ENTRY_BYTES)
        if self.num_bytes > self.max_bytes:
            self.num_bytes, self._hashes = 0, {}
        found = [hashes[key] for key in keys]
        joined = np.frombuffer(bytearray().join(found), self._dtype)
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        return torch.from_numpy(joined), torch.from_numpy(sizes // self._dtype.itemsize)


def distinct_blocks(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the distinct ones of blocks, (n, K), in the order in which they come first, and the place of each, (…).

    The same as `torch.unique(dim=0)` up to the order, and ten times as fast. `blocks` are (…, K) int64 on the CPU.
    """
    keys = _keys(blocks)
    places: dict[bytes, int] = {}
    indices = np.fromiter((places.setdefault(key, len(places)) for key in keys), np.int64, len(keys))
    elements = np.frombuffer(b"".join(places), np.int16).reshape(-1, blocks.shape[-1])
    return torch.from_numpy(elements.astype(np.int64)), torch.from_numpy(indices).unflatten(0, blocks.shape[:-1])


def _keys(blocks: Tensor) -> list[bytes]:
    """Returns the elements of each block, (…, K) int64 below 2¹⁵, as bytes."""
    elements = np.ascontiguousarray(blocks.numpy().astype(np.int16))
    return elements.view(f"V{2 * elements.shape[-1]}").ravel().tolist()
