"""Pairs of texts whose two texts the encoder reads apart."""

import torch
from torch import Tensor

from .blocks import token_type_ids_of

Inputs = tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None, Tensor | None]


def split_pairs(
    input_ids: Tensor | None,
    attention_mask: Tensor | None,
    token_type_ids: Tensor | None,
    position_ids: Tensor | None,
    inputs_embeds: Tensor | None,
) -> Inputs:
    """Makes two sequences of each pair, [CLS] a [SEP] b [SEP]: [CLS] a [SEP] and [CLS] b [SEP].

    A single text is a pair whose second sequence is [CLS] alone.

    Args:
        input_ids: blocks, (B, S, K); or None.
        attention_mask: (B, S), 0 for padding; None if there is no padding.
        token_type_ids: (B, S), 1 for the second text, else 0. None looks for the first [SEP] of the blocks.
        position_ids: not used, because the tokens of each sequence are numbered anew.
        inputs_embeds: (B, S, D), in place of `input_ids`.

    Returns:
        The same five, without token types and positions: all first sequences and then all second ones, (2B, T, …). T is
        the longest sequence, or S in a compiled graph.

    Raises:
        ValueError: the texts cannot be told apart.
    """
    inputs = inputs_embeds if input_ids is None else input_ids
    if token_type_ids is None and input_ids is not None:
        token_type_ids = token_type_ids_of(input_ids)
    if inputs is None or token_type_ids is None:
        raise ValueError("a siamese model splits pairs; give input_ids, or inputs_embeds with token_type_ids.")
    is_token = torch.ones_like(token_type_ids) if attention_mask is None else (attention_mask > 0).long()
    is_second = (token_type_ids > 0).long() * is_token
    last = inputs.shape[1] - 1
    positions = torch.arange(last + 1, device=inputs.device)
    first_token = (is_token.cumsum(dim=1) == 0).sum(dim=1, keepdim=True)  # [CLS], behind padding on the left
    start = (is_second.cumsum(dim=1) == 0).sum(dim=1, keepdim=True)
    source = torch.where(positions == 0, first_token, start + positions - 1).clamp(max=last)
    seconds = inputs.gather(1, source.unsqueeze(-1).expand_as(inputs))
    is_in_second = (positions <= is_second.sum(dim=1, keepdim=True)).long()
    sequences, mask = torch.cat([inputs, seconds]), torch.cat([is_token - is_second, is_in_second])
    if not torch.compiler.is_compiling():  # a graph cannot have a width that depends on values
        width = int(mask.any(dim=0).nonzero().max()) + 1
        sequences, mask = sequences[:, :width], mask[:, :width]
    return (None, mask, None, None, sequences) if input_ids is None else (sequences, mask, None, None, None)
