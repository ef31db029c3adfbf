"""Pre-training that begins from a checkpoint, of this family or a stock one, in place of fresh weights."""
# mypy: allow-untyped-calls

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, cast

from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.checkpoint_files import LOADING_ERRORS
from vocabless.saving.error_text import first_line
from vocabless.saving.permissions import check_readable
from vocabless.saving.stock_models import load_stock_model, load_stock_tokenizer
from vocabless.stock_shapes import STOCK_SHAPES
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.variants import VARIANTS

if TYPE_CHECKING:
    from vocabless.training.pretraining.objective import Objective

STOCK_OBJECTIVE = "mlm"


def objective_of_checkpoint(source: str) -> str | None:
    """Returns the objective of a checkpoint's variant, masked LM for a stock model, None if neither is known.

    Args:
        source: folder or Hub id.

    Raises:
        ValueError: the configuration cannot be loaded.
    """
    config = _load_config(source)
    if config.model_type != VocablessConfig.model_type:
        return STOCK_OBJECTIVE
    variant = VARIANTS.get(str(getattr(config, "variant", None)))
    return variant.objective if variant else None


def load_checkpoint_with_head(
    source: str, objective: Objective, subword: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Returns the model of a checkpoint with the head of the objective, in float32, and its tokenizer.

    The head keeps its weights if the checkpoint has the same one. A new head is random.

    Args:
        source: folder or Hub id, of this family or a stock model.
        objective: decides the head.
        subword: masked LM over words: the `tokenizer.json` of the tokens to predict; None is the checkpoint's own.

    Raises:
        ValueError: the checkpoint is not complete, lacks what the objective needs, or has no use for `subword`.
    """
    is_ours = _load_config(source).model_type == VocablessConfig.model_type
    return _load_ours(source, objective, subword) if is_ours else _load_stock(source, objective, subword)


def _load_ours(
    source: str, objective: Objective, subword: str | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    start, tokenizer = load_checkpoint(source)
    if subword is not None:
        if not objective.needs_targets or tokenizer.splitter == "subword":
            raise _needless_subword(source, subword)
        tokenizer = VocablessTokenizer.from_pretrained(source, target_file=subword)
    elif objective.needs_targets and tokenizer.target_tokenizer is None:
        raise ValueError(
            f"{objective.name} over the words of {source!r} predicts a vocabulary; give --subword FILE, or 'train'."
        )
    config = copy.deepcopy(start.config)
    for name, value in objective.config_options(tokenizer).items():
        setattr(config, name, value)
    model = objective.model_class(config)
    cast(Any, model.base_model).load_state_dict(cast(Any, start.base_model).state_dict())
    weights = start.state_dict()
    if {name: value.shape for name, value in model.state_dict().items()} == {
        name: value.shape for name, value in weights.items()
    }:
        model.load_state_dict(weights)
    return model, tokenizer


def _load_stock(
    source: str, objective: Objective, subword: str | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    if subword is not None:
        raise _needless_subword(source, subword)
    tokenizer = load_stock_tokenizer(source)
    missing = [name for name in ("cls_token", "sep_token", "mask_token") if getattr(tokenizer, name) is None]
    if missing:
        raise ValueError(f"the tokenizer of {source!r} has no {', '.join(missing)}; give a model that has them.")
    model, _ = load_stock_model(source, objective.stock_model_class, **objective.stock_config_options())
    return model, tokenizer


def _load_config(source: str) -> PreTrainedConfig:
    if not os.path.isdir(source) and source in {*VARIANTS, *STOCK_SHAPES}:
        raise ValueError(f"{source} has no weights to begin from; give --variant {source} for fresh ones.")
    check_readable(source)
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(source)
    except LOADING_ERRORS as error:
        raise ValueError(
            f"{source!r} cannot be loaded ({first_line(error)}); give a folder with a complete checkpoint, or a Hub id."
        ) from error
    return config


def _needless_subword(source: str, subword: str) -> ValueError:
    return ValueError(f"{source!r} has a tokenizer of its own and no use for --subword {subword}; leave it out.")
