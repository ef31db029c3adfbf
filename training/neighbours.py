"""First weights with which an encoder looks at its neighbours from the first step on.

A small encoder that starts from the usual random weights attends to everything alike; pre-training then spends
millions of tokens finding out that the words beside a word matter. Here the table of positions begins as sinusoids that
lie in few dimensions, the first layer's queries and keys as rotations within them, so that half of its heads look one
token back and half one ahead; values and feed-forward layers begin blind to them, so that they see words, not places.

Differs from the papers: where training begins. No parameter is added and all are trained on. Related: mimetic
initialisation (Trockman and Kolter, 2023).
"""
# mypy: allow-untyped-calls

import math
from typing import Any

import torch
from torch import Tensor, nn

from vocabless.modeling.modeling_vocabless import VocablessModel

AMPLITUDE = 0.3  # of a position's sinusoids, a few times a token embedding's deviation
SHARPNESS = 8.0  # scale of query-key products
NUM_WAVES = 8
LONGEST_WAVE = 20.0  # frequencies fall from 1 towards 1/20 radian per token
GAIN = 2.0  # of values and feed-forward layers, whose input has little of the word in it beside its place


@torch.no_grad()
def look_at_neighbours(model: VocablessModel) -> bool:
    """Sets the first weights of a fresh model as the module says; returns whether its encoder allows it.

    Encoders with a table of positions and layers by BERT's names allow it (BERT, RoBERTa, ELECTRA), if each head has a
    multiple of 16 dimensions.
    """
    table = getattr(getattr(model.encoder, "embeddings", None), "position_embeddings", None)
    layers: Any = getattr(getattr(model.encoder, "encoder", None), "layer", None)
    width, heads = model.config.hidden_size, model.config.num_attention_heads
    if not isinstance(table, nn.Embedding) or layers is None or table.embedding_dim != width:
        return False
    if not hasattr(getattr(layers[0].attention, "self", None), "query") or (width // heads) % (2 * NUM_WAVES):
        return False
    copies = width // (2 * NUM_WAVES)  # the same waves again and again
    frequencies = torch.exp(-math.log(LONGEST_WAVE) * torch.arange(NUM_WAVES) / NUM_WAVES)
    angles = torch.arange(table.num_embeddings)[:, None] * frequencies
    table.weight.copy_(AMPLITUDE * torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).repeat(1, copies))
    places = torch.eye(2 * NUM_WAVES).repeat(copies, 1) / copies**0.5  # (width, 16), an orthonormal basis
    onto_places = places @ places.T
    elsewhere = torch.eye(width) - onto_places

    attention = layers[0].attention.self
    turns = [_rotation(frequencies * (-1 if head % 2 == 0 else 1)) for head in range(heads)]
    turn = torch.block_diag(*(block for block in turns for _ in range(copies // heads)))
    attention.query.weight.copy_(SHARPNESS**0.5 * turn @ onto_places)
    attention.key.weight.copy_(SHARPNESS**0.5 * onto_places)
    for layer in layers:
        for linear in (layer.attention.self.value, layer.intermediate.dense):
            linear.weight.copy_(GAIN * _normal(linear) @ elsewhere)
        for linear in (layer.attention.output.dense, layer.output.dense):
            linear.weight.copy_(elsewhere @ _normal(linear))
    return True


def _normal(linear: nn.Linear) -> Tensor:
    """Returns random weights that keep the size of their input."""
    weights: Tensor = torch.randn_like(linear.weight) / linear.in_features**0.5
    return weights


def _rotation(angles: Tensor) -> Tensor:
    """Returns the matrix that takes each pair (sin x, cos x) to (sin(x + angle), cos(x + angle))."""
    blocks = [[[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]] for a in angles.tolist()]
    rotation: Tensor = torch.block_diag(*(torch.tensor(block) for block in blocks))
    return rotation
