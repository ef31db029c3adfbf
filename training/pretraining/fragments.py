r"""Texts → fragments: pieces of text that contain whole units, found for many texts at once.

Looking up each word of a corpus in a dictionary is slow in Python. Here the texts become one array of bytes, and numpy
and Arrow find the places where fragments start and end. Only each *distinct* fragment, mostly one word, is then looked
up. No unit crosses a fragment's border, so the units of a text are those of its fragments, in order.

    "It's here."  →  bytes     I t ' s   h e r e .
                     classes   W W O W S W W W W O      (W word, O other, S space)
                     runs      It ' s here .            (a run ends where the class changes)
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

SPACE, WORD, OTHER, NON_ASCII = range(4)
# The class of each byte value. A word is ASCII's \w; bytes from 128 are parts of longer characters.
BYTE_CLASSES = bytes(
    [SPACE if re.match(r"\s", chr(c)) else WORD if re.match(r"\w", chr(c)) else OTHER for c in range(128)]
    + [NON_ASCII] * 128
)
# The same if only spaces end a run: all other bytes are of one class.
SPACE_CLASSES = bytes(min(byte_class, WORD) for byte_class in BYTE_CLASSES)
SPACES = bytes(c for c, byte_class in enumerate(BYTE_CLASSES) if byte_class == SPACE)


class Fragments(NamedTuple):
    """The fragments of some texts."""

    distinct: list[str]  # each different fragment once
    is_ascii: NDArray[np.bool_]  # (distinct,)
    indices: NDArray[np.int32]  # (n,) for each fragment of the texts, its index in `distinct`


def find_fragments(texts: Sequence[str], splits_words: bool) -> Fragments:
    r"""Returns the fragments of texts.

    Args:
        texts: one or more.
        splits_words: True ends a fragment where words and punctuation meet, but only between two spaces with nothing
            but ASCII between them. False ends fragments at spaces alone.

    Raises:
        UnicodeEncodeError: a text holds a lone surrogate.

    Example:
        >>> fragments = find_fragments(["It's here. It is\nnaïve,"], splits_words=True)
        >>> [fragments.distinct[i] for i in fragments.indices]
        ['It', "'", 's', 'here', '.', 'It', 'is', 'naïve,']
    """
    data = ("\n" + "\n".join(texts) + "\n").encode()
    classes = np.frombuffer(bytearray(data.translate(BYTE_CLASSES if splits_words else SPACE_CLASSES)), np.uint8)
    if splits_words:
        _merge_around_non_ascii(classes)
    starts, ends = _find_runs(classes)
    distinct, indices = _distinct_strings(data.translate(None, SPACES), ends - starts)
    is_ascii = compute.string_is_ascii(distinct).to_numpy(zero_copy_only=False)
    return Fragments(distinct.to_pylist(), is_ascii, indices)


def join_ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[Any]:
    """Returns the integers of several ranges, one range after the other.

    Example:
        >>> join_ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    total = ends[-1] if len(ends) else 0
    offsets = starts - (ends - lengths)  # what to add to 0…total−1 inside each range
    integers: NDArray[Any] = np.arange(total) + np.repeat(offsets, lengths)
    return integers


def _find_runs(classes: NDArray[np.uint8]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns where runs of one class start and end, without runs of spaces. The first and last byte are spaces."""
    before, after = classes[:-1], classes[1:]
    changes = before != after
    starts = np.flatnonzero(changes & (after != SPACE)) + 1
    ends = np.flatnonzero(changes & (before != SPACE)) + 1
    return starts, ends


def _merge_around_non_ascii(classes: NDArray[np.uint8]) -> None:
    """Gives all bytes between two spaces one class if any of them is not ASCII. Changes `classes`."""
    non_ascii = np.flatnonzero(classes == NON_ASCII)
    if not len(non_ascii):
        return
    spaces = np.flatnonzero(classes == SPACE)
    next_spaces = np.unique(np.searchsorted(spaces, non_ascii))
    starts = spaces[next_spaces - 1] + 1
    classes[join_ranges(starts, spaces[next_spaces] - starts)] = NON_ASCII


def _distinct_strings(data: bytes, lengths: NDArray[Any]) -> tuple[pa.Array, NDArray[np.int32]]:
    """Returns the distinct strings among strings that stand end to end in `data`, and the index of each."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    strings = pa.LargeStringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(data))
    encoded = strings.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()
