"""`pad`, tensors and the stock data collators."""

import numpy as np
import pytest
import torch
from transformers import DataCollatorForSeq2Seq, DataCollatorForTokenClassification, DataCollatorWithPadding

from vocabless import VocablessTokenizer

TEXTS = ["a cat", "the cat sat", ""]


@pytest.fixture(scope="module")
def tokenizer():
    return VocablessTokenizer()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_pad_returns_the_same_as_a_call_that_pads(tokenizer, side, kind):
    at_once = tokenizer(TEXTS, padding=True, padding_side=side, return_tensors="pt", return_special_tokens_mask=True)
    rows = [{k: kind(v) for k, v in tokenizer(text, return_special_tokens_mask=True).items()} for text in TEXTS]
    together = {name: [row[name] for row in rows] for name in rows[0]}
    for encoded in (rows, together):
        later = tokenizer.pad(encoded, padding_side=side, return_tensors="pt")
        assert {name: rows.tolist() for name, rows in later.items()} == {n: r.tolist() for n, r in at_once.items()}
        assert later["input_ids"].dtype == torch.int64


def test_pad_returns_one_row_for_one_text(tokenizer):
    one = tokenizer("a cat")
    padded = tokenizer.pad(one, padding="max_length", max_length=6, return_tensors="pt")
    assert padded["input_ids"].shape == (6, 16)
    assert tokenizer.pad(one, padding="max_length", max_length=6)["attention_mask"] == [1, 1, 1, 1, 0, 0]
    assert tokenizer.pad({"input_ids": torch.tensor([one["input_ids"]])})["attention_mask"] == [[1, 1, 1, 1]]


def test_pad_adds_a_missing_attention_mask_unless_the_caller_refuses_it(tokenizer):
    rows = [{"input_ids": tokenizer(text)["input_ids"]} for text in TEXTS]
    assert tokenizer.pad(rows)["attention_mask"] == [[1, 1, 1, 1, 0], [1] * 5, [1, 1, 0, 0, 0]]
    assert list(tokenizer.pad(rows, return_attention_mask=False)) == ["input_ids"]
    assert tokenizer.pad(rows, padding=True, pad_to_multiple_of=4, return_tensors="np")["input_ids"].shape == (3, 8, 16)


def test_the_padding_collator_keeps_labels_and_their_types(tokenizer):
    features = [{**tokenizer(text), "label": label} for text, label in zip(TEXTS, (0, 1, 1), strict=True)]
    batch = DataCollatorWithPadding(tokenizer)(features)
    assert batch["input_ids"].shape == (3, 5, 16)
    assert batch["labels"].tolist() == [0, 1, 1]
    assert batch["labels"].dtype == torch.int64
    floats = DataCollatorWithPadding(tokenizer)([{**tokenizer("a"), "label": 0.5}, {**tokenizer("b c"), "label": 1.5}])
    assert floats["labels"].dtype == torch.float32
    assert floats["labels"].tolist() == [0.5, 1.5]


@pytest.mark.parametrize("collator", [DataCollatorForTokenClassification, DataCollatorForSeq2Seq])
def test_a_collator_of_token_labels_pads_them(tokenizer, collator):
    features = [{**tokenizer(text), "labels": [-100, *[7] * text.count(" "), 7, -100]} for text in TEXTS[:2]]
    batch = collator(tokenizer)(features)
    assert batch["labels"].tolist() == [[-100, 7, 7, -100, -100], [-100, 7, 7, 7, -100]]
    assert batch["input_ids"].shape == (2, 5, 16)


def test_an_empty_batch_has_no_rows(tokenizer):
    assert tokenizer([])["input_ids"] == []
    assert tokenizer([], []).data == {"input_ids": [], "token_type_ids": [], "attention_mask": []}
    assert tokenizer([], padding=True, return_tensors="pt")["input_ids"].shape == (0, 0, 16)
    assert tokenizer.pad([])["input_ids"] == []


@pytest.mark.parametrize("kind", ["pt", "np"])
def test_tensors_have_a_batch_axis_and_long_integers(tokenizer, kind):
    for text in ("a cat", ["a cat"]):
        batch = tokenizer(text, return_tensors=kind, return_offsets_mapping=True, return_length=True)
        assert batch["input_ids"].shape == (1, 4, 16)
        assert batch["offset_mapping"].tolist() == [[[0, 0], [0, 1], [2, 5], [0, 0]]]
        assert all(str(array.dtype).endswith("int64") for array in batch.values())


@pytest.mark.parametrize(
    ("encoded", "message"),
    [
        ({"attention_mask": [[1]]}, "needs input_ids"),
        ({"input_ids": [[[2] + [0] * 7] * 2]}, r"shape \(2, 8\)"),
        ({"input_ids": [[[2, 0], [3]]]}, "differ in length"),
        ({"input_ids": [[[2] + [0] * 15]], "attention_mask": [[1, 1]]}, "attention_mask of other lengths"),
        ({"input_ids": [[[2] + [0] * 15]], "text": ["a"]}, "text holds no numbers"),
    ],
)
def test_pad_refuses_encodings_of_another_tokenizer_in_one_sentence(tokenizer, encoded, message):
    with pytest.raises(ValueError, match=message):
        tokenizer.pad(encoded, return_tensors="pt")


def test_tensors_of_rows_that_differ_in_length_are_refused_with_the_remedy(tokenizer):
    with pytest.raises(ValueError, match=r"input_ids have lengths \[2, 4, 5\]; give padding=True"):
        tokenizer(TEXTS, return_tensors="pt")
