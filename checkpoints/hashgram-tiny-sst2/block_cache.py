"""`BlockCache`: units → their blocks, with the blocks of all units seen so far kept in one table."""

import os
from collections.abc import Callable, Sequence
from itertools import chain, count, islice
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .splitters import Splitter, Unit

Table = NDArray[np.unsignedinteger[Any]]
MAX_CACHED_UNITS = int(os.environ.get("VOCABLESS_CACHED_UNITS", 1 << 18))

# One lock for all caches. A fork waits until no thread is changing a cache, so the child gets complete tables and a
# free lock.
_LOCK = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class BlockCache:
    """Keeps what the coder wrote for each unit seen so far, as entries of one table; never saved or pickled.

    Between calls it keeps at most `MAX_CACHED_UNITS` units. It also keeps as many pieces of text between white space,
    with the indices of their units, so that a piece seen before costs one look-up in a dictionary.

    Args:
        splitter: cuts texts into units and normalises them.
        encode: takes normalised units, returns their entries, (n, width): `coder.elements` or `coder.stored_blocks`.
        first_entries: (m, width), the entries at index 0…m−1 of the table; units come after them.
    """

    def __init__(self, splitter: Splitter, encode: Callable[[Sequence[Unit]], Table], first_entries: Table) -> None:
        self._splitter, self._encode, self._first_entries = splitter, encode, first_entries
        self._clear()

    def __len__(self) -> int:
        return len(self._index_of)

    def __getstate__(self) -> tuple[Any, ...]:
        return self._splitter, self._encode, self._first_entries

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def look_up(self, texts: Sequence[str]) -> tuple[list[list[int]], Table]:
        """Returns the indices of each text's units in a table, and the table, (entries, width)."""
        batch = None if self._splitter.splits_at_spaces else self._splitter.units_of_batch(texts)
        with _LOCK:
            try:
                if batch is None:
                    find = self._indices_of.__getitem__
                    indices = [list(chain.from_iterable(map(find, text.split()))) for text in texts]
                else:
                    indices = [list(map(self._index_of.__getitem__, units)) for units in batch]
                return indices, self._updated_table()
            except BaseException:  # Ctrl-C between two changes: a half-made entry would be wrong for ever
                self._clear()
                raise

    def look_up_words(self, texts: Sequence[Sequence[str]]) -> tuple[list[list[int]], Table]:
        """Returns the same as `look_up`, for texts that are given as lists of words."""
        of_words, table = self.look_up([word for words in texts for word in words])
        next_words = iter(of_words)
        return [list(chain.from_iterable(islice(next_words, len(words)))) for words in texts], table

    def look_up_units(self, units: Sequence[Unit]) -> tuple[list[int], Table]:
        """Returns the indices of `units` in a table, and the table, (entries, width)."""
        with _LOCK:
            try:
                return list(map(self._index_of.__getitem__, units)), self._updated_table()
            except BaseException:  # see `look_up`
                self._clear()
                raise

    def _clear(self) -> None:
        self._table, self._used = self._first_entries, len(self._first_entries)
        self._index_of = _UnitIndex(self._used)
        self._indices_of = _PieceIndices(self._splitter, self._index_of)

    def _updated_table(self) -> Table:
        """Encodes the new units; returns the table. If the cache is too large then, empties it.

        Emptying makes a new table, so callers keep the complete old one.
        """
        if self._index_of.new_units:
            self._encode_new_units()
        table = self._table
        if len(self._index_of) > MAX_CACHED_UNITS:
            self._clear()
        elif len(self._indices_of) > MAX_CACHED_UNITS:
            self._indices_of = _PieceIndices(self._splitter, self._index_of)
        return table

    def _encode_new_units(self) -> None:
        new = self._encode(self._splitter.normalize_all(self._index_of.new_units))
        end = self._used + len(new)
        if len(self._table) < end:
            grown = np.empty((2 * end, new.shape[1]), dtype=new.dtype)
            grown[: self._used] = self._table[: self._used]
            self._table = grown
        self._table[self._used : end] = new
        self._used = end
        self._index_of.new_units.clear()


class _UnitIndex(dict[Unit, int]):
    """Unit → its index in the cache's table. A unit not seen before gets the next index and goes to `new_units`."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.new_units: list[Unit] = []
        self._next_index, self._add_new = count(first).__next__, self.new_units.append

    def __missing__(self, unit: Unit) -> int:
        self._add_new(unit)
        index = self[unit] = self._next_index()
        return index


class _PieceIndices(dict[str, tuple[int, ...]]):
    """A piece of text without white space → the indices of its units."""

    def __init__(self, splitter: Splitter, index_of: _UnitIndex) -> None:
        super().__init__()
        self._units, self._index = splitter.units, index_of.__getitem__

    def __missing__(self, piece: str) -> tuple[int, ...]:
        indices = self[piece] = tuple(map(self._index, self._units(piece)))
        return indices
