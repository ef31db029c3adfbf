"""Corrupted copies of texts, for which only a teacher has labels.

Tang et al., *Distilling Task-Specific Knowledge from BERT into Simple Neural Networks*, 2019, section 3.2.

Differs from the paper: a masked word is removed, because the two models may have different mask tokens; a word is
replaced by any word of the training texts, because there is no tagger for parts of speech.
"""

import json
import random
from collections.abc import Sequence
from typing import Any

SEED = 42  # fixed: all seeds of a run learn from the same copies
REMOVED, REPLACED = 0.1, 0.1  # probability for each word
SPAN, LONGEST_SPAN = 0.25, 5  # probability for each text; words


class Corruptor:
    """Makes corrupted copies of texts. The same text, copy number and training texts give the same copy.

    The words of the training texts, or pairs, or lists of words, replace others, frequent ones more often.
    """

    def __init__(self, texts: Sequence[Any], pairs: Sequence[str] | None = None) -> None:
        self._words = [word for text in [*texts, *(pairs or ())] for word in _split(text)]

    def copies(
        self, texts: Sequence[Any], pairs: Sequence[str] | None, number: int
    ) -> tuple[list[Any], list[str] | None]:
        """Returns a corrupted copy of each text, or of one or both texts of each pair; another one for each number."""
        if pairs is None:
            return [self._corrupt(text, _chance(number, text)) for text in texts], None
        rows = [self._corrupt_pair(*row, number) for row in zip(texts, pairs, strict=True)]
        return [text for text, _ in rows], [pair for _, pair in rows]

    def _corrupt_pair(self, text: str, pair: str, number: int) -> tuple[str, str]:
        chance = _chance(number, [text, pair])
        first, second = chance.choice([(True, False), (False, True), (True, True)])
        return self._corrupt(text, chance) if first else text, self._corrupt(pair, chance) if second else pair

    def _corrupt(self, text: Any, chance: random.Random) -> Any:
        """Returns a text, or a list of words, with other words; an empty text stays empty."""
        words = _split(text)
        if not words:
            return text
        corrupted = corrupt(words, self._words, chance)
        return " ".join(corrupted) if isinstance(text, str) else corrupted


def corrupt(words: Sequence[str], replacements: Sequence[str], chance: random.Random) -> list[str]:
    """Returns at least one word: some are removed, some replaced, and sometimes only a short span is left.

    There must be a word. If nothing happens to any, one is replaced.
    """
    corrupted = []
    for word in words:
        draw = chance.random()
        if draw >= REMOVED:
            corrupted.append(chance.choice(replacements) if draw < REMOVED + REPLACED else word)
    corrupted = corrupted or [chance.choice(words)]
    if chance.random() < SPAN:
        length = min(chance.randint(1, LONGEST_SPAN), len(corrupted))
        start = chance.randint(0, len(corrupted) - length)
        corrupted = corrupted[start : start + length]
    if corrupted == list(words):
        corrupted[chance.randrange(len(corrupted))] = chance.choice(replacements)
    return corrupted


def _split(text: Any) -> list[str]:
    return text.split() if isinstance(text, str) else list(text)


def _chance(number: int, text: Any) -> random.Random:
    """Returns random numbers that depend on the text and the number of its copy alone."""
    return random.Random(json.dumps([SEED, number, text]))
