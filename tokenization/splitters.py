r"""Splitters: text → units; each unit becomes one block.

A word is a run of letters, digits and `_`, or a run of other characters except spaces. A mark or a joiner continues the
run before it (Unicode UAX 29, rule WB4), so an accent, a Devanagari vowel sign or the joiner inside an emoji is never a
unit of its own. By this rule, canonical composition never joins characters of two units. So units are cut from the
unchanged text, offsets are exact, and `normalize` (NFC, lower case) is applied to each unit separately.

Of Unicode, the digits are a table of ours, cases and normal forms those of Python, and classes of letters those of
`regex`: all agree for the characters of Unicode 13, which Python 3.10 has, and a unit with a newer character may have
another block in another version of Python, `regex` or a browser, until all of them know the character.

HashFormers 3.1 splits by `\w+|[^\w\s]+`; on text without marks the result is the same.
"""
# ruff: noqa: D102 (the base class documents the methods)

import re
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import regex

from .forms import normal_form
from .options import check_integer
from .scripts import CONTINUES, HAS_NO_WORDS, MAY_LACK_SPACES, SPACE, WORD, ZEROS, script_runs
from .second_forms import FORMS, check_forms

Unit = str | bytes
Span = tuple[int, int]

_ASCII_RUNS = re.compile(r"\w+|[^\w\s]+")  # the same runs in ASCII texts, twice as fast
_NOT_SPACE = regex.compile(rf"[^{SPACE}]+")
_DIGITS = str.maketrans({chr(zero + value): str(value) for zero in ZEROS for value in range(10)})


def to_bytes(unit: Unit) -> bytes:
    """Returns the UTF-8 bytes of a unit; a lone surrogate becomes three bytes, so every `str` can be encoded."""
    return unit if isinstance(unit, bytes) else unit.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    """Returns the inverse of `to_bytes`; if a character is incomplete, each invalid part becomes U+FFFD."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # a unit or window was cut inside a character
        return data.decode("utf-8", "replace")


def _runs(invisible: str = "") -> Any:
    """Returns the pattern of words and other runs; `invisible` characters continue a unit, and begin none."""
    return regex.compile(
        rf"[{WORD}][{WORD}{CONTINUES}{invisible}]*+|[^{WORD}{SPACE}{invisible}](?:[^{WORD}{SPACE}]|[{CONTINUES}])*+"
    )


MASK_UNIT = b"\xff"  # the unit of a mask token; no UTF-8 text holds this byte
BYTE_NAMES = [f"<0x{byte:02X}>" for byte in range(256)]


class Splitter:
    """Cuts a text into units. Subclasses define `spans`, and may define a faster `units`.

    Attributes:
        lowercase: whether `normalize` lower-cases.
        separator: what `decode` puts between units.
        splits_at_spaces: whether a text has the same units as its pieces between white space have together.
    """

    separator: ClassVar[str] = " "
    splits_at_spaces: ClassVar[bool] = False

    def __init__(self, *, lowercase: bool = False) -> None:
        self.lowercase = lowercase

    def units(self, text: str) -> Sequence[Unit]:
        """Returns the units of `text` in order, not normalised."""
        return [text[start:end] for start, end in self.spans(text)]

    def units_of_batch(self, texts: Sequence[str]) -> list[Sequence[Unit]]:
        """Returns the units of each text."""
        return [self.units(text) for text in texts]

    def spans(self, text: str) -> list[Span]:
        """Returns (start, end) of each unit of `text`, in characters."""
        raise NotImplementedError

    def normalize(self, unit: Unit) -> Unit:
        """Returns the form of a unit that the coder encodes: NFC, and lower case if the splitter lower-cases."""
        if unit.isascii() or isinstance(unit, bytes):
            return unit.lower() if self.lowercase else unit
        unit = normal_form(unit)
        return normal_form(unit.lower()) if self.lowercase else unit

    def normalize_all(self, units: Sequence[Unit]) -> list[Unit]:
        """Returns each unit normalised."""
        lowers = self.lowercase
        return [(unit.lower() if lowers else unit) if unit.isascii() else self.normalize(unit) for unit in units]

    def word_ids(self, text: str) -> Sequence[int]:
        """Returns the index of the word of each unit; here every unit is a word."""
        return range(len(self.units(text)))


class _RunSplitter(Splitter):
    """Base class of the splitters whose units are the matches of a pattern; ASCII texts may have a faster one."""

    splits_at_spaces = True
    _pattern: Any = _NOT_SPACE
    _ascii_pattern: ClassVar[Any] = _NOT_SPACE

    def units(self, text: str) -> Sequence[Unit]:
        units: list[Unit] = (self._ascii_pattern if text.isascii() else self._pattern).findall(text)
        return units

    def spans(self, text: str) -> list[Span]:
        pattern = self._ascii_pattern if text.isascii() else self._pattern
        return [match.span() for match in pattern.finditer(text)]


class WordSplitter(_RunSplitter):
    """Runs of word characters and runs of other non-space characters.

    Args:
        lowercase: whether `normalize` lower-cases.
        fold_forms: the edition of the tables by which forms of one word are the same, 2 or 1 (True), see `forms`;
            0 (False) is none. With one, `units` gives folded text, and `normalize` is NFKC without what `fold_unit`
            leaves out. It is NFC in the papers and without this option.

    Raises:
        ValueError: an unknown edition.

    >>> WordSplitter().units("It's 3.14, naïve_x!")
    ['It', "'", 's', '3', '.', '14', ',', 'naïve_x', '!']
    >>> splitter = WordSplitter(fold_forms=2)
    >>> splitter.normalize_all(splitter.units("ﬁles, docu\u00adments, read_me"))
    ['files', ',', 'documents', ',', 'read', 'me']
    """

    _pattern, _ascii_pattern = _runs(), _ASCII_RUNS

    def __init__(self, *, lowercase: bool = False, fold_forms: int = 0) -> None:
        super().__init__(lowercase=lowercase)
        self.fold_forms, self._forms = fold_forms, check_forms(fold_forms)
        if self._forms:
            self._pattern = _FOLDED_RUNS[int(fold_forms)]

    def units(self, text: str) -> Sequence[Unit]:
        return super().units(self._folded(text))

    def spans(self, text: str) -> list[Span]:
        return super().spans(self._folded(text))

    def normalize(self, unit: Unit) -> Unit:
        if not self._forms or unit.isascii() or isinstance(unit, bytes):
            return super().normalize(unit)
        text = self._forms.fold_unit(normal_form(unit, "NFKD"))
        return normal_form(text.lower() if self.lowercase else text)

    def _folded(self, text: str) -> str:
        return self._forms.fold_text(text) if self._forms else text


_FOLDED_RUNS = {edition: _runs(forms.invisible) for edition, forms in FORMS.items()}


class WhitespaceSplitter(_RunSplitter):
    """Runs of non-space characters.

    >>> WhitespaceSplitter(lowercase=True).spans("It's  here")
    [(0, 4), (6, 10)]
    """


class ScriptSplitter(WordSplitter):
    """Words, and in scripts that are written without spaces what stands for a word.

    There a unit is an ideograph, a run of hiragana, of katakana or of Bopomofo, or up to `window` letters of Thai, Lao,
    Khmer, Myanmar and their relatives; a vowel that is written before its consonant begins a new unit. Letters keep
    their marks. `normalize` is NFKD instead of NFC: full-width, half-width and presentation forms are the same, and
    n-grams see the letters of a Hangul syllable. The decimal digits of all scripts become 0–9.

    >>> ScriptSplitter().units("Pythonで書く。 ไม่สามารถเปลี่ยนแปลง")
    ['Python', 'で', '書', 'く', '。', 'ไม่สามารถ', 'เปลี่ยน', 'แปลง']
    """

    def __init__(self, *, window: int = 8, lowercase: bool = False, fold_forms: int = 0) -> None:
        super().__init__(lowercase=lowercase, fold_forms=fold_forms)
        self.window = check_integer("window", window)
        self._script_runs = script_runs(self.window, self._forms.invisible if self._forms else "")

    def units(self, text: str) -> Sequence[Unit]:
        if text.isascii() or not MAY_LACK_SPACES.search(text):
            return super().units(text)
        return cast(list[Unit], self._script_runs.findall(self._folded(text)))

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in self._script_runs.finditer(self._folded(text))]

    def word_ids(self, text: str) -> Sequence[int]:
        ids: list[int] = []  # the windows of a run of Thai letters are one word
        run_end = -1  # where the last unit ended, if it is such a window
        for start, end in self.spans(text):
            is_window = HAS_NO_WORDS.match(text, start) is not None
            goes_on = is_window and start == run_end
            ids.append((ids[-1] if ids else -1) + (not goes_on))
            run_end = end if is_window else -1
        return ids

    def normalize(self, unit: Unit) -> Unit:
        if unit.isascii() or isinstance(unit, bytes):
            return super().normalize(unit)
        text = normal_form(unit, "NFKD").translate(_DIGITS)
        text = self._forms.fold_unit(text) if self._forms else text
        if not self.lowercase:  # the first edition leaves the order of marks as it is
            return normal_form(text, "NFKD") if self.fold_forms > 1 else text
        return normal_form(text.lower(), "NFKD")


class ByteSplitter(Splitter):
    r"""Consecutive windows of `window` bytes of the text's UTF-8, spaces included; a window may end inside a character.

    Source: Elementwise 3.2, tokenisation by bytes. With the `utf8` coder, `decode` returns the text.

    >>> ByteSplitter(window=4).units("naïve")
    [b'na\xc3\xaf', b've']
    """

    separator = ""

    def __init__(self, *, window: int = 16) -> None:
        super().__init__()
        self.window = check_integer("window", window)

    def units(self, text: str) -> Sequence[Unit]:
        data = to_bytes(text)
        return [data[start : start + self.window] for start in range(0, len(data), self.window)]

    def spans(self, text: str) -> list[Span]:
        # character_at[b]: the index of the character that contains byte b.
        character_at = [index for index, character in enumerate(text) for _ in to_bytes(character)]
        starts = range(0, len(character_at), self.window)
        return [(character_at[s], character_at[min(s + self.window, len(character_at)) - 1] + 1) for s in starts]

    def normalize(self, unit: Unit) -> Unit:
        return unit


class SubwordSplitter(Splitter):
    """The tokens of a WordPiece, BPE or Unigram `tokenizers.Tokenizer`; a token's text is the unit.

    The text has the mark of its place, such as "##" of WordPiece and "Ġ" of BPE. Coders and front ends hash it, too.
    The tokenizer's post-processor, padding and truncation are not used.
    """

    def __init__(self, tokenizer: Any) -> None:  # tokenizers.Tokenizer
        super().__init__()
        self.tokenizer = tokenizer
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        # The names of its own special tokens are ordinary text. `MaskSplitter` takes out the masks before.
        self.tokenizer.encode_special_tokens = True

    def units(self, text: str) -> Sequence[Unit]:
        return cast(list[Unit], self._encode(text).tokens)

    def units_of_batch(self, texts: Sequence[str]) -> list[Sequence[Unit]]:
        encodings = self.tokenizer.encode_batch([without_surrogates(text) for text in texts], add_special_tokens=False)
        return [encoding.tokens for encoding in encodings]

    def spans(self, text: str) -> list[Span]:
        spans = []
        for start, end in self._encode(text).offsets:  # some tokenizers count the spaces around a token as part of it
            piece = text[start:end]
            start += len(piece) - len(piece.lstrip())
            spans.append((start, start + len(piece.strip())))
        return spans

    def word_ids(self, text: str) -> Sequence[int]:
        return cast(list[int], self._encode(text).word_ids)

    def normalize(self, unit: Unit) -> Unit:
        return unit

    def _encode(self, text: str) -> Any:  # tokenizers.Encoding
        return self.tokenizer.encode(without_surrogates(text), add_special_tokens=False)


class MaskSplitter(Splitter):
    """Makes each mask token in a text, such as "[MASK]", a unit, `MASK_UNIT`; `splitter` cuts the texts around it."""

    def __init__(self, splitter: Splitter, mask: str) -> None:
        super().__init__(lowercase=splitter.lowercase)
        self._splitter, self.mask = splitter, mask
        # Pieces between white space must not cut the name.
        self.splits_at_spaces = splitter.splits_at_spaces and mask.split() == [mask]  # type: ignore[misc]

    def units(self, text: str) -> Sequence[Unit]:
        if self.mask not in text:
            return self._splitter.units(text)
        return [unit for _, part in self._parts(text) for unit in (self._splitter.units(part) if part else [MASK_UNIT])]

    def units_of_batch(self, texts: Sequence[str]) -> list[Sequence[Unit]]:
        has_mask = any(self.mask in text for text in texts)
        return super().units_of_batch(texts) if has_mask else self._splitter.units_of_batch(texts)

    def spans(self, text: str) -> list[Span]:
        mask = [(0, len(self.mask))]
        return [
            (start + first, start + last)
            for start, part in self._parts(text)
            for first, last in (self._splitter.spans(part) if part else mask)
        ]

    def word_ids(self, text: str) -> Sequence[int]:
        ids: list[int] = []
        for _, part in self._parts(text):
            first = ids[-1] + 1 if ids else 0
            ids += [first + word for word in self._splitter.word_ids(part)] if part else [first]
        return ids

    def normalize(self, unit: Unit) -> Unit:
        return self.mask if unit is MASK_UNIT else self._splitter.normalize(unit)

    def _parts(self, text: str) -> list[tuple[int, str]]:
        """Returns the texts between the masks, with their starts, and "" with its start for each mask.

        Before a mask, subword tokenizers get no space: in BPE it belongs to the token after it.
        """
        parts, start = [], -len(self.mask)
        *texts, last = text.split(self.mask)
        for part in texts:
            start += len(self.mask)
            cut = part.rstrip() if isinstance(self._splitter, SubwordSplitter) else part
            parts += [(start, cut)] * bool(cut)
            start += len(part)
            parts.append((start, ""))
        return parts + [(start + len(self.mask), last)] * bool(last)


def without_surrogates(text: str) -> str:
    """Returns `text`, of the same length, with U+FFFD for each lone surrogate: the Rust library refuses surrogates."""
    return text if text.isascii() else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


SPLITTERS: dict[str, type[Splitter]] = {
    "word": WordSplitter,
    "whitespace": WhitespaceSplitter,
    "scripts": ScriptSplitter,
    "bytes": ByteSplitter,
    "subword": SubwordSplitter,
}
