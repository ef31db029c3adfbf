import json
from collections import Counter
from functools import partial

import pytest

from vocabless import load_tokenizer
from vocabless.tokenization.splitters import ByteSplitter, WordSplitter
from vocabless.training.texts.counted import TRAINED_NGRAMS, top_ngrams, with_ngrams

TEXTS = ["The cat sat on the mat.", "A cat, the CAT!", "ÉTÉ été"]
LSH = partial(load_tokenizer, "hashformer-lsh-pool-tiny")


def test_the_top_ngrams_are_those_of_a_count_in_plain_python():
    splitter = WordSplitter(lowercase=True)
    units = [splitter.normalize(unit) for text in TEXTS for unit in splitter.units(text)]
    counts = Counter(u[i : i + n] for u in units for n in (1, 2, 3, 4) for i in range(len(u) - n + 1))
    got = top_ngrams(TEXTS, splitter, 20)
    assert len(got) == 20 and got[:3] == ["t", "a", "at"]
    assert [counts[ngram] for ngram in got] == sorted(counts.values(), reverse=True)[:20]
    assert set(top_ngrams(TEXTS, splitter)) == set(counts)


def test_bytes_are_counted_as_the_coder_reads_them():
    assert top_ngrams(["éé"], ByteSplitter(window=4), 1) == ["©"]  # of two equal ones the first


def test_a_list_is_counted_once_and_read_again(tmp_path):
    load = partial(LSH, coder_options={"num_features": 5})
    for texts in (TEXTS, ["zzz"]):
        with_ngrams(load, "train", tmp_path, texts)
        assert json.loads((tmp_path / TRAINED_NGRAMS).read_text()) == top_ngrams(TEXTS, load().unit_splitter, 5)


def test_a_tokenizer_reads_the_list_and_takes_it_along(tmp_path):
    tokenizer = with_ngrams(LSH, "train", tmp_path, TEXTS)
    assert tokenizer("cat")["input_ids"] != LSH()("cat")["input_ids"]
    tokenizer.save_pretrained(tmp_path / "saved")
    again = type(tokenizer).from_pretrained(tmp_path / "saved")
    assert again("the cat sat")["input_ids"] == tokenizer("the cat sat")["input_ids"]


def test_no_list_is_longer_than_the_features(tmp_path):
    load = partial(LSH, coder_options={"num_features": 3})
    assert with_ngrams(load, "train", tmp_path, TEXTS)("cat")["input_ids"]  # cut to three
    file = tmp_path / "long.json"
    file.write_text(json.dumps(["a", "b", "c", "d"]))
    with pytest.raises(ValueError, match="has 4 n-grams for 3 features"):
        with_ngrams(load, str(file), tmp_path, [])
    with pytest.raises(ValueError, match="is no file; give a JSON list"):
        with_ngrams(load, str(tmp_path / "none.json"), tmp_path, [])
