"""Scores of a text's units, which a front end gives behind the embeddings: see `HashEmbedding`."""
# mypy: allow-untyped-calls

from typing import Any

import torch
from torch import Tensor

from .blocks import check_blocks
from .head_layers import Inputs


def with_embeddings(front_end: Any, inputs: Inputs) -> Inputs:
    """Returns inputs with embeddings and scores, (B, S, D + scores), in place of `input_ids`, if there are scores."""
    input_ids, mask, token_types, positions, _ = inputs
    if input_ids is None or not getattr(front_end, "num_scores", 0):
        return inputs
    check_blocks(input_ids, front_end.block_size)
    return None, mask, token_types, positions, front_end(input_ids.long())


def without_scores(front_end: Any, embeddings: Tensor | None) -> Tensor | None:
    """Returns the embeddings alone, (B, S, D), as the encoder reads them."""
    if embeddings is None or not getattr(front_end, "num_scores", 0):
        return embeddings
    return embeddings[..., : front_end.embedding_size]


def text_scores(front_end: Any, inputs: Inputs, logits: Tensor) -> Tensor:
    """Returns logits (B, outputs) plus the sums of the units' scores, divided by the root of the number of tokens.

    Scores that are not as many as the outputs belong to another head and do not count.
    """
    embeddings, mask = inputs[4], inputs[1]
    if embeddings is None or getattr(front_end, "num_scores", 0) != logits.shape[-1]:
        return logits
    scores = embeddings[..., front_end.embedding_size :].to(logits.dtype)
    weights = torch.ones_like(scores[..., :1]) if mask is None else mask.unsqueeze(-1).to(logits.dtype)
    return logits + (scores * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1).sqrt()
