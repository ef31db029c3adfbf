"""Splitters against their rules written out character by character."""

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, processors

from vocabless.tokenization import splitters
from vocabless.tokenization.splitters import (
    SPLITTERS,
    ByteSplitter,
    CharacterSplitter,
    SubwordSplitter,
    WhitespaceSplitter,
    WordSplitter,
    compose,
    to_bytes,
)

ASSIGNED = st.characters(exclude_categories=["Cn"])
MIXED = st.one_of(
    ASSIGNED,
    st.sampled_from(
        "aZ_9 .!\t\n\x00\x1c\x1f\x85\xa0\u0301\u0308\u200b\u200c\u200d\u2028\ufeff\ufe0f\ud800\udfff"
        "कि्षำไทยمُحשָ中文字ﬁß한\u1112\u1161👩🏽🔬❤²½٣"
    ),
)
TEXTS = st.lists(MIXED, max_size=40).map("".join)
HARD = [
    *("", " ", "\x00", "a\x00b", "\ud800", "a\ud800 b", "👩🏽‍🔬❤️", "हिन्दी में", "ภาษาไทย", "مُحَمَّد", "自然 言語", "é"),
    "a\u200cb\u200d!\u200c",
]


def is_space(c):
    return c.isspace() or c in "\u200b\ufeff"


def is_word(c):
    return unicodedata.category(c)[0] in "LMN" or c == "_"


def oracle(text):
    """Returns the spans of words, one character at a time."""
    spans, kind = [], None
    for index, c in enumerate(text):
        if is_space(c):
            kind = None
            continue
        continues = unicodedata.category(c)[0] == "M" or c in "\u200c\u200d"
        new = kind if kind and continues else "word" if is_word(c) else "other"
        if new == kind:
            spans[-1] = (spans[-1][0], index + 1)
        else:
            spans.append((index, index + 1))
        kind = new
    return spans


@settings(max_examples=1500, deadline=None)
@given(TEXTS)
def test_words_follow_the_rules_in_every_script(text):
    assert WordSplitter().spans(text) == oracle(text)


def test_words_of_hard_texts_follow_the_rules():
    assert [WordSplitter().spans(text) for text in HARD] == [oracle(text) for text in HARD]


@settings(max_examples=500, deadline=None)
@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_the_fast_pattern_for_ascii_agrees_with_the_general_one(text):
    general = [match.span() for match in splitters._RUNS.finditer(text)]
    assert WordSplitter().spans(text) == general


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(1, 5))
def test_spans_cut_the_units_out_of_the_text(text, window):
    for splitter in (WordSplitter(), WhitespaceSplitter(), CharacterSplitter(window=window)):
        units = list(splitter.units(text))
        assert units == [text[start:end] for start, end in splitter.spans(text)]
        assert [list(one) for one in splitter.units_of_batch([text, "", text])] == [units, [], units]
        assert len(splitter.word_ids(text)) == len(units)


def test_a_word_of_ten_thousand_characters_is_one_unit():
    for word in ("a" * 10_000, "é" * 10_000, "e\u0301" * 5_000, "!" * 10_000):
        assert WordSplitter().units(word) == [word]


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_whitespace_units_are_runs_between_spaces(text):
    blank = "".join(" " if is_space(c) else c for c in text)
    assert WhitespaceSplitter().units(text) == [part for part in blank.split(" ") if part]


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(1, 5))
def test_character_windows_fill_each_run(text, window):
    splitter = CharacterSplitter(window=window)
    runs = WhitespaceSplitter().units(text)
    by_run = [[] for _ in runs]
    for unit, word in zip(splitter.units(text), splitter.word_ids(text), strict=True):
        by_run[word].append(unit)
    assert ["".join(units) for units in by_run] == runs
    assert all(len(unit) == window for units in by_run for unit in units[:-1])


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(1, 9))
def test_byte_windows_join_to_the_text_and_their_spans_contain_them(text, window):
    splitter = ByteSplitter(window=window)
    units, spans = splitter.units(text), splitter.spans(text)
    assert b"".join(units) == to_bytes(text)
    assert len(units) == len(spans)
    assert all(len(unit) == window for unit in units[:-1])
    for unit, (start, end) in zip(units, spans, strict=True):
        assert unit in to_bytes(text[start:end])
        assert len(to_bytes(text[start:end])) <= len(unit) + 6  # at most three bytes too many on each side


@settings(max_examples=1000, deadline=None)
@given(TEXTS)
def test_composing_each_unit_composes_the_text(text):
    splitter = WordSplitter()
    whole = splitter.units(unicodedata.normalize("NFC", text))
    assert [splitter.normalize(unit) for unit in splitter.units(text)] == whole


def test_composed_and_decomposed_words_have_one_form():
    splitter = WordSplitter(lowercase=True)
    for word in ("Élève", "ÅNGSTRÖM", "한국어", "Việt", "ﬀ"):
        forms = {splitter.normalize(unicodedata.normalize(form, word)) for form in ("NFC", "NFD")}
        assert forms == {unicodedata.normalize("NFC", word.lower())}


def test_a_mark_or_joiner_is_never_a_unit_of_its_own():
    assert WordSplitter().units("क्षि e\u0301 👩\u200d🔬!\u0301x") == ["क्षि", "e\u0301", "👩\u200d🔬!\u0301", "x"]


@pytest.mark.parametrize("name", ["characters", "bytes"])
def test_a_window_of_size_zero_is_refused(name):
    with pytest.raises(ValueError, match="window=0"):
        SPLITTERS[name](window=0)


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


@settings(deadline=None)
@given(st.lists(st.sampled_from(MARKS), min_size=20, max_size=150))
def test_composition_is_that_of_unicode(marks):
    text = "".join(marks)
    assert compose(text) == unicodedata.normalize("NFC", text)


def test_composition_takes_linear_time():
    def seconds(count):
        text = "a" + "\u0301\u0316" * count
        start = time.process_time()
        compose(text)
        return time.process_time() - start

    seconds(1000)
    assert seconds(100_000) < 2  # by `unicodedata` alone a minute
