"""Vectors of passages: fewer numbers without a loss, the loss of still fewer and of 8 bits, and the least fit."""
# mypy: no-warn-return-any

import random
import string
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vocabless.saving.sentence_modules import SentenceModules

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
NEAREST = 10  # passages that a recall counts
USUAL_FIT = 0.2  # almost every question that a passage answers reaches it; see benchmarks/fits.py
QUERIES, QUANTILE = 200, 0.99  # of queries without a meaning, and the share of them that must not fit


def in_own_space(modules: SentenceModules, hidden_size: int) -> SentenceModules:
    """Returns modules whose vectors have the same cosines and no more numbers than needed.

    A dense layer of h inputs gives vectors in a space of h + 1 dimensions, however many numbers they have. They are
    written in a basis of that space, so 384 numbers become 129.
    """
    weight = torch.eye(hidden_size) if modules.weight is None else modules.weight.float()
    bias = torch.zeros(len(weight)) if modules.bias is None else modules.bias.float()
    if len(weight) <= hidden_size + 1:
        return SentenceModules(weight, bias)
    basis, _ = torch.linalg.qr(torch.cat([weight, bias[:, None]], dim=1).double())
    return rotated(SentenceModules(weight, bias), basis)


def principal_axes(vectors: Tensor, dimensions: int) -> Tensor:
    """Returns the directions in which vectors (n, D) are largest, (D, dimensions)."""
    _, axes = torch.linalg.eigh(vectors.double().T @ vectors.double())
    return axes.flip(1)[:, :dimensions]


def rotated(modules: SentenceModules, axes: Tensor) -> SentenceModules:
    """Returns modules whose vectors are the coordinates on the columns of `axes`, (D, dimensions)."""
    both = cast(tuple[Tensor, Tensor], (modules.weight, modules.bias))  # there is a dense layer with a bias
    turned = [(axes.T @ tensor.double()).float().contiguous() for tensor in both]
    return replace(modules, weight=turned[0], bias=turned[1])


def recall(exact_queries: Vectors, exact: Vectors, queries: Vectors, vectors: NDArray[np.int8] | Vectors) -> float:
    """Returns the share of the nearest passages by exact vectors that the page's vectors find, 0–1.

    Exact queries (q, D) and vectors (n, D), and queries (q, d), have the length 1. `vectors`, (n, d), are those of the
    page, of any length.
    """
    lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
    pairs = (exact_queries @ exact.T, queries @ vectors.T.astype(np.float32) / np.where(lengths > 0, lengths, 1))
    nearest = [np.argsort(-scores, axis=1, kind="stable")[:, :NEAREST] for scores in pairs]
    return float(np.mean([len({*one} & {*other}) / len(one) for one, other in zip(*nearest, strict=True)]))


def least_fit(encode: Encode, vectors: NDArray[np.int8] | Vectors) -> float:
    """Returns the fit, 0–1, below which no passage answers a query: queries without a meaning fit less.

    The fit is half of the similarity and half of the share of the query's words that the passage has, see
    `browser/searcher.js`. Words that nobody knows have the first half alone, and it grows with the number of passages.
    `vectors`, (n, D), have any length.
    """
    lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
    units = vectors / np.where(lengths > 0, lengths, 1)[:, None]
    nearest = (encode(meaningless_queries(QUERIES)) @ units.T.astype(np.float32)).max(axis=1)
    return round(max(USUAL_FIT, float(np.quantile(nearest, QUANTILE)) / 2), 3)


def meaningless_queries(count: int, seed: int = 0) -> list[str]:
    """Returns queries of one or two words of 4 to 8 random letters.

    >>> meaningless_queries(2)
    ['bzmxvzj nhtqg', 'cbwioj']
    """
    chance = random.Random(seed)

    def word() -> str:
        return "".join(chance.choices(string.ascii_lowercase, k=chance.randint(4, 8)))

    return [" ".join(word() for _ in range(chance.randint(1, 2))) for _ in range(count)]
