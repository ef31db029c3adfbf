"""Corrupted copies: which words they hold, and that they depend on the text and the copy's number alone."""

import random

import numpy as np
import pytest

from vocabless.training.finetuning.teacher import LONGEST_SPAN, REMOVED, SPAN, corrupted, corrupted_copies

TEXTS = ["the quick brown fox jumps", "over the lazy dog", "", "one"]


def test_a_copy_lacks_words_in_the_shares_of_the_paper() -> None:
    words = [f"{number:03}" for number in range(1000)]
    copies = [corrupted(" ".join(words), random.Random(seed)).split() for seed in range(400)]
    assert all(copy == sorted(copy) and 0 < len(copy) < 1000 for copy in copies)
    whole = [copy for copy in copies if len(copy) > LONGEST_SPAN]
    assert len(copies) - len(whole) == pytest.approx(SPAN * 400, rel=0.2)
    assert {len(copy) for copy in copies} - {len(copy) for copy in whole} == {1, 2, 3, 4, 5}
    assert sum(map(len, whole)) / len(whole) == pytest.approx(1000 * (1 - REMOVED), rel=0.01)
    assert {corrupted("two words", random.Random(seed)) for seed in range(50)} == {"two", "words"}


def test_the_same_text_and_number_give_the_same_copy_whatever_stands_beside_it() -> None:
    first, pairs = corrupted_copies(TEXTS, None, 1)
    assert pairs is None and first[2:] == TEXTS[2:]
    assert corrupted_copies(TEXTS[1:], None, 1)[0] == first[1:]
    assert corrupted_copies(TEXTS, None, 2)[0] != first


def test_a_copy_of_a_pair_changes_one_text_or_both() -> None:
    columns = [f"a{row} b c d e f" for row in range(60)], [f"u{row} v w x y z" for row in range(60)]
    changed = (
        np.array(one) != np.array(copy) for one, copy in zip(columns, corrupted_copies(*columns, 1), strict=True)
    )
    changes = set(zip(*(each.tolist() for each in changed), strict=True))
    assert changes == {(True, False), (False, True), (True, True)}
