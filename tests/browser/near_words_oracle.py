"""Misspelt and unfinished words as the rules read, in slow Python; `browser/near_words.js` must find the same."""

import unicodedata
from functools import cache

import regex

from benchmarks.search import LETTERS
from benchmarks.search import words_of as words_in
from vocabless.tokenization.splitters import SPLITTERS

MOST_EDITS = 2


def words_of(text: str) -> list[tuple[str, str]]:
    """The units of a text that are words, as they stand and as they are indexed."""
    splitter = SPLITTERS["word"](lowercase=True, fold_forms=True)
    units = splitter.units(text)
    pairs = zip(units, map(str.lower, splitter.normalize_all(units)), strict=True)
    return [(unit, word.translate(LETTERS)) for unit, word in pairs if regex.search(r"[\p{L}\p{N}]", word)]


@cache
def all_words_of(text: str) -> list[str]:
    units, joined = words_in(SPLITTERS["word"](lowercase=True, fold_forms=True))(text)
    return units + joined


def edit_distance(one: str, other: str) -> int:
    """Optimal string alignment: insertions, drops, replacements and swaps of neighbours, no letter edited twice."""

    table = {(i, j): i + j for i in range(len(one) + 1) for j in range(len(other) + 1) if i == 0 or j == 0}
    for i, letter in enumerate(one, 1):
        for j, other_letter in enumerate(other, 1):
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (letter != other_letter)]
            if i > 1 and j > 1 and one[i - 2 : i] == other_letter + other[j - 2]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(one), len(other)]


def edits_to_beginning(word: str, other: str) -> tuple[int, int]:
    """The fewest edits that make a word a beginning of another one, and how few letters follow it."""
    ends = range(min(len(other), len(word) + MOST_EDITS) + 1)  # longer beginnings need more edits
    return min((edit_distance(word, other[:end]), len(other) - end) for end in ends)


def bare(word: str) -> str:
    """The word without accents."""
    letters = unicodedata.normalize("NFC", regex.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", word)))
    return letters.translate(str.maketrans("łđøı", "ldoi"))


def near_words(word: str, counts: dict[str, int], num_passages: int, is_unfinished: bool) -> list[str]:
    """The nearest of the indexed words, the likeliest first; `counts` are numbers of passages."""
    word = bare(word)
    is_forgiven = len(word) >= 4 and not regex.search(r"\p{N}", word)
    most = 0 if not is_forgiven else 1 if len(word) < 8 else 2
    found = {}
    for indexed in counts:
        other = bare(indexed)
        if word[0] not in other[:2]:  # saves time
            continue
        edits, rest = edits_to_beginning(word, other)
        goes_on = is_unfinished and len(word) >= (5 if edits else 3)
        alike = word[0] == other[0] or (len(word) > 1 and word[1::-1] == other[:2])
        if alike and edits <= most and (edits == rest == 0 or goes_on or (is_forgiven and rest <= 3)):
            found[indexed] = (edits, rest)
    fewest = min((edits for edits, _ in found.values()), default=0)
    found = {other: rest for other, (edits, rest) in found.items() if edits == fewest}
    if fewest and min(found.values()) <= 3:
        found = {other: rest for other, rest in found.items() if rest <= 3}
    likelihood = {other: (0 if rest else num_passages) + counts[other] / (1 + rest) for other, rest in found.items()}
    return sorted(found, key=lambda other: (-likelihood[other], bare(other)[0] != word[0]))
