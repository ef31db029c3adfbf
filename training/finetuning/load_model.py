"""The model that fine-tuning starts from: a variant or a stock shape with random weights, or any checkpoint."""

from pathlib import Path
from typing import Any, NamedTuple, cast

from datasets import Dataset
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessForSequenceClassification
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.overrides import with_overrides
from vocabless.saving.stock_models import longest_sequence
from vocabless.stock_shapes import STOCK_SHAPES, StockShape, find_shape
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.arguments import (
    GlueArguments,
    GlueTrainingArguments,
    default_learning_rate,
    encoder_width,
)
from vocabless.training.finetuning.data import TaskData
from vocabless.training.load import Counted, Head, check_overrides, is_ours, load, load_checkpoint_config
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
    name = arguments.model_name_or_path
    return is_checkpoint(name) and is_ours(load_checkpoint_config(name, trust_remote_code=arguments.trust_remote_code))


def check_model(arguments: GlueArguments) -> None:
    """Checks the names of model, tokenizer and teacher, without data or network.

    Raises:
        ValueError: a tokenizer is missing, or is given for a model that cannot use it; a flag is for random weights.
    """
    name, tokenizer = arguments.model_name_or_path, arguments.tokenizer_name
    if is_checkpoint(name):
        check_overrides(name, arguments.overrides)
        if tokenizer == "train":
            raise ValueError(
                f"--tokenizer_name train does not fit {name!r}: its weights belong to its own tokenizer; leave it out."
            )
        return
    shape = _shape(arguments)
    is_variant = isinstance(shape, Variant)
    if tokenizer is not None and not shape.reads_subwords:
        units = "whole words" if is_variant else "characters"
        raise ValueError(f"{name} reads {units} and does not use --tokenizer_name; leave it out.")
    if not is_variant and arguments.ngrams is not None:
        raise ValueError(f"{name} has no n-gram features; leave --set ngrams out.")
    if not is_variant and shape.reads_subwords and tokenizer is None:
        raise ValueError(f"{name} has no tokenizer of its own; give --tokenizer_name PATH, or train.")


def choose_learning_rate(arguments: GlueArguments, training: GlueTrainingArguments) -> str:
    """Sets the learning rate by the width of the encoder if it is not given; returns a sentence that says so, or "".

    Raises:
        ValueError: the configuration of the model cannot be loaded.
    """
    name = arguments.model_name_or_path
    if training.learning_rate is not None:
        return ""
    if is_checkpoint(name):
        with training.main_process_first(desc="reading the model's configuration"):
            width = encoder_width(load_checkpoint_config(name, trust_remote_code=arguments.trust_remote_code))
    else:
        width = SIZES[_shape(arguments).size].hidden_size
    training.learning_rate = default_learning_rate(width)
    return f"Learning rate: {training.learning_rate:g}, chosen for an encoder {width} wide."


def load_model(arguments: GlueArguments, task: TaskData, folder: Path) -> LoadedModel:
    """Returns a model with a head for the task, and its tokenizer, see `vocabless.training.load.load`.

    `--tokenizer_name train` and `--set ngrams=train` read the training texts.

    Raises:
        ValueError: the model or the tokenizer cannot be loaded.
    """
    name, tokenizer_name = arguments.model_name_or_path, arguments.tokenizer_name

    def options(config: Any, _: PreTrainedTokenizerBase) -> dict[str, Any]:
        return task.problem.config | _pooling(config, task)

    def documents() -> Dataset:
        return Dataset.from_dict({"text": [*task.train.texts, *(task.train.pairs or [])]})

    head = Head(task.name, VocablessForSequenceClassification, AutoModelForSequenceClassification, options)
    counted = Counted(documents, folder, SUBWORDS)
    if not is_checkpoint(name):
        model, tokenizer, _ = load(_shape(arguments), head, counted, tokenizer_name, arguments.ngrams)
        return LoadedModel(model, tokenizer, lacks_head=False)
    loaded = load(name, head, counted, tokenizer_name=tokenizer_name, trust_remote_code=arguments.trust_remote_code)
    return LoadedModel(*loaded[:2], lacks_head=any(key.startswith("classifier.") for key in loaded.new_tensors))


def _pooling(config: Any, data: TaskData) -> dict[str, str]:
    """Lets a vocabless model that reads means read the two texts of a pair apart; single texts have no second one."""
    if not is_ours(config) or config.classifier_pooling == "cls":
        return {}
    return {"classifier_pooling": "mean" if data.train.pairs is None else "siamese"}


def _shape(arguments: GlueArguments) -> Variant | StockShape:
    """Returns the row of random weights, with the overrides of the run."""
    return with_overrides(find_shape(arguments.model_name_or_path), arguments.overrides)
