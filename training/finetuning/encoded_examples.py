"""Examples as a model reads them: tokenised once, padded batch by batch."""
# mypy: allow-untyped-calls

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

from vocabless.training.finetuning.problems import IGNORED, Problem, Tagging
from vocabless.training.finetuning.tasks import Examples

TEXTS_AT_A_TIME = 1000


class EncodedExamples(Dataset[dict[str, Any]]):
    """A data set of tokens and targets, in memory; blocks are kept in the few bytes that they need.

    Attributes:
        word_ids: of tags: for each example, the words whose first token is there to bear one.
    """

    def __init__(
        self, examples: Examples, problem: Problem, tokenizer: PreTrainedTokenizerBase, max_seq_length: int
    ) -> None:
        self.word_ids: list[list[int]] = []
        self._rows: list[dict[str, Any]] = []
        is_tagging = isinstance(problem, Tagging)
        for start in range(0, len(examples), TEXTS_AT_A_TIME):
            part = examples.select(range(start, min(start + TEXTS_AT_A_TIME, len(examples))))
            encoded = tokenizer(
                part.texts,
                part.pairs,
                truncation=True,
                max_length=max_seq_length,
                is_split_into_words=is_tagging,
                return_attention_mask=False,
            )
            for index in range(len(part)):
                row = {name: _compact(values[index]) for name, values in encoded.items()}
                target = None if part.labels is None else problem.target(part.labels[index])
                if is_tagging:
                    row["labels"] = self._lay_on_tokens(encoded.word_ids(index), target)
                elif target is not None:
                    row["label"] = target
                self._rows.append(row)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return dict(self._rows[index])

    def _lay_on_tokens(self, word_ids: list[int | None], target: list[int] | None) -> list[int]:
        """Returns a tag, 0 if there is no target, for the first token of each word, and none for other tokens."""
        labels, seen = [], dict[int, None]()
        for word in word_ids:
            is_first = word is not None and word not in seen
            labels.append((0 if target is None else target[word]) if is_first and word is not None else IGNORED)
            if word is not None:
                seen[word] = None
        self.word_ids.append(list(seen))
        return labels


def _compact(values: Any) -> NDArray[Any] | list[int]:
    """Returns blocks (S, K) as uint16, other ids as they are."""
    return np.asarray(values, np.uint16) if len(values) and not np.isscalar(values[0]) else values
