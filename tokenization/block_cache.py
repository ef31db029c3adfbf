"""`BlockCache`: text → blocks, with the blocks of all units seen so far kept in one table."""

import os
from collections.abc import Sequence
from itertools import chain
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .block_coders import NUM_SPECIAL, PAD, BlockCoder
from .splitters import Splitter, Unit

Token = Unit | int  # a unit, or the id of a special token
Table = NDArray[np.uint16]
MAX_CACHED_UNITS = int(os.environ.get("VOCABLESS_CACHED_UNITS", 1 << 18))

# One lock for all caches, so that a fork can wait until no thread is in the middle of a change: the child inherits
# whole tables and a free lock.
_LOCK = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class BlockCache:
    """Blocks of the units seen so far in one table; never saved or pickled.

    Between calls it knows at most `MAX_CACHED_UNITS` units, and as many pieces of text between white space, for which
    it keeps the rows of their units: a piece that was seen before costs one look into a dictionary.

    Args:
        splitter: cuts texts into units and normalises them.
        coder: writes their blocks.
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

    def look_up(self, texts: Sequence[str]) -> tuple[list[list[int]], Table]:
        """Returns, for each text, its units as rows of a table, and the table.

        The table has the elements of a unit's block in each row, (rows, K) uint16, values 0–260; its first rows are the
        special tokens, by their ids.
        """
        batch = None if self._splitter.splits_at_spaces else self._splitter.units_of_batch(texts)
        with _LOCK:
            if batch is None:
                find = self._pieces.__getitem__
                rows = [list(chain.from_iterable(map(find, text.split()))) for text in texts]
            else:
                rows = [list(map(self._rows.__getitem__, units)) for units in batch]
            return rows, self._table_of_all()

    def look_up_units(self, units: Sequence[Unit]) -> tuple[list[int], Table]:
        """Returns units as rows of a table, and the table, see `look_up`."""
        with _LOCK:
            return list(map(self._rows.__getitem__, units)), self._table_of_all()

    def block(self, unit: Unit) -> NDArray[np.uint16]:
        """Returns the elements of a unit's block, (K,) uint16."""
        (row,), table = self.look_up_units([unit])
        block: NDArray[np.uint16] = table[row]
        return block

    def _clear(self) -> None:
        self._rows = _Rows()
        self._pieces = _Pieces(self._splitter, self._rows)
        self._table = np.zeros((NUM_SPECIAL, self._coder.block_size), dtype=np.uint16)
        self._table[:, 0] = range(NUM_SPECIAL)

    def _table_of_all(self) -> Table:
        """Returns a table with a row for all units so far; one that is forgotten here lives on with who has it."""
        if self._rows.unseen:
            self._code_unseen()
        table = self._table
        if len(self._rows) > MAX_CACHED_UNITS + NUM_SPECIAL:
            self._clear()
        elif len(self._pieces) > MAX_CACHED_UNITS:
            self._pieces = _Pieces(self._splitter, self._rows)
        return table

    def _code_unseen(self) -> None:
        raw, lengths = self._coder.encode(self._splitter.normalize_all(self._rows.unseen))
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


class _Pieces(dict[str, tuple[int, ...]]):
    """A piece of text without white space → the rows of its units."""

    def __init__(self, splitter: Splitter, rows: _Rows) -> None:
        super().__init__()
        self._units, self._row = splitter.units, rows.__getitem__

    def __missing__(self, piece: str) -> tuple[int, ...]:
        rows = self[piece] = tuple(map(self._row, self._units(piece)))
        return rows
