"""The convex problem of the first head: a linear model of a text's vector and words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import csr_matrix, diags
from threadpoolctl import ThreadpoolController

from vocabless.training.finetuning.head.frozen_features import Features, relevance
from vocabless.training.finetuning.tasks.data import Rows
from vocabless.training.finetuning.tasks.logits import Vectors
from vocabless.training.finetuning.tasks.problems import Array, Problem

MAX_KERNEL_ROWS = 2500  # up to so many rows, a model of wide features is fitted to the kernel of the rows
COPIES = 1e-10  # added to the kernel's diagonal, times its mean: copies of a text would make it singular


@dataclass(frozen=True)
class Settings:
    """What cross-validation chooses of a head."""

    strength: float
    wide_weight: float = 0.0
    temperature: float = 1.0  # by which the logits are divided, so that probabilities are right on held-out rows


@dataclass(frozen=True)
class FirstHead:
    """A linear model of scaled vectors, and of wide features."""

    weight: Vectors  # (outputs, D)
    bias: Vectors  # (outputs,)
    mean: Vectors  # (D,), of the vectors
    deviation: Vectors  # (D,), what they are divided by, see `LinearProblem`
    wide: Vectors | None = None  # (rows, outputs)

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


@dataclass(frozen=True)
class LabelledFeatures:
    """What a head reads of n texts, and the targets of a problem."""

    problem: Problem
    features: Features
    targets: Sequence[Any]  # (n,)

    def select(self, rows: Rows) -> "LabelledFeatures":
        """Returns those of some of the texts."""
        return replace(self, features=self.features.select(rows), targets=[self.targets[row] for row in rows])

    def fit(self, settings: Settings) -> FirstHead:
        """Returns the model that fits all texts."""
        with one_blas_thread():
            (head,) = LinearProblem(self).heads(settings.wide_weight, [settings.strength])
        return head.divided_by(settings.temperature)


class LinearProblem:
    """The convex problem of a head; `heads` solves it with a weight of its wide part, a power of 2, and any strengths.

    Vectors are standardised. Sentence vectors are divided by one number for all directions: where they differ little,
    the teacher meant it so. Both have the mean square length √D then. Each row of the wide features is multiplied by
    its `relevance`, and all of them so that a text has this length times the weight. For few rows the problem is solved
    in the rows of L, of the kernel K = L·Lᵀ of all features: it has the same solution, and fewer unknowns.
    """

    def __init__(self, labelled: LabelledFeatures) -> None:
        self._labelled, vectors = labelled, labelled.features.vectors
        self._uses_kernel = len(vectors) <= MAX_KERNEL_ROWS
        variance = vectors.var(0, dtype=np.float64)
        deviation = np.sqrt(np.full_like(variance, variance.mean()) if labelled.features.are_taught else variance)
        self._mean, self._deviation = vectors.mean(0, dtype=np.float64), np.where(deviation > 0, deviation, 1.0)

    def heads(self, wide_weight: float, strengths: Sequence[float]) -> Iterator[FirstHead]:
        """Yields the model of all features with each of the strengths."""
        problem, features, targets = self._labelled.problem, self._labelled.features, self._labelled.targets
        scales = self._scales * wide_weight if wide_weight and features.wide is not None else None
        deep: Any = None
        if scales is not None and not self._uses_kernel:
            inputs = _joined(features, self._mean, self._deviation, scales)
        else:
            inputs = deep = (features.vectors - self._mean) / self._deviation
            if scales is not None:
                inputs = self._kernel_rows(deep, wide_weight)
        for strength in strengths:
            weight, bias = problem.fit_linear(inputs, targets, strength, features.weights)
            wide: Any = None
            if scales is not None and self._uses_kernel:
                of_rows = solve_triangular(inputs, weight.T, trans="T", lower=True)
                weight, wide = of_rows.T @ deep, self._wide_kernel[0].T @ of_rows * wide_weight
            elif scales is not None:
                weight, wide = weight[:, : len(self._mean)], weight[:, len(self._mean) :].T
            wide = None if scales is None else wide * scales[:, None]
            yield FirstHead(weight, bias, self._mean, self._deviation, wide)

    @cached_property
    def _scales(self) -> Array:
        """What the wide features are multiplied by for the weight 1, (rows,) float32."""
        features, problem = self._labelled.features, self._labelled.problem
        assert features.wide is not None
        relevant = relevance(features, problem.memberships(self._labelled.targets))
        length = np.sqrt((features.wide.power(2) @ relevant**2).mean()) or 1.0
        scales: Array = (relevant * (features.vectors.shape[1] ** 0.5 / length)).astype(np.float32)
        return scales

    @cached_property
    def _wide_kernel(self) -> tuple[Any, Vectors]:
        """The wide features for the weight 1, (n, rows), and their kernel, (n, n); other weights scale them exactly."""
        wide = (self._labelled.features.wide @ diags(self._scales)).astype(np.float64)  # for a kernel that has a factor
        return wide, (wide @ wide.T).toarray()

    def _kernel_rows(self, deep: Vectors, wide_weight: float) -> Vectors:
        """Returns the rows of L, (n, n)."""
        kernel = deep @ deep.T + self._wide_kernel[1] * wide_weight**2
        kernel.flat[:: len(kernel) + 1] += COPIES * max(kernel.trace() / len(kernel), 1)
        return np.asarray(np.linalg.cholesky(kernel), np.float64)


def one_blas_thread() -> Any:
    """Returns a context in which BLAS has one thread, for fits of heads.

    For thousands of small products, two threads took three times as long on two idle cores.
    """
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    """Returns what limits the threads of BLAS; finding its libraries takes 3 ms, as long as a fit to few rows."""
    return ThreadpoolController()


def _joined(features: Features, mean: Vectors, deviation: Vectors, scales: Array) -> csr_matrix:
    """Returns the standardised vectors and the scaled wide features as columns, without a copy of either.

    They are float64, since scikit-learn would convert others in each step.
    """
    wide, (rows, size) = features.wide, features.vectors.shape
    assert wide is not None
    starts = wide.indptr + size * np.arange(rows + 1)
    numbers, columns = np.empty(starts[-1]), np.empty(starts[-1], np.int32)
    for row, (start, end) in enumerate(pairwise(starts.tolist())):
        of_wide = slice(wide.indptr[row], wide.indptr[row + 1])
        numbers[start : start + size] = (features.vectors[row] - mean) / deviation
        columns[start : start + size] = np.arange(size)
        numbers[start + size : end] = wide.data[of_wide] * scales[wide.indices[of_wide]]
        columns[start + size : end] = wide.indices[of_wide] + size
    return csr_matrix((numbers, columns, starts), (rows, size + wide.shape[1]))
