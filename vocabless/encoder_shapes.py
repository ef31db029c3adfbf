"""Sizes of encoders, shared by the table of variants and the table of stock shapes."""

from typing import Any, NamedTuple


class Size(NamedTuple):
    """The dimensions of an encoder."""

    num_hidden_layers: int
    hidden_size: int
    num_attention_heads: int
    intermediate_size: int


# Turc et al. (2019), Table 1. `uno` is EELBERT's (section 5.2): tiny with a feed-forward width of 128. `nano` is ours.
SIZES = {
    "nano": Size(1, 64, 2, 256),
    "uno": Size(2, 128, 2, 128),
    "tiny": Size(2, 128, 2, 512),
    "mini": Size(4, 256, 4, 1024),
    "small": Size(4, 512, 8, 2048),
    "base": Size(12, 768, 12, 3072),
}


def encoder_arguments(model_type: str, size: str, max_tokens: int) -> dict[str, Any]:
    """Returns the arguments of an encoder's configuration.

    Args:
        model_type: `bert`, `roberta`, `albert` or `canine`.
        size: a key of `SIZES`.
        max_tokens: longest sequence, in tokens.
    """
    arguments: dict[str, Any] = {**SIZES[size]._asdict(), "max_position_embeddings": max_tokens}
    if model_type == "roberta":  # RoBERTa counts positions from padding_idx + 1 = 2
        arguments |= {"max_position_embeddings": max_tokens + 2, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
    return arguments


def has_token_types(model_type: str) -> bool:
    """Returns whether the encoder tells the two texts of a pair apart by `token_type_ids`."""
    return model_type != "roberta"
