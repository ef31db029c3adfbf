"""Corrupted copies and joined texts: which words they hold, and that the text and a number alone decide."""

import random
import re

import pytest

from vocabless.training.distillation.augmentation import (
    LONGEST_SPAN,
    MARKS,
    REMOVED,
    REPLACED,
    SPAN,
    Corruptor,
    corrupt,
    join_texts,
)

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


def test_each_text_gets_one_or_two_others_behind_it() -> None:
    texts = [f"text{number} " for number in range(200)]
    joined = join_texts(texts, 1)
    words = [re.findall(r"text\d+", text) for text in joined]
    assert [row[0] for row in words] == [text.strip() for text in texts]
    assert {len(row) for row in words} == {2, 3}
    assert {mark for text in joined for mark in re.findall(r"\d(\W+)t", text)} == set(MARKS)
    assert len({word for row in words for word in row[1:]}) > 100
    assert joined == join_texts(texts, 1) != join_texts(texts, 2)
    assert all(text == text.strip() for text in joined)


def test_joined_lists_of_words_are_lists_of_words() -> None:
    texts = [["New York", "is"], ["big"]]
    assert all(
        row[: len(text)] == text and len(row) > len(text) for row, text in zip(join_texts(texts, 1), texts, strict=True)
    )
