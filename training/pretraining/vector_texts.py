"""Texts with a teacher's vectors, as a data set that sentence-transformers trains on."""

from collections.abc import Callable
from itertools import chain
from typing import Any
from uuid import uuid4

import datasets
import numpy as np
import pyarrow as pa
import torch
from datasets.fingerprint import get_temporary_cache_files_directory
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


def ready_blocks(
    texts: datasets.Dataset, tokenizer: PreTrainedTokenizerBase, max_length: int
) -> datasets.Dataset | None:
    """Returns the blocks of texts, found once: a memory-mapped column `blocks`, (tokens, K) uint16 of each, flat.

    None for a tokenizer of another family.

    Args:
        texts: with a column `text`.
        tokenizer: that of the student.
        max_length: tokens of a text; the rest is cut off.
    """
    if not isinstance(tokenizer, VocablessTokenizer):
        return None

    def add(batch: dict[str, list[str]]) -> pa.Table:
        inputs = tokenizer(batch["text"], max_length=max_length, truncation=True, padding=True, return_tensors="np")
        is_token = inputs["attention_mask"].astype(bool)
        offsets = np.append(0, np.cumsum(is_token.sum(axis=1))) * tokenizer.block_size
        blocks = inputs["input_ids"][is_token].astype(np.uint16).ravel()
        return pa.table({"blocks": pa.LargeListArray.from_arrays(offsets, blocks)})

    name = uuid4().hex
    file = f"{get_temporary_cache_files_directory()}/{name}.arrow"
    options: dict[str, Any] = {"remove_columns": texts.column_names, "cache_file_name": file, "new_fingerprint": name}
    return texts.map(add, batched=True, desc="Blocks", **options)


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
        groups: (n,) the group of each vector, whose mean is taken from it, see `mean_vectors`; None takes nothing.
        misspell_probability: share of the words that the student reads misspelt, 0–1. Each epoch has other ones.
        seed: source of all randomness, with the epoch and the number of the example.
        blocks: n rows, see `ready_blocks`; None gives the texts themselves. Misspelt texts have none.
    """

    def __init__(
        self,
        texts: datasets.Dataset,
        vectors: datasets.Dataset,
        targets: NDArray[np.int64],
        length_of: Callable[[list[str]], list[int]],
        rows: NDArray[np.int64] | None = None,
        groups: NDArray[np.int64] | None = None,
        misspell_probability: float = 0.0,
        seed: int = 0,
        blocks: datasets.Dataset | None = None,
    ) -> None:
        self._texts = texts.with_format("arrow")
        self._vectors = vectors.with_format("arrow")
        self._blocks = None if blocks is None else blocks.with_format("arrow")
        self._targets = targets
        self._rows = np.arange(len(texts)) if rows is None else rows
        self._groups = groups
        self.means = None if groups is None else mean_vectors(vectors, groups)  # (groups, vector size)
        self._misspell_probability = misspell_probability
        self._seed = seed
        self._epoch = 0
        batches = (length_of(batch["text"]) for batch in texts.iter(batch_size=TEXTS_AT_ONCE))
        self._lengths = np.fromiter(chain.from_iterable(batches), np.int64, len(texts))

    def dataset(self) -> datasets.Dataset:
        """Returns the examples, see `__call__`, and their `length` where the data set has no format."""
        columns = {"example": np.arange(len(self._rows)), "length": self._lengths[self._rows]}
        return datasets.Dataset.from_dict(columns).with_transform(self)

    def __call__(self, batch: dict[str, list[int]]) -> dict[str, list[Any]]:
        """Returns the texts, or their blocks, and the labels, (vector size,) each, of examples."""
        rows = self._rows[batch["example"]]
        targets = self._targets[rows]
        numbers = self._vectors[targets]["vector"].combine_chunks().flatten().to_numpy()
        vectors = numbers.reshape(len(targets), -1).astype(np.float32)
        if self.means is not None and self._groups is not None:
            vectors = unit_vectors(vectors) - self.means[self._groups[targets]]
        labels = list(torch.from_numpy(vectors))
        if self._blocks is not None:
            blocks = self._blocks[rows]["blocks"].combine_chunks()
            starts = blocks.offsets.to_numpy()[1:-1] - blocks.offsets[0].as_py()
            return {"blocks": np.split(blocks.flatten().to_numpy(), starts), "label": labels}
        texts: list[str] = self._texts[rows]["text"].to_pylist()
        if self._misspell_probability:
            rngs = (np.random.default_rng((self._seed, self._epoch, example)) for example in batch["example"])
            texts = [misspell(text, self._misspell_probability, rng) for text, rng in zip(texts, rngs, strict=True)]
        return {"text": texts, "label": labels}

    def on_epoch_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """See `TrainerCallback`."""
        self._epoch = int(state.epoch or 0)
