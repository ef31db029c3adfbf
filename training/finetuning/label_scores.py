"""The scores of a model on labelled test rows, also of each label, where labels may be others than in training."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import classification_report

from vocabless.training.finetuning.metrics import Scores
from vocabless.training.finetuning.problems import ABSENT, Array, Problem


def score_labels(problem: Problem, logits: Array, labels: Sequence[Any]) -> Scores:
    """Returns the scores; a label that the training rows lack is a mistake."""
    wide, logits = _with_unknown_labels(problem, logits, labels)
    return wide.score(logits, [wide.target(label) for label in labels])


def label_table(problem: Problem, logits: Array, labels: Sequence[Any]) -> str:
    """Returns scikit-learn's table of the precision, recall and F1 of each label, in Markdown.

    A sentence names the labels that the training rows lack.
    """
    unknown = problem.unknown_labels(labels)
    wide, logits = _with_unknown_labels(problem, logits, labels)
    predicted, correct = wide.decode(logits, np.asarray([wide.target(label) for label in labels]))
    names = [" ".join(label.split()) for label in wide.labels]
    numbers = range(len(names))
    table = classification_report(correct, predicted, labels=numbers, target_names=names, digits=3, zero_division=0)
    missing = f"\nThe training rows do not have: {', '.join(unknown)}. Each of these texts counts as a mistake.\n"
    return f"```\n{table}```\n" + (missing if unknown else "")


def _with_unknown_labels(problem: Problem, logits: Array, labels: Sequence[Any]) -> tuple[Problem, Array]:
    """Returns the problem with the labels that it lacks, and the logits with columns for them: never the largest."""
    unknown = problem.unknown_labels(labels)
    if not unknown:
        return problem, logits
    wide = type(problem)([*problem.labels, *unknown], problem.metrics, problem.best_metric, problem.threshold)
    columns = np.full((len(logits), len(unknown)), min(logits.min(), 0) + ABSENT)
    return wide, np.concatenate([logits, columns], axis=1)
