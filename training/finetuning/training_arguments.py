"""The Trainer's arguments, as `run_glue.py` uses them."""
# mypy: allow-untyped-calls

import copy
from dataclasses import dataclass, field
from pathlib import Path

from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from vocabless.training.finetuning.default_hyper_parameters import (
    BATCH_SIZE,
    BATCH_SIZE_AFTER_HEAD,
    EPOCHS,
    EXAMPLES,
    MAX_EPOCHS,
    MIN_STEPS,
    default_epochs,
    default_epochs_after_head,
)
from vocabless.training.script_arguments import ScriptTrainingArguments


@dataclass
class GlueTrainingArguments(ScriptTrainingArguments):
    """The Trainer's arguments, with the defaults of this project for encoders of every size.

    Epochs, batch size, peak learning rate at base size, warm-up and weight decay are those of HashFormers, Table 5. The
    cosine has one cycle, so it does not restart. The other defaults are ours, see `default_hyper_parameters`. The
    recipe `hashformer-glue` has the whole table.

    The Trainer's own `label_names`, the names of a model's inputs, is no flag: here `--label_names` is a file.
    """

    do_predict: bool = field(
        default=False,
        metadata={
            "is_rare": True,
            "group": "training",
            "help": "Predict the test split of GLUE or of a data set on the Hub; a --test_file is always predicted.",
        },
    )
    output_dir: str | None = field(
        default=None,
        metadata={
            "group": "training",
            "help": "Output folder. None is runs/glue/<model>, and runs/<name of the data> for your own data.",
        },
    )
    num_train_epochs: float | None = field(  # type: ignore[assignment]
        default=None,
        metadata={
            "group": "training",
            "help": f"Maximum number of epochs. None is {EPOCHS}, or as many as make {MIN_STEPS} optimizer steps; "
            f"after a first head {EPOCHS} to {MAX_EPOCHS}, as many as read {EXAMPLES:,} texts.",
        },
    )
    per_device_train_batch_size: int = field(
        default=0,
        metadata={
            "group": "training",
            "help": f"Texts per training step on each device. 0 is {BATCH_SIZE}, and {BATCH_SIZE_AFTER_HEAD} after a "
            "first head.",
        },
    )
    per_device_eval_batch_size: int = field(default=64, metadata={"help": "Texts per evaluation step on each device."})
    learning_rate: float | None = field(  # type: ignore[assignment]
        default=None,
        metadata={
            "group": "training",
            "help": "Peak learning rate. None is 3e-5 for encoders 768 wide, and more for narrower ones.",
        },
    )
    lr_scheduler_type: str = field(
        default="cosine_with_restarts",
        metadata={
            "help": "Learning rate schedule. cosine_with_restarts has one cycle, so it does not restart, unless "
            '--lr_scheduler_kwargs gives more: {"num_cycles": 5}.'
        },
    )
    warmup_steps: float = field(
        default=0.06, metadata={"help": "Warm-up in steps; a value below 1 is a share of all training steps."}
    )
    eval_strategy: str = field(default="epoch", metadata={"help": "When to evaluate: no, steps or epoch."})
    save_strategy: str = field(default="epoch", metadata={"help": "When to save a checkpoint: no, steps or epoch."})
    logging_strategy: str = field(default="epoch", metadata={"help": "When to log: no, steps or epoch."})
    save_total_limit: int | None = field(
        default=1, metadata={"help": "Number of checkpoints to keep during training; the best one is always kept."}
    )
    load_best_model_at_end: bool = field(
        default=True, metadata={"help": "Whether the final weights are those of the best epoch, not of the last."}
    )
    seed: int = field(
        default=42,
        metadata={"is_rare": True, "group": "runs and figures", "help": "Seed of the first run."},
    )
    push_to_hub: bool = field(default=False, metadata={"group": "training", "help": "Upload each finished run."})
    label_names: list[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        metric = self.metric_for_best_model
        super().__post_init__()
        self.metric_for_best_model = metric  # the Trainer replaces None by the loss; here None is the task's metric

    def for_run(
        self,
        folder: Path,
        seed: int,
        rows: int,
        best_metric: str,
        eval_steps: int | None = None,
        has_first_head: bool = False,
    ) -> "GlueTrainingArguments":
        """Returns a copy of the arguments for one run.

        Args:
            folder: output folder of the run.
            seed: seed of the run.
            rows: of the training data, which decide the number of epochs if it is not given.
            best_metric: metric that selects the best epoch, unless `--metric_for_best_model` names another.
            eval_steps: steps between two evaluations; None evaluates as the arguments say.
            has_first_head: whether the run begins with a fitted head, which needs fewer steps.
        """
        training = copy.copy(self)
        training.output_dir, training.seed = str(folder), seed
        if training.per_device_train_batch_size == 0:
            training.per_device_train_batch_size = BATCH_SIZE_AFTER_HEAD if has_first_head else BATCH_SIZE
        if training.num_train_epochs is None:
            chosen = default_epochs_after_head(rows) if has_first_head else default_epochs(rows, training)
            training.num_train_epochs = chosen
        if training.metric_for_best_model is None:
            training.metric_for_best_model, training.greater_is_better = best_metric, True
        if eval_steps is not None:
            training.eval_strategy, training.save_strategy = IntervalStrategy.STEPS, SaveStrategy.STEPS
            training.eval_steps = training.save_steps = eval_steps
        return training
