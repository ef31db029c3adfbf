"""Held-out measures before and after pre-training."""

import math
from collections.abc import Mapping, Sequence


def first_evaluation(log: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Returns the first evaluation of a Trainer's `log_history`; {} if there is none."""
    return next((line for line in log if "eval_loss" in line), {})


def compare(
    measures: Sequence[str], before: Mapping[str, float], after: Mapping[str, float]
) -> list[tuple[str, float, float]]:
    """Returns (measure, before, after) for each measure of the second evaluation; NaN where the first one lacks it."""
    keys = {name: f"eval_{name}" for name in measures}
    return [(name, before.get(key, math.nan), after[key]) for name, key in keys.items() if key in after]
