"""The settings that turn texts into a graph's blocks, and its outputs into labels: the content of inference.json."""
# mypy: allow-untyped-calls

from typing import Any, cast

from transformers import PreTrainedModel

from vocabless.conversion.onnx_export.graph import INPUT, output_names
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.overrides import default_options
from vocabless.tokenization.block_coders import CODERS
from vocabless.tokenization.splitters import SPLITTERS
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

LABELLED = ("VocablessForSequenceClassification", "VocablessForTokenClassification")


def inference_settings(model: PreTrainedModel, tokenizer: VocablessTokenizer) -> dict[str, Any]:
    """Returns the settings, with every option of the splitter and the coder, those with default values too."""
    config = cast(Any, model.config)
    settings = {
        "architecture": type(model).__name__,
        "input": INPUT,
        "outputs": output_names(model),
        "block_size": tokenizer.block_size,
        "max_tokens": min(tokenizer.model_max_length, cast(VocablessModel, model.base_model).max_tokens),
        "truncation_side": tokenizer.truncation_side,
        "splitter": tokenizer.splitter,
        "splitter_options": default_options(SPLITTERS[tokenizer.splitter]) | tokenizer.splitter_options,
        "coder": tokenizer.coder,
        "coder_options": default_options(CODERS[tokenizer.coder]) | tokenizer.coder_options,
        "mask_token": None if tokenizer.split_special_tokens else tokenizer.mask_token,  # a unit of its own in a text
        "problem_type": config.problem_type,
    }
    if type(model).__name__ in LABELLED:
        settings["labels"] = [config.id2label[index] for index in range(config.num_labels)]
    return settings
