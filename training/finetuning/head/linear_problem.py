"""The convex problem of the first head, whose solution is a `LinearHead`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.sparse import diags
from threadpoolctl import ThreadpoolController

from vocabless.training.finetuning.head.frozen_features import relevance
from vocabless.training.finetuning.head.linear_head import LabelledFeatures, LinearHead, Settings
from vocabless.training.finetuning.tasks import problems
from vocabless.training.finetuning.tasks.data import sample_rows
from vocabless.training.finetuning.tasks.logits import Vectors
from vocabless.training.finetuning.tasks.problems import Array, SingleLabel

MAX_KERNEL_ROWS = 2500  # up to so many rows, a model of wide features is fitted to the kernel of the rows
ODDS_ROWS, ODDS_STRENGTH = 1000, 0.1  # rows that are told from everyday lines, and the inverse regularisation
COPIES = 1e-10  # added to the kernel's diagonal, times its mean: copies of a text would make it singular
_blas = cache(ThreadpoolController)  # finding the libraries of BLAS takes 3 ms, as long as a fit to few rows


class LinearProblem:
    """The convex problem of a head; `heads` solves it with a weight of its wide part, a power of 2, and any strengths.

    Vectors are standardised. Sentence vectors are divided by one number for all directions: where they differ little,
    the teacher meant it so. Both have the mean square length √D then. Each row of the wide features is multiplied by
    its `relevance`, and all of them so that a text has this length times the weight. For few rows the problem is solved
    in the rows of L, of the kernel K = L·Lᵀ of all features: it has the same solution, and fewer unknowns.
    """

    def __init__(self, labelled: LabelledFeatures) -> None:
        self._labelled, vectors = labelled, labelled.features.vectors
        variance = vectors.var(0, dtype=np.float64)
        deviation = np.sqrt(np.full_like(variance, variance.mean()) if labelled.features.are_taught else variance)
        self._mean, self._deviation = vectors.mean(0, dtype=np.float64), np.where(deviation > 0, deviation, 1.0)

    def fit(self, settings: Settings) -> LinearHead:
        """Returns the model that fits all texts."""
        with one_blas_thread():
            (head,) = self.heads(settings.wide_weight, [settings.strength])
        return head.divided_by(settings.temperature)

    def heads(self, wide_weight: float, strengths: Sequence[float]) -> Iterator[LinearHead]:
        """Yields the model of all features with each of the strengths.

        The mean of its logits, which a softmax does not depend on, is the log-odds of a text of the task against an
        everyday line, by a logistic regression of the vectors of both: see `odds` of `sentences.py`.
        """
        for head in self._heads(wide_weight, strengths):
            if self._labelled.everyday is None:
                yield head
            else:
                bias = head.bias - head.bias.mean() + self._odds[1]
                yield replace(head, weight=head.weight - head.weight.mean(0) + self._odds[0], bias=bias)

    def _heads(self, wide_weight: float, strengths: Sequence[float]) -> Iterator[LinearHead]:
        """Yields the same, with any mean of the logits."""
        problem, features, targets = self._labelled.problem, self._labelled.features, self._labelled.targets
        scales = self._scales * wide_weight if wide_weight and features.wide is not None else None
        if scales is not None and len(targets) > MAX_KERNEL_ROWS:
            yield from (self._of_many_rows(features.wide, scales, strength) for strength in strengths)
            return
        inputs = deep = (features.vectors - self._mean) / self._deviation
        if scales is not None:
            kernel = deep @ deep.T + self._wide_kernel[1] * wide_weight**2
            kernel.flat[:: len(kernel) + 1] += COPIES * max(kernel.trace() / len(kernel), 1)
            inputs = np.linalg.cholesky(kernel)
        for strength in strengths:
            (weight, bias), wide = problem.fit_linear(inputs, targets, strength, features.weights), None
            if scales is not None:
                of_rows = solve_triangular(inputs, weight.T, trans="T", lower=True)
                weight, wide = of_rows.T @ deep, self._wide_kernel[0].T @ of_rows * wide_weight * scales[:, None]
            yield LinearHead(weight, bias, self._mean, self._deviation, wide)

    def _of_many_rows(self, words: Any, scales: Array, strength: float) -> LinearHead:
        """Returns the model of many rows by L-BFGS, as in scikit-learn, without a copy of the features."""
        problem, features, mean = self._labelled.problem, self._labelled.features, self._mean[:, None]
        vectors, targets = features.vectors, self._labelled.targets
        counts = np.ones(len(targets)) if features.weights is None else features.weights
        outputs, factors = problem.config["num_labels"], np.append(1 / self._deviation, scales)[:, None]
        start, penalty = np.zeros((1 + len(factors), outputs)), 1 / (strength * counts.sum())
        options = {"gtol": problems.TOLERANCE, "ftol": 1e-14, "maxiter": 200, "maxls": 50}
        if isinstance(problem, problems.Regression):  # squares without the factor 1/2
            start[0], penalty, options["gtol"] = targets.mean(), 2 * penalty, options["gtol"] * targets.std()
        else:  # a label without a row keeps its bias; of two classes, the difference of the weights is regularised
            present = np.asarray(problem.memberships(targets)).max(0)
            start[0] = np.where(present[:outputs], 0, problems.ABSENT)
            penalty *= 2 if len(present) == outputs and present.sum() == 2 else 1
        shares = torch.from_numpy(counts / counts.sum() * (outputs if isinstance(problem, problems.MultiLabel) else 1))

        def loss(numbers: Vectors) -> tuple[float, Vectors]:
            """Returns the loss of a bias and weights, a column for each output, and its gradient."""
            bias, weight = np.split(numbers.reshape(start.shape), [1])
            deep, wide = np.split((weight * factors).astype(np.float32), [len(mean)])
            logits = torch.from_numpy(vectors @ deep + words @ wide + (bias - mean.T @ deep)).requires_grad_()
            nats = problem.losses(logits, torch.from_numpy(targets)) @ shares
            slopes = torch.autograd.grad(nats, logits)[0].numpy()
            of_bias, slopes = slopes.sum(0, keepdims=True), slopes.astype(np.float32)
            grad = np.concatenate([vectors.T @ slopes - mean * of_bias, words.T @ slopes]) * factors + penalty * weight
            return nats.item() + penalty / 2 * np.square(weight).sum(), np.concatenate([of_bias, grad]).ravel()

        found = minimize(loss, start.ravel(), method="L-BFGS-B", jac=True, options=options).x.reshape(start.shape)
        bias, weight, wide = np.split(found, [1, 1 + len(mean)])
        return LinearHead(weight.T, bias[0], self._mean, self._deviation, wide * scales[:, None])

    @cached_property
    def _odds(self) -> tuple[Vectors, Vectors]:
        """The weights (D,) and bias (1,) of the log-odds of a text of the task; both classes count alike."""
        texts = self._labelled.features.vectors
        texts, lines = texts[sample_rows(len(texts), ODDS_ROWS)], self._labelled.everyday
        assert lines is not None
        classes: Any = np.repeat([1, 0], [len(texts), len(lines)])
        inputs = (np.concatenate([texts, lines]) - self._mean) / self._deviation
        weights = len(classes) / (2 * np.bincount(classes)[classes])
        weight, bias = SingleLabel(["line", "text"]).fit_linear(inputs, classes, ODDS_STRENGTH, weights)
        return weight[1] - weight[0], bias[1:] - bias[:1]

    @cached_property
    def _scales(self) -> Array:
        """What the wide features are multiplied by for the weight 1, (rows,) float32."""
        features, problem = self._labelled.features, self._labelled.problem
        assert features.wide is not None
        relevant = relevance(features, problem.memberships(self._labelled.targets))
        squares = [features.wide[part].power(2) @ relevant**2 for part in features.blocks()]
        length = np.sqrt(np.concatenate(squares).mean()) or 1.0
        return np.asarray(relevant * (features.vectors.shape[1] ** 0.5 / length), np.float32)

    @cached_property
    def _wide_kernel(self) -> tuple[Any, Vectors]:
        """The wide features for the weight 1, (n, rows), and their kernel, (n, n); other weights scale them exactly."""
        wide = (self._labelled.features.wide @ diags(self._scales)).astype(np.float64)  # for a kernel that has a factor
        return wide, (wide @ wide.T).toarray()


def one_blas_thread() -> Any:
    """Returns a context in which BLAS has one thread: two took three times as long for many small products."""
    return _blas().limit(limits=1, user_api="blas")
