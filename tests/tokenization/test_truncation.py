"""Truncation, overflow, pairs, offsets and words against a stock fast tokenizer whose tokens are whole words."""

import itertools
import random

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from vocabless import VocablessTokenizer

WORDS = ["the", "cat", "naïve", "sat", "on", "文字", "mat", "!", "x1"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="module")
def stock():
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(SPECIAL + WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, ends)
    names = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{f"{k}_token": SPECIAL[v] for k, v in names.items()})


@pytest.fixture(scope="module")
def ours():
    return VocablessTokenizer(coder="utf8")


def texts(count, longest, seed=0):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, longest))) for _ in range(count)]


def compare(ours, stock, *args, **kwargs):
    flags = {"return_offsets_mapping": True, "return_special_tokens_mask": True, "return_length": True}
    mine, theirs = ours(*args, **flags, **kwargs), stock(*args, **flags, return_token_type_ids=True, **kwargs)
    names = ["attention_mask", "token_type_ids", "special_tokens_mask", "offset_mapping", "length"]
    if kwargs.get("return_overflowing_tokens"):
        names.append("overflow_to_sample_mapping")
    for name in names:
        assert mine[name] == theirs[name], name
    for row in range(len(theirs["input_ids"])):
        assert mine.tokens(row) == theirs.tokens(row)
        assert mine.word_ids(row) == theirs.word_ids(row)
        assert mine.sequence_ids(row) == theirs.sequence_ids(row)
        ids = [ours.convert_tokens_to_ids(t) if t in SPECIAL else t for t in theirs.tokens(row)]
        assert [
            block[0] if block[0] < 5 else ours.convert_ids_to_tokens(block) for block in mine["input_ids"][row]
        ] == ids


def cut_on_side(monkeypatch, side, *tokenizers):
    for tokenizer in tokenizers:
        monkeypatch.setattr(tokenizer, "truncation_side", side)


PADDINGS = [
    {},
    {"padding": True},
    {"padding": True, "pad_to_multiple_of": 4},
    {"padding": "max_length", "max_length": 12},
]


@pytest.mark.parametrize("kwargs", PADDINGS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_agrees_with_stock(ours, stock, kwargs, side):
    batch = texts(7, 8)
    compare(ours, stock, batch, padding_side=side, **{"truncation": "max_length" in kwargs, **kwargs})
    compare(ours, stock, batch, texts(7, 1, seed=1), padding_side=side, **{"truncation": False, **kwargs})


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("side", ["left", "right"])
def test_truncation_of_pairs_agrees_with_stock(ours, stock, side, special, monkeypatch):
    cut_on_side(monkeypatch, side, ours, stock)
    first, second = texts(12, 12), texts(12, 9, seed=1)
    for max_length in (4, 7, 8, 11):
        kwargs = {"truncation": True, "max_length": max_length, "add_special_tokens": special}
        compare(ours, stock, first, second, **kwargs)
        compare(ours, stock, first, padding=True, **kwargs)
    long = ["the cat sat on"] * 3, ["mat ! x1 文字 cat cat cat"] * 3
    for strategy, max_length in itertools.product(("only_first", "only_second"), (11, 12, 13)):
        pair = long if strategy == "only_second" else long[::-1]
        compare(ours, stock, *pair, truncation=strategy, max_length=max_length, add_special_tokens=special)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("stride", [0, 1, 2])
def test_overflow_agrees_with_stock(ours, stock, side, stride, monkeypatch):
    cut_on_side(monkeypatch, side, ours, stock)
    kwargs = {"truncation": True, "stride": stride, "return_overflowing_tokens": True}
    for max_length in (5, 6, 9):
        compare(ours, stock, texts(12, 17), max_length=max_length, **kwargs)
        compare(ours, stock, texts(12, 17), max_length=max_length, padding="max_length", **kwargs)
    questions, contexts = ["the cat"] * 6, texts(6, 20)
    compare(ours, stock, questions, contexts, **{**kwargs, "truncation": "only_second", "max_length": 9})


def test_texts_given_as_words_agree_with_stock(ours, stock):
    words = [["the", "cat sat", "x1"], [], ["mat !"]]
    compare(ours, stock, words, is_split_into_words=True)
    compare(ours, stock, words, [["on"], ["cat on"], ["mat"]], is_split_into_words=True, padding=True)


def test_maps_between_characters_words_and_tokens_agree_with_stock(ours, stock):
    first, second = ["naïve cat! 文字"], ["the mat"]
    mine, theirs = ours(first, second), stock(first, second)
    for token in range(len(theirs["input_ids"][0])):
        assert mine.token_to_chars(0, token) == theirs.token_to_chars(0, token)
        assert mine.token_to_word(0, token) == theirs.token_to_word(0, token)
        assert mine.token_to_sequence(0, token) == theirs.token_to_sequence(0, token)
    for sequence, text in enumerate((first[0], second[0])):
        for char in range(len(text)):
            assert mine.char_to_token(0, char, sequence) == theirs.char_to_token(0, char, sequence)
            assert mine.char_to_word(0, char, sequence) == theirs.char_to_word(0, char, sequence)
    assert mine.word_to_tokens(0, 2, 0) == theirs.word_to_tokens(0, 2, 0)
    assert mine.word_to_chars(0, 1, 1) == theirs.word_to_chars(0, 1, 1)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (["a b c d"], {"max_length": 4, "stride": 2, "return_overflowing_tokens": True}, "stride=2"),
        (["a b c d"], {"max_length": 3, "truncation": "only_second"}, "single text"),
        (["a b c d"], {"max_length": 1}, "max_length is 1 less than the number of special tokens; raise max_length"),
        (["a b", "c d e f"], {"max_length": 6, "truncation": "only_first"}, "leaves -1"),
        (["a b", "c d"], {"max_length": 6, "return_overflowing_tokens": True}, "a pair is ambiguous under"),
    ],
)
def test_impossible_truncation_is_refused_in_one_sentence(ours, args, kwargs, message):
    with pytest.raises(ValueError, match=message):
        ours(*args, **{"truncation": True, **kwargs})
