"""Reads and checks the texts that a tokenizer is called with: a text, a batch, pairs, or texts as lists of words."""

from collections.abc import Iterable, Mapping
from typing import Any


def as_batch(text: Any, pair: Any, is_split: bool) -> tuple[list[Any], list[Any] | None, bool]:
    """Returns a list of texts, the list of their second texts or None, and whether a batch was given.

    Args:
        text: a text, or a batch of texts; a text is a str, or a list of str if `is_split`. Without `pair` and
            `is_split`, a batch whose values are all (str, str) is a batch of pairs.
        pair: the second text, or a batch of second texts, or None.
        is_split: whether texts are lists of words.

    Raises:
        ValueError: a value is not a text, or `pair` has another number of texts.

    >>> as_batch([("a", "b"), ("c", "d")], None, is_split=False)
    (['a', 'c'], ['b', 'd'], True)
    """
    if isinstance(text, str) and pair is None and not is_split:
        return [text], None, False
    text, is_batch = _listed(text, "text", is_split)
    texts = text if is_batch else [text]
    if pair is None:
        pairs = None
    else:
        pair, is_pair_batch = _listed(pair, "text_pair", is_split)
        pairs = pair if is_batch and is_pair_batch else [pair]
    if is_batch and pair is None and not is_split and texts and all(map(_is_pair, texts)):
        texts, pairs = [first for first, _ in texts], [second for _, second in texts]
    for name, values in (("text", texts), ("text_pair", pairs or [])):
        for position, value in enumerate(values):
            if not (_are_words(value) if is_split else isinstance(value, str)):
                _refuse(value, f"{name}[{position}]" if is_batch else name, is_split)
    if pairs is not None and len(pairs) != len(texts):
        raise ValueError(f"got {len(texts)} texts and {len(pairs)} values of text_pair; give one for each text.")
    return texts, pairs, is_batch


def _listed(value: Any, name: str, is_split: bool) -> tuple[Any, bool]:
    """Returns `value`, as a list unless it is a str, and whether it is a batch of texts."""
    if isinstance(value, str):
        return value, False
    if not isinstance(value, list):
        if isinstance(value, (bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
            _refuse(value, name, is_split)
    values = list(value)
    return values, not (is_split and values and isinstance(values[0], str))


def _is_pair(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(text, str) for text in value)


def _are_words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def _refuse(value: Any, name: str, is_split: bool) -> None:
    expected = "a list of str (is_split_into_words=True)" if is_split else "a str"
    hint = " (words need is_split_into_words=True)" if not is_split and _are_words(value) else ""
    raise ValueError(f"{name} is {type(value).__name__} {str(value)[:40]!r}; it must be {expected}{hint}.")
