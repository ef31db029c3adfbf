"""Training speed in the log of a run."""

import time
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments


class LogTokensPerSecond(TrainerCallback):
    """Adds `tokens_per_second` to each line of the training log: the mean since the line before."""

    def __init__(self) -> None:
        self._start_tokens, self._start_time = 0, torch.inf

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Starts the clock at the first step."""
        if self._start_time == torch.inf:
            self._start_time, self._start_tokens = time.perf_counter(), state.num_input_tokens_seen

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Writes the speed, and starts the clock again."""
        logs = kwargs.get("logs") or {}
        if "loss" in logs:
            now = time.perf_counter()
            speed = round((state.num_input_tokens_seen - self._start_tokens) / (now - self._start_time))
            logs["tokens_per_second"] = state.log_history[-1]["tokens_per_second"] = speed
            self._start_time, self._start_tokens = now, state.num_input_tokens_seen
