"""The Trainer's arguments, as `run_glue.py` uses them."""
# mypy: allow-untyped-calls

import copy
from dataclasses import dataclass, field
from pathlib import Path

from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from vocabless.training.finetuning.arguments import GlueTrainingFlags
from vocabless.training.finetuning.default_hyper_parameters import default_epochs
from vocabless.training.script_arguments import ScriptTrainingArguments


@dataclass
class GlueTrainingArguments(GlueTrainingFlags, ScriptTrainingArguments):  # type: ignore[misc]
    """The Trainer's arguments with the defaults of `GlueTrainingFlags`.

    The Trainer's own `label_names`, the names of a model's inputs, is no flag: here `--label_names` is a file.
    """

    label_names: list[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        metric = self.metric_for_best_model
        super().__post_init__()
        self.metric_for_best_model = metric  # the Trainer replaces None by the loss; here None is the task's metric

    def for_run(
        self, folder: Path, seed: int, rows: int, best_metric: str, eval_steps: int | None = None
    ) -> "GlueTrainingArguments":
        """Returns a copy of the arguments for one run.

        Args:
            folder: output folder of the run.
            seed: seed of the run.
            rows: of the training data, which decide the number of epochs if it is not given.
            best_metric: metric that selects the best epoch, unless `--metric_for_best_model` names another.
            eval_steps: steps between two evaluations; None evaluates as the arguments say.
        """
        training = copy.copy(self)
        training.output_dir, training.seed = str(folder), seed
        if training.num_train_epochs is None:
            training.num_train_epochs = default_epochs(rows, training)
        if training.metric_for_best_model is None:
            training.metric_for_best_model, training.greater_is_better = best_metric, True
        if eval_steps is not None:
            training.eval_strategy, training.save_strategy = IntervalStrategy.STEPS, SaveStrategy.STEPS
            training.eval_steps = training.save_steps = eval_steps
        return training
