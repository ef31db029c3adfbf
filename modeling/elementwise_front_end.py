"""The front end that concatenates byte embeddings. Source: Elementwise 3.2, 5.1."""
# mypy: no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods)

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedConfig

from .blocks import MAX_ROWS, NUM_ELEMENTS, FrontEnd, check_positive


class Elementwise(FrontEnd):
    """Concatenates K byte embeddings of width C = D/K, the width of an attention head of the encoder.

    Source: Elementwise 3.2; 5.1 for `pool_ngrams`.

    Args:
        focus: whether to add the global focus embedding, row p = m·K + n of a table for byte n of token m.
        max_tokens: M, the maximum sequence length with `focus`.
        pool_ngrams: whether to replace each byte embedding by the weighted sum of the K bytes that start at this byte,
            across the borders of blocks. The weights are a softmax over learned scores of the K bytes.
    """

    def __init__(
        self,
        block_size: int,
        embedding_size: int,
        *,
        focus: bool = True,
        max_tokens: int = 128,
        pool_ngrams: bool = False,
    ) -> None:
        super().__init__(block_size, embedding_size)
        if embedding_size % block_size:
            divisor = max(k for k in range(1, block_size) if embedding_size % k == 0)
            raise ValueError(
                f"block_size={block_size} does not divide the embedding width {embedding_size}; "
                f"give for instance {divisor}."
            )
        check_positive("max_tokens", max_tokens, MAX_ROWS // block_size)
        self.max_tokens = max_tokens if focus else None
        self.embeds_by_place = focus or pool_ngrams
        width = embedding_size // block_size  # C
        self.elements = nn.Embedding(NUM_ELEMENTS, width, padding_idx=0)
        self.focus = nn.Embedding(max_tokens * block_size, width) if focus else None
        self.score = nn.Linear(width, 1) if pool_ngrams else None

    def forward(self, blocks: Tensor) -> Tensor:
        seq_length = blocks.shape[1]
        embeddings = self.elements(blocks)  # (B, S, K, C)
        if self.score is not None:
            embeddings = self._pool_ngrams(self.score, embeddings, blocks)
        if self.focus is not None:
            places = torch.arange(seq_length * self.block_size, device=blocks.device)
            embeddings = embeddings + self.focus(places.view(seq_length, self.block_size))
        return embeddings.flatten(start_dim=-2)

    def check_encoder(self, config: PreTrainedConfig) -> None:
        if config.num_attention_heads != self.block_size:
            raise ValueError(
                f"elementwise needs one attention head for each of the {self.block_size} elements of a block, but the "
                f"encoder has {config.num_attention_heads} attention heads; make num_attention_heads equal block_size."
            )

    def _pool_ngrams(self, score: nn.Module, embeddings: Tensor, blocks: Tensor) -> Tensor:
        """Replaces the embedding of byte i of a sequence by Σ_j softmax_j(score(e_{i+j})) · e_{i+j}, j = 0 … K−1.

        Padding has no weight and stays zero, inside a block and after the text. (B, S, K, C) → (B, S, K, C).
        """
        is_byte = (blocks > 0).flatten(1)  # (B, S·K)
        length, behind = is_byte.shape[1], self.block_size - 1
        letters = embeddings.flatten(1, 2)  # (B, S·K, C)
        scores = score(letters).squeeze(-1)
        lowest = torch.finfo(scores.dtype).min
        scores = F.pad(scores.masked_fill(~is_byte, lowest), (0, behind), value=lowest)
        letters = F.pad(letters, (0, 0, 0, behind))
        ngrams = torch.stack([letters[:, j : j + length] for j in range(self.block_size)], dim=-2)  # (B, S·K, K, C)
        weights = torch.stack([scores[:, j : j + length] for j in range(self.block_size)], dim=-1).softmax(dim=-1)
        return ((weights * is_byte.unsqueeze(-1)).unsqueeze(-1) * ngrams).sum(dim=-2).view(embeddings.shape)
