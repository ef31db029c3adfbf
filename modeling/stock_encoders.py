"""Stock Hugging Face encoders as the body of a vocabless model: without word table and pooler, fed `inputs_embeds`.

Their outputs are their own, to the bit. CANINE's depend on the padding: it reads windows of four positions, masked or
not, and drops the last window.
"""
# mypy: allow-untyped-calls, no-warn-return-any

import inspect
import sys

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel, PreTrainedModel

from .configuration_vocabless import VocablessConfig


def build_encoder(config: VocablessConfig) -> PreTrainedModel:
    """Returns the encoder of `config.encoder_config` without its word table and pooler.

    Raises:
        ValueError: it is an encoder-decoder or takes no `inputs_embeds`, or has no positions to leave out.
    """
    kind = config.encoder_config.model_type
    encoder = None if config.encoder_config.is_encoder_decoder else AutoModel.from_config(config.encoder_config)
    if encoder is None or "inputs_embeds" not in arguments_of(encoder):
        raise ValueError(
            f"the encoder {kind!r} is no encoder that takes inputs_embeds; choose one that is, such as "
            "roberta, bert, albert, canine, modernbert, electra or distilbert."
        )
    _remove_word_table(encoder)
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    if not config.position_embeddings:
        holder, name = _place_of_positions(encoder)
        if holder is None:
            raise ValueError(
                f"the encoder {kind!r} has no table of positions to leave out; set position_embeddings=True."
            )
        setattr(holder, name, _NoPositions())
    return encoder


def arguments_of(encoder: PreTrainedModel) -> frozenset[str]:
    """Returns the names of what the encoder's `forward` takes."""
    return frozenset(inspect.signature(encoder.forward).parameters)


def max_tokens(encoder: PreTrainedModel) -> int:
    """Returns how many tokens have a position: RoBERTa and its kin count from padding_idx + 1."""
    limits = [getattr(encoder.config, "max_position_embeddings", 0)]
    holder, name = _place_of_positions(encoder)
    if holder is not None:
        table = getattr(holder, name)
        limits.append(table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1))
    return min((limit for limit in limits if limit > 0), default=sys.maxsize)


def min_tokens(encoder: PreTrainedModel) -> int:
    """Returns how many tokens the encoder needs: CANINE's strided convolution as many as its stride, others one."""
    return getattr(encoder.config, "downsampling_rate", 1)


def lengthen(inputs: dict[str, Tensor], missing: int) -> dict[str, Tensor]:
    """Returns an encoder's inputs, (B, S) and `inputs_embeds` (B, S, D), with `missing` tokens of padding behind."""
    embeddings = inputs["inputs_embeds"]
    mask = {"attention_mask": embeddings.new_ones(embeddings.shape[:2])}
    return {
        name: F.pad(value, (0, 0, 0, missing) if name == "inputs_embeds" else (0, missing))
        for name, value in {**mask, **inputs}.items()
    }


class _NoPositions(nn.Module):
    """Stands where an encoder has its table of positions, and adds nothing."""

    def forward(self, position_ids: Tensor) -> Tensor:
        return torch.zeros((), device=position_ids.device)


class _NoWordTable(nn.Module):
    """Stands where an encoder has its word table; ModernBERT of transformers 5.0 initialises a `weight` there."""

    weight = torch.empty(0)


def _remove_word_table(encoder: PreTrainedModel) -> None:
    canine = getattr(encoder, "char_embeddings", None)
    if canine is None:
        encoder.set_input_embeddings(_NoWordTable())
    else:  # its eight hash tables have no accessor
        for name in [name for name, _ in canine.named_children() if name.startswith("HashBucketCodepointEmbedder")]:
            delattr(canine, name)


def _place_of_positions(encoder: PreTrainedModel) -> tuple[nn.Module | None, str]:
    """Returns the module that holds the encoder's table of positions, or None, and the table's name in it."""
    for part, name in (("embeddings", "position_embeddings"), ("char_embeddings", "char_position_embeddings")):
        holder = getattr(encoder, part, None)
        if isinstance(getattr(holder, name, None), nn.Embedding):
            return holder, name
    return None, ""
