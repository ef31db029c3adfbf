"""The first head as weights of a model's head."""

from math import isqrt
from typing import Any

import numpy as np
import torch

from vocabless.modeling.head_layers import PooledHead
from vocabless.modeling.wide_layer import WideLayer
from vocabless.training.finetuning.head.linear_problem import FirstHead

SMALL = 0.3  # share of a standardised number that the head's tanh reads, where it is nearly linear
MAX_WIDE_ROWS, MIN_WIDE_ROWS = 1 << 15, 1 << 10  # of a wide part; with so many labels that fewer fit, there is none
MAX_WIDE_BYTES = 1_400_000  # of its rows in 8 bits
FACTOR_BYTES = 4  # of each of these rows


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


@torch.no_grad()
def write_head(fitted: FirstHead, model: Any) -> None:
    """Sets the weights of a model's head, so that its logits are those that were fitted up to the curvature of tanh.

    Where the head reads as many numbers as it has units, its first layer standardises them and makes them small.
    Where it reads more (`siamese`), its first units become the logits, made small.

    Raises:
        ValueError: the head has fewer units than outputs.
    """
    head: PooledHead = model.classifier
    units, size = head.dense.weight.shape
    outputs = len(fitted.bias)
    if units == size:
        first, last = np.diag(SMALL / fitted.deviation), fitted.weight / SMALL
    elif outputs <= units:
        first, last = fitted.weight * (SMALL / fitted.deviation), np.eye(outputs) / SMALL
    else:
        raise ValueError(f"a head with {units} units has no place for {outputs} outputs; fine-tune without it.")
    used = len(first)
    head.dense.weight[:used] = torch.from_numpy(first).to(head.dense.weight)
    head.dense.bias[:used] = torch.from_numpy(-first @ fitted.mean).to(head.dense.bias)
    head.out_proj.weight.zero_()
    head.out_proj.weight[:, :used] = torch.from_numpy(last).to(head.out_proj.weight)
    head.out_proj.bias.copy_(torch.from_numpy(fitted.bias))
    rows = 0 if fitted.wide is None else len(fitted.wide)
    model.config.classifier_wide_rows, head.wide = rows, None
    if fitted.wide is not None:
        head.wide = WideLayer(model.config, rows, outputs).to(head.dense.weight.device)
        head.wide.weight.copy_(torch.from_numpy(fitted.wide))
