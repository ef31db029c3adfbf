"""`BlockCache`: units → their blocks, with the blocks of units seen before kept in one table."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .splitters import Splitter, Unit

Table = NDArray[np.unsignedinteger[Any]]
ENTRY_BYTES = 160  # of a key and its value in a dictionary, beside the characters of the key
SLICE = 512  # pieces or units of a long text that are looked up at once
LONG = 128  # characters of a piece or unit that is split or encoded alone
MAX_CHARACTERS = SLICE * LONG  # of texts that are looked up at once

# One lock for all caches. A fork waits until no thread is changing a cache, so the child gets complete tables and a
# free lock. A thread holds the lock for at most MAX_CHARACTERS; what is longer is split and encoded before.
_LOCK = Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


class BlockCache:
    """Keeps what the coder wrote for each unit seen so far, as entries of one table; never saved or pickled.

    It also keeps the indices of the units of each piece of text between white space, so that a piece seen before costs
    one look-up in a dictionary. A cache that takes more than its limit after a call is emptied. The environment
    variable `VOCABLESS_CACHED_MIB` sets the limit, by default 64 MiB.

    Args:
        splitter: cuts texts into units and normalises them.
        encode: takes normalised units, returns their entries, (n, width): `coder.elements` or `coder.packed_blocks`.
        first_entries: (m, width), the entries at index 0…m−1 of the table; units come after them.
        first_units: units whose entry is one of the first.

    Raises:
        ValueError: `VOCABLESS_CACHED_MIB` is no number.
    """

    def __init__(
        self,
        splitter: Splitter,
        encode: Callable[[Sequence[Unit]], Table],
        first_entries: Table,
        first_units: Mapping[Unit, int] | None = None,
    ) -> None:
        self.splitter, self._encode = splitter, encode
        self._first_entries, self._first_units = first_entries, dict(first_units or {})
        self._max_bytes = _max_bytes()
        self._clear()

    def __len__(self) -> int:
        return len(self._entries.of_unit) - len(self._first_units)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.splitter, self._encode, self._first_entries, self._first_units

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    @property
    def num_bytes(self) -> int:
        """The memory that it takes, nearly."""
        return self._entries.num_bytes

    def look_up(self, texts: Sequence[str]) -> tuple[list[list[int]], Table]:
        """Returns the indices of each text's units in a table, and the table, (entries, width)."""
        entries = self._entries  # the same for the whole call: another thread may empty the cache meanwhile
        if not self.splitter.splits_at_spaces:
            indices = [entries.look_up_units(units) for units in self.splitter.units_of_batch(texts)]
        elif sum(map(len, texts)) <= MAX_CHARACTERS:
            find = entries.of_piece.__getitem__
            with _LOCK:
                indices = [list(chain.from_iterable(map(find, text.split()))) for text in texts]
                entries.encode_new()
        else:
            indices = [entries.look_up_pieces(text.split()) for text in texts]
        return indices, self._table_of(entries)

    def look_up_words(self, texts: Sequence[Sequence[str]]) -> tuple[list[list[int]], Table]:
        """Returns the same as `look_up`, for texts that are given as lists of words."""
        of_words, table = self.look_up([word for words in texts for word in words])
        next_words = iter(of_words)
        return [list(chain.from_iterable(islice(next_words, len(words)))) for words in texts], table

    def look_up_units(self, units: Sequence[Unit]) -> tuple[list[int], Table]:
        """Returns the indices of `units` in a table, and the table, (entries, width)."""
        entries = self._entries
        return entries.look_up_units(units), self._table_of(entries)

    def look_up_samples(
        self, texts: list[Any], pairs: list[Any] | None, is_split_into_words: bool
    ) -> tuple[list[tuple[Any, ...]], list[tuple[list[int], ...]], Table]:
        """Returns the one or two texts of each sample, the indices of their units, and the table."""
        sequences = texts if pairs is None else texts + pairs
        units, table = self.look_up_words(sequences) if is_split_into_words else self.look_up(sequences)
        if pairs is None:
            return list(zip(texts)), list(zip(units)), table
        return list(zip(texts, pairs, strict=True)), list(zip(units, units[len(texts) :], strict=False)), table

    def _table_of(self, entries: "_Entries") -> Table:
        """Returns the table. If the cache is too large now, empties it.

        Emptying makes new entries, so callers keep the complete old table.
        """
        table = entries.table
        if entries.num_bytes > self._max_bytes:
            self._clear()
        return table

    def _clear(self) -> None:
        self._entries = _Entries(self.splitter, self._encode, self._first_entries, self._first_units)


def _max_bytes() -> int:
    text = os.environ.get("VOCABLESS_CACHED_MIB", "64")
    try:
        mib = float(text)
    except ValueError:
        mib = math.nan
    if not 0 <= mib < math.inf:
        raise ValueError(f"VOCABLESS_CACHED_MIB is {text!r}; give a number of MiB from 0 up, or unset it for 64.")
    return int(mib * 2**20)


class _Entries:
    """A table, and the index of each unit and of each piece's units in it. Entries are only ever added.

    Every change that is interrupted, by Ctrl-C for instance, leaves at most an entry that is not used.
    """

    def __init__(
        self,
        splitter: Splitter,
        encode: Callable[[Sequence[Unit]], Table],
        first_entries: Table,
        first_units: Mapping[Unit, int],
    ) -> None:
        self._splitter, self._encode = splitter, encode
        self.table, self._num_first = first_entries, len(first_entries)
        self._num_encoded = self._unit_bytes = 0
        self.of_unit = _UnitIndex(first_units, self._num_first)
        self.of_piece = _PieceIndices(splitter, self.of_unit)

    @property
    def num_bytes(self) -> int:
        """The memory that the table and the dictionaries take, nearly."""
        num_keys = len(self.of_unit) + len(self.of_piece)
        return self.table.nbytes + self._unit_bytes + self.of_piece.num_bytes + ENTRY_BYTES * num_keys

    def look_up_pieces(self, pieces: Sequence[str]) -> list[int]:
        """Returns the indices of the units of pieces, end to end."""
        for piece in pieces:
            if len(piece) > LONG and piece not in self.of_piece:
                indices = self.look_up_units(self._splitter.units(piece))
                with _LOCK:
                    self.of_piece.add(piece, indices)
        found: list[int] = []
        for start in range(0, len(pieces), SLICE):
            with _LOCK:
                found += chain.from_iterable(map(self.of_piece.__getitem__, pieces[start : start + SLICE]))
                self.encode_new()
        return found

    def look_up_units(self, units: Sequence[Unit]) -> list[int]:
        """Returns the indices of units."""
        for unit in units:
            if len(unit) > LONG and unit not in self.of_unit:
                entry = self._encode([self._splitter.normalize(unit)])
                with _LOCK:
                    self.encode_new()
                    if unit not in self.of_unit:  # another thread may have added it
                        self.of_unit[unit]
                        self.encode_new(entry)
        found: list[int] = []
        for start in range(0, len(units), SLICE):
            with _LOCK:
                found += map(self.of_unit.__getitem__, units[start : start + SLICE])
                self.encode_new()
        return found

    def encode_new(self, blocks: Table | None = None) -> None:
        """Writes the entries of the units that are new. The caller holds the lock.

        Args:
            blocks: their entries if they are known, (n, width).
        """
        order = self.of_unit.order
        new = order[self._num_encoded :]
        if not new:
            return
        if blocks is None:
            blocks = self._encode(self._splitter.normalize_all(new))
        end = self._num_first + len(order)
        if len(self.table) < end:
            grown = np.empty((2 * end, blocks.shape[1]), dtype=blocks.dtype)
            grown[: len(self.table)] = self.table
            self.table = grown
        self.table[end - len(new) : end] = blocks
        self._unit_bytes += 4 * sum(map(len, new))
        self._num_encoded = len(order)


class _UnitIndex(dict[Unit, int]):
    """Unit → its index in the table. A unit not seen before gets the next index and goes to the end of `order`."""

    def __init__(self, first_units: Mapping[Unit, int], num_first: int) -> None:
        super().__init__(first_units)
        self.order: list[Unit] = []
        self._last = num_first - 1

    def __missing__(self, unit: Unit) -> int:
        order = self.order
        order.append(unit)
        index = self[unit] = self._last + len(order)
        return index


class _PieceIndices(dict[str, tuple[int, ...]]):
    """A piece of text without white space → the indices of its units."""

    def __init__(self, splitter: Splitter, of_unit: _UnitIndex) -> None:
        super().__init__()
        self.num_bytes = 0  # of the characters and the indices
        self._units, self._index = splitter.units, of_unit.__getitem__

    def __missing__(self, piece: str) -> tuple[int, ...]:
        return self.add(piece, map(self._index, self._units(piece)))

    def add(self, piece: str, indices: Iterable[int]) -> tuple[int, ...]:
        """Keeps the indices of a piece; returns them."""
        kept = self[piece] = tuple(indices)
        self.num_bytes += 4 * len(piece) + 8 * len(kept)
        return kept
