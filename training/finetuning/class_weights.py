"""Weights that let rare labels count as much as frequent ones: `--class_weights balanced`."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F


def balanced_weights(targets: Sequence[int], num_labels: int) -> NDArray[np.float64]:
    """Returns (num_labels,) weights n / (labels · count), as scikit-learn's "balanced"; their mean over the rows is 1.

    A label without a row gets 0, and is not one of the labels that are counted.

    Example:
        >>> balanced_weights([0, 0, 0, 1], 3).round(2).tolist()
        [0.67, 2.0, 0.0]
    """
    counts = np.bincount(np.asarray(targets, np.int64), minlength=num_labels)
    weights: NDArray[np.float64] = len(targets) / (np.count_nonzero(counts) * np.maximum(counts, 1)) * (counts > 0)
    return weights


class WeightedLoss:
    """The cross-entropy of single labels, weighted by label, for `Trainer(compute_loss_func=…)`.

    Args:
        weights: (labels,).
        smoothing: share of each target that goes to all labels alike, 0–1.
    """

    def __init__(self, weights: NDArray[np.float64], smoothing: float = 0.0) -> None:
        self._weights, self._smoothing = torch.from_numpy(weights), smoothing

    def __call__(self, outputs: Any, targets: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
        """Returns the sum of the weighted losses, divided by the number of texts in the step.

        Args:
            outputs: of the model, with `logits` (N, labels).
            targets: (N,) indices of labels.
            num_items_in_batch: texts of all batches whose gradients are added; None is N.
        """
        losses = F.cross_entropy(outputs["logits"].float(), targets, reduction="none", label_smoothing=self._smoothing)
        weights = self._weights.to(losses)[targets]
        return (losses * weights).sum() / (len(targets) if num_items_in_batch is None else num_items_in_batch)
