"""The results of a pre-training run: held-out measures before and after training."""

import math
from collections.abc import Mapping
from typing import Any

from transformers import PreTrainedModel, TrainerState

from vocabless.saving.run_folder import versions
from vocabless.training.pretraining.objective import Objective
from vocabless.training.pretraining.objectives import OBJECTIVES


def collect_results(
    objective: Objective,
    model: PreTrainedModel,
    state: TrainerState,
    metrics: Mapping[str, float],
    after: Mapping[str, float],
) -> dict[str, Any]:
    """Returns the content of results.json, without the arguments.

    Args:
        objective: what the model learned.
        model: the trained model.
        state: the Trainer's, at the end of training.
        metrics: what training returned.
        after: the last evaluation.
    """
    return {
        "objective": objective.name,
        "before": next((line for line in state.log_history if "eval_loss" in line), {}),
        "after": after,
        "train": metrics,
        "steps": state.global_step,
        "tokens_seen": state.num_input_tokens_seen,
        "log": state.log_history,
        "parameters": model.num_parameters(),
        "versions": versions(),
    }


def compare(results: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Returns (measure, before, after) for each measure of the last evaluation; NaN where the first one lacks it."""
    before, after = results["before"], results["after"]
    keys = {measure: f"eval_{measure}" for measure in OBJECTIVES[results["objective"]].measures}
    return [(measure, before.get(key, math.nan), after[key]) for measure, key in keys.items() if key in after]


def held_out_table(results: Mapping[str, Any]) -> str:
    """Returns the held-out measures before and after training, as a table to print."""
    lines = [f"{measure:20} {before:8.4f} {after:8.4f}" for measure, before, after in compare(results)]
    return "\n".join(["", f"{'held out':20} {'before':>8} {'after':>8}", *lines, ""])
