"""Tokens, offsets and word ids of each row of a batch, computed when they are first read.

`BlockEncoding` has the attributes of `tokenizers.Encoding` that `BatchEncoding` uses for `word_ids()`,
`char_to_token(…)` and so on. A call that returns only ids does not compute them.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .batch_rows import Row
from .block_coders import CLS, PAD, SEP
from .padding import RowPadding
from .splitters import MASK_UNIT, Span, Splitter, Unit
from .truncation import Range

Slot = tuple[int, int]  # (sequence, unit); for special tokens and padding (−1, id)


class Source:
    """A text, or a list of words, and its units.

    Args:
        splitter: cuts the text into units.
        text: a string, or a list of words, each cut separately.
    """

    def __init__(self, splitter: Splitter, text: str | Sequence[str]) -> None:
        self._splitter = splitter
        self._text = text

    def token(self, index: int) -> str:
        """Returns a unit, normalised, as a string."""
        unit = self._splitter.normalize(self._units[index])
        return unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit

    def is_mask(self, index: int) -> bool:
        """Returns whether a unit is a mask token."""
        return self._units[index] is MASK_UNIT

    @cached_property
    def _units(self) -> Sequence[Unit]:
        if isinstance(self._text, str):
            return self._splitter.units(self._text)
        return [unit for word in self._text for unit in self._splitter.units(word)]

    @cached_property
    def spans(self) -> list[Span]:
        """(start, end) of each unit, in characters: in the text, or in the unit's word for a list of words."""
        if isinstance(self._text, str):
            return self._splitter.spans(self._text)
        return [span for word in self._text for span in self._splitter.spans(word)]

    @cached_property
    def word_ids(self) -> Sequence[int]:
        """The index of the word of each unit."""
        if isinstance(self._text, str):
            return self._splitter.word_ids(self._text)
        return [index for index, word in enumerate(self._text) for _ in self._splitter.units(word)]


class BlockEncoding:
    """One row of a batch: units of one or two sources, special tokens and padding.

    Args:
        sources: one source, or two for a pair.
        ranges: for each source, the units (start, stop) that this row holds.
        special_names: the names of the special tokens by id.
        padding: the number of padding positions on the left and on the right.
        adds_special_tokens: whether the row has [CLS] and [SEP].
    """

    def __init__(
        self,
        sources: Sequence[Source],
        ranges: Sequence[Range],
        special_names: Sequence[str],
        padding: tuple[int, int],
        adds_special_tokens: bool,
    ) -> None:
        self._sources = sources
        self._ranges = ranges
        self._names = special_names
        self._padding = padding
        self._special = adds_special_tokens
        self.n_sequences = len(sources)

    @cached_property
    def slots(self) -> list[Slot]:
        """The unit, special token or padding at each position."""
        left, right = self._padding
        slots: list[Slot] = [(-1, PAD)] * left + [(-1, CLS)] * self._special
        for sequence, (start, stop) in enumerate(self._ranges):
            slots += [(sequence, unit) for unit in range(start, stop)]
            slots += [(-1, SEP)] * self._special
        return slots + [(-1, PAD)] * right

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def tokens(self) -> list[str]:
        """The token at each position, as a string."""
        return [
            self._names[unit] if sequence < 0 else self._sources[sequence].token(unit) for sequence, unit in self.slots
        ]

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for each special token, a mask in a text too, and for padding, else 0."""
        return [int(sequence < 0 or self._sources[sequence].is_mask(unit)) for sequence, unit in self.slots]

    @property
    def sequence_ids(self) -> list[int | None]:
        """The sequence, 0 or 1, of each position; None for special tokens."""
        return [None if sequence < 0 else sequence for sequence, _ in self.slots]

    @property
    def word_ids(self) -> list[int | None]:
        """The index of the word of each position; None for special tokens."""
        return [None if sequence < 0 else self._sources[sequence].word_ids[unit] for sequence, unit in self.slots]

    words = word_ids

    @property
    def offsets(self) -> list[Span]:
        """The characters (start, end) of the text at each position; (0, 0) for special tokens."""
        return [(0, 0) if sequence < 0 else self._sources[sequence].spans[unit] for sequence, unit in self.slots]

    def token_to_sequence(self, token: int) -> int | None:
        """Returns the sequence of a position."""
        return self.sequence_ids[token]

    def token_to_word(self, token: int) -> int | None:
        """Returns the index of the word of a position."""
        return self.word_ids[token]

    def token_to_chars(self, token: int) -> Span | None:
        """Returns the characters (start, end) of a position."""
        return None if self.sequence_ids[token] is None else self.offsets[token]

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """Returns the first position whose characters include `char`."""
        for position, (start, end) in enumerate(self.offsets):
            if self.slots[position][0] == sequence and start <= char < end:
                return position
        return None

    def char_to_word(self, char: int, sequence: int = 0) -> int | None:
        """Returns the index of the word that includes `char`."""
        token = self.char_to_token(char, sequence)
        return None if token is None else self.word_ids[token]

    def word_to_tokens(self, word: int, sequence: int = 0) -> Span | None:
        """Returns the positions (first, last + 1) of a word."""
        positions = [i for i, w in enumerate(self.word_ids) if w == word and self.slots[i][0] == sequence]
        return (positions[0], positions[-1] + 1) if positions else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Span | None:
        """Returns the characters (start, end) of a word."""
        tokens = self.word_to_tokens(word, sequence)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])


class BlockEncodings(Sequence[BlockEncoding]):
    """The rows of a batch as `BlockEncoding`s, created when one of them is first read.

    Args:
        splitter: the splitter that cut the texts.
        samples: the one or two texts of each sample.
        rows: the sample of each row, and the ranges of its units.
        special_names: the names of the special tokens by id.
        padding: has the padding of each row.
        adds_special_tokens: whether rows have [CLS] and [SEP].
    """

    def __init__(
        self,
        splitter: Splitter,
        samples: Sequence[Sequence[Any]],
        rows: Sequence[Row],
        special_names: Sequence[str],
        padding: RowPadding,
        adds_special_tokens: bool,
    ) -> None:
        self._splitter = splitter
        self._samples = samples
        self._rows, self._padding = rows, padding
        self._names, self._special = special_names, adds_special_tokens

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._encodings[index]

    @cached_property
    def _encodings(self) -> list[BlockEncoding]:
        sources = [[Source(self._splitter, text) for text in texts] for texts in self._samples]
        return [
            BlockEncoding(sources[sample], ranges, self._names, padding, self._special)
            for (sample, ranges), padding in zip(self._rows, self._padding.counts, strict=True)
        ]
