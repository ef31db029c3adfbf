"""A Trainer of a model with one weight, which runs in a moment and can be killed at a step."""

import pytest
import torch
from torch import nn
from transformers import TrainerCallback, TrainingArguments

from vocabless.training.trainer import ResumableTrainer


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


class Kill(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            raise KeyboardInterrupt


def stop_at(trainer, step):
    trainer.add_callback(Kill(step))
    with pytest.raises(KeyboardInterrupt):
        trainer.resume()
