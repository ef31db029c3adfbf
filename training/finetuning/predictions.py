"""Predictions of a fine-tuned model on the test splits, and where they are wrong if the splits have labels."""
# mypy: allow-untyped-calls

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase
from transformers.trainer_utils import PredictionOutput

from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.mistakes import describe_mistakes, draw_confusion, score_labels
from vocabless.training.finetuning.problems import MultiLabel, SingleLabel
from vocabless.training.finetuning.tasks import Examples, Task
from vocabless.training.trainer import ResumableTrainer


def write_predictions(
    trainer: ResumableTrainer, task: Task, tokenizer: PreTrainedTokenizerBase, max_seq_length: int, folder: Path
) -> dict[str, float]:
    """Writes `predictions<suffix>.jsonl` for each test split, and `test<suffix>.md` if it has labels.

    Args:
        trainer: holds the fine-tuned model.
        task: its test splits are predicted.
        tokenizer: of the model.
        max_seq_length: longer texts are truncated, tokens.
        folder: output folder of the run.

    Returns:
        The metrics of the splits that have labels; their names begin with `test_`.
    """
    metrics: dict[str, float] = {}
    for suffix, examples in task.test.items():
        problem = task.problem
        read = examples if problem.per_word else Examples(examples.texts, examples.pairs)
        encoded = EncodedExamples(read, problem, tokenizer, max_seq_length)
        output = _predict(trainer, encoded)
        logits, targets = np.asarray(output.predictions), np.asarray(output.label_ids)
        scores: dict[str, float] = {}
        if problem.per_word and examples.labels is not None:
            scores = dict(output.metrics or {})
        elif examples.labels is not None:
            scores = {f"test_{name}": value for name, value in score_labels(problem, logits, examples.labels).items()}
        metrics |= {f"{name}{suffix}": value for name, value in scores.items()}
        if trainer.is_world_process_zero():
            records = problem.prediction_records(logits, targets)
            if problem.per_word:
                records = _with_unscored_words(records, examples.texts, encoded.scored_words)
            lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
            (folder / f"predictions{suffix}.jsonl").write_text("".join(lines), encoding="utf-8")
            if examples.labels is not None and isinstance(problem, SingleLabel | MultiLabel):
                text = describe_mistakes(problem, examples, logits)
                (folder / f"test{suffix}.md").write_text(text, encoding="utf-8")
                if isinstance(problem, SingleLabel):
                    draw_confusion(problem, examples, logits, folder / f"confusion{suffix}.png")
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
