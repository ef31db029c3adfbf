"""What a fine-tuned model gives on test rows: predictions, and the scores of each label."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import classification_report
from transformers import PreTrainedTokenizerBase

from vocabless.training.finetuning.problems import ABSENT, Array, Problem
from vocabless.training.finetuning.task_files import EncodedExamples, Examples
from vocabless.training.finetuning.tasks import Task
from vocabless.training.trainer import ResumableTrainer


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
            if labels is not None and problem.labels:
                (folder / f"test{suffix}.md").write_text(label_table(problem, logits, labels), encoding="utf-8")
    return scores


def score_labels(problem: Problem, logits: Array, labels: Sequence[Any]) -> dict[str, float]:
    """Returns `loss` and the metrics; a label that the training rows lack is a mistake."""
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
