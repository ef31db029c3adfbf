"""What a tokenizer may be called with: a text, a batch of texts, pairs, texts in words. Checked here, trusted after."""

from collections.abc import Iterable, Mapping
from typing import Any


def as_batch(text: Any, pair: Any, is_split: bool) -> tuple[list[Any], list[Any] | None, bool]:
    """Returns the texts, their pairs or None, and whether a batch was given.

    Args:
        text: a text or several; a text is a str, or a list of str if `is_split`. Without `pair`, a batch of
            (str, str) alone is a batch of pairs.
        pair: the second text of each pair, or None.
        is_split: whether texts are lists of words.

    Raises:
        ValueError: something in it is no text.
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
        texts, pairs = [one[0] for one in texts], [one[1] for one in texts]
    for name, values in (("text", texts), ("text_pair", pairs or [])):
        for position, value in enumerate(values):
            if not (_are_words(value) if is_split else isinstance(value, str)):
                _refuse(value, f"{name}[{position}]" if is_batch else name, is_split)
    if pairs is not None and len(pairs) != len(texts):
        raise ValueError(f"{len(texts)} texts came with {len(pairs)} pairs; give one pair for each text.")
    return texts, pairs, is_batch


def _listed(value: Any, name: str, is_split: bool) -> tuple[Any, bool]:
    """Returns `value`, as a list if it is several texts or words, and whether it is several texts."""
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
