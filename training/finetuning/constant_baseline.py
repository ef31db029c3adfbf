"""A sentence on a run whose score is no better than a constant prediction's."""

from collections.abc import Mapping
from typing import Any

from vocabless.training.finetuning.default_hyper_parameters import default_learning_rate
from vocabless.training.finetuning.tasks import Task


def constant_baseline_note(task: Task, results: Mapping[str, Any], width: int) -> str | None:
    """Returns a sentence, without a full stop, if the run's score may be that of a constant prediction; else None.

    Args:
        task: its best metric is the score.
        results: content of the run's `results.json`.
        width: hidden size of the encoder.
    """
    metric, arguments = task.problem.best_metric, results["arguments"]
    score, constant = results["measures"][metric], results["constant_baselines"][metric]
    low, high = results["intervals"][metric]
    if constant < low:
        return None
    place = "is below" if constant > high else "cannot be told from"
    remedies = [_more_training(arguments)] if results["epochs"] else ["fine-tuning, without --head_only"]
    if results["from_scratch"]:
        rate = f"--learning_rate {_another_rate(arguments['learning_rate'], width):g}"
        remedies = [rate, *remedies, "or start from a pre-trained or distilled checkpoint"]
    return (
        f"{task.title}, seed {results['seed']}: {metric.replace('_', ' ')} {100 * score:.1f} "
        f"({100 * low:.1f} to {100 * high:.1f}) {place} the constant baseline {100 * constant:.1f}, so the model may "
        f"have learned nothing; try {', '.join(remedies)}"
    )


def _another_rate(rate: float, width: int) -> float:
    """Returns the default of the encoder's width, or twice this default if the run had about the default."""
    default = default_learning_rate(width)
    return 2 * default if default / 2 < rate < 2 * default else default


def _more_training(arguments: Mapping[str, Any]) -> str:
    """Returns a flag with twice the length of the run."""
    if arguments["max_steps"] > 0:
        return f"--max_steps {2 * arguments['max_steps']}"
    return f"--num_train_epochs {2 * arguments['num_train_epochs']:g}"
