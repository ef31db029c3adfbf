"""Texts with a teacher's vectors, as a data set that sentence-transformers trains on."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase, TrainerCallback, TrainerState

from vocabless import VocablessTokenizer
from vocabless.texts.misspellings import misspell
from vocabless.training.pretraining.measures import unit_vectors

TEXTS_AT_ONCE = 10_000


def token_counter(tokenizer: PreTrainedTokenizerBase) -> Callable[[list[str]], list[int]]:
    """Returns a function that counts the units of texts, or their characters for a tokenizer of another family."""
    if isinstance(tokenizer, VocablessTokenizer):
        splitter = tokenizer.unit_splitter
        return lambda texts: list(map(len, splitter.units_of_batch(texts)))
    return lambda texts: list(map(len, texts))


def mean_vectors(vectors: datasets.Dataset, groups: NDArray[np.int64]) -> NDArray[np.float32]:
    """Returns the mean of the column `vector` in each group, (groups, vector size), each vector divided by its length.

    Args:
        vectors: with a column `vector`, n rows.
        groups: (n,) the number of the group of each vector, from 0 on, without a gap.
    """
    totals = np.zeros((groups.max() + 1, vectors.features["vector"].length))
    for start, batch in enumerate(vectors.with_format("numpy").iter(batch_size=TEXTS_AT_ONCE)):
        rows = groups[start * TEXTS_AT_ONCE :][: len(batch["vector"])]
        np.add.at(totals, rows, unit_vectors(batch["vector"]))
    return (totals / np.bincount(groups)[:, None]).astype(np.float32)


class VectorTexts(TrainerCallback):
    """Gives the examples of `dataset` their text and the teacher's vector when they are read.

    It is a callback of the Trainer, which tells the epoch.

    Args:
        texts: with a column `text`, n rows.
        vectors: with a column `vector`, see `teacher.add_vectors`.
        targets: (n,) the row in `vectors` of each text.
        length_of: returns the length of each text of a list, in any unit.
        rows: (examples,) the row in `texts` of each example; None takes each text once.
        means: (groups, vector size) taken from the vectors of length 1, see `mean_vectors`; None changes no vector.
        groups: (n,) the row in `means` of each vector; None takes the first for all.
        misspell_probability: share of the words that the student reads misspelt, 0–1. Each epoch has other ones.
        seed: source of all randomness, with the epoch and the number of the example.
    """

    def __init__(
        self,
        texts: datasets.Dataset,
        vectors: datasets.Dataset,
        targets: NDArray[np.int64],
        length_of: Callable[[list[str]], list[int]],
        rows: NDArray[np.int64] | None = None,
        means: NDArray[np.float32] | None = None,
        groups: NDArray[np.int64] | None = None,
        misspell_probability: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._texts = texts.with_format("arrow")
        self._vectors = vectors.with_format("arrow")
        self._targets = targets
        self._rows = np.arange(len(texts)) if rows is None else rows
        self.means = means
        self._groups = np.zeros(len(vectors), np.int64) if groups is None else groups
        self._misspell_probability = misspell_probability
        self._seed = seed
        self._epoch = 0
        batches = (length_of(batch["text"]) for batch in texts.iter(batch_size=TEXTS_AT_ONCE))
        self._lengths = np.fromiter(chain.from_iterable(batches), np.int64, len(texts))

    def dataset(self) -> datasets.Dataset:
        """Returns the examples: `text` and `label` of each, and their `length` where the data set has no format."""
        columns = {"example": np.arange(len(self._rows)), "length": self._lengths[self._rows]}
        return datasets.Dataset.from_dict(columns).with_transform(self)

    def __call__(self, batch: dict[str, list[int]]) -> dict[str, list[Any]]:
        """Returns the texts and the labels, (vector size,) each, of examples."""
        rows = self._rows[batch["example"]]
        targets = self._targets[rows]
        texts: list[str] = self._texts[rows]["text"].to_pylist()
        numbers = self._vectors[targets]["vector"].combine_chunks().flatten().to_numpy()
        vectors = numbers.reshape(len(targets), -1).copy()  # torch takes no array that is read-only
        if self.means is not None:
            vectors = unit_vectors(vectors) - self.means[self._groups[targets]]
        if self._misspell_probability:
            rngs = (np.random.default_rng((self._seed, self._epoch, example)) for example in batch["example"])
            texts = [misspell(text, self._misspell_probability, rng) for text, rng in zip(texts, rngs, strict=True)]
        return {"text": texts, "label": list(torch.from_numpy(vectors))}

    def on_epoch_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """See `TrainerCallback`."""
        self._epoch = int(state.epoch or 0)
