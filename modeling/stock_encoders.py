"""Stock Hugging Face encoders without word table and pooler, as the body of a vocabless model.

They read `inputs_embeds`, and their outputs are the same as the stock encoder's, bit for bit. CANINE's outputs depend
on the padding: it reads windows of four positions, masked or not, and drops the last window.
"""
# mypy: no-warn-return-any

import inspect
import sys

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel, PreTrainedModel

from .configuration_vocabless import TYPE_ERRORS, VocablessConfig


def build_encoder(config: VocablessConfig) -> PreTrainedModel:
    """Returns the encoder of `config.encoder_config` without its word table and pooler.

    Raises:
        ValueError: the configuration has a value of a wrong type, the model is an encoder-decoder or does not accept
            `inputs_embeds`, or `position_embeddings` is False and it has no table of positions.
    """
    kind = config.encoder_config.model_type
    encoder = None
    if not config.encoder_config.is_encoder_decoder:
        try:  # never code that the configuration names
            encoder = AutoModel.from_config(config.encoder_config, trust_remote_code=False)
        except (*TYPE_ERRORS, ArithmeticError, AssertionError) as error:
            raise ValueError(f"encoder_config describes no {kind!r} model ({error!r}); correct config.json.") from error
    if encoder is None or "inputs_embeds" not in arguments_of(encoder):
        raise ValueError(
            f"the model type {kind!r} is not an encoder that accepts inputs_embeds; choose for instance "
            "roberta, bert, albert, canine, modernbert, electra or distilbert."
        )
    _remove_word_table(encoder)
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    if not config.position_embeddings:
        module, name = _find_position_table(encoder)
        if module is None:
            raise ValueError(f"the encoder {kind!r} has no table of positions to drop; set position_embeddings=True.")
        setattr(module, name, _NoPositions())
    return encoder


def arguments_of(encoder: PreTrainedModel) -> frozenset[str]:
    """Returns the argument names of the encoder's `forward`."""
    return frozenset(inspect.signature(encoder.forward).parameters)


def max_tokens(encoder: PreTrainedModel) -> int:
    """Returns the longest sequence that has positions. RoBERTa and models like it count from padding_idx + 1."""
    limits = [getattr(encoder.config, "max_position_embeddings", 0)]
    module, name = _find_position_table(encoder)
    if module is not None:
        table = getattr(module, name)
        limits.append(table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1))
    return min((limit for limit in limits if limit > 0), default=sys.maxsize)


def pad_to_minimum_length(inputs: dict[str, Tensor], minimum: int) -> dict[str, Tensor]:
    """Pads the encoder's inputs, (B, S) each and `inputs_embeds` (B, S, D), to at least `minimum` tokens."""
    embeddings = inputs["inputs_embeds"]
    missing = minimum - embeddings.shape[1]
    if missing <= 0:
        return inputs
    mask = {"attention_mask": embeddings.new_ones(embeddings.shape[:2])}
    return {
        name: F.pad(value, (0, 0, 0, missing) if name == "inputs_embeds" else (0, missing))
        for name, value in {**mask, **inputs}.items()
    }


class _NoPositions(nn.Module):
    """Replaces an encoder's table of positions and returns 0."""

    def forward(self, position_ids: Tensor) -> Tensor:
        return torch.zeros((), device=position_ids.device)


class _NoWordTable(nn.Module):
    """Replaces an encoder's word table. ModernBERT of transformers 5.0 initialises the `weight` of its table."""

    weight = torch.empty(0)


def _remove_word_table(encoder: PreTrainedModel) -> None:
    canine = getattr(encoder, "char_embeddings", None)
    if canine is None:
        encoder.set_input_embeddings(_NoWordTable())
    else:  # CANINE has eight hash tables, which `set_input_embeddings` does not reach
        for name in [name for name, _ in canine.named_children() if name.startswith("HashBucketCodepointEmbedder")]:
            delattr(canine, name)


def _find_position_table(encoder: PreTrainedModel) -> tuple[nn.Module | None, str]:
    """Returns the module that has the encoder's table of positions, or None, and the table's attribute name."""
    for part, name in (("embeddings", "position_embeddings"), ("char_embeddings", "char_position_embeddings")):
        module = getattr(encoder, part, None)
        if isinstance(getattr(module, name, None), nn.Embedding):
            return module, name
    return None, ""
