import errno
import os

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from torch import nn
from transformers import TrainingArguments

from vocabless.training import trainer as trainer_module
from vocabless.training.trainer import ResumableTrainer, TrainingStopped, last_checkpoint


class Line(nn.Module):
    """y = w·x; the loss is NaN at x = 99."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, x, labels):
        predicted = self.weight * x
        loss = ((predicted - labels) ** 2).mean() + torch.where(x == 99.0, torch.nan, 0.0).sum()
        return {"loss": loss, "logits": predicted}


def training_on(folder, values, **arguments):
    data = [{"x": float(x), "labels": 2.0 * x} for x in values]
    defaults = {
        "max_steps": 6,
        "save_steps": 2,
        "per_device_train_batch_size": 1,
        "use_cpu": True,
        "disable_tqdm": True,
        "learning_rate": 0.1,
        "report_to": "none",
        "train_sampling_strategy": "sequential",
    }
    args = TrainingArguments(str(folder), **{**defaults, **arguments})
    return ResumableTrainer(Line(), args, train_dataset=data, eval_dataset=data)


def test_an_incomplete_checkpoint_is_removed_and_training_resumes_from_the_last_complete_one(tmp_path):
    uninterrupted = training_on(tmp_path / "uninterrupted", range(1, 7))
    uninterrupted.resume()
    first = training_on(tmp_path / "killed", range(1, 7))
    first.resume()
    os.remove(tmp_path / "killed" / "checkpoint-6" / trainer_module.COMPLETE_MARK)
    (tmp_path / "killed" / "checkpoint-8").mkdir()  # killed while the checkpoint was being written
    (tmp_path / "killed" / "checkpoint-8" / "trainer_state.json").write_text("{")
    assert last_checkpoint(tmp_path / "killed").endswith("checkpoint-4")
    second = training_on(tmp_path / "killed", range(1, 7))
    second.resume()
    assert second.state.global_step == 6
    assert not (tmp_path / "killed" / "checkpoint-8").exists()
    assert torch.equal(second.model.weight, uninterrupted.model.weight)


def test_a_run_killed_after_its_last_checkpoint_trains_no_further(tmp_path):
    first = training_on(tmp_path, range(1, 7))
    first.resume()
    again = training_on(tmp_path, range(1, 7))
    again.resume()
    assert again.state.global_step == 6
    assert torch.equal(again.model.weight, first.model.weight)


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path):
    with pytest.raises(TrainingStopped, match=r"nan at step 4; .*checkpoint-2.*--learning_rate"):
        training_on(tmp_path, [1, 2, 3, 99, 5, 6]).resume()
    with pytest.raises(TrainingStopped, match="no checkpoint yet"):
        training_on(tmp_path / "other", [99]).resume()


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 2579392 vs 2579280"),
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
    ],
)
def test_on_a_full_disk_the_last_good_checkpoint_stays_and_is_named(tmp_path, error, monkeypatch):
    trainer = training_on(tmp_path, range(1, 7))
    save = trainer._save_optimizer_and_scheduler

    def fails_at_the_second(folder):
        if folder.endswith("checkpoint-4"):
            raise error
        save(folder)

    monkeypatch.setattr(trainer, "_save_optimizer_and_scheduler", fails_at_the_second)
    with pytest.raises(TrainingStopped, match=r"full at step 4; the last good checkpoint is .*checkpoint-2"):
        trainer.resume()
    again = training_on(tmp_path, range(1, 7))
    again.resume()
    assert again.state.global_step == 6


def test_other_errors_are_not_taken_for_a_full_disk(tmp_path, monkeypatch):
    trainer = training_on(tmp_path, range(1, 7))
    monkeypatch.setattr(trainer, "_save_optimizer_and_scheduler", lambda folder: np.linalg.inv(np.zeros((2, 2))))
    with pytest.raises(np.linalg.LinAlgError):
        trainer.resume()
    monkeypatch.setattr(trainer, "train", lambda **_: (_ for _ in ()).throw(RuntimeError("shapes")))
    with pytest.raises(RuntimeError, match="shapes"):
        trainer.resume()


def test_an_exact_loss_replaces_the_mean_over_batches(tmp_path):
    trainer = training_on(tmp_path, range(1, 7))
    trainer.compute_metrics = lambda prediction: {"exact_loss": 42.0, "accuracy": 1.0}
    measures = trainer.evaluate()
    assert measures["eval_loss"] == 42.0
    assert "eval_exact_loss" not in measures
