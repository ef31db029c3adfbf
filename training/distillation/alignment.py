"""Aligns the words of one tokenizer with the subwords of another by the characters that they have in common."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from vocabless import VocablessTokenizer


def align(
    texts: Sequence[str],
    tokenizer: VocablessTokenizer,
    subword_tokenizer: PreTrainedTokenizerBase,
    max_words: int,
    max_subwords: int,
) -> dict[str, Any]:
    """Returns a batch of B texts for a model of words and a model of subwords, with the alignment of the two.

    Both limits are in tokens of their tokenizer, special tokens included. Words behind `max_subwords` have no subwords.

    Returns:
        `words` and `subwords`, the inputs of the two models; `weights`, see `alignment_weights`; `labels`, (B, S)
        int64: 1 for words that have a subword, else 0.
    """
    options: dict[str, Any] = {"padding": True, "truncation": True, "return_offsets_mapping": True}
    words = tokenizer(list(texts), max_length=max_words, return_tensors="pt", **options)
    subwords = subword_tokenizer(list(texts), max_length=max_subwords, return_tensors="pt", **options)
    weights = alignment_weights(*(torch.as_tensor(each.pop("offset_mapping")) for each in (words, subwords)))
    labels = (weights.sum(dim=-1) > 0).long()
    return {"words": dict(words), "subwords": dict(subwords), "weights": weights, "labels": labels}


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


def alignment_weights(words: Tensor, subwords: Tensor) -> Tensor:
    """Returns the weight of each subword in the mean over the subwords of a word, (B, S, P) float32.

    The subwords of a word are those that have a character in common with it; their weights are equal and sum to 1. The
    first token of `words` is aligned with the first of `subwords`. Rows of other tokens without characters are zero.
    `words`, (B, S, 2) int64, and `subwords`, (B, P, 2), hold the first character and the end of each; these are equal
    for special tokens and padding.

    Example:
        >>> words, subwords = [[[0, 0], [0, 4], [5, 6]]], [[[0, 0], [0, 2], [2, 4], [5, 6]]]
        >>> alignment_weights(torch.tensor(words), torch.tensor(subwords)).tolist()
        [[[1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]]]
    """
    first = torch.maximum(words[:, :, None, 0], subwords[:, None, :, 0])  # (B, S, P), of the common characters
    end = torch.minimum(words[:, :, None, 1], subwords[:, None, :, 1])
    overlaps = (end > first).float()
    overlaps[:, 0, 0] = 1.0
    return overlaps / overlaps.sum(dim=-1, keepdim=True).clamp(min=1.0)
