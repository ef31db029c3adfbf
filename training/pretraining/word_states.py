"""The objective of `python -m vocabless.conversion encoder --distill`: the hidden states of an original model.

The original reads subwords. The target of a word is the mean of the original's states of its subwords, see
`alignment_weights`. The loss of a layer is the mean squared difference between states and targets, divided by the mean
square of the targets. The loss of a batch is the mean over all layers and the embeddings. Neither model uses dropout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessModel, VocablessTokenizer
from vocabless.modeling.stock_encoders import max_tokens
from vocabless.training.distillation.alignment import align
from vocabless.training.pretraining.documents import Documents
from vocabless.training.pretraining.objective import Objective
from vocabless.training.task import ExampleSets
from vocabless.training.texts.sentences import sentences

SPECIAL_PER_TEXT = 2  # [CLS] and [SEP]


@dataclass
class WordStates(Objective):
    """Gives each word the hidden states that the original gives it."""

    name: ClassVar[str] = "word-states"
    card_text: ClassVar[str] = "learning the hidden states of an original model"
    measures: ClassVar[tuple[str, ...]] = ("loss", "cosine", "mean_state_baseline", "words")
    model_class: ClassVar[type[PreTrainedModel]] = VocablessModel
    stock_model_class: ClassVar[Any] = AutoModel

    model: VocablessModel
    tokenizer: VocablessTokenizer
    original: PreTrainedModel  # a stock model with the same number of layers and the same width
    original_tokenizer: PreTrainedTokenizerBase
    train_encoder: bool = False  # or only the front end

    def load_model(self, data: Documents) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Returns the model and its tokenizer.

        Raises:
            ValueError: there is nothing to train, or the model has too few positions.
        """
        length, limit = self.arguments.max_seq_length, self.model.max_tokens
        if length > limit:
            raise ValueError(f"--max_seq_length is {length} but the model has {limit} positions; give at most {limit}.")
        if not self.train_encoder and not any(True for _ in self.model.front_end.parameters()):
            raise ValueError(
                f"the front end {self.model.config.front_end!r} has no parameters to train; add --train_encoder, or "
                "give a variant with another front end."
            )
        return self.model, self.tokenizer

    def build_examples(self, data: Documents, tokenizer: PreTrainedTokenizerBase) -> ExampleSets:
        """Returns passages: at most as many as the steps need, and held-out ones from other documents."""
        arguments, training = self.arguments, self.training
        max_words = arguments.max_seq_length - SPECIAL_PER_TEXT
        numbers = (training.max_steps * training.per_device_train_batch_size, arguments.max_eval_samples)
        train, held_out = (
            list(islice(passages(documents.shuffle(seed=training.seed), self.tokenizer, max_words), number))
            for documents, number in zip((data.train[0], data.held_out), numbers, strict=True)
        )
        if not train or not held_out:
            raise ValueError(f"the text {(arguments.corpus or [''])[0]!r} has too few words; give more.")
        collator = partial(
            align,
            tokenizer=self.tokenizer,
            subword_tokenizer=self.original_tokenizer,
            max_words=arguments.max_seq_length,
            max_subwords=max_tokens(self.original),
        )
        return ExampleSets(train, {"": held_out}, collator, measure)

    def module_to_train(self, model: PreTrainedModel, examples: ExampleSets) -> nn.Module:
        """Returns the model beside the original."""
        model.requires_grad_(self.train_encoder)
        self.model.front_end.requires_grad_(True)
        return WordStudent(model, self.original.requires_grad_(False).eval())


class WordStudent(nn.Module):
    """A model that learns the states of an original, which is no part of its parameters."""

    def __init__(self, model: PreTrainedModel, original: PreTrainedModel) -> None:
        super().__init__()
        self.model = model
        self._original = (original,)

    def train(self, mode: bool = True) -> WordStudent:
        """Turns dropout off, also in training; gradients are still computed."""
        return super().train(False)

    def forward(
        self, words: dict[str, Tensor], subwords: dict[str, Tensor], weights: Tensor, labels: Tensor
    ) -> dict[str, Tensor]:
        """Returns the `loss`, and the last states of the words and their targets, both (B, S, D); see `align`."""
        is_aligned = labels == 1
        original = self._original[0].to(weights.device)  # type: ignore[arg-type]
        with torch.no_grad():
            subword_states = original(**subwords, output_hidden_states=True).hidden_states  # (B, P, D) each
        states = self.model(**words, output_hidden_states=True).hidden_states  # (B, S, D) each
        losses = []
        for state, subword_state in zip(states, subword_states, strict=True):
            target = weights @ subword_state
            error = F.mse_loss(state[is_aligned], target[is_aligned])
            losses.append(error / target[is_aligned].square().mean())
        return {"loss": torch.stack(losses).mean(), "states": states[-1], "targets": target}


def measure(evaluation: Any) -> dict[str, float]:
    """Returns the mean cosine of states and targets, the mean-state baseline and the number of words.

    The baseline is the mean cosine if each word had the same state, the mean of the normalised targets. The evaluation
    has `predictions`, states and targets (N, S, D), and `label_ids`, (N, S), 1 for words with a target.
    """
    is_aligned = np.asarray(evaluation.label_ids) == 1
    states, targets = (torch.from_numpy(np.asarray(part)[is_aligned]) for part in evaluation.predictions)
    mean_target = F.normalize(targets).mean(dim=0, keepdim=True)
    return {
        "cosine": F.cosine_similarity(states, targets).mean().item(),
        "mean_state_baseline": F.cosine_similarity(mean_target, targets).mean().item(),
        "words": len(targets),
    }


def passages(documents: Iterable[Any], tokenizer: VocablessTokenizer, max_words: int) -> Iterator[str]:
    """Yields passages of whole sentences with at most `max_words` words; a longer sentence is one passage."""
    for document in documents:
        passage, num_words = "", 0
        for sentence in sentences(document["text"] or ""):
            sentence_words = len(tokenizer.unit_splitter.units(sentence))
            if passage and num_words + sentence_words > max_words:
                yield passage
                passage, num_words = "", 0
            if sentence_words:
                passage += sentence
                num_words += sentence_words
        if passage:
            yield passage
