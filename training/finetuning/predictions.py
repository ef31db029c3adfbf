"""Predictions of a fine-tuned model on the test splits, one JSON record per example."""
# mypy: allow-untyped-calls

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from transformers.trainer_utils import PredictionOutput

from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.tasks import Task
from vocabless.training.trainer import ResumableTrainer


def write_predictions(
    trainer: ResumableTrainer, task: Task, tests: dict[str, EncodedExamples], folder: Path
) -> dict[str, float]:
    """Writes `predictions<suffix>.jsonl` for each test split.

    Args:
        trainer: holds the fine-tuned model.
        task: its test splits are predicted.
        tests: suffix → encoded test split.
        folder: output folder of the run.

    Returns:
        The metrics of the splits that have labels; their names begin with `test_`.
    """
    metrics: dict[str, float] = {}
    for suffix, encoded in tests.items():
        examples = task.test[suffix]
        output = _predict(trainer, encoded)
        if examples.labels is not None:
            metrics |= {f"{name}{suffix}": value for name, value in (output.metrics or {}).items()}
        if trainer.is_world_process_zero():
            logits, targets = np.asarray(output.predictions), np.asarray(output.label_ids)
            records = task.problem.prediction_records(logits, targets)
            if task.problem.per_word:
                records = _with_unscored_words(records, examples.texts, encoded.scored_words)
            lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
            (folder / f"predictions{suffix}.jsonl").write_text("".join(lines), encoding="utf-8")
    return metrics


def _predict(trainer: ResumableTrainer, encoded: EncodedExamples) -> PredictionOutput:
    """Returns the predictions in the order of the examples: `group_by_length` would sort them by length."""
    strategy = trainer.args.train_sampling_strategy
    trainer.args.train_sampling_strategy = "random"
    output = trainer.predict(encoded, metric_key_prefix="test")
    trainer.args.train_sampling_strategy = strategy
    return output


def _with_unscored_words(
    records: Iterable[dict[str, Any]], texts: list[list[str]], scored_words: list[list[int]]
) -> Iterable[dict[str, Any]]:
    """Yields records with one value for each word of the text; None for a word that has no token in the sequence."""
    for record, words, scored in zip(records, texts, scored_words, strict=True):
        by_word = {name: dict(zip(scored, values, strict=True)) for name, values in record.items()}
        yield {name: [values.get(word) for word in range(len(words))] for name, values in by_word.items()}
