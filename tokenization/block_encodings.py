"""What a `BatchEncoding` asks of each row beyond its arrays: tokens, offsets, words. Computed when asked for.

`BlockEncoding` answers to the names of `tokenizers.Encoding`, so `batch.word_ids()`, `batch.char_to_token(…)` and the
like work; because nothing is computed before that, a call that wants only ids does not pay for them.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .batch_rows import Row
from .block_coders import CLS, PAD, SEP
from .padding import Layout
from .splitters import Span, Splitter, Unit
from .truncation import Range

Slot = tuple[int, int]  # (sequence, unit); sequence −1 is a special token, unit then its id


class Source:
    """A text, or a list of words, cut into units.

    Args:
        splitter: cuts the text.
        text: a string, or words, each cut on its own.
    """

    def __init__(self, splitter: Splitter, text: str | Sequence[str]) -> None:
        self._splitter = splitter
        self._text = text

    def token(self, index: int) -> str:
        """Returns a unit's printed form, as it is hashed."""
        unit = self._splitter.normalize(self._units[index])
        return unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit

    @cached_property
    def _units(self) -> Sequence[Unit]:
        if isinstance(self._text, str):
            return self._splitter.units(self._text)
        return [unit for word in self._text for unit in self._splitter.units(word)]

    @cached_property
    def spans(self) -> list[Span]:
        """(start, end) of each unit in the text, in characters; in its word, where words were given."""
        if isinstance(self._text, str):
            return self._splitter.spans(self._text)
        return [span for word in self._text for span in self._splitter.spans(word)]

    @cached_property
    def word_ids(self) -> Sequence[int]:
        """The word that each unit belongs to."""
        if isinstance(self._text, str):
            return self._splitter.word_ids(self._text)
        return [index for index, word in enumerate(self._text) for _ in self._splitter.units(word)]


class BlockEncoding:
    """One row: the units kept of one or two sources, special tokens around them, padding.

    Args:
        sources: one or two.
        ranges: of each source, the units (start, stop) that stand in this row.
        special_names: the names of the special tokens by id.
        padding: positions of padding on the left and on the right.
        adds_special_tokens: whether [CLS] and [SEP] stand around the units.
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
        """What stands at each position."""
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
        """The printed form of each position."""
        return [
            self._names[unit] if sequence < 0 else self._sources[sequence].token(unit) for sequence, unit in self.slots
        ]

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 where a special token or padding stands."""
        return [int(sequence < 0) for sequence, _ in self.slots]

    @property
    def sequence_ids(self) -> list[int | None]:
        """Which sequence each position belongs to; None for special tokens."""
        return [None if sequence < 0 else sequence for sequence, _ in self.slots]

    @property
    def word_ids(self) -> list[int | None]:
        """Which word each position belongs to; None for special tokens."""
        return [None if sequence < 0 else self._sources[sequence].word_ids[unit] for sequence, unit in self.slots]

    words = word_ids

    @property
    def offsets(self) -> list[Span]:
        """The characters (start, end) of each position; (0, 0) for special tokens."""
        return [(0, 0) if sequence < 0 else self._sources[sequence].spans[unit] for sequence, unit in self.slots]

    def token_to_sequence(self, token: int) -> int | None:
        """The sequence of a position."""
        return self.sequence_ids[token]

    def token_to_word(self, token: int) -> int | None:
        """The word of a position."""
        return self.word_ids[token]

    def token_to_chars(self, token: int) -> Span | None:
        """The characters of a position."""
        return None if self.sequence_ids[token] is None else self.offsets[token]

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """The first position whose characters hold `char`."""
        for position, (start, end) in enumerate(self.offsets):
            if self.slots[position][0] == sequence and start <= char < end:
                return position
        return None

    def char_to_word(self, char: int, sequence: int = 0) -> int | None:
        """The word that holds `char`."""
        token = self.char_to_token(char, sequence)
        return None if token is None else self.word_ids[token]

    def word_to_tokens(self, word: int, sequence: int = 0) -> Span | None:
        """The positions (first, last + 1) of a word."""
        found = [i for i, w in enumerate(self.word_ids) if w == word and self.slots[i][0] == sequence]
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Span | None:
        """The characters (start, end) of a word."""
        tokens = self.word_to_tokens(word, sequence)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])


class BlockEncodings(Sequence[BlockEncoding]):
    """The rows of a batch, made when the first of them is asked for.

    Args:
        splitter: cut the texts.
        samples: the texts of each sample, one or two.
        rows: the sample of each row, and the ranges of its units.
        special_names: the names of the special tokens by id.
        layout: knows the padding of each row.
        adds_special_tokens: whether [CLS] and [SEP] stand around the units.
    """

    def __init__(
        self,
        splitter: Splitter,
        samples: Sequence[Sequence[Any]],
        rows: Sequence[Row],
        special_names: Sequence[str],
        layout: Layout,
        adds_special_tokens: bool,
    ) -> None:
        self._splitter = splitter
        self._samples = samples
        self._rows, self._layout = rows, layout
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
            for (sample, ranges), padding in zip(self._rows, self._layout.padding, strict=True)
        ]
