"""The Trainer of both scripts: resumes from the last checkpoint, stops when the loss is not finite."""

import copy
import json
import math
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
from accelerate import PartialState
from accelerate.utils import gather_object
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, Sampler
from transformers import PreTrainedModel, PrinterCallback, Trainer, TrainerCallback, TrainerState
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_callback import ProgressCallback
from transformers.trainer_utils import EvalLoopOutput

from vocabless.disk_errors import check_space
from vocabless.saving.run_folder import write_json

EXACT_LOSS = "exact_loss"  # a metric with this name is reported as the evaluation loss
BATCHES_PER_POOL = 100  # examples of so many batches are sorted by length together
PREFIX = "checkpoint-"  # of the folder of a checkpoint; its steps follow
STATES = 3  # numbers in a checkpoint for each weight: it, and two of Adam's
WHOLE = "whole"  # a file in a checkpoint of which every process has written its part: the `Totals` as JSON


def logits_only(logits: Any, labels: Tensor) -> Tensor:
    """Returns the logits. Some models also return hidden states."""
    return logits if isinstance(logits, Tensor) else logits[0]


class LossBar(ProgressCallback):
    """A bar with the last losses beside it, in place of a line for each entry of the log."""

    def __init__(self) -> None:
        super().__init__()
        self._losses: dict[str, str] = {}

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Shows the losses of an entry."""
        self._losses |= {name: f"{logs[name]:.3g}" for name in ("loss", "eval_loss") if name in logs}
        if self.training_bar is not None:
            self.training_bar.set_postfix(self._losses)


class Totals:
    """What a training has taken by now, in all commands that it was continued by.

    Attributes:
        loss: sum of the losses of its steps; of several processes, in a checkpoint and at the end their mean.
        seconds: that earlier commands took, up to their last checkpoint.
    """

    def __init__(self, loss: float = 0.0, seconds: float = 0.0) -> None:
        self.loss, self.seconds, self._start = loss, seconds, time.monotonic()

    def now(self) -> dict[str, float]:
        """Returns both up to now. Every process must call it."""
        losses = gather_object([self.loss])
        return {"loss": sum(losses) / len(losses), "seconds": self.seconds + time.monotonic() - self._start}


class ResumableTrainer(Trainer):
    """A `Trainer` for runs that may be killed or diverge.

    - A run that continues ends with the weights of a run that was never interrupted. So a checkpoint holds the patience
      of early stopping. The log lines after the interruption are means over other steps; the loss and the time of the
      whole training are those of all its steps.
    - An iterable training set is not split among the processes: it must give each process its own samples.
    - A training set with `lengths`, one for each example, is read in batches of examples of nearly the same length, and
      so is any other if the sampling strategy is "group_by_length".
    - If `compute_metrics` returns `EXACT_LOSS`, an evaluation reports it as the loss. The Trainer's own value is a mean
      over batches, which depends on the batch size.
    - It refuses a launcher's precision that its arguments, and so the record of the run, do not have.
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
        self._check_precision()
        module: Any = self.model
        encoder = next((part for part in module.modules() if isinstance(part, PreTrainedModel)), None)
        if encoder is not None and self.args.bf16 and self.args.device.type == "cpu":
            encoder.set_attn_implementation("eager")  # the backward pass of torch's fused attention is slow here
        # A loss is the mean of its batch; the mean over accumulated batches and processes is taken for it, unless a
        # subclass counts the labels.
        self.model_accepts_loss_kwargs = False
        self.args = copy.copy(self.args)
        self.args.logging_nan_inf_filter = False  # it would hide the values that `training_step` checks
        self.args.restore_callback_states_from_checkpoint = True
        # The Trainer would remove old checkpoints before the new one is whole.
        limit, self.args.save_total_limit = self.args.save_total_limit, None
        self._totals = Totals()
        self.add_callback(_Checkpoints(limit, lambda: self._totals))
        self.remove_callback(PrinterCallback)  # which prints each log line where there is no bar

    def _check_precision(self) -> None:
        """Raises ValueError for a precision that the arguments do not have; a file of DeepSpeed can have one."""
        recorded, used = self.args.mixed_precision, self.accelerator.mixed_precision
        if used != recorded:
            remedy = f"give --{used} true" if used != "no" else f"take --{recorded} out"
            raise ValueError(
                f"the launcher's configuration computes in the precision {used!r}, and the run would record "
                f"{recorded!r}; {remedy}, or change the configuration."
            )

    def resume(self) -> dict[str, float]:
        """Trains, unless for 0 epochs, from the last checkpoint in the output folder if any; returns the metrics.

        Raises:
            ValueError: the loss is not finite, there is not one example, or the disk has no space for a checkpoint.
        """
        if self.args.num_train_epochs == 0:
            return {"train_runtime": 0.0}
        with self.accelerator.main_process_first():
            if self.is_world_process_zero():
                for unfinished in {*_checkpoint_folders(self._folder)} - {*list_checkpoints(self._folder)}:
                    shutil.rmtree(unfinished)  # a killed run has written only a part of it
            checkpoint = next(reversed(list_checkpoints(self._folder)), None)
        self._totals = Totals()
        if checkpoint is None and self.args.save_strategy != "no":
            parameters: Any = cast(nn.Module, self.model).parameters()
            needed = STATES * sum(each.nbytes for each in parameters if each.requires_grad)
            check_space(self._folder, needed, "the weights and the optimizer's state in a checkpoint")
        if checkpoint is not None:
            self._totals = Totals(**json.loads((checkpoint / WHOLE).read_text(encoding="utf-8") or "{}"))
            self.args.eval_on_start = False
            state = TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))
            control: Any = state.stateful_callbacks["TrainerControl"]
            if control["args"]["should_training_stop"]:
                # The Trainer would train one step more. For 0 epochs, it loads the weights, and the best ones.
                self.args.max_steps, self.args.num_train_epochs = -1, 0
                if isinstance(self.train_dataset, IterableDataset):
                    self.train_dataset = [{}]  # epochs need a length; it is not read
        metrics: dict[str, float] = self.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None).metrics
        if not self.state.global_step:
            raise ValueError("the training data holds not one example; give files with text in them.")
        return metrics

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        """Runs one training step, see `Trainer.training_step`. Raises ValueError if the loss is not finite."""
        loss = super().training_step(model, inputs, num_items_in_batch)
        if not math.isfinite(loss.item()):
            last = next(reversed(list_checkpoints(self._folder)), None)
            raise ValueError(
                f"the loss is {loss.item()} at step {self.state.global_step + 1}; the last good checkpoint is {last}. "
                "Try a lower --learning_rate, then a longer warm-up, smaller gradients or float32."
            )
        self._totals.loss += loss.item()
        return loss

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """Logs, see `Trainer.log`; the last line has the loss and the time of all steps."""
        if "train_loss" in logs and self.state.global_step:
            totals, steps = self._totals.now(), self.state.global_step
            if self._totals.seconds:  # the Trainer's own speeds are those of this command
                logs["train_runtime"] = round(totals["seconds"], 4)
                logs.pop("train_samples_per_second", None)
                logs["train_steps_per_second"] = round(steps / totals["seconds"], 3)
            logs["train_loss"] = totals["loss"] / steps
        super().log(logs, *args, **kwargs)

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
        examples: Any = self.train_dataset
        lengths = getattr(examples, "lengths", None)
        if lengths is None:
            if self.args.train_sampling_strategy != "group_by_length":
                return super()._get_train_sampler(*args, **kwargs)
            # The order of the library's sampler depends on where a run was continued.
            lengths = [len(example["input_ids"]) for example in examples]
        return LengthGroups(lengths, self._train_batch_size, self.args.seed)

    @property
    def is_sharded(self) -> bool:
        """Whether each process may hold only a part of the weights."""
        return bool(self.is_fsdp_enabled or self.is_deepspeed_enabled)

    def full_state_dict(self) -> dict[str, Tensor]:
        """Returns all weights under the model's own parameter names, without the prefixes of any wrapper.

        Every process must call it. The result is complete on the main process; others may return an empty dict.
        """
        weights = self.accelerator.get_state_dict(self.model_wrapped) or {}  # None if another process holds them
        return {name.replace("_orig_mod.", ""): weight for name, weight in weights.items()}  # torch.compile's prefix

    @property
    def _folder(self) -> Path:
        return Path(str(self.args.output_dir))


class _Checkpoints(TrainerCallback):
    """Keeps checkpoints that are whole, tells the epoch to the training set, and checks each evaluation.

    `limit` is that of `remove_old_checkpoints`; `totals` returns what the training has taken.
    """

    def __init__(self, limit: int | None, totals: Callable[[], Totals]) -> None:
        self._limit, self._totals = limit, totals

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Finds the best checkpoint where the run is now."""
        if state.best_global_step:
            best = Path(str(args.output_dir)) / f"{PREFIX}{state.best_global_step}"
            state.best_model_checkpoint = str(best) if best.is_dir() else None

    def on_epoch_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Tells the epoch."""
        _set_epoch(kwargs["train_dataloader"], int(state.epoch or 0))

    def on_save(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Marks a checkpoint when all processes have written their part, and removes old ones."""
        totals = self._totals().now()
        PartialState().wait_for_everyone()
        if state.is_world_process_zero:
            folder = Path(str(args.output_dir))
            write_json(folder / f"{PREFIX}{state.global_step}" / WHOLE, totals)
            remove_old_checkpoints(folder, self._limit, state.best_global_step)

    def on_evaluate(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Raises ValueError if a metric is not finite.

        Training checks the loss before each step, so the weights after the last step are checked only here.
        """
        for name, value in reversed(kwargs["metrics"].items()):  # the loss first
            if not math.isfinite(value):
                is_trained = state.global_step > 0
                remedy = "Try a lower --learning_rate in another folder" if is_trained else "Begin from other weights"
                raise ValueError(f"the {name.partition('_')[2]} of the evaluation is {value}. {remedy}.")


def _set_epoch(loader: Any, epoch: int) -> None:
    """Tells the epoch to the data set and the sampler, which Accelerate reaches through some of its wrappers alone."""
    layers, layer = [loader.dataset], loader.batch_sampler
    while layer is not None:
        layers.append(layer)
        layer = getattr(layer, "batch_sampler", getattr(layer, "sampler", None))
    for layer in layers:
        if hasattr(layer, "set_epoch"):
            layer.set_epoch(epoch)


class LengthGroups(Sampler[int]):
    """Yields the numbers of examples: those of a batch have nearly the same length, so that little is padded.

    The batches are in random order, which depends on the seed and the epoch alone. Lengths are in any unit.
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
        by_length = [pool[np.argsort(self._lengths[pool], kind="stable")] for pool in pools]
        batches = _cut(np.concatenate(by_length), self._batch_size)
        last = [batches.pop()] if len(batches[-1]) < self._batch_size else []  # a short batch would shift the others
        for batch in [*(batches[number] for number in rng.permutation(len(batches))), *last]:
            yield from batch.tolist()


def _cut(values: Any, size: int) -> list[Any]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def list_checkpoints(folder: Path) -> list[Path]:
    """Returns the whole checkpoints of a run by their steps."""
    return sorted((path for path in _checkpoint_folders(folder) if (path / WHOLE).exists()), key=_steps)


def remove_old_checkpoints(folder: Path, limit: int | None, best_steps: int | None) -> None:
    """Keeps `limit` checkpoints, or all if it is None; the last and the best one are kept in any case."""
    by_age = list_checkpoints(folder)
    others = [path for path in by_age[:-1] if _steps(path) != best_steps]
    for checkpoint in others[: max(0, len(by_age) - limit)] if limit else []:
        shutil.rmtree(checkpoint)


def _checkpoint_folders(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob(f"{PREFIX}*") if path.is_dir() and path.name[len(PREFIX) :].isdecimal())


def _steps(checkpoint: Path) -> int:
    return int(checkpoint.name[len(PREFIX) :])
