"""The two sides of a comparison: our models, and stock models with a vocabulary that is trained in the benchmark."""

import copy
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from benchmarks.measure import Run, run_all, seconds_in_turns
from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.stock_shapes import StockShape, load_shape_config, load_shape_tokenizer
from vocabless.training.texts.corpora import load_text
from vocabless.training.texts.sentences import sentences
from vocabless.training.texts.subword import train_subword
from vocabless.variants import Variant


class Side(NamedTuple):
    """A tokenizer and a model in evaluation mode: mostly a classifier with two labels and random weights."""

    tokenizer: Any  # ours, or a stock one
    model: PreTrainedModel

    def encode(self, texts: Sequence[str], max_length: int | None = None) -> Any:
        """Returns a batch of texts, as long as its longest one."""
        settings = {"padding": True, "truncation": True, "max_length": max_length, "return_tensors": "pt"}
        return self.tokenizer(list(texts), **settings)

    def from_text(self, texts: Sequence[str], max_length: int | None = None) -> Run:
        """Returns a function that tokenizes a batch of texts and runs the model."""
        return lambda: self.forward(self.encode(texts, max_length))()

    def forward(self, inputs: Any) -> Run:
        """Returns a function that runs the model on encoded texts."""

        def run() -> Any:
            with torch.inference_mode():
                return self.model(**inputs)

        return run

    def passes(self, texts: Sequence[str], batch_size: int, with_tokenizer: bool = True) -> Run:
        """Returns a function that runs the model on all texts, which without the tokenizer are encoded only once."""
        batches = [texts[start : start + batch_size] for start in range(0, len(texts), batch_size)]
        return run_all(
            [self.from_text(batch) if with_tokenizer else self.forward(self.encode(batch)) for batch in batches]
        )

    def forget(self) -> None:
        """Empties what the tokenizer and the front end of our side remember of units."""
        owners: list[Any] = [self.tokenizer, getattr(self.model.base_model, "front_end", None)]
        for owner in owners:
            if hasattr(owner, "_cache"):
                owner._cache = copy.deepcopy(owner._cache)  # the copy is empty


def milliseconds_per_text(
    sides: Sequence[Side], texts: Sequence[str], batch_size: int, rounds: int, with_tokenizer: bool, is_anew: bool
) -> list[float]:
    """Returns the median time of each side in milliseconds per text, measured in turns.

    A batch is as long as its longest text. With `is_anew`, every unit is hashed again: tokenizer and front end then
    remember nothing.
    """
    runs = [side.passes(texts, batch_size, with_tokenizer) for side in sides]
    measured = seconds_in_turns(runs, rounds, [side.forget for side in sides] if is_anew else ())
    return [1000 * statistics.median(seconds) / len(texts) for seconds in measured]


def ours(variant: str | Variant, subword: str | os.PathLike[str] | None = None, **kwargs: Any) -> Side:
    """Returns our side: a variant, by its name or its row."""
    model = VocablessForSequenceClassification(load_config(variant, num_labels=2, **kwargs)).eval()
    return Side(load_tokenizer(variant, subword), model)


def stock(name: str | StockShape, subword: str | os.PathLike[str] | None, max_length: int | None = 512) -> Side:
    """Returns a stock model, a key of `STOCK_SHAPES` or a row, with the vocabulary of the file `subword`.

    `subword` None is for a model that reads characters. `max_length` None is the shape's own length.
    """
    tokenizer = load_shape_tokenizer(name, subword, max_length)
    config = load_shape_config(name, len(tokenizer), max_length, num_labels=2)
    return Side(tokenizer, AutoModelForSequenceClassification.from_config(config).eval())


def original(variant: str, subword: str | os.PathLike[str]) -> Side:
    """Returns the original of an `ewe-*-base` variant: BERT or ALBERT with `subword`, or CANINE over characters."""
    kind = variant.split("-")[1]
    return stock(f"{kind}-base", None if kind == "canine" else subword, max_length=None)


def vocabulary(documents: Dataset, kind: str, size: int, folder: str | os.PathLike[str]) -> str:
    """Trains a subword vocabulary of `size` tokens on the documents and returns its file."""
    file = Path(folder) / f"{kind}.json"
    train_subword(documents, kind, size).save(str(file))
    return str(file)


def read(corpus: str, documents: int) -> Dataset:
    """Returns the first documents of a corpus."""
    dataset = load_text(corpus)
    assert isinstance(dataset, Dataset)
    return dataset.select(range(min(documents, len(dataset))))


def sentences_of(documents: Dataset, count: int, min_words: int = 5) -> list[str]:
    """Returns the first `count` sentences that have at least `min_words` words."""
    chosen = []
    for text in documents["text"]:
        chosen += [sentence.strip() for sentence in sentences(text) if len(sentence.split()) >= min_words]
        if len(chosen) >= count:
            break
    return chosen[:count]


def words_of(texts: list[str]) -> int:
    """Returns the number of words, separated by white space."""
    return sum(len(text.split()) for text in texts)
