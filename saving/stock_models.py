"""Stock models as they are read for a conversion: whole, in float32, or refused in one sentence."""
# mypy: allow-untyped-calls

from collections.abc import Iterable
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from vocabless.saving.sources import check_names, first_words

# Heads and poolers that a checkpoint has or lacks, whatever it was trained for.
OPTIONAL = ("pooler", "classifier", "cls.", "lm_head", "qa_outputs", "predictions", "position_ids")


def load_stock_config(source: str) -> PreTrainedConfig:
    """Returns the configuration of a stock model.

    Args:
        source: folder or Hub id.

    Raises:
        ValueError: there is none, it is damaged or unknown to the library, or it belongs to this family.
    """
    try:
        config = AutoConfig.from_pretrained(source)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(_cannot_load(source, error)) from error
    if config.model_type == "vocabless":
        raise ValueError(
            f"{source!r} has no vocabulary already; give a stock model, such as google-bert/bert-base-uncased."
        )
    return config  # type: ignore[no-any-return]


def load_stock_model(source: str, auto_class: Any) -> tuple[PreTrainedModel, list[str]]:
    """Returns a stock model, and the tensors of its checkpoint that it has no place for.

    Args:
        source: folder or Hub id.
        auto_class: `AutoModel` for the encoder alone, or one with a head.

    Raises:
        ValueError: it is not there, cut off, or lacks tensors.
    """
    try:
        model, found = auto_class.from_pretrained(source, dtype=torch.float32, output_loading_info=True)
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        raise ValueError(_cannot_load(source, error)) from error
    check_names(source, sorted(name for name in found["missing_keys"] if not _is_any(name, OPTIONAL)), ())
    return model.eval(), sorted(found["unexpected_keys"])


def load_stock_tokenizer(source: str) -> PreTrainedTokenizerBase:
    """Returns the tokenizer of a stock model, which knows the place of each token in its text.

    Raises:
        ValueError: there is none, or it does not know.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(source)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"the tokenizer of {source!r} cannot be loaded ({first_words(error)}); it is needed."
        ) from error
    if not tokenizer.is_fast:
        raise ValueError(f"the tokenizer of {source!r} knows no offsets; give a model with a tokenizer.json.")
    return tokenizer  # type: ignore[no-any-return]


def _is_any(name: str, parts: Iterable[str]) -> bool:
    return any(part in name for part in parts)


def _cannot_load(source: str, error: Exception) -> str:
    return f"{source!r} cannot be loaded ({first_words(error)}); give a folder with a whole checkpoint, or a Hub id."
