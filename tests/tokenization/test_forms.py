"""The option `fold_forms`: what a reader takes for one word is one block, and other words stay what they were."""

import random
import re
import sys
import unicodedata

import pytest
import regex
from strings import random_strings
from word_forms import FORMS, FORMS_OF_EDITION_2

from vocabless import VocablessTokenizer
from vocabless.tokenization.forms import FIRST_FORMS, INVISIBLE, POINTS
from vocabless.tokenization.second_forms import FORMS as EDITIONS
from vocabless.tokenization.splitters import ScriptSplitter, WordSplitter

OTHERS = [
    *(("їжак", "іжак"), ("йод", "иод"), ("أحمد", "احمد"), ("schön", "schon"), ("łoś", "los"), ("đa", "da")),
    *(("quý", "quy"), ("кьό", "кьо"), ("बड़ा", "बडा"), ("ѝ", "и"), ("على", "علي"), ("ısı", "isi"), ("cœur", "coeur")),
    *(("a.b", "ab"), ("re-do", "redo"), ("ガ", "カ"), ("हिन्दी", "हिनदी"), ("ที่", "ที")),
]
TOKENIZERS = {
    (name, edition): VocablessTokenizer(name, "utf8", {"lowercase": True, "fold_forms": edition}, {"block_size": 64})
    for name in ("word", "scripts")
    for edition in (True, 2)
}
SPLITTERS = [kind(fold_forms=edition) for kind in (WordSplitter, ScriptSplitter) for edition in (True, 2)]


def blocks(tokenizer, text):
    return tokenizer(text)["input_ids"]


@pytest.mark.parametrize(("name", "edition"), TOKENIZERS)
def test_forms_of_one_text_have_the_same_blocks_and_other_words_do_not(name, edition):
    tokenizer = TOKENIZERS[name, edition]
    plain = VocablessTokenizer(name, "utf8", {"lowercase": True}, {"block_size": 64})
    forms = FORMS + FORMS_OF_EDITION_2 * (edition == 2)
    assert [form for text, form in forms if blocks(tokenizer, text) != blocks(tokenizer, form)] == []
    assert [form for text, form in OTHERS if blocks(tokenizer, text) == blocks(tokenizer, form)] == []
    for text in ("Ein schöner Tag – naïve café, 3.14!", "Đường phố Hà Nội", "ไม่สามารถ 中文字 हिंदी में", "👩🏽🔬❤"):
        assert blocks(tokenizer, text) == blocks(plain, text)


@pytest.mark.parametrize("name", ["word", "scripts"])
def test_the_first_edition_is_without_what_the_second_one_adds(name):
    tokenizer = TOKENIZERS[name, True]
    assert [form for text, form in FORMS_OF_EDITION_2 if blocks(tokenizer, text) == blocks(tokenizer, form)] == []


@pytest.mark.parametrize("name", ["word", "scripts"])
def test_joiners_anywhere_within_words_of_any_script_change_nothing_in_the_second_edition(name):
    tokenizer, generator = TOKENIZERS[name, 2], random.Random(0)
    for first, last in (
        (0x41, 0x17F),
        (0x370, 0x52F),
        (0x5D0, 0x6FF),
        (0x900, 0x9FF),
        (0xE01, 0xEFF),
        (0x3041, 0xD7A3),
    ):
        letters = [c for c in map(chr, range(first, last)) if regex.match(r"[\p{L}\p{M}]", c)]
        for _ in range(200):
            word = generator.choice(letters) + "".join(generator.choices(letters, k=5))
            at = generator.randint(0, len(word))
            joined = f"{word[:at]}\u200c{word[at:]}"
            assert blocks(tokenizer, joined) == blocks(tokenizer, word), joined.encode("unicode_escape")


@pytest.mark.parametrize("name", ["word", "scripts"])
def test_a_character_that_stands_for_one_letter_has_the_blocks_of_this_letter_in_the_second_edition(name):
    tokenizer = TOKENIZERS[name, 2]
    wrong = []
    for character in map(chr, [*range(0xA0, 0xD800), *range(0xF900, 0x10000), *range(0x1D400, 0x1D800)]):
        letter = unicodedata.normalize("NFKC", character)
        if letter != character and regex.fullmatch(r"[\p{L}\p{N}]", letter):
            if blocks(tokenizer, f"a {character}b{character}!") != blocks(tokenizer, f"a {letter}b{letter}!"):
                wrong.append(character)
    assert wrong == []


@pytest.mark.parametrize("splitter", [*SPLITTERS, ScriptSplitter(fold_forms=2, window=3)])
def test_offsets_are_those_of_the_unchanged_text(splitter):
    fold = EDITIONS[splitter.fold_forms].fold_text
    for text in [*random_strings(1000), *(form for pair in FORMS + FORMS_OF_EDITION_2 for form in pair)]:
        folded = fold(text)
        assert len(folded) == len(text)
        units = splitter.units(text)
        assert units == [folded[start:end] for start, end in splitter.spans(text)]
        assert len(splitter.word_ids(text)) == len(units)
        assert all(unit[0] != INVISIBLE and splitter.normalize(unit) for unit in units)


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_a_unit_of_left_out_characters_alone_keeps_them(splitter):
    assert splitter.normalize_all(splitter.units("ـ \u064e \u00ad")) == ["ـ", "\u064e"]


def test_an_unknown_edition_is_refused():
    for edition in (3, -1, "2", 1.0):
        with pytest.raises(ValueError, match="fold_forms="):
            VocablessTokenizer("word", "utf8", {"fold_forms": edition})


def test_the_tables_hold_what_unicode_calls_invisible_or_a_point():
    characters = [chr(code) for code in range(128, sys.maxunicode)]
    invisible = {c for c in characters if FIRST_FORMS.same_length.get(ord(c)) == INVISIBLE}
    formats = {c for c in characters if unicodedata.category(c) == "Cf" and c <= "\uffff"}
    joiners_spaces_and_signs = {
        *"\u200b\u200c\u200d\ufeff\u070f\u08e2\u06dd",
        *map(chr, range(0x600, 0x606)),
        "\u0890",
        "\u0891",
    }
    assert invisible - {"\u034f"} == formats - joiners_spaces_and_signs
    left_out = [c for c in characters if re.fullmatch(f"[{POINTS}]", c)]
    assert all(unicodedata.category(c) in ("Mn", "Cn") or c == "ـ" for c in left_out)
    names = {unicodedata.name(c, "ARABIC").split()[0] for c in left_out}
    assert names == {"ARABIC", "HEBREW"}
    assert all(unicodedata.decomposition(c) == "" for c in left_out)  # they are looked for in decomposed texts
