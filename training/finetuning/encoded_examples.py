"""Tokenised examples with their targets."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

from vocabless.training.distillation.alignment import first_tokens
from vocabless.training.finetuning.base_problem import IGNORED, Problem
from vocabless.training.finetuning.task_files import Examples

TOKENIZER_BATCH_SIZE = 1000  # texts


class EncodedExamples(Dataset[dict[str, Any]]):
    """A data set of token ids and targets in memory. The collator of the problem pads them batch by batch.

    Attributes:
        scored_words: for each example, the indices of the words that have a token in the sequence, in the order of
            their tokens; empty if the problem is not per word.
    """

    def __init__(
        self, examples: Examples, problem: Problem, tokenizer: PreTrainedTokenizerBase, max_seq_length: int
    ) -> None:
        self.scored_words: list[list[int]] = []
        self._inputs: list[dict[str, Any]] = []
        for start in range(0, len(examples), TOKENIZER_BATCH_SIZE):
            batch = examples.select(range(start, min(start + TOKENIZER_BATCH_SIZE, len(examples))))
            encoding = tokenizer(
                batch.texts,
                batch.pairs,
                truncation=True,
                max_length=max_seq_length,
                is_split_into_words=problem.per_word,
                return_attention_mask=False,
            )
            for index in range(len(batch)):
                inputs = {name: _compact(values[index]) for name, values in encoding.items()}
                target = None if batch.labels is None else problem.target(batch.labels[index])
                if problem.per_word:
                    inputs["labels"], words = align_labels(encoding.word_ids(index), target)
                    self.scored_words.append(words)
                elif target is not None:
                    inputs["label"] = target
                self._inputs.append(inputs)

    def __len__(self) -> int:
        return len(self._inputs)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return dict(self._inputs[index])


def align_labels(word_ids: Sequence[int | None], target: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """Returns the labels of the tokens, and the words that have a token.

    Args:
        word_ids: the word of each token, None for special tokens.
        target: the label of each word. None gives label 0: a prediction needs to know which tokens to read.

    Example:
        The first token of a word gets the word's label; other tokens are ignored.

        >>> align_labels([None, 0, 0, 1, None], [2, 5])
        ([-100, 2, -100, 5, -100], [0, 1])
    """
    positions = first_tokens(word_ids)
    labels = [IGNORED] * len(word_ids)
    for word, position in positions.items():
        labels[position] = 0 if target is None else target[word]
    return labels, list(positions)


def _compact(values: Any) -> NDArray[Any] | list[int]:
    """Returns blocks (S, K) as uint16 to save memory, and other token ids unchanged."""
    return np.asarray(values, np.uint16) if len(values) and not np.isscalar(values[0]) else values
