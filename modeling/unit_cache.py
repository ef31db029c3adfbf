"""`UnitCache`: remembers the hashes of units, which depend on the unit alone and on no weight."""
# mypy: allow-untyped-calls, no-warn-return-any

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

ENTRY_BYTES = 200  # of a key and its hashes in a dictionary, beside their contents

Hashes = tuple[Tensor, Tensor]


class UnitCache:
    """Hashes of the units seen so far, on the CPU. It is never saved, and a copy or pickle of it is empty.

    After a call in which it has grown beyond its limit, the cache is emptied. The environment variable
    `VOCABLESS_CACHED_MIB` sets this limit, by default 64 MiB; with 0 nothing is kept between calls. Threads may share
    it: no call changes or removes an entry that another one reads.

    Args:
        dtype: type of the hashes.

    Raises:
        ValueError: `VOCABLESS_CACHED_MIB` is no number.
    """

    def __init__(self, dtype: type[np.generic]) -> None:
        self._dtype = np.dtype(dtype)
        self.max_bytes = _max_bytes()
        self.num_bytes = 0
        self._hashes: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitCache, (self._dtype.type,)

    def look_up(self, units: Tensor, hash_units: Callable[[Tensor], Hashes]) -> Hashes:
        """Returns what `hash_units` gives for these units, and calls it for the new ones alone.

        Args:
            units: (n, K) int64 on the CPU, values 0–260, all distinct.
            hash_units: maps m units, (m, K), to their hashes one after the other in one dimension, of the cache's
                type, and to the number of hashes of each unit, (m,) int64.

        Returns:
            The hashes, and their number for each unit, (n,) int64.
        """
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
    """Returns the distinct ones of blocks, in the order in which they come first, and where each block stands there.

    The same as `torch.unique(dim=0)` up to the order, and ten times as fast.

    Args:
        blocks: (…, K) int64 on the CPU, values 0–260.

    Returns:
        (n, K) int64 and (…) int64.
    """
    keys = _keys(blocks)
    places: dict[bytes, int] = {}
    indices = np.fromiter((places.setdefault(key, len(places)) for key in keys), np.int64, len(keys))
    elements = np.frombuffer(b"".join(places), np.int16).reshape(-1, blocks.shape[-1])
    return torch.from_numpy(elements.astype(np.int64)), torch.from_numpy(indices).unflatten(0, blocks.shape[:-1])


def _keys(blocks: Tensor) -> list[bytes]:
    """Returns the elements of each block, (…, K) int64, as bytes."""
    elements = np.ascontiguousarray(blocks.numpy().astype(np.int16))
    return elements.view(f"V{2 * elements.shape[-1]}").ravel().tolist()


def _max_bytes() -> int:
    text = os.environ.get("VOCABLESS_CACHED_MIB", "64")
    try:
        mib = float(text)
    except ValueError:
        mib = math.nan
    if not 0 <= mib < math.inf:
        raise ValueError(f"VOCABLESS_CACHED_MIB is {text!r}; give a number of MiB from 0 up, or unset it for 64.")
    return int(mib * 2**20)
