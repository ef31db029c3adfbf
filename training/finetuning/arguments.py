"""The arguments of `run_glue.py`, and the hyper-parameters that a user leaves open.

HashFormers (Table 5) fine-tunes encoders of base size on GLUE, at 3e-5 for at most 5 epochs. A narrower encoder learns
next to nothing at this rate, and a small data set has few steps in 5 epochs. The rates give the paper's value for
base size, and the epochs for all of its tasks but the small RTE and MRPC. docs/measurements.md shows what was measured.
"""

import copy
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers import PreTrainedConfig
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from vocabless.training.finetuning.data import TaskData
from vocabless.training.script_arguments import ModelArguments, ScriptTrainingArguments, run_identity
from vocabless.training.script_parser import COUNT, POSITIVE, SHARE, Limit, check_limits, flag

# Logging and the selection of runs: they may change between two commands for the same folder.
NOT_IDENTIFYING = ("logging_steps", "logging_strategy", "task_name", "seeds", "seed", "example")
LIMITS = {
    "threshold": SHARE,
    "max_train_samples": COUNT,
    "early_stopping_patience": Limit(),
    "augment": Limit(),
    "gold_weight": SHARE,
    "teacher_temperature": POSITIVE,
    "seeds": COUNT,
    "max_seq_length": Limit(3),
}
# They identify a run only if it has a teacher.
TEACHER_FLAGS = ("teacher", "unlabelled", "augment", "gold_weight", "teacher_temperature")
BASE_WIDTH, BASE_LEARNING_RATE = 768, 3e-5  # HashFormers, Table 5
NARROWEST = 64  # width of nano; no narrower encoder was measured
EPOCHS, PATIENCE = 5, 2  # at most, for data sets with enough rows
MIN_STEPS = 600  # optimizer steps
BATCH_SIZE, BATCH_SIZE_AFTER_HEAD = 32, 16
MAX_EPOCHS, EXAMPLES = 20, 10_000  # after a first head


@dataclass
class GlueArguments(ModelArguments):
    """The model, the data, and the figures that are reported."""

    model_name_or_path: str = field(
        kw_only=True,
        metadata={
            "group": "model",
            "help": "With random weights: a variant (vocabless.list_variants()) or a stock shape such as bert-tiny. "
            "With trained weights: a folder or Hub id of any checkpoint.",
        },
    )
    tokenizer_name: str | None = flag(
        None,
        "Path of a tokenizer.json, a folder or a Hub id. For subword variants and stock shapes also "
        "'train': trains a WordPiece or BPE tokenizer on the task's training text. None uses the model's own.",
    )
    model_revision: str = flag("main", "Branch, tag or commit of a model on the Hub.", is_rare=True)
    trust_remote_code: bool = flag(False, "Whether to run code that a checkpoint contains.")
    classifier_pooling: str | None = flag(
        None,
        "What the head of a vocabless model reads: the first token, all tokens, or the two texts "
        "of a pair apart. None is the model's own; pairs are siamese where that is mean.",
        is_rare=True,
        choices=["cls", "mean", "siamese"],
    )
    task_name: list[str] | None = flag(
        None,
        "GLUE tasks: cola sst2 mrpc stsb qqp mnli qnli rte wnli, or all.",
        group="data: GLUE, your own files, or a data set of the Hub",
    )
    data_dir: str | None = flag(
        None, "Folder with one subfolder of parquet files per GLUE task. None downloads nyu-mll/glue."
    )
    train_file: str | None = flag(None, "Your own training data: a csv, tsv, jsonl, json or parquet file.")
    validation_file: str | None = flag(None, "File to evaluate on. None holds out a part of the training data.")
    test_file: str | None = flag(None, "File to predict; if it has labels, it is scored.")
    dataset_name: str | None = flag(
        None, "Data set on the Hub, instead of --train_file: owner/name[:configuration][@revision]."
    )
    text_column: str | None = flag(
        None,
        "Column of the text. None looks for text or sentence, then for the pairs "
        "sentence1 and sentence2, text1 and text2, premise and hypothesis, question1 and question2.",
        group="columns and labels of your own data",
    )
    text_pair_column: str | None = flag(None, "Column of the second text of a text pair.")
    label_column: list[str] | None = flag(
        None,
        "Column of the labels. Several columns give each text several labels. None looks for label, labels or tags.",
    )
    label_separator: str | None = flag(None, "Separator of several labels in one string, for csv files.")
    problem_type: str | None = flag(
        None,
        "single_label_classification, multi_label_classification or regression. None infers it from the labels: "
        "strings or integers are a single label, floats a regression, lists several labels.",
    )
    threshold: float = flag(
        0.3,
        "Multi-label classification: a label is predicted if its probability is above this value, 0–1 "
        "(Elementwise, 4.1).",
        is_rare=True,
    )
    label_names: str | None = flag(
        None,
        "Text file with all labels, one in a line, so that training need not have seen each of them. None "
        "takes the labels of the training rows.",
        is_rare=True,
    )
    validation_split_percentage: float | None = flag(
        None,
        "Percent of the training rows to hold out if there is no validation data, 0–50. None is 10; below "
        "10 000 rows, other models are scored on one or all of five folds, and the saved one learns from all rows.",
        group="held-out rows, length and number of texts",
    )
    group_column: str | None = flag(None, "Hold out rows with the same value in this column together.", is_rare=True)
    max_seq_length: int | None = flag(
        None,
        "Sequence length in tokens; longer texts are truncated. None is 128; for a checkpoint and your own "
        "data the shortest of 64, 128, 256 and 512 that holds 99 of 100 texts, or the model's limit.",
    )
    max_train_samples: int | None = flag(None, "Number of training rows, drawn at random. None uses all.")
    seeds: int = flag(
        1, "Number of runs for each task; their seeds are --seed, --seed + 1 and so on.", group="runs and figures"
    )
    teacher: str | None = flag(
        None,
        "Folder or Hub id of a fine-tuned model for the same labels, whose outputs are learned. {task} in "
        "it stands for the name of the task.",
        group="learning from a larger model",
    )
    unlabelled: list[str] | None = flag(
        None,
        "Texts without labels for the teacher to label: txt files with a text in each line; parquet, jsonl "
        "or csv files with the columns of the task's texts.",
    )
    augment: int = flag(0, "Number of corrupted copies of each training text for the teacher to label; 0 makes none.")
    gold_weight: float = flag(
        0.5,
        "Weight of the loss of the labels beside the teacher's, 0–1; 0 learns from the teacher alone.",
        is_rare=True,
    )
    teacher_temperature: float = flag(
        2.0, "Divides both logits in the loss against the teacher, above 0; numbers have no temperature.", is_rare=True
    )
    head_only: bool = flag(
        False,
        "Stop after the first head: a linear model of the frozen encoder's vectors. It takes seconds.",
        group="training",
    )
    example: list[str] | None = flag(
        None, "A text, or the two texts of a pair, that the model card and the page show. None shows no text of yours."
    )
    random_head: bool = flag(False, "Begin with random weights of the head, as the papers do.", is_rare=True)
    early_stopping_patience: int | None = flag(
        None,
        "Stop after this number of evaluations without an improvement; 0 never stops early. None is 2, and "
        "in proportion for more than 5 epochs.",
    )
    task_eval_steps: str | None = flag(
        None,
        'JSON of task → steps between two evaluations, such as {"rte": 48}. The others are evaluated as '
        "--eval_strategy says.",
        is_rare=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(vars(self), LIMITS)
        self.eval_steps = _read_eval_steps(self.task_eval_steps)  # task → steps between two evaluations

    @property
    def length(self) -> int:
        """`max_seq_length`, which is chosen before a run begins."""
        assert self.max_seq_length is not None
        return self.max_seq_length

    @property
    def hub_options(self) -> dict[str, Any]:
        """Arguments of `from_pretrained` for the model."""
        return {"trust_remote_code": self.trust_remote_code, "revision": self.model_revision}


@dataclass
class GlueTrainingArguments(ScriptTrainingArguments):
    """The Trainer's arguments, with the defaults of this project for encoders of every size.

    Epochs, batch size, peak learning rate at base size, warm-up and weight decay are those of HashFormers, Table 5, of
    which the recipe `hashformer-glue` has the rest. The other defaults are ours.

    The Trainer's own `label_names`, the names of a model's inputs, is no flag: here `--label_names` is a file.
    """

    do_predict: bool = flag(
        False,
        "Predict the test split of GLUE or of a data set on the Hub; a --test_file is always predicted.",
        is_rare=True,
        group="training",
    )
    output_dir: str | None = flag(
        None,
        "Output folder. None is runs/glue/<model>, and runs/<name of the data> for your own data.",
        group="training",
    )
    num_train_epochs: float | None = flag(  # type: ignore[assignment]
        None,
        f"Maximum number of epochs. None is {EPOCHS}, or as many as make {MIN_STEPS} optimizer steps; "
        f"after a first head {EPOCHS} to {MAX_EPOCHS}, as many as read {EXAMPLES:,} texts.",
        group="training",
    )
    per_device_train_batch_size: int = flag(
        0,
        f"Texts per training step on each device. 0 is {BATCH_SIZE}, and {BATCH_SIZE_AFTER_HEAD} after a first head.",
        group="training",
    )
    per_device_eval_batch_size: int = flag(64, "Texts per evaluation step on each device.")
    learning_rate: float | None = flag(  # type: ignore[assignment]
        None, "Peak learning rate. None is 3e-5 for encoders 768 wide, and more for narrower ones.", group="training"
    )
    lr_scheduler_type: str = flag(
        "cosine_with_restarts",
        "Learning rate schedule. cosine_with_restarts has one cycle, so it does not restart, unless "
        '--lr_scheduler_kwargs gives more: {"num_cycles": 5}.',
    )
    warmup_steps: float = flag(0.06, "Warm-up in steps; a value below 1 is a share of all training steps.")
    eval_strategy: str = flag("epoch", "When to evaluate: no, steps or epoch.")
    save_strategy: str = flag("epoch", "When to save a checkpoint: no, steps or epoch.")
    logging_strategy: str = flag("epoch", "When to log: no, steps or epoch.")
    save_total_limit: int | None = flag(
        1, "Number of checkpoints to keep during training; the best one is always kept."
    )
    load_best_model_at_end: bool = flag(True, "Whether the final weights are those of the best epoch, not of the last.")
    seed: int = flag(42, "Seed of the first run.", is_rare=True, group="runs and figures")
    push_to_hub: bool = flag(False, "Upload each finished run.", group="training")
    label_names: list[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        metric = self.metric_for_best_model
        super().__post_init__()
        self.metric_for_best_model = metric  # the Trainer replaces None by the loss; here None is the task's metric

    def for_run(
        self, folder: Path, seed: int, task: TaskData, eval_steps: int | None = None, has_first_head: bool = False
    ) -> "GlueTrainingArguments":
        """Returns a copy of the arguments for one run, with its folder and seed.

        Args:
            folder: output folder of the run.
            seed: of the run.
            task: chooses the epochs, by its number of rows, and the metric of the best one if they are not given.
            eval_steps: between two evaluations, for validation rows that are apart; None is that of the arguments.
            has_first_head: whether the run begins with a fitted head, which needs fewer steps.
        """
        training = copy.copy(self)
        training.output_dir, training.seed = str(folder), seed
        if training.per_device_train_batch_size == 0:
            training.per_device_train_batch_size = BATCH_SIZE_AFTER_HEAD if has_first_head else BATCH_SIZE
        if training.num_train_epochs is None:
            rows = len(task.train)
            chosen = default_epochs_after_head(rows) if has_first_head else default_epochs(rows, training)
            training.num_train_epochs = chosen
        if training.metric_for_best_model is None:
            training.metric_for_best_model, training.greater_is_better = task.problem.best_metric, True
        if eval_steps is not None:
            training.eval_strategy, training.save_strategy = IntervalStrategy.STEPS, SaveStrategy.STEPS
            training.eval_steps = training.save_steps = eval_steps
        if task.is_cross_validated:
            training.eval_strategy, training.load_best_model_at_end = IntervalStrategy.NO, False
        return training

    def quiet(self, folder: Path) -> "GlueTrainingArguments":
        """Returns a copy that neither evaluates, predicts, logs nor saves; the Trainer needs a folder all the same."""
        training = copy.copy(self)
        training.output_dir, training.report_to, training.do_predict = str(folder), [], False
        training.eval_strategy = training.logging_strategy = IntervalStrategy.NO
        training.save_strategy, training.load_best_model_at_end = SaveStrategy.NO, False
        return training


def identifying_arguments(arguments: GlueArguments, training: ScriptTrainingArguments) -> dict[str, Any]:
    """Returns the arguments that identify the runs of a folder: runs with other values need another folder."""
    left_out = NOT_IDENTIFYING if arguments.teacher else (*NOT_IDENTIFYING, *TEACHER_FLAGS)
    return run_identity(arguments, training, left_out)


def encoder_width(config: PreTrainedConfig) -> int:
    """Returns the width of a model's encoder, `BASE_WIDTH` if its configuration has none."""
    return int(getattr(getattr(config, "encoder_config", config), "hidden_size", BASE_WIDTH))


def default_learning_rate(width: int) -> float:
    """Returns the peak learning rate for an encoder: 3e-5 · (768 / width)^1.5, rounded to two digits.

    A width below `NARROWEST` counts as `NARROWEST`.

    Example:
        >>> [default_learning_rate(width) for width in (768, 512, 256, 128, 64)]
        [3e-05, 5.5e-05, 0.00016, 0.00044, 0.0012]
    """
    return float(f"{BASE_LEARNING_RATE * (BASE_WIDTH / max(width, NARROWEST)) ** 1.5:.1e}")


def default_epochs(rows: int, training: GlueTrainingArguments) -> float:
    """Returns the number of epochs for training rows: `EPOCHS`, or as many as make `MIN_STEPS` optimizer steps."""
    batch = training.train_batch_size * training.gradient_accumulation_steps * training.world_size
    return float(max(EPOCHS, math.ceil(MIN_STEPS / math.ceil(rows / batch))))


def default_epochs_after_head(rows: int) -> float:
    """Returns the number of epochs after a first head: 20 for at most 500 rows, 5 for 2 000 and more.

    Example:
        >>> [default_epochs_after_head(rows) for rows in (100, 1000, 67_349)]
        [20.0, 10.0, 5.0]
    """
    return float(max(EPOCHS, min(MAX_EPOCHS, EXAMPLES // rows)))


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
