"""The option `fold_forms`: what a reader takes for one word is one block, and other words stay what they were."""

import sys
import unicodedata

import pytest
from strings import random_strings

from vocabless import VocablessTokenizer
from vocabless.tokenization.forms import _LEFT_OUT, _SAME_LENGTH, INVISIBLE, fold_text
from vocabless.tokenization.splitters import ScriptSplitter, WordSplitter

FORMS = [
    ("The hyphenation of documents", "The hyphen\u00adation of docu\u00adments\u00ad"),
    ("Wonderful evening!", "\ufeff\u2060Won\u2060derful \u2062 evening!\u2060"),
    ("hello world", "\u202bhello world\u202c"),
    ("hello world", "\u2067hello\u2069 \u200eworld\u200f"),
    ("the file and the office", "the \ufb01le and the o\ufb03ce"),
    ("happy birthday (2)", "ｈａｐｐｙ ｂｉｒｔｈｄａｙ （２）"),
    ("load the read file settings", "load the read_file __settings__"),
    ('don\'t say "no" co-op', "don’t say “no” co\u2010op"),
    ("مرحبا بالعالم", "\u061cمرحـــبا بالعالـــم\u200f"),
    ("كتب الطالب الدرس", "كَتَبَ الطَّالِبُ الدَّرْسَ"),
    ("هذا الرحمن", "هٰذا الرَّحمٰن"),
    ("שלום עולם", "שָׁלוֹם עוֹלָם"),
    ("שלום", "\ufb2aלו\u05b9ם"),
    ("ג'ירפה צה\"ל", "ג׳ירפה צה״ל"),
    ("п'ять м'ячів", "п\u02bcять м’ячів"),
    ("ёлка и мёд Ёж", "елка и мед Еж"),
    ("علی کتاب", "علي كتاب"),
]
OTHERS = [
    *(("їжак", "іжак"), ("йод", "иод"), ("می\u200cخواهم", "میخواهم"), ("أحمد", "احمد"), ("schön", "schon")),
    *(("a.b", "ab"), ("re-do", "redo"), ("ガ", "カ"), ("हिन्दी", "हिनदी"), ("ที่", "ที")),
]
TOKENIZERS = {
    name: VocablessTokenizer(name, "utf8", {"lowercase": True, "fold_forms": True}, {"block_size": 64})
    for name in ("word", "scripts")
}


def blocks(tokenizer, text):
    return tokenizer(text)["input_ids"]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_forms_of_one_text_have_the_same_blocks_and_other_words_do_not(name):
    tokenizer = TOKENIZERS[name]
    plain = VocablessTokenizer(name, "utf8", {"lowercase": True}, {"block_size": 64})
    assert [form for text, form in FORMS if blocks(tokenizer, text) != blocks(tokenizer, form)] == []
    assert [form for text, form in OTHERS if blocks(tokenizer, text) == blocks(tokenizer, form)] == []
    for text in ("Ein schöner Tag – naïve café, 3.14!", "Đường phố Hà Nội", "ไม่สามารถ 中文字 हिन्दी में", "👩🏽‍🔬❤️"):
        assert blocks(tokenizer, text) == blocks(plain, text)


@pytest.mark.parametrize("splitter", [WordSplitter(fold_forms=True), ScriptSplitter(fold_forms=True, window=3)])
def test_offsets_are_those_of_the_unchanged_text(splitter):
    for text in [*random_strings(1000), *(form for pair in FORMS for form in pair)]:
        folded = fold_text(text)
        assert len(folded) == len(text)
        units = splitter.units(text)
        assert units == [folded[start:end] for start, end in splitter.spans(text)]
        assert len(splitter.word_ids(text)) == len(units)
        assert all(unit[0] != INVISIBLE and splitter.normalize(unit) for unit in units)


def test_a_unit_of_left_out_characters_alone_keeps_them():
    for splitter in WordSplitter(fold_forms=True), ScriptSplitter(fold_forms=True):
        assert splitter.normalize_all(splitter.units("ـ \u064e \u00ad")) == ["ـ", "\u064e"]


def test_the_tables_hold_what_unicode_calls_invisible_or_a_point():
    characters = [chr(code) for code in range(128, sys.maxunicode)]
    invisible = {c for c in characters if _SAME_LENGTH.get(ord(c)) == INVISIBLE}
    formats = {c for c in characters if unicodedata.category(c) == "Cf" and c <= "\uffff"}
    joiners_spaces_and_signs = {
        *"\u200b\u200c\u200d\ufeff\u070f\u08e2\u06dd",
        *map(chr, range(0x600, 0x606)),
        "\u0890",
        "\u0891",
    }
    assert invisible - {"\u034f"} == formats - joiners_spaces_and_signs
    left_out = [c for c in characters if _LEFT_OUT.fullmatch(c) and c != INVISIBLE]
    assert all(unicodedata.category(c) in ("Mn", "Cn") or c == "ـ" for c in left_out)
    names = {unicodedata.name(c, "ARABIC").split()[0] for c in left_out}
    assert names == {"ARABIC", "HEBREW"}
    assert all(unicodedata.decomposition(c) == "" for c in left_out)  # they are looked for in decomposed texts
