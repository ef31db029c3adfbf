"""Corrupted copies: which words they hold, and that they depend on the text and the copy's number alone."""

import random

import pytest

from vocabless.training.distillation.augmentation import LONGEST_SPAN, REMOVED, REPLACED, SPAN, Corruptor, corrupt

TEXTS = ["the quick brown fox jumps", "over the lazy dog", "", "one"]


def test_a_copy_has_words_of_the_text_in_their_order_and_words_of_other_texts() -> None:
    words = [f"own{number}" for number in range(9)]
    for seed in range(300):
        copy = corrupt(words, ["other"], random.Random(seed))
        assert copy and copy != words
        own = [word for word in copy if word != "other"]
        assert own == sorted(own) and set(own) <= set(words)


def test_the_shares_are_those_of_the_paper() -> None:
    words = [str(number) for number in range(1000)]
    copies = [corrupt(words, ["other"], random.Random(seed)) for seed in range(400)]
    whole = [copy for copy in copies if len(copy) > LONGEST_SPAN]
    assert len(copies) - len(whole) == pytest.approx(SPAN * 400, rel=0.2)
    assert {len(copy) for copy in copies} - {len(copy) for copy in whole} == {1, 2, 3, 4, 5}
    assert sum(map(len, whole)) / len(whole) == pytest.approx(1000 * (1 - REMOVED), rel=0.01)
    assert sum(copy.count("other") for copy in whole) / len(whole) == pytest.approx(1000 * REPLACED, rel=0.05)


def test_the_same_text_and_number_give_the_same_copy_whatever_stands_beside_it() -> None:
    corruptor = Corruptor(TEXTS)
    first, _ = corruptor.copies(TEXTS, None, 1)
    assert corruptor.copies(TEXTS, None, 1)[0] == first
    assert corruptor.copies(TEXTS[1:], None, 1)[0] == first[1:]
    assert corruptor.copies(TEXTS, None, 2)[0] != first
    assert first[2] == "" and all(first[row] for row in (0, 1, 3))


def test_a_copy_of_a_pair_changes_one_text_or_both() -> None:
    texts, pairs = [f"a{row} b c d e f" for row in range(60)], [f"u{row} v w x y z" for row in range(60)]
    copies, copied_pairs = Corruptor(texts, pairs).copies(texts, pairs, 1)
    changes = {
        (text != copy, pair != copied)
        for text, copy, pair, copied in zip(texts, copies, pairs, copied_pairs, strict=True)
    }
    assert changes == {(True, False), (False, True), (True, True)}


def test_lists_of_words_stay_lists_of_words() -> None:
    words = [["New York", "is", "big"], ["a"]]
    copies, pairs = Corruptor(words).copies(words, None, 1)
    assert pairs is None
    assert all(isinstance(copy, list) and {*copy} <= {"New York", "is", "big", "a"} for copy in copies)
