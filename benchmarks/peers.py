"""The two sides of a comparison: our models, and stock models with a vocabulary that is trained in the benchmark."""
# mypy: allow-untyped-calls

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.stock_shapes import StockShape, load_shape_config, load_shape_tokenizer
from vocabless.training.texts.corpora import load_text
from vocabless.training.texts.sentences import sentences
from vocabless.training.texts.subword import train_subword
from vocabless.variants import Variant


class Side(NamedTuple):
    """A tokenizer and a classifier with two labels, random weights, in evaluation mode."""

    tokenizer: PreTrainedTokenizerBase
    model: PreTrainedModel

    def logits(self, texts: list[str], max_length: int | None = None) -> Callable[[], Any]:
        """Returns a function that tokenizes and classifies a batch of texts."""
        settings = {"padding": True, "truncation": True, "max_length": max_length, "return_tensors": "pt"}
        return lambda: self.forward(self.tokenizer(texts, **settings))()

    def forward(self, inputs: Any) -> Callable[[], Any]:
        """Returns a function that classifies encoded texts."""

        def run() -> Any:
            with torch.inference_mode():
                return self.model(**inputs).logits

        return run


def ours(variant: str | Variant, subword: str | os.PathLike[str] | None = None, **kwargs: Any) -> Side:
    """Returns our side: a variant, by its name or its row."""
    model = VocablessForSequenceClassification(load_config(variant, num_labels=2, **kwargs)).eval()
    return Side(load_tokenizer(variant, subword), model)


def stock(name: str | StockShape, subword: str | os.PathLike[str] | None, max_length: int | None = 512) -> Side:
    """Returns a stock model, for instance `bert-tiny`, with the vocabulary of the file `subword`.

    Args:
        name: a key of `STOCK_SHAPES`, or a row.
        subword: None for a model that reads characters.
        max_length: tokens of a sequence; None is the shape's own length.
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
