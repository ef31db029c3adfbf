"""What pre-training starts from: a fresh model or a checkpoint, with the head of the objective, and the tokenizer."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from datasets import concatenate_datasets
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.stock_shapes import StockShape, load_shape_config, load_shape_tokenizer
from vocabless.training.checkpoint_tokenizers import longest_sequence
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.first_weights import attend_to_neighbours
from vocabless.training.pretraining.objective import Objective
from vocabless.training.pretraining.starting_weights import load_start
from vocabless.training.texts.subword import TRAINED_SUBWORD, trained_subword
from vocabless.variants import SUBWORD_TOKENIZERS, Variant

STREAMED_DOCUMENTS = 200_000  # a subword tokenizer is trained on so many documents of a stream


def load_model(
    arguments: PretrainingArguments, objective: Objective, corpora: Sequence[Any] = (), folder: Path = Path()
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Returns the model to train, with the head of the objective, and its tokenizer.

    Args:
        arguments: all that describes the model. The dropout holds for training; the configuration keeps the encoder's.
        objective: decides the head.
        corpora: the text that `--subword train` trains a tokenizer on.
        folder: of the run; such a tokenizer is kept there, so that a run that continues finds it.

    Raises:
        ValueError: an unknown name, a checkpoint that cannot be begun from, a length beyond the model's, a subword
            tokenizer that is missing or not needed.
    """
    start = arguments.model_name_or_path
    kind = "wordpiece" if start is not None else arguments.shape.subwords
    if kind is None:
        raise ValueError(f"{arguments.variant} reads characters and is not pre-trained here; give another variant.")
    subword = arguments.subword
    if subword == "train":
        subword = _trained_subword(arguments, kind, corpora, folder)
    if start is not None:
        model, tokenizer = load_start(start, objective, subword)
        _check_length(arguments, start, longest_sequence(model, tokenizer))
    else:
        shape = arguments.shape
        _check_length(arguments, shape.name, shape.max_length)
        load: Any = _load_variant if isinstance(shape, Variant) else _load_stock_shape
        model, tokenizer = load(shape, objective, subword)
        if isinstance(shape, Variant) and arguments.neighbour_init:
            attend_to_neighbours(cast(VocablessModel, model.base_model))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = arguments.dropout
    return model, tokenizer


def _check_length(arguments: PretrainingArguments, name: str, limit: int) -> None:
    if arguments.max_seq_length > limit:
        raise ValueError(
            f"--max_seq_length {arguments.max_seq_length} is more than the {limit} tokens of {name}; "
            f"give at most {limit}."
        )


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
