"""First weights with which an encoder attends to neighbouring tokens from the first training step.

With the usual random weights a small encoder attends to all tokens alike. Pre-training then needs millions of tokens to
find out that the neighbours of a word matter. Here the first weights are set as follows:

- The table of positions holds sinusoids. Some are so fast that neighbouring positions differ clearly.
- In the second layer (the only layer of a one-layer encoder) the keys are the position part of the states, and the
  queries are the same part rotated by one position. So half of the heads attend to the previous token and half to the
  next one.
- Values, feed-forward layers and their outputs ignore the position part, so they read words and not positions.
- The first layer's attention output starts at zero, so the second layer still sees each word's own embedding.
- [CLS] has no position part, so it attends to all tokens alike and its state describes the whole text.
- Focus embeddings and token-type embeddings start at zero. Random ones would be larger than small word embeddings.

Differs from the papers: only the start of training. There is no new parameter, and every parameter is trained.
Related: mimetic initialisation (Trockman and Kolter, 2023).
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from vocabless.modeling.blocks import NUM_ELEMENTS, NUM_SPECIAL
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.tokenization.block_coders import CLS

AMPLITUDE = 1.0  # of the sinusoids, in standard deviations of a token's embedding
SHARPNESS = 32.0  # scale of query-key products, before the division by the root of a head's width
MAX_FREQUENCIES = 16  # sinusoids in a head; each takes two dimensions and may occur several times


@torch.no_grad()
def neighbour_init(model: VocablessModel) -> bool:
    """Sets the first weights of a fresh model, see this module. Returns False if its encoder does not allow it.

    The encoder needs a table of positions, layers with BERT's names (BERT, RoBERTa, ELECTRA), and heads of even width.
    """
    if not _is_supported(model):
        return False
    width, heads = model.encoder.config.hidden_size, model.config.num_attention_heads
    encoder: Any = model.encoder
    layers = encoder.encoder.layer
    for part, name in ((model.front_end, "focus"), (encoder.embeddings, "token_type_embeddings")):
        if isinstance(getattr(part, name, None), nn.Embedding):
            getattr(part, name).weight.zero_()

    frequencies = _frequencies(width // heads)
    # The state's dimensions hold the pairs (sine, cosine) of all frequencies, `copies` times in a row.
    copies = width // (2 * len(frequencies))
    basis = torch.eye(2 * len(frequencies)).repeat(copies, 1) / copies**0.5  # (width, 2·frequencies), orthonormal
    position_part = basis @ basis.T  # (width, width), projects a state onto its position part
    other_part = torch.eye(width) - position_part

    _set_positions(model, frequencies, copies, position_part)
    _set_neighbour_attention(layers[min(1, len(layers) - 1)].attention.self, frequencies, copies, position_part)
    for layer in layers:
        for linear in (layer.attention.self.value, layer.intermediate.dense):
            linear.weight.copy_(_random_weights(linear) @ other_part)
        for linear in (layer.attention.output.dense, layer.output.dense):
            linear.weight.copy_(other_part @ _random_weights(linear))
    if len(layers) > 1:
        layers[0].attention.output.dense.weight.zero_()
    return True


def _is_supported(model: VocablessModel) -> bool:
    table = getattr(getattr(model.encoder, "embeddings", None), "position_embeddings", None)
    layers: Any = getattr(getattr(model.encoder, "encoder", None), "layer", None)
    width, heads = model.encoder.config.hidden_size, model.config.num_attention_heads
    if not isinstance(table, nn.Embedding) or layers is None or table.embedding_dim != width:
        return False
    return hasattr(getattr(layers[0].attention, "self", None), "query") and (width // heads) % 2 == 0


def _frequencies(head_width: int) -> Tensor:
    """Returns as many frequencies, up to `MAX_FREQUENCIES`, as divide a head's width; radians per position."""
    count = max(number for number in range(1, MAX_FREQUENCIES + 1) if head_width % (2 * number) == 0)
    return math.pi * ((torch.arange(count) + 0.5) / count) ** 1.5  # unevenly spaced: no two positions look alike


def _set_positions(model: VocablessModel, frequencies: Tensor, copies: int, position_part: Tensor) -> None:
    """Writes the sinusoids into the table of positions. The row of [CLS] cancels the position part of its embedding."""
    encoder: Any = model.encoder
    table = encoder.embeddings.position_embeddings
    angles = torch.arange(table.num_embeddings)[:, None] * frequencies
    amplitude = AMPLITUDE * _embedding_deviation(model)
    sinusoids = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # (positions, 2·frequencies)
    table.weight.copy_(amplitude * sinusoids.repeat(1, copies))
    block = torch.zeros(1, 1, model.config.block_size, dtype=torch.int64)
    block[..., 0] = CLS
    first = 0 if table.padding_idx is None else table.padding_idx + 1
    table.weight[first] = -position_part @ model.front_end(block)[0, 0]


def _set_neighbour_attention(attention: Any, frequencies: Tensor, copies: int, position_part: Tensor) -> None:
    """Sets queries and keys so that even heads attend to the previous token and odd heads to the next one."""
    heads = attention.num_attention_heads
    rotations = [_rotation(-frequencies if head % 2 == 0 else frequencies) for head in range(heads)]
    rotate_all = torch.block_diag(*(rotation for rotation in rotations for _ in range(copies // heads)))
    scale = (SHARPNESS / attention.attention_head_size**0.5) ** 0.5  # half of it for queries, half for keys
    attention.query.weight.copy_(scale * rotate_all @ position_part)
    attention.key.weight.copy_(scale * position_part)


def _embedding_deviation(model: VocablessModel) -> float:
    """Returns the standard deviation of the front end's embeddings, measured on random words of five bytes."""
    words = torch.zeros(1, 64, model.config.block_size, dtype=torch.int64)  # fits the smallest limit on positions
    words[..., :5] = torch.randint(NUM_SPECIAL, NUM_ELEMENTS, words[..., :5].shape)
    return float(model.front_end(words).std())


def _random_weights(linear: nn.Linear) -> Tensor:
    """Returns random weights with which the output of a layer is about as large as its input."""
    weights: Tensor = torch.randn_like(linear.weight) / linear.in_features**0.5
    return weights


def _rotation(angles: Tensor) -> Tensor:
    """Returns the matrix that maps each pair (sin x, cos x) to (sin(x + angle), cos(x + angle))."""
    blocks = [[[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]] for a in angles.tolist()]
    rotation: Tensor = torch.block_diag(*(torch.tensor(block) for block in blocks))
    return rotation
