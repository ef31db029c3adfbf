"""The convex problem of the first head: a linear model of a text's vector and words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags
from threadpoolctl import ThreadpoolController

from vocabless.training.finetuning.head.frozen_features import Features, relevance
from vocabless.training.finetuning.tasks.data import Rows
from vocabless.training.finetuning.tasks.logits import Vectors
from vocabless.training.finetuning.tasks.problems import Array, Problem

MAX_KERNEL_ROWS = 2500  # up to so many rows, a model of wide features is fitted to the kernel of the rows


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
        return LinearProblem(self, settings.wide_weight).solve(settings.strength).divided_by(settings.temperature)


class LinearProblem:
    """The convex problem of a head with one weight of its wide part; `solve` fits it with any strength.

    Each row of the wide features is multiplied by its `relevance`, and all of them so that a text has the length of a
    standardised vector, √D, times the weight. For few rows the problem is solved in the rows of U·√Λ, of the kernel K =
    UΛUᵀ of all features: it has the same solution, and fewer unknowns.

    BLAS has one thread: for thousands of small products, two took three times as long on two idle cores.
    """

    def __init__(self, labelled: LabelledFeatures, wide_weight: float) -> None:
        self._labelled, features = labelled, labelled.features
        vectors = features.vectors
        deviation = vectors.std(0)
        self._mean, self._deviation = vectors.mean(0), np.where(deviation > 0, deviation, 1.0)
        self._deep: Any = (vectors - self._mean) / self._deviation
        self._inputs: Any = self._deep
        self._from_inputs: Vectors | None = None  # (n, r), maps weights of the kernel's inputs to those of the rows
        self._wide: Any = None  # (n, rows), with their scales
        self._scales: Any = None  # (rows,), of the wide features
        if not wide_weight or features.wide is None:
            return
        relevant = relevance(features, labelled.problem.memberships(labelled.targets))
        length = np.sqrt((features.wide.power(2) @ relevant**2).mean()) or 1.0
        self._scales = (relevant * (wide_weight * vectors.shape[1] ** 0.5 / length)).astype(np.float32)  # (rows,)
        if len(vectors) > MAX_KERNEL_ROWS:
            self._inputs, self._deep = _joined(self._deep, features.wide, self._scales), None
            return
        self._wide = features.wide @ diags(self._scales)
        kernel = (self._wide @ self._wide.T).toarray()
        with _blas().limit(limits=1, user_api="blas"):
            values, axes = np.linalg.eigh(self._deep @ self._deep.T + kernel)
        kept = values > values[-1] * 1e-10
        roots = np.sqrt(values[kept])
        self._inputs, self._from_inputs = axes[:, kept] * roots, axes[:, kept] / roots

    def solve(self, strength: float) -> FirstHead:
        """Returns the model of all features with this strength."""
        problem, targets = self._labelled.problem, self._labelled.targets
        with _blas().limit(limits=1, user_api="blas"):
            weight, bias = problem.fit_linear(self._inputs, targets, strength, self._labelled.features.weights)
        wide: Array | None = None
        if self._scales is not None:
            if self._from_inputs is None:
                weight, wide = np.split(weight, [len(self._mean)], axis=1)
            else:
                of_rows = self._from_inputs @ weight.T
                weight, wide = of_rows.T @ self._deep, (self._wide.T @ of_rows).T
            wide = wide.T * self._scales[:, None]
        return FirstHead(weight, bias, self._mean, self._deviation, wide)


@cache
def _blas() -> ThreadpoolController:
    """Returns what limits the threads of BLAS; finding its libraries takes 3 ms, as long as a fit to few rows."""
    return ThreadpoolController()


def _joined(deep: Vectors, wide: csr_matrix, scales: Array) -> csr_matrix:
    """Returns the columns of both as float32, the wide ones scaled, without the copies that scipy would make first."""
    rows, size = deep.shape
    starts = wide.indptr + size * np.arange(rows + 1)
    numbers, columns = np.empty(starts[-1], np.float32), np.empty(starts[-1], np.int32)
    for row, (start, end) in enumerate(pairwise(starts.tolist())):
        of_wide = slice(wide.indptr[row], wide.indptr[row + 1])
        numbers[start : start + size], columns[start : start + size] = deep[row], np.arange(size)
        numbers[start + size : end] = wide.data[of_wide] * scales[wide.indices[of_wide]]
        columns[start + size : end] = wide.indices[of_wide] + size
    return csr_matrix((numbers, columns, starts), (rows, size + wide.shape[1]))
