"""What pre-training starts from: a fresh model with the head of its objective, and its tokenizer."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from datasets import concatenate_datasets
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.stock_shapes import StockShape, load_shape_config, load_shape_tokenizer
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.first_weights import attend_to_neighbours
from vocabless.training.pretraining.objective import Objective
from vocabless.training.texts.subword import TRAINED_SUBWORD, trained_subword
from vocabless.variants import SUBWORD_TOKENIZERS, Variant

STREAMED_DOCUMENTS = 200_000  # a subword tokenizer is trained on so many documents of a stream


def load_model(
    arguments: PretrainingArguments, objective: Objective, corpora: Sequence[Any] = (), folder: Path = Path()
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Returns a fresh model and its tokenizer.

    Args:
        arguments: all that describes the model. The dropout holds for training; the configuration keeps the encoder's.
        objective: decides the head.
        corpora: the text that `--subword train` trains a tokenizer on.
        folder: of the run; such a tokenizer is kept there, so that a run that continues finds it.

    Raises:
        ValueError: an unknown name, a length beyond the model's, a subword tokenizer that is missing or not needed.
    """
    shape = arguments.shape
    if arguments.max_seq_length > shape.max_length:
        raise ValueError(
            f"--max_seq_length {arguments.max_seq_length} is more than the {shape.max_length} tokens of {shape.name}; "
            f"give at most {shape.max_length}."
        )
    if shape.subwords is None:
        raise ValueError(f"{shape.name} reads characters and cannot be pre-trained by this script; give another one.")
    subword = arguments.subword
    if subword == "train":
        subword = _trained_subword(arguments, shape.subwords, corpora, folder)
    if isinstance(shape, Variant):
        model, tokenizer = _load_variant(shape, objective, subword)
        if arguments.neighbour_init:
            attend_to_neighbours(cast(VocablessModel, model.base_model))
    else:
        model, tokenizer = _load_stock_shape(shape, objective, subword)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = arguments.dropout
    return model, tokenizer


def _trained_subword(arguments: PretrainingArguments, kind: str, corpora: Sequence[Any], folder: Path) -> str:
    """Returns the file of a subword tokenizer of that kind, which is trained on the corpora unless it exists."""
    if arguments.streaming:
        corpora = [documents.take(STREAMED_DOCUMENTS // len(corpora)) for documents in corpora]
    documents = concatenate_datasets(list(corpora))
    return trained_subword(folder / TRAINED_SUBWORD, documents, kind, arguments.subword_vocab_size)


def _load_variant(
    variant: Variant, objective: Objective, subword: str | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    if variant.reads_subwords:
        tokenizer = load_tokenizer(variant.name, subword)
    elif objective.needs_targets and subword is None:
        raise ValueError(
            f"{objective.name} over the words of {variant.name} predicts a vocabulary; give --subword FILE, or 'train'."
        )
    else:
        tokenizer = load_tokenizer(variant.name, target=subword if objective.needs_targets else None)
    config = load_config(variant.name, **objective.config_options(tokenizer))
    return objective.model_class(config), tokenizer


def _load_stock_shape(
    shape: StockShape, objective: Objective, subword: str | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    tokenizer = load_shape_tokenizer(shape.name, subword or SUBWORD_TOKENIZERS[str(shape.subwords)])
    config = load_shape_config(
        shape.name, len(tokenizer), pad_token_id=tokenizer.pad_token_id, **objective.stock_config_options()
    )
    return objective.stock_model_class.from_config(config), tokenizer
