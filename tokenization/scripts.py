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


def script_runs(window: int) -> regex.Pattern[str]:
    """Returns the pattern of the units of `ScriptSplitter`, for any text."""
    marks, others = f"[{CONTINUES}{HALF_WIDTH_MARKS}]*+", f"{WORD}{SPACE}"
    ideographs, *kana, asian = (_letters(script) for script in (IDEOGRAPHS, *KANA, SOUTH_EAST_ASIAN))
    word = rf"[[{WORD}]--[{ideographs}{''.join(kana)}{asian}]]"
    units = [
        f"{ideographs}{marks}",
        *(f"(?:{letters}{marks})++" for letters in kana),
        rf"{asian}{marks}(?:(?!\p{{Logical_Order_Exception}}){asian}{marks}){{,{window - 1}}}+",
        f"(?:{word}{marks})++",
        f"[^{others}](?:[^{others}]|[{CONTINUES}{HALF_WIDTH_MARKS}])*+",
    ]
    return regex.compile(f"(?V1){'|'.join(units)}")


def _letters(script: str) -> str:
    """Returns the set of the letters of a script, without its marks, digits and punctuation."""
    return rf"[[{script}]&&[\p{{L}}\p{{Nl}}]]"
