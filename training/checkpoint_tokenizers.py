"""The longest sequence that a checkpoint's tokenizer and model accept, and the smallest vocabulary of a whole one."""

from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.modeling.stock_encoders import max_tokens

SMALLEST_VOCABULARY = 10  # tokens; transformers makes a tokenizer of special tokens alone where the files are missing


def longest_sequence(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Returns the largest sequence length, in tokens, that both the model and the tokenizer accept."""
    encoder: Any = model.base_model
    return min(int(tokenizer.model_max_length), getattr(encoder, "max_tokens", None) or max_tokens(encoder))
