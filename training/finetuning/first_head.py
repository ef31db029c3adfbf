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
from vocabless.training.finetuning.problems import Problem
from vocabless.training.finetuning.task_files import EncodedExamples
from vocabless.training.finetuning.tasks import Rows

STRENGTHS = (0.003, 0.03, 0.3)  # inverse regularisation, for standardised numbers
SMALL = 0.3  # share of a standardised number that the head's tanh reads, where it is nearly linear
BATCH_SIZE = 64  # texts
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


def fits(model: PreTrainedModel, problem: Problem) -> bool:
    """Returns whether a model has a head that `FirstHead` can write: one vector for each text, and enough units."""
    head = getattr(model, "classifier", None)
    return isinstance(head, PooledHead) and (
        head.dense.in_features == head.dense.out_features or problem.config["num_labels"] <= head.dense.out_features
    )


def head_inputs(model: Any, examples: EncodedExamples, collator: Any) -> Vectors:
    """Returns what the head of a model that `fits` reads of n examples, (n, D); see `compute`."""
    rows: list[Tensor] = []
    hook = model.classifier.dense.register_forward_pre_hook(lambda _, inputs: rows.append(inputs[0]))
    try:
        return compute(model, examples, collator, lambda *_: rows.pop())
    finally:
        hook.remove()


@torch.no_grad()
def compute(model: Any, examples: EncodedExamples, collator: Any, choose: Callable[[Any, Any], Tensor]) -> Vectors:
    """Returns (n, D) of n examples, in evaluation mode; those of similar length are read together.

    The collator pads a batch, whose labels are not given to the model. `choose` takes its outputs and inputs, and
    returns (B, D).
    """
    was_training = model.training
    model.eval()
    order = sorted(range(len(examples)), key=lambda index: len(examples[index]["input_ids"]))
    rows = []
    for start in range(0, len(order), BATCH_SIZE):
        batch = collator([examples[index] for index in order[start : start + BATCH_SIZE]])
        inputs = {name: values.to(model.device) for name, values in batch.items() if name != "labels"}
        rows.append(choose(model(**inputs), inputs).double().cpu().numpy())
    model.train(was_training)
    values = np.concatenate(rows)
    result = np.empty_like(values)
    result[order] = values
    return result


def cross_validate_head(
    problem: Problem, vectors: Vectors, targets: Sequence[Any], folds: Sequence[Rows]
) -> tuple[float, Vectors]:
    """Returns the strength with the smallest loss for vectors (n, D) and n targets, and its held-out logits.

    The logits, (n, outputs), are those of each row by a model that was fitted outside its fold. Each row is in one of
    the folds.
    """
    logits = {strength: _held_out_logits(problem, vectors, targets, folds, strength) for strength in STRENGTHS}
    references = torch.from_numpy(np.asarray(targets))
    losses = {strength: problem.losses(torch.from_numpy(each), references).mean() for strength, each in logits.items()}
    best = min(losses, key=losses.__getitem__)
    return best, logits[best]


def _held_out_logits(
    problem: Problem, vectors: Vectors, targets: Sequence[Any], folds: Sequence[Rows], strength: float
) -> Vectors:
    logits = []
    for held_out in folds:
        rest = np.setdiff1d(np.arange(len(targets)), held_out)
        head = FirstHead.fit(problem, vectors[rest], [targets[row] for row in rest], strength)
        logits.append(head.logits(vectors[held_out]))
    return np.concatenate(logits)[np.argsort(np.concatenate(folds))]
