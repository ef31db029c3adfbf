"""What pre-training starts from: a fresh model or a checkpoint, with the head of the objective, and the tokenizer."""
# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from datasets import concatenate_datasets
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessModel, VocablessTokenizer, load_config, load_tokenizer
from vocabless.stock_shapes import StockShape, load_shape_config, load_shape_tokenizer
from vocabless.training.checkpoint_tokenizers import longest_sequence
from vocabless.training.pretraining.load_checkpoint import load_checkpoint_with_head
from vocabless.training.pretraining.neighbour_init import neighbour_init
from vocabless.training.texts.ngrams import with_ngrams
from vocabless.training.texts.subword import TRAINED_SUBWORD, trained_subword
from vocabless.variants import SUBWORD_TOKENIZERS, Variant

if TYPE_CHECKING:  # arguments.py imports the table of objectives
    from vocabless.training.pretraining.arguments import PretrainingArguments
    from vocabless.training.pretraining.objective import Objective

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
        for override in arguments.overrides:
            raise ValueError(f"--set {override} changes a variant, but {start} has trained weights; leave it out.")
        model, tokenizer = load_checkpoint_with_head(start, objective, subword)
        _check_length(arguments, start, longest_sequence(model, tokenizer))
    else:
        shape = arguments.shape
        _check_length(arguments, shape.name, shape.max_length)
        if isinstance(shape, Variant):
            tokenizer = _load_variant_tokenizer(shape, objective, subword, arguments, corpora, folder)
            model = objective.model_class(load_config(shape, **objective.config_options(tokenizer)))
            if arguments.neighbour_init:
                neighbour_init(cast(VocablessModel, model.base_model))
        elif arguments.ngrams is not None:
            raise ValueError(f"{shape.name} has no n-gram features; leave --set ngrams out.")
        else:
            model, tokenizer = _load_stock_shape(shape, objective, subword)
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
    documents = _documents(arguments, corpora)
    return trained_subword(folder / TRAINED_SUBWORD, documents, kind, arguments.subword_vocab_size)


def _documents(arguments: PretrainingArguments, corpora: Sequence[Any]) -> Any:
    """Returns the text that a tokenizer is trained on: all of the corpora, or the first documents of streams."""
    if arguments.streaming:
        corpora = [documents.take(STREAMED_DOCUMENTS // len(corpora)) for documents in corpora]
    return concatenate_datasets(list(corpora))


def _load_variant_tokenizer(
    variant: Variant,
    objective: Objective,
    subword: str | None,
    arguments: PretrainingArguments,
    corpora: Sequence[Any],
    folder: Path,
) -> VocablessTokenizer:
    if variant.reads_subwords:
        files = {"subword": subword}
    elif objective.needs_targets and subword is None:
        raise ValueError(
            f"{objective.name} over the words of {variant.name} predicts a vocabulary; give --subword FILE, or 'train'."
        )
    else:
        files = {"target": subword if objective.needs_targets else None}
    documents = _documents(arguments, corpora) if arguments.ngrams == "train" else []
    texts = (document["text"] for document in documents)
    return with_ngrams(partial(load_tokenizer, variant, **files), arguments.ngrams, folder, texts)


def _load_stock_shape(
    shape: StockShape, objective: Objective, subword: str | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    tokenizer = load_shape_tokenizer(shape, subword or SUBWORD_TOKENIZERS[str(shape.subwords)])
    config = load_shape_config(
        shape, len(tokenizer), pad_token_id=tokenizer.pad_token_id, **objective.stock_config_options()
    )
    return objective.stock_model_class.from_config(config), tokenizer
