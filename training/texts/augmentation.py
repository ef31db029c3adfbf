"""Corrupted copies of texts, for which only a teacher has labels.

Tang et al., *Distilling Task-Specific Knowledge from BERT into Simple Neural Networks*, 2019, section 3.2.
Differs: a masked word is removed, and no word is replaced by another, see docs/papers.md.
"""

import json
import random
from collections.abc import Sequence

SEED = 42  # fixed: all seeds of a run learn from the same copies
REMOVED, SPAN, LONGEST_SPAN = 0.1, 0.25, 5  # probability for each word, and for each text; words


def corrupted_copies(
    texts: Sequence[str], pairs: Sequence[str] | None, number: int
) -> tuple[list[str], list[str] | None]:
    """Returns a corrupted copy of each text, or of each pair, of which one text or both are changed.

    The same row and number of the copy give the same texts.
    """
    copies = []
    for row in zip(texts, *([] if pairs is None else [pairs]), strict=True):
        chance = random.Random(json.dumps([SEED, number, row]))
        chosen = chance.choice([(0,), (1,), (0, 1)]) if len(row) == 2 else (0,)
        copies.append([corrupted(text, chance) if place in chosen else text for place, text in enumerate(row)])
    return [row[0] for row in copies], None if pairs is None else [row[1] for row in copies]


def corrupted(text: str, chance: random.Random) -> str:
    """Returns a text of two or more words without at least one, sometimes only a short span; any other unchanged."""
    words = text.split()
    if len(words) < 2:
        return text
    kept = [word for word in words if chance.random() >= REMOVED] or [chance.choice(words)]
    if chance.random() < SPAN:
        length = min(chance.randint(1, LONGEST_SPAN), len(kept))
        start = chance.randint(0, len(kept) - length)
        kept = kept[start : start + length]
    if len(kept) == len(words):
        del kept[chance.randrange(len(kept))]
    return " ".join(kept)
