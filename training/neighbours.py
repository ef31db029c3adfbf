"""First weights with which an encoder looks at its neighbours from the first step on.

A small encoder that starts from the usual random weights attends to everything alike; pre-training then spends millions
of tokens finding out that the words beside a word matter. Here the table of positions begins as sinusoids and the first
layer's queries and keys as rotations of them, so that half of its heads look one token back and half one ahead. No
parameter is added and all are trained on: only where training begins differs from the papers. Related: mimetic
initialisation (Trockman and Kolter, 2023).
"""

import math

import torch
from torch import Tensor, nn

from vocabless.modeling.modeling_vocabless import VocablessModel

AMPLITUDE = 0.3  # of a position's sinusoids, a few times a token embedding's deviation
SHARPNESS = 8.0  # scale of query-key products
LONGEST_WAVE = 20.0  # in radians per token: frequencies fall from 1 to 1/LONGEST_WAVE


@torch.no_grad()
def look_at_neighbours(model: VocablessModel) -> bool:
    """Sets position table and first layer of a fresh model as the module says; returns whether its encoder allows it.

    Encoders with a table of positions and query, key and value matrices by BERT's names allow it: BERT, RoBERTa, ELECTRA.
    """
    table = getattr(getattr(model.encoder, "embeddings", None), "position_embeddings", None)
    layers = getattr(getattr(model.encoder, "encoder", None), "layer", None)
    attention = getattr(layers[0], "attention", None) if isinstance(layers, nn.ModuleList) else None
    width = model.config.hidden_size
    heads = model.config.num_attention_heads
    if not isinstance(table, nn.Embedding) or not hasattr(getattr(attention, "self", None), "query"):
        return False
    if table.embedding_dim != width or (width // heads) % 2 or heads < 2:
        return False
    assert attention is not None
    frequencies = _frequencies(width // heads)
    pairs = frequencies.repeat(heads)  # each head has the same waves, in dimensions of its own
    angles = torch.arange(table.num_embeddings)[:, None] * pairs
    table.weight.copy_(AMPLITUDE * torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1))
    offsets = [-1 if head % 2 == 0 else 1 for head in range(heads)]
    rotations = [block for offset in offsets for block in _rotations(frequencies * offset)]
    attention.self.query.weight.copy_(torch.block_diag(*rotations) * SHARPNESS**0.5)
    attention.self.key.weight.copy_(torch.eye(width) * SHARPNESS**0.5)
    for linear in (attention.self.value, attention.output.dense):
        nn.init.normal_(linear.weight, std=width**-0.5)
    return True


def _frequencies(head_size: int) -> Tensor:
    count = head_size // 2
    return torch.exp(-math.log(LONGEST_WAVE) * torch.arange(count) / count)


def _rotations(angles: Tensor) -> list[Tensor]:
    """Returns for each angle the matrix that takes (sin x, cos x) to (sin(x + angle), cos(x + angle))."""
    return [torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]) for a in angles.tolist()]
