"""What pre-training starts from: a fresh model or a checkpoint, with the head of the objective, and the tokenizer."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from datasets import concatenate_datasets
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessConfig, VocablessTokenizer, load_config, load_tokenizer
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.checkpoint_files import LOADING_ERRORS, first_line
from vocabless.saving.stock_models import load_stock_model, load_stock_tokenizer, longest_sequence
from vocabless.stock_shapes import STOCK_SHAPES, load_shape_config, load_shape_tokenizer
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.texts.ngrams import with_ngrams
from vocabless.training.texts.subword import TRAINED_SUBWORD, trained_subword
from vocabless.variants import SUBWORD_TOKENIZERS, VARIANTS, Variant

if TYPE_CHECKING:  # that file imports this one
    from vocabless.training.pretraining.objective import Objective

STOCK_OBJECTIVE = "mlm"
STREAMED_DOCUMENTS = 200_000  # a subword tokenizer is trained on so many documents of a stream


def load_model(
    arguments: PretrainingArguments, objective: Objective, corpora: Sequence[Any] = (), folder: Path = Path()
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Returns the model to train, with the head of the objective, and its tokenizer.

    The dropout holds for training; the configuration keeps the encoder's. `--subword train` and `--set ngrams=train`
    count the corpora; what they train is kept in the folder of the run, so that a run that continues finds it.

    Raises:
        ValueError: an unknown name, a checkpoint that cannot be begun from, a length beyond the model's, a subword
            tokenizer that is missing or not needed.
    """
    source = arguments.model_name_or_path
    shape = arguments.shape if source is None else None
    kind = shape.subwords if shape is not None else "wordpiece"
    if kind is None:
        raise ValueError(f"{arguments.variant} reads characters and is not pre-trained here; give another variant.")
    subword = arguments.subword
    tokenizer: PreTrainedTokenizerBase
    if subword == "train":
        documents = _documents(arguments, corpora)
        subword = trained_subword(folder / TRAINED_SUBWORD, documents, kind, arguments.subword_vocab_size)
    if isinstance(shape, Variant):
        _check_length(arguments, shape.name, shape.max_length)
        counted = _documents(arguments, corpora) if arguments.ngrams == "train" else []
        load = partial(load_tokenizer, shape, **_subword_file(shape, objective, subword))
        tokenizer = with_ngrams(load, arguments.ngrams, folder, (document["text"] for document in counted))
        model = objective.model_class(load_config(shape, **objective.config_options(tokenizer)))
    elif shape is not None:
        _check_length(arguments, shape.name, shape.max_length)
        if arguments.ngrams is not None:
            raise ValueError(f"{shape.name} has no n-gram features; leave --set ngrams out.")
        tokenizer = load_shape_tokenizer(shape, subword or SUBWORD_TOKENIZERS[kind])
        options = objective.stock_config_options() | {"pad_token_id": tokenizer.pad_token_id}
        model = objective.stock_model_class.from_config(load_shape_config(shape, len(tokenizer), **options))
    else:
        for override in arguments.overrides:
            raise ValueError(f"--set {override} changes a variant, but {source} has trained weights; leave it out.")
        model, tokenizer = load_checkpoint_with_head(str(source), objective, subword)
        _check_length(arguments, str(source), longest_sequence(model, tokenizer))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = arguments.dropout
    return model, tokenizer


def load_checkpoint_with_head(
    source: str, objective: Objective, subword: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Returns the model of a checkpoint with the head of the objective, in float32, and its tokenizer.

    The head keeps its weights if the checkpoint, of this family or a stock model, has the same one. A new head is
    random. For masked LM over words, `subword` has the tokens to predict; None is the checkpoint's own file.

    Raises:
        ValueError: the checkpoint is not complete, lacks what the objective needs, or has no use for `subword`.
    """
    needless = f"{source!r} has a tokenizer of its own and no use for --subword {subword}; leave it out."
    if _load_config(source).model_type != VocablessConfig.model_type:
        if subword is not None:
            raise ValueError(needless)
        stock_tokenizer = load_stock_tokenizer(source)
        special = ("cls_token", "sep_token", "mask_token")
        missing = [name for name in special if getattr(stock_tokenizer, name) is None]
        if missing:
            raise ValueError(f"the tokenizer of {source!r} has no {', '.join(missing)}; give a model that has them.")
        model, _ = load_stock_model(source, objective.stock_model_class, **objective.stock_config_options())
        return model, stock_tokenizer
    trained, tokenizer = load_checkpoint(source)
    if subword is not None:
        if not objective.needs_targets or tokenizer.splitter == "subword":
            raise ValueError(needless)
        tokenizer = VocablessTokenizer.from_pretrained(source, target_file=subword)
    elif objective.needs_targets and tokenizer.target_tokenizer is None:
        raise _lacks_subword(objective, repr(source))
    return _with_head(trained, objective, tokenizer), tokenizer


def objective_of_checkpoint(source: str) -> str | None:
    """Returns the objective of a checkpoint's variant, masked LM for a stock model, None if neither is known.

    Raises:
        ValueError: the configuration cannot be loaded.
    """
    config = _load_config(source)
    if config.model_type != VocablessConfig.model_type:
        return STOCK_OBJECTIVE
    variant = VARIANTS.get(str(getattr(config, "variant", None)))
    return variant.objective if variant else None


def _with_head(trained: PreTrainedModel, objective: Objective, tokenizer: VocablessTokenizer) -> PreTrainedModel:
    config = copy.deepcopy(trained.config)
    for name, value in objective.config_options(tokenizer).items():
        setattr(config, name, value)
    model = objective.model_class(config)
    cast(Any, model.base_model).load_state_dict(cast(Any, trained.base_model).state_dict())
    weights = trained.state_dict()
    if shapes(model.state_dict()) == shapes(weights):
        model.load_state_dict(weights)
    return model


def shapes(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Size]:
    """Returns the shape of each weight by its name."""
    return {name: weight.shape for name, weight in weights.items()}


def _check_length(arguments: PretrainingArguments, name: str, limit: int) -> None:
    if arguments.max_seq_length > limit:
        raise ValueError(
            f"--max_seq_length {arguments.max_seq_length} is more than the {limit} tokens of {name}; "
            f"give at most {limit}."
        )


def _documents(arguments: PretrainingArguments, corpora: Sequence[Any]) -> Any:
    """Returns the text that is counted for a tokenizer: all of the corpora, or the first documents of streams."""
    if arguments.streaming:
        corpora = [documents.take(STREAMED_DOCUMENTS // len(corpora)) for documents in corpora]
    return concatenate_datasets(list(corpora))


def _subword_file(variant: Variant, objective: Objective, subword: str | None) -> dict[str, str | None]:
    """Returns what `load_tokenizer` needs: a variant over words has use for subwords as targets alone."""
    if variant.reads_subwords:
        return {"subword": subword}
    if objective.needs_targets and subword is None:
        raise _lacks_subword(objective, variant.name)
    return {"target": subword if objective.needs_targets else None}


def _lacks_subword(objective: Objective, name: str) -> ValueError:
    return ValueError(
        f"{objective.name} over the words of {name} predicts a vocabulary; give --subword FILE, or 'train'."
    )


def _load_config(source: str) -> PreTrainedConfig:
    if not os.path.isdir(source) and source in {*VARIANTS, *STOCK_SHAPES}:
        raise ValueError(f"{source} has no weights to begin from; give --variant {source} for fresh ones.")
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(source)
    except LOADING_ERRORS as error:
        raise ValueError(
            f"{source!r} cannot be loaded ({first_line(error)}); give a folder with a complete checkpoint, or a Hub id."
        ) from error
    return config
