"""The Trainer on a model with one weight, which runs in a moment and is killed at a step."""

import json
import os
import signal
import time

import numpy as np
import pytest
import torch
from accelerate.data_loader import BatchSamplerShard, DataLoaderShard, SeedableRandomSampler
from accelerate.state import AcceleratorState
from torch import nn
from torch.utils.data import BatchSampler, Dataset
from transformers import EarlyStoppingCallback, TrainerCallback, TrainingArguments

from vocabless.training import trainer as trainer_file
from vocabless.training.trainer import LengthGroups, ResumableTrainer, list_checkpoints

FILES = {
    *("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth"),
    *("trainer_state.json", "training_args.bin", "whole"),
}


class Line(nn.Module):
    """y = w·x; the loss is NaN at x = 99."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, x, labels, **unused):  # by these the Trainer takes a loss for a sum
        predicted = self.weight * x
        loss = ((predicted - labels) ** 2).mean() + torch.where(x == 99.0, torch.nan, 0.0).sum()
        return {"loss": loss, "logits": predicted}


def training_on(folder, values=range(1, 7), **arguments):
    """A Trainer whose progress bar is shown."""
    data = [{"x": float(x), "labels": 2.0 * x} for x in values]
    arguments = {"max_steps": 6, "save_steps": 2, "learning_rate": 0.1, "per_device_train_batch_size": 1} | arguments
    arguments = {"use_cpu": True, "report_to": "none", "train_sampling_strategy": "sequential"} | arguments
    return ResumableTrainer(Line(), TrainingArguments(str(folder), **arguments), train_dataset=data, eval_dataset=data)


class Kill(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            raise KeyboardInterrupt


def logging_between_checkpoints(folder):
    return training_on(folder, logging_steps=3, logging_first_step=True)


def inside_an_epoch(folder):
    return training_on(folder, max_steps=9)


def by_length(folder):
    """Two epochs of batches of like length."""
    trainer = training_on(folder, [], max_steps=12, per_device_train_batch_size=2, remove_unused_columns=False,
                          train_sampling_strategy="group_by_length")  # fmt: skip
    rng = np.random.default_rng(0)
    trainer.train_dataset = [
        {"x": x, "labels": y, "input_ids": [0] * n}
        for x, y, n in zip(*rng.normal(size=(2, 11)).tolist(), rng.integers(1, 9, 11), strict=True)
    ]
    trainer.data_collator = lambda rows: {name: torch.tensor([row[name] for row in rows]) for name in ("x", "labels")}
    return trainer


class Epochs(Dataset):
    """Nine examples that differ in each epoch."""

    def __init__(self):
        self.epoch, self.told = 0, []

    def set_epoch(self, epoch):
        self.epoch = epoch
        self.told.append(epoch)

    def __len__(self):
        return 9

    def __getitem__(self, index):
        return {"x": index + 1.0, "labels": 2.0 * index + self.epoch}


def first_of_two(folder, is_by_length=False):
    """Accelerate tells the epoch to the sampler or the data set, and to neither through all wrappers."""
    trainer, data = training_on(folder, [1], max_steps=9, max_grad_norm=0), Epochs()
    sampler = LengthGroups(range(9), 1, 0) if is_by_length else SeedableRandomSampler(data, data_seed=0)
    shard = BatchSamplerShard(BatchSampler(sampler, 1, False), 2, 0)
    trainer.get_train_dataloader = lambda: DataLoaderShard(data, batch_sampler=shard)
    trainer.told = data.told
    return trainer


def first_of_two_by_length(folder):
    return first_of_two(folder, is_by_length=True)


def with_patience(folder):
    """The accuracy of the evaluations is 0, 1, 2, 2, 1, 0, …: with patience 3 the run ends after the sixth."""
    accuracies = [0.0, 1.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0]
    trainer = training_on(folder, max_steps=16, eval_strategy="steps", eval_steps=2, load_best_model_at_end=True,
                          metric_for_best_model="accuracy", greater_is_better=True, save_total_limit=1)  # fmt: skip
    trainer.compute_metrics = lambda _: {"accuracy": accuracies[trainer.state.global_step // 2 - 1]}
    trainer.add_callback(EarlyStoppingCallback(3))
    return trainer


@pytest.mark.parametrize(("make", "killed_at"), [
    # None: after the last checkpoint, at the end of an epoch or inside one
    *((training_on, None), (inside_an_epoch, None), (by_length, None), (with_patience, None)),
    *((logging_between_checkpoints, 3), (logging_between_checkpoints, 5)),
    *((by_length, 5), (by_length, 8)),  # in the first epoch, and in the second one
    *((first_of_two, 7), (first_of_two_by_length, 7)),  # the last checkpoint is that of step 6
    *((with_patience, 9), (with_patience, 11)),
])  # fmt: skip
def test_a_continued_run_equals_one_that_was_never_killed(tmp_path, make, killed_at):
    whole, killed = make(tmp_path / "whole"), make(tmp_path / "killed")
    metrics = whole.resume()
    if killed_at is None:
        killed.resume()
    else:
        killed.add_callback(Kill(killed_at))
        with pytest.raises(KeyboardInterrupt):
            killed.resume()
    (tmp_path / "killed").rename(tmp_path / "moved")  # its best checkpoint is found there, too
    for _ in range(2):  # a finished run trains no further
        again = make(tmp_path / "moved")
        time.sleep(0.1)
        continued = again.resume()
        assert continued["train_loss"] == metrics["train_loss"] == whole.state.log_history[-1]["train_loss"] > 0
        seconds = json.loads((list_checkpoints(tmp_path / "moved")[-1] / "whole").read_text())["seconds"]
        assert seconds <= continued["train_runtime"] < 100 and "train_samples_per_second" not in continued
        assert again.state.global_step == whole.state.global_step
        assert torch.equal(again.model.weight, whole.model.weight)
        if make in (training_on, inside_an_epoch):
            again.evaluate()
    if make is with_patience:
        assert (whole.state.global_step, whole.state.best_global_step) == (12, 6)
        assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == ["checkpoint-12", "checkpoint-6"]
    if make in (first_of_two, first_of_two_by_length):
        assert sorted({*whole.told}) == [0, 1]  # five steps each


def test_accumulated_batches_give_the_loss_the_gradient_and_the_weights_of_one(tmp_path):
    figures = []
    for batch in (6, 3, 1):
        sizes = {"per_device_train_batch_size": batch, "gradient_accumulation_steps": 6 // batch}
        trainer = training_on(tmp_path / f"{batch}", max_steps=2, logging_steps=1, **sizes)
        trainer.resume()
        log = trainer.state.log_history[0]
        assert log["epoch"] == 1
        figures.append([log["loss"], log["grad_norm"], trainer.model.weight.item()])
    assert figures[1] == pytest.approx(figures[0], rel=1e-4) and figures[2] == pytest.approx(figures[0], rel=1e-4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("step", ["_save_scaler", "write_json", "remove_old_checkpoints"])
def test_a_run_that_is_killed_while_it_saves_ends_as_one_that_is_not(step, tmp_path):
    whole, half = (training_on(tmp_path / name, save_total_limit=1) for name in ("whole", "half"))
    child = os.fork()
    if child == 0:
        owner = half if hasattr(half, step) else trainer_file
        original = getattr(owner, step)

        def killed_at_4(*given):
            if half.state.global_step == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            original(*given)

        setattr(owner, step, killed_at_4)
        half.resume()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert (tmp_path / "half" / "checkpoint-4").exists()
    last = trainer_file.list_checkpoints(tmp_path / "half")[-1]
    assert last.name == ("checkpoint-4" if step == "remove_old_checkpoints" else "checkpoint-2")
    whole.resume()
    again = training_on(tmp_path / "half", save_total_limit=1)
    again.resume()
    assert again.state.global_step == 6 and torch.equal(again.model.weight, whole.model.weight)
    assert [path.name for path in (tmp_path / "half").iterdir()] == ["checkpoint-6"]
    assert {path.name for path in (tmp_path / "half" / "checkpoint-6").iterdir()} == FILES


def test_the_best_checkpoint_stays_and_is_named_by_its_place(tmp_path):
    (tmp_path / "checkpoint-mine").mkdir()
    trainer = with_patience(tmp_path)
    trainer.resume()
    best, last = trainer_file.list_checkpoints(tmp_path)
    assert trainer.state.best_model_checkpoint == str(best)
    assert f'"best_model_checkpoint": "{best}"' in (last / "trainer_state.json").read_text()
    assert (best.name, last.name, (tmp_path / "checkpoint-mine").is_dir()) == ("checkpoint-6", "checkpoint-12", True)


class Empty(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(())


def test_a_loss_that_is_not_finite_and_data_without_an_example_stop_the_run(tmp_path):
    with pytest.raises(ValueError, match=r"nan at step 4; .*checkpoint-2.*--learning_rate"):
        training_on(tmp_path, [1, 2, 3, 99, 5, 6]).resume()
    with pytest.raises(ValueError, match="the last good checkpoint is None"):
        training_on(tmp_path / "other", [99]).resume()
    trainer = training_on(tmp_path / "empty")
    trainer.train_dataset = Empty()
    with pytest.raises(ValueError, match="not one example"):
        trainer.resume()


def test_a_precision_that_the_arguments_do_not_have_is_refused(tmp_path, monkeypatch):
    for recorded, used in (("no", "bf16"), ("bf16", "no")):
        with monkeypatch.context() as changed:
            changed.setattr(AcceleratorState, "mixed_precision", property(lambda state, used=used: used))  # DeepSpeed's
            with pytest.raises(ValueError, match=f"computes in the precision '{used}', and .* record '{recorded}'; "):
                training_on(tmp_path, bf16=recorded == "bf16")
        assert training_on(tmp_path, bf16=used == "bf16").accelerator.mixed_precision == used


def test_an_exact_loss_replaces_the_mean_over_batches_and_an_evaluation_that_is_not_finite_stops_the_run(tmp_path):
    trainer = training_on(tmp_path)
    trainer.compute_metrics = lambda _: {"exact_loss": 42.0, "accuracy": 1.0}
    metrics = trainer.evaluate()
    assert metrics["eval_loss"] == 42.0 and "eval_exact_loss" not in metrics
    trainer.compute_metrics = lambda _: {"exact_loss": 42.0, "cosine": float("nan")}
    for step, remedy in ((0, "Begin from other weights"), (6, "Try a lower --learning_rate")):
        trainer.state.global_step = step
        with pytest.raises(ValueError, match=f"the cosine of the evaluation is nan. {remedy}"):
            trainer.evaluate()


def test_batches_hold_examples_of_like_length_in_a_random_order_of_seed_and_epoch():
    lengths = np.random.default_rng(0).integers(1, 500, size=1003)
    groups, same, other = (LengthGroups(lengths, 10, seed=seed) for seed in (1, 1, 2))
    order = list(groups)
    assert sorted(order) == list(range(1003)) and len(groups) == 1003
    batches = [lengths[order[start : start + 10]] for start in range(0, 1000, 10)]
    assert np.mean([np.ptp(batch) for batch in batches]) < 10 < np.ptp(lengths[:10])
    means = [batch.mean() for batch in batches]
    assert means != sorted(means)
    assert order == list(groups) == list(same) != list(other)
    groups.set_epoch(1)
    assert list(groups) != order
    assert list(LengthGroups([5, 6], 8, seed=0)) in ([0, 1], [1, 0])
