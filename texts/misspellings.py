"""Misspelt texts: each word is changed by one slip of the fingers, with some probability.

A word is a run of at least `MIN_LETTERS` letters of any script. An edit swaps two neighbouring letters, drops a letter,
inserts one, or replaces one by a neighbouring key of a QWERTY keyboard. All other characters stay as they are.

The edits only call `rng.random()`. Its values are the same in every version of Python, so texts misspelt by seed never
change.
"""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import regex

MIN_LETTERS = 3  # of a word that may be changed; an edit of "a" or "of" leaves too little to read
_WORD = regex.compile(rf"\p{{L}}{{{MIN_LETTERS},}}")
_KEYBOARD_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")  # each row is half a key to the right of the row above

Item = TypeVar("Item")
RandomNumbers = random.Random | np.random.Generator


def misspell(text: str, probability: float, rng: RandomNumbers) -> str:
    """Returns the text with one edit in each word that the random numbers choose, with the probability, 0–1.

    It takes one number for each word and some for each edit. In a script without spaces, a word is a run of letters.

    Example:
        >>> misspell("Seven small boats came home.", 0.5, random.Random(7))
        'Seevn smnall boats ame hom.'
    """

    def edit(match: regex.Match[str]) -> str:
        word = match.group()
        return word if rng.random() >= probability else _EDITS[int(rng.random() * len(_EDITS))](word, rng)

    misspelt: str = _WORD.sub(edit, text)
    return misspelt


def _swap(word: str, rng: RandomNumbers) -> str:
    """Returns the word with two neighbouring letters swapped; the first and the second place keep their case."""
    places = [i for i in range(len(word) - 1) if word[i].lower() != word[i + 1].lower()]
    if not places:  # "aaa"
        return _drop(word, rng)
    place = _choose(places, rng)
    first, second = word[place], word[place + 1]
    return word[:place] + _in_case_of(first, second) + _in_case_of(second, first) + word[place + 2 :]


def _drop(word: str, rng: RandomNumbers) -> str:
    """Returns the word without one of its letters."""
    place = int(rng.random() * len(word))
    return word[:place] + word[place + 1 :]


def _insert(word: str, rng: RandomNumbers) -> str:
    """Returns the word with a neighbouring key of a letter after this letter; a letter without a key is doubled."""
    place = int(rng.random() * len(word))
    letter = word[place]
    keys = _NEIGHBOURS.get(letter.lower(), letter)
    following = word[place + 1 : place + 2] or letter
    return word[: place + 1] + _in_case_of(following, _choose(keys, rng)) + word[place + 1 :]


def _replace(word: str, rng: RandomNumbers) -> str:
    """Returns the word with a letter replaced by a neighbouring key; letters are swapped if none has a key."""
    places = [i for i, letter in enumerate(word) if letter.lower() in _NEIGHBOURS]
    if not places:
        return _swap(word, rng)
    place = _choose(places, rng)
    key = _choose(_NEIGHBOURS[word[place].lower()], rng)
    return word[:place] + _in_case_of(word[place], key) + word[place + 1 :]


def _choose(items: Sequence[Item], rng: RandomNumbers) -> Item:
    return items[int(rng.random() * len(items))]


def _in_case_of(model: str, letter: str) -> str:
    """Returns the letter in upper or lower case like the model, if it is still the same letter: ß stays ß."""
    changed = letter.upper() if model.isupper() else letter.lower() if model.islower() else letter
    return changed if changed.lower() == letter.lower() and len(changed) == 1 else letter


def _neighbouring_keys() -> dict[str, str]:
    """Returns letter → the letters on the keys that touch its key, for instance s → adwezx."""
    places = {letter: (row, column) for row, keys in enumerate(_KEYBOARD_ROWS) for column, letter in enumerate(keys)}
    touching = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
    letter_at = {place: letter for letter, place in places.items()}
    return {
        letter: "".join(letter_at.get((row + down, column + right), "") for down, right in touching)
        for letter, (row, column) in places.items()
    }


_NEIGHBOURS = _neighbouring_keys()
_EDITS: tuple[Callable[[str, RandomNumbers], str], ...] = (_swap, _drop, _insert, _replace)
