"""First weights with which an encoder looks at its neighbours from the first step on.

A small encoder that starts from the usual random weights attends to everything alike; pre-training then spends
millions of tokens finding out that the words beside a word matter. Here the first layer begins with the word alone: its
attention adds nothing yet. The table of positions begins as sinusoids that lie in few dimensions, some so quick that
even places side by side are unlike, the second layer's queries and keys as rotations within them, so that half of its
heads look one token back and half one ahead; values and feed-forward layers begin blind to them, so that they see
words, not places. [CLS] alone begins without a place, and so looks at all words alike: what is read off it later is a
view of the whole text. Focus embeddings and those of token types begin at zero: beside them words whose embeddings are
small would not be heard.

Differs from the papers: where training begins. No parameter is added and all are trained on. Related: mimetic
initialisation (Trockman and Kolter, 2023).
"""
# mypy: allow-untyped-calls

import math
from typing import Any

import torch
from torch import Tensor, nn

from vocabless.modeling.blocks import NUM_ELEMENTS, NUM_SPECIAL
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.tokenization.block_coders import CLS

AMPLITUDE = 1.0  # of a position's sinusoids, in standard deviations of a token's embedding
SHARPNESS = 32.0  # scale of query-key products, over the root of a head's width
MAX_WAVES = 16  # two dimensions each; a head has the same waves once or several times


@torch.no_grad()
def look_at_neighbours(model: VocablessModel) -> bool:
    """Sets the first weights of a fresh model as the module says; returns whether its encoder allows it.

    The layer that looks at the neighbours is the second, or the only one.

    Encoders with a table of positions and layers by BERT's names allow it (BERT, RoBERTa, ELECTRA), if each head has an
    even number of dimensions.
    """
    table = getattr(getattr(model.encoder, "embeddings", None), "position_embeddings", None)
    layers: Any = getattr(getattr(model.encoder, "encoder", None), "layer", None)
    width, heads = model.config.hidden_size, model.config.num_attention_heads
    if not isinstance(table, nn.Embedding) or layers is None or table.embedding_dim != width:
        return False
    if not hasattr(getattr(layers[0].attention, "self", None), "query") or (width // heads) % 2:
        return False
    waves = max(count for count in range(1, MAX_WAVES + 1) if width // heads % (2 * count) == 0)
    for part, name in ((model.front_end, "focus"), (model.encoder.embeddings, "token_type_embeddings")):
        if isinstance(getattr(part, name, None), nn.Embedding):
            getattr(part, name).weight.zero_()
    copies = width // (2 * waves)  # the same waves again and again
    frequencies = math.pi * ((torch.arange(waves) + 0.5) / waves) ** 1.5  # uneven: places look alike but once
    angles = torch.arange(table.num_embeddings)[:, None] * frequencies
    amplitude = AMPLITUDE * _deviation(model)
    table.weight.copy_(amplitude * torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).repeat(1, copies))
    places = torch.eye(2 * waves).repeat(copies, 1) / copies**0.5  # (width, 2·waves), orthonormal
    onto_places = places @ places.T
    elsewhere = torch.eye(width) - onto_places
    first = 0 if table.padding_idx is None else table.padding_idx + 1
    table.weight[first] = -onto_places @ _embedding_of_cls(model)

    attention = layers[min(1, len(layers) - 1)].attention.self
    turns = [_rotation(frequencies * (-1 if head % 2 == 0 else 1)) for head in range(heads)]
    turn = torch.block_diag(*(block for block in turns for _ in range(copies // heads)))
    sharpness = SHARPNESS / (width // heads) ** 0.5
    attention.query.weight.copy_(sharpness**0.5 * turn @ onto_places)
    attention.key.weight.copy_(sharpness**0.5 * onto_places)
    for layer in layers:
        for linear in (layer.attention.self.value, layer.intermediate.dense):
            linear.weight.copy_(_normal(linear) @ elsewhere)
        for linear in (layer.attention.output.dense, layer.output.dense):
            linear.weight.copy_(elsewhere @ _normal(linear))
    if len(layers) > 1:
        layers[0].attention.output.dense.weight.zero_()
    return True


def _embedding_of_cls(model: VocablessModel) -> Tensor:
    """Returns the front end's embedding of a [CLS]."""
    block = torch.zeros(1, 1, model.config.block_size, dtype=torch.int64)
    block[..., 0] = CLS
    embedding: Tensor = model.front_end(block)[0, 0]
    return embedding


def _deviation(model: VocablessModel) -> float:
    """Returns the standard deviation of the front end's embeddings, over random words of five bytes."""
    size = model.config.block_size
    words = torch.zeros(1, 64, size, dtype=torch.int64)  # as short as any limit on positions
    words[..., :5] = torch.randint(NUM_SPECIAL, NUM_ELEMENTS, words[..., :5].shape)
    return float(model.front_end(words).std())


def _normal(linear: nn.Linear) -> Tensor:
    """Returns random weights that keep the size of their input."""
    weights: Tensor = torch.randn_like(linear.weight) / linear.in_features**0.5
    return weights


def _rotation(angles: Tensor) -> Tensor:
    """Returns the matrix that takes each pair (sin x, cos x) to (sin(x + angle), cos(x + angle))."""
    blocks = [[[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]] for a in angles.tolist()]
    rotation: Tensor = torch.block_diag(*(torch.tensor(block) for block in blocks))
    return rotation
