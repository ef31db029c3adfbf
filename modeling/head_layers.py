"""What the heads of the models are made of: the layers over the encoder, and the loss over tokens."""
# mypy: allow-untyped-calls, no-warn-return-any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .configuration_vocabless import VocablessConfig


class FirstTokenHead(nn.Module):
    """Dense, tanh, dropout, output, on the first token. (B, S, D) → (B, outputs).

    It has as many parameters as the encoders' own: BERT's pooler and classifier, and RoBERTa's head.
    """

    def __init__(self, config: VocablessConfig, num_outputs: int) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.head_dropout)
        self.out_proj = nn.Linear(config.hidden_size, num_outputs)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """Reads the first token of `hidden_states`, (B, S, D), off."""
        pooled = torch.tanh(self.dense(hidden_states[:, 0]))
        return self.out_proj(self.dropout(pooled))


class PredictionTransform(nn.Sequential):
    """Dense, GELU, layer norm: BERT's transform before the output layer. (…, hidden size) → (…, embedding size)."""

    def __init__(self, config: VocablessConfig) -> None:
        encoder, size = config.encoder_config, config.embedding_size
        eps = getattr(encoder, "layer_norm_eps", getattr(encoder, "norm_eps", 1e-12))
        super().__init__(nn.Linear(config.hidden_size, size), nn.GELU(), nn.LayerNorm(size, eps=eps))


def token_loss(logits: Tensor, labels: Tensor | None, num_items_in_batch: Tensor | int | None) -> Tensor | None:
    """Mean cross-entropy over labels other than −100, or their sum over `num_items_in_batch`; 0 where there is none.

    Args:
        logits: (…, classes) floating.
        labels: (…) integers, −100 where there is no label; None gives None.
        num_items_in_batch: labels in all micro-batches of a step; their losses then add up to the step's mean.
    """
    if labels is None:
        return None
    logits, labels = logits.flatten(0, -2).float(), labels.flatten()
    total = F.cross_entropy(logits, labels, ignore_index=-100, reduction="sum")
    count = (labels != -100).sum().clamp(min=1) if num_items_in_batch is None else num_items_in_batch
    return total / count
