"""The Trainer of both scripts: it continues from the last whole checkpoint and stops when the loss is no number."""
# mypy: allow-untyped-calls

import errno
import math
import os
import shutil
from pathlib import Path
from typing import Any

from accelerate import PartialState
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import EvalLoopOutput, TrainOutput

EXACT_LOSS = "exact_loss"  # a measure by this name is reported as the loss
WHOLE = "whole"  # an empty file, the last that is written into a checkpoint


class TrainingStopped(ValueError):
    """Training cannot go on; the message says at which step, what is left and what to try."""


class ResumableTrainer(Trainer):
    """A `Trainer` for runs that are killed, diverge or fill the disk.

    An iterable training set is taken as it is: it gives each process its own samples. The loss of an evaluation is the
    measure `EXACT_LOSS` of `compute_metrics`, if there is one: a mean over batches depends on how they were made up.

    Evaluate before training by `eval_on_start`: after a call of `evaluate`, Accelerate takes the model for prepared and
    does not make it a distributed one.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        try:
            super().__init__(*arguments, **keywords)
        except RuntimeError as error:
            if "to be installed" not in str(error):
                raise
            raise ValueError(f"{error} Or give another --report_to.") from error
        self.args.logging_nan_inf_filter = False  # it would hide what `training_step` looks for
        self.add_callback(_MarkWholeCheckpoints())

    def resume(self) -> TrainOutput:
        """Trains, from the last whole checkpoint of the output folder if there is one.

        Raises:
            TrainingStopped: the loss is not finite, or the disk is full.
        """
        folder = str(self.args.output_dir)
        if self.is_world_process_zero():
            remove_torn_checkpoints(folder)
        self.accelerator.wait_for_everyone()
        checkpoint = last_checkpoint(folder)
        self.args.eval_on_start = self.args.eval_on_start and checkpoint is None
        try:
            return self.train(resume_from_checkpoint=checkpoint)
        except (OSError, RuntimeError, SafetensorError) as error:
            if not _is_full_disk(error):
                raise
            raise TrainingStopped(
                f"the disk of {folder!r} is full at step {self.state.global_step}; {self._what_is_left()} "
                "Free some space and give the same command again."
            ) from error

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        """Takes a step, see `Trainer`.

        Raises:
            TrainingStopped: the loss is not finite.
        """
        loss = super().training_step(model, inputs, num_items_in_batch)
        if not math.isfinite(loss.item()):
            raise TrainingStopped(
                f"the loss is {loss.item()} at step {self.state.global_step + 1}; {self._what_is_left()} Try a lower "
                "--learning_rate, then a longer warm-up, smaller gradients or float32."
            )
        return loss

    def evaluation_loop(self, *arguments: Any, **keywords: Any) -> EvalLoopOutput:
        """Evaluates, see `Trainer`."""
        output = super().evaluation_loop(*arguments, **keywords)
        metrics = output.metrics or {}
        for name in [name for name in metrics if name.endswith(f"_{EXACT_LOSS}")]:
            metrics[name.replace(EXACT_LOSS, "loss")] = metrics.pop(name)
        return output

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Returns batches of the training set."""
        if not isinstance(self.train_dataset, IterableDataset):
            loader: DataLoader[Any] = super().get_train_dataloader()
            return loader
        return DataLoader(
            self.train_dataset,
            batch_size=self._train_batch_size,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
            prefetch_factor=self.args.dataloader_prefetch_factor,
        )

    def full_state_dict(self) -> dict[str, Tensor]:
        """Returns all weights by the names of the model itself, on the main process, however it was wrapped."""
        weights = self.accelerator.get_state_dict(self.model_wrapped) or {}  # None where another process has them
        return {name.replace("_orig_mod.", ""): weight for name, weight in weights.items()}  # torch.compile's prefix

    def _what_is_left(self) -> str:
        checkpoint = last_checkpoint(str(self.args.output_dir))
        return f"the last good checkpoint is {checkpoint!r}." if checkpoint else "there is no checkpoint yet."


class _MarkWholeCheckpoints(TrainerCallback):
    """Leaves a mark in each checkpoint once every process has written its part."""

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        PartialState().wait_for_everyone()
        if state.is_world_process_zero:
            (Path(str(args.output_dir)) / f"checkpoint-{state.global_step}" / WHOLE).touch()


def last_checkpoint(folder: str | os.PathLike[str]) -> str | None:
    """Returns the whole checkpoint of a run with the most steps."""
    whole = [path for path in Path(folder).glob("checkpoint-*") if (path / WHOLE).is_file()]
    return str(max(whole, key=lambda path: int(path.name.rpartition("-")[2]))) if whole else None


def remove_torn_checkpoints(folder: str | os.PathLike[str]) -> None:
    """Removes the checkpoints that were being written when a run was killed."""
    for path in Path(folder).glob("checkpoint-*"):
        if not (path / WHOLE).is_file():
            shutil.rmtree(path)


def _is_full_disk(error: Exception) -> bool:
    # torch's and safetensors' writers raise errors of their own
    told = str(error)
    is_writer = "inline_container" in told or f"os error {errno.ENOSPC}" in told
    return is_writer or (isinstance(error, OSError) and error.errno == errno.ENOSPC)
