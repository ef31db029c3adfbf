"""Texts that training makes: corrupted copies, lists of n-grams, and the corpus of docstrings."""

import json
import random
from collections import Counter
from functools import partial

import numpy as np
import pytest

from vocabless import load_tokenizer
from vocabless.texts.pydocs import _docstrings, _source_files, prose_paragraphs, read_pydocs
from vocabless.texts.subwords_and_ngrams import TRAINED_NGRAMS, top_ngrams, unit_counts, with_ngrams
from vocabless.tokenization.splitters import ByteSplitter, WordSplitter
from vocabless.training.finetuning.tasks.data import Examples
from vocabless.training.finetuning.trainers.teacher import LONGEST_SPAN, REMOVED, SPAN, corrupted, corrupted_copies

TEXTS = ["the quick brown fox jumps", "over the lazy dog", "", "one"]
COUNTED = ["The cat sat on the mat.", "A cat, the CAT!", "ÉTÉ été"]
LSH = partial(load_tokenizer, "hashformer-lsh-pool-tiny")


def test_a_copy_lacks_words_in_the_shares_of_the_paper():
    words = [f"{number:03}" for number in range(1000)]
    copies = [corrupted(" ".join(words), random.Random(seed)).split() for seed in range(400)]
    assert all(copy == sorted(copy) and 0 < len(copy) < 1000 for copy in copies)
    whole = [copy for copy in copies if len(copy) > LONGEST_SPAN]
    assert len(copies) - len(whole) == pytest.approx(SPAN * 400, rel=0.2)
    assert {len(copy) for copy in copies} - {len(copy) for copy in whole} == {1, 2, 3, 4, 5}
    assert sum(map(len, whole)) / len(whole) == pytest.approx(1000 * (1 - REMOVED), rel=0.01)
    assert {corrupted("two words", random.Random(seed)) for seed in range(50)} == {"two", "words"}


def test_the_same_text_and_number_give_the_same_copy_whatever_stands_beside_it():
    first = corrupted_copies(Examples(TEXTS), 1)
    assert first.pairs is None and first.texts[2:] == TEXTS[2:]
    assert corrupted_copies(Examples(TEXTS[1:]), 1).texts == first.texts[1:]
    assert corrupted_copies(Examples(TEXTS), 2).texts != first.texts


def test_a_copy_of_a_pair_changes_one_text_or_both():
    columns = [f"a{row} b c d e f" for row in range(60)], [f"u{row} v w x y z" for row in range(60)]
    copies = corrupted_copies(Examples(*columns), 1)
    changed = (np.array(one) != np.array(copy) for one, copy in zip(columns, [copies.texts, copies.pairs], strict=True))
    changes = set(zip(*(each.tolist() for each in changed), strict=True))
    assert changes == {(True, False), (False, True), (True, True)}


def test_the_top_ngrams_are_those_of_a_count_in_plain_python():
    splitter = WordSplitter(lowercase=True)
    units = [splitter.normalize(unit) for text in COUNTED for unit in splitter.units(text)]
    counts = Counter(u[i : i + n] for u in units for n in (1, 2, 3, 4) for i in range(len(u) - n + 1))
    counted = unit_counts(COUNTED, splitter)
    got = top_ngrams(counted, 20)
    assert len(got) == 20 and got[:3] == ["t", "a", "at"]
    assert [counts[ngram] for ngram in got] == sorted(counts.values(), reverse=True)[:20]
    assert counted == Counter(units) and set(top_ngrams(counted)) == set(counts)
    of_bytes = unit_counts(["éé"], ByteSplitter(window=4))
    assert top_ngrams(of_bytes, 1) == ["©"]  # bytes as the coder reads them; the first of two


def test_a_list_is_counted_once_read_again_taken_along_and_no_longer_than_the_features(tmp_path):
    (tmp_path / "all").mkdir()
    tokenizer = with_ngrams(LSH, "train", tmp_path / "all", COUNTED)
    assert tokenizer("cat")["input_ids"] != LSH()("cat")["input_ids"]
    tokenizer.save_pretrained(tmp_path / "saved")
    again = type(tokenizer).from_pretrained(tmp_path / "saved")
    assert again("the cat sat")["input_ids"] == tokenizer("the cat sat")["input_ids"]
    load = partial(LSH, coder_options={"num_features": 3})
    for texts in (COUNTED, ["zzz"]):
        assert with_ngrams(load, "train", tmp_path, texts)("cat")["input_ids"]
        counted = unit_counts(COUNTED, load().unit_splitter)
        assert json.loads((tmp_path / TRAINED_NGRAMS).read_text()) == top_ngrams(counted, 3)
    file = tmp_path / "long.json"
    file.write_text(json.dumps(["a", "b", "c", "d"]))
    with pytest.raises(ValueError, match="has 4 n-grams for 3 features"):
        with_ngrams(load, str(file), tmp_path, [])
    with pytest.raises(ValueError, match="is no file; give a JSON list"):
        with_ngrams(load, str(tmp_path / "none.json"), tmp_path, [])


def test_docstrings_are_read_from_source_without_importing_and_code_is_no_prose(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        '"""Module."""\nraise SystemExit\nclass A:\n    """Class."""\n    def f(self):\n        "Function."\n'
    )
    assert _docstrings(file) == ["Module.", "Class.", "Function."]
    file.write_text("{{ not python")
    assert _docstrings(file) == _source_files("no_such_package_anywhere") == []
    text = "Parameters ---------- of every kind that a function of this sort can take.\n\n>>> print(1)\n\nShort one."
    assert list(prose_paragraphs(text)) == []


def test_the_corpus_is_the_same_on_every_call_and_repeats_no_paragraph():
    first, second = (read_pydocs(workers, packages=("accelerate", "evaluate")) for workers in (1, 2))
    assert first == second
    paragraphs = [paragraph for _, document in first for paragraph in document.split("\n")]
    assert len(paragraphs) == len(set(paragraphs)) > 500
    assert {package for package, _ in first} == {"python", "accelerate", "evaluate"}
