"""What a model says of rows of token ids."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vocabless.training.finetuning.tasks.data import WEIGHT, EncodedRows, Rows

BATCH_SIZE = 64  # texts
Vectors = NDArray[np.float64]


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
    order, values = [], []
    for indices, batch in batches(rows, collator):
        inputs = {name: batch[name].to(model.device) for name in batch if name not in ("labels", WEIGHT)}
        order.append(indices)
        values.append(choose(model(**inputs), inputs).double().cpu().numpy())
    model.train(was_training)
    result = np.empty((len(rows), values[0].shape[1]))
    result[np.concatenate(order)] = np.concatenate(values)
    return result


def batches(rows: EncodedRows, collator: Any) -> Iterator[tuple[Rows, Any]]:
    """Yields the indices of up to `BATCH_SIZE` rows of similar length, and what the collator makes of them."""
    order = np.argsort([len(row["input_ids"]) for row in rows], kind="stable")
    for start in range(0, len(order), BATCH_SIZE):
        indices = order[start : start + BATCH_SIZE]
        yield indices, collator([rows[index] for index in indices])
