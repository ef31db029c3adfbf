"""Where a classifier is wrong on labelled test rows: scores of each label, confusions, and the surest mistakes."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from vocabless.training.finetuning.base_problem import Array, Problem
from vocabless.training.finetuning.problems import ABSENT, MultiLabel, SingleLabel
from vocabless.training.finetuning.tasks import Examples

MAX_MISTAKES = 20
MAX_QUOTE = 200  # characters of a text
MAX_CONFUSION = 30  # labels of a confusion matrix in text


def score_labels(problem: Problem, logits: Array, labels: Sequence[Any]) -> dict[str, float]:
    """Returns `loss` and the metrics; a label that the training rows lack is a mistake. Not for a problem per word."""
    wide, logits = _with_unknown_labels(problem, logits, labels)
    return wide.score(logits, [wide.target(label) for label in labels])


def describe_mistakes(problem: SingleLabel | MultiLabel, examples: Examples, logits: Array) -> str:
    """Returns, as Markdown, precision, recall and F1 of each label; of single labels also what was taken for what.

    Args:
        problem: of the task.
        examples: with labels.
        logits: (n, labels).
    """
    unknown = problem.unknown_labels(examples.labels or [])
    wide, predicted, correct = _indices(problem, examples, logits)
    scores: Any = precision_recall_fscore_support(
        correct, predicted, labels=range(len(wide.labels)), average=None, zero_division=0
    )
    lines = ["| label | precision | recall | F1 | texts |", "|---|--:|--:|--:|--:|"]
    for label, *shares, count in zip(wide.labels, *scores, strict=True):
        lines.append(f"| {_cell(label)} | {' | '.join(f'{100 * share:.1f}' for share in shares)} | {count} |")
    if unknown:
        names = ", ".join(map(_cell, unknown))
        lines += ["", f"The training rows do not have: {names}. Each of these texts counts as a mistake."]
    if isinstance(problem, SingleLabel):
        lines += _confusion(wide, predicted, correct) + _surest_mistakes(wide, examples, logits, predicted, correct)
    return "\n".join([*lines, ""])


def _with_unknown_labels(problem: Problem, logits: Array, labels: Sequence[Any]) -> tuple[Problem, Array]:
    """Returns the problem with the labels that it lacks, and the logits with columns for them: never the largest."""
    unknown = problem.unknown_labels(labels)
    if not unknown:
        return problem, logits
    wide = type(problem)([*problem.labels, *unknown], problem.metrics, problem.best_metric, problem.threshold)
    columns = np.full((len(logits), len(unknown)), min(logits.min(), 0) + ABSENT)
    return wide, np.concatenate([logits, columns], axis=1)


def _indices(problem: Problem, examples: Examples, logits: Array) -> tuple[Problem, Array, Array]:
    """Returns the problem with all labels, and what is predicted and correct, in the form of scikit-learn."""
    labels = examples.labels or []
    wide, logits = _with_unknown_labels(problem, logits, labels)
    correct = np.asarray([wide.target(label) for label in labels]).astype(int)
    predicted, correct = wide._metric_inputs(logits, correct)
    return wide, (predicted > problem.threshold).astype(int) if isinstance(wide, MultiLabel) else predicted, correct


def _confusion(problem: Problem, predicted: Array, correct: Array) -> list[str]:
    if len(problem.labels) > MAX_CONFUSION:
        return []
    counts = confusion_matrix(correct, predicted, labels=range(len(problem.labels)))
    names = [_cell(label) for label in problem.labels]
    lines = ["", "Rows: the correct label. Columns: the predicted one.", "", f"| | {' | '.join(names)} |"]
    lines.append(f"|---|{'--:|' * len(names)}")
    return lines + [f"| {name} | {' | '.join(map(str, row))} |" for name, row in zip(names, counts, strict=True)]


def _surest_mistakes(
    problem: Problem, examples: Examples, logits: Array, predicted: Array, correct: Array
) -> list[str]:
    probabilities = np.exp(logits - logits.max(1, keepdims=True))
    probabilities /= probabilities.sum(1, keepdims=True)
    sureness = np.where(predicted == correct, -1.0, probabilities.max(1))
    rows = [row for row in np.argsort(-sureness, kind="stable")[:MAX_MISTAKES] if sureness[row] >= 0]
    if not rows:
        return []
    lines = ["", "The surest mistakes:", "", "| probability | predicted | correct | text |", "|--:|---|---|---|"]
    for row in rows:
        text = " / ".join(part[row] for part in (examples.texts, examples.pairs) if part)
        names = f"{_cell(problem.labels[predicted[row]])} | {_cell(problem.labels[correct[row]])}"
        lines.append(f"| {100 * sureness[row]:.1f} | {names} | {_cell(text[:MAX_QUOTE])} |")
    return lines


def draw_confusion(problem: Problem, examples: Examples, logits: Array, file: Path) -> None:
    """Draws the confusion matrix, if matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    wide, predicted, correct = _indices(problem, examples, logits)
    counts = confusion_matrix(correct, predicted, labels=range(len(wide.labels)))
    size = 2 + 0.35 * len(wide.labels)
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.subplots()
    axes.imshow(counts, cmap="Blues")
    axes.set_xticks(range(len(wide.labels)), wide.labels, rotation=90)
    axes.set_yticks(range(len(wide.labels)), wide.labels)
    axes.set_xlabel("predicted")
    axes.set_ylabel("correct")
    for row, column in np.argwhere(counts):
        axes.text(column, row, counts[row, column], ha="center", va="center", fontsize=7)
    figure.savefig(file)


def _cell(text: str) -> str:
    """Returns a text as a cell of a table: one line, without the table's own sign."""
    return " ".join(text.split()).replace("|", "\\|")
