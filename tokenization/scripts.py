"""Patterns of the scripts that are written without spaces between words.

Of the line-breaking classes of Unicode (UAX 14), ID has the ideographs and the kana, SA has Thai, Lao, Khmer, Myanmar
and their relatives. `browser/scripts.js` has the same patterns.
"""

import re

import regex

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
