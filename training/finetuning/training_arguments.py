"""The Trainer's arguments, as `run_glue.py` uses them, and the hyper-parameters that a user leaves open.

HashFormers (Table 5) fine-tunes encoders of base size on GLUE, at 3e-5 for at most 5 epochs. A narrower encoder learns
next to nothing at this rate, and a small data set has few steps in 5 epochs. The rates give the paper's value for
base size, and the epochs for all of its tasks but the small RTE and MRPC. docs/measurements.md shows what was measured.
"""

import copy
import math
from dataclasses import dataclass, field
from pathlib import Path

from transformers import PreTrainedConfig
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from vocabless.training.finetuning.tasks import Task
from vocabless.training.script_arguments import ScriptTrainingArguments
from vocabless.training.script_parser import flag

BASE_WIDTH, BASE_LEARNING_RATE = 768, 3e-5  # HashFormers, Table 5
NARROWEST = 64  # width of nano; no narrower encoder was measured
EPOCHS, PATIENCE = 5, 2  # at most, for data sets with enough rows
MIN_STEPS = 600  # optimizer steps
BATCH_SIZE, BATCH_SIZE_AFTER_HEAD = 32, 16
MAX_EPOCHS, EXAMPLES = 20, 10_000  # after a first head


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
        self, folder: Path, seed: int, task: Task, eval_steps: int | None = None, has_first_head: bool = False
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
