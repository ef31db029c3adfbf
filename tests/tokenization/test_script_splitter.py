"""The splitter for every script against its rules written out character by character."""

import sys
import time
import unicodedata

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from vocabless import VocablessTokenizer
from vocabless.tokenization import scripts
from vocabless.tokenization.splitters import ScriptSplitter, WordSplitter

# How the Unicode names of the letters of each kind begin.
NAMES = {
    "ideograph": (
        "CJK ",
        "VERTICAL IDEOGRAPHIC ",
        "IDEOGRAPHIC ",
        "HANGZHOU NUMERAL",
        "YI ",
        "TANGUT ",
        "NUSHU ",
        "KHITAN ",
        "OLD CHINESE",
    ),
    "hiragana": ("HIRAGANA ", "HENTAIGANA ", "KATAKANA-HIRAGANA PROLONGED", "VERTICAL KANA"),
    "katakana": ("KATAKANA ", "HALFWIDTH KATAKANA"),
    "bopomofo": ("BOPOMOFO ",),
    "window": ("THAI ", "LAO ", "MYANMAR ", "KHMER ", "TAI LE ", "NEW TAI LUE ", "TAI THAM ", "TAI VIET ", "AHOM "),
}
FIRST_VOWELS = "เแโใไເແໂໃໄ\u19b5\u19b6\u19b7\u19ba\uaab5\uaab6\uaab9\uaabb\uaabc"  # written before their consonant
HALF_WIDTH_MARKS = "\uff9e\uff9f"
PIECES = st.sampled_from(
    [
        *"aZ_9 .!\t\u0301\u200b\u200c\u200d\u3000\ufe0fß½٣๓中文字かガー々〆〇ｶ\uff9eㄅꀀไทยำກကခកម",
        *(
            "हिन्दी",
            "한국어",
            "مُحَمَّد",
            "ภาษาไทย",
            "ကမ္ဘာ",
            "ខ្មែរ",
            "ພາສາລາວ",
            "👩🏽\u200d🔬❤️",
            "，「」。",
            "２０２４",
            "か\u3099",
            "\ud800",
            "𠮷",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.characters(exclude_categories=["Cn"]), max_size=40).map("".join)


def kind_of(c):
    if c.isspace() or c in "\u200b\ufeff":
        return "space"
    if unicodedata.category(c) in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nl") and c not in HALF_WIDTH_MARKS:
        name = unicodedata.name(c, "TANGUT ")  # Python has no names for Tangut
        if name.startswith("KATAKANA LETTER MINNAN"):  # marks of tones
            return "katakana"
        for kind, names in NAMES.items():
            if name.startswith(names):
                return kind
    return "word" if unicodedata.category(c)[0] in "LMN" or c == "_" else "other"


def oracle(text, window):
    """Returns the spans and the word ids of the units, one character at a time."""
    spans, words, kind, letters = [], [], None, 0
    for index, c in enumerate(text):
        of_c = kind_of(c)
        continues = unicodedata.category(c)[0] == "M" or c in "\u200c\u200d" + HALF_WIDTH_MARKS
        if of_c == "space":
            kind = None
        elif (continues and kind) or goes_on(kind, c, of_c, letters, window):
            letters += not continues
            spans[-1] = (spans[-1][0], index + 1)
        else:
            spans.append((index, index + 1))
            words.append((words[-1] if words else -1) + (not of_c == kind == "window"))
            kind, letters = of_c, 1
    return spans, words


def goes_on(kind, c, of_c, letters, window):
    """Returns whether a character continues a unit of `letters` letters and of a kind."""
    if kind in ("ideograph", None):
        return False
    if c in "ー":
        return kind in ("hiragana", "katakana")
    is_full = kind == "window" and (letters == window or c in FIRST_VOWELS)
    return (c == "ｰ" and kind == "katakana") or (kind == of_c and not is_full)


def test_every_letter_is_of_the_kind_that_its_name_says():
    kinds = {chr(code): kind_of(chr(code)) for code in range(0x110000) if unicodedata.category(chr(code)) != "Cn"}
    ideograph, *kana, window = (
        regex.compile(f"(?V1){scripts._letters(each)}")
        for each in (scripts.IDEOGRAPHS, *scripts.KANA, scripts.SOUTH_EAST_ASIAN)
    )
    patterns = {"ideograph": ideograph, "hiragana": kana[0], "katakana": kana[1], "bopomofo": kana[2], "window": window}
    for kind, pattern in patterns.items():
        found = {c for c in kinds if pattern.match(c)}
        assert found - {"ー"} == {c for c in kinds if kinds[c] == kind} - {"ー"}
        assert all(scripts.MAY_LACK_SPACES.match(c) for c in found)


@settings(max_examples=1500, deadline=None)
@given(TEXTS, st.integers(1, 4))
def test_units_of_every_script_follow_the_rules(text, window):
    splitter = ScriptSplitter(window=window)
    spans, words = oracle(text, window)
    assert splitter.spans(text) == spans
    assert list(splitter.word_ids(text)) == words
    assert list(splitter.units(text)) == [text[start:end] for start, end in spans]


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_composed_and_decomposed_texts_have_the_same_units(text):
    splitter = ScriptSplitter(lowercase=True)
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    units = [[splitter.normalize(unit) for unit in splitter.units(form)] for form in (text, *forms)]
    assert units[0] == units[1] == units[2]


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_texts_of_scripts_with_spaces_have_the_units_of_words(text):
    spaced = "".join(c for c in text if kind_of(c) not in NAMES and c not in HALF_WIDTH_MARKS)
    assert list(ScriptSplitter().units(spaced)) == list(WordSplitter().units(spaced))


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("한국어를 배우고 있어요!", ["한국어를", "배우고", "있어요", "!"]),
        (unicodedata.normalize("NFD", "한국어"), ["한국어"]),
        ("क्षत्रिय हिन्दी", ["क्षत्रिय", "हिन्दी"]),
        ("مُحَمَّدٌ می\u200cخواهم", ["مُحَمَّدٌ", "می\u200cخواهم"]),
        ("👩🏽\u200d🔬👨\u200d👩\u200d👧 ok", ["👩🏽\u200d🔬👨\u200d👩\u200d👧", "ok"]),
        ("１２３ ٣٫١٤ ๑๒ 二〇", ["123", "3", "٫", "14", "12", "二", "〇"]),
        ("iPhone15を買った。", ["iphone15", "を", "買", "った", "。"]),
        ("ｶﾞﾗｽＡＢＣ らーめんスープ", ["ガラス", "abc", "らーめん", "スープ"]),
        ("自然言語處理", ["自", "然", "言", "語", "處", "理"]),
        ("กำลังทำงาน", ["ก\u0e4d\u0e32ลัง", "ท\u0e4d\u0e32งา", "น"]),
        ("เริ่มใช้การ", ["เริ่ม", "ใช้กา", "ร"]),
        ("ភាសាខ្មែរ ພາສາລາວ မြန်မာ", ["ភាសាខ្មែ", "រ", "ພາສາ", "ລາວ", "မြန်မာ"]),
        ("ﷲ ﻻ ﬁn", ["الله", "لا", "fin"]),
    ],
)
def test_units_of_many_scripts(text, units):
    splitter = ScriptSplitter(window=4, lowercase=True)
    assert [splitter.normalize(unit) for unit in splitter.units(text)] == [
        unicodedata.normalize("NFKD", unit) for unit in units
    ]


def test_decimal_digits_of_all_scripts_become_ascii():
    digits = [chr(code) for code in range(sys.maxunicode) if unicodedata.category(chr(code)) == "Nd"]
    assert len(digits) > 600
    assert ScriptSplitter().normalize("".join(digits)) == "0123456789" * (len(digits) // 10)
    assert ScriptSplitter(lowercase=True).normalize("Ⅷ²½A\u0661") == "viii21⁄2a1"


def test_offsets_and_word_ids_reach_the_tokenizer():
    tokenizer = VocablessTokenizer("scripts", "utf8", {"window": 6}, {"block_size": 64})
    encoding = tokenizer("Ada は東京に, ไทยกขคง", return_offsets_mapping=True, add_special_tokens=False)
    assert encoding["offset_mapping"] == [(0, 3), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (10, 16), (16, 17)]
    assert encoding.word_ids() == [0, 1, 2, 3, 4, 5, 6, 6]
    assert tokenizer.decode(encoding["input_ids"]) == "Ada は 東 京 に , ไทยกขค ง"


def test_a_mask_in_a_text_without_spaces_is_the_mask_token():
    encoding = VocablessTokenizer("scripts", "utf8")("自[MASK]ไทย[MASK]", return_offsets_mapping=True)
    assert encoding.tokens() == ["[CLS]", "自", "[MASK]", "ไทย", "[MASK]", "[SEP]"]
    assert encoding["offset_mapping"][1:-1] == [(0, 1), (1, 7), (7, 10), (10, 16)]


@pytest.mark.parametrize("piece", ["中", "ไท", "e\u0301", "ｶﾞ", "中\u0301\u0316", "a中", "!", "ا\u064b\u0651"])
def test_cutting_takes_linear_time(piece):
    splitter, text = ScriptSplitter(window=2), "x" + piece * 100_000
    start = time.process_time()
    splitter.normalize_all(splitter.units(text))
    assert len(splitter.word_ids(text)) == len(splitter.spans(text))
    assert time.process_time() - start < 8
