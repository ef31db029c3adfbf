r"""Splitters: text → units, the pieces that become one block each.

One definition of a word serves every path. A word is a run of letters, digits and `_`; everything else that is no space
forms runs of its own; a mark or a joiner continues the run that it follows (Unicode UAX 29, rule WB4), so an accent, a
Devanagari vowel sign or the joiner inside an emoji never stands alone. Because of that last rule, canonical composition
never crosses a boundary: units are cut from the text as it is, offsets are exact, and `normalize` (NFC, lower case) is
applied to each unit on its own.

HashFormers 3.1 splits by `\w+|[^\w\s]+`; on text without marks the two agree.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import regex
from tokenizers import Tokenizer

Unit = str | bytes
Span = tuple[int, int]

# Zero-width space and byte-order mark separate words although Unicode does not call them white space; the four
# information separators are spaces to `str.isspace` but not to every engine, so they are named.
_SPACE = r"\s\x1c-\x1f\u200b\ufeff"
_WORD = r"\p{L}\p{N}\p{M}_"
_CONTINUES = r"\p{M}\u200c\u200d"
_RUNS = regex.compile(rf"[{_WORD}][{_WORD}{_CONTINUES}]*+|[^{_WORD}{_SPACE}](?:[^{_WORD}{_SPACE}]|[{_CONTINUES}])*+")
_ASCII_RUNS = re.compile(r"\w+|[^\w\s]+")  # the same runs where no character is beyond U+007F, twice as fast
_NOT_SPACE = regex.compile(rf"[^{_SPACE}]+")


def to_bytes(unit: Unit) -> bytes:
    """Returns the UTF-8 bytes of a unit; lone surrogates become three bytes each, so that any `str` has bytes."""
    return unit if isinstance(unit, bytes) else unit.encode("utf-8", "surrogatepass")


class Splitter:
    """Cuts a text into units. Subclasses give `spans`; `units` may be quicker than slicing by spans.

    Args:
        lowercase: whether `normalize` lower-cases.
    """

    separator: ClassVar[str] = " "  # what `decode` puts between units
    splits_at_spaces: ClassVar[bool] = False  # whether the units of a text are those of its pieces between white space

    def __init__(self, *, lowercase: bool = False) -> None:
        self.lowercase = lowercase

    def units(self, text: str) -> Sequence[Unit]:
        """Returns the units of `text` in order, as they stand in it."""
        return [text[start:end] for start, end in self.spans(text)]

    def units_of_batch(self, texts: Sequence[str]) -> list[Sequence[Unit]]:
        """Returns `units` of each text."""
        return [self.units(text) for text in texts]

    def spans(self, text: str) -> list[Span]:
        """Returns (start, end) of each unit of `text`, in characters."""
        raise NotImplementedError

    def normalize(self, unit: Unit) -> Unit:
        """Returns the form of a unit that is hashed: NFC, lower-cased if the splitter says so."""
        if unit.isascii() or isinstance(unit, bytes):
            return unit.lower() if self.lowercase else unit
        unit = unicodedata.normalize("NFC", unit)
        return unicodedata.normalize("NFC", unit.lower()) if self.lowercase else unit

    def normalize_all(self, units: Sequence[Unit]) -> list[Unit]:
        """Returns `normalize` of each unit."""
        lowers = self.lowercase
        return [(unit.lower() if lowers else unit) if unit.isascii() else self.normalize(unit) for unit in units]

    def word_ids(self, text: str) -> Sequence[int]:
        """Returns the number of the word that each unit belongs to; every unit is a word unless a subclass differs."""
        return range(len(self.units(text)))


class WordSplitter(Splitter):
    """Runs of word characters and runs of other non-space characters.

    >>> WordSplitter().units("It's 3.14, naïve_x!")
    ['It', "'", 's', '3', '.', '14', ',', 'naïve_x', '!']
    """

    splits_at_spaces = True

    def units(self, text: str) -> Sequence[Unit]:
        """See `Splitter.units`."""
        return (_ASCII_RUNS if text.isascii() else _RUNS).findall(text)

    def spans(self, text: str) -> list[Span]:
        """See `Splitter.spans`."""
        return [match.span() for match in (_ASCII_RUNS if text.isascii() else _RUNS).finditer(text)]


class WhitespaceSplitter(Splitter):
    """Runs of non-space characters.

    >>> WhitespaceSplitter(lowercase=True).spans("It's  here")
    [(0, 4), (6, 10)]
    """

    splits_at_spaces = True

    def units(self, text: str) -> Sequence[Unit]:
        """See `Splitter.units`."""
        return cast(list[Unit], _NOT_SPACE.findall(text))

    def spans(self, text: str) -> list[Span]:
        """See `Splitter.spans`."""
        return [match.span() for match in _NOT_SPACE.finditer(text)]


class CharacterSplitter(Splitter):
    """Windows of `window` characters inside each run of non-space characters, for scripts without spaces.

    >>> CharacterSplitter(window=2).units("自然言語 処理")
    ['自然', '言語', '処理']
    """

    separator = ""
    splits_at_spaces = True

    def __init__(self, *, window: int = 4, lowercase: bool = False) -> None:
        super().__init__(lowercase=lowercase)
        if window < 1:
            raise ValueError(f"the characters splitter got window={window}; give at least 1 character.")
        self.window = window

    def spans(self, text: str) -> list[Span]:
        """See `Splitter.spans`."""
        return [
            (start, min(start + self.window, run.end()))
            for run in _NOT_SPACE.finditer(text)
            for start in range(run.start(), run.end(), self.window)
        ]

    def word_ids(self, text: str) -> Sequence[int]:
        """See `Splitter.word_ids`."""
        runs = [run.end() - run.start() for run in _NOT_SPACE.finditer(text)]
        return [word for word, length in enumerate(runs) for _ in range(0, length, self.window)]


class ByteSplitter(Splitter):
    r"""Consecutive windows of `window` bytes of the text's UTF-8, spaces and all; a window may cut a character in two.

    Source: Elementwise 3.2, tokenisation by bytes. With the `utf8` coder `decode` gives the text back.

    >>> ByteSplitter(window=4).units("naïve")
    [b'na\xc3\xaf', b've']
    """

    separator = ""

    def __init__(self, *, window: int = 16) -> None:
        super().__init__()
        if window < 1:
            raise ValueError(f"the bytes splitter got window={window}; give at least 1 byte.")
        self.window = window

    def units(self, text: str) -> Sequence[Unit]:
        """See `Splitter.units`."""
        data = to_bytes(text)
        return [data[start : start + self.window] for start in range(0, len(data), self.window)]

    def spans(self, text: str) -> list[Span]:
        """See `Splitter.spans`."""
        # character_at[b]: the character that byte b belongs to.
        character_at = [index for index, character in enumerate(text) for _ in to_bytes(character)]
        starts = range(0, len(character_at), self.window)
        return [(character_at[s], character_at[min(s + self.window, len(character_at)) - 1] + 1) for s in starts]

    def normalize(self, unit: Unit) -> Unit:
        """See `Splitter.normalize`."""
        return unit


class SubwordSplitter(Splitter):
    """The tokens of a `tokenizers` WordPiece, BPE or Unigram tokenizer; a token's text is the unit.

    Args:
        tokenizer: its post-processor, padding and truncation are not used.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        # A token such as "[MASK]" in a text is text: special tokens are written by their ids alone.
        self.tokenizer.encode_special_tokens = True

    def units(self, text: str) -> Sequence[Unit]:
        """See `Splitter.units`."""
        return cast(list[Unit], self._encode(text).tokens)

    def units_of_batch(self, texts: Sequence[str]) -> list[Sequence[Unit]]:
        """See `Splitter.units_of_batch`."""
        encodings = self.tokenizer.encode_batch([_without_surrogates(text) for text in texts], add_special_tokens=False)
        return [encoding.tokens for encoding in encodings]

    def spans(self, text: str) -> list[Span]:
        """See `Splitter.spans`."""
        return [_without_spaces(text, *span) for span in self._encode(text).offsets]

    def word_ids(self, text: str) -> Sequence[int]:
        """See `Splitter.word_ids`."""
        return cast(list[int], self._encode(text).word_ids)

    def normalize(self, unit: Unit) -> Unit:
        """See `Splitter.normalize`."""
        return unit

    def _encode(self, text: str) -> Any:  # tokenizers.Encoding
        return self.tokenizer.encode(_without_surrogates(text), add_special_tokens=False)


def _without_spaces(text: str, start: int, end: int) -> Span:
    """Returns the span without the spaces around it, which some tokenizers count as the token's own."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, start + len(piece.strip())


def _without_surrogates(text: str) -> str:
    """Returns `text` with U+FFFD for each lone surrogate, which the Rust engine refuses; lengths stay."""
    return text if text.isascii() else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


SPLITTERS: dict[str, type[Splitter]] = {
    "word": WordSplitter,
    "whitespace": WhitespaceSplitter,
    "characters": CharacterSplitter,
    "bytes": ByteSplitter,
    "subword": SubwordSplitter,
}
