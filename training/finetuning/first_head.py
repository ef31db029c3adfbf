"""The first head: a linear model of what the head reads from the frozen encoder, written into the head's weights.

Linear probing, then fine-tuning (Kumar et al., ICLR 2022): with random weights of the head, the first steps of
fine-tuning change states of the encoder that the labels could use as they are. The linear model takes seconds. A head
of one text also has a wide part, see `WideLayer`: both are one convex problem.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import isqrt
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix, diags, hstack
from scipy.special import rel_entr
from threadpoolctl import ThreadpoolController
from transformers import PreTrainedModel
from transformers.utils import logging

from vocabless.modeling.head_layers import PooledHead
from vocabless.modeling.wide_layer import WideLayer
from vocabless.training.finetuning.data import EncodedRows, Rows, TaskData, sample_rows
from vocabless.training.finetuning.frozen_features import Features, Vectors, read_features
from vocabless.training.finetuning.held_out import are_sentences_harmless, folds_of, is_wide_part_better, training_folds
from vocabless.training.finetuning.problems import Array, Problem, SingleLabel
from vocabless.training.finetuning.text_logits import TextLogits, sentence_rows

STRENGTHS = (0.003, 0.03, 0.3, 3.0)  # inverse regularisation, for standardised numbers
WIDE_WEIGHTS = (1.0, 2.0, 4.0)  # lengths of the wide features, as multiples of that of the standardised vector
SMALL = 0.3  # share of a standardised number that the head's tanh reads, where it is nearly linear
MAX_NUMBERS = 1 << 26  # of the vectors of all rows, 0.5 GiB; of more rows, a part is drawn
MAX_CHOICE_ROWS = 2000  # of the training rows, on which strength and weight are chosen
MAX_CHOICE_CELLS = 400_000  # rows times labels; beyond, they are chosen on one fold alone
MAX_KERNEL_ROWS = 2500  # up to so many rows, a model of wide features is fitted to the kernel of the rows
MAX_WIDE_ROWS, MIN_WIDE_ROWS = 1 << 15, 1 << 10  # of a wide part; with so many labels that fewer fit, there is none
MAX_WIDE_BYTES = 1_400_000  # of its rows in 8 bits
SILENT_SECONDS = 2  # of fits, after which they show a bar
FACTOR_BYTES = 4  # of each of these rows


@dataclass(frozen=True)
class Settings:
    """What cross-validation chooses of a head."""

    strength: float
    wide_weight: float = 0.0
    temperature: float = 1.0  # by which the logits are divided, so that probabilities are right on held-out rows


@dataclass(frozen=True)
class FirstHead:
    """A linear model of standardised vectors, and of wide features."""

    weight: Vectors  # (outputs, D)
    bias: Vectors  # (outputs,)
    mean: Vectors  # (D,), of the vectors
    deviation: Vectors  # (D,), their standard deviation; 1 where it is 0
    wide: Vectors | None = None  # (rows, outputs)

    @classmethod
    def fit(cls, problem: Problem, features: Features, targets: Sequence[Any], settings: Settings) -> "FirstHead":
        """Returns the model of the features of n rows and their targets."""
        head = LinearProblem(problem, features, targets, settings.wide_weight).solve(settings.strength)
        return head.divided_by(settings.temperature)

    def divided_by(self, temperature: float) -> "FirstHead":
        """Returns the model whose logits are those of this one, divided by the temperature."""
        wide = None if self.wide is None else self.wide / temperature
        return replace(self, weight=self.weight / temperature, bias=self.bias / temperature, wide=wide)

    def logits(self, features: Features) -> Vectors:
        """Returns the logits (n, outputs) of the features of n rows."""
        logits: Vectors = ((features.vectors - self.mean) / self.deviation) @ self.weight.T + self.bias
        if self.wide is not None and features.wide is not None:
            logits += features.wide @ self.wide
        return logits

    @torch.no_grad()
    def write_into(self, model: Any) -> None:
        """Sets the weights of a model's head, so that its logits are those of this model up to the curvature of tanh.

        Where the head reads as many numbers as it has units, its first layer standardises them and makes them small.
        Where it reads more (`siamese`), its first units become the logits, made small.

        Raises:
            ValueError: the head has fewer units than outputs.
        """
        head: PooledHead = model.classifier
        units, size = head.dense.weight.shape
        outputs = len(self.bias)
        if units == size:
            first, last = np.diag(SMALL / self.deviation), self.weight / SMALL
        elif outputs <= units:
            first, last = self.weight * (SMALL / self.deviation), np.eye(outputs) / SMALL
        else:
            raise ValueError(f"a head with {units} units has no place for {outputs} outputs; fine-tune without it.")
        used = len(first)
        head.dense.weight[:used] = torch.from_numpy(first).to(head.dense.weight)
        head.dense.bias[:used] = torch.from_numpy(-first @ self.mean).to(head.dense.bias)
        head.out_proj.weight.zero_()
        head.out_proj.weight[:, :used] = torch.from_numpy(last).to(head.out_proj.weight)
        head.out_proj.bias.copy_(torch.from_numpy(self.bias))
        rows = 0 if self.wide is None else len(self.wide)
        model.config.classifier_wide_rows, head.wide = rows, None
        if self.wide is not None:
            head.wide = WideLayer(model.config, rows, outputs).to(head.dense.weight.device)
            head.wide.weight.copy_(torch.from_numpy(self.wide))


class LinearProblem:
    """The convex problem of a head with one weight of its wide part; `solve` fits it with any strength.

    Each row of the wide features is multiplied by its `relevance`, and all of them so that a text has the length of a
    standardised vector, √D, times the weight. For few rows the problem is solved in the rows of U·√Λ, of the kernel K =
    UΛUᵀ of all features: it has the same solution, and fewer unknowns.

    BLAS has one thread: for thousands of small products, two took three times as long on two idle cores.
    """

    def __init__(self, problem: Problem, features: Features, targets: Sequence[Any], wide_weight: float) -> None:
        self._problem, self._targets, self._weights, vectors = problem, targets, features.weights, features.vectors
        deviation = vectors.std(0)
        self._mean, self._deviation = vectors.mean(0), np.where(deviation > 0, deviation, 1.0)
        self._deep = (vectors - self._mean) / self._deviation
        self._inputs: Any = self._deep
        self._from_inputs: Vectors | None = None  # (n, r), maps weights of the kernel's inputs to those of the rows
        self._wide: Any = None  # (n, rows), with their scales
        if not wide_weight or features.wide is None:
            return
        relevant = relevance(features, problem.memberships(targets))
        length = np.sqrt((features.wide.multiply(features.wide) @ relevant**2).mean()) or 1.0
        self._scales = (relevant * (wide_weight * vectors.shape[1] ** 0.5 / length)).astype(np.float32)  # (rows,)
        self._wide = features.wide @ diags(self._scales)
        if len(vectors) > MAX_KERNEL_ROWS:
            self._inputs = hstack([_sparse(self._deep), self._wide], format="csr")
            return
        kernel = (self._wide @ self._wide.T).toarray()
        with _blas().limit(limits=1, user_api="blas"):
            values, axes = np.linalg.eigh(self._deep @ self._deep.T + kernel)
        kept = values > values[-1] * 1e-10
        roots = np.sqrt(values[kept])
        self._inputs, self._from_inputs = axes[:, kept] * roots, axes[:, kept] / roots

    def solve(self, strength: float) -> FirstHead:
        """Returns the model of all features with this strength."""
        with _blas().limit(limits=1, user_api="blas"):
            weight, bias = self._problem.fit_linear(self._inputs, self._targets, strength, self._weights)
        wide: Array | None = None
        if self._wide is not None:
            size = len(self._mean)
            if self._from_inputs is None:
                weight, wide = weight[:, :size], weight[:, size:].T
            else:
                of_rows = self._from_inputs @ weight.T
                weight, wide = of_rows.T @ self._deep, self._wide.T @ of_rows
            wide = wide * self._scales[:, None]
        return FirstHead(weight, bias, self._mean, self._deviation, wide)


def relevance(features: Features, memberships: Vectors | None) -> Vectors:
    """Returns how much each row of the wide features of n texts says about their classes, (rows,) from 0 up.

    It is the root of a Kullback-Leibler divergence: of the classes of the texts that have the row, and of one text more
    that is divided among the classes as all texts are, from the classes of all texts. Without classes, it is 1.
    Source: Debole and Sebastiani, *Supervised term weighting for automated text categorization*, SAC 2003; differs: a
    divergence takes the place of their measures.

    Args:
        features: of the texts.
        memberships: (n, classes), the classes of each text, see `Problem.memberships`.
    """
    assert features.wide is not None
    if memberships is None:
        return np.ones(features.wide.shape[1])
    counts = features.shares(np.arange(len(memberships)))
    has_row = (features.wide > 0).astype(np.float64).T @ diags(counts)
    shares = counts @ memberships / len(counts)
    of_row = (has_row @ memberships + shares) / (has_row @ np.ones((len(counts), 1)) + 1)
    result: Vectors = np.sqrt(np.maximum(rel_entr(of_row, shares).sum(axis=1), 0))
    return result


@cache
def _blas() -> ThreadpoolController:
    """Returns what limits the threads of BLAS; finding its libraries takes 3 ms, as long as a fit to few rows."""
    return ThreadpoolController()


def _sparse(matrix: Vectors) -> csr_matrix:
    """Returns a matrix as float32 of a sparse format, without the coordinates that scipy would make first."""
    rows, size = matrix.shape
    columns = np.tile(np.arange(size, dtype=np.int32), rows)
    return csr_matrix((matrix.astype(np.float32).ravel(), columns, np.arange(0, rows * size + 1, size)), matrix.shape)


def has_linear_head(model: PreTrainedModel, problem: Problem) -> bool:
    """Returns whether a model has a head that `FirstHead` can write: one vector for each text, and enough units."""
    head = getattr(model, "classifier", None)
    return isinstance(head, PooledHead) and (
        head.dense.in_features == head.dense.out_features or problem.config["num_labels"] <= head.dense.out_features
    )


def wide_rows(num_labels: int) -> int:
    """Returns the rows of a wide part for so many labels, the largest prime that is small enough; 0 is none.

    Modulo a prime, products of hashes are spread as evenly as the hashes.

    >>> wide_rows(4), wide_rows(77), wide_rows(10_000)
    (32749, 17257, 0)
    """
    most = min(MAX_WIDE_BYTES // (num_labels + FACTOR_BYTES), MAX_WIDE_ROWS)
    if most < MIN_WIDE_ROWS:
        return 0
    return next(rows for rows in range(most, 1, -1) if all(rows % factor for factor in range(2, isqrt(rows) + 1)))


class FrozenEncoder:
    """What the head of a model that `has_linear_head` reads of the training rows, and the heads that fit them.

    Attributes:
        settings: those that suit the rows, see `choose`.
        held_out: logits of each row by a head that was fitted outside its fold; only of the rows on which the settings
            were chosen, `scored`, if validation rows are apart. Those of sentences are there if the model reads them.
        reads_sentences: whether the model shall read the sentences of texts, too, see `are_sentences_harmless`.
        seconds: in which the encoder read the rows.
    """

    def __init__(self, model: Any, rows: EncodedRows, collator: Any, data: TaskData) -> None:
        rows = [rows[row] for row in sample_rows(len(rows), MAX_NUMBERS // model.classifier.dense.in_features)]
        self.problem, self.targets = data.problem, [row["label"] for row in rows]
        has_wide = data.train.pairs is None
        num_rows = wide_rows(self.problem.config["num_labels"]) if has_wide else 0
        self._read = partial(read_features, model, collator=collator, wide_rows=num_rows)
        started = time.monotonic()
        self.features = self._read(rows)
        self.seconds = time.monotonic() - started
        folds = training_folds(data) if data.is_cross_validated else folds_of(self.problem.strata(self.targets))
        chosen = sample_rows(len(rows), MAX_CHOICE_ROWS)
        options = self.problem, self.features, self.targets
        chosen_folds = [np.intersect1d(fold, chosen) for fold in folds]
        self.settings, logits = choose(*options, chosen_folds)
        self.scored: Rows = np.flatnonzero(np.isfinite(logits[:, 0]))
        may_read = has_wide and isinstance(self.problem, SingleLabel) and model.base_model.front_end.reads_letters
        self.held_out = self._with_sentences(logits, rows, chosen_folds if may_read else [])
        self.reads_sentences = may_read and are_sentences_harmless(self._sentence_gains(self.scored))
        if data.is_cross_validated and len(self.scored) < len(rows):
            logits = held_out_logits(*options, folds, self.settings)
            self.held_out = self._with_sentences(logits, rows, folds if self.reads_sentences else [])
        elif not self.reads_sentences:
            self.held_out = self._with_sentences(logits, rows, [])

    def _with_sentences(self, logits: Vectors, rows: EncodedRows, folds: Sequence[Rows]) -> TextLogits:
        """Returns logits of the rows with those of their sentences, each by a head that was fitted outside its fold."""
        sentences, places = [logits[:0]], [np.empty(0, np.int64)]
        for held_out in folds:
            of_fold, found = sentence_rows(rows, held_out[np.isfinite(logits[held_out, 0])])
            if found:
                head = self.head(np.setdiff1d(np.concatenate(folds), held_out))
                sentences.append(head.logits(self._read(found)))
                places.append(of_fold)
        return TextLogits(logits, np.concatenate(sentences), np.concatenate(places))

    def _sentence_gains(self, chosen: Rows) -> Vectors:
        """Returns what scored rows gain by their sentences: 1 if one becomes right, −1 if it was right, else 0."""
        targets = np.asarray(self.targets)[chosen]
        joined, whole = (logits[chosen].argmax(axis=-1) for logits in (self.held_out.joined(), self.held_out.texts))
        return np.asarray((joined == targets).astype(np.float64) - (whole == targets))

    def head(self, rows: Rows | None = None) -> FirstHead:
        """Returns the head that is fitted to some of the training rows; None is all."""
        if rows is None:
            return FirstHead.fit(self.problem, self.features, self.targets, self.settings)
        targets = [self.targets[row] for row in rows]
        return FirstHead.fit(self.problem, self.features.select(rows), targets, self.settings)


def choose(
    problem: Problem, features: Features, targets: Sequence[Any], folds: Sequence[Rows]
) -> tuple[Settings, Vectors]:
    """Returns the settings with the smallest loss on the rows of the folds, and their held-out logits.

    With so many rows and labels that a fit takes seconds, they are chosen on the first fold; other logits are NaN.

    Each setting has the temperature that makes its own loss smallest: weak regularisation gives logits that are too
    large, and is often right nevertheless. There is a wide part only if `is_wide_part_better`.
    """
    num_scored = 1 if sum(map(len, folds)) * problem.config["num_labels"] > MAX_CHOICE_CELLS else len(folds)
    rows = np.concatenate(folds[:num_scored])
    weights = torch.from_numpy(features.shares(rows))
    references = torch.from_numpy(np.asarray([targets[row] for row in rows]))

    def best_with(wide_weights: Sequence[float]) -> tuple[Settings, Vectors, Vectors]:
        """Returns the best settings with one of the weights, their logits, and the losses of the rows."""
        best: tuple[Settings, Vectors, Vectors] | None = None
        options = problem, features, targets, folds, num_scored
        for wide_weight in wide_weights:
            for strength, logits in _held_out(*options, wide_weight, STRENGTHS).items():
                of_rows = torch.from_numpy(logits[rows])
                temperature = problem.temperature(of_rows, references, weights)
                losses = (problem.losses(of_rows / temperature, references) * weights).numpy()
                if best is None or losses.mean() < best[2].mean():
                    best = Settings(strength, wide_weight, temperature), logits / temperature, losses
        assert best is not None
        return best

    settings, logits, losses = best_with([0.0])
    if features.wide is not None:
        wide_settings, wide_logits, wide_losses = best_with(WIDE_WEIGHTS)
        if is_wide_part_better(losses, wide_losses):
            return wide_settings, wide_logits
    return settings, logits


def held_out_logits(
    problem: Problem, features: Features, targets: Sequence[Any], folds: Sequence[Rows], settings: Settings
) -> Vectors:
    """Returns the logits (n, outputs) of the rows in folds, by heads that were fitted outside their fold.

    The logits of rows of no fold are NaN, and no head is fitted to them.
    """
    logits = _held_out(problem, features, targets, folds, len(folds), settings.wide_weight, [settings.strength])
    return logits[settings.strength] / settings.temperature


def _held_out(
    problem: Problem,
    features: Features,
    targets: Sequence[Any],
    folds: Sequence[Rows],
    num_scored: int,
    wide_weight: float,
    strengths: Sequence[float],
) -> dict[float, Vectors]:
    """Returns strength → the logits of `held_out_logits`, of the first folds, with the temperature 1."""
    rows, outputs = np.concatenate(folds), problem.config["num_labels"]
    logits = {strength: np.full((len(targets), outputs), np.nan) for strength in strengths}
    parts = [fold for fold in folds[:num_scored] if len(fold)]  # of a few groups of copies, some folds have none
    with logging.tqdm(total=len(parts) * len(strengths), desc="Head", delay=SILENT_SECONDS, leave=False) as bar:
        for held_out in parts:
            rest = np.setdiff1d(rows, held_out)
            linear = LinearProblem(problem, features.select(rest), [targets[row] for row in rest], wide_weight)
            scored = features.select(held_out)
            for strength, of_rows in logits.items():
                of_rows[held_out] = linear.solve(strength).logits(scored)
                bar.update()
    return logits
