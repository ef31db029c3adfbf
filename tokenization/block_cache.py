"""`BlockCache`: token → block, with the blocks of all units seen so far kept in one table."""

import os
from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .block_coders import NUM_SPECIAL, PAD, BlockCoder
from .splitters import Splitter, Unit

Token = Unit | int  # a unit, or the id of a special token
MAX_CACHED_UNITS = int(os.environ.get("VOCABLESS_CACHED_UNITS", 1 << 18))

# One lock for all caches, so that a fork can wait until no thread is in the middle of a change: the child inherits
# whole tables and a free lock.
_LOCK = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class BlockCache:
    """Blocks of the units seen so far, at most `MAX_CACHED_UNITS` between calls; never saved or pickled.

    Args:
        splitter: normalises a unit.
        coder: writes its block.
    """

    def __init__(self, splitter: Splitter, coder: BlockCoder) -> None:
        self._splitter, self._coder = splitter, coder
        self._clear()

    def __len__(self) -> int:
        return len(self._rows) - NUM_SPECIAL

    def __getstate__(self) -> tuple[Splitter, BlockCoder]:
        return self._splitter, self._coder

    def __setstate__(self, state: tuple[Splitter, BlockCoder]) -> None:
        self._splitter, self._coder = state
        self._clear()

    def blocks(self, tokens: Sequence[Token]) -> NDArray[np.uint16]:
        """Returns the elements of each token's block, (n, K) uint16, values 0–260."""
        with _LOCK:
            rows = np.fromiter(map(self._rows.__getitem__, tokens), dtype=np.intp, count=len(tokens))
            if self._rows.unseen:
                self._code_unseen()
            blocks = self._table.take(rows, axis=0)
            if len(self) > MAX_CACHED_UNITS:
                self._clear()
        return blocks

    def _clear(self) -> None:
        self._rows = _Rows()
        self._table = np.zeros((NUM_SPECIAL, self._coder.block_size), dtype=np.uint16)
        self._table[:, 0] = range(NUM_SPECIAL)

    def _code_unseen(self) -> None:
        raw, lengths = self._coder.encode([self._splitter.normalize(unit) for unit in self._rows.unseen])
        new = raw.astype(np.uint16) + NUM_SPECIAL
        if self._coder.pads:
            new[np.arange(new.shape[1]) >= lengths[:, None]] = PAD
        used = len(self._rows) - len(new)
        if len(self._table) < len(self._rows):
            grown = np.empty((2 * len(self._rows), new.shape[1]), dtype=np.uint16)
            grown[:used] = self._table[:used]
            self._table = grown
        self._table[used : used + len(new)] = new
        self._rows.unseen.clear()


class _Rows(dict[Token, int]):
    """Token → row of the cache's table, special tokens first. A new unit gets the next row and waits in `unseen`."""

    def __init__(self) -> None:
        super().__init__((special, special) for special in range(NUM_SPECIAL))
        self.unseen: list[Unit] = []

    def __missing__(self, unit: Unit) -> int:
        self.unseen.append(unit)
        row = self[unit] = len(self)
        return row
