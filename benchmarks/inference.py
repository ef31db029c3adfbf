"""Speed from text to logits, compared with the stock encoder of the same shape, and of onnxruntime with eager torch.

    python -m benchmarks.inference                       # tiny shapes and onnxruntime, minutes
    python -m benchmarks.inference --size base           # base shapes, many minutes on a CPU

Weights are random, because the speed does not depend on them. A ratio is our texts/s divided by the peer's.
"""

import os
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from benchmarks import measure
from benchmarks.measure import Comparison, Run, run_all
from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.conversion.onnx import write_graphs
from vocabless.conversion.onnx_export.graph import INPUT, run_session, session_of
from vocabless.stock_shapes import StockShape, load_shape_config, load_shape_tokenizer
from vocabless.variants import Variant

BATCH = 32
LONG_TEXT = 100  # words: they fit into 128 units and into 2 048 characters
EXAMPLE = "The quick brown fox jumps over the lazy dog, and nobody minds it."


class Side(NamedTuple):
    """A tokenizer and a model in evaluation mode: a classifier with two labels and random weights."""

    tokenizer: Any  # ours, or a stock one
    model: PreTrainedModel

    def forward(self, inputs: Any) -> Run:
        """Returns a function that runs the model on encoded texts."""

        def run() -> Any:
            with torch.inference_mode():
                return self.model(**inputs)

        return run

    def passes(self, texts: Sequence[str], batch_size: int, max_length: int | None = None) -> Run:
        """Returns a function that tokenizes the texts in batches and runs the model on them."""
        settings = {"padding": True, "truncation": True, "max_length": max_length, "return_tensors": "pt"}

        def run(batch: Sequence[str]) -> None:
            self.forward(self.tokenizer(list(batch), **settings))()

        return run_all([partial(run, texts[start : start + batch_size]) for start in range(0, len(texts), batch_size)])


def ours(variant: str | Variant, subword: str | os.PathLike[str] | None = None) -> Side:
    """Returns our side: a variant, by its name or its row."""
    model = VocablessForSequenceClassification(load_config(variant, num_labels=2)).eval()
    return Side(load_tokenizer(variant, subword), model)


def stock(name: str | StockShape, subword: str | os.PathLike[str] | None, max_length: int | None = 512) -> Side:
    """Returns a stock model, a key of `STOCK_SHAPES` or a row, with the vocabulary of the file `subword`.

    `subword` None is for a model that reads characters. `max_length` None is the shape's own length.
    """
    tokenizer = load_shape_tokenizer(name, subword, max_length)
    config = load_shape_config(name, len(tokenizer), max_length, num_labels=2)
    return Side(tokenizer, AutoModelForSequenceClassification.from_config(config).eval())


def from_text(name: str, side: Side, peer: Side, texts: list[str], batch_size: int, rounds: int) -> Comparison:
    """Compares texts/s from strings to logits."""
    runs = side.passes(texts, batch_size), peer.passes(texts, batch_size)
    return measure.compare(f"text → logits, {name}", *runs, len(texts), "texts/s", rounds)


def tiny(subword: str, texts: list[str], rounds: int) -> list[Comparison]:
    """Returns the rows for tiny models."""
    rows, bert = [], stock("bert-tiny", subword)
    for name in ("eelbert-word-tiny", "eelbert-tiny", "hashformer-lsh-proj-tiny"):
        side = ours(name, subword if name == "eelbert-tiny" else None)
        rows.append(from_text(f"one sentence: {name} : bert-tiny", side, bert, texts[:100], 1, rounds))
        rows.append(from_text(f"32 sentences: {name} : bert-tiny", side, bert, texts, BATCH, rounds))
    return rows


def base(wordpiece: str, bpe: str, texts: list[str], rounds: int) -> list[Comparison]:
    """Returns the rows for base models. Both sides of `ewe-*` read the whole of a long text."""
    rows = []
    roberta = stock("roberta-base", bpe)
    for name in ("hashformer-md5-pool-base", "hashformer-lsh-proj-base"):
        rows.append(from_text(f"8 sentences: {name} : roberta-base", ours(name), roberta, texts[:40], 8, rounds))
    long = " ".join(" ".join(texts).split()[:LONG_TEXT])
    windows = load_tokenizer("ewe-bert-bytes-base")
    for kind in ("bert", "albert", "canine"):
        name = f"ewe-{kind}-base"
        side = ours(name)
        peer = stock(f"{kind}-base", None if kind == "canine" else wordpiece, max_length=None)
        for our_side, units in ((side, ""), (side._replace(tokenizer=windows), " in windows of 16 bytes")):
            row = f"the same {LONG_TEXT} words{units}: {name} : its original"
            rows.append(from_text(row, our_side, peer, [long], 1, rounds))
    return rows


def exported(subword: str, documents: list[str], folder: Path, rounds: int) -> list[Comparison]:
    """Returns the rows for onnxruntime, with one thread on each side."""
    rows = []
    bert = stock("bert-tiny", subword)
    for name in ("hashformer-lsh-proj-tiny", "eelbert-word-tiny", "eelbert-word-uno"):
        side = ours(name)
        (folder / name).mkdir()
        files = write_graphs(side.model, side.tokenizer, folder / name, int8=True)
        inputs = side.tokenizer([EXAMPLE], max_length=16, padding="max_length", truncation=True, return_tensors="pt")
        eager = run_all([side.forward(dict(inputs))] * 100)
        for file, precision in zip(files, ("fp32", "int8"), strict=True):
            session = session_of(file, 1)
            runs = run_all([partial(session.run, None, {INPUT: inputs["input_ids"].numpy()})] * 100)
            row = f"1×16, {precision}, {name} : eager torch"
            rows.append(measure.compare(row, runs, eager, 100, "texts/s", rounds))
        of_bert = bert.passes(documents, BATCH, side.tokenizer.model_max_length)
        of_int8 = partial(classify_sorted, session, side.tokenizer, documents)
        row = f"documents sorted by length, int8, {name} : bert-tiny eager"
        rows.append(measure.compare(row, of_int8, of_bert, len(documents), "texts/s", rounds))
    return rows


def classify_sorted(session: Any, tokenizer: Any, texts: list[str]) -> None:
    """Classifies texts in batches of similar length."""
    texts = sorted(texts, key=len)
    for start in range(0, len(texts), BATCH):
        batch = tokenizer(texts[start : start + BATCH], padding=True, truncation=True, return_tensors="pt")
        run_session(session, batch["input_ids"])


def main() -> None:
    """Runs the benchmark."""
    command_line = measure.parser(__doc__, *measure.FLAGS)
    command_line.add_argument("--size", choices=("tiny", "base"), default="tiny", help="size of the encoders")
    arguments = command_line.parse_args()
    measure.prepare_threads(arguments.threads)
    documents = measure.read(arguments.corpus, arguments.documents)
    texts = measure.sentences_of(documents, 20 * BATCH, min_words=8)
    with tempfile.TemporaryDirectory() as folder:
        wordpiece = measure.vocabulary(documents, "wordpiece", 30_000, folder)
        if arguments.size == "base":
            rows = base(wordpiece, measure.vocabulary(documents, "bpe", 50_000, folder), texts, arguments.rounds)
        else:
            rows = tiny(wordpiece, texts, arguments.rounds)
            rows += exported(wordpiece, documents[: 10 * BATCH]["text"], Path(folder), arguments.rounds)
    measure.report(f"inference, {arguments.size}", rows, arguments.output)


if __name__ == "__main__":
    main()
