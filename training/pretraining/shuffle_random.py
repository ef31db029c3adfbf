"""The objective `shuffle-random` (S+R): tell shuffled, replaced and intact words apart.

Source: HashFormers 3.6, which names Yamaguchi et al., *Frustratingly Simple Pretraining Alternatives to Masked Language
Modeling*, 2021. Shares and order of the two corruptions are those of their code.

Replacements are words of real text. Random ids, codewords and bits, as in the authors' code, give themselves away by
their frequency or their number of ones.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from transformers import AutoModelForTokenClassification, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessForPreTraining
from vocabless.tokenization.block_coders import Integers
from vocabless.training.load import is_ours
from vocabless.training.pretraining.tokens import Draws, TokenObjective

INTACT, SHUFFLED, REPLACED = range(3)
SHUFFLED_SHARE = 0.1  # of all tokens
REPLACED_SHARE = 0.1  # of the tokens that are not shuffled
CLASS_NAMES = {INTACT: "intact", SHUFFLED: "shuffled", REPLACED: "replaced"}


@dataclass
class ShuffleRandom(TokenObjective):
    """Gives some positions tokens of a permuted copy of the sequence, and replaces some of the other tokens.

    Labels: 0 intact, 1 shuffled, 2 replaced.

    Differs from the authors' code: replacements are tokens of another text, and a position that received its own token
    is intact.
    """

    name: ClassVar[str] = "shuffle-random"
    card_text: ClassVar[str] = "the detection of shuffled and replaced tokens (S+R)"
    measures: ClassVar[tuple[str, ...]] = (
        *("loss", "accuracy", "majority", "balanced_accuracy"),
        *(f"accuracy_{name}" for name in CLASS_NAMES.values()),
    )
    model_class: ClassVar[type[PreTrainedModel]] = VocablessForPreTraining
    stock_model_class: ClassVar[Any] = AutoModelForTokenClassification

    def corrupt(
        self, blocks: Integers, targets: Integers | None, mask: Integers, draws: Draws
    ) -> tuple[Integers, Integers]:
        """See `TokenObjective.corrupt`."""
        is_shuffled = draws.numbers() < SHUFFLED_SHARE
        is_replaced = (draws.numbers() < REPLACED_SHARE) & ~is_shuffled
        shuffled = np.flatnonzero(is_shuffled)
        corrupted = blocks.copy()
        corrupted[shuffled] = blocks[draws.permuted()[shuffled]]
        corrupted[is_replaced] = draws.replacements(is_replaced)
        labels = np.where(is_shuffled, SHUFFLED, np.where(is_replaced, REPLACED, INTACT))
        changed = np.flatnonzero(labels)
        labels[changed[(corrupted[changed] == blocks[changed]).all(axis=1)]] = INTACT
        return corrupted, labels

    def config_options(self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """Returns the classes of a stock model's head."""
        names = {"id2label": CLASS_NAMES, "label2id": {name: label for label, name in CLASS_NAMES.items()}}
        return {} if is_ours(config) else names

    def measure(self, predictions: Integers, labels: Integers) -> dict[str, float]:
        """Returns the accuracy, the share of the largest class, and the accuracy on each class."""
        shares = {index: float((labels == index).mean()) for index in CLASS_NAMES}
        recalls = {
            name: float((predictions[labels == index] == index).mean())
            for index, name in CLASS_NAMES.items()
            if shares[index]
        }
        return {
            **super().measure(predictions, labels),
            "majority": max(shares.values()),
            **{f"accuracy_{name}": recall for name, recall in recalls.items()},
            "balanced_accuracy": float(np.mean(list(recalls.values()))),
        }
