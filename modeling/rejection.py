"""The answer "none of these": how familiar a text is, and the logit of a label for texts that are not familiar."""
# mypy: no-warn-return-any

from math import log
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import initialization as init

from .blocks import HasConstants
from .configuration_vocabless import VocablessConfig

SUPPRESSED = 20.0  # taken from the logits of several labels, so that a text that is turned away gets none of them
SHARPNESS = 3.0  # of the smooth minimum of energy and typicality


class Rejection(HasConstants):
    """Adds the logit of a last label, "none of these", to those of the other labels: (B, L) → (B, L + 1).

    A text is familiar if both of these are high, see `familiarity`:

    - The energy of its logits, their log-sum-exp (Liu et al., *Energy-based Out-of-distribution Detection*, NeurIPS
      2020): one label fits. The logits of a softmax are known up to a number for each text, so the energy is that of
      logits whose mean is 0. With several labels for a text it is Σ log(1 + exp(logit)) (Wang et al., *Can multi-label
      classification networks know what they don't know?*, NeurIPS 2021).
    - What that number would say, its typicality: how near it is to all labels together. It is the dot product of its
      directions, see `PooledHead.directions`, and their mean over the training texts.

    The new logit is as far above the largest other one as the familiarity is below `config.classifier_reject_score`. So
    it is the largest one of exactly the texts that are not familiar enough. With several labels for a text, it has a
    probability above `config.classifier_threshold` there, and the others have nearly none.
    """

    def __init__(self, config: VocablessConfig, num_directions: int) -> None:
        super().__init__()
        self.config: Any = config
        self.typical = nn.Parameter(torch.zeros(num_directions))
        self.scales = nn.Parameter(torch.zeros(2, 2))  # see `familiarity`

    def init_parameter(self, parameter: Tensor, std: float) -> None:
        """Makes the weights 0."""
        init.zeros_(parameter)

    def forward(self, logits: Tensor, directions: Tensor) -> Tensor:
        """Returns the logits (B, L + 1); directions are (B, num_directions)."""
        has_several = self.config.problem_type == "multi_label_classification"
        typicality = (directions * self.typical).sum(dim=-1, keepdim=True)  # no matrix product, which 8 bits would blur
        parts = torch.cat([energy(logits, has_several), typicality], dim=-1)
        strangeness = self.config.classifier_reject_score - familiarity(parts, self.scales)
        if not has_several:
            return torch.cat([logits, logits.amax(dim=-1, keepdim=True) + strangeness], dim=-1)
        threshold = self.config.classifier_threshold or 0.5
        none = strangeness + log(threshold / (1 - threshold))
        return torch.cat([logits - SUPPRESSED * (strangeness > 0), none], dim=-1)


def familiarity(parts: Tensor, scales: Tensor) -> Tensor:
    """Returns the familiarity of texts, (B, 1), by their energy and typicality, (B, 2).

    Both are standardized by `scales`, (2, 2): means, and 1 / standard deviations. The familiarity is their smooth
    minimum −log Σ exp(−`SHARPNESS` · part) / `SHARPNESS`. A sum would let one part make up for the other; then a known
    text that is misspelt, which has less of both, is turned away more often than by either part.

    >>> familiarity(torch.tensor([[2.0, 9.0], [4.0, 1.0]]), torch.tensor([[2.0, 0.0], [0.5, 1.0]]))
    tensor([[0.0000],
            [0.7690]])
    """
    parts = (parts - scales[0]) * scales[1]
    first, last = parts[:, :1], parts[:, 1:]  # `chunk` is a Split without sizes, which pages lack
    return last - F.softplus(SHARPNESS * (last - first)) / SHARPNESS


def energy(logits: Tensor, has_several: bool) -> Tensor:
    """Returns the energy (B, 1) of logits (B, L), of one of several labels or of several, see `Rejection`.

    >>> energy(torch.tensor([[3.0, 3.0], [1.0, -1.0]]), has_several=False)
    tensor([[0.6931],
            [1.1269]])
    """
    if has_several:
        return F.softplus(logits).sum(dim=-1, keepdim=True)
    most = logits.amax(dim=-1, keepdim=True)  # no `logsumexp`, an operator that pages lack
    return most - logits.mean(dim=-1, keepdim=True) + (logits - most).exp().sum(dim=-1, keepdim=True).log()
