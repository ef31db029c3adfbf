"""What a fine-tuned model gives on test rows, and where a classifier is wrong."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from transformers import PreTrainedTokenizerBase

from vocabless.saving.tables import markdown_table
from vocabless.training.finetuning.base_problem import Array, Problem
from vocabless.training.finetuning.problems import ABSENT, MultiLabel, SingleLabel, softmax
from vocabless.training.finetuning.task_files import EncodedExamples, Examples
from vocabless.training.finetuning.tasks import Task
from vocabless.training.trainer import ResumableTrainer

MAX_MISTAKES = 20
MAX_QUOTE = 200  # characters of a text
MAX_CONFUSION = 30  # labels of a confusion matrix in text


def write_predictions(
    trainer: ResumableTrainer, task: Task, tokenizer: PreTrainedTokenizerBase, max_seq_length: int, folder: Path
) -> dict[str, float]:
    """Writes `predictions<suffix>.jsonl` for each test split, and `test<suffix>.md` if it has labels.

    Returns:
        The scores of the splits that have labels; their names begin with `test_`.
    """
    problem = task.problem
    scores: dict[str, float] = {}
    trainer.args.train_sampling_strategy = "random"  # `group_by_length` would sort the predictions by length
    for suffix, examples in task.test.items():
        encoded = EncodedExamples(Examples(examples.texts, examples.pairs), problem, tokenizer, max_seq_length)
        logits, labels = np.asarray(trainer.predict(encoded).predictions), examples.labels
        if labels is not None:
            found = score_labels(problem, logits, labels)
            scores |= {f"test_{name}{suffix}": value for name, value in found.items()}
        if trainer.is_world_process_zero():
            lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in problem.prediction_records(logits)]
            (folder / f"predictions{suffix}.jsonl").write_text("".join(lines), encoding="utf-8")
            if labels is not None and isinstance(problem, SingleLabel | MultiLabel):
                text = describe_mistakes(problem, examples, logits)
                (folder / f"test{suffix}.md").write_text(text, encoding="utf-8")
    return scores


def score_labels(problem: Problem, logits: Array, labels: Sequence[Any]) -> dict[str, float]:
    """Returns `loss` and the metrics; a label that the training rows lack is a mistake."""
    wide, logits = _with_unknown_labels(problem, logits, labels)
    return wide.score(logits, [wide.target(label) for label in labels])


def describe_mistakes(problem: SingleLabel | MultiLabel, examples: Examples, logits: Array) -> str:
    """Returns, as Markdown, precision, recall and F1 of each label; of single labels also what was taken for what."""
    labels = examples.labels or []
    unknown = problem.unknown_labels(labels)
    wide, all_logits = _with_unknown_labels(problem, logits, labels)
    predicted, correct = wide.decode(all_logits, np.asarray([wide.target(label) for label in labels]))
    scores: Any = precision_recall_fscore_support(
        correct, predicted, labels=range(len(wide.labels)), average=None, zero_division=0
    )
    names = [_cell(label) for label in wide.labels]
    rows = [
        [name, *(f"{100 * share:.1f}" for share in shares), str(count)]
        for name, *shares, count in zip(names, *scores, strict=True)
    ]
    lines = [markdown_table(["label", "precision", "recall", "F1", "texts"], rows)]
    if unknown:
        missing = ", ".join(map(_cell, unknown))
        lines += ["", f"The training rows do not have: {missing}. Each of these texts counts as a mistake."]
    if isinstance(problem, SingleLabel):
        if len(names) <= MAX_CONFUSION:
            counts = confusion_matrix(correct, predicted, labels=range(len(names))).astype(str)
            table = markdown_table(["", *names], [[name, *row] for name, row in zip(names, counts, strict=True)])
            lines += ["", "Rows: the correct label. Columns: the predicted one.", "", table]
        lines += _surest_mistakes(wide, examples, logits, predicted, correct)
    return "\n".join([*lines, ""])


def _with_unknown_labels(problem: Problem, logits: Array, labels: Sequence[Any]) -> tuple[Problem, Array]:
    """Returns the problem with the labels that it lacks, and the logits with columns for them: never the largest."""
    unknown = problem.unknown_labels(labels)
    if not unknown:
        return problem, logits
    wide = type(problem)([*problem.labels, *unknown], problem.metrics, problem.best_metric, problem.threshold)
    columns = np.full((len(logits), len(unknown)), min(logits.min(), 0) + ABSENT)
    return wide, np.concatenate([logits, columns], axis=1)


def _surest_mistakes(
    problem: Problem, examples: Examples, logits: Array, predicted: Array, correct: Array
) -> list[str]:
    sureness = np.where(predicted == correct, -1.0, softmax(logits).max(1))
    rows = [row for row in np.argsort(-sureness, kind="stable")[:MAX_MISTAKES] if sureness[row] >= 0]
    if not rows:
        return []
    lines = ["", "The surest mistakes:", "", "| probability | predicted | correct | text |", "|--:|---|---|---|"]
    for row in rows:
        text = " / ".join(part[row] for part in (examples.texts, examples.pairs) if part)
        names = f"{_cell(problem.labels[predicted[row]])} | {_cell(problem.labels[correct[row]])}"
        lines.append(f"| {100 * sureness[row]:.1f} | {names} | {_cell(text[:MAX_QUOTE])} |")
    return lines


def _cell(text: str) -> str:
    """Returns a text as a cell of a table: one line, without the table's own sign."""
    return " ".join(text.split()).replace("|", "\\|")
