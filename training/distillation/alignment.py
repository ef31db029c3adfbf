"""The first token of each word."""

from collections.abc import Sequence


def first_tokens(word_ids: Sequence[int | None]) -> dict[int, int]:
    """Returns word → position of its first token, from the word of each token, None for special tokens.

    Example:
        >>> first_tokens([None, 0, 0, 1, None])
        {0: 1, 1: 3}
    """
    positions: dict[int, int] = {}
    for position, word in enumerate(word_ids):
        if word is not None:
            positions.setdefault(word, position)
    return positions
