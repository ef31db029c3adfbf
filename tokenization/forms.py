r"""Normal forms of Unicode, and forms of one word that readers take for the same: the option `fold_forms` of splitters.

`fold_text` keeps the length of a text, so offsets are exact. It makes one character of all that are invisible, which
the splitters let a word go on with, one apostrophe and one double quote of the typographic ones, a hyphen of its
variants, and a space of `_`. `fold_unit` takes that character out of a unit, and what writers leave out as they like:
the tatweel and the vowel points of Arabic and Hebrew, and the dots of Cyrillic ё. Arabic and Persian kaf and yeh become
the same letters. The joiners U+200C and U+200D stay, since they change letters, and so do all other accents.

Sources: Unicode 17, its Default_Ignorable_Code_Point, and the names in UnicodeData. The tables never change, so hashes
do not. `browser/forms.js` has the same tables.
"""

import re
import unicodedata
from itertools import groupby
from typing import Literal

import regex

from .scripts import HALF_WIDTH_MARKS

MAX_MARKS = 30  # in a run, in any natural text: the limit of Unicode's Stream-Safe Text Format (UAX 15)
_LONG_RUN_OF_MARKS = regex.compile(rf"[\p{{M}}{HALF_WIDTH_MARKS}]{{{MAX_MARKS},}}+")
INVISIBLE = "\u00ad"  # the soft hyphen, which stands for all of them
_INVISIBLE = "\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufff9-\ufffb"
_LOOK_ALIKES = {
    INVISIBLE: f"[{_INVISIBLE}]",
    "'": "[\u02bb-\u02bd\u055a\u05f3\u2018\u2019\u201b\ua78b\ua78c]",
    '"': "[\u05f4\u201c\u201d\u201f]",
    "-": "[\u2010\u2011]",
    " ": "_",
}
_CHANGED = re.compile("|".join(_LOOK_ALIKES.values()))
_SAME_LENGTH = {
    code: form
    for form, characters in _LOOK_ALIKES.items()
    for code in range(1 << 16)
    if re.fullmatch(characters, chr(code))
}
# Of decomposed texts. The hamza and madda above and below, U+0653 to U+0655, make other letters, and stay.
_LEFT_OUT = re.compile(
    f"[{INVISIBLE}\u0640\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u08d3-\u08e1\u08e3-\u08ff\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]|(?<=[\u0415\u0435])\u0308"
)
_SAME_LETTERS = {0x06A9: "\u0643", 0x06CC: "\u064a"}  # keheh and Farsi yeh


def compose(text: str) -> str:
    """Returns the canonical composition (NFC) of a text in linear time."""
    return normal_form(text, "NFC")


def normal_form(text: str, form: Literal["NFC", "NFKD"]) -> str:
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


def fold_text(text: str) -> str:
    """Returns a text of the same length, with one form of characters that look alike.

    >>> fold_text("the read_file’s")
    "the read file's"
    """
    if text.isascii():
        return text.replace("_", " ")
    return text.translate(_SAME_LENGTH) if _CHANGED.search(text) else text


def fold_unit(unit: str) -> str:
    """Returns a decomposed unit (NFKD) without what readers do not need; a unit of such characters alone stays.

    >>> fold_unit("docu\u00adment"), fold_unit("мед") == fold_unit("ме\u0308д")
    ('document', True)
    """
    return _LEFT_OUT.sub("", unit).translate(_SAME_LETTERS) or unit
