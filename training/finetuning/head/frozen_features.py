"""What the head of a model reads of rows of token ids, while its encoder is frozen."""

from array import array
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import rel_entr
from torch import Tensor

from vocabless.modeling.wide_layer import WideLayer
from vocabless.training.finetuning.tasks.data import EncodedRows, Rows, weights_of
from vocabless.training.finetuning.tasks.logits import Vectors, batches, compute, inputs_of

BLOCK_ROWS = 4096  # whose wide features are copied at once
SHORTEST = 1e-12  # length by which a vector is divided, as in torch


@dataclass(frozen=True)
class Features:
    """What a head reads of n texts, and how much each of them counts."""

    vectors: NDArray[Any]  # (n, D), float32 as the model gives them
    wide: csr_matrix | None = None  # (n, rows) float32, see `WideLayer`
    weights: Vectors | None = None  # (n,), None: all the same
    are_taught: bool = False  # sentence vectors of the encoder's teacher, see `read_sentence_vector`
    states: NDArray[Any] | None = None  # (n, D), of sentence vectors, what their layer reads; None: not read

    def select(self, rows: Rows) -> "Features":
        """Returns the features of some of the texts."""
        arrays = {name: value for name, value in vars(self).items() if hasattr(value, "shape")}
        return replace(self, **{name: value[rows] for name, value in arrays.items()})

    def directions(self) -> Vectors:
        """Returns what `PooledHead.directions` gives for the texts, (n, D) or (n, 2D)."""
        parts = [self.vectors] if self.states is None else [self.states, self.vectors]
        lengths = [np.maximum(np.linalg.norm(part, axis=1, keepdims=True), SHORTEST) for part in parts]
        return np.concatenate([part / length for part, length in zip(parts, lengths, strict=True)], axis=1)

    def shares(self, rows: Rows) -> Vectors:
        """Returns the weights of some of the texts, divided by their mean."""
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        return np.asarray(weights / weights.mean())

    def blocks(self) -> list[slice]:
        """Returns parts of the texts that are small enough for copies of what is read of them."""
        return [slice(start, start + BLOCK_ROWS) for start in range(0, len(self.vectors), BLOCK_ROWS)]


def read_features(model: Any, collator: Any, wide_rows: int, with_states: bool, rows: EncodedRows) -> Features:
    """Returns what the head of a model that `takes_first_head` reads of n rows.

    Wide features are read unless they have 0 `wide_rows`; `with_states` says whether the states behind sentence vectors
    are read, too.
    """
    head, are_taught = model.classifier, model.classifier.activation == "rms_norm"
    layer = head.out_proj if are_taught else head.dense  # the first one that the linear model replaces
    has_states = are_taught and with_states
    with inputs_of(layer) as inputs, inputs_of(head.dense) as behind:

        def choose(_: Any) -> Tensor:
            return torch.cat([behind.pop(), inputs.pop()], dim=-1) if has_states else inputs.pop()

        read = compute(model, rows, collator, choose).astype(np.float32)
    size = head.dense.in_features if has_states else 0
    wide = wide_features(model.config, rows, collator, wide_rows) if wide_rows else None
    return Features(read[:, size:], wide, weights_of(rows), are_taught, read[:, :size] if has_states else None)


@torch.no_grad()
def wide_features(config: Any, rows: EncodedRows, collator: Any, num_rows: int) -> csr_matrix:
    """Returns the features (n, num_rows) of a `WideLayer` for n rows of token ids."""
    layer, columns, numbers, order, counts = WideLayer(config, num_rows, 1), array("i"), array("f"), [], []
    for indices, batch in batches(rows, collator):
        found, shares = layer.features(batch["input_ids"])
        kept = shares > 0
        starts = np.cumsum([0, *kept.flatten(1).sum(1)])
        part = csr_matrix((shares[kept].numpy(), found[kept].int().numpy(), starts), (len(indices), num_rows))
        part.sum_duplicates()
        columns.frombytes(part.indices.tobytes())  # arrays that grow: parts of them would fill the memory
        numbers.frombytes(part.data.tobytes())
        order.append(indices)
        counts.append(np.diff(part.indptr))
    starts = np.cumsum([0, *np.concatenate(counts)])
    parts = np.frombuffer(numbers, np.float32), np.frombuffer(columns, np.int32), starts
    return csr_matrix(parts, (len(rows), num_rows))[np.argsort(np.concatenate(order))]


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
    shares = counts @ memberships / len(counts)
    sums = sum(features.wide[part].sign().T @ (counts[part, None] * memberships[part]) for part in features.blocks())
    of_row = (sums + shares) / (sums.sum(axis=1, keepdims=True) / memberships[0].sum() + 1)
    return np.asarray(np.sqrt(np.maximum(rel_entr(of_row, shares).sum(axis=1), 0)))
