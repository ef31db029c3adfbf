"""One line that shows how far a training is, how long it still takes, and its last figures."""
# mypy: allow-untyped-calls

from typing import Any

from transformers import ProgressCallback, TrainerControl, TrainerState, TrainingArguments

LOSSES = ("loss", "eval_loss")


class ProgressLine(ProgressCallback):
    """The Trainer's progress bar with the last figures behind it, in place of a printed dictionary for each log line.

    The dictionaries stay in the state's log, which `results.json` holds.
    """

    def __init__(self) -> None:
        super().__init__()
        self._figures: dict[str, str] = {}

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Shows the losses and, of an evaluation, the measure that chooses the best checkpoint."""
        measure = str(args.metric_for_best_model or "")
        shown = (*LOSSES, measure if measure.startswith("eval_") else f"eval_{measure}")
        values = {name.replace("eval_", "held-out "): (logs or {})[name] for name in shown if name in (logs or {})}
        self._figures |= {name.replace("_", " "): f"{value:.4g}" for name, value in values.items()}
        if self.training_bar is not None:
            self.training_bar.set_postfix(self._figures)
