# Generated from files of tokenization/ in the package vocabless. Do not edit.

"""`VocablessTokenizer`: text → blocks of K bytes, with the interface of a Hugging Face tokenizer.

A splitter cuts a text into units, and a block coder writes each unit as a block; a bounded cache keeps the blocks of
units seen before. `input_ids` is (batch, sequence, K): elements 0–4 are [PAD], [UNK], [CLS], [SEP], [MASK], and byte
value b is element b + 5. Special tokens are blocks [id, 0, …, 0]; padding is 0. "[MASK]" in a text is the mask token;
no text can spell one of the other four.
"""

import hashlib
import importlib
import json
import numpy as np
import os
import re
import regex
import sys
import torch
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from inspect import signature
from itertools import accumulate, chain, groupby, islice
from numpy.typing import NDArray
from pathlib import Path
from tokenizers import AddedToken, Tokenizer
from transformers import PreTrainedConfig
from transformers.tokenization_utils_base import BatchEncoding, PreTrainedTokenizerBase, TruncationStrategy
from transformers.utils import logging
from transformers.utils.generic import PaddingStrategy
from typing import Any, ClassVar, Literal, cast


# ---- options.py ------------------------------------------------------------------------------------------------------
# Makes splitters and coders from the names and options in a configuration.

def build(kind: str, classes: Mapping[str, type[Any]], name: str, options: Mapping[str, Any]) -> Any:
    """Returns an instance of the class called `name`, a splitter or a coder as `kind` says.

    `options` are its keyword arguments; None is the default of each.

    Raises:
        ValueError: unknown name or options, or wrong values.
    """
    if not isinstance(name, str) or name not in classes:
        raise ValueError(f"unknown {kind} {name!r}; choose one of {', '.join(classes)}.")
    legal = signature(classes[name]).parameters
    options = {option: value for option, value in options.items() if value is not None}
    if not options.keys() <= legal.keys():
        raise ValueError(f"{kind} {name!r} got options {sorted(options)}; it takes {', '.join(legal)}.")
    try:
        return classes[name](**options)
    except (TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{kind} {name!r} got {options} ({error}); give values as in its class.") from error


def check_integer(name: str, value: int, limit: int = 1 << 24) -> int:
    """Returns the option `name` of a splitter or coder. Raises ValueError if it is no integer from 1 to `limit`."""
    if type(value) is not int or not 1 <= value <= limit:
        raise ValueError(f"the tokenizer got {name}={value!r}; give a whole number from 1 to {limit}.")
    return value


# ---- scripts.py ------------------------------------------------------------------------------------------------------
# Patterns of the scripts that are written without spaces between words.
#
# Of the line-breaking classes of Unicode (UAX 14), ID has the ideographs and the kana, SA has Thai, Lao, Khmer, Myanmar
# and their relatives. `browser/scripts.js` has the same patterns.

# The zero-width space and the byte-order mark separate words, although Unicode does not call them white space. The four
# information separators are spaces for `str.isspace`, but not for every regex engine, so they are listed.
SPACE = r"\s\x1c-\x1f\u200b\ufeff"
WORD = r"\p{L}\p{N}\p{M}_"
CONTINUES = r"\p{M}\u200c\u200d"
HALF_WIDTH_MARKS = "\uff9e\uff9f"  # letters for Unicode, but forms of the marks U+3099 and U+309A
IDEOGRAPHS = r"\p{Han}\p{Yi}\p{Tangut}\p{Nushu}\p{Khitan_Small_Script}\u3006"
KANA = (r"\p{Hiragana}\u30fc\u3031-\u3035", r"\p{Katakana}\u30fc\uff70", r"\p{Bopomofo}")
SOUTH_EAST_ASIAN = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Ahom}"
# Ranges that hold all these scripts, and others: a text without such a character needs no pattern of this file.
MAY_LACK_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u1aaf\u2e80-\uabff\uf900-\U0003ffff]")
HAS_NO_WORDS = regex.compile(rf"(?V1)[[{SOUTH_EAST_ASIAN}]&&\p{{L}}]")

# The digits 0 of all scripts in Unicode 17; the digits 1–9 of a script follow its 0. This table is never changed, so
# each Python and each browser maps the same digits.
# fmt: off
ZEROS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6, 0x0E50,
    0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
    0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x10D40, 0x11066, 0x110F0,
    0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950,
    0x11BF0, 0x11C50, 0x11D50, 0x11DA0, 0x11DE0, 0x11F50, 0x16130, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1CCF0,
    0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E5F1, 0x1E950, 0x1FBF0,
)
# fmt: on


def script_runs(window: int, invisible: str = "") -> regex.Pattern[str]:
    """Returns the pattern of the units of `ScriptSplitter`; `invisible` characters continue a unit, and begin none."""
    marks, others = f"[{CONTINUES}{HALF_WIDTH_MARKS}{invisible}]*+", f"{WORD}{SPACE}"
    ideographs, *kana, asian = (_letters(script) for script in (IDEOGRAPHS, *KANA, SOUTH_EAST_ASIAN))
    word = rf"[[{WORD}]--[{ideographs}{''.join(kana)}{asian}]]"
    units = [
        f"{ideographs}{marks}",
        *(f"(?:{letters}{marks})++" for letters in kana),
        rf"{asian}{marks}(?:(?!\p{{Logical_Order_Exception}}){asian}{marks}){{,{window - 1}}}+",
        f"(?:{word}{marks})++",
        f"[^{others}{invisible}](?:[^{others}]|[{CONTINUES}{HALF_WIDTH_MARKS}])*+",
    ]
    return regex.compile(f"(?V1){'|'.join(units)}")


def _letters(script: str) -> str:
    """Returns the set of the letters of a script, without its marks, digits and punctuation."""
    return rf"[[{script}]&&[\p{{L}}\p{{Nl}}]]"


# ---- forms.py --------------------------------------------------------------------------------------------------------
# Normal forms of Unicode, and forms of one word that readers take for the same: the option `fold_forms` of splitters.
#
# `Forms.fold_text` keeps the length of a text, so offsets are exact. It makes one character of all that are invisible,
# which the splitters let a word go on with, one apostrophe and one double quote of the typographic ones, a hyphen of its
# variants, and a space of `_`. `Forms.fold_unit` takes that character out of a unit, and what writers leave out as they
# like: the tatweel and the vowel points of Arabic and Hebrew, and the dots of Cyrillic ё. Arabic and Persian kaf and yeh
# become the same letters. All other accents stay.
#
# The first edition is in this file, the second, which also knows the joiners U+200C and U+200D, in `second_forms`.
# Sources: Unicode 17, its Default_Ignorable_Code_Point, and the names in UnicodeData. The tables of an edition never
# change, so hashes do not. A web page gets the tables with its model, see `page_forms`.

MAX_MARKS = 30  # in a run, in any natural text: the limit of Unicode's Stream-Safe Text Format (UAX 15)
_LONG_RUN_OF_MARKS = regex.compile(rf"[\p{{M}}{HALF_WIDTH_MARKS}]{{{MAX_MARKS},}}+")
INVISIBLE = "\u00ad"  # the soft hyphen, which stands for all of them

Rules = tuple[tuple[str, str], ...]  # pattern → what it becomes, in this order
Groups = tuple[tuple[str, Rules], ...]  # what a text holds where the rules may change it → rules, in this order


_FIRST_PLANE = "".join(map(chr, range(1 << 16)))  # all of Unicode that the tables change


class Forms:
    """One edition of the tables.

    Args:
        look_alikes: set of characters → the one character that stands for them.
        in_text: other changes that keep the length of a text.
        in_unit: changes of a decomposed unit (NFKD).
        joiners: characters that are as invisible as `INVISIBLE`, but that rules of units read.
        letters: set of symbols that stand for one letter.

    Attributes:
        invisible: the characters that continue a unit, and begin none.
        sets: set of characters → the one that stands for them; "" is that of NFKC.
        in_text, in_unit: the rules of their arguments.
    """

    def __init__(
        self, look_alikes: Rules, in_text: Groups, in_unit: Groups, *, joiners: str = "", letters: str = ""
    ) -> None:
        self.invisible = INVISIBLE + joiners
        self.sets = [*look_alikes, *([(f"[{letters}]", "")] if letters else [])]
        self._changed = re.compile("|".join(characters for characters, _ in self.sets))
        self.same_length = {
            ord(found): form or unicodedata.normalize("NFKC", found)
            for characters, form in self.sets
            for found in re.findall(characters, _FIRST_PLANE)
        }
        self.in_text, self.in_unit = _compile(in_text), _compile(in_unit)

    def fold_text(self, text: str) -> str:
        """Returns a text of the same length, with one form of characters that look alike.

        >>> FIRST_FORMS.fold_text("the read_file’s")
        "the read file's"
        """
        if text.isascii():
            text = text.replace("_", " ")
        elif self._changed.search(text):
            text = text.translate(self.same_length)
        return _apply(self.in_text, text)

    def fold_unit(self, unit: str) -> str:
        """Returns a decomposed unit (NFKD) without what readers do not need; a unit of such characters alone stays.

        >>> FIRST_FORMS.fold_unit("docu\u00adment"), FIRST_FORMS.fold_unit("ме\u0308д")
        ('document', 'мед')
        """
        return _apply(self.in_unit, unit) or unit


_Compiled = list[tuple[re.Pattern[str], list[tuple[Any, str]]]]


def _compile(groups: Groups) -> _Compiled:
    return [(re.compile(held), [(regex.compile(pattern), form) for pattern, form in rules]) for held, rules in groups]


def _apply(groups: _Compiled, text: str) -> str:
    for held, rules in groups:
        if held.search(text):
            for pattern, form in rules:
                text = pattern.sub(form, text)
    return text


LOOK_ALIKES: Rules = (
    ("[\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb]", INVISIBLE),
    ("[\u02bb-\u02bd\u055a\u05f3\u2018\u2019\u201b\ua78b\ua78c]", "'"),
    ("[\u05f4\u201c\u201d\u201f]", '"'),
    ("[\u2010\u2011]", "-"),
    ("_", " "),
)
# Of decomposed texts. The hamza and madda above and below, U+0653 to U+0655, make other letters, and stay.
POINTS = (
    "\u0640\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u08d3-\u08e1\u08e3-\u08ff\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
)
YO = r"(?<=[\u0415\u0435])\u0308"
SAME_LETTERS: Rules = (("\u06a9", "\u0643"), ("\u06cc", "\u064a"))  # keheh is kaf, and Farsi yeh is yeh
FIRST_FORMS = Forms(LOOK_ALIKES, (), (("", ((f"[{INVISIBLE}{POINTS}]|{YO}", ""), *SAME_LETTERS)),))


def normal_form(text: str, form: Literal["NFC", "NFKD"] = "NFC") -> str:
    """Returns a text in a normal form of Unicode in linear time.

    `unicodedata` sorts a run of n marks in up to n² steps. A run longer than the Unicode limit for streams is therefore
    sorted here first, by the same rule; the result is the same.
    """
    if len(text) > MAX_MARKS:
        decomposition: Literal["NFD", "NFKD"] = "NFD" if form == "NFC" else "NFKD"
        text = _LONG_RUN_OF_MARKS.sub(lambda marks: _in_canonical_order(marks[0], decomposition), text)
    return unicodedata.normalize(form, text)


def _in_canonical_order(marks: str, decomposition: Literal["NFD", "NFKD"]) -> str:
    """Returns the marks decomposed, with those between two marks of class 0 sorted by their combining class."""
    decomposed = "".join([unicodedata.normalize(decomposition, mark) for mark in marks])
    runs = groupby(decomposed, key=lambda mark: unicodedata.combining(mark) == 0)
    return "".join(mark for _, run in runs for mark in sorted(run, key=unicodedata.combining))


# ---- second_forms.py -------------------------------------------------------------------------------------------------
# The second edition of the forms of one word: `fold_forms` with the value 2. It has all rules of the first one.
#
# Beside joiners and other ignorable characters, these are the characters that stand for one letter and NFKD leaves apart,
# and spellings with two codes in our 30 languages. Of two forms, the one that is frequent in texts stays. Symbols of
# several characters, such as ㎏ and ½, stay units of their own.
#
# - The joiners U+200C and U+200D change nothing. Behind a dead consonant that has a letter of its own, as Bengali ৎ and
#   the chillus of Malayalam, U+200D makes this letter. Variation selectors and fillers change nothing either.
# - A symbol that stands for one letter, as Ⓐ, ㊤ or a Kangxi radical, is the letter.
# - The dot of Catalan l·l is left out, also in ŀ; so are the stress of a Cyrillic vowel, the dot of Turkish İ in lower
#   case, the nukta of Hindi क़ ख़ ग़ ज़ फ़, and further points of Arabic.
# - Romanian ș and ț are ş and ţ. Hindi nasals before a consonant of their class, and the candrabindu, are the anusvara.
#   Vietnamese tones are placed as in "hóa", not as in "hoá". Thai เเ is แ, and nikhahit follows the tone. Vowels that
#   Devanagari and Bengali write in two signs, Yiddish digraphs, alef wasla and Persian ۀ are the usual letters.
#
# Sources: Unicode 17, its Do-Not-Emit characters, and the spelling rules of the languages.

_JOINERS = "\u200c\u200d"
# Symbols and numbers of one letter. Their form is that of NFKC, of the same length.
_LETTERS = (
    "\u24b6-\u24e9\u2e9f\u2ef3\u2f00-\u2fd5\u3192-\u319f\u3244-\u3247\u3260-\u327b\u327e\u3280-\u32b0\u32d0-\u32fe"
)
_MORE_LOOK_ALIKES: Rules = (
    ("[\u00b4\u02b9\u0374\u0384\u1fbd\u1fbf\u1ffd\u2032]", "'"),
    ("[\u02ba\u2033]", '"'),
    ("[\u05be\u2012\u2212]", "-"),
    ("\u301c", "~"),
    ("[\u3164\uff3f\uffa0]", " "),
    ("\u309b", "\u3099"),
    ("\u309c", "\u309a"),
)
_IN_TEXT: Groups = (
    ("[`\u1fef]", ((r"(?<=[\p{L}\p{M}])[`\u1fef](?=\p{L})", "'"),)),
    (
        "[\u00b7\u0387\u2022\u2027\u2219\u22c5]",
        ((r"(?<=[Ll])[\u00b7\u0387\u2022\u2027\u2219\u22c5](?=[Ll])", INVISIBLE),),
    ),
    ("\u0e40\u0e40", (("\u0e40\u0e40", f"\u0e41{INVISIBLE}"),)),
    ("\u0ec0\u0ec0", (("\u0ec0\u0ec0", f"\u0ec1{INVISIBLE}"),)),
)
# Dead consonants with U+200D → the letter of their own.
_WITH_JOINER: Rules = (
    ("\u09a4\u09cd\u200d", "\u09ce"),
    ("\u0d23\u0d4d\u200d", "\u0d7a"),
    ("\u0d28\u0d4d\u200d", "\u0d7b"),
    ("\u0d30\u0d4d\u200d", "\u0d7c"),
    ("\u0d32\u0d4d\u200d", "\u0d7d"),
    ("\u0d33\u0d4d\u200d", "\u0d7e"),
    ("\u0d15\u0d4d\u200d", "\u0d7f"),
)
_IGNORABLE = (
    f"{_JOINERS}\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef\u0898-\u089f\u08ca-\u08d2"
)
_TONES, _THAI_TONES, _THAI_A = "[\u0300\u0301\u0303\u0309\u0323]", "[\u0e48-\u0e4b\u0ec8-\u0ecb]", "[\u0e32\u0eb2]"
_LATIN_AND_CYRILLIC: Rules = (
    (YO, ""),
    (r"(?<=[Ll])\u00b7|(?<=[Ii])\u0307", ""),
    (r"(?<=[АЕИОУЫЭЮЯІЄаеиоуыэюяіє]|[Іі]\u0308)\u0301", ""),
    ("(?<=[SsTt])\u0326", "\u0327"),
    (f"([Oo])([AEae])({_TONES})$", r"\1\3\2"),
    (f"(?<![Qq])([Uu])([Yy])({_TONES})$", r"\1\3\2"),
)
_ARABIC: Rules = (*SAME_LETTERS, ("\u0671", "\u0627"), ("\u06d5(?=\u0654)", "\u0647"))
_YIDDISH: Rules = (("\u05f0", "\u05d5\u05d5"), ("\u05f1", "\u05d5\u05d9"), ("\u05f2", "\u05d9\u05d9"))
_NASALS = (
    "\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])|\u0923\u094d(?=[\u091f-\u0922])|"
    "\u0928\u094d(?=[\u0924-\u0927])|\u092e\u094d(?=[\u092a-\u092d])"
)
_INDIC: Rules = (
    (r"(?<=[\u0915-\u0917\u091c\u092b])\u093c", ""),
    (f"\u0901|{_NASALS}", "\u0902"),
    ("\u0905\u093e", "\u0906"),
    ("\u0905\u0949", "\u0911"),
    ("\u0905\u094b", "\u0913"),
    ("\u0905\u094c", "\u0914"),
    ("\u090f\u0947", "\u0910"),
    ("\u0985\u09be", "\u0986"),
)
_THAI_AND_LAO: Rules = (
    (f"([\u0e4d\u0ecd])({_THAI_TONES})({_THAI_A})", r"\2\1\3"),
    (f"([\u0e4d\u0ecd])({_THAI_A})({_THAI_TONES})", r"\3\1\2"),
    (f"({_THAI_TONES})([\u0e31\u0e34-\u0e37\u0eb1\u0eb4-\u0eb7])", r"\2\1"),
)
_IN_UNIT: Groups = (
    (" ", ((" (?=[\u064b-\u0652])", ""),)),
    ("\u200d", _WITH_JOINER),
    ("", ((f"[{INVISIBLE}{POINTS}{_IGNORABLE}]", ""),)),
    ("[\u00b7\u0300-\u0326]", _LATIN_AND_CYRILLIC),
    ("[\u0671-\u06d5]", _ARABIC),
    ("[\u05f0-\u05f2]", _YIDDISH),
    ("[\u0901-\u09be]", _INDIC),
    (_THAI_TONES, _THAI_AND_LAO),
)
SECOND_FORMS = Forms(LOOK_ALIKES + _MORE_LOOK_ALIKES, _IN_TEXT, _IN_UNIT, joiners=_JOINERS, letters=_LETTERS)
FORMS = {1: FIRST_FORMS, 2: SECOND_FORMS}


def check_forms(edition: int) -> Forms | None:
    """Returns the tables of `fold_forms`: False is none of them, True the first edition.

    Raises:
        ValueError: there is no such edition.
    """
    if not isinstance(edition, int) or edition not in (0, *FORMS):
        raise ValueError(f"the splitter got fold_forms={edition!r}; give false, or an edition: 1 (as true) or 2.")
    return FORMS.get(edition)


# ---- splitters.py ----------------------------------------------------------------------------------------------------
# Splitters: text → units; each unit becomes one block.
#
# A word is a run of letters, digits and `_`, or a run of other characters except spaces. A mark or a joiner continues the
# run before it (Unicode UAX 29, rule WB4), so an accent, a Devanagari vowel sign or the joiner inside an emoji is never a
# unit of its own. By this rule, canonical composition never joins characters of two units. So units are cut from the
# unchanged text, offsets are exact, and `normalize` (NFC, lower case) is applied to each unit separately.
#
# Of Unicode, the digits are a table of ours, cases and normal forms those of Python, and classes of letters those of
# `regex`: all agree for the characters of Unicode 13, which Python 3.10 has, and a unit with a newer character may have
# another block in another version of Python, `regex` or a browser, until all of them know the character.
#
# HashFormers 3.1 splits by `\w+|[^\w\s]+`; on text without marks the result is the same.

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
        self.splits_at_spaces = splitter.splits_at_spaces and mask.split() == [mask]

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


# ---- block_coders.py -------------------------------------------------------------------------------------------------
# Block coders: units → blocks of K bytes. The same unit and options give the same block for ever.
#
# `md5` and `lsh` write a digest of T bits, most significant bit first. `lsh-index` writes an integer, big-endian. `utf8`
# writes the unit itself. All arithmetic is on integers, so every platform gives the same bytes.
#
# Sources: HashFormers 3.2 (md5), 3.5 and 3.3 (lsh, lsh-index); Elementwise 3.2 (utf8).

Bytes = NDArray[np.uint8]
Elements = NDArray[np.uint16]
Integers = NDArray[np.int64]
Scores = NDArray[np.signedinteger[Any]]

NUM_SPECIAL = 5  # elements 0–4 are special tokens; byte value b is element b + 5
PAD, UNK, CLS, SEP, MASK = range(NUM_SPECIAL)
MAX_NGRAM = 4
MAX_BITS, MAX_FEATURES = 1 << 15, 1 << 24  # limits of the options; of hyperplanes there are at most MAX_FEATURES
_MAX_NUMBERS_AT_ONCE = 1 << 17  # in a temporary array of `_rolled_products`: half a megabyte fits the CPU's cache
_MAX_ADDED_NUMBERS = 1 << 22  # for a unit, 16 megabytes; beyond it a transform is as fast
_MAX_JOINT_FEATURES = 64  # features of a unit that `_sums` adds together with those of other units; 18 characters


def splitmix64(seed: int, count: int) -> NDArray[np.uint64]:
    """Returns the first `count` outputs of the SplitMix64 generator, (count,) uint64; no library version changes them.

    Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (OOPSLA 2014).

    >>> hex(splitmix64(0, 1)[0])
    '0xe220a8397b1dcdaf'
    """
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
        seed & 0xFFFFFFFFFFFFFFFF
    )
    return _mix(state)


class BlockCoder:
    """Writes a unit as a block of `block_size` bytes.

    Attributes:
        block_size: K.
        pads: True if a short unit leaves padding at the end of its block; False if all K bytes are a digest.
    """

    block_size: int
    pads: bool = False

    def encode(self, units: Sequence[Unit]) -> Bytes:
        """Returns the packed blocks of `units`, which corpora store; the block of a unit depends on that unit alone.

        They are (n, K) uint8, or (n, K + 1) with the number of bytes before the padding last where the coder pads.
        """
        raise NotImplementedError

    def elements(self, units: Sequence[Unit]) -> Elements:
        """Returns the elements of the blocks of `units`, (n, K) uint16, see `unpack`."""
        return unpack(self.encode(units), self.pads, np.uint16)

    def decode(self, block: bytes) -> bytes:
        """Returns the UTF-8 bytes of the unit that was written as `block`, given without its padding.

        Raises:
            NotImplementedError: the coder is a hash.
        """
        raise NotImplementedError(
            f"{type(self).__name__} hashes each unit, so blocks cannot be decoded into text; "
            "keep the text with its blocks, or use the utf8 coder."
        )


class Utf8Coder(BlockCoder):
    """Writes a unit's own UTF-8 bytes, cut at K and zero-padded. Source: Elementwise 3.2.

    >>> Utf8Coder(block_size=4).encode(["as", "naïve"]).tolist()
    [[97, 115, 0, 0, 2], [110, 97, 195, 175, 4]]
    """

    pads = True

    def __init__(self, *, block_size: int = 16) -> None:
        self.block_size = check_integer("block_size", block_size, 255)  # the length of a packed block is one byte

    def encode(self, units: Sequence[Unit]) -> Bytes:
        size = self.block_size
        data = [to_bytes(unit)[:size] for unit in units]
        packed = np.empty((len(units), size + 1), dtype=np.uint8)
        blocks = b"".join([unit.ljust(size, b"\0") for unit in data])
        packed[:, :size] = np.frombuffer(blocks, dtype=np.uint8).reshape(-1, size)
        packed[:, size] = np.fromiter(map(len, data), dtype=np.uint8, count=len(data))
        return packed

    def decode(self, block: bytes) -> bytes:
        return block


class Md5Coder(BlockCoder):
    """HMAC-MD5 of a unit's UTF-8 bytes: T = 128 bits. Source: HashFormers 3.2; RFC 2104, RFC 1321.

    `key` is the secret key; the authors' published models use `en`.

    >>> Md5Coder(key="Jefe").encode(["what do ya want for nothing?"]).tobytes().hex()
    '750c783e6ab0b503eaa86e310a5db738'
    """

    block_size = 16

    def __init__(self, *, key: str = "en") -> None:
        self.key = key
        secret = key.encode("utf-8")
        secret = (_md5(secret).digest() if len(secret) > 64 else secret).ljust(64, b"\0")
        # The two keyed states are copied for each unit, which takes half the time of the `hmac` module.
        self._pads = bytes(b ^ 0x36 for b in secret), bytes(b ^ 0x5C for b in secret)

    def encode(self, units: Sequence[Unit]) -> Bytes:
        inner, outer = map(_md5, self._pads)
        digests = []
        for unit in units:
            first, second = inner.copy(), outer.copy()
            first.update(to_bytes(unit))
            second.update(first.digest())
            digests.append(second.digest())
        return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 16)


class NgramFeatures:
    """Maps the character n-grams of a unit, n = 1…4, to feature numbers in [0, num_features).

    Args:
        num_features: F, the length of the feature vector x.
        ngrams: the n-grams that have a feature, most frequent first (HashFormers 3.3: the top 50 000 of a corpus); an
            n-gram's feature is its rank. None: every n-gram has a feature, its hash modulo F, and nothing is stored.
    """

    def __init__(self, num_features: int, ngrams: Sequence[str] | None = None) -> None:
        self.num_features = num_features
        self._rank = None if ngrams is None else {ngram: rank for rank, ngram in enumerate(ngrams)}

    def __call__(self, units: Sequence[Unit]) -> tuple[Integers, Integers]:
        """Returns (features, owners), both (m,) int64: the feature of each n-gram, and the index of its unit.

        An n-gram that occurs twice has two entries, because its weight is its frequency in the unit.
        """
        texts = [unit.decode("latin-1") if isinstance(unit, bytes) else unit for unit in units]
        return self._hashed(texts) if self._rank is None else self._ranked(texts, self._rank)

    def _hashed(self, texts: Sequence[str]) -> tuple[Integers, Integers]:
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        owner = np.repeat(np.arange(len(texts)), lengths)
        remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # characters up to the unit's end
        state = np.zeros(len(codes), dtype=np.uint64)  # state[i]: hash of the n-gram that begins at character i
        features, owners = [], []
        for n in range(1, MAX_NGRAM + 1):
            state = state[: len(codes) - n + 1]
            state = _mix(state + codes[n - 1 :] + np.uint64(1))
            within_unit = remaining[: len(state)] >= n
            features.append((state % np.uint64(self.num_features)).astype(np.int64)[within_unit])
            owners.append(owner[: len(state)][within_unit])
            if len(codes) <= n:
                break
        return np.concatenate(features), np.concatenate(owners)

    def _ranked(self, texts: Sequence[str], rank: dict[str, int]) -> tuple[Integers, Integers]:
        pairs = [
            (rank[text[start : start + n]], owner)
            for owner, text in enumerate(texts)
            for n in range(1, MAX_NGRAM + 1)
            for start in range(len(text) - n + 1)
            if text[start : start + n] in rank
        ]
        features, owners = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return features, owners


class LshCoder(BlockCoder):
    """Signs of random hyperplanes: bit i = [x·r_i ≥ 0], where x is the vector of a unit's n-gram frequencies.

    Component j of hyperplane r_i is η[(j + i) mod F]: all hyperplanes are one random vector η, rolled by i. η follows
    from `seed`, so nothing is stored. Source: HashFormers 3.5; 3.3 for η.

    Differs from the paper: η has integer components (sums of four uniform 16-bit numbers, nearly normal), so x·r_i is
    exact and the same on every platform. Features are hashed unless `ngrams` is given.

    Args:
        num_bits: T; the block has ⌈T/8⌉ bytes. If T is no multiple of 8, the last bits are 0.
        num_features: F.
        ngrams: see `NgramFeatures`.
        seed: seed of η.
    """

    def __init__(
        self, *, num_bits: int = 128, num_features: int = 50_000, ngrams: Sequence[str] | None = None, seed: int = 42
    ) -> None:
        self.num_bits = check_integer("num_bits", num_bits, MAX_BITS)
        self.block_size = -(-num_bits // 8)
        self._features = NgramFeatures(check_integer("num_features", num_features, MAX_FEATURES), ngrams)
        self._eta = normal_integers(seed, num_features)

    def encode(self, units: Sequence[Unit]) -> Bytes:
        scores = _rolled_products(self._eta, self._features, units, self.num_bits)
        return np.packbits(scores >= 0, axis=1)


class LshIndexCoder(BlockCoder):
    """Index of the hyperplane with the largest product: v = argmax_i x·r_i over N hyperplanes, big-endian.

    The first maximum wins. Hyperplanes, features and the other arguments are the same as in `LshCoder`. N is
    `num_hyperplanes`; the block has as many bytes as the number N − 1. Source: HashFormers 3.3.
    """

    def __init__(
        self,
        *,
        num_hyperplanes: int = 50_260,
        num_features: int = 50_260,
        ngrams: Sequence[str] | None = None,
        seed: int = 42,
    ) -> None:
        self.num_hyperplanes = check_integer("num_hyperplanes", num_hyperplanes, MAX_FEATURES)
        self.block_size = max(1, -(-(num_hyperplanes - 1).bit_length() // 8))
        self._features = NgramFeatures(check_integer("num_features", num_features, MAX_FEATURES), ngrams)
        self._eta = normal_integers(seed, num_features)

    def encode(self, units: Sequence[Unit]) -> Bytes:
        blocks = np.empty((len(units), self.block_size), dtype=np.uint8)
        for index, unit in enumerate(units):  # one at a time, because each has N scores
            scores = _rolled_products(self._eta, self._features, [unit], self.num_hyperplanes)[0]
            blocks[index] = [*int(scores.argmax()).to_bytes(self.block_size, "big")]
        return blocks


def special_blocks(block_size: int) -> Elements:
    """Returns the blocks [id, 0, …, 0] of the special tokens, by id, (5, K) uint16."""
    blocks = np.zeros((NUM_SPECIAL, block_size), dtype=np.uint16)
    blocks[:, 0] = range(NUM_SPECIAL)
    return blocks


def unpack(packed: Bytes, pads: bool, dtype: type[np.integer[Any]] = np.int64) -> NDArray[Any]:
    """Returns the elements of packed blocks, (…, K) of this type: byte value b → b + 5, padding → 0.

    `packed` is what `BlockCoder.encode` returns, (…, K) uint8, or (…, K + 1) with the length last if the coder `pads`.

    >>> unpack(np.array([[97, 115, 0, 2]], dtype=np.uint8), pads=True).tolist()
    [[102, 120, 0]]
    """
    if not pads:
        return np.add(packed, NUM_SPECIAL, dtype=dtype)
    elements = np.add(packed[..., :-1], NUM_SPECIAL, dtype=dtype)
    elements[np.arange(elements.shape[-1]) >= packed[..., -1:]] = PAD
    return elements


def normal_integers(seed: int, count: int) -> NDArray[np.int32]:
    """Returns `count` nearly normal integers of mean 0 and variance 4·(2¹⁶)²/12, absolute values below 2¹⁷.

    Each is the sum of four uniform 16-bit numbers, less the mean of such sums.
    """
    fields = splitmix64(seed, count)[:, None] >> np.array([0, 16, 32, 48], dtype=np.uint64) & np.uint64(0xFFFF)
    sums: Integers = fields.sum(axis=1).astype(np.int64)
    return (sums - 2 * 0xFFFF).astype(np.int32)


def _rolled_products(eta: NDArray[np.int32], features: NgramFeatures, units: Sequence[Unit], count: int) -> Scores:
    """Returns x·r_i for each unit and i = 0…count−1, (n, count).

    r_i is η rolled by i, and x counts the features of the unit. So x·r_i is the sum of η[(j + i) mod F] over these
    features j, and all products of a unit are the sum of one window of η per feature: η[j], …, η[j + count − 1].
    For η = (7, 8, 9), count = 2 and the features 0 and 2, the windows are (7, 8) and (9, 7), the products (16, 15).
    """
    repeated = np.resize(eta, len(eta) + count - 1)  # η, then η from its beginning again
    # windows[j] is one item of 4·count bytes, because that is copied faster than `count` numbers are.
    windows = np.ndarray(len(eta), f"V{4 * count}", repeated, strides=(4,))
    step = max(1, _MAX_NUMBERS_AT_ONCE // count)
    scores = [_sums(eta, windows, features, units[start : start + step], count) for start in range(0, len(units), step)]
    return scores[0] if len(scores) == 1 else np.concatenate([np.zeros((0, count), np.int32), *scores])


def _sums(
    eta: NDArray[np.int32], windows: NDArray[np.void], features: NgramFeatures, units: Sequence[Unit], count: int
) -> Scores:
    """Returns the sum of the windows of each unit's features, (n, count).

    Adds the first feature of all units at once, then the second of all that have two, and so on. Units that have more
    than `_MAX_JOINT_FEATURES` are then finished alone.
    """
    feature, owner = features(units)
    feature = feature[np.argsort(owner, kind="stable")]  # the first unit's features, then the second's, …
    sizes = np.bincount(owner, minlength=len(units))
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(-sizes, kind="stable")  # most features first: each step adds to the first units only
    sizes, starts = sizes[order], starts[order]

    most = sizes[0]
    sums = np.zeros((len(units), count), dtype=np.int32 if most < 1 << 14 else np.int64)  # of numbers below 2¹⁷
    steps = np.arange(min(most, _MAX_JOINT_FEATURES))
    columns = feature.take(starts + steps[:, None], mode="clip")  # columns[k]: the k-th feature of each unit
    num_adding = np.searchsorted(-sizes, -steps)  # num_adding[k]: how many units have it
    for column, stop in zip(columns, num_adding.tolist(), strict=True):
        sums[:stop] += _windows_of(column[:stop], windows, count)

    for index in range(np.count_nonzero(sizes > _MAX_JOINT_FEATURES)):
        rest = feature[starts[index] + _MAX_JOINT_FEATURES : starts[index] + sizes[index]]
        if len(rest) * count < _MAX_ADDED_NUMBERS:
            sums[index] += _windows_of(rest, windows, count).sum(axis=0, dtype=sums.dtype)
        else:
            _add_correlation(sums[index], rest, eta)

    scores = np.empty_like(sums)
    scores[order] = sums
    return scores


def _add_correlation(total: Scores, features: Integers, eta: NDArray[np.int32]) -> None:
    """Adds the sum of the features' windows by Fourier transforms, in a time that hardly depends on their number.

    It is the circular correlation of η with the counts of the features. Eight bits of the counts go at a time, so the
    errors stay far below 1/2 and rounding is exact.
    """
    spectrum, counts, place = np.fft.rfft(eta), np.bincount(features, minlength=len(eta)), 0
    while counts.any():
        part = np.fft.rfft(counts & 0xFF)
        products = np.rint(np.fft.irfft(spectrum * part.conj(), len(eta))).astype(np.int64) << place
        total += np.resize(products, len(total)).astype(total.dtype)
        counts, place = counts >> 8, place + 8


def _windows_of(features: Integers, windows: NDArray[np.void], count: int) -> NDArray[np.int32]:
    """Returns the windows of `features`, (m, count)."""
    return windows[features].view(np.int32).reshape(-1, count)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _md5(data: bytes) -> Any:  # hashlib's own type has no public name
    return hashlib.md5(data, usedforsecurity=False)


CODERS: dict[str, type[BlockCoder]] = {
    "md5": Md5Coder,
    "lsh": LshCoder,
    "lsh-index": LshIndexCoder,
    "utf8": Utf8Coder,
}


# ---- truncation.py ---------------------------------------------------------------------------------------------------
# Truncation and overflow: which units of one or two sequences a row holds.

Range = tuple[int, int]  # units (start, stop)
Row = tuple[int, Sequence[Range]]  # (index of its sample, the range of units of each of its sequences)


def rows_of_samples(samples: Iterable[Sequence[int]], max_units: int, *options: Any) -> tuple[list[Row], bool]:
    """Returns the rows of all samples, given by the number of units of their sequences, and whether one was cut.

    See `truncated_ranges` for the other arguments.

    >>> rows_of_samples([[2], [5]], 3, "longest_first", "right")
    ([(0, [(0, 2)]), (1, [(0, 3)])], True)
    """
    rows: list[Row] = []
    is_cut = False
    for index, lengths in enumerate(samples):
        if sum(lengths) <= max_units:
            rows.append((index, [(0, length) for length in lengths]))
        else:
            rows += [(index, ranges) for ranges in truncated_ranges(lengths, max_units, *options)]
            is_cut = True
    return rows, is_cut


def truncated_ranges(
    lengths: Sequence[int], max_units: int, strategy: str, side: str, stride: int = 0, overflow: bool = False
) -> list[list[Range]]:
    """Returns, for each row of a sample, the units (start, stop) of each sequence.

    Args:
        lengths: number of units of each of one or two sequences.
        max_units: units that fit a row.
        strategy: which sequence is cut: `longest_first`, `only_first` or `only_second`.
        side: "right" cuts off the end, "left" the beginning.
        stride: number of units that neighbouring rows share.
        overflow: whether the units that were cut off follow in further rows.

    Raises:
        ValueError: no units would be left, the side is another, or `overflow` of a pair under longest_first.

    >>> truncated_ranges([5], 3, "longest_first", "right", stride=1, overflow=True)
    [[(0, 3)], [(2, 5)]]
    """
    if sum(lengths) <= max_units:
        return [[(0, length) for length in lengths]]
    if side not in ("left", "right"):
        raise ValueError(f"truncation_side={side!r} is unknown; give left or right.")
    if max_units < 0:
        raise ValueError(f"max_length is {-max_units} less than the number of special tokens; raise max_length.")
    if len(lengths) == 2 and strategy == "longest_first":
        if overflow:
            raise ValueError(
                "the overflow of a pair is ambiguous under truncation='longest_first'; "
                "give truncation='only_first' or 'only_second'."
            )
        shorter = min(*lengths, max_units // 2)
        kept = (max_units - shorter, shorter) if lengths[0] > lengths[1] else (shorter, max_units - shorter)
        return [[_kept_range(length, count, side) for length, count in zip(lengths, kept, strict=True)]]
    cut = int(strategy == "only_second")  # index of the sequence that is cut
    if cut >= len(lengths):
        raise ValueError("truncation='only_second' got a single text; give text_pair, or truncation=True.")
    size = max_units - sum(lengths) + lengths[cut]
    if size <= 0 and len(lengths) == 2:
        raise ValueError(
            f"cutting only the {'second' if cut else 'first'} sequence leaves {size} of its {lengths[cut]} tokens; "
            "raise max_length, or give truncation='longest_first'."
        )
    parts = _windows(lengths[cut], size, stride, side) if overflow else [_kept_range(lengths[cut], size, side)]
    whole = [(0, length) for length in lengths]
    return [[*whole[:cut], part, *whole[cut + 1 :]] for part in parts]


def _windows(length: int, size: int, stride: int, side: str) -> list[Range]:
    """Returns ranges of at most `size` units that cover all units; neighbours share `stride` units."""
    if not 0 <= stride < size:
        raise ValueError(
            f"stride={stride} must be at least 0 and less than the {size} tokens that fit a row; "
            "lower stride, or raise max_length."
        )
    starts = range(0, max(length - stride, 1), size - stride)
    parts = [(start, min(start + size, length)) for start in starts]
    return [(length - stop, length - start) for start, stop in parts] if side == "left" else parts


def _kept_range(length: int, count: int, side: str) -> Range:
    return (length - count, length) if side == "left" else (0, count)


# ---- batches.py ------------------------------------------------------------------------------------------------------
# What a call reads and returns: texts and pairs, rows of blocks, and padded arrays as lists or tensors.

BatchArray = NDArray[Any] | Sequence[Any]  # one array for all rows, or a list of arrays or lists, one for each row

# The padding value of each name; other names are not padded.
PAD_VALUES = {"input_ids": 0, "attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1}


def as_batch(text: Any, pair: Any, is_split: bool) -> tuple[list[Any], list[Any] | None, bool]:
    """Returns a list of texts, the list of their second texts or None, and whether a batch was given.

    Args:
        text: a text, or a batch of texts; a text is a str, or a list of str if `is_split`. Without `pair` and
            `is_split`, a batch whose values are all (str, str) is a batch of pairs.
        pair: the second text, or a batch of second texts, or None.
        is_split: whether texts are lists of words.

    Raises:
        ValueError: a value is not a text, or `pair` has another number of texts.

    >>> as_batch([("a", "b"), ("c", "d")], None, is_split=False)
    (['a', 'c'], ['b', 'd'], True)
    """
    if isinstance(text, str) and pair is None and not is_split:
        return [text], None, False
    text, is_batch = _listed(text, "text", is_split)
    texts, pairs = text if is_batch else [text], None
    if pair is not None:
        pair, is_pair_batch = _listed(pair, "text_pair", is_split)
        pairs = pair if is_batch and is_pair_batch else [pair]
    elif is_batch and not is_split and texts and all(_are_words(each) and len(each) == 2 for each in texts):
        texts, pairs = [first for first, _ in texts], [second for _, second in texts]
    for name, values in (("text", texts), ("text_pair", pairs or [])):
        for position, value in enumerate(values):
            if not (_are_words(value) if is_split else isinstance(value, str)):
                _refuse(value, f"{name}[{position}]" if is_batch else name, is_split)
    if pairs is not None and len(pairs) != len(texts):
        raise ValueError(f"got {len(texts)} texts and {len(pairs)} values of text_pair; give one for each text.")
    return texts, pairs, is_batch


def write_rows(
    samples: Sequence[Sequence[bytes]], rows: Sequence[Row], block_bytes: int, special: Sequence[bytes] | None
) -> tuple[list[bytes], list[int]]:
    """Returns the blocks of all rows end to end, in parts, and the number of tokens of each sequence.

    `samples` are the blocks of each sample's one or two sequences, end to end, and `special` those of the special
    tokens by id; None writes none. A special token belongs to the sequence before it, [CLS] to the first.

    >>> write_rows([[b"ab", b"c"]], [(0, [(0, 2), (0, 1)])], 1, [b"P", b"U", b"C", b"S"])
    ([b'C', b'ab', b'S', b'c', b'S'], [4, 2])
    """
    parts: list[bytes] = []
    counts = []
    for sample, ranges in rows:
        num_special = 0
        if special:
            parts.append(special[CLS])
            num_special = 2  # of the first sequence
        for sequence, (start, stop) in zip(samples[sample], ranges, strict=True):
            parts.append(sequence[start * block_bytes : stop * block_bytes])
            if special:
                parts.append(special[SEP])
            counts.append(stop - start + num_special)
            num_special = bool(special)
    return parts, counts


class RowPadding:
    """The lengths of a batch's rows, and where their padding is.

    Args:
        lengths: number of tokens of each row.
        width: the length that rows are padded to, at least the longest; None: rows are not padded.
        side: which side is padded, "right" or "left".

    >>> RowPadding([1, 2], width=3, side="left").pad(np.array([7, 8, 9])).tolist()
    [[0, 0, 7], [0, 8, 9]]
    """

    def __init__(self, lengths: Sequence[int], width: int | None, side: str) -> None:
        if side not in ("left", "right"):
            raise ValueError(f"padding_side={side!r} is unknown; give left or right.")
        self.lengths, self._side = lengths, side
        shortest, longest = (min(lengths), max(lengths)) if lengths else (0, 0)
        self._is_ragged = width is None and shortest != longest
        self._width = longest if width is None else width
        self._is_full = shortest == self._width

    @cached_property
    def counts(self) -> list[tuple[int, int]]:
        """The number of padding positions on the left and on the right of each row."""
        missing = [0 if self._is_ragged else self._width - length for length in self.lengths]
        return [(count, 0) if self._side == "left" else (0, count) for count in missing]

    @cached_property
    def _is_token(self) -> NDArray[np.bool_]:
        """Whether each position holds a token, (rows, width)."""
        is_token = np.arange(self._width) < np.array(self.lengths)[:, None]
        return is_token[:, ::-1] if self._side == "left" else is_token

    def fill(self, number: int) -> BatchArray:
        """Returns `number`, 0 or 1, for each token and 0 for padding, int64."""
        if self._is_ragged:
            return [np.full(length, number, dtype=np.int64) for length in self.lengths]
        if number and not self._is_full:
            return self._is_token.astype(np.int64)
        filled = np.empty((len(self.lengths), self._width), dtype=np.int64)
        filled.fill(number)  # np.ones takes twice as long for a single text
        return filled

    def pad(self, flat: NDArray[Any], value: int = 0) -> BatchArray:
        """Returns the rows of `flat`, (sum of lengths, …), each padded with `value`: (rows, width, …)."""
        if self._is_ragged:
            ends = accumulate(self.lengths)
            return [flat[end - length : end] for length, end in zip(self.lengths, ends, strict=True)]
        shape = (len(self.lengths), self._width, *flat.shape[1:])
        if self._is_full:
            return flat.reshape(shape)
        padded = np.full(shape, value, dtype=flat.dtype)
        padded[self._is_token] = flat
        return padded


def requested_arrays(
    blocks: Elements,
    type_ids: Integers | None,
    padding: RowPadding,
    encodings: Sequence[Any],
    model_input_names: Collection[str],
    flags: Mapping[str, Any],
) -> dict[str, BatchArray]:
    """Returns `input_ids` and the other arrays that models take or that `flags`, `return_…`, request, by name.

    `blocks`, (tokens, K), and `type_ids`, (tokens,) or None if all are 0, are those of all rows end to end, special
    tokens included.
    """
    data = {"input_ids": padding.pad(blocks)}
    if is_requested("token_type_ids", flags.get("return_token_type_ids"), model_input_names):
        data["token_type_ids"] = padding.fill(0) if type_ids is None else padding.pad(type_ids)
    if is_requested("attention_mask", flags.get("return_attention_mask"), model_input_names):
        data["attention_mask"] = padding.fill(1)
    if flags.get("return_special_tokens_mask"):
        is_special = (blocks[:, 0] < NUM_SPECIAL).astype(np.int64)
        data["special_tokens_mask"] = padding.pad(is_special, PAD_VALUES["special_tokens_mask"])
    if flags.get("return_offsets_mapping"):
        data["offset_mapping"] = [encoding.offsets for encoding in encodings]
    if flags.get("return_length"):
        data["length"] = np.array([len(encoding) for encoding in encodings], dtype=np.int64)
    return data


def is_requested(name: str, flag: bool | None, model_input_names: Collection[str]) -> bool:
    """Returns whether a call returns an array: `flag` if the caller gave one, else whether models take the array."""
    return name in model_input_names if flag is None else flag


def padded_width(lengths: Sequence[int], strategy: str, max_length: int | None, multiple: int | None) -> int | None:
    """Returns the length that all rows are padded to, or None if they are not padded."""
    if strategy == "do_not_pad":
        return None
    width = max(lengths, default=0)
    if strategy == "max_length" and max_length is not None:
        width = max(width, max_length)
    return -(-width // multiple) * multiple if multiple else width


def pad_columns(columns: Mapping[str, Sequence[Any]], padding: RowPadding) -> dict[str, BatchArray]:
    """Returns the values of each name as arrays, one for each row, or padded if `PAD_VALUES` has the name.

    Raises:
        ValueError: a name that is padded differs from `input_ids` in the lengths of its rows.
    """
    arrays: dict[str, BatchArray] = {}
    for name, column in columns.items():
        rows = [np.asarray(row) for row in column]
        arrays[name] = rows
        if name in PAD_VALUES and padding.lengths:
            if [len(row) for row in rows] != padding.lengths:
                raise ValueError(f"pad got {name} of other lengths than input_ids; give one value for each block.")
            arrays[name] = padding.pad(np.concatenate(rows), PAD_VALUES[name])
    return arrays


def to_lists(data: Mapping[str, BatchArray], is_batch: bool) -> dict[str, Any]:
    """Returns the arrays as nested lists: all rows if `is_batch`, else the values of the only row."""
    lists = {
        name: rows.tolist()
        if isinstance(rows, np.ndarray)
        else [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
        for name, rows in data.items()
    }
    return lists if is_batch else {name: rows[0] for name, rows in lists.items()}


def to_tensors(data: Mapping[str, BatchArray], kind: Any) -> dict[str, Any]:
    """Returns the arrays as tensors of a kind that `transformers` has, such as "pt" or "np".

    Raises:
        ValueError: the rows of a name differ in length, or are not numbers.
    """
    if kind == "pt":
        return {name: torch.from_numpy(_stack(name, rows)) for name, rows in data.items()}
    arrays = {name: _stack(name, rows) for name, rows in data.items()}
    return arrays if kind == "np" else BatchEncoding(arrays, tensor_type=kind).data


def _stack(name: str, rows: BatchArray) -> NDArray[Any]:
    """Returns one array of int64, float32 or bool for all rows."""
    if isinstance(rows, np.ndarray) and rows.dtype == np.int64:
        return rows
    if not isinstance(rows, np.ndarray):
        rows = [np.asarray(row) for row in rows]
        if len({row.shape for row in rows}) > 1:
            lengths = sorted({len(row) if row.ndim else 1 for row in rows})
            raise ValueError(
                f"return_tensors needs rows of one length, but the rows of {name} have lengths {lengths}; "
                "give padding=True, and truncation=True if needed."
            )
        rows = np.stack(rows) if rows else np.zeros(0, dtype=np.int64)
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"return_tensors needs numbers, but {name} holds no numbers; leave it out, or give None.")
    if rows.dtype.kind == "f":
        return rows.astype(np.float32)  # as torch makes of Python floats
    return rows if rows.dtype.kind == "b" else rows.astype(np.int64, copy=False)


def _listed(value: Any, name: str, is_split: bool) -> tuple[Any, bool]:
    """Returns `value`, as a list unless it is a str, and whether it is a batch of texts."""
    if isinstance(value, str):
        return value, False
    if isinstance(value, (bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        _refuse(value, name, is_split)
    values = list(value)
    return values, not (is_split and values and isinstance(values[0], str))


def _are_words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def _refuse(value: Any, name: str, is_split: bool) -> None:
    expected = "a list of str (is_split_into_words=True)" if is_split else "a str"
    hint = " (words need is_split_into_words=True)" if not is_split and _are_words(value) else ""
    raise ValueError(f"{name} is {type(value).__name__} {str(value)[:40]!r}; it must be {expected}{hint}.")


# ---- block_cache.py --------------------------------------------------------------------------------------------------
# `BlockCache`: texts and units → their blocks; those of units seen before come from a dictionary.

Table = NDArray[np.unsignedinteger[Any]]
ENTRY_BYTES = 80  # of a key and its blocks in a dictionary, without their contents
CHUNK = 4096  # units that are encoded at once


class BlockCache:
    """The blocks of the units, and of the pieces of text between white space, that were seen before.

    It is never saved, and a copy is empty. After a call in which it has grown beyond its limit, the cache is emptied.
    The environment variable `VOCABLESS_CACHED_MIB` sets this limit, by default 64 MiB. Threads may share it: no call
    changes or removes an entry that another one reads.

    Args:
        splitter: cuts texts into units and normalises them.
        encode: takes normalised units, returns their blocks, (n, width): `coder.elements` or `coder.encode`.
        special: (m, width), the blocks of special tokens, of the same type.
        special_units: units whose block is one of these → its index there.

    Raises:
        ValueError: `VOCABLESS_CACHED_MIB` is no number.
    """

    def __init__(
        self,
        splitter: Splitter,
        encode: Callable[[Sequence[Unit]], Table],
        special: Table,
        special_units: dict[Unit, int] | None = None,
    ) -> None:
        self._arguments = splitter, encode, special, special_units
        self.splitter, self._encode, self._dtype = splitter, encode, special.dtype
        self.block_bytes = special.shape[1] * special.itemsize
        self.special = [block.tobytes() for block in special]
        self._special_units = {unit: self.special[index] for unit, index in (special_units or {}).items()}
        self._max_bytes = _max_bytes()
        self._clear()

    def __len__(self) -> int:
        return len(self._units) - len(self._special_units)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockCache, self._arguments

    def look_up(self, texts: Sequence[str]) -> list[bytes]:
        """Returns the blocks of each text's units, end to end; `as_array` reads them."""
        if not self.splitter.splits_at_spaces:
            return self._look_up_all(self.splitter.units_of_batch(texts))
        pieces = self._pieces  # a cache that is emptied gets other dictionaries
        try:
            return [b"".join(map(pieces.__getitem__, text.split())) for text in texts]
        except KeyError:
            new = [*{*chain.from_iterable(map(str.split, texts))}.difference(pieces)]
        blocks = self._look_up_all(list(map(self.splitter.units, new)))
        pieces.update(zip(new, blocks, strict=True))
        own = (len(block) for block in blocks if len(block) > self.block_bytes)  # a single block is that of its unit
        self.num_bytes += sum(own) + 2 * sum(map(len, new)) + ENTRY_BYTES * len(new)
        found = [b"".join(map(pieces.__getitem__, text.split())) for text in texts]
        self._limit()
        return found

    def look_up_words(self, texts: Sequence[Sequence[str]]) -> list[bytes]:
        """Returns the same as `look_up`, for texts that are given as lists of words."""
        return _join(self.look_up([*chain.from_iterable(texts)]), texts)

    def look_up_units(self, units: Sequence[Unit]) -> list[bytes]:
        """Returns the block of each unit."""
        known = self._units
        try:
            return list(map(known.__getitem__, units))
        except KeyError:
            new = [*dict.fromkeys(unit for unit in units if unit not in known)]
        for start in range(0, len(new), CHUNK):
            chunk = new[start : start + CHUNK]
            blocks = self._encode(self.splitter.normalize_all(chunk)).tobytes()
            size = self.block_bytes
            known.update((unit, blocks[place * size : (place + 1) * size]) for place, unit in enumerate(chunk))
        self.num_bytes += 2 * sum(map(len, new)) + (ENTRY_BYTES + self.block_bytes) * len(new)
        found = list(map(known.__getitem__, units))
        self._limit()
        return found

    def as_array(self, blocks: Iterable[bytes]) -> Table:
        """Returns blocks, in any number of parts, as an array (blocks, width)."""
        width = self.block_bytes // self._dtype.itemsize
        return np.frombuffer(bytearray().join(blocks), self._dtype).reshape(-1, width)

    def _look_up_all(self, units: Sequence[Sequence[Unit]]) -> list[bytes]:
        """Returns the blocks of each list of units, end to end."""
        return _join(self.look_up_units([*chain.from_iterable(units)]), units)

    def _limit(self) -> None:
        if self.num_bytes > self._max_bytes:
            self._clear()

    def _clear(self) -> None:
        self.num_bytes = 0
        self._units: dict[Unit, bytes] = dict(self._special_units)
        self._pieces: dict[str, bytes] = {}


def _join(blocks: list[bytes], groups: Sequence[Sequence[Any]]) -> list[bytes]:
    """Returns the blocks of each group end to end, from the blocks of all members."""
    rest = iter(blocks)
    return [b"".join(islice(rest, len(group))) for group in groups]


def _max_bytes() -> int:
    """Returns the limit of a cache. Raises ValueError if `VOCABLESS_CACHED_MIB` is no number."""
    text = os.environ.get("VOCABLESS_CACHED_MIB", "64")
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise ValueError(f"VOCABLESS_CACHED_MIB is {text!r}; give a number of MiB from 0 up, or unset it for 64.")
    return int(float(text) * 2**20)


# ---- block_encodings.py ----------------------------------------------------------------------------------------------
# Tokens, offsets and word ids of each row of a batch, computed when they are first read.
#
# `BlockEncoding` has the attributes of `tokenizers.Encoding` that `BatchEncoding` uses for `word_ids()`,
# `char_to_token(…)` and so on. A call that returns only ids does not compute them.

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


# ---- piece_coders.py -------------------------------------------------------------------------------------------------
# The two LSH coders of the HashFormers authors' code, on whose blocks their published weights were trained.
#
# They read tokens of RoBERTa's BPE, which their tokenizer.json describes; a token is called a piece here. `lsh` and
# `lsh-index` read the n-grams of the unit itself, as the paper says (HashFormers 3.3, 3.5), and need no vocabulary.
# Source: the authors' code.
#
# Random numbers come from numpy's `RandomState`, whose streams are frozen. They are real numbers, so another platform may
# give another sign to a sum that is zero but for rounding.

MAX_CHARACTERS = 128  # of a unit that are read: the text of its cuts grows with their square
JOINT = "-"  # between the two parts of a cut, and between cuts
NUM_BITS = 128
NUM_BUCKETS, SEED = 50_260, 42


class PieceCoder(BlockCoder):
    """Base of the two coders.

    Args:
        tokenizer: the BPE, a `tokenizers.Tokenizer`; its post-processor, padding and truncation are not used.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # the names of its own special tokens are ordinary text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._tokenizer,)

    def weights(self, unit: Unit) -> dict[int, float]:
        """Returns the id of each piece of a unit → its weight, in the order in which the pieces occur first.

        The pieces are those of the unit, then of each cut into two parts: of `abc-a-bc-ab-c` for `abc`. A piece of n
        characters weighs its count over the number of places that n characters have in the unit. A hyphen counts only
        if there is nothing else.
        """
        text = unit.decode("latin-1") if isinstance(unit, bytes) else without_surrogates(unit)
        text = text[:MAX_CHARACTERS]
        cuts = [f"{text[:place]}{JOINT}{text[place:]}" for place in range(1, len(text))]
        encoding = self._tokenizer.encode(JOINT.join([text, *cuts]), add_special_tokens=False)
        counts = Counter(zip(encoding.ids, encoding.tokens, strict=True))
        return {
            index: count / max(len(text) + 1 - len(piece), 1)
            for (index, piece), count in counts.items()
            if piece != JOINT or len(counts) == 1
        }


class PieceLshCoder(PieceCoder):
    """Bit i = [Σ weight · r_i > 0] over the pieces of a unit; r are 128 normal numbers whose seed is the piece's id.

    The weights of HashFormers-Pool, -Add and -Proj were trained on these bits. See `PieceCoder` for the arguments.
    """

    block_size = NUM_BITS // 8

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer)
        self._vectors: dict[int, NDArray[np.float64]] = {}  # of the pieces that were seen, 1 kilobyte each

    def encode(self, units: Sequence[Unit]) -> Bytes:
        weights = [self.weights(unit) for unit in units]
        if new := {piece for of_unit in weights for piece in of_unit} - self._vectors.keys():
            generator = np.random.RandomState()  # one for all, because seeding it again is far quicker
            for piece in new:
                generator.seed(piece)
                self._vectors[piece] = generator.normal(0, 1, NUM_BITS)
        sums = np.zeros((len(units), NUM_BITS))
        for row, of_unit in zip(sums, weights, strict=True):
            for piece, weight in of_unit.items():
                row += self._vectors[piece] * weight
        return np.packbits(sums > 0, axis=1)


class PieceLshIndexCoder(PieceCoder):
    """Index of the largest of 50 260 sums, big-endian; the weights of HashFormers-Emb were trained on it.

    Sum i is Σ weight · η[(id + i) mod 50 260] over the pieces of a unit, negative in the second half. The first maximum
    wins. η are normal numbers of the seed 42. See `PieceCoder` for the arguments.
    """

    block_size = 2

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer)
        eta = np.random.RandomState(SEED).normal(0, 1, NUM_BUCKETS)
        self._repeated = np.concatenate([eta, eta])

    def encode(self, units: Sequence[Unit]) -> Bytes:
        indices = np.empty(len(units), dtype=">u2")
        for place, unit in enumerate(units):
            sums = np.zeros(NUM_BUCKETS)
            for piece, weight in self.weights(unit).items():
                start = piece % NUM_BUCKETS
                sums += self._repeated[start : start + NUM_BUCKETS] * weight
            sums[NUM_BUCKETS // 2 :] *= -1
            indices[place] = sums.argmax()
        return indices.view(np.uint8).reshape(-1, self.block_size)


PIECE_CODERS: dict[str, type[PieceCoder]] = {"lsh-pieces": PieceLshCoder, "lsh-index-pieces": PieceLshIndexCoder}


# ---- components.py ---------------------------------------------------------------------------------------------------
# Reads the files of a tokenizer, and checks its arguments.

File = str | os.PathLike[str] | None


def read_ngrams(file: File) -> list[str] | None:
    """Returns the n-grams of a JSON file; None without a file. Raises ValueError if it is not a JSON list of str."""
    if file is None:
        return None
    ngrams = json.loads(Path(file).read_text(encoding="utf-8"))
    if not isinstance(ngrams, list) or not all(isinstance(ngram, str) for ngram in ngrams):
        raise ValueError(f"ngrams_file={os.fspath(file)!r} is not a list of str; give a JSON list of n-grams.")
    return ngrams


def read_subword(file: File, reader: str = "the subword splitter") -> Tokenizer:
    """Returns the tokenizer that a `tokenizer.json` describes; `reader` is what needs it, in the message.

    Raises:
        ValueError: `file` is None, or the `tokenizers` library cannot read it.
    """
    if file is None:
        raise ValueError(f"{reader} got no subword_file; give the tokenizer.json that cuts the texts.")
    try:
        return Tokenizer.from_file(os.fspath(file))
    except Exception as error:  # the Rust library raises Exception itself
        raise ValueError(
            f"the tokenizers library cannot read {os.fspath(file)!r} ({error}); give the path of a tokenizer.json."
        ) from error


def subword_of(splitter: Any, coder: Any, file: File) -> Tokenizer | None:
    """Returns the tokenizer that the splitter or the coder reads, see `read_subword`; None if neither reads one."""
    if splitter == "subword":
        return read_subword(file)
    return read_subword(file, f"the coder {coder}") if coder in (*PIECE_CODERS,) else None


def check_types(splitter_options: Any, coder_options: Any, model_max_length: Any) -> None:
    """Raises ValueError if options are no dict, or the length is no number; None is the default of each."""
    for name, value in (("splitter_options", splitter_options), ("coder_options", coder_options)):
        if not isinstance(value or {}, dict):
            raise ValueError(f"{name} is {value!r}; give a dict of keyword arguments.")
    if not isinstance(model_max_length, (int, float, type(None))):
        raise ValueError(f"model_max_length is {model_max_length!r}; give a number of tokens.")


def check_special_tokens(tokens: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raises ValueError if a special token is none of the five `names`, because a new one would need an id.

    `tokens` is what a caller gives, by the names that the library has for special tokens. Others are ignored.
    """
    for key in ("tokens", "additional_special_tokens", "extra_special_tokens", "bos_token", "eos_token"):
        value = tokens.get(key) or []
        new = [str(token) for token in (value if isinstance(value, (list, tuple, dict)) else [value])]
        if not set(new) <= {*names}:
            raise ValueError(
                f"there is no vocabulary to add {', '.join(new)} to ({key}); every text has blocks already, and the "
                "five special tokens can only be renamed."
            )


# ---- given_blocks.py -------------------------------------------------------------------------------------------------
# Reads blocks and encodings that a caller hands back: lists, arrays or tensors, of one text or of several.

def as_blocks(value: Any, block_size: int) -> Integers:
    """Returns the blocks of one text, (S, K) int64; a single block, (K,), becomes (1, K).

    Raises:
        ValueError: the last axis is not K = `block_size` elements.

    >>> as_blocks([2, 0, 0], block_size=3)
    array([[2, 0, 0]])
    """
    try:
        blocks = np.asarray(value, dtype=np.int64)
    except ValueError:
        raise ValueError(
            f"got blocks that differ in length, but this tokenizer's blocks have {block_size} elements each; "
            "give what this tokenizer returned."
        ) from None
    if blocks.shape == (0,):
        blocks = blocks.reshape(0, block_size)
    if blocks.ndim not in (1, 2) or blocks.shape[-1] != block_size:
        raise ValueError(
            f"got blocks of shape {blocks.shape}, but this tokenizer's blocks have shape (units, {block_size}); "
            "give what this tokenizer returned, or load the tokenizer that wrote them."
        )
    return blocks.reshape(-1, block_size)


def as_columns(encoded: Any, block_size: int) -> tuple[dict[str, list[Any]], bool]:
    """Returns the values of each row, by name, and whether a batch was given; `input_ids` are arrays (S, K) int64.

    `encoded` is what the tokenizer returned: a mapping of names to the values of one row or of a batch, or a list of
    mappings, one for each row.

    Raises:
        ValueError: `input_ids` is missing, or its blocks have another size.
    """
    if not isinstance(encoded, Mapping):
        names = encoded[0].keys() if encoded else ["input_ids"]
        encoded = {name: [row[name] for row in encoded] for name in names}
    if "input_ids" not in encoded:
        raise ValueError(f"pad got {sorted(encoded)}; it needs input_ids as this tokenizer returns them.")
    is_batch = depth(encoded["input_ids"]) != 2
    columns = {name: list(values) if is_batch else [values] for name, values in encoded.items() if values is not None}
    columns["input_ids"] = [as_blocks(row, block_size) for row in columns["input_ids"]]
    return columns, is_batch


def depth(value: Any) -> int:
    """Returns the nesting depth of a sequence, array or tensor; an empty sequence has depth 3, as a batch has."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape)
    if not isinstance(value, (list, tuple)):
        return 0
    return 1 + (depth(value[0]) if len(value) else 2)


# ---- library_lengths.py ----------------------------------------------------------------------------------------------
# The lengths that other libraries ask a tokenizer for: of a text in a pipeline, of a prompt for sentence vectors.

_LOGGER = logging.get_logger(__name__)
CLASSIFIER = "VocablessForSequenceClassification"
UNCUT_TASKS = ("text-classification", "sentiment-analysis")  # their stock pipeline asks for no truncation


class LibraryTokenizer(PreTrainedTokenizerBase):
    """Base class: a tokenizer that gives other libraries the length of a text and of a prompt.

    If it comes from the folder of a classifier, or `pipeline` loads it for a task of `UNCUT_TASKS`, it truncates to
    `model_max_length`, unless a call says otherwise. So a pipeline reads texts up to the length that the
    classifier was saved with, as predictions, graphs, pages and programs do, and says once that it cut one.

    Attributes:
        call_defaults: arguments of a call that does not give them, by name.
    """

    call_defaults: dict[str, Any] = {}

    def with_defaults(self, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments of a call, with those that it does not give; it warns then of texts that are cut."""
        missing = self.call_defaults.keys() - options.keys()
        return self.call_defaults | {"warns_of_cuts": True} | options if missing else options

    def encode(
        self, text: Any, text_pair: Any = None, add_special_tokens: bool = True, *others: Any, **options: Any
    ) -> Any:
        """Returns the blocks of a text or a pair, as a call does; `others` say by position how it is cut."""
        options = options if others else self.with_defaults(options)
        return super().encode(text, text_pair, add_special_tokens, *others, **options)

    def warn_of_cut(self, max_length: int | None) -> None:
        """Warns, once in a process, that a text was cut which nobody asked to cut."""
        _LOGGER.warning_once(f"A text has more than {max_length} tokens; only so many are read.")

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Creates a tokenizer, also from a pickle, as the processes of an encoder's pool do."""
        count_prompts_in_blocks()
        return super().__new__(cls)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Loads a tokenizer. `pipeline` says in `_from_pipeline` which task it is for."""
        tokenizer = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        cuts = kwargs.get("_from_pipeline") in UNCUT_TASKS
        with suppress(OSError):  # there is no configuration beside the tokenizer
            options = kwargs | {"trust_remote_code": None}  # it would warn that no code is needed
            config, _ = PreTrainedConfig.get_config_dict(pretrained_model_name_or_path, **options)
            cuts = cuts or CLASSIFIER in (config.get("architectures") or ())
        tokenizer.call_defaults = {"truncation": True} if cuts else {}
        return tokenizer


def count_prompts_in_blocks() -> None:
    """Lets sentence-transformers, where it is loaded, count the tokens of a prompt in blocks.

    The method of its module Transformer takes the last axis of `input_ids` for the tokens, and fails on (1, tokens, K).
    Nothing that a tokenizer returns changes this, and a subclass would have to be named in a modules.json, which plain
    encoders and cross-encoders do not have. So the method is replaced; for other tokenizers it calls the stock one.
    """
    transformer = getattr(sys.modules.get("sentence_transformers.base.modules.transformer"), "Transformer", None)
    stock = getattr(transformer, "_get_prompt_length", None)

    def _prompt_length(self: Any, prompt: str, **kwargs: Any) -> Any:
        """Returns the number of tokens of a prompt and of [CLS] before it, as the stock method does."""
        if not hasattr(self.tokenizer, "block_size"):
            return stock(self, prompt, **kwargs)
        ids = self.preprocess([prompt])["input_ids"][..., 0]  # of special tokens; other blocks begin with a byte
        return int((ids != self.tokenizer.pad_token_id).sum() - (ids == self.tokenizer.sep_token_id).sum())

    if stock and stock.__name__ != _prompt_length.__name__:  # another checkpoint may have replaced it
        transformer._get_prompt_length = _prompt_length


# ---- tokenization_vocabless.py ---------------------------------------------------------------------------------------

# `__call__` leaves calls with these arguments to the library's `__call__`.
_RARE_ARGUMENTS = frozenset(("text_target", "text_pair_target", "max_target_length", "tokenizer_kwargs"))
_LENGTH_ARGUMENTS = frozenset(("padding", "truncation", "max_length"))
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")  # their ids are 0–4


class VocablessTokenizer(LibraryTokenizer):
    """A tokenizer without a vocabulary.

    Args:
        splitter: `word`, `scripts`, `whitespace`, `bytes` or `subword`.
        coder: `md5`, `lsh`, `lsh-index`, `utf8`, or the HashFormers authors' `lsh-pieces` or `lsh-index-pieces`.
        splitter_options: keyword arguments of the splitter, for instance `{"lowercase": True}`.
        coder_options: keyword arguments of the coder, for instance `{"num_bits": 128}`.
        subword_file: the `tokenizer.json` whose tokens are the units of `subword`, or that the last two coders read.
        ngrams_file: for `lsh` and `lsh-index`: a JSON list of the n-grams that have a feature; None: all n-grams.
        target_file: for masked LM: the `tokenizer.json` whose tokens the head predicts; None: those that are units.
        kwargs: arguments of every Hugging Face tokenizer. With `split_special_tokens=True`, here or in a call, "[MASK]"
            in a text is text too.

    Attributes:
        unit_splitter: the splitter.
        block_size: K, bytes in a block.

    Raises:
        ValueError: unknown splitter or coder, unknown or wrong options, more special tokens, a missing file.

    Example:
        >>> tokenizer = VocablessTokenizer(splitter="word", coder="utf8", coder_options={"block_size": 3})
        >>> tokenizer("as is")["input_ids"]
        [[2, 0, 0], [102, 120, 0], [110, 120, 0], [3, 0, 0]]
    """

    vocab_files_names = {f"{name}_file": f"{name}.json" for name in ("subword", "ngrams", "target")}
    model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    is_fast = True  # calls can return offsets and word ids
    _auto_class = "AutoTokenizer"

    def __init__(
        self,
        splitter: str = "word",
        coder: str = "md5",
        splitter_options: dict[str, Any] | None = None,
        coder_options: dict[str, Any] | None = None,
        subword_file: str | os.PathLike[str] | None = None,
        ngrams_file: str | os.PathLike[str] | None = None,
        target_file: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        check_types(splitter_options, coder_options, kwargs.get("model_max_length"))
        self.splitter, self.coder = splitter, coder
        self.splitter_options, self.coder_options = dict(splitter_options or {}), dict(coder_options or {})
        for role, name in zip(ROLES, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), strict=True):
            kwargs.setdefault(role, name)
        kwargs.pop("added_tokens_decoder", None)  # saved for other tools; here the ids are fixed
        kwargs.pop("auto_map", None)  # always the code in the same folder, never another repository's
        check_special_tokens(kwargs, [str(kwargs[role]) for role in ROLES])
        super().__init__(
            splitter=splitter,
            coder=coder,
            splitter_options=self.splitter_options,
            coder_options=self.coder_options,
            **kwargs,
        )
        self._ngrams = read_ngrams(ngrams_file)
        self._subword = subword_of(splitter, coder, subword_file)
        self._target = None if target_file is None else read_subword(target_file)
        subword = {"tokenizer": self._subword}
        options = self.splitter_options | (subword if splitter == "subword" else {})
        self.unit_splitter: Splitter = build("splitter", SPLITTERS, splitter, options)
        files = {"ngrams": self._ngrams} | (subword if coder in (*PIECE_CODERS,) else {})
        self._coder: BlockCoder = build("coder", CODERS | PIECE_CODERS, coder, self.coder_options | files)
        self.block_size = self._coder.block_size
        # Caches of elements, for calls, and one of packed blocks, for corpora, which have no special tokens.
        self._mask_splitter = MaskSplitter(self.unit_splitter, str(self.mask_token))
        self._cache = self._new_cache(self._mask_splitter)
        self._unmasked_cache = self._new_cache(self.unit_splitter)
        no_blocks = np.empty((0, self.packed_block_size), dtype=np.uint8)
        self._packed_cache = BlockCache(self.unit_splitter, self._coder.encode, no_blocks)

    def _new_cache(self, splitter: Splitter) -> BlockCache:
        return BlockCache(splitter, self._coder.elements, special_blocks(self.block_size), {MASK_UNIT: MASK})

    @property
    def target_tokenizer(self) -> Tokenizer | None:
        """The tokenizer whose tokens masked LM predicts: of `target_file`, else that whose tokens are units."""
        return (self._subword if self.splitter == "subword" else None) if self._target is None else self._target

    # -- Corpora -----------------------------------------------------------------------------------------------------

    def packed_units(self, units: Sequence[Unit]) -> Bytes:
        """Returns units as corpora store them, (units, K or K + 1) uint8; `unpack` returns their elements.

        A packed unit is K bytes, or K + 1 with its length last where the coder pads.
        """
        return self._packed_cache.as_array(self._packed_cache.look_up_units(units))

    def unpack(self, packed: Bytes) -> Integers:
        """Returns the elements, (…, K) int64, of packed blocks."""
        return unpack(packed, self._coder.pads)

    @property
    def packed_block_size(self) -> int:
        """Bytes of a packed unit: K, or K + 1 where the coder pads."""
        return self._coder.block_size + self._coder.pads

    # -- Text → blocks -----------------------------------------------------------------------------------------------

    def __call__(self, text: Any = None, text_pair: Any = None, *others: Any, **options: Any) -> BatchEncoding:
        """Encodes a text, a pair or a batch of either; takes the arguments of every Hugging Face tokenizer.

        Calls `_encode_plus` directly: the library's `__call__` would take a fifth of the time of a sentence.
        """
        options = self.with_defaults(options)
        if text is None or others or not _RARE_ARGUMENTS.isdisjoint(options):
            return cast(BatchEncoding, super().__call__(text, text_pair, *others, **options))
        if not _LENGTH_ARGUMENTS.isdisjoint(options):
            names = ("padding_strategy", "truncation_strategy", "max_length")
            strategies = self._get_padding_truncation_strategies(**options)
            options.update(zip(names, strategies, strict=False))
        return self._encode_plus(text, text_pair, **options)

    __call__.__wrapped__ = PreTrainedTokenizerBase.__call__  # for inspect.signature

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        *,
        add_special_tokens: bool = True,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_overflowing_tokens: bool = False,
        verbose: bool = True,
        warns_of_cuts: bool = False,
        **flags: Any,
    ) -> BatchEncoding:
        """Encodes a text, a pair or a batch of either; `flags` are the arguments `return_…` of the library."""
        texts, pairs, is_batch = as_batch(text, text_pair, is_split_into_words)
        sequences = [texts] if pairs is None else [texts, pairs]
        names, splits_masks = self._special_names, flags.get("split_special_tokens", self.split_special_tokens)
        if names[MASK] != self._mask_splitter.mask:  # it was renamed
            self._mask_splitter = MaskSplitter(self.unit_splitter, names[MASK])
            self._cache = self._new_cache(self._mask_splitter)
        cache = self._unmasked_cache if splits_masks else self._cache
        size, look_up = cache.block_bytes, cache.look_up_words if is_split_into_words else cache.look_up
        blocks = look_up(texts)
        samples: list[Any] = list(zip(blocks)) if pairs is None else list(zip(blocks, look_up(pairs), strict=True))

        max_units = sys.maxsize
        if truncation_strategy != TruncationStrategy.DO_NOT_TRUNCATE and max_length is not None:
            max_units = max_length - add_special_tokens * self.num_special_tokens_to_add(pairs is not None)
        limits = max_units, truncation_strategy, self.truncation_side, stride, return_overflowing_tokens
        rows, is_cut = rows_of_samples(([len(part) // size for part in sample] for sample in samples), *limits)
        if is_cut and warns_of_cuts:
            self.warn_of_cut(max_length)
        parts, counts = write_rows(samples, rows, size, cache.special if add_special_tokens else None)
        lengths = counts if pairs is None else list(map(sum, zip(counts[::2], counts[1::2], strict=True)))
        longest = max(lengths, default=0)
        if max_units == sys.maxsize and longest > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(cast(Any, range(longest)), max_length, verbose)

        width = padded_width(lengths, padding_strategy, max_length, pad_to_multiple_of)
        padding = RowPadding(lengths, width, padding_side or self.padding_side)
        type_ids = np.repeat(np.arange(len(counts)) % 2, counts) if pairs else None  # 1 in the second sequences
        encodings = BlockEncodings(cache.splitter, sequences, rows, padding, names, add_special_tokens)
        data = requested_arrays(cache.as_array(parts), type_ids, padding, encodings, self.model_input_names, flags)
        if return_overflowing_tokens:
            data["overflow_to_sample_mapping"] = np.array([sample for sample, _ in rows], dtype=np.int64)

        batch = BatchEncoding(None, cast(Any, encodings), n_sequences=len(sequences))
        has_rows = is_batch or return_overflowing_tokens
        batch.data = to_tensors(data, return_tensors) if return_tensors else to_lists(data, has_rows)
        return batch

    # -- Padding -----------------------------------------------------------------------------------------------------

    def pad(
        self,
        encoded_inputs: Any,
        padding: bool | str | PaddingStrategy = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: Any = None,
        verbose: bool = True,
    ) -> BatchEncoding:
        """Pads encodings, a mapping of names to rows or a list of mappings, one for each row, to one length.

        Names that are not in `PAD_VALUES` stay as they are.

        Raises:
            ValueError: no `input_ids`, blocks of another size, or rows that differ in length.
        """
        strategy, _, max_length, _ = self._get_padding_truncation_strategies(
            padding=padding, max_length=max_length, verbose=verbose
        )
        columns, is_batch = as_columns(encoded_inputs, self.block_size)
        lengths = [len(row) for row in columns["input_ids"]]
        if is_requested("attention_mask", return_attention_mask, self.model_input_names):
            columns.setdefault("attention_mask", [np.ones(length, dtype=np.int64) for length in lengths])
        width = padded_width(lengths, strategy, max_length, pad_to_multiple_of)
        arrays = pad_columns(columns, RowPadding(lengths, width, padding_side or self.padding_side))
        if return_tensors is None:
            return BatchEncoding(to_lists(arrays, is_batch))
        tensors = to_tensors(arrays, return_tensors)
        return BatchEncoding(tensors if is_batch else {name: rows[0] for name, rows in tensors.items()})

    # -- Blocks → text -----------------------------------------------------------------------------------------------

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> str | list[str]:
        """Returns the text of blocks (S, K), or the texts of a batch (B, S, K).

        Units are joined by the splitter's separator. A unit that was cut at K bytes stays cut.

        Raises:
            NotImplementedError: the coder is a hash, which has no inverse.
            ValueError: the blocks have another K.
        """
        if depth(token_ids) > 2 and len(token_ids):
            return [cast(str, self.decode(row, skip_special_tokens)) for row in token_ids]
        blocks = as_blocks(token_ids, self.block_size)
        pieces = [self._unit(block) for block in blocks if block[0] >= NUM_SPECIAL or not skip_special_tokens]
        decoder = self._subword.decoder if self._subword is not None and self.splitter == "subword" else None
        if decoder is not None:
            return cast(str, decoder.decode([to_text(piece) for piece in pieces]))
        return to_text(self.unit_splitter.separator.encode("utf-8").join(pieces))

    def _unit(self, block: Integers) -> bytes:
        """Returns the bytes of a block's unit, or the name of a special token."""
        if block[0] < NUM_SPECIAL:
            return self._special_names[int(block[0])].encode("utf-8")
        return self._coder.decode((block[block >= NUM_SPECIAL] - NUM_SPECIAL).astype(np.uint8).tobytes())

    # -- Tokens, ids and the five special tokens ---------------------------------------------------------------------

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Returns the units of a text, normalised, as strings."""
        return self(text, pair, add_special_tokens=add_special_tokens, **kwargs).tokens()

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Returns the id, 0–4, of a special token, or the block, K elements, of any other token; a list for a list."""
        if not isinstance(tokens, str):
            return None if tokens is None else [self.convert_tokens_to_ids(token) for token in tokens]
        names = self._special_names
        if tokens in names:
            return names.index(tokens)
        return self._cache.as_array(self._cache.look_up_units([tokens]))[0].tolist()

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Returns the name of an element, see `get_vocab`, or the unit of a block; a list for a list."""
        if np.ndim(ids) == 0:
            return [*self._special_names, *BYTE_NAMES][int(ids)]
        if depth(ids) == 1 and len(ids) == self.block_size and (ids[0] >= NUM_SPECIAL or not any(ids[1:])):
            return to_text(self._unit(as_blocks(ids, self.block_size)[0]))
        kept = [row for row in ids if not skip_special_tokens or np.ravel(row)[0] >= NUM_SPECIAL]
        return [self.convert_ids_to_tokens(row) for row in kept]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Joins units with the splitter's separator."""
        return self.unit_splitter.separator.join(tokens)

    def get_special_tokens_mask(
        self, token_ids_0: Any, token_ids_1: Any = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Returns 1 for each special token or padding and 0 for each unit.

        The blocks are a row if `already_has_special_tokens`, else one or two sequences, which become a row.
        """
        if already_has_special_tokens:
            return cast(list[int], (as_blocks(token_ids_0, self.block_size)[:, 0] < NUM_SPECIAL).astype(int).tolist())
        second = [] if token_ids_1 is None else [0] * len(token_ids_1) + [1]
        return [1] + [0] * len(token_ids_0) + [1, *second]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Returns 2 for a text, [CLS] a [SEP], or 3 for a pair, [CLS] a [SEP] b [SEP]."""
        return 3 if pair else 2

    def add_special_tokens(self, special_tokens_dict: Any, *args: Any, **kwargs: Any) -> int:
        """Renames special tokens: role, such as `mask_token`, → name. Refuses new ones before anything changes."""
        check_special_tokens(special_tokens_dict, [str(special_tokens_dict.get(role, "")) for role in ROLES])
        return super().add_special_tokens(special_tokens_dict, *args, **kwargs)

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken], special_tokens: bool = False) -> int:
        check_special_tokens({"tokens": [*new_tokens]}, self._special_names)
        return 0

    @property
    def vocab_size(self) -> int:
        """Number of values of an element, 261: 5 special ids and 256 bytes. There is no vocabulary."""
        return NUM_SPECIAL + 256

    def __len__(self) -> int:
        return self.vocab_size

    def get_vocab(self) -> dict[str, int]:
        """Returns the values of an element by name: the special tokens, then the bytes, "<0x00>" to "<0xFF>"."""
        return {name: index for index, name in enumerate([*self._special_names, *BYTE_NAMES])}

    def get_added_vocab(self) -> dict[str, int]:
        """Returns the ids of the special tokens; no other token has one id."""
        return {name: index for index, name in enumerate(self._special_names)}

    added_tokens_encoder = property(get_added_vocab)

    @property
    def all_special_tokens(self) -> list[str]:
        """The names of the special tokens, by id."""
        return self._special_names

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The special tokens by id."""
        return {index: AddedToken(name, special=True) for index, name in enumerate(self._special_names)}

    @property
    def pad_token_id(self) -> int:
        """Id of [PAD], 0. Calls that pad read it, and the library's own property takes 2 µs more."""
        return PAD

    @property
    def _special_names(self) -> list[str]:
        return [str(self._special_tokens_map[role]) for role in ROLES]

    # -- Saving ------------------------------------------------------------------------------------------------------

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Writes those of `subword.json`, `target.json` and `ngrams.json` that the tokenizer has; returns the paths."""
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        files = []
        for name, tokenizer in (("subword_file", self._subword), ("target_file", self._target)):
            if tokenizer is not None:
                files.append(os.path.join(save_directory, prefix + self.vocab_files_names[name]))
                tokenizer.save(files[-1])
        if self._ngrams is not None:
            files.append(os.path.join(save_directory, prefix + self.vocab_files_names["ngrams_file"]))
            Path(files[-1]).write_text(json.dumps(self._ngrams, ensure_ascii=False), encoding="utf-8")
        return tuple(files)


# dill, by which `datasets` names the results in its cache, looks for classes here.
if __package__:
    setattr(importlib.import_module(__package__), __name__.rpartition(".")[2], sys.modules[__name__])
