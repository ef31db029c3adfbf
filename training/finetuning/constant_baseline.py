"""A sentence on a run whose score is no better than a constant prediction's."""

import math
from collections.abc import Mapping
from typing import Any

from vocabless.training.finetuning.default_hyper_parameters import default_learning_rate
from vocabless.training.finetuning.tasks import Task

STANDARD_ERRORS = 2  # above the constant baseline; what is below may be chance
CORRELATIONS = ("matthews_correlation", "pearson", "spearman")


def constant_baseline_note(task: Task, results: Mapping[str, Any], width: int) -> str | None:
    """Returns a sentence, without a full stop, if the run's score may be that of a constant prediction; else None.

    Args:
        task: its best metric is the score.
        results: content of the run's `results.json`.
        width: hidden size of the encoder.
    """
    metric, arguments = task.problem.best_metric, results["arguments"]
    score, constant = results["measures"][metric], results["constant_baselines"][metric]
    margin = chance_margin(metric, constant, len(task.validation[""]))
    if score > constant + margin:
        return None
    place = "below" if score < constant - margin else f"within chance ({100 * margin:.1f}) of"
    return (
        f"{task.title}, seed {results['seed']}: {metric.replace('_', ' ')} {100 * score:.1f} is {place} the constant "
        f"baseline {100 * constant:.1f}, so the model may have learned nothing; "
        f"try --learning_rate {_another_rate(arguments['learning_rate'], width):g}, {_more_training(arguments)}, or "
        "start from a pre-trained or distilled checkpoint"
    )


def chance_margin(metric: str, constant: float, count: int) -> float:
    """Returns `STANDARD_ERRORS` standard errors of a score near the constant baseline.

    A correlation's standard error near 0 is 1/√count. Other measures are treated as shares of `count` examples.

    Args:
        metric: key of `METRICS`.
        constant: score of the constant prediction, 0–1.
        count: of validation examples.

    Example:
        >>> chance_margin("accuracy", 0.5, 400), chance_margin("spearman", 0.0, 400)
        (0.05, 0.1)
    """
    spread = 1.0 if metric in CORRELATIONS else math.sqrt(constant * (1 - constant))
    return STANDARD_ERRORS * spread / math.sqrt(count)


def _another_rate(rate: float, width: int) -> float:
    """Returns the default of the encoder's width, or twice this default if the run had about the default."""
    default = default_learning_rate(width)
    return 2 * default if default / 2 < rate < 2 * default else default


def _more_training(arguments: Mapping[str, Any]) -> str:
    """Returns a flag with twice the length of the run."""
    if arguments["max_steps"] > 0:
        return f"--max_steps {2 * arguments['max_steps']}"
    return f"--num_train_epochs {2 * arguments['num_train_epochs']:g}"
