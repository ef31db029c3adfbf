"""The first head: a linear model of what the head reads from the frozen encoder, written into the head's weights.

Linear probing, then fine-tuning (Kumar et al., ICLR 2022): with random weights of the head, the first steps of
fine-tuning change states of the encoder that the labels could use as they are. The linear model takes seconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from vocabless.modeling.head_layers import PooledHead
from vocabless.training.finetuning.data import EncodedRows, Rows, TaskData, folds_of, sample_rows
from vocabless.training.finetuning.problems import Problem

STRENGTHS = (0.003, 0.03, 0.3)  # inverse regularisation, for standardised numbers
SMALL = 0.3  # share of a standardised number that the head's tanh reads, where it is nearly linear
BATCH_SIZE = 64  # texts
MAX_ROWS = 20_000  # of the training rows; more hardly change a linear model
Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class FirstHead:
    """A linear model of standardised vectors."""

    weight: Vectors  # (outputs, D)
    bias: Vectors  # (outputs,)
    mean: Vectors  # (D,), of the vectors
    deviation: Vectors  # (D,), their standard deviation; 1 where it is 0

    @classmethod
    def fit(cls, problem: Problem, vectors: Vectors, targets: Sequence[Any], strength: float) -> "FirstHead":
        """Returns the model of vectors (n, D) and their targets."""
        mean, deviation = vectors.mean(0), vectors.std(0)
        deviation = np.where(deviation > 0, deviation, 1.0)
        return cls(*problem.fit_linear((vectors - mean) / deviation, targets, strength), mean, deviation)

    def logits(self, vectors: Vectors) -> Vectors:
        """Returns the logits (n, outputs) of vectors (n, D)."""
        return ((vectors - self.mean) / self.deviation) @ self.weight.T + self.bias

    @torch.no_grad()
    def write_into(self, head: PooledHead) -> None:
        """Sets the weights of a head, so that its logits are those of this model up to the curvature of tanh.

        Where the head reads as many numbers as it has units, its first layer standardises them and makes them small.
        Where it reads more (`siamese`), its first units become the logits, made small.

        Raises:
            ValueError: the head has fewer units than outputs.
        """
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


def has_linear_head(model: PreTrainedModel, problem: Problem) -> bool:
    """Returns whether a model has a head that `FirstHead` can write: one vector for each text, and enough units."""
    head = getattr(model, "classifier", None)
    return isinstance(head, PooledHead) and (
        head.dense.in_features == head.dense.out_features or problem.config["num_labels"] <= head.dense.out_features
    )


class FrozenVectors:
    """What the head of a model that `has_linear_head` reads of the training rows, at most `MAX_ROWS`.

    Attributes:
        vectors: (n, D).
        targets: of these rows.
        strength: the regularisation that suits them, see `cross_validate_head`.
        held_out_logits: (n, outputs), of each row by a head that was fitted outside its fold.
    """

    def __init__(self, model: PreTrainedModel, rows: EncodedRows, collator: Any, data: TaskData) -> None:
        rows = [rows[row] for row in sample_rows(len(rows), MAX_ROWS)]
        self.problem, self.vectors = data.problem, head_inputs(model, rows, collator)
        self.targets = [row["label"] for row in rows]
        folds = data.folds() if data.is_cross_validated else folds_of(data.problem.strata(self.targets))
        self.strength, self.held_out_logits = cross_validate_head(self.problem, self.vectors, self.targets, folds)

    def head(self, rows: Any = slice(None)) -> FirstHead:
        """Returns the head that is fitted to some of the training rows."""
        targets = [self.targets[row] for row in np.arange(len(self.targets))[rows]]
        return FirstHead.fit(self.problem, self.vectors[rows], targets, self.strength)


def head_inputs(model: Any, rows: EncodedRows, collator: Any) -> Vectors:
    """Returns what the head of a model that `has_linear_head` reads of n rows, (n, D); see `compute`."""
    inputs: list[Tensor] = []
    hook = model.classifier.dense.register_forward_pre_hook(lambda _, read: inputs.append(read[0]))
    try:
        return compute(model, rows, collator, lambda *_: inputs.pop())
    finally:
        hook.remove()


def logits_of(model: Any, rows: EncodedRows, collator: Any) -> Vectors:
    """Returns the logits of n rows, (n, outputs); see `compute`."""
    return compute(model, rows, collator, lambda outputs, _: outputs.logits)


@torch.no_grad()
def compute(model: Any, rows: EncodedRows, collator: Any, choose: Callable[[Any, Any], Tensor]) -> Vectors:
    """Returns (n, D) of n rows, in evaluation mode; those of similar length are read together.

    The collator pads a batch, of which the model gets what the tokenizer made. `choose` takes the model's outputs and
    inputs, and returns (B, D).
    """
    was_training = model.training
    model.eval()
    order, values = np.argsort([len(row["input_ids"]) for row in rows], kind="stable"), []
    for start in range(0, len(order), BATCH_SIZE):
        batch = collator([rows[index] for index in order[start : start + BATCH_SIZE]])
        inputs = {name: batch[name].to(model.device) for name in batch if name != "labels"}
        values.append(choose(model(**inputs), inputs).double().cpu().numpy())
    model.train(was_training)
    result = np.empty((len(order), values[0].shape[1]))
    result[order] = np.concatenate(values)
    return result


def cross_validate_head(
    problem: Problem, vectors: Vectors, targets: Sequence[Any], folds: Sequence[Rows]
) -> tuple[float, Vectors]:
    """Returns the strength with the smallest loss for vectors (n, D) and n targets, and its held-out logits.

    The logits, (n, outputs), are those of each row by a model that was fitted outside its fold. Each row is in one of
    the folds.
    """
    place = np.argsort(np.concatenate(folds))

    def held_out_logits(strength: float) -> Vectors:
        logits = []
        for held_out in folds:
            rest = np.setdiff1d(np.arange(len(targets)), held_out)
            head = FirstHead.fit(problem, vectors[rest], [targets[row] for row in rest], strength)
            logits.append(head.logits(vectors[held_out]))
        return np.concatenate(logits)[place]

    def loss(strength: float) -> float:
        return float(problem.losses(torch.from_numpy(logits[strength]), references).mean())

    logits, references = {s: held_out_logits(s) for s in STRENGTHS}, torch.from_numpy(np.asarray(targets))
    best = min(STRENGTHS, key=loss)
    return best, logits[best]
