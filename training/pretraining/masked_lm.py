"""The objective `mlm`: predict masked tokens over the vocabulary of a target tokenizer. Source: EELBERT 4.1."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForMaskedLM, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import MaskedLMOutput

from vocabless import VocablessForMaskedLM
from vocabless.tokenization.block_coders import Integers
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.load import is_ours
from vocabless.training.pretraining.objective import Examples
from vocabless.training.pretraining.packing import IGNORE_INDEX
from vocabless.training.pretraining.tokens import Draws, TokenObjective
from vocabless.training.script import Limit, flag
from vocabless.training.trainer import ResumableTrainer


@dataclass
class MaskedLM(TokenObjective):
    """Chooses some tokens and labels them with their target ids.

    Of the chosen tokens 80 % become [MASK], 10 % a random token, and 10 % stay. All tokens of the vocabulary are
    equally likely (Devlin et al., A.1); a random word, of which there is no vocabulary, is one of real text.
    """

    name: ClassVar[str] = "mlm"
    card_text: ClassVar[str] = "masked language modelling"
    needs_targets: ClassVar[bool] = True
    model_class: ClassVar[type[PreTrainedModel]] = VocablessForMaskedLM
    stock_model_class: ClassVar[Any] = AutoModelForMaskedLM

    mlm_probability: float = flag(
        0.15, "mlm: share of tokens to predict, 0–1.", limit=Limit(0, 1, above=True), group="what the model learns"
    )
    mark_documents: bool = flag(
        False,
        "mlm over subwords: [CLS] and [SEP] are around each document in place of each sequence, and what is left of a "
        "batch of documents behind its last full sequence is dropped, as in transformers' run_mlm.py.",
    )

    def corrupt(
        self, blocks: Integers, targets: Integers | None, mask: Integers, draws: Draws
    ) -> tuple[Integers, Integers]:
        """See `TokenObjective.corrupt`."""
        assert targets is not None
        chosen = (draws.numbers() < self.mlm_probability) & (targets != IGNORE_INDEX)
        numbers = draws.numbers()
        is_replaced = chosen & (numbers >= 0.9)
        corrupted = blocks.copy()
        corrupted[chosen & (numbers < 0.8)] = mask
        corrupted[is_replaced] = draws.replacements(is_replaced)
        return corrupted, np.where(chosen, targets, IGNORE_INDEX)

    def config_options(self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """Returns the size of the target vocabulary; logits are computed for the labelled tokens alone."""
        if not is_ours(config):
            return {}
        assert isinstance(tokenizer, VocablessTokenizer) and tokenizer.target_tokenizer is not None
        return {"target_vocab_size": tokenizer.target_tokenizer.get_vocab_size(), "sparse_prediction": True}

    def build_trainer(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: Examples
    ) -> ResumableTrainer:
        """See `Objective.build_trainer`. A stock model predicts the labelled tokens alone, too, as a variant does."""
        if not is_ours(model.config):
            model.forward = partial(predict_labelled, model)
        return super().build_trainer(model, tokenizer, examples)


def predict_labelled(model: PreTrainedModel, labels: Tensor, **inputs: Any) -> MaskedLMOutput:
    """Returns the loss of a stock masked LM, and its logits of the labelled tokens alone, (labelled tokens, classes).

    Six of seven tokens have no label, and the layer over the vocabulary is most of a small model's work. Without a
    label the loss is 0.
    """
    (head,) = (child for child in model.children() if child is not model.base_model)
    is_labelled = labels != IGNORE_INDEX
    logits = head(model.base_model(**inputs)[0][is_labelled])
    loss = F.cross_entropy(logits.float(), labels[is_labelled], reduction="sum") / is_labelled.sum().clamp(min=1)
    return MaskedLMOutput(loss=loss, logits=logits)
