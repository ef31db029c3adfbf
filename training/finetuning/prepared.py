"""What all steps of `fit` share: the rows as token ids, and the arguments with what is chosen for a run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from transformers import DataCollatorWithPadding, PreTrainedModel

from vocabless.modeling.head_layers import PooledHead
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.rows.held_out import folds_of
from vocabless.training.finetuning.tasks.arguments import GlueArguments, GlueTrainingArguments, default_patience
from vocabless.training.finetuning.tasks.data import EncodedRows, Examples, Rows, TaskData, encode, shorten
from vocabless.training.finetuning.tasks.problems import Problem, Regression
from vocabless.training.load import Loaded, is_checkpoint
from vocabless.variants import BASE_WIDTH, default_learning_rate

LENGTHS = (64, 128, 256, 512)  # tokens
DEFAULT_LENGTH = 128
MAX_CUT = 0.01  # share of the texts that a length cuts
EPSILON = 0.2  # of adversarial training, after a first head and without a teacher
Log = Callable[[str], object]  # takes lines for the user


@dataclass(frozen=True)
class Prepared:
    """What all steps share. Nothing is None in the arguments."""

    data: TaskData
    model: PreTrainedModel  # copies of it are trained
    rows: EncodedRows  # to train on
    folds: list[Rows]  # of these rows
    validation_rows: Mapping[str, EncodedRows]  # suffix → rows; empty if folds are scored
    length: int  # tokens of a training row, at most
    arguments: GlueArguments
    training: GlueTrainingArguments
    are_epochs_given: bool  # by the user
    has_first_head: bool  # before training, a head is fitted to the frozen encoder
    epsilon: float  # of adversarial training, see `adversarial_loss`; 0 is none
    collator: DataCollatorWithPadding
    log: Log

    @property
    def deciding_metric(self) -> str | None:
        """The metric that chooses among candidates, see `simplest`: on rows apart, that of the best epoch."""
        metric = str(self.training.metric_for_best_model).removeprefix("eval_")
        return metric if self.training.load_best_model_at_end else None

    @property
    def rejects(self) -> bool:
        """Whether the saved model turns unfamiliar texts away."""
        return self.arguments.reject is not None

    def encode(self, examples: Examples) -> EncodedRows:
        """Returns the token ids of further texts to train on."""
        return encode(examples, self.data.problem, self.collator.tokenizer, self.length)


def takes_first_head(loaded: Loaded, problem: Problem, arguments: GlueArguments) -> bool:
    """Returns whether a linear head is fitted to a model that lacks one: it reads one vector, and has enough units."""
    head, outputs = getattr(loaded.model, "classifier", None), problem.config["num_labels"]
    if not (loaded.lacks_head and isinstance(head, PooledHead)) or arguments.random_head:
        return False
    return head.dense.in_features == head.dense.out_features or outputs <= head.dense.out_features


def check_rejection(data: TaskData, model: PreTrainedModel, share: float, label: str) -> None:
    """Raises ValueError if a model cannot turn texts away, or the training rows are too few for the share."""
    head = getattr(model, "classifier", None)
    if isinstance(data.problem, Regression) or not isinstance(head, PooledHead):
        reason = "gives numbers" if isinstance(data.problem, Regression) else "is not of vocabless"
        raise ValueError(f"reject is {share:g}, but the model {reason}; leave it out, or fit a classifier of ours.")
    if label in data.problem.labels:
        raise ValueError(f"reject_label is {label!r}, which is a label of the training rows; give another name.")
    needed, rows = ceil(1 / share) - 1, len(data.train)
    if rows < needed or not data.validation:
        raise ValueError(
            f"reject is {share:g}, which {rows} training rows cannot hold; give at least {needed} rows, or a larger "
            "share."
        )


def prepare(
    data: TaskData, loaded: Loaded, arguments: GlueArguments, training: GlueTrainingArguments, log: Log
) -> Prepared:
    """Tokenises the rows and chooses what is None in the arguments; sets the length that the tokenizer remembers.

    Raises:
        ValueError: see `fit`.
    """
    if arguments.reject is not None:
        check_rejection(data, loaded.model, arguments.reject, arguments.reject_label)
    has_first_head = takes_first_head(loaded, data.problem, arguments)
    if training.num_train_epochs == 0 and not has_first_head:
        mistake = "--num_train_epochs 0 fits the head of an encoder of ours without one"
        raise ValueError(f"{mistake}, which {arguments.model_name_or_path!r} is not; leave it out.")
    tokenizer = loaded.tokenizer
    rows, trained_length, length = encode_training_rows(data, loaded, arguments, log)
    if isinstance(tokenizer, VocablessTokenizer):
        tokenizer.model_max_length = length  # for pipelines, ONNX and page
        tokenizer.call_defaults = {"truncation": True}  # as from the folder of a classifier
    validation_rows = {
        suffix: encode(examples, data.problem, tokenizer, length)
        for suffix, examples in data.validation.items()
        if not data.is_cross_validated
    }
    tokens = sum(len(row["input_ids"]) for row in rows) if has_first_head else None
    are_epochs_given = training.num_train_epochs is not None
    width = encoder_width(loaded.model.config)
    if training.learning_rate is None and not has_first_head:  # else it is told before all weights are trained
        log(f"Learning rate: {default_learning_rate(width):g}, chosen for an encoder {width} wide.")
    training = training.arguments_of_run(data, width, arguments.eval_steps.get(data.name), tokens)
    patience = arguments.early_stopping_patience
    patience = default_patience(float(training.num_train_epochs or 0)) if patience is None else patience
    arguments = replace(arguments, max_seq_length=length, early_stopping_patience=patience)
    return Prepared(
        data=data,
        model=loaded.model,
        rows=rows,
        folds=folds_of([row["label"] for row in rows], data.train.groups),
        validation_rows=validation_rows,
        length=trained_length,
        arguments=arguments,
        training=training,
        are_epochs_given=are_epochs_given,
        has_first_head=has_first_head,
        epsilon=EPSILON if has_first_head and arguments.teacher is None else 0.0,
        collator=DataCollatorWithPadding(tokenizer),
        log=log,
    )


def encoder_width(config: Any) -> int:
    """Returns the width of the encoder that a configuration describes, which the learning rate goes by."""
    return int(getattr(getattr(config, "encoder_config", config), "hidden_size", BASE_WIDTH))


def encode_training_rows(
    data: TaskData, loaded: Loaded, arguments: GlueArguments, log: Log
) -> tuple[EncodedRows, int, int]:
    """Returns the training rows, their length in tokens, and that of texts to read later.

    If a length is given, it is both. GLUE and random weights get `DEFAULT_LENGTH`. The texts are measured for a
    checkpoint and own data: the training rows are cut where that saves time, which is logged. Later texts may be longer
    than these rows, so all tokens are read that the encoder has places for.
    """
    wanted, limit = arguments.max_seq_length, loaded.limit
    if wanted is not None:
        loaded.check_length(wanted, str(arguments.model_name_or_path))
    if wanted is not None or not data.is_own or not is_checkpoint(arguments.model_name_or_path):
        length = wanted or min(DEFAULT_LENGTH, limit)
        return encode(data.train, data.problem, loaded.tokenizer, length), length, length
    longest = min(LENGTHS[-1], limit)
    rows = encode(data.train, data.problem, loaded.tokenizer, limit + 1)  # to see which texts the limit cuts
    lengths = np.array([len(row["input_ids"]) for row in rows])
    length = min(next((length for length in LENGTHS if (lengths > length).mean() <= MAX_CUT), longest), longest)
    if number := shorten(rows, data.train, data.problem, loaded.tokenizer, length):
        share = 100 * number / len(rows)
        log(f"Training reads up to {length} tokens of a text, which cuts {share:.1f} % of them.")
    return rows, length, longest
