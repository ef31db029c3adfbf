"""The tokenizer of a checkpoint, and the longest sequence that the tokenizer and its model accept."""

from typing import Any

from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from vocabless.modeling.stock_encoders import max_tokens

SMALLEST_VOCABULARY = 10  # tokens; transformers makes a tokenizer of special tokens alone where the files are missing
# Model types whose tokenizers need `add_prefix_space` to read texts that are split into words.
NEEDS_PREFIX_SPACE = ("bloom", "deberta", "gpt2", "longformer", "roberta")


def load_checkpoint_tokenizer(name: str, model_type: str, reads_words: bool, **options: Any) -> PreTrainedTokenizerBase:
    """Returns the tokenizer of a checkpoint, a folder or Hub id.

    Texts are lists of words if it `reads_words`. `options` are those of `AutoTokenizer.from_pretrained`.
    """
    space = {"add_prefix_space": True} if reads_words and model_type in NEEDS_PREFIX_SPACE else {}
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(name, **options, **space)
    return tokenizer


def longest_sequence(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Returns the largest sequence length, in tokens, that both the model and the tokenizer accept."""
    encoder: Any = model.base_model
    return min(int(tokenizer.model_max_length), getattr(encoder, "max_tokens", None) or max_tokens(encoder))
