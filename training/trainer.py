"""The Trainer of both scripts: resumes from the last checkpoint, stops when the loss is not finite."""

import copy
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, Sampler
from transformers import (
    PreTrainedModel,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
)
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import EvalLoopOutput

EXACT_LOSS = "exact_loss"  # a metric with this name is reported as the evaluation loss
BATCHES_PER_POOL = 100  # examples of so many batches are sorted by length together
# A checkpoint, `checkpoint-<steps>`, is written in the folder `UNFINISHED`. It gets its place when every process has
# written its part. What a killed process wrote there is removed.
PREFIX, UNFINISHED = "checkpoint-", "unfinished-checkpoint"


def logits_only(logits: Any, labels: Tensor) -> Tensor:
    """Returns the logits. Some models also return hidden states."""
    return logits if isinstance(logits, Tensor) else logits[0]


class ResumableTrainer(Trainer):
    """A `Trainer` for runs that may be killed or diverge.

    - A run that continues ends with the weights, the log and the measures of a run that was never interrupted. So each
      checkpoint comes with a log line, and holds the patience of early stopping.
    - An iterable training set is not split among the processes: it must give each process its own samples.
    - A training set with `lengths`, one for each example, is read in batches of examples of nearly the same length, and
      so is any other if the sampling strategy is "group_by_length".
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
        module: Any = self.model
        encoder = next((part for part in module.modules() if isinstance(part, PreTrainedModel)), None)
        if encoder is not None and self.args.bf16 and self.args.device.type == "cpu":
            encoder.set_attn_implementation("eager")  # the backward pass of torch's fused attention is slow here
        # A loss here is the mean of its batch; the mean over accumulated batches and over processes is taken for it.
        self.model_accepts_loss_kwargs = False
        self.args = copy.copy(self.args)
        self.args.logging_nan_inf_filter = False  # it would hide the values that `training_step` checks
        self.args.restore_callback_states_from_checkpoint = True
        # The Trainer would remove old checkpoints before the new one has its place.
        self._save_total_limit, self.args.save_total_limit = self.args.save_total_limit, None
        self.add_callback(_ContinueExactly())
        for callback in (ProgressCallback, PrinterCallback):
            self.remove_callback(callback)
        if not self.args.disable_tqdm:
            self.add_callback(_ProgressLine())

    def resume(self) -> dict[str, float]:
        """Trains, unless for 0 epochs, from the last checkpoint in the output folder if any; returns the metrics.

        Raises:
            ValueError: the loss is not finite, or there is not one example.
        """
        if self.args.num_train_epochs == 0:
            return {"train_runtime": 0.0}
        with self.accelerator.main_process_first():
            shutil.rmtree(self._folder / UNFINISHED, ignore_errors=True)
            checkpoint = next(reversed(list_checkpoints(self._folder)), None)
        self.args.eval_on_start = self.args.eval_on_start and checkpoint is None
        metrics: dict[str, float] = self.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None).metrics
        if not self.state.global_step:
            raise ValueError("the training data holds not one example; give files with text in them.")
        return metrics

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """Logs, see `Trainer.log`; `train_loss` is the mean over all steps of the run, also those before a kill."""
        if "train_loss" in logs:
            logs["train_loss"] = _mean_loss(self.state)
        super().log(logs, *args, **kwargs)

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        """Runs one training step, see `Trainer.training_step`.

        Raises:
            ValueError: the loss is not finite.
        """
        loss = super().training_step(model, inputs, num_items_in_batch)
        if not math.isfinite(loss.item()):
            last = next(reversed(list_checkpoints(self._folder)), None)
            raise ValueError(
                f"the loss is {loss.item()} at step {self.state.global_step + 1}; the last good checkpoint is {last}. "
                "Try a lower --learning_rate, then a longer warm-up, smaller gradients or float32."
            )
        return loss

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> EvalLoopOutput:
        """Evaluates, see `Trainer.evaluation_loop`; reports the metric `EXACT_LOSS` as the loss.

        Raises:
            ValueError: a metric is not finite. Training checks the loss before each step, so the weights after the
                last step are checked only here.
        """
        output = super().evaluation_loop(*args, **kwargs)
        metrics = output.metrics or {}
        for name in [name for name in metrics if name.endswith(f"_{EXACT_LOSS}")]:
            metrics[name.replace(EXACT_LOSS, "loss")] = metrics.pop(name)
        for name, value in reversed(metrics.items()):  # the loss first
            if not math.isfinite(value):
                is_trained = self.state.global_step > 0
                remedy = "Try a lower --learning_rate in another folder" if is_trained else "Begin from other weights"
                raise ValueError(f"the {name.partition('_')[2]} of the evaluation is {value}. {remedy}.")
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
        examples: Any = self.train_dataset
        lengths = getattr(examples, "lengths", None)
        if lengths is None:
            if self.args.train_sampling_strategy != "group_by_length":
                return super()._get_train_sampler(*args, **kwargs)
            # The order of the library's sampler depends on where a run was continued.
            lengths = [len(example["input_ids"]) for example in examples]
        return LengthGroups(lengths, self._train_batch_size, self.args.seed)

    def full_state_dict(self) -> dict[str, Tensor]:
        """Returns all weights under the model's own parameter names, without the prefixes of any wrapper.

        Every process must call it. The result is complete on the main process; others may return an empty dict.
        """
        weights = self.accelerator.get_state_dict(self.model_wrapped) or {}  # None if another process holds them
        return {name.replace("_orig_mod.", ""): weight for name, weight in weights.items()}  # torch.compile's prefix

    @property
    def _folder(self) -> Path:
        return Path(str(self.args.output_dir))

    def _get_output_dir(self, trial: Any) -> str:
        return str(self._folder / UNFINISHED)  # where the Trainer writes checkpoints

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        """Saves a checkpoint, gives it its place when all processes have written their part, and removes old ones."""
        super()._save_checkpoint(*args, **kwargs)
        name, best_steps = f"{PREFIX}{self.state.global_step}", self.state.best_global_step
        if best_steps == self.state.global_step:  # the Trainer says that it is where it was written
            self.state.best_model_checkpoint = str(self._folder / name)
        self.accelerator.wait_for_everyone()
        if self.is_world_process_zero():
            self.state.save_to_json(str(self._folder / UNFINISHED / name / TRAINER_STATE_NAME))
            finish_checkpoint(self._folder, name)
            remove_old_checkpoints(self._folder, self._save_total_limit, best_steps)
        self.accelerator.wait_for_everyone()

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        """Trains for an epoch, unless the run continues after its last step: the Trainer would train one step more."""
        saved: Any = self.state.stateful_callbacks
        is_stopped = saved.get("TrainerControl", {}).get("args", {}).get("should_training_stop")
        if is_stopped or self.state.global_step >= self.state.max_steps:
            self.control.should_training_stop = True
        else:
            _set_epoch(kwargs["train_dataloader"], kwargs["epoch"])
            super()._run_epoch(*args, **kwargs)


class _ContinueExactly(TrainerCallback):
    """Makes a continued run equal to one that was never interrupted."""

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Finds the best checkpoint where the run is now."""
        if state.best_global_step:
            best = Path(str(args.output_dir)) / f"{PREFIX}{state.best_global_step}"
            state.best_model_checkpoint = str(best) if best.is_dir() else None

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Logs with each checkpoint and at the end: the loss since the last log line is not saved."""
        control.should_log |= control.should_save or control.should_training_stop

    on_epoch_end = on_step_end


class _ProgressLine(ProgressCallback):
    """The Trainer's progress bar with the last figures behind it, in place of a dictionary for each log line."""

    def __init__(self) -> None:
        super().__init__()
        self._figures: dict[str, str] = {}

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Shows the losses and, of an evaluation, the measure that chooses the best checkpoint."""
        measure = str(args.metric_for_best_model or "")
        shown = ("loss", "eval_loss", measure if measure.startswith("eval_") else f"eval_{measure}")
        values = {name.replace("eval_", "held-out "): logs[name] for name in shown if name in logs}
        self._figures |= {name.replace("_", " "): f"{value:.4g}" for name, value in values.items()}
        if self.training_bar is not None:
            self.training_bar.set_postfix(self._figures)


def _set_epoch(loader: Any, epoch: int) -> None:
    """Tells the epoch to the data set and the sampler, which Accelerate reaches through some of its wrappers alone."""
    layers, layer = [loader.dataset], loader.batch_sampler
    while layer is not None:
        layers.append(layer)
        layer = getattr(layer, "batch_sampler", getattr(layer, "sampler", None))
    for layer in layers:
        if hasattr(layer, "set_epoch"):
            layer.set_epoch(epoch)


def _mean_loss(state: TrainerState) -> float:
    """Returns the mean loss of all steps, from the log."""
    total, last_step = 0.0, 0
    for line in state.log_history:
        if "loss" in line:
            total += line["loss"] * (line["step"] - last_step)
            last_step = int(line["step"])
    return total / max(last_step, 1)


class LengthGroups(Sampler[int]):
    """Yields the numbers of examples: those of a batch have nearly the same length, so that little is padded.

    The batches are in random order. The order depends on the seed and the epoch alone.

    Args:
        lengths: one for each example, in any unit.
        batch_size: examples of a batch.
        seed: source of all randomness, with the epoch.
    """

    def __init__(self, lengths: ArrayLike, batch_size: int, seed: int) -> None:
        self._lengths = np.asarray(lengths)
        self._batch_size = batch_size
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch. Each epoch has another order."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng((self._seed, self._epoch))
        order = rng.permutation(len(self._lengths))
        pools = _cut(order, self._batch_size * BATCHES_PER_POOL)
        batches = [
            batch
            for pool in pools
            for batch in _cut(pool[np.argsort(self._lengths[pool], kind="stable")], self._batch_size)
        ]
        last = [batches.pop()] if len(batches[-1]) < self._batch_size else []  # a short batch would shift the others
        for batch in [*(batches[number] for number in rng.permutation(len(batches))), *last]:
            yield from batch.tolist()


def _cut(values: Any, size: int) -> list[Any]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def list_checkpoints(folder: Path) -> list[Path]:
    """Returns the checkpoints of a run by their steps."""
    paths = (path for path in folder.glob(f"{PREFIX}*") if path.is_dir() and path.name[len(PREFIX) :].isdecimal())
    return sorted(paths, key=_steps)


def finish_checkpoint(folder: Path, name: str) -> None:
    """Gives a checkpoint its place."""
    (folder / UNFINISHED / name).rename(folder / name)
    (folder / UNFINISHED).rmdir()


def remove_old_checkpoints(folder: Path, limit: int | None, best_steps: int | None) -> None:
    """Keeps `limit` checkpoints, or all if it is None; the last and the best one are kept in any case."""
    by_age = list_checkpoints(folder)
    others = [path for path in by_age[:-1] if _steps(path) != best_steps]
    for checkpoint in others[: max(0, len(by_age) - limit)] if limit else []:
        shutil.rmtree(checkpoint)


def _steps(checkpoint: Path) -> int:
    return int(checkpoint.name[len(PREFIX) :])
