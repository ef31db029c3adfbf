r"""Normal forms of Unicode, and forms of one word that readers take for the same: the option `fold_forms` of splitters.

`Forms.fold_text` keeps the length of a text, so offsets are exact. It makes one character of all that are invisible,
which the splitters let a word go on with, one apostrophe and one double quote of the typographic ones, a hyphen of its
variants, and a space of `_`. `Forms.fold_unit` takes that character out of a unit, and what writers leave out as they
like: the tatweel and the vowel points of Arabic and Hebrew, and the dots of Cyrillic ё. Arabic and Persian kaf and yeh
become the same letters. All other accents stay.

The first edition is in this file, the second, which also knows the joiners U+200C and U+200D, in `second_forms`.
Sources: Unicode 17, its Default_Ignorable_Code_Point, and the names in UnicodeData. The tables of an edition never
change, so hashes do not. A web page gets the tables with its model, see `page_forms`.
"""

import re
import unicodedata
from itertools import groupby
from typing import Any, Literal

import regex

from .scripts import HALF_WIDTH_MARKS

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
