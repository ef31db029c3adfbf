"""Scores of a text's hashed n-grams, a second linear model beside the first head.

The states of an encoder blur which words a text has; a logistic regression of its n-grams sees little else. Their sum
is better than either from some hundred rows on. The weights become columns of the front end's table, see
`HashEmbedding`, so a model with them needs no other code, and its ONNX graph and page compute them, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from transformers import PreTrainedModel

from vocabless.modeling.blocks import NUM_SPECIAL
from vocabless.modeling.hash_embedding_front_end import HashEmbedding
from vocabless.training.finetuning.base_problem import Problem
from vocabless.training.finetuning.task_files import EncodedExamples

STRENGTH = 3.0  # inverse regularisation
SHARES = (0.0, 0.3, 1.0)  # of these scores in the sum
MAX_LABELS = 32  # more make the table large
UNITS_AT_ONCE = 2000


@dataclass(frozen=True)
class NgramScores:
    """A linear model of `ngram_features`."""

    weight: NDArray[np.float64]  # (outputs, rows of the table)
    bias: NDArray[np.float64]  # (outputs,)

    @classmethod
    def fit(cls, problem: Problem, features: csr_matrix, targets: Sequence[Any], share: float = 1) -> "NgramScores":
        """Returns `share` times the model of features (n, rows) and their targets; frequent n-grams weigh less."""
        frequencies = np.asarray((features > 0).sum(axis=0)).ravel()
        inverse = np.log((1 + features.shape[0]) / (1 + frequencies)) + 1
        weight, bias = problem.fit_linear(features @ diags(inverse), targets, STRENGTH)
        return cls(share * weight * inverse, share * bias)

    def logits(self, features: csr_matrix) -> NDArray[np.float64]:
        """Returns (n, outputs)."""
        scores: NDArray[np.float64] = features @ self.weight.T + self.bias
        return scores

    @torch.no_grad()
    def write_into(self, model: Any) -> None:
        """Adds the weights to the table of a model's front end, and the biases to its head."""
        front_end = model.base_model.front_end
        front_end.add_scores(torch.from_numpy(self.weight.T).to(front_end.table.weight))
        model.config.front_end_options = {**model.config.front_end_options, "num_scores": front_end.num_scores}
        model.classifier.out_proj.bias += torch.from_numpy(self.bias).to(model.classifier.out_proj.bias)


def can_score(model: PreTrainedModel, problem: Problem, is_pair: bool) -> bool:
    """Returns whether a model can have such scores, and they do not make it large."""
    front_end: Any = getattr(model.base_model, "front_end", None)
    is_new = isinstance(front_end, HashEmbedding) and front_end.num_scores == 0
    is_alone = not (torch.distributed.is_available() and torch.distributed.is_initialized())
    return is_alone and is_new and 0 < len(problem.labels) <= MAX_LABELS and not is_pair


def ngram_features(front_end: HashEmbedding, examples: EncodedExamples) -> csr_matrix:
    """Returns (n, rows of the table), what `HashEmbedding` makes of a column: see there."""
    places: dict[bytes, int] = {}
    texts = []
    for index in range(len(examples)):
        blocks = np.asarray(examples[index]["input_ids"], np.int64)
        units = [places.setdefault(block.tobytes(), len(places)) for block in blocks if block[0] >= NUM_SPECIAL]
        texts.append((units, len(blocks) ** -0.5))
    distinct = np.frombuffer(b"".join(places), np.int64).reshape(-1, front_end.block_size)
    hashes, counts = [], []
    for start in range(0, len(distinct), UNITS_AT_ONCE):
        rows, number = front_end.hash_units(torch.from_numpy(distinct[start : start + UNITS_AT_ONCE].copy()))
        hashes += [row.numpy() for row in rows.split(number.tolist())]
        counts += (number.double() ** -0.5).tolist()
    of_units = _sparse(list(zip(hashes, counts, strict=True)), front_end.num_rows)
    return csr_matrix(_sparse(texts, len(distinct)) @ of_units)


def _sparse(rows: Sequence[tuple[Any, float]], width: int) -> csr_matrix:
    """Returns a matrix from the columns of each row, which may repeat, and the value that each of them adds."""
    starts = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    values = np.repeat([value for _, value in rows], np.diff(starts))
    columns = np.concatenate([np.asarray(columns, np.int64) for columns, _ in rows]) if rows else np.zeros(0, np.int64)
    matrix = csr_matrix((values, columns, starts), shape=(len(rows), width))
    matrix.sum_duplicates()
    return matrix
