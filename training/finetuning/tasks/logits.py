"""What a model says of rows of token ids, and of the sentences that a classifier reads beside a text."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers.utils import logging

from vocabless.modeling.sentences import ODDS, join_sentences, sentences_of
from vocabless.training.finetuning.tasks.data import WEIGHT, EncodedRows, Rows, sample_rows

BATCH_SIZE = 64  # texts
MEAN_ROWS = 1000  # of the training rows, whose mean direction is that of all
SILENT_SECONDS = 2  # of work, after which it shows a bar
Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class TextLogits:
    """What a model says of n texts, and of the m sentences that it reads beside them; it may read none."""

    texts: Vectors  # (n, outputs), of the whole texts
    sentences: Vectors  # (m, outputs)
    places: Rows  # (m,), the text of each sentence

    @classmethod
    def of_model(
        cls,
        model: Any,
        rows: EncodedRows,
        collator: Any,
        reads_sentences: bool | None,
        learned: EncodedRows | None = None,
    ) -> "TextLogits":
        """Returns the logits of n rows of token ids by a model that joins none itself.

        If the rows that it has learned are given, the last output is the typicality, see `logits_of`.
        """
        typical = None if learned is None else mean_direction(model, learned, collator)
        texts = logits_of(model, rows, collator, typical)
        places, sentences = sentence_rows(rows, range(len(rows))) if reads_sentences else sentence_rows(rows, [])
        return cls(texts, logits_of(model, sentences, collator, typical) if sentences else texts[:0], places)

    @classmethod
    def of_parts(cls, parts: Sequence[tuple[Rows, "TextLogits"]]) -> "TextLogits":
        """Returns the logits of texts that come in parts, each with the numbers of its texts, in their order."""
        rows = np.concatenate([of_part for of_part, _ in parts])
        places = [np.searchsorted(np.sort(rows), of_part[part.places]) for of_part, part in parts]
        texts = np.concatenate([part.texts for _, part in parts])[np.argsort(rows)]
        return cls(texts, np.concatenate([part.sentences for _, part in parts]), np.concatenate(places))

    @classmethod
    def read(cls, file: Path) -> list["TextLogits"]:
        """Returns the logits of several models for the same texts that `write` has written."""
        with np.load(file) as arrays:
            return [cls(*both, arrays["places"]) for both in zip(arrays["texts"], arrays["sentences"], strict=True)]

    @staticmethod
    def write(file: Path, logits: Sequence["TextLogits"]) -> None:
        """Writes the logits of several models for the same texts; a file that is there is whole."""
        texts, sentences = (np.stack([getattr(each, name) for each in logits]) for name in ("texts", "sentences"))
        new = file.with_suffix(".new.npz")
        np.savez(new, texts=texts, sentences=sentences, places=logits[0].places)
        os.replace(new, file)

    def select(self, rows: Rows) -> "TextLogits":
        """Returns the logits of some of the texts, whose numbers are sorted."""
        kept = np.isin(self.places, rows)
        return TextLogits(self.texts[rows], self.sentences[kept], np.searchsorted(rows, self.places[kept]))

    def split(self) -> tuple["TextLogits", "TextLogits"]:
        """Returns the logits, and apart from them the last outputs: those of `logits_of` with a typical direction."""
        parts = (slice(None, -1), slice(-1, None))
        logits, last = (replace(self, texts=self.texts[:, p], sentences=self.sentences[:, p]) for p in parts)
        return logits, last

    def joined(self, temperature: float = 1.0) -> Vectors:
        """Returns the logits (n, outputs) of the saved model, whose head is divided by the temperature."""
        return join_sentences(self.texts / temperature, self.sentences / temperature, self.places, ODDS)

    def sentence_errors(self, targets: Rows) -> Vectors:
        """Returns 1 for each text that its sentences make wrong, −1 for one that they make right, else 0.

        Args:
            targets: (n,), the class of each text.
        """
        joined, whole = (logits.argmax(axis=-1) == targets for logits in (self.joined(), self.texts))
        return np.asarray(whole.astype(np.float64) - joined)


def sentence_rows(rows: EncodedRows, chosen: Sequence[int] | Rows) -> tuple[Rows, EncodedRows]:
    """Returns the sentences of the chosen rows that have more than one: the row of each, (n,), and its token ids."""
    found = [
        (row, sentence[sentence[:, 0] > 0])
        for row in chosen
        for _, sentences in sentences_of(np.asarray(rows[row]["input_ids"], np.int64)[None])
        for sentence in sentences
    ]
    return np.asarray([row for row, _ in found], np.int64), [{"input_ids": sentence} for _, sentence in found]


def logits_of(model: Any, rows: EncodedRows, collator: Any, typical: Vectors | None = None) -> Vectors:
    """Returns the logits of n rows, (n, outputs); see `compute`.

    With a typical direction, see `mean_direction`, its dot product with that of each row is a last output.
    """
    if typical is None:
        return compute(model, rows, collator, lambda outputs: outputs.logits)
    mean = torch.from_numpy(typical).float().to(model.device)
    with _directions(model) as directions:

        def choose(outputs: Any) -> Tensor:
            return torch.cat([outputs.logits, (directions() * mean).sum(dim=-1, keepdim=True)], dim=-1)

        return compute(model, rows, collator, choose)


def mean_direction(model: Any, rows: EncodedRows, collator: Any) -> Vectors:
    """Returns the mean of what `PooledHead.directions` gives for rows that a model has learned, or for some of many."""
    with _directions(model) as directions:
        drawn = [rows[row] for row in sample_rows(len(rows), MEAN_ROWS)]
        return np.asarray(compute(model, drawn, collator, lambda _: directions()).mean(0))


@contextmanager
def inputs_of(layer: Any) -> Iterator[list[Tensor]]:
    """Yields a list that has what a layer has read last, (B, D)."""
    inputs: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, read: inputs.__setitem__(slice(None), [read[0]]))
    try:
        yield inputs
    finally:
        hook.remove()


@contextmanager
def _directions(model: Any) -> Iterator[Callable[[], Tensor]]:
    """Yields what returns the directions (B, D) of the texts that the model has read last."""
    head = model.classifier
    with inputs_of(head.dense) as pooled:
        yield lambda: head.directions(pooled[0], head.activate(pooled[0]))


@torch.no_grad()
def compute(model: Any, rows: EncodedRows, collator: Any, choose: Callable[[Any], Tensor]) -> Vectors:
    """Returns (n, D) of n rows, in evaluation mode; those of similar length are read together.

    The collator pads a batch, of which the model gets what the tokenizer made. `choose` takes the model's outputs and
    returns (B, D).
    """
    was_training = model.training
    model.eval()
    result: Vectors | None = None  # small arrays of all batches would keep the memory between them from being freed
    for indices, batch in batches(rows, collator):
        inputs = {name: batch[name].to(model.device) for name in batch if name not in ("labels", WEIGHT)}
        found = choose(model(**inputs)).double().cpu().numpy()
        result = np.empty((len(rows), found.shape[1])) if result is None else result
        result[indices] = found
    model.train(was_training)
    assert result is not None
    return result


def batches(rows: EncodedRows, collator: Any) -> Iterator[tuple[Rows, Any]]:
    """Yields the indices of up to `BATCH_SIZE` rows of similar length, and what the collator makes of them.

    The longest rows come first: the others fit into the memory that they leave. A bar appears if that takes seconds.
    """
    order = np.argsort([len(row["input_ids"]) for row in rows], kind="stable")
    with logging.tqdm(total=len(order), desc="Texts", delay=SILENT_SECONDS, leave=False) as bar:
        for start in reversed(range(0, len(order), BATCH_SIZE)):
            indices = order[start : start + BATCH_SIZE]
            yield indices, collator([rows[index] for index in indices])
            bar.update(len(indices))
