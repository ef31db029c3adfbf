"""What a trained encoder knows of a task before fine-tuning: its first head and the head's scores."""
# mypy: allow-untyped-calls

import time
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_matrix

from vocabless.modeling.hash_embedding_front_end import HashEmbedding
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.first_head import (
    FirstHead,
    Vectors,
    cross_validate_head,
    fits,
    head_inputs,
    mean_loss,
)
from vocabless.training.finetuning.load_model import LoadedModel
from vocabless.training.finetuning.metrics import interval
from vocabless.training.finetuning.ngram_scores import SHARES, NgramScores, can_score, held_out_scores, ngram_features
from vocabless.training.finetuning.task_files import Examples
from vocabless.training.finetuning.tasks import Rows, Task, folds_of

MAX_ROWS = 20_000  # of the training rows; more hardly change a linear model


@dataclass
class Probe:
    """The first head of a task.

    Attributes:
        task: whose training rows are read.
        vectors: (n, D), what the head reads of the training rows.
        targets: of these rows.
        seconds: that the encoder takes for a row.
        strength: of the regularisation.
        scores: of the head alone, on the validation rows or cross-validated.
        share: of the scores of n-grams beside the head alone.
        ngrams: (n, rows of the table), `ngram_features` of the training rows; None if the model gets no such scores.
        ngram_scores: (n, outputs), those of each row when held out.
    """

    task: Task
    vectors: Vectors
    targets: list[Any]
    seconds: float
    strength: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)
    share: float = 0.0
    ngrams: csr_matrix | None = None
    ngram_scores: Vectors | None = None

    def head(self, rows: Any = slice(None)) -> FirstHead:
        """Returns the head that is fitted to some of the training rows."""
        targets = [self.targets[row] for row in np.arange(len(self.targets))[rows]]
        return FirstHead.fit(self.task.problem, self.vectors[rows], targets, self.strength)

    def fit_ngrams(self, share: float) -> NgramScores | None:
        """Returns the scores of n-grams, fitted to all training rows, times their share."""
        if self.ngrams is None or not share:
            return None
        return NgramScores.fit(self.task.problem, self.ngrams, self.targets, share)

    def add_ngrams(self, logits: Vectors, rows: Rows) -> tuple[float, Vectors]:
        """Returns the share of the n-grams with the smallest loss beside logits of held-out rows, and their sum.

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
        problem, targets = self.task.problem, [self.targets[row] for row in rows]
        sums = {share: logits[rows] + share * self.ngram_scores[rows] for share in SHARES}
        best = min(SHARES, key=lambda share: mean_loss(problem, sums[share], targets))
        before, after = (problem.score(sums[share], targets)[problem.best_metric] for share in (SHARES[0], best))
        low, high = interval(problem.best_metric, before, len(rows))
        best = best if after > before + (high - low) / 8 else SHARES[0]
        return best, sums[best]


def can_probe(loaded: LoadedModel, task: Task) -> bool:
    """Returns whether a model has a trained encoder, no head for the task, and room for one."""
    return loaded.lacks_head and fits(loaded.model, task.problem)


def probe(task: Task, loaded: LoadedModel, max_seq_length: int) -> Probe:
    """Returns the first head of a task.

    Args:
        task: at most `MAX_ROWS` of its training rows are read.
        loaded: see `can_probe`.
        max_seq_length: longer texts are truncated, tokens.
    """
    problem, model = task.problem, loaded.model

    def encode(examples: Examples) -> EncodedExamples:
        return EncodedExamples(examples, problem, loaded.tokenizer, max_seq_length)

    def read(encoded: EncodedExamples) -> Vectors:
        return head_inputs(model, encoded, problem.collator(loaded.tokenizer))

    start = time.perf_counter()
    train = task.train.sample(MAX_ROWS)
    encoded, targets = encode(train), task.targets(train)
    vectors = read(encoded)
    found = Probe(task, vectors, targets, seconds=(time.perf_counter() - start) / len(vectors))
    folds = task.folds() if task.is_cross_validated else folds_of(problem.strata(targets))
    found.strength, logits = cross_validate_head(problem, vectors, targets, folds)
    if task.is_cross_validated:
        if can_score(model, problem, train.pairs is not None):
            found.ngrams = ngram_features(cast(HashEmbedding, model.get_input_embeddings()), encoded)
            found.ngram_scores = held_out_scores(problem, found.ngrams, targets, folds)
        rows = task.scored_rows()
        found.share, logits = found.add_ngrams(logits, rows)
        found.scores = problem.score(logits, [targets[row] for row in rows])
        return found
    head = found.head()
    for suffix, examples in task.validation.items():
        scores = problem.score(head.logits(read(encode(examples))), task.targets(examples))
        found.scores |= {f"{name}{suffix}": value for name, value in scores.items()}
    return found
