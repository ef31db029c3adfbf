"""Truncation, overflow, padding, offsets and words against a stock fast tokenizer; tensors and collators."""

import itertools
import random

import numpy as np
import pytest
import torch
from datasets import Dataset, List, Value
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    PreTrainedTokenizerFast,
)

from vocabless import VocablessTokenizer

WORDS = ["the", "cat", "naïve", "sat", "on", "文字", "mat", "!", "x1"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = ["a cat", "the cat sat", ""]
COMPARED = ["attention_mask", "token_type_ids", "special_tokens_mask", "offset_mapping", "length"]


@pytest.fixture(scope="module")
def ours():
    return VocablessTokenizer(coder="utf8")


@pytest.fixture(scope="module")
def compare(ours):
    """Compares all that a call returns with what a stock tokenizer returns; both cut on a side."""
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(SPECIAL + WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    pair, ends = "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair, ends)
    names = {"pad": 0, "unk": 1, "cls": 2, "sep": 3, "mask": 4}
    stock = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{f"{k}_token": SPECIAL[v] for k, v in names.items()})

    def check(*args, side="right", **kwargs):
        ours.truncation_side = stock.truncation_side = side
        flags = {"return_offsets_mapping": True, "return_special_tokens_mask": True, "return_length": True}
        mine, theirs = ours(*args, **flags, **kwargs), stock(*args, **flags, return_token_type_ids=True, **kwargs)
        ours.truncation_side = "right"
        for name in COMPARED + ["overflow_to_sample_mapping"] * kwargs.get("return_overflowing_tokens", False):
            assert mine[name] == theirs[name], name
        for row, ids in enumerate(mine["input_ids"]):
            assert mine.tokens(row) == theirs.tokens(row)
            assert mine.word_ids(row) == theirs.word_ids(row)
            assert mine.sequence_ids(row) == theirs.sequence_ids(row)
            tokens = [SPECIAL[block[0]] if block[0] < 5 else ours.convert_ids_to_tokens(block) for block in ids]
            assert tokens == theirs.tokens(row)
        return mine, theirs

    return check


def texts(count, longest, seed=0):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(0, longest))) for _ in range(count)]


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_and_truncation_agree_with_stock(compare, side):
    first, second = texts(12, 12), texts(12, 9, seed=1)
    paddings = ({}, {"padding": True}, {"padding": True, "pad_to_multiple_of": 4})
    for kwargs in (*paddings, {"padding": "max_length", "max_length": 12}):
        compare(texts(7, 8), padding_side=side, truncation="max_length" in kwargs, **kwargs)
        compare(texts(7, 8), texts(7, 1, seed=1), padding_side=side, truncation=False, **kwargs)
    long = ["the cat sat on"] * 3, ["mat ! x1 文字 cat cat cat"] * 3
    for special in (True, False):
        for max_length in (4, 7, 8, 11):
            kwargs = {"truncation": True, "max_length": max_length, "add_special_tokens": special}
            compare(first, second, side=side, **kwargs)
            compare(first, side=side, padding=True, **kwargs)
        for strategy, max_length in itertools.product(("only_first", "only_second"), (11, 12, 13)):
            pair = long if strategy == "only_second" else long[::-1]
            kwargs = {"truncation": strategy, "max_length": max_length, "add_special_tokens": special}
            compare(*pair, side=side, **kwargs)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("stride", [0, 1, 2])
def test_overflow_agrees_with_stock(compare, side, stride):
    kwargs = {"truncation": True, "stride": stride, "return_overflowing_tokens": True, "side": side}
    for max_length, padding in itertools.product((5, 6, 9), (False, "max_length")):
        compare(texts(12, 17), max_length=max_length, padding=padding, **kwargs)
    compare(["the cat"] * 6, texts(6, 20), **{**kwargs, "truncation": "only_second", "max_length": 9})


def test_texts_given_as_words_agree_with_stock(compare):
    words = [["the", "cat sat", "x1"], [], ["mat !"]]
    compare(words, is_split_into_words=True)
    compare(words, [["on"], ["cat on"], ["mat"]], is_split_into_words=True, padding=True)


def test_maps_between_characters_words_and_tokens_agree_with_stock(compare):
    first, second = ["naïve cat! 文字"], ["the mat"]
    mine, theirs = compare(first, second)
    for name in ("token_to_chars", "token_to_word", "token_to_sequence"):
        for token in range(len(theirs["input_ids"][0])):
            assert getattr(mine, name)(0, token) == getattr(theirs, name)(0, token)
    for sequence, text in enumerate((first[0], second[0])):
        for name in ("char_to_token", "char_to_word"):
            for char in range(len(text)):
                assert getattr(mine, name)(0, char, sequence) == getattr(theirs, name)(0, char, sequence)
    assert mine.word_to_tokens(0, 2, 0) == theirs.word_to_tokens(0, 2, 0)
    assert mine.word_to_chars(0, 1, 1) == theirs.word_to_chars(0, 1, 1)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_pad_returns_the_same_as_a_call_that_pads(ours, side, kind):
    at_once = ours(TEXTS, padding=True, padding_side=side, return_tensors="pt", return_special_tokens_mask=True)
    rows = [{k: kind(v) for k, v in ours(text, return_special_tokens_mask=True).items()} for text in TEXTS]
    for encoded in (rows, {name: [row[name] for row in rows] for name in rows[0]}):
        later = ours.pad(encoded, padding_side=side, return_tensors="pt")
        assert {name: rows.tolist() for name, rows in later.items()} == {n: r.tolist() for n, r in at_once.items()}
        assert later["input_ids"].dtype == torch.int64


def test_pad_of_one_row_of_rows_without_a_mask_and_of_no_row(ours):
    one = ours("a cat")
    padded = ours.pad(one, padding="max_length", max_length=6, return_tensors="pt")
    assert padded["input_ids"].shape == (6, 16) and padded["attention_mask"].tolist() == [1, 1, 1, 1, 0, 0]
    assert ours.pad({"input_ids": torch.tensor([one["input_ids"]])})["attention_mask"] == [[1, 1, 1, 1]]
    rows = [{"input_ids": ours(text)["input_ids"]} for text in TEXTS]
    assert ours.pad(rows)["attention_mask"] == [[1, 1, 1, 1, 0], [1] * 5, [1, 1, 0, 0, 0]]
    assert list(ours.pad(rows, return_attention_mask=False)) == ["input_ids"]
    assert ours.pad(rows, padding=True, pad_to_multiple_of=4, return_tensors="np")["input_ids"].shape == (3, 8, 16)
    assert ours.pad([])["input_ids"] == ours([])["input_ids"] == []
    assert ours([], []).data == {"input_ids": [], "token_type_ids": [], "attention_mask": []}
    assert ours([], padding=True, return_tensors="pt")["input_ids"].shape == (0, 0, 16)


@pytest.mark.parametrize("labels", [[0, 1, 1], [0.5, 1.5, -1.0]])
def test_the_padding_collator_keeps_labels_and_their_types(ours, labels):
    batch = DataCollatorWithPadding(ours)([{**ours(text), "label": y} for text, y in zip(TEXTS, labels, strict=True)])
    assert batch["input_ids"].shape == (3, 5, 16) and batch["labels"].tolist() == labels
    assert batch["labels"].dtype == (torch.int64 if labels[0] == 0 else torch.float32)


@pytest.mark.parametrize(("coder", "kind"), [("utf8", "uint8"), ("utf8", "uint16"), ("md5", "uint16")])
def test_a_data_set_may_keep_blocks_in_fewer_bytes(coder, kind):
    tokenizer = VocablessTokenizer(coder=coder)
    rows = Dataset.from_dict(dict(tokenizer([*TEXTS, *WORDS, "\U0010ffff"])))
    stored = rows.cast_column("input_ids", List(List(Value(kind))))
    batches = [DataCollatorWithPadding(tokenizer)(list(each))["input_ids"] for each in (rows, stored)]
    assert torch.equal(*batches) and batches[1].dtype == torch.int64


@pytest.mark.parametrize("collator", [DataCollatorForTokenClassification, DataCollatorForSeq2Seq])
def test_a_collator_of_token_labels_pads_them(ours, collator):
    features = [{**ours(text), "labels": [-100, *[7] * text.count(" "), 7, -100]} for text in TEXTS[:2]]
    batch = collator(ours)(features)
    assert batch["labels"].tolist() == [[-100, 7, 7, -100, -100], [-100, 7, 7, 7, -100]]
    assert batch["input_ids"].shape == (2, 5, 16)


@pytest.mark.parametrize("kind", ["pt", "np"])
def test_tensors_have_a_batch_axis_and_long_integers(ours, kind):
    for text in ("a cat", ["a cat"]):
        batch = ours(text, return_tensors=kind, return_offsets_mapping=True, return_length=True)
        assert batch["input_ids"].shape == (1, 4, 16)
        assert batch["offset_mapping"].tolist() == [[[0, 0], [0, 1], [2, 5], [0, 0]]]
        assert all(str(array.dtype).endswith("int64") for array in batch.values())


CLS = [2] + [0] * 15
LONG = {"text": "a b c d", "truncation": True}
PAIR = {"text": "a b", "text_pair": "c d e f", "truncation": True, "max_length": 6}


@pytest.mark.parametrize(("method", "arguments", "message"), [
    ("pad", {"encoded_inputs": {"attention_mask": [[1]]}}, "needs input_ids"),
    ("pad", {"encoded_inputs": {"input_ids": [[CLS[:8]] * 2]}}, r"shape \(2, 8\)"),
    ("pad", {"encoded_inputs": {"input_ids": [[[2, 0], [3]]]}}, "differ in length"),
    ("pad", {"encoded_inputs": {"input_ids": [[CLS]], "attention_mask": [[1, 1]]}}, "attention_mask of other lengths"),
    ("pad", {"encoded_inputs": {"input_ids": [[CLS]], "text": ["a"]}, "return_tensors": "pt"}, "text holds no numbers"),
    ("__call__", {"text": TEXTS, "return_tensors": "pt"}, r"input_ids have lengths \[2, 4, 5\]; give padding=True"),
    ("__call__", {**LONG, "max_length": 4, "stride": 2, "return_overflowing_tokens": True}, "stride=2"),
    ("__call__", {**LONG, "max_length": 3, "truncation": "only_second"}, "single text"),
    ("__call__", {**LONG, "max_length": 1}, "max_length is 1 less than the number of special tokens; raise max_length"),
    ("__call__", {**PAIR, "truncation": "only_first"}, "leaves -1"),
    ("__call__", {**PAIR, "return_overflowing_tokens": True}, "a pair is ambiguous under"),
])  # fmt: skip
def test_what_cannot_be_padded_cut_or_stacked_is_refused_in_one_sentence(ours, method, arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        getattr(ours, method)(**arguments)
    assert "\n" not in str(caught.value)
