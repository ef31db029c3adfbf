"""Loads stock Hugging Face models: complete and in float32, or an error of one sentence."""

from typing import Any

import torch
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from vocabless.modeling.stock_encoders import max_tokens
from vocabless.saving.checkpoint_files import LOADING_ERRORS, check_encoder_tensors, check_source, first_line

SMALLEST_VOCABULARY = 10  # tokens; transformers makes a tokenizer of special tokens alone where the files are missing


def load_stock_config(source: str) -> PreTrainedConfig:
    """Returns the configuration of a stock model, a folder or a Hub id.

    Raises:
        ValueError: the configuration is missing, damaged or unknown to transformers, or it is one of this family.
    """
    check_source(source)
    try:
        config = AutoConfig.from_pretrained(source)
    except LOADING_ERRORS as error:
        raise ValueError(_cannot_load(source, error)) from error
    if config.model_type == "vocabless":
        remedy = "give a stock model, such as google-bert/bert-base-uncased"
        raise ValueError(f"{source!r} is already a model without a vocabulary; {remedy}.")
    return config  # type: ignore[no-any-return]


def load_stock_model(source: str, auto_class: Any, **options: Any) -> tuple[PreTrainedModel, list[str]]:
    """Returns a stock model in evaluation mode, and the names of the tensors in its checkpoint that it does not use.

    Args:
        source: folder or Hub id.
        auto_class: `AutoModel`, or a class with a head. A head that the checkpoint lacks, or has otherwise, is random.
        options: arguments of the configuration that replace the checkpoint's.

    Raises:
        ValueError: the checkpoint is missing or truncated, or it lacks tensors.
    """
    try:
        model, loading_info = auto_class.from_pretrained(
            source, dtype=torch.float32, output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
    except LOADING_ERRORS as error:
        raise ValueError(_cannot_load(source, error)) from error
    check_encoder_tensors(source, model, loading_info)
    return model.eval(), sorted(loading_info["unexpected_keys"])


def longest_sequence(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Returns the largest sequence length, in tokens, that both a model, stock or not, and its tokenizer accept."""
    encoder: Any = model.base_model
    return min(int(tokenizer.model_max_length), getattr(encoder, "max_tokens", None) or max_tokens(encoder))


def _cannot_load(source: str, error: Exception) -> str:
    return f"{source!r} cannot be loaded ({first_line(error)}); give a folder with a complete checkpoint, or a Hub id."
