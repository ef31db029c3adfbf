"""Predictions of test rows, and scores where they have labels, also of each label; some may not be in training rows."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import classification_report
from transformers import DataCollatorWithPadding

from vocabless.saving.record import TEST
from vocabless.training.finetuning.tasks.data import Examples, encode
from vocabless.training.finetuning.tasks.logits import logits_of
from vocabless.training.finetuning.tasks.metrics import Scores
from vocabless.training.finetuning.tasks.problems import ABSENT, Array, Problem


def predict_splits(
    model: Any, tokenizer: Any, length: int, problem: Problem, test: Mapping[str, Examples], folder: Path | None
) -> Scores:
    """Returns the scores of the test splits, suffix → rows, that have labels; their names begin with `test_`.

    A folder gets `predictions<suffix>.jsonl` for each split and, if it has labels, `test<suffix>.md`. A model that
    turns texts away has a last label for them, which the predictions name; the scores are those of the other labels.
    """
    scores: Scores = {}
    for suffix, examples in test.items():
        rows = encode(Examples(examples.texts, examples.pairs), problem, tokenizer, length)
        outputs, labels = logits_of(model, rows, DataCollatorWithPadding(tokenizer)), examples.labels
        count = problem.config["num_labels"]
        logits, others = outputs[:, :count], [model.config.id2label[label] for label in range(count, outputs.shape[1])]
        if labels is not None:
            of_split = score_labels(problem, logits, labels)
            scores |= {f"{TEST}{name}{suffix}": value for name, value in of_split.items()}
        if folder is not None:
            records = _with_labels(problem, others).prediction_records(outputs)
            lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
            (folder / f"predictions{suffix}.jsonl").write_text("".join(lines), encoding="utf-8")
            if labels is not None and problem.labels:
                (folder / f"test{suffix}.md").write_text(label_table(problem, logits, labels), "utf-8")
    return scores


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
    columns = np.full((len(logits), len(unknown)), min(logits.min(), 0) + ABSENT)
    return _with_labels(problem, unknown), np.concatenate([logits, columns], axis=1)


def _with_labels(problem: Problem, names: Sequence[str]) -> Problem:
    """Returns the problem with more labels."""
    if not names:
        return problem
    return type(problem)([*problem.labels, *names], problem.metrics, problem.best_metric, problem.threshold)
