"""The rows of a task as token ids."""

import numpy as np
import pytest

from vocabless import load_tokenizer
from vocabless.training.finetuning.tasks.data import Examples, encode
from vocabless.training.finetuning.tasks.problems import SingleLabel


@pytest.mark.parametrize("variant", ["hashgram-nano", "hashformer-md5-pool-tiny"])
@pytest.mark.parametrize("pairs", [None, ["b", "a long second text, longer than the first", "c d"]])
def test_each_row_has_the_tokens_of_its_text_alone_in_the_smallest_type(variant, pairs):
    tokenizer, texts = load_tokenizer(variant), ["été", "one two three four five six seven", "a, b"]
    rows = encode(Examples(texts, pairs, ["x", "y", "x"]), SingleLabel(["x", "y"]), tokenizer, 6)
    assert [row["label"] for row in rows] == [0, 1, 0]
    for row, text, pair in zip(rows, texts, pairs or [None] * 3, strict=True):
        expected = tokenizer(text, pair, truncation=True, max_length=6, return_attention_mask=False)
        assert {name: values.tolist() for name, values in row.items() if name != "label"} == dict(expected)
        assert row["input_ids"].dtype == np.min_scalar_type(row["input_ids"].max())
