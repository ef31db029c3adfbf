"""The settings that turn texts into a graph's blocks, and its outputs into labels: the content of inference.json."""

from typing import Any, cast

from transformers import PreTrainedModel

from vocabless.conversion.onnx_export.graph import INPUT, output_names
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.overrides import default_options
from vocabless.saving.card_heads import labels_of
from vocabless.tokenization.block_coders import CODERS
from vocabless.tokenization.piece_coders import PIECE_CODERS
from vocabless.tokenization.splitters import SPLITTERS
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer


def inference_settings(model: PreTrainedModel, tokenizer: VocablessTokenizer) -> dict[str, Any]:
    """Returns the content of inference.json."""
    labels = labels_of(model)
    return {
        "architecture": type(model).__name__,
        "input": INPUT,
        "outputs": output_names(model),
        "problem_type": model.config.problem_type,
        **({} if labels is None else {"labels": labels}),
        **answer_settings(model),
        **tokenizer_settings(tokenizer, cast(VocablessModel, model.base_model).max_tokens),
    }


def answer_settings(model: PreTrainedModel) -> dict[str, Any]:
    """Returns how the answer for a text is made, if not by the logits alone: its sentences, the limit of a label.

    `rejects` says that the last label is for texts that are turned away, see `Rejection`.
    """
    threshold = getattr(model.config, "classifier_threshold", None)
    has_limit = threshold is not None and model.config.problem_type == "multi_label_classification"
    rule = getattr(model, "reads_sentences", False)
    settings = {"reads_sentences": rule} if rule else {}
    settings |= {"threshold": threshold} if has_limit else {}
    rejects = getattr(getattr(model, "classifier", None), "rejection", None) is not None
    return settings | ({"rejects": True} if rejects else {})


def describe_length(settings: dict[str, Any]) -> str:
    """Returns a sentence on the length that is read, from the settings of a tokenizer."""
    side, limit = "the end" if settings["truncation_side"] == "right" else "the beginning", settings["max_tokens"]
    return f"Texts are read up to {limit} tokens, as by the pipeline; {side} of a longer text is cut off."


def tokenizer_settings(tokenizer: VocablessTokenizer, max_tokens: int) -> dict[str, Any]:
    """Returns the settings of a tokenizer, with every option of its splitter and coder, and at most `max_tokens`."""
    return {
        "splitter": tokenizer.splitter,
        "splitter_options": default_options(SPLITTERS[tokenizer.splitter]) | tokenizer.splitter_options,
        "coder": tokenizer.coder,
        "coder_options": default_options((CODERS | PIECE_CODERS)[tokenizer.coder]) | tokenizer.coder_options,
        "block_size": tokenizer.block_size,
        "max_tokens": min(tokenizer.model_max_length, max_tokens),
        "truncation_side": tokenizer.truncation_side,
        "mask_token": None if tokenizer.split_special_tokens else tokenizer.mask_token,  # a unit of its own in a text
    }
