"""The model that fine-tuning starts from: a variant or a stock shape with random weights, or any checkpoint."""

import os
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from datasets import Dataset
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from vocabless.loading import load_config, load_tokenizer
from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.overrides import with_overrides
from vocabless.saving.checkpoint_files import LOADING_ERRORS, check_encoder_tensors, first_line
from vocabless.saving.stock_models import longest_sequence
from vocabless.stock_shapes import STOCK_SHAPES, StockShape, find_shape, load_shape_config, load_shape_tokenizer
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.arguments import (
    GlueArguments,
    GlueTrainingArguments,
    default_learning_rate,
    encoder_width,
)
from vocabless.training.finetuning.data import TaskData
from vocabless.training.texts.ngrams import with_ngrams
from vocabless.training.texts.subword import TRAINED_SUBWORD, trained_subword
from vocabless.variants import SIZES, VARIANTS, Variant

SUBWORDS = 8000  # tokens, of a vocabulary that is trained on the task's texts


class LoadedModel(NamedTuple):
    """A model to fine-tune."""

    model: PreTrainedModel  # with a head for the task
    tokenizer: PreTrainedTokenizerBase
    lacks_head: bool  # whether a trained encoder has a head with random weights

    @property
    def limit(self) -> int:
        """The largest sequence length, tokens. What our tokenizer remembers is the length of the last fine-tuning."""
        if isinstance(self.tokenizer, VocablessTokenizer):
            return cast(VocablessModel, self.model.base_model).max_tokens
        return longest_sequence(self.model, self.tokenizer)


def is_checkpoint(name: str) -> bool:
    """Returns whether the model has trained weights. A folder takes precedence over a variant with the same name."""
    return Path(name).is_dir() or name not in {*VARIANTS, *STOCK_SHAPES}


def is_trained_vocabless(arguments: GlueArguments) -> bool:
    """Returns whether the model is a trained encoder of ours.

    Raises:
        ValueError: its configuration cannot be loaded.
    """
    return is_checkpoint(arguments.model_name_or_path) and _is_ours(_checkpoint_config(arguments))


def split_revision(name: str) -> tuple[str, str]:
    """Returns a Hub id without its `@revision`, and the revision; a folder keeps its name.

    >>> split_revision("you/base@v1"), split_revision("you/base")
    (('you/base', 'v1'), ('you/base', 'main'))
    """
    hub_id, _, revision = name.partition("@")
    return (name, "main") if os.path.exists(name) or not revision else (hub_id, revision)


def check_model(arguments: GlueArguments) -> None:
    """Checks the names of model, tokenizer and teacher, without data or network.

    Raises:
        ValueError: a tokenizer is missing, or is given for a model that cannot use it; a flag is for random weights.
    """
    name, tokenizer = arguments.model_name_or_path, arguments.tokenizer_name
    if is_checkpoint(name):
        for override in arguments.overrides:
            raise ValueError(f"--set {override} changes a variant, but {name!r} has trained weights; leave it out.")
        if tokenizer == "train":
            raise ValueError(
                f"--tokenizer_name train does not fit {name!r}: its weights belong to its own tokenizer; leave it out."
            )
        return
    shape = _shape(arguments)
    is_variant = isinstance(shape, Variant)
    reads_subwords = shape.reads_subwords if isinstance(shape, Variant) else shape.subwords is not None
    if tokenizer is not None and not reads_subwords:
        units = "whole words" if is_variant else "characters"
        raise ValueError(f"{name} reads {units} and does not use --tokenizer_name; leave it out.")
    if not is_variant and arguments.ngrams is not None:
        raise ValueError(f"{name} has no n-gram features; leave --set ngrams out.")
    if not is_variant and reads_subwords and tokenizer is None:
        raise ValueError(f"{name} has no tokenizer of its own; give --tokenizer_name PATH, or train.")


def choose_learning_rate(arguments: GlueArguments, training: GlueTrainingArguments) -> str:
    """Sets the learning rate by the width of the encoder if it is not given; returns a sentence that says so, or "".

    Raises:
        ValueError: the configuration of the model cannot be loaded.
    """
    if training.learning_rate is not None:
        return ""
    if is_checkpoint(arguments.model_name_or_path):
        with training.main_process_first(desc="reading the model's configuration"):
            width = encoder_width(_checkpoint_config(arguments))
    else:
        width = SIZES[_shape(arguments).size].hidden_size
    training.learning_rate = default_learning_rate(width)
    return f"Learning rate: {training.learning_rate:g}, chosen for an encoder {width} wide."


def load_model(arguments: GlueArguments, task: TaskData, folder: Path) -> LoadedModel:
    """Returns a model with a head for the task, and its tokenizer.

    `--tokenizer_name train` and `--set ngrams=train` read the training texts. The folder of the run keeps what they
    train.

    Raises:
        ValueError: the model or the tokenizer cannot be loaded.
    """
    if is_checkpoint(arguments.model_name_or_path):
        return _load_checkpoint(arguments, task)
    subword, shape, problem = arguments.tokenizer_name, _shape(arguments), task.problem
    texts = [*task.train.texts, *(task.train.pairs or [])]
    if subword == "train":
        documents = Dataset.from_dict({"text": texts})
        subword = trained_subword(folder / TRAINED_SUBWORD, documents, str(shape.subwords), SUBWORDS)
    if isinstance(shape, Variant):
        load = partial(load_tokenizer, shape, subword)
        tokenizer: PreTrainedTokenizerBase = with_ngrams(load, arguments.ngrams, folder, texts)
        config: Any = load_config(shape, **problem.config)
    else:
        tokenizer = load_shape_tokenizer(shape, subword)
        config = load_shape_config(shape, len(tokenizer), pad_token_id=tokenizer.pad_token_id, **problem.config)
    _choose_pooling(config, task)
    return LoadedModel(AutoModelForSequenceClassification.from_config(config), tokenizer, lacks_head=False)


def _choose_pooling(config: Any, task: TaskData) -> None:
    """Lets a vocabless model that reads means read the two texts of a pair apart; single texts have no second one."""
    if _is_ours(config) and config.classifier_pooling != "cls":
        config.classifier_pooling = "mean" if task.train.pairs is None else "siamese"


def _shape(arguments: GlueArguments) -> Variant | StockShape:
    """Returns the row of random weights, with the overrides of the run."""
    return with_overrides(find_shape(arguments.model_name_or_path), arguments.overrides)


def _is_ours(config: PreTrainedConfig) -> bool:
    return config.model_type == VocablessConfig.model_type


def _load_checkpoint(arguments: GlueArguments, task: TaskData) -> LoadedModel:
    name = arguments.model_name_or_path
    config = _checkpoint_config(arguments, **task.problem.config)
    _choose_pooling(config, task)
    verbosity = transformers_logging.get_verbosity()
    try:
        source, options = _source(arguments, arguments.tokenizer_name or name)
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
        source, options = _source(arguments, name)
        transformers_logging.set_verbosity_error()  # else it reports the head's weights, new in every run of a new task
        model, loading_info = AutoModelForSequenceClassification.from_pretrained(
            source, config=config, ignore_mismatched_sizes=True, output_loading_info=True, **options
        )
    except LOADING_ERRORS as error:
        raise _loading_error(name, error) from error
    finally:
        transformers_logging.set_verbosity(verbosity)
    check_encoder_tensors(name, model, loading_info)
    new = [*loading_info["missing_keys"], *(key for key, *_ in loading_info["mismatched_keys"])]
    return LoadedModel(model, tokenizer, lacks_head=any(key.startswith("classifier.") for key in new))


def _source(arguments: GlueArguments, name: str) -> tuple[str, dict[str, Any]]:
    """Returns the folder or Hub id, and the other arguments of `from_pretrained` for it."""
    source, revision = split_revision(name)
    return source, {"revision": revision, "trust_remote_code": arguments.trust_remote_code}


def _checkpoint_config(arguments: GlueArguments, **changes: Any) -> PreTrainedConfig:
    name = arguments.model_name_or_path
    source, options = _source(arguments, name)
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(source, **options, **changes)
    except LOADING_ERRORS as error:
        raise _loading_error(name, error) from error
    return config


def _loading_error(name: str, error: Exception) -> ValueError:
    # The advice to allow foreign code stands in the last line; errors of torch go on for many lines.
    cause = " ".join(str(error).split()) if isinstance(error, OSError | ValueError) else first_line(error)
    folders = sorted(str(path) for path in Path(name).parent.glob("*") if path.is_dir())
    near = get_close_matches(name, [each for each in (*VARIANTS, *STOCK_SHAPES, *folders) if each != name], n=4)
    remedy = f"did you mean {' or '.join(near)}? Else give" if near else "give"
    return ValueError(
        f"{name!r} cannot be loaded ({cause}); {remedy} a variant, one of {', '.join(STOCK_SHAPES)}, "
        "a folder with a checkpoint, or a Hub id."
    )
