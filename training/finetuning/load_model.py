"""The model that fine-tuning starts from: a variant or a stock shape with random weights, or any checkpoint."""
# mypy: allow-untyped-calls

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from vocabless.loading import load_config, load_tokenizer
from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.overrides import with_overrides
from vocabless.saving.checkpoint_files import LOADING_ERRORS, check_encoder_tensors
from vocabless.saving.error_text import first_line
from vocabless.saving.permissions import check_readable
from vocabless.stock_shapes import STOCK_SHAPES, StockShape, find_shape, load_shape_config, load_shape_tokenizer
from vocabless.training.checkpoint_tokenizers import load_checkpoint_tokenizer
from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.default_hyper_parameters import BASE_WIDTH, default_learning_rate
from vocabless.training.finetuning.tasks import Task
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.texts.ngrams import with_ngrams
from vocabless.training.texts.subword import TRAINED_SUBWORD, trained_subword
from vocabless.variants import SIZES, VARIANTS, Variant


def is_checkpoint(name: str) -> bool:
    """Returns whether the model has trained weights. A folder takes precedence over a variant with the same name."""
    return Path(name).is_dir() or name not in {*VARIANTS, *STOCK_SHAPES}


def is_trained_vocabless(arguments: GlueArguments) -> bool:
    """Returns whether the model is a trained encoder of ours.

    Raises:
        ValueError: its configuration cannot be loaded.
    """
    name = arguments.model_name_or_path
    return is_checkpoint(name) and _load_checkpoint_config(arguments, {}).model_type == VocablessConfig.model_type


def check_model(arguments: GlueArguments) -> None:
    """Checks the names of model, tokenizer and teacher, without data or network.

    Raises:
        ValueError: a tokenizer is missing, or is given for a model that cannot use it.
    """
    name, tokenizer = arguments.model_name_or_path, arguments.tokenizer_name
    for source in filter(None, (name, arguments.teacher)):
        check_readable(source)
    if is_checkpoint(name):
        _check_checkpoint(arguments)
        return
    shape = _shape(arguments)
    if isinstance(shape, Variant):
        if tokenizer is not None and not shape.reads_subwords:
            raise ValueError(f"{name} reads whole words and does not use --tokenizer_name; leave it out.")
    elif arguments.ngrams is not None:
        raise ValueError(f"{name} has no n-gram features; leave --set ngrams out.")
    elif shape.subwords is None:
        if tokenizer is not None:
            raise ValueError(f"{name} reads characters and does not use --tokenizer_name; leave it out.")
    elif tokenizer is None:
        raise ValueError(f"{name} has no tokenizer of its own; give --tokenizer_name PATH, or train.")


def choose_learning_rate(arguments: GlueArguments, training: GlueTrainingArguments) -> str:
    """Sets the learning rate by the width of the encoder if it is not given; returns a sentence that says so, or "".

    Raises:
        ValueError: the configuration of the model cannot be loaded.
    """
    if training.learning_rate is not None:
        return ""
    name = arguments.model_name_or_path
    if is_checkpoint(name):
        with training.main_process_first(desc="reading the model's configuration"):
            config: Any = _load_checkpoint_config(arguments, {})
        width = int(getattr(config, "hidden_size", BASE_WIDTH))
    else:
        width = SIZES[_shape(arguments).size].hidden_size
    training.learning_rate = default_learning_rate(width)
    return f"Learning rate: {training.learning_rate:g}, chosen for an encoder {width} wide."


class LoadedModel(NamedTuple):
    """A model to fine-tune.

    Attributes:
        model: with a head for the task.
        tokenizer: of the model.
        lacks_head: whether a trained encoder has a head with random weights.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    lacks_head: bool


def load_model(arguments: GlueArguments, task: Task, folder: Path) -> LoadedModel:
    """Returns a model with a head for the task, and its tokenizer.

    Args:
        arguments: name the model and the tokenizer.
        task: decides the head; its training texts are for `--tokenizer_name train` and `--set ngrams=train`.
        folder: output folder of the run; a trained tokenizer is saved there, and a resumed run reads it again.

    Raises:
        ValueError: the model or the tokenizer cannot be loaded.
    """
    name, problem = arguments.model_name_or_path, task.problem
    if is_checkpoint(name):
        return _load_checkpoint(arguments, task)
    subword = arguments.tokenizer_name
    shape = _shape(arguments)
    texts = task.train.plain_texts()
    if subword == "train":
        documents = Dataset.from_dict({"text": texts})
        kind = str(shape.subwords)
        subword = trained_subword(folder / TRAINED_SUBWORD, documents, kind, arguments.subword_vocab_size)
    if isinstance(shape, Variant):
        load = partial(load_tokenizer, shape, subword)
        tokenizer: PreTrainedTokenizerBase = with_ngrams(load, arguments.ngrams, folder, texts)
        config: Any = load_config(shape, **problem.config)
    else:
        tokenizer = load_shape_tokenizer(shape, subword)
        config = load_shape_config(shape, len(tokenizer), pad_token_id=tokenizer.pad_token_id, **problem.config)
    _choose_pooling(config, arguments, task)
    return LoadedModel(problem.auto_class.from_config(config), tokenizer, lacks_head=False)


def _choose_pooling(config: Any, arguments: GlueArguments, task: Task) -> None:
    """Sets what the head of a vocabless model reads.

    If nothing is given, a model that reads the mean reads the two texts of a pair apart. Single texts have no second
    one to compare with.

    Raises:
        ValueError: `--classifier_pooling` is given for another model.
    """
    given = arguments.classifier_pooling
    if config.model_type != VocablessConfig.model_type:
        if given is not None:
            raise ValueError(
                f"--classifier_pooling {given} does not fit {arguments.model_name_or_path!r}, which is no vocabless "
                "model; leave it out."
            )
        return
    pooling = given or config.classifier_pooling
    if task.train.pairs is None:
        config.classifier_pooling = "mean" if pooling == "siamese" else pooling
    else:
        config.classifier_pooling = "siamese" if pooling == "mean" and given is None else pooling


def _check_checkpoint(arguments: GlueArguments) -> None:
    """Raises an error for a flag that belongs to random weights."""
    name = arguments.model_name_or_path
    for override in arguments.overrides:
        raise ValueError(f"--set {override} changes a variant, but {name!r} has trained weights; leave it out.")
    if arguments.tokenizer_name == "train":
        raise ValueError(
            f"--tokenizer_name train does not fit {name!r}: its weights belong to its own tokenizer; leave it out."
        )


def _shape(arguments: GlueArguments) -> Variant | StockShape:
    """Returns the row of random weights, with the overrides of the run."""
    return with_overrides(find_shape(arguments.model_name_or_path), arguments.overrides)


def _load_checkpoint(arguments: GlueArguments, task: Task) -> LoadedModel:
    name, kwargs, problem = arguments.model_name_or_path, _hub_arguments(arguments), task.problem
    config = _load_checkpoint_config(arguments, problem.config)
    _choose_pooling(config, arguments, task)
    try:
        tokenizer = load_checkpoint_tokenizer(
            arguments.tokenizer_name or name, config.model_type, problem.per_word, **kwargs
        )
        with _without_report():
            model, loading_info = problem.auto_class.from_pretrained(
                name, config=config, ignore_mismatched_sizes=True, output_loading_info=True, **kwargs
            )
    except LOADING_ERRORS as error:
        raise _loading_error(name, error) from error
    check_encoder_tensors(name, model, loading_info)
    new = [*loading_info["missing_keys"], *(key for key, *_ in loading_info["mismatched_keys"])]
    return LoadedModel(model, tokenizer, lacks_head=any(key.startswith("classifier.") for key in new))


@contextmanager
def _without_report() -> Iterator[None]:
    """Silences transformers' report on the weights of a head, which every run of a new task has."""
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)


def _load_checkpoint_config(arguments: GlueArguments, changes: dict[str, Any]) -> PreTrainedConfig:
    name = arguments.model_name_or_path
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(name, **_hub_arguments(arguments), **changes)
    except LOADING_ERRORS as error:
        raise _loading_error(name, error) from error
    return config


def _hub_arguments(arguments: GlueArguments) -> dict[str, Any]:
    return {"trust_remote_code": arguments.trust_remote_code, "revision": arguments.model_revision}


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
