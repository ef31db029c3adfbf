"""Loads stock Hugging Face models: complete and in float32, or an error of one sentence."""

from typing import Any

import torch
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from vocabless.modeling.stock_encoders import max_tokens
from vocabless.saving.checkpoint_files import LOADING_ERRORS, check_encoder_tensors, check_source, first_line

SMALLEST_VOCABULARY = 10  # tokens; transformers makes a tokenizer of special tokens alone where the files are missing


def load_stock_encoder(source: str) -> tuple[PreTrainedModel, list[str]]:
    """Returns a stock encoder in evaluation mode, and the names of the tensors in its checkpoint that it does not use.

    Raises:
        ValueError: the checkpoint, a folder or a Hub id, is missing, damaged or one of this family, or lacks tensors.
    """
    check_source(source)
    try:
        options: Any = {"output_loading_info": True, "ignore_mismatched_sizes": True}
        model, loading_info = AutoModel.from_pretrained(source, dtype=torch.float32, **options)
    except LOADING_ERRORS as error:
        remedy = "give a folder with a complete checkpoint, or a Hub id"
        raise ValueError(f"{source!r} cannot be loaded ({first_line(error)}); {remedy}.") from error
    if model.config.model_type == "vocabless":
        remedy = "give a stock model, such as google-bert/bert-base-uncased"
        raise ValueError(f"{source!r} is already a model without a vocabulary; {remedy}.")
    check_encoder_tensors(source, model, loading_info)
    return model.eval(), sorted(loading_info["unexpected_keys"])


def longest_sequence(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Returns the largest sequence length, in tokens, that both a model, stock or not, and its tokenizer accept."""
    encoder: Any = model.base_model
    return min(int(tokenizer.model_max_length), getattr(encoder, "max_tokens", None) or max_tokens(encoder))
