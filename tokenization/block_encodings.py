"""Tokens, offsets and word ids of each row of a batch, computed when they are first read.

`BlockEncoding` has the attributes of `tokenizers.Encoding` that `BatchEncoding` uses for `word_ids()`,
`char_to_token(…)` and so on. A call that returns only ids does not compute them.
"""
# ruff: noqa: D102 (`tokenizers.Encoding` documents the methods)

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .batches import RowPadding
from .block_coders import CLS, PAD, SEP
from .splitters import Span, Splitter, Unit
from .truncation import Range, Row


class Source:
    """A text, or a list of words that are cut separately, and its units."""

    def __init__(self, splitter: Splitter, text: str | Sequence[str]) -> None:
        self._splitter = splitter
        self._is_split = not isinstance(text, str)
        self._words = [text] if isinstance(text, str) else text

    @cached_property
    def units(self) -> list[Unit]:
        return [unit for word in self._words for unit in self._splitter.units(word)]

    @cached_property
    def spans(self) -> list[Span]:
        """(start, end) of each unit, in characters: in the text, or in the unit's word for a list of words."""
        return [span for word in self._words for span in self._splitter.spans(word)]

    @cached_property
    def word_ids(self) -> Sequence[int]:
        """The index of the word of each unit."""
        if self._is_split:
            return [index for index, word in enumerate(self._words) for _ in self._splitter.units(word)]
        return self._splitter.word_ids(self._words[0])

    def token(self, index: int) -> str:
        """Returns a unit, normalised, as a string."""
        unit = self._splitter.normalize(self.units[index])
        return unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit


class BlockEncoding:
    """One row of a batch: units of one or two sources, special tokens and padding.

    The row holds the units (start, stop) of `ranges` of each source, between [CLS] and [SEP] if `adds_special_tokens`.
    `padding` is the number of padding positions on the left and on the right; `special_names` are by id.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        ranges: Sequence[Range],
        special_names: Sequence[str],
        padding: tuple[int, int],
        adds_special_tokens: bool,
    ) -> None:
        self._sources, self._names = sources, special_names
        # The token at each position: (sequence, index of its unit), or (None, id) for special tokens and padding.
        self._tokens: list[tuple[int | None, int]] = [(None, PAD)] * padding[0]
        self._tokens += [(None, CLS)] * adds_special_tokens
        for sequence, (start, stop) in enumerate(ranges):
            self._tokens += [(sequence, unit) for unit in range(start, stop)]
            self._tokens += [(None, SEP)] * adds_special_tokens
        self._tokens += [(None, PAD)] * padding[1]

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> list[str]:
        names, sources = self._names, self._sources
        return [names[unit] if sequence is None else sources[sequence].token(unit) for sequence, unit in self._tokens]

    @property
    def sequence_ids(self) -> list[int | None]:
        return [sequence for sequence, _ in self._tokens]

    @cached_property
    def word_ids(self) -> list[int | None]:
        sources = self._sources
        return [None if sequence is None else sources[sequence].word_ids[unit] for sequence, unit in self._tokens]

    @cached_property
    def offsets(self) -> list[Span]:
        sources = self._sources
        return [(0, 0) if sequence is None else sources[sequence].spans[unit] for sequence, unit in self._tokens]

    def token_to_sequence(self, token: int) -> int | None:
        return self._tokens[token][0]

    def token_to_word(self, token: int) -> int | None:
        return self.word_ids[token]

    def token_to_chars(self, token: int) -> Span | None:
        return None if self._tokens[token][0] is None else self.offsets[token]

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        for token, (start, end) in enumerate(self.offsets):
            if self._tokens[token][0] == sequence and start <= char < end:
                return token
        return None

    def char_to_word(self, char: int, sequence: int = 0) -> int | None:
        token = self.char_to_token(char, sequence)
        return None if token is None else self.word_ids[token]

    def word_to_tokens(self, word: int, sequence: int = 0) -> Span | None:
        """Returns the positions (first, last + 1) of a word."""
        tokens = [i for i, each in enumerate(self.word_ids) if each == word and self._tokens[i][0] == sequence]
        return (tokens[0], tokens[-1] + 1) if tokens else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Span | None:
        tokens = self.word_to_tokens(word, sequence)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])


class BlockEncodings(Sequence[BlockEncoding]):
    """The rows of a batch as `BlockEncoding`s, created when one of them is first read.

    `splitter` has cut the texts, and their second texts if `sequences` holds two lists. The other arguments are those
    of `BlockEncoding`, for all rows.
    """

    def __init__(
        self,
        splitter: Splitter,
        sequences: Sequence[Sequence[Any]],
        rows: Sequence[Row],
        padding: RowPadding,
        special_names: Sequence[str],
        adds_special_tokens: bool,
    ) -> None:
        self._splitter, self._sequences, self._rows, self._padding = splitter, sequences, rows, padding
        self._names, self._special = special_names, adds_special_tokens

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._encodings[index]

    @cached_property
    def _encodings(self) -> list[BlockEncoding]:
        sources = [[Source(self._splitter, text) for text in sample] for sample in zip(*self._sequences, strict=True)]
        return [
            BlockEncoding(sources[sample], ranges, self._names, padding, self._special)
            for (sample, ranges), padding in zip(self._rows, self._padding.counts, strict=True)
        ]
