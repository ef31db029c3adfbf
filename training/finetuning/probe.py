"""What a trained encoder knows of a task before fine-tuning: its first head and the head's scores."""
# mypy: allow-untyped-calls

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from vocabless.training.finetuning.base_problem import Problem
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.first_head import FirstHead, Vectors, cross_validate_head, fits, head_inputs
from vocabless.training.finetuning.load_model import LoadedModel
from vocabless.training.finetuning.splits import folds_of
from vocabless.training.finetuning.tasks import FOLDS, SAMPLING_SEED, Examples, Task

MAX_ROWS = 20_000  # of the training rows; more hardly change a linear model


@dataclass(frozen=True)
class Probe:
    """The first head of a task.

    Attributes:
        problem: of the task.
        vectors: (n, D), what the head reads of the training rows.
        targets: of these rows.
        strength: of the regularisation.
        metrics: scores of the head alone, on the validation rows or cross-validated.
        seconds: that the encoder takes for a row.
    """

    problem: Problem
    vectors: Vectors
    targets: list[Any]
    strength: float
    metrics: dict[str, float]
    seconds: float

    def head(self, rows: Any = slice(None)) -> FirstHead:
        """Returns the head that is fitted to some of the training rows."""
        targets = [self.targets[row] for row in np.arange(len(self.targets))[rows]]
        return FirstHead.fit(self.problem, self.vectors[rows], targets, self.strength)


def can_probe(loaded: LoadedModel, problem: Problem) -> bool:
    """Returns whether a model has a trained encoder, no head for the task, and room for one."""
    return loaded.lacks_head and fits(loaded.model, problem)


def probe(task: Task, loaded: LoadedModel, max_seq_length: int) -> Probe:
    """Returns the first head of a task.

    Args:
        task: at most `MAX_ROWS` of its training rows are read.
        loaded: see `can_probe`.
        max_seq_length: longer texts are truncated, tokens.
    """
    problem, collator = task.problem, task.problem.collator(loaded.tokenizer)

    def read(examples: Examples) -> tuple[Vectors, list[Any]]:
        encoded = EncodedExamples(examples, problem, loaded.tokenizer, max_seq_length)
        return head_inputs(loaded.model, encoded, collator), [problem.target(label) for label in examples.labels or []]

    start = time.perf_counter()
    vectors, targets = read(task.train.sample(MAX_ROWS))
    seconds = (time.perf_counter() - start) / len(vectors)
    folds = task.folds() if task.is_cross_validated else folds_of(problem.strata(targets), FOLDS, SAMPLING_SEED)
    strength, logits = cross_validate_head(problem, vectors, targets, folds)
    if task.is_cross_validated:
        rows = task.scored_rows()
        scores = problem.score(logits[rows], [targets[row] for row in rows])
        return Probe(problem, vectors, targets, strength, scores, seconds)
    metrics: dict[str, float] = {}
    head = FirstHead.fit(problem, vectors, targets, strength)
    for suffix, examples in task.validation.items():
        values, references = read(examples)
        scores = problem.score(head.logits(values), references)
        metrics |= {f"{name}{suffix}": value for name, value in scores.items()}
    return Probe(problem, vectors, targets, strength, metrics, seconds)
