"""The front end that lays byte embeddings side by side. Source: Elementwise 3.2, 3.3, 5.1."""
# mypy: allow-untyped-calls, no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods of all)

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .blocks import NUM_ELEMENTS, FrontEnd, at_least_one


class Elementwise(FrontEnd):
    """K byte embeddings side by side, each as wide as an attention head of the encoder.

    Source: Elementwise 3.2; focus embeddings 3.3; `gradient` 5.1.

    Args:
        focus: whether each (position, byte) pair adds an embedding of its own, g at p = m·K + n.
        gradient: whether each byte is first mixed with the n-grams that begin at it, weighted by a softmax of their
            scores (Charformer's block scoring).
        max_tokens: M, positions that `focus` knows.
        ngram_sizes: the longest n-gram of `gradient`.
    """

    def __init__(
        self,
        block_size: int,
        embedding_size: int,
        *,
        focus: bool = True,
        gradient: bool = False,
        max_tokens: int = 128,
        ngram_sizes: int = 4,
    ) -> None:
        super().__init__(block_size, embedding_size)
        if embedding_size % block_size:
            near = max(k for k in range(1, block_size) if embedding_size % k == 0)
            raise ValueError(
                f"block_size={block_size} does not divide the embedding width {embedding_size}; "
                f"give for instance {near}."
            )
        at_least_one("max_tokens", max_tokens)
        self.max_tokens = max_tokens if focus else None
        self.ngram_sizes = at_least_one("ngram_sizes", ngram_sizes)
        width = embedding_size // block_size  # C
        self.elements = nn.Embedding(NUM_ELEMENTS, width, padding_idx=0)
        self.focus = nn.Embedding(max_tokens * block_size, width) if focus else None
        self.score = nn.Linear(width, 1) if gradient else None

    def forward(self, blocks: Tensor) -> Tensor:
        seq_length = blocks.shape[1]
        embeddings = self.elements(blocks)  # (B, S, K, C)
        if self.score is not None:
            embeddings = self._mix_ngrams(embeddings)
        if self.focus is not None:
            embeddings = embeddings + self.focus.weight.unflatten(0, (-1, self.block_size))[:seq_length]
        return embeddings.flatten(start_dim=-2)

    def _mix_ngrams(self, embeddings: Tensor) -> Tensor:
        """Σ_n softmax_n(score(mean of bytes i…i+n−1)) · that mean, for each byte i; bytes beyond K are zeros."""
        assert self.score is not None
        total, means = torch.zeros_like(embeddings), []
        for n in range(min(self.ngram_sizes, self.block_size)):
            total = total + F.pad(embeddings[..., n:, :], (0, 0, 0, n))
            means.append(total / (n + 1))
        candidates = torch.stack(means, dim=-2)  # (B, S, K, N, C)
        return (self.score(candidates).softmax(dim=-2) * candidates).sum(dim=-2)
