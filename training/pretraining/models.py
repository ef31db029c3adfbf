"""What pre-training starts from: a fresh model with the head of its objective, and its tokenizer."""
# mypy: allow-untyped-calls

from typing import cast

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.stock_shapes import STOCK_SHAPES, find_shape, load_shape_config, load_shape_tokenizer
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.first_weights import attend_to_neighbours
from vocabless.training.pretraining.objective import Objective
from vocabless.variants import SUBWORD_TOKENIZERS, Variant


def load_model(
    arguments: PretrainingArguments, objective: Objective, subword: str | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Returns a fresh model and its tokenizer.

    Args:
        arguments: `variant`, `max_seq_length`, `dropout` and `neighbour_init` are read. The dropout holds for
            training; the configuration keeps the encoder's own.
        objective: decides the head.
        subword: file, folder or Hub id of a subword tokenizer; None is the published one.

    Raises:
        ValueError: an unknown name, a length beyond the model's, a subword tokenizer that is missing or not needed.
    """
    name, shape = arguments.variant, find_shape(arguments.variant)
    if arguments.max_seq_length > shape.max_length:
        raise ValueError(
            f"--max_seq_length {arguments.max_seq_length} is more than the {shape.max_length} tokens of {name}; "
            f"give at most {shape.max_length}."
        )
    if name in STOCK_SHAPES:
        model, tokenizer = _load_stock_shape(name, objective, subword)
    else:
        model, tokenizer = _load_variant(name, objective, subword)
        if arguments.neighbour_init:
            attend_to_neighbours(cast(VocablessModel, model.base_model))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = arguments.dropout
    return model, tokenizer


def _load_variant(
    name: str, objective: Objective, subword: str | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    variant = find_shape(name)
    assert isinstance(variant, Variant)
    if variant.reads_subwords:
        tokenizer = load_tokenizer(name, subword)
    elif objective.needs_targets and subword is None:
        raise ValueError(
            f"{objective.name} over the words of {name} predicts a vocabulary; give --subword FILE, or 'train'."
        )
    else:
        tokenizer = load_tokenizer(name, target=subword if objective.needs_targets else None)
    config = load_config(name, **objective.config_options(tokenizer))
    return objective.model_class(config), tokenizer


def _load_stock_shape(
    name: str, objective: Objective, subword: str | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    tokenizer = load_shape_tokenizer(name, subword or SUBWORD_TOKENIZERS[find_shape(name).subwords])
    config = load_shape_config(
        name, len(tokenizer), pad_token_id=tokenizer.pad_token_id, **objective.stock_config_options()
    )
    return objective.stock_model_class.from_config(config), tokenizer
