"""Misspellings: one edit for each chosen word, nothing else changes, and the same seed gives the same text."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vocabless.texts.misspellings import misspell

TEXTS = st.text(
    st.sampled_from("abcxyzABCXYZ éßÄяжЯ漢字仮 \n\t.,'-_1²\x00😀İſ") | st.characters(max_codepoint=0x24F), max_size=60
)
SEEDS = st.integers(0, 2**32)
KEYS = {"a": "qwsz", "s": "adwezx", "p": "ol", "m": "njk", "g": "fhtyvb"}  # from a picture of a keyboard


def words_and_rest(text: str) -> tuple[list[str], list[str]]:
    """The runs of at least three letters, and what is between them; without a regular expression."""
    runs = [""]
    for before, character in zip(" " + text, text, strict=False):
        if character.isalpha() != before.isalpha():
            runs.append("")
        runs[-1] += character
    words, rest = [], [""]
    for run in runs:
        if len(run) >= 3 and run[0].isalpha():
            words.append(run)
            rest.append("")
        else:
            rest[-1] += run
    return words, rest


def edits(word: str) -> set[str]:
    """Every word at one swap, one drop, one insertion or one replacement, with ? for a new letter."""
    swaps = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)}
    drops = {word[:i] + word[i + 1 :] for i in range(len(word))}
    insertions = {word[:i] + "?" + word[i:] for i in range(len(word) + 1)}
    replacements = {word[:i] + "?" + word[i + 1 :] for i in range(len(word))}
    return swaps | drops | insertions | replacements


def is_one_edit(word: str, misspelt: str) -> bool:
    wanted = edits(word.lower())
    low = misspelt.lower()
    return bool(wanted & {low, *(low[:i] + "?" + low[i + 1 :] for i in range(len(low)))})


def test_the_oracle_knows_one_edit_from_two():
    assert all(is_one_edit("boat", word) for word in ("obat", "bot", "booat", "bozt", "Boa", "boatq"))
    assert not any(is_one_edit("boat", word) for word in ("oatb", "bo", "boaaat", "bxxt"))


@pytest.mark.parametrize("letters", ["abcdefghijklmnopqrstuvwxyz", "абвгджяю", "漢字仮名", "éüßø", "aab"])
@settings(deadline=None)
@given(data=st.data(), seed=SEEDS)
def test_a_word_gets_exactly_one_edit(letters, data, seed):
    word = data.draw(st.text(st.sampled_from(letters), min_size=3, max_size=12))
    misspelt = misspell(word, 1.0, random.Random(seed))
    assert misspelt != word and is_one_edit(word, misspelt)


@settings(deadline=None)
@given(text=TEXTS, seed=SEEDS)
def test_only_runs_of_three_letters_change_and_none_by_probability_0(text, seed):
    words, rest = words_and_rest(text)
    chance = random.Random(seed)
    misspelt = [misspell(word, 1.0, chance) for word in words]
    assert all(word != original for word, original in zip(misspelt, words, strict=True))
    expected = rest[0] + "".join(word + after for word, after in zip(misspelt, rest[1:], strict=True))
    assert misspell(text, 1.0, random.Random(seed)) == expected
    assert misspell(text, 0.0, random.Random(seed)) == text


def test_the_share_of_changed_words_is_the_probability_and_the_four_edits_are_equally_frequent():
    words = ["stone", "river", "house", "aaa", "Straße", "дорога"] * 5_000
    for probability in (0.1, 0.5):
        copy = misspell(" ".join(words), probability, random.Random(3)).split(" ")
        share = np.mean([word != original for word, original in zip(copy, words, strict=True)])
        assert share == pytest.approx(probability, abs=0.01)
    copy = misspell(" ".join(["stone"] * 20_000), 1.0, random.Random(3)).split(" ")
    kinds = [sorted(word) == sorted("stone") for word in copy], [len(w) == 4 for w in copy], [len(w) == 6 for w in copy]
    assert np.mean(kinds, axis=1) == pytest.approx([0.25] * 3, abs=0.01)


@pytest.mark.parametrize(("letter", "keys"), KEYS.items())
def test_a_replacement_is_a_neighbouring_key(letter, keys):
    chance = random.Random(0)
    texts = [misspell(letter * 3, 1.0, chance) for _ in range(2_000)]
    replaced = {text.replace(letter, "", 2) for text in texts if len(text) == 3}
    assert replaced == set(keys)


def test_words_keep_their_case():
    chance = random.Random(1)
    for _ in range(500):
        assert misspell("STONE", 1.0, chance).isupper()
        assert misspell("stone", 1.0, chance).islower()
        assert re.fullmatch("[A-Za][a-z]+|[a-z]+", misspell("Stone", 1.0, chance))  # a drop may take the capital


def test_misspellings_are_frozen_and_a_numpy_generator_serves():
    text = "Seven small boats came home; die Straße nach Привет 漢字仮名, 42 cafés."
    expected = "Seven sall boats came home; ie Sdtraße nach Привет 漢字仮名名, 42 cafés."
    assert misspell(text, 0.5, random.Random(42)) == expected
    assert misspell(text, 1.0, np.random.default_rng(1)) == misspell(text, 1.0, np.random.default_rng(1)) != text
