"""The Trainer of both scripts: resumes from the last complete checkpoint, stops when the loss is not finite."""
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
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import EvalLoopOutput, TrainOutput

from vocabless.training.length_groups import LengthGroups

EXACT_LOSS = "exact_loss"  # a metric with this name is reported as the evaluation loss
COMPLETE_MARK = "whole"  # name of an empty file, which is written into a checkpoint after all other files


class TrainingStopped(ValueError):
    """Training cannot go on. The message names the step and the last complete checkpoint, and says what to try."""


class ResumableTrainer(Trainer):
    """A `Trainer` for runs that may be killed, diverge or fill the disk.

    - An iterable training set is not split among the processes: it must give each process its own samples.
    - A training set with `lengths`, one for each example, is read in batches of examples of nearly the same length.
    - If `compute_metrics` returns `EXACT_LOSS`, an evaluation reports it as the loss. The Trainer's own value is a mean
      over batches, which depends on the batch size.
    - To evaluate before training, use `eval_on_start`. After a call of `evaluate`, Accelerate takes the model as
      prepared and does not wrap it for distributed training.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(*args, **kwargs)
        except RuntimeError as error:
            if "to be installed" not in str(error):
                raise
            raise ValueError(f"{error} Or give another --report_to.") from error
        if self.args.bf16 and self.args.device.type == "cpu":
            _attend_by_matrix_products(self.model)
        self.args.logging_nan_inf_filter = False  # it would hide the values that `training_step` checks
        self.add_callback(_MarkCompleteCheckpoints())

    def resume(self) -> TrainOutput:
        """Trains, from the last complete checkpoint of the output folder if there is one.

        Raises:
            TrainingStopped: the loss is not finite, or the disk is full.
        """
        folder = str(self.args.output_dir)
        if self.is_world_process_zero():
            remove_incomplete_checkpoints(folder)
        self.accelerator.wait_for_everyone()
        checkpoint = last_checkpoint(folder)
        self.args.eval_on_start = self.args.eval_on_start and checkpoint is None
        try:
            return self.train(resume_from_checkpoint=checkpoint)
        except (OSError, RuntimeError, SafetensorError) as error:
            if not _is_disk_full(error):
                raise
            raise TrainingStopped(
                f"the disk of {folder!r} is full at step {self.state.global_step}; {self._describe_last_checkpoint()} "
                "Free some space and give the same command again."
            ) from error

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        """Runs one training step, see `Trainer.training_step`.

        Raises:
            TrainingStopped: the loss is not finite.
        """
        loss = super().training_step(model, inputs, num_items_in_batch)
        if not math.isfinite(loss.item()):
            raise TrainingStopped(
                f"the loss is {loss.item()} at step {self.state.global_step + 1}; {self._describe_last_checkpoint()} "
                "Try a lower --learning_rate, then a longer warm-up, smaller gradients or float32."
            )
        return loss

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> EvalLoopOutput:
        """Evaluates, see `Trainer.evaluation_loop`; reports the metric `EXACT_LOSS` as the loss."""
        output = super().evaluation_loop(*args, **kwargs)
        metrics = output.metrics or {}
        for name in [name for name in metrics if name.endswith(f"_{EXACT_LOSS}")]:
            metrics[name.replace(EXACT_LOSS, "loss")] = metrics.pop(name)
        return output

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Returns the batches of the training set."""
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

    def _get_train_sampler(self, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(self.train_dataset, "lengths"):
            return super()._get_train_sampler(*args, **kwargs)
        return LengthGroups(self.train_dataset, self._train_batch_size, self.args.seed)

    def full_state_dict(self) -> dict[str, Tensor]:
        """Returns all weights under the model's own parameter names, without the prefixes of any wrapper.

        Every process must call it. The result is complete on the main process; others may return an empty dict.
        """
        weights = self.accelerator.get_state_dict(self.model_wrapped) or {}  # None if another process holds them
        return {name.replace("_orig_mod.", ""): weight for name, weight in weights.items()}  # torch.compile's prefix

    def _describe_last_checkpoint(self) -> str:
        checkpoint = last_checkpoint(str(self.args.output_dir))
        return f"the last good checkpoint is {checkpoint!r}." if checkpoint else "there is no checkpoint yet."


def _attend_by_matrix_products(model: Any) -> None:
    """Sets the plain implementation of attention: in bf16 on a CPU, the backward pass of torch's fused one is slow."""
    for module in model.modules():
        if isinstance(module, PreTrainedModel):
            module.set_attn_implementation("eager")
            return


class _MarkCompleteCheckpoints(TrainerCallback):
    """Writes `COMPLETE_MARK` into a checkpoint after every process has written its part."""

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        PartialState().wait_for_everyone()
        if state.is_world_process_zero:
            (Path(str(args.output_dir)) / f"checkpoint-{state.global_step}" / COMPLETE_MARK).touch()


def last_checkpoint(folder: str | os.PathLike[str]) -> str | None:
    """Returns the path of the complete checkpoint with the most steps, or None."""
    complete = [path for path in Path(folder).glob("checkpoint-*") if (path / COMPLETE_MARK).is_file()]
    return str(max(complete, key=lambda path: int(path.name.rpartition("-")[2]))) if complete else None


def remove_incomplete_checkpoints(folder: str | os.PathLike[str]) -> None:
    """Removes the checkpoints without `COMPLETE_MARK`: the run was killed while it wrote them."""
    for path in Path(folder).glob("checkpoint-*"):
        if not (path / COMPLETE_MARK).is_file():
            shutil.rmtree(path)


def _is_disk_full(error: Exception) -> bool:
    """Returns whether the error means a full disk. torch and safetensors raise their own error types for it."""
    message = str(error)
    is_writer_error = "inline_container" in message or f"os error {errno.ENOSPC}" in message
    return is_writer_error or (isinstance(error, OSError) and error.errno == errno.ENOSPC)
