"""Texts → fragments, all at once: what a corpus is looked up by.

A fragment is a stretch of text that no unit crosses, so units are those of the fragments, one after the other. Most
fragments are one word, and each distinct one is looked up once.
"""
# mypy: allow-untyped-calls

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from vocabless.training.texts.sentences import ENDS_SENTENCE, ends_without_space, sentences

_SPACE, _WORD, _OTHER, _BEYOND = range(4)
_KINDS = bytes(
    [_SPACE if re.match(r"\s", chr(c)) else _WORD if re.match(r"\w", chr(c)) else _OTHER for c in range(128)]
    + [_BEYOND] * 128
)
_RUNS_TO_SPACE = bytes(min(kind, _WORD) for kind in _KINDS)  # where only spaces end a run
_SPACES = bytes(c for c, kind in enumerate(_KINDS) if kind == _SPACE)


class Fragments(NamedTuple):
    """The fragments of some texts.

    Attributes:
        known: the distinct ones.
        ascii: (known,) whether none of its characters is beyond ASCII.
        which: (n,) the place in `known` of each fragment.
        last: (n,) whether a fragment is the last of its sentence, a text's last one included.
    """

    known: list[str]
    ascii: NDArray[np.bool_]
    which: NDArray[np.int32]
    last: NDArray[np.bool_]


def fragments(texts: Sequence[str], runs: bool) -> Fragments:
    r"""Returns the fragments of texts.

    Args:
        texts: one or more.
        runs: whether a word and what stands beside it are fragments of their own, wherever neither they nor anything
            between the same two spaces is beyond ASCII; otherwise a fragment reaches from space to space.

    Raises:
        UnicodeEncodeError: a text holds half of a surrogate pair.

    Example:
        >>> found = fragments(["It's here. It is\nnaïve,"], runs=True)
        >>> [found.known[i] for i in found.which]
        ['It', "'", 's', 'here', '.', 'It', 'is', 'naïve,']
        >>> [found.known[i] for i in found.which[found.last]]
        ['.', 'is', 'naïve,']
    """
    parts = [part for text in texts for part in (sentences(text) if ends_without_space(text) else (text,))]
    data = ("\n" + "\n".join(parts) + "\n").encode()
    kinds = np.frombuffer(bytearray(data.translate(_KINDS if runs else _RUNS_TO_SPACE)), np.uint8)
    if runs:
        _keep_whole(kinds)
    before, after = kinds[:-1], kinds[1:]
    starts = np.flatnonzero((after != before) & (after != _SPACE)) + 1
    ends = np.flatnonzero((after != before) & (before != _SPACE)) + 1
    known, which = _distinct(data.translate(None, _SPACES), ends - starts)
    last = compute.match_substring_regex(known, ENDS_SENTENCE).to_numpy(zero_copy_only=False)[which]
    last &= kinds[ends] == _SPACE
    lines = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    last_of_line = np.searchsorted(ends, lines, side="right") - 1
    last[last_of_line[last_of_line >= 0]] = True
    plain = compute.string_is_ascii(known).to_numpy(zero_copy_only=False)
    return Fragments(known.to_pylist(), plain, which, last)


def _keep_whole(kinds: NDArray[np.uint8]) -> None:
    """Makes one run of all between two spaces, where anything there is beyond ASCII."""
    beyond = np.flatnonzero(kinds == _BEYOND)
    if len(beyond):
        spaces = np.flatnonzero(kinds == _SPACE)
        after = np.unique(np.searchsorted(spaces, beyond))
        starts, sizes = spaces[after - 1] + 1, spaces[after] - spaces[after - 1] - 1
        kinds[np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)] = _BEYOND


def _distinct(data: bytes, sizes: NDArray[Any]) -> tuple[pa.Array, NDArray[np.int32]]:
    """Returns the distinct ones of strings that lie end to end, and which of these each is."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    strings = pa.LargeStringArray.from_buffers(len(sizes), pa.py_buffer(offsets), pa.py_buffer(data))
    encoded = strings.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()
