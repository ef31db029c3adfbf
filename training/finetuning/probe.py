"""What a trained encoder knows of a task before fine-tuning: its first head and the head's scores."""
# mypy: allow-untyped-calls

import time
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_matrix

from vocabless.modeling.hash_embedding_front_end import HashEmbedding
from vocabless.training.finetuning.base_problem import Problem
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.first_head import (
    FirstHead,
    Vectors,
    cross_validate_head,
    fits,
    head_inputs,
    mean_loss,
)
from vocabless.training.finetuning.intervals import interval
from vocabless.training.finetuning.load_model import LoadedModel
from vocabless.training.finetuning.ngram_scores import SHARES, NgramScores, can_score, held_out_scores, ngram_features
from vocabless.training.finetuning.splits import Rows, folds_of
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
        ngrams: (n, rows of the table), `ngram_features` of the training rows; None if the model gets no such scores.
        ngram_scores: (n, outputs), those of each row when held out.
        share: of these scores beside the head alone.
    """

    problem: Problem
    vectors: Vectors
    targets: list[Any]
    strength: float
    metrics: dict[str, float]
    seconds: float
    ngrams: csr_matrix | None = None
    ngram_scores: Vectors | None = None
    share: float = 0.0

    def head(self, rows: Any = slice(None)) -> FirstHead:
        """Returns the head that is fitted to some of the training rows."""
        targets = [self.targets[row] for row in np.arange(len(self.targets))[rows]]
        return FirstHead.fit(self.problem, self.vectors[rows], targets, self.strength)

    def scores(self, share: float) -> NgramScores | None:
        """Returns the scores of n-grams, fitted to all training rows, times their share."""
        if self.ngrams is None or not share:
            return None
        return NgramScores.fit(self.problem, self.ngrams, self.targets, share)

    def add_scores(self, logits: Vectors, rows: Rows) -> tuple[float, Vectors]:
        """Returns the share of the scores with the smallest loss beside logits of held-out rows, and their sum.

        The loss also falls if a sum is only surer. So a share is 0 unless the best metric rises by half a standard
        error: with few rows, such shares cost a point on average.

        Args:
            logits: (n, outputs), of which some rows count.
            rows: that count.

        Returns:
            One of `SHARES`, and (rows, outputs).
        """
        if self.ngram_scores is None:
            return 0.0, logits[rows]
        targets = [self.targets[row] for row in rows]
        sums = {share: logits[rows] + share * self.ngram_scores[rows] for share in SHARES}
        best = min(SHARES, key=lambda share: mean_loss(self.problem, sums[share], targets))
        metric = self.problem.best_metric
        before, after = (self.problem.score(sums[share], targets)[metric] for share in (SHARES[0], best))
        low, high = interval(metric, before, len(rows))
        best = best if after > before + (high - low) / 8 else SHARES[0]
        return best, sums[best]


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

    def read(examples: Examples) -> tuple[Vectors, list[Any], EncodedExamples]:
        encoded = EncodedExamples(examples, problem, loaded.tokenizer, max_seq_length)
        targets = [problem.target(label) for label in examples.labels or []]
        return head_inputs(loaded.model, encoded, collator), targets, encoded

    start = time.perf_counter()
    vectors, targets, encoded = read(task.train.sample(MAX_ROWS))
    seconds = (time.perf_counter() - start) / len(vectors)
    folds = task.folds() if task.is_cross_validated else folds_of(problem.strata(targets), FOLDS, SAMPLING_SEED)
    strength, logits = cross_validate_head(problem, vectors, targets, folds)
    found = Probe(problem, vectors, targets, strength, {}, seconds)
    if task.is_cross_validated:
        if can_score(loaded.model, problem, task.train.pairs is not None):
            ngrams = ngram_features(cast(HashEmbedding, loaded.model.get_input_embeddings()), encoded)
            scores = held_out_scores(problem, ngrams, targets, folds)
            found = replace(found, ngrams=ngrams, ngram_scores=scores)
        rows = task.scored_rows()
        share, logits = found.add_scores(logits, rows)
        return replace(found, share=share, metrics=problem.score(logits, [targets[row] for row in rows]))
    head = found.head()
    for suffix, examples in task.validation.items():
        values, references, _ = read(examples)
        measures = problem.score(head.logits(values), references)
        found.metrics.update({f"{name}{suffix}": value for name, value in measures.items()})
    return found
