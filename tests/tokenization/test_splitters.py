"""Splitters against their rules written out character by character."""

import itertools
import random
import sys
import unicodedata

import pytest
import regex
from strings import random_strings
from tokenizers import Tokenizer, processors

from vocabless.tokenization import forms, scripts
from vocabless.tokenization.forms import normal_form
from vocabless.tokenization.splitters import (
    SPLITTERS,
    ByteSplitter,
    ScriptSplitter,
    SubwordSplitter,
    WhitespaceSplitter,
    WordSplitter,
    to_bytes,
)

# How the Unicode names of the letters of each kind begin.
NAMES = {
    "ideograph": (
        *("CJK ", "VERTICAL IDEOGRAPHIC ", "IDEOGRAPHIC ", "HANGZHOU NUMERAL", "YI ", "TANGUT ", "NUSHU ", "KHITAN "),
        "OLD CHINESE",
    ),
    "hiragana": ("HIRAGANA ", "HENTAIGANA ", "KATAKANA-HIRAGANA PROLONGED", "VERTICAL KANA"),
    "katakana": ("KATAKANA ", "HALFWIDTH KATAKANA"),
    "bopomofo": ("BOPOMOFO ",),
    "window": ("THAI ", "LAO ", "MYANMAR ", "KHMER ", "TAI LE ", "NEW TAI LUE ", "TAI THAM ", "TAI VIET ", "AHOM "),
}
FIRST_VOWELS = "เแโใไເແໂໃໄ\u19b5\u19b6\u19b7\u19ba\uaab5\uaab6\uaab9\uaabb\uaabc"  # written before their consonant
HALF_WIDTH_MARKS = "\uff9e\uff9f"
HARD = [
    *("", " ", "\x00", "a\x00b", "\ud800", "a\ud800 b", "👩🏽‍🔬❤️", "हिन्दी में", "ภาษาไทย", "مُحَمَّد", "自然 言語", "é"),
    *("a\u200cb\u200d!\u200c", "中文字かガー々〆〇ｶ\uff9eㄅꀀไทยำກകခကម", "ພາສາລາວ", "，「」。", "ー\uff9e𠮷\udfff"),
]
TEXTS = [*HARD, *random_strings(2000)]
TEXTS += [text.encode("ascii", "ignore").decode() for text in TEXTS[:500]]


def is_space(c):
    return c.isspace() or c in "\u200b\ufeff"


def kind_of(c, names=NAMES):
    if is_space(c):
        return "space"
    if unicodedata.category(c) in ("Lu", "Ll", "Lt", "Lm", "Lo", "Nl") and c not in HALF_WIDTH_MARKS:
        name = unicodedata.name(c, "TANGUT ")  # Python has no names for Tangut
        if names and name.startswith("KATAKANA LETTER MINNAN"):  # marks of tones
            return "katakana"
        for kind, beginnings in names.items():
            if name.startswith(beginnings):
                return kind
    return "word" if unicodedata.category(c)[0] in "LMN" or c == "_" else "other"


def oracle(text, window=0, names=NAMES):
    """Returns the spans and the word ids of the units, one character at a time. Without names, no script is special."""
    spans, words, kind, letters = [], [], None, 0
    for index, c in enumerate(text):
        of_c = kind_of(c, names)
        continues = unicodedata.category(c)[0] == "M" or c in "\u200c\u200d" + (HALF_WIDTH_MARKS if names else "")
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
    if c == "ー" and of_c != "word":
        return kind in ("hiragana", "katakana")
    is_full = kind == "window" and (letters == window or c in FIRST_VOWELS)
    return kind == of_c and not is_full


def test_words_and_runs_follow_their_rules():
    words, runs = WordSplitter(), WhitespaceSplitter()
    for text in TEXTS:
        assert words.spans(text) == oracle(text, names={})[0]
        assert runs.units(text) == "".join(" " if is_space(c) else c for c in text).split()
        for splitter in (words, runs):
            units = list(splitter.units(text))
            assert units == [text[start:end] for start, end in splitter.spans(text)]
            assert [list(one) for one in splitter.units_of_batch([text, "", text])] == [units, [], units]
            assert len(splitter.word_ids(text)) == len(units)


@pytest.mark.parametrize("window", [1, 3, 9])
def test_byte_windows_join_to_the_text_and_their_spans_contain_them(window):
    splitter = ByteSplitter(window=window)
    for text in TEXTS:
        units, spans = splitter.units(text), splitter.spans(text)
        assert b"".join(units) == to_bytes(text)
        assert all(len(unit) == window for unit in units[:-1])
        for unit, (start, end) in zip(units, spans, strict=True):
            assert unit in to_bytes(text[start:end])
            assert len(to_bytes(text[start:end])) <= len(unit) + 6  # at most three bytes too many on each side


def test_composing_each_unit_composes_the_text():
    splitter = WordSplitter()
    for text in TEXTS:
        whole = splitter.units(unicodedata.normalize("NFC", text))
        assert [splitter.normalize(unit) for unit in splitter.units(text)] == whole


@pytest.fixture(params=["wordpiece", "bpe"])
def file(request, subwords):
    return subwords[request.param]


@pytest.mark.parametrize("text", ["the quick fox", "naïve 自然 cats", "", "  spaces  ", "unbelievably!"])
def test_subword_units_are_the_tokenizers_own_tokens(file, text):
    splitter, reference = SubwordSplitter(Tokenizer.from_file(file)), Tokenizer.from_file(file)
    reference.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=True)
    expected = reference.encode(text, add_special_tokens=False)
    assert splitter.units(text) == expected.tokens
    assert splitter.spans(text) == expected.offsets
    assert splitter.word_ids(text) == expected.word_ids
    assert splitter.units_of_batch([text, "the"])[0] == expected.tokens


def test_the_subword_tokenizers_special_names_padding_and_truncation_are_off(file):
    tokenizer = Tokenizer.from_file(file)
    expected = tokenizer.encode("the quick fox").tokens
    tokenizer.add_special_tokens(["[MASK]"])
    tokenizer.enable_padding(length=50)
    tokenizer.enable_truncation(2)
    splitter = SubwordSplitter(tokenizer)
    assert splitter.units("the quick fox") == expected
    assert "[MASK]" not in splitter.units("a [MASK] b") and len(splitter.units("a [MASK] b")) > 3


def test_the_subword_splitter_replaces_lone_surrogates(subwords):
    splitter = SubwordSplitter(Tokenizer.from_file(subwords["bpe"]))
    assert splitter.spans("a\ud800b")[-1] == (2, 3)
    assert splitter.units("a\ud800b") == splitter.units("a\ufffdb")


MARKS = ["\u0301", "\u0316", "\u0344", "\u0f73", "\u034f", "\u0327", "\u0e38", "é", "a", "\u1100", "\u1161", "\u0903"]


def test_composition_is_that_of_unicode():
    draw = random.Random(0)
    for length in range(20, 120):
        text = "".join(draw.choices(MARKS, k=length))
        assert normal_form(text) == unicodedata.normalize("NFC", text)
    assert WordSplitter(lowercase=True).normalize("T\u0308") == "\u1e97"  # only its lower case has a composed form


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


@pytest.mark.parametrize("window", [1, 4])
def test_units_of_every_script_follow_the_rules(window):
    splitter = ScriptSplitter(window=window, lowercase=True)
    for text in TEXTS:
        spans, words = oracle(text, window)
        assert splitter.spans(text) == spans
        assert list(splitter.word_ids(text)) == words
        assert list(splitter.units(text)) == [text[start:end] for start, end in spans]
        forms = (text, *(unicodedata.normalize(form, text) for form in ("NFC", "NFD")))
        units = [splitter.normalize_all(splitter.units(form)) for form in forms]
        assert units[0] == units[1] == units[2]


@pytest.mark.parametrize(("text", "units"), [
    ("한국어를 배우고 있어요!", ["한국어를", "배우고", "있어요", "!"]),
    ("مُحَمَّدٌ می\u200cخواهم", ["مُحَمَّدٌ", "می\u200cخواهم"]),
    ("👩🏽\u200d🔬👨\u200d👩\u200d👧 ok", ["👩🏽\u200d🔬👨\u200d👩\u200d👧", "ok"]),
    ("１２３ ٣٫١٤ ๑๒ 二〇", ["123", "3", "٫", "14", "12", "二", "〇"]),
    ("iPhone15を買った。", ["iphone15", "を", "買", "った", "。"]),
    ("ｶﾞﾗｽＡＢＣ らーめんスープ", ["ガラス", "abc", "らーめん", "スープ"]),
    ("เริ่มใช้การ", ["เริ่ม", "ใช้กา", "ร"]),
    ("ភាសាខ្មែរ ພາສາລາວ မြန်မာ", ["ភាសាខ្មែ", "រ", "ພາສາ", "ລາວ", "မြန်မာ"]),
    ("ﷲ ﻻ ﬁn", ["الله", "لا", "fin"]),
])  # fmt: skip
def test_units_of_many_scripts(text, units):
    splitter = ScriptSplitter(window=4, lowercase=True)
    assert splitter.normalize_all(splitter.units(text)) == [unicodedata.normalize("NFKD", unit) for unit in units]


def test_decimal_digits_of_all_scripts_become_ascii():
    digits = [chr(zero + value) for zero in scripts.ZEROS for value in range(10)]
    assert len(digits) == 760 and ScriptSplitter().normalize("".join(digits)) == "0123456789" * 76
    known = [c for c in map(chr, range(128, sys.maxunicode)) if unicodedata.category(c) == "Nd"]
    assert not {*known} - {*digits} or unicodedata.unidata_version > "17.0.0"
    assert all(str(unicodedata.decimal(c)) == ScriptSplitter().normalize(c) for c in {*known} & {*digits})
    assert ScriptSplitter(lowercase=True).normalize("Ⅷ²½A\u0661") == "viii21⁄2a1"


@pytest.mark.parametrize(("text", "units"), [
    ("\U00011f04\U00011f34\U00011f50 \U00011f51!", ["\U00011f04\U00011f340", "1", "!"]),  # Unicode 15: Kawi
    ("\U0001e4d0\U0001e4ec\U0001e4f3", ["\U0001e4d0\U0001e4ec3"]),  # Unicode 15: Nag Mundari
    ("\U0001ccf0\U00010d41", ["01"]),  # Unicode 16: outlined digits, Garay
])  # fmt: skip
def test_characters_newer_than_the_oldest_python_have_the_same_units_in_each(text, units):
    splitter = ScriptSplitter(lowercase=True)
    assert splitter.normalize_all(splitter.units(text)) == units


MANY = [
    *((name, "\u0301\u0316") for name in SPLITTERS if name != "subword"),
    *(("scripts", piece) for piece in ("中", "ไท", "e\u0301", "ｶﾞ", "中\u0301\u0316", "a中", "!", "ا\u064b\u0651")),
]


@pytest.mark.parametrize(("name", "piece"), MANY)
def test_cutting_and_normalising_take_linear_work(name, piece, monkeypatch):
    """`unicodedata.normalize` sorts marks by insertion: it moves a mark past all marks before it of a greater class."""
    normalize, work = unicodedata.normalize, []

    def counted(form, text):
        form_of_marks = "NFKD" if "K" in form else "NFD"
        classes = [unicodedata.combining(c) for each in text for c in normalize(form_of_marks, each)]
        runs = [list(run) for is_mark, run in itertools.groupby(classes, key=bool) if is_mark]
        work.append(len(text) + sum(one > other for run in runs for one, other in itertools.combinations(run, 2)))
        return normalize(form, text)

    monkeypatch.setattr(forms.unicodedata, "normalize", counted)
    splitter, text = SPLITTERS[name](**{} if name == "bytes" else {"lowercase": True}), "x" + piece * 1_000
    splitter.normalize_all(splitter.units(text))
    assert len(splitter.word_ids(text)) == len(splitter.spans(text))
    assert sum(work) < 20 * len(text)
