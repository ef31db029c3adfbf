"""The first head as weights of a model's head."""

from math import isqrt
from typing import Any

import numpy as np
import torch

from vocabless.modeling.head_layers import PooledHead
from vocabless.modeling.pretrained_model import check_finite
from vocabless.modeling.wide_layer import WideLayer
from vocabless.saving.sentence_modules import DENSE, read_sentence_modules
from vocabless.training.finetuning.head.linear_head import LinearHead

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
def read_sentence_vector(model: Any, source: str, revision: str | None = None) -> None:
    """Lets the random head of a model read the vector that its encoder's teacher has taught, if the checkpoint has one.

    The vector is W x + b of the mean x of the states, divided by its length. With W = Q R, the head's first layer gives
    R x + Qᵀ b, the same vector in the basis Q, without the part of b that is outside of it; `rms_norm` gives it the
    length √D.

    Raises:
        ValueError: the weights of the checkpoint's layer are not finite numbers.
    """
    head = getattr(model, "classifier", None)
    if not isinstance(head, PooledHead) or head.pooling != "mean":
        return
    try:
        modules = read_sentence_modules(source, revision)
    except ValueError:  # other modules, which no head of ours computes
        return
    if modules is None or modules.weight is None:
        return
    weight, bias = modules.weight, modules.bias if modules.bias is not None else torch.zeros(len(modules.weight))
    check_finite(source, {f"{DENSE}.weight": weight, f"{DENSE}.bias": bias})
    if not modules.normalizes or weight.shape[1] != head.dense.in_features:
        return
    basis, first = torch.linalg.qr(weight.double())
    for parameter, values in ((head.dense.weight, first), (head.dense.bias, basis.T @ bias.double())):
        parameter.zero_()
        parameter[: len(values)] = values.to(parameter)
    model.config.classifier_activation = head.activation = "rms_norm"


@torch.no_grad()
def write_head(fitted: LinearHead, model: Any) -> None:
    """Sets the weights of a model's head, so that its logits are those that were fitted up to the curvature of tanh.

    Where the head reads as many numbers as it has units, its first layer standardises them and makes them small.
    Where it reads more (`siamese`), its first units become the logits, made small. A layer that gives sentence vectors
    stays as it is, and the logits are exact.

    Raises:
        ValueError: the head has fewer units than outputs.
    """
    head: PooledHead = model.classifier
    outputs, dense = len(fitted.bias), head.dense
    if head.activation == "rms_norm":
        first, last = None, fitted.weight / fitted.deviation
    elif dense.out_features == dense.in_features:
        first, last = np.diag(SMALL / fitted.deviation), fitted.weight / SMALL
    elif outputs <= dense.out_features:
        first, last = fitted.weight * (SMALL / fitted.deviation), np.eye(outputs) / SMALL
    else:
        mistake = f"a head with {dense.out_features} units has no place for {outputs} outputs"
        raise ValueError(f"{mistake}; fine-tune without it.")
    if first is not None:
        dense.weight[: len(first)] = torch.from_numpy(first).to(dense.weight)
        dense.bias[: len(first)] = torch.from_numpy(-first @ fitted.mean).to(dense.bias)
    head.out_proj.weight.zero_()
    head.out_proj.weight[:, : last.shape[1]] = torch.from_numpy(last).to(head.out_proj.weight)
    head.out_proj.bias.copy_(torch.from_numpy(fitted.bias - (last @ fitted.mean if first is None else 0)))
    rows = 0 if fitted.wide is None else len(fitted.wide)
    model.config.classifier_wide_rows, head.wide = rows, None
    if fitted.wide is not None:
        head.wide = WideLayer(model.config, rows, outputs).to(dense.weight.device)
        head.wide.weight.copy_(torch.from_numpy(fitted.wide))
