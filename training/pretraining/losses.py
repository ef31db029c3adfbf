"""The loss of a student of sentence vectors, and the last stage of its training."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import TrainerCallback, TrainerState

SIMILARITY_WEIGHT = 5.0  # of the similarities within a batch in the loss
NEIGHBOUR_WEIGHT = 2.0  # of the nearest texts in the loss of the last stage
TEMPERATURE = 0.05  # of the softmax over similarities: texts that are 0.05 nearer count e times as much
MASKED = -1e4  # stands for no similarity


class DirectionLoss(nn.Module):
    """How far the vectors of texts are from the directions that a teacher gives, a loss of sentence-transformers.

    The loss of a batch is the mean of 1 − cos(v, t) over its texts, v the student's vector and t the teacher's, plus
    `SIMILARITY_WEIGHT` times the mean squared difference between the cosines of all pairs v_i, v_j and t_i, t_j. With
    nested dimensions, the mean of the same differences between the cosines of the first d numbers of v_i, v_j and those
    of t_i, t_j is added with the weight of similarities, so that vectors that are cut at d can still be compared
    (Kusupati et al., *Matryoshka Representation Learning*, 2022). In the last stage of a run, `in_last_stage`,
    `NEIGHBOUR_WEIGHT` times the `neighbour_divergence` of the cosines is added, too.

    Args:
        model: a SentenceTransformer, which gives vectors of length 1.
        nested_dimensions: numbers at which a vector may be cut; those not between 0 and its size do not count.
    """

    def __init__(self, model: nn.Module, nested_dimensions: Sequence[int] = ()) -> None:
        super().__init__()
        self.model = model  # the Trainer puts a model that is wrapped for several processes in its place
        self.nested_dimensions = nested_dimensions
        self.in_last_stage = False

    def forward(self, sentence_features: Sequence[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """Returns the loss of a batch.

        Args:
            sentence_features: the student's inputs, in one dictionary.
            labels: (B, vector size), the teacher's vectors.
        """
        vectors: Tensor = self.model(dict(sentence_features[0]))["sentence_embedding"]
        with torch.autocast(vectors.device.type, enabled=False):
            return self.of_vectors(vectors.float(), labels.float())

    def of_vectors(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """Returns the loss of the student's vectors, (B, vector size) of length 1, and the teacher's."""
        targets = F.normalize(labels, dim=-1)
        loss = 1 - (vectors * targets).sum(dim=-1).mean()
        similarities, expected = vectors @ vectors.T, targets @ targets.T
        if self.in_last_stage:
            loss = loss + NEIGHBOUR_WEIGHT * neighbour_divergence(similarities, expected)
        loss = loss + SIMILARITY_WEIGHT * F.mse_loss(similarities, expected)
        sizes = [size for size in self.nested_dimensions if 0 < size < vectors.shape[1]]
        for size in sizes:
            part = F.normalize(vectors[:, :size], dim=-1)
            loss = loss + SIMILARITY_WEIGHT / len(sizes) * F.mse_loss(part @ part.T, expected)
        return loss


class LastStage(TrainerCallback):
    """Tells a loss when the last stage begins. Until then, the dense layer does not learn from some of its inputs.

    Args:
        loss: of the student.
        weight: of the student's dense layer, (vector size, inputs).
        first_size: inputs that it learns from before the last stage. The weights of the others are 0 until then.
        share: of the steps of the run, the last ones, 0–1.
    """

    def __init__(self, loss: DirectionLoss, weight: Tensor, first_size: int, share: float) -> None:
        self._loss = loss
        self._first_size = first_size
        self._share = share
        weight.register_hook(self._gradient)

    def _gradient(self, gradient: Tensor) -> Tensor:
        if self._loss.in_last_stage:
            return gradient
        return F.pad(gradient[:, : self._first_size], (0, gradient.shape[1] - self._first_size))

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """See `TrainerCallback`."""
        self._loss.in_last_stage = state.global_step >= (1 - self._share) * state.max_steps


def neighbour_divergence(similarities: Tensor, expected: Tensor) -> Tensor:
    """Returns how unlike the student's and the teacher's cosines, (B, B), are for near texts; 0 for equal ones.

    For each text, a softmax over its similarities with the other texts, divided by `TEMPERATURE`, says how near they
    are. The result is the Kullback-Leibler divergence of the student's from the teacher's, times `TEMPERATURE`. Source:
    Fang et al., *SEED: Self-supervised Distillation for Visual Representation*, ICLR 2021, section 3.2; differs: the
    texts are those of the batch, without a queue.
    """
    itself = torch.eye(len(expected), dtype=torch.bool, device=expected.device)
    ours, theirs = (
        (cosines / TEMPERATURE).masked_fill(itself, MASKED).log_softmax(dim=-1) for cosines in (similarities, expected)
    )
    return TEMPERATURE * F.kl_div(ours, theirs, reduction="batchmean", log_target=True)
