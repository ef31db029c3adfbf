"""Words beside the subwords that they are made of, by the characters that they share."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from vocabless import VocablessTokenizer


class Aligner:
    """Collates texts into the inputs of both models, and which tokens of the original's make up each word.

    Args:
        tokenizer: of words.
        original: tokenizer of the original, which knows offsets.
        max_words: of a text, special tokens included.
        max_pieces: likewise; words beyond are left out.
    """

    def __init__(
        self, tokenizer: VocablessTokenizer, original: PreTrainedTokenizerBase, max_words: int, max_pieces: int
    ) -> None:
        self._tokenizer = tokenizer
        self._original = original
        self._max_words = max_words
        self._max_pieces = max_pieces

    def __call__(self, texts: Sequence[str]) -> dict[str, Any]:
        """Returns `words`, `pieces`, the inputs of the models, and `shares`, see `shares_of`."""
        given: dict[str, Any] = {"padding": True, "truncation": True, "return_offsets_mapping": True}
        given |= {"return_tensors": "pt"}
        words = self._tokenizer(list(texts), max_length=self._max_words, **given)
        pieces = self._original(list(texts), max_length=self._max_pieces, **given)
        spans = [torch.as_tensor(encoding.pop("offset_mapping")) for encoding in (words, pieces)]
        return {"words": dict(words), "pieces": dict(pieces), "shares": shares_of(*spans)}


def shares_of(words: Tensor, pieces: Tensor) -> Tensor:
    """Returns the share of each piece in each word: equal for those that have a character in common, (B, S, P) float.

    The first tokens share each other; rows of other tokens without characters are zero.

    Args:
        words: (B, S, 2), first character and end of each word; special tokens and padding have none.
        pieces: (B, P, 2), likewise.

    Example:
        >>> words, pieces = [[[0, 0], [0, 4], [5, 6]]], [[[0, 0], [0, 2], [2, 4], [5, 6]]]
        >>> shares_of(torch.tensor(words), torch.tensor(pieces)).tolist()
        [[[1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]]]
    """
    first = torch.maximum(words[:, :, None, 0], pieces[:, None, :, 0])
    last = torch.minimum(words[:, :, None, 1], pieces[:, None, :, 1])
    overlaps = (last > first).float()
    overlaps[:, 0, 0] = 1.0
    return overlaps / overlaps.sum(dim=-1, keepdim=True).clamp(min=1.0)
