"""Base class of the pre-training objectives, and what they share."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.tokenization.block_coders import Integers
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.trainer import EXACT_LOSS

IGNORED = -100  # label of a token that the loss leaves out


class Objective(ABC):
    """Corrupts sequences, and says what the model learns to predict.

    A subclass is a dataclass. Its fields are flags of `run_pretraining.py`, so the command line constructs it.

    Attributes:
        name: value of `--objective`.
        help: one line of `--help`.
        card_text: what the model learns, as the model card says it.
        measures: names of the measures, in the order in which they are printed.
        needs_targets: whether each token needs the id of a target vocabulary.
        model_class: head for a variant of the family.
        stock_model_class: Auto class for a stock shape.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    card_text: ClassVar[str]
    measures: ClassVar[tuple[str, ...]] = ("loss", "accuracy")
    needs_targets: ClassVar[bool] = False
    model_class: ClassVar[type[PreTrainedModel]]
    stock_model_class: ClassVar[Any]

    @abstractmethod
    def corrupt(
        self, blocks: Integers, targets: Integers | None, donors: Integers, mask: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Returns the corrupted blocks, (n, K), and the labels, (n,), `IGNORED` where nothing is predicted.

        The result depends on the arguments alone. `blocks` is not changed.

        Args:
            blocks: (n, K) elements of ordinary tokens.
            targets: (n,) target ids, or None without `needs_targets`.
            donors: (m, K) tokens of another sequence, m ≥ 1. Replacements are drawn from them.
            mask: (K,) elements of the mask token.
            rng: source of all randomness.
        """

    def config_options(self, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """Returns the arguments that the head needs in a variant's configuration."""
        return {}

    def stock_config_options(self) -> dict[str, Any]:
        """Returns the arguments that the head needs in a stock shape's configuration."""
        return {}

    def measure(self, predictions: Integers, labels: Integers) -> dict[str, float]:
        """Returns the measures besides the loss.

        Args:
            predictions: (n,) predicted class of each labelled token.
            labels: (n,) its label.
        """
        return {"accuracy": float((predictions == labels).mean())}

    def demonstrate(
        self, model: PreTrainedModel, tokenizer: VocablessTokenizer, sentence: str, text: str, seed: int
    ) -> str:
        """Returns a text that shows what the model learned, for the end of a run; "" if there is nothing to show.

        Args:
            model: the trained model.
            tokenizer: its tokenizer.
            sentence: value of `--example`.
            text: a held-out text.
            seed: source of all randomness.
        """
        return ""

    def compute_metrics(self, evaluation: Any) -> dict[str, float]:
        """Returns loss and measures of an evaluation. Each labelled token has the same weight.

        Args:
            evaluation: `predictions`, what `predictions_and_losses` returned, and `label_ids`, all (N, S).
        """
        labels: NDArray[np.int64] = np.asarray(evaluation.label_ids)
        is_labelled = labels != IGNORED
        if not is_labelled.any():
            return {"accuracy": 0.0}
        predictions, losses = (np.asarray(values)[is_labelled] for values in evaluation.predictions)
        loss = float(losses.mean(dtype=np.float64))
        return {EXACT_LOSS: loss, **self.measure(predictions, labels[is_labelled])}


def predictions_and_losses(logits: Tensor | tuple[Tensor, ...], labels: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the most likely class and the loss of each token, both (B, S). So the logits need not be kept.

    Args:
        logits: (B, S, classes), or (labelled tokens, classes) from a sparse masked-LM head.
        labels: (B, S), `IGNORED` where nothing is predicted.
    """
    scores = logits if isinstance(logits, Tensor) else logits[0]
    is_labelled = labels != IGNORED
    if scores.ndim == 3:
        scores = scores[is_labelled]
    predictions = torch.full_like(labels, IGNORED)
    losses = torch.zeros(labels.shape, device=labels.device)
    predictions[is_labelled] = scores.argmax(dim=-1)
    losses[is_labelled] = torch.nn.functional.cross_entropy(scores.float(), labels[is_labelled], reduction="none")
    return predictions, losses
