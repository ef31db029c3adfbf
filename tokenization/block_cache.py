"""`BlockCache`: texts and units → their blocks; those of units seen before come from a dictionary."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .splitters import Splitter, Unit

Table = NDArray[np.unsignedinteger[Any]]
ENTRY_BYTES = 80  # of a key and its blocks in a dictionary, without their contents
CHUNK = 4096  # units that are encoded at once


class BlockCache:
    """The blocks of the units, and of the pieces of text between white space, that were seen before.

    It is never saved, and a copy is empty. After a call in which it has grown beyond its limit, the cache is emptied.
    The environment variable `VOCABLESS_CACHED_MIB` sets this limit, by default 64 MiB. Threads may share it: no call
    changes or removes an entry that another one reads.

    Args:
        splitter: cuts texts into units and normalises them.
        encode: takes normalised units, returns their blocks, (n, width): `coder.elements` or `coder.encode`.
        special: (m, width), the blocks of special tokens, of the same type.
        special_units: units whose block is one of these → its index there.

    Raises:
        ValueError: `VOCABLESS_CACHED_MIB` is no number.
    """

    def __init__(
        self,
        splitter: Splitter,
        encode: Callable[[Sequence[Unit]], Table],
        special: Table,
        special_units: dict[Unit, int] | None = None,
    ) -> None:
        self._arguments = splitter, encode, special, special_units
        self.splitter, self._encode, self._dtype = splitter, encode, special.dtype
        self.block_bytes = special.shape[1] * special.itemsize
        self.special = [block.tobytes() for block in special]
        self._special_units = {unit: self.special[index] for unit, index in (special_units or {}).items()}
        self._max_bytes = _max_bytes()
        self._clear()

    def __len__(self) -> int:
        return len(self._units) - len(self._special_units)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockCache, self._arguments

    def look_up(self, texts: Sequence[str]) -> list[bytes]:
        """Returns the blocks of each text's units, end to end; `as_array` reads them."""
        if not self.splitter.splits_at_spaces:
            return self._look_up_all(self.splitter.units_of_batch(texts))
        pieces = self._pieces  # a cache that is emptied gets other dictionaries
        try:
            return [b"".join(map(pieces.__getitem__, text.split())) for text in texts]
        except KeyError:
            new = [*{*chain.from_iterable(map(str.split, texts))}.difference(pieces)]
        blocks = self._look_up_all(list(map(self.splitter.units, new)))
        pieces.update(zip(new, blocks, strict=True))
        own = (len(block) for block in blocks if len(block) > self.block_bytes)  # a single block is that of its unit
        self.num_bytes += sum(own) + 2 * sum(map(len, new)) + ENTRY_BYTES * len(new)
        found = [b"".join(map(pieces.__getitem__, text.split())) for text in texts]
        self._limit()
        return found

    def look_up_words(self, texts: Sequence[Sequence[str]]) -> list[bytes]:
        """Returns the same as `look_up`, for texts that are given as lists of words."""
        return _join(self.look_up([*chain.from_iterable(texts)]), texts)

    def look_up_units(self, units: Sequence[Unit]) -> list[bytes]:
        """Returns the block of each unit."""
        known = self._units
        try:
            return list(map(known.__getitem__, units))
        except KeyError:
            new = [*dict.fromkeys(unit for unit in units if unit not in known)]
        for start in range(0, len(new), CHUNK):
            chunk = new[start : start + CHUNK]
            blocks = self._encode(self.splitter.normalize_all(chunk)).tobytes()
            size = self.block_bytes
            known.update((unit, blocks[place * size : (place + 1) * size]) for place, unit in enumerate(chunk))
        self.num_bytes += 2 * sum(map(len, new)) + (ENTRY_BYTES + self.block_bytes) * len(new)
        found = list(map(known.__getitem__, units))
        self._limit()
        return found

    def as_array(self, blocks: Iterable[bytes]) -> Table:
        """Returns blocks, in any number of parts, as an array (blocks, width)."""
        width = self.block_bytes // self._dtype.itemsize
        return np.frombuffer(bytearray().join(blocks), self._dtype).reshape(-1, width)

    def _look_up_all(self, units: Sequence[Sequence[Unit]]) -> list[bytes]:
        """Returns the blocks of each list of units, end to end."""
        return _join(self.look_up_units([*chain.from_iterable(units)]), units)

    def _limit(self) -> None:
        if self.num_bytes > self._max_bytes:
            self._clear()

    def _clear(self) -> None:
        self.num_bytes = 0
        self._units: dict[Unit, bytes] = dict(self._special_units)
        self._pieces: dict[str, bytes] = {}


def _join(blocks: list[bytes], groups: Sequence[Sequence[Any]]) -> list[bytes]:
    """Returns the blocks of each group end to end, from the blocks of all members."""
    rest = iter(blocks)
    return [b"".join(islice(rest, len(group))) for group in groups]


def _max_bytes() -> int:
    """Returns the limit of a cache. Raises ValueError if `VOCABLESS_CACHED_MIB` is no number."""
    text = os.environ.get("VOCABLESS_CACHED_MIB", "64")
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise ValueError(f"VOCABLESS_CACHED_MIB is {text!r}; give a number of MiB from 0 up, or unset it for 64.")
    return int(float(text) * 2**20)
