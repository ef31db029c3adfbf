"""The arguments of `vocabless finetune`, and the hyper-parameters that a user leaves open.

HashFormers (Table 5) fine-tunes encoders of base size on GLUE, at 3e-5 for at most 5 epochs. A narrower encoder learns
next to nothing at this rate, and a small data set has few steps in 5 epochs. The rates give the paper's value for
base size, and the epochs for all of its tasks but the small RTE and MRPC. docs/measurements.md shows what was measured.
"""

import copy
import json
import math
from dataclasses import dataclass, field

from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from vocabless.loading import default_encoder, find_model
from vocabless.overrides import with_overrides
from vocabless.stock_shapes import StockShape, find_shape
from vocabless.training.finetuning.tasks.columns import LABEL_COLUMNS, PAIR_COLUMNS, TEXT_COLUMNS
from vocabless.training.finetuning.tasks.data import TaskData
from vocabless.training.load import is_checkpoint, is_ours, load_checkpoint_config
from vocabless.training.script import (
    ANY_SIZE,
    COUNT,
    Limit,
    ModelArguments,
    ScriptTrainingArguments,
    TextFileArguments,
    check_limits,
    flag,
)
from vocabless.variants import Variant, default_learning_rate

NONE_OF_THESE = "none of these"  # the answer for texts that no label fits
MOST_REJECTED = 0.5  # of texts with a label
EPOCHS, PATIENCE = 5, 2  # at most, for data sets with enough rows
MIN_STEPS = 600  # optimizer steps
BATCH_SIZE, BATCH_SIZE_AFTER_HEAD = 32, 16
MAX_EPOCHS, EXAMPLES = 20, 10_000  # after a first head
USUAL_LENGTH, FEWEST_EPOCHS = 64, 2  # after a first head: tokens of a text; longer ones are read less often


@dataclass
class DataSource:
    """Where the data of a run comes from."""

    task_name: list[str] | None = flag(
        None,
        "GLUE tasks: cola sst2 mrpc stsb qqp mnli qnli rte wnli, or all.",
        group="data: GLUE, your own files, or a data set of the Hub",
    )
    data_dir: str | None = flag(
        None, "Folder with a subfolder of parquet files for each GLUE task. None downloads GLUE."
    )
    train_file: str | None = flag(None, "Your own training data: a csv, tsv, jsonl, json, parquet or fastText file.")
    validation_file: str | None = flag(None, "File to evaluate on. None holds out a part of the training data.")
    test_file: str | None = flag(
        None, "File to predict; if it has labels, it is scored. Without training data, see `vocabless predict`."
    )
    dataset_name: str | None = flag(
        None, "Data set on the Hub, instead of --train_file: owner/name[:configuration][@revision]."
    )


@dataclass
class DataArguments(TextFileArguments, DataSource):
    """The data of a run: their source, their columns, and the rows that are used."""

    text_column: list[str] | None = flag(
        None,
        f"Column of the text, or the two of a text pair. None looks for {' or '.join(TEXT_COLUMNS)}, then for the "
        f"pairs {', '.join(map(' and '.join, PAIR_COLUMNS))}.",
        group="columns and labels of your own data",
    )
    label_column: list[str] | None = flag(
        None,
        f"Column of the labels; several give a text several labels. None looks for {', '.join(LABEL_COLUMNS)}.",
    )
    label_separator: str | None = flag(None, "Separator of several labels in one string, for csv files.")
    problem_type: str | None = flag(
        None,
        "single_label_classification (None: of strings and whole numbers), regression (other numbers) or "
        "multi_label_classification (lists).",
    )
    validation_split_percentage: float | None = flag(
        None,
        "Percent of the training rows to hold out, 0–50. None is 10; below 10 000 rows, other models are scored on one "
        "or all of five folds, and the saved one learns from all rows.",
        limit=Limit(0, 50, above=True),
        group="rows and runs",
    )
    group_column: str | None = flag(None, "Hold out rows with the same value in this column together.")
    max_train_samples: int | None = flag(None, "Training rows, drawn at random. None uses all.", limit=Limit(2))

    def __post_init__(self) -> None:
        check_limits(self)
        if len(self.text_column or ()) > 2:
            raise ValueError(f"--text_column has {len(self.text_column or ())} names; give one, or two for text pairs.")

    @property
    def is_test_alone(self) -> bool:
        """Whether the rows of a test file are all data, for a saved model."""
        others = (self.task_name, self.train_file, self.validation_file, self.dataset_name)
        return self.test_file is not None and not any(others)


@dataclass
class GlueArguments(ModelArguments):
    """The model, and the runs that are made of it."""

    model_name_or_path: str = flag(
        None,
        "A variant or a stock shape such as bert-tiny, with random weights; or a checkpoint: a folder or a Hub id, "
        "owner/name[@revision]. None is an encoder of this package: for English, or else for 30 languages.",
        group="model",
    )
    tokenizer_name: str | None = flag(
        None,
        "tokenizer.json, folder or Hub id; for subword variants and stock shapes also 'train', on the task's training "
        "text. None is the model's own.",
    )
    trust_remote_code: bool = flag(False, "Run code that a checkpoint contains.")
    max_seq_length: int | None = flag(
        None,
        "Tokens of a text; the rest is cut. None is 128; for a checkpoint and your own data all that the model has "
        "places for, at most 512, and in training the shortest of 64, 128 and 256 that holds 99 of 100 texts.",
        limit=Limit(3),
        group="rows and runs",
    )
    seeds: int = flag(1, "Runs for each task; their seeds are --seed, --seed + 1 and so on.", limit=COUNT)
    example: list[str] | None = flag(
        None, "A text, or both of a pair, that card and page show. None shows no text of yours."
    )
    teacher: str | None = flag(
        None,
        "Fine-tuned model for the same labels, whose outputs are learned: folder or Hub id. {task} in it is the name "
        "of the task.",
        group="learning from a larger model",
    )
    unlabelled: list[str] | None = flag(
        None,
        "Texts for the teacher to label: txt files with a text in each line; parquet, jsonl or csv files with the "
        "columns of the task's texts.",
    )
    augment: int = flag(0, "Corrupted copies of each training text for the teacher to label.", limit=ANY_SIZE)
    random_head: bool = flag(False, "Begin with random weights of the head, as the papers do.", group="training")
    reject: float | None = flag(
        None,
        "Turn away texts that no label fits, and at most this share of the others, such as 0.05. None turns none away.",
        limit=Limit(0, MOST_REJECTED, above=True),
        group="training",
    )
    reject_label: str = flag(NONE_OF_THESE, "Answer for texts that are turned away.", group="training")
    early_stopping_patience: int | None = flag(
        None,
        "Evaluations without an improvement before a run stops; 0 never stops early. None is 2, and in proportion for "
        "more than 5 epochs.",
        limit=ANY_SIZE,
    )
    task_eval_steps: str | None = flag(
        None, 'JSON of task → steps between two evaluations, such as {"rte": 48}; else --eval_strategy decides.'
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.is_model_given = self.model_name_or_path is not None
        self.model_name_or_path = find_model(self.model_name_or_path or default_encoder())
        self.teacher, self.tokenizer_name = (name and find_model(name) for name in (self.teacher, self.tokenizer_name))
        for name in ("unlabelled", "augment"):
            if self.teacher is None and getattr(self, name):
                raise ValueError(f"--{name} needs a model that labels texts; give --teacher, or leave it out.")
        self.eval_steps = _read_eval_steps(self.task_eval_steps)  # task → steps between two evaluations

    @property
    def shape(self) -> Variant | StockShape:
        """The row of random weights, with the overrides of the run."""
        return with_overrides(find_shape(self.model_name_or_path), self.overrides)


@dataclass
class GlueTrainingArguments(ScriptTrainingArguments):
    """The Trainer's arguments, with the defaults of this project for encoders of every size.

    Epochs, batch size, peak learning rate at base size, warm-up and weight decay are those of HashFormers, Table 5, of
    which the recipe `hashformer-glue` has the rest. The other defaults are ours. `cosine_with_restarts` has one cycle,
    so it does not restart, unless `--lr_scheduler_kwargs` gives more.
    """

    output_dir: str | None = flag(
        None, "Output folder. None is runs/glue/<model>, or runs/<name of the data>.", group="training"
    )
    num_train_epochs: float | None = flag(  # type: ignore[assignment]
        None,
        "Maximum number of epochs; 0 fits the head alone, a linear model of the frozen encoder's vectors, in seconds. "
        f"None is {EPOCHS}, or as many as make {MIN_STEPS} steps; after a first head {EPOCHS} to {MAX_EPOCHS}, as many "
        f"as read {EXAMPLES:,} texts, and fewer for long texts; none if the head is nearly always right.",
        limit=ANY_SIZE,
        group="training",
    )
    per_device_train_batch_size: int = flag(
        0,
        f"Texts that a device trains on at once. 0 is {BATCH_SIZE}, and {BATCH_SIZE_AFTER_HEAD} after a first head.",
        group="training",
    )
    learning_rate: float | None = flag(  # type: ignore[assignment]
        None, "Peak learning rate. None is 3e-5 at a width of 768, more below.", group="training"
    )
    do_predict: bool = flag(
        False, "Predict the test split of GLUE or of a Hub data set; a --test_file always is.", group="training"
    )
    push_to_hub: bool = flag(False, "Upload each finished run.", group="training")
    per_device_eval_batch_size: int = 64
    lr_scheduler_type: str = "cosine_with_restarts"
    warmup_steps: float = 0.06  # a share of all steps
    eval_strategy: str = "epoch"
    save_strategy: str = "epoch"
    logging_strategy: str = "epoch"
    save_total_limit: int | None = 1  # the best one is kept, too
    load_best_model_at_end: bool = True
    seed: int = 42  # of the first run
    label_names: list[str] | None = field(default=None, init=False)  # inputs of a model, which are known: no flag

    def __post_init__(self) -> None:
        metric = self.metric_for_best_model
        super().__post_init__()
        self.metric_for_best_model = metric  # the Trainer replaces None by the loss; here None is the task's metric

    def arguments_of_run(
        self, data: TaskData, width: int, eval_steps: int | None = None, tokens_after_head: int | None = None
    ) -> "GlueTrainingArguments":
        """Returns a copy of the arguments for a run, without None.

        Args:
            data: chooses the epochs, by its number of rows, and the metric of the best one if they are not given.
            width: of the encoder, which chooses the learning rate.
            eval_steps: between two evaluations, for validation rows that are apart; None is that of the arguments.
            tokens_after_head: tokens of the training rows, if the run begins with a fitted head, which needs fewer
                steps; else None.
        """
        training, has_first_head = copy.copy(self), tokens_after_head is not None
        if training.learning_rate is None:
            training.learning_rate = default_learning_rate(width)
        if training.per_device_train_batch_size == 0:
            training.per_device_train_batch_size = BATCH_SIZE_AFTER_HEAD if has_first_head else BATCH_SIZE
        if training.num_train_epochs is None and tokens_after_head is not None:
            training.num_train_epochs = default_epochs_after_head(len(data.train), tokens_after_head)
        elif training.num_train_epochs is None:
            training.num_train_epochs = default_epochs(len(data.train), training)
        if training.metric_for_best_model is None:
            training.metric_for_best_model, training.greater_is_better = data.problem.best_metric, True
        if eval_steps is not None:
            training.eval_strategy, training.save_strategy = IntervalStrategy.STEPS, SaveStrategy.STEPS
            training.eval_steps = training.save_steps = eval_steps
        if data.is_cross_validated:
            training.eval_strategy, training.load_best_model_at_end = IntervalStrategy.NO, False
        return training


def is_trained_vocabless(arguments: GlueArguments) -> bool:
    """Returns whether the model is a trained encoder of ours.

    Raises:
        ValueError: its configuration cannot be loaded.
    """
    name = arguments.model_name_or_path
    return is_checkpoint(name) and is_ours(load_checkpoint_config(name, trust_remote_code=arguments.trust_remote_code))


def default_epochs(rows: int, training: GlueTrainingArguments) -> float:
    """Returns the number of epochs for training rows: `EPOCHS`, or as many as make `MIN_STEPS` optimizer steps."""
    batch = training.train_batch_size * training.gradient_accumulation_steps * training.world_size
    return float(max(EPOCHS, math.ceil(MIN_STEPS / math.ceil(rows / batch))))


def default_epochs_after_head(rows: int, tokens: int) -> float:
    """Returns the number of epochs after a first head: 20 for at most 500 rows, 5 for 2 000 and more.

    Where the rows have more than `USUAL_LENGTH` tokens on average, they are read less often, but twice at least.

    Example:
        >>> [default_epochs_after_head(rows, 30 * rows) for rows in (100, 1000, 67_349)]
        [20.0, 10.0, 5.0]
        >>> default_epochs_after_head(1000, 250_000)
        3.0
    """
    epochs = max(EPOCHS, min(MAX_EPOCHS, EXAMPLES // rows))
    return float(max(FEWEST_EPOCHS, math.ceil(epochs * min(1, USUAL_LENGTH * rows / tokens))))


def default_patience(epochs: float) -> int:
    """Returns the evaluations without an improvement after which a run stops: 2 in 5 epochs, as a share of all.

    The learning rate and the warm-up stretch with the epochs, so a longer run may stay longer at its first score.

    Example:
        >>> [default_patience(epochs) for epochs in (3, 5, 10, 12)]
        [2, 2, 4, 4]
    """
    return max(PATIENCE, int(PATIENCE * epochs / EPOCHS))


def _read_eval_steps(text: str | None) -> dict[str, int]:
    try:
        steps: dict[str, int] = json.loads(text or "{}")
        is_legal = all(isinstance(number, int) and number > 0 for number in steps.values())
    except (ValueError, AttributeError):
        is_legal = False
    if not is_legal:
        raise ValueError(f'--task_eval_steps is {text!r}; give JSON of task → steps above 0, such as {{"rte": 48}}.')
    return steps
