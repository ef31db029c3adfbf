"""HashFormers Table 3 and EELBERT Table 5: times and sizes, measured in turns; weights are random.

"Anew" hashes every unit again: the tokenizer and the front end remember nothing. "Remembered" is the second sight of
the same texts. HashFormers hash in the tokenizer, EELBERT in the front end, so both times are given with and without
the tokenizer.
"""
# mypy: allow-untyped-calls

import copy
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from benchmarks.measure import add_rounds, add_texts, prepare_threads
from benchmarks.peers import Side, ours, read, sentences_of, stock, vocabulary
from benchmarks.training import training_step
from papers.comparison import seconds_in_turns
from papers.table import markdown_table
from vocabless.overrides import with_overrides
from vocabless.stock_shapes import StockShape, find_shape

SR = "shuffle-random"
Row = tuple[str, str, str | None, str]  # label, model, pre-training objective, the printed figures
HASHFORMERS_3: tuple[Row, ...] = (
    ("BERT-MLM", "roberta-base", "mlm", "24.9 4.6"),
    ("BERT-S+R", "roberta-base", SR, "11.6 4.6"),
    ("Canine-C", "canine-base", None, "– 6.9"),
    ("Emb", "hashformer-md5-emb50k-base", SR, "11.6 2.0–4.6"),
    ("Pool", "hashformer-md5-pool-base", SR, "12.0 2.0–4.6"),
    ("Add", "hashformer-md5-add-base", SR, "11.7 2.0–4.6"),
    ("Proj", "hashformer-md5-proj-base", SR, "10.6 1.8–4.6"),
)
EELBERT_5: tuple[Row, ...] = (
    ("BERT-base", "bert-base", None, "428.00 162.0"), ("EELBERT-base", "eelbert-base", None, "344.00 165.0"),
    ("BERT-mini", "bert-mini", None, "44.80 7.0"), ("EELBERT-mini", "eelbert-mini", None, "13.40 9.9"),
    ("BERT-tiny", "bert-tiny", None, "17.40 1.7"), ("EELBERT-tiny", "eelbert-tiny", None, "2.04 3.9"),
)  # fmt: skip
BERT_WORDPIECE, ROBERTA_BPE = 30_522, 50_000


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of the tables of times."""
    add_rounds(parser)
    add_texts(parser)
    parser.add_argument("--size", help="size of the models: tiny, mini, small or base; None is the paper's")
    parser.add_argument("--length", type=int, default=128, help="tokens of a pre-training sequence (hashformers-3)")
    parser.add_argument("--batch", type=int, default=8, help="sequences of a pre-training step (hashformers-3)")


class Times(NamedTuple):
    """Milliseconds per text: of the model alone, and of tokenizer and model."""

    model_anew: float
    model: float
    whole_anew: float
    whole: float


def hashformers_3(arguments: Namespace) -> str:
    """Returns HashFormers, Table 3, at the size of the arguments."""
    prepare_threads(arguments.threads or 1)
    with tempfile.TemporaryDirectory() as folder:
        documents = read(arguments.corpus, arguments.documents)
        bpe = vocabulary(documents, "bpe", ROBERTA_BPE, folder)
        sides = [_side(model, arguments.size, bpe) for _, model, _, _ in HASHFORMERS_3]
        steps = [
            None
            if objective is None
            else training_step(model, objective, documents, bpe, arguments.length, arguments.batch, arguments.size)
            for _, model, objective, _ in HASHFORMERS_3
        ]
        texts = sentences_of(documents, 64, min_words=8)
        inference = measure_times(sides, texts, 32, arguments.rounds)
        training = seconds_in_turns([step or (lambda: None) for step in steps], arguments.rounds)
    pre_training = [
        None if step is None else 1000 * t / arguments.batch for step, t in zip(steps, training, strict=True)
    ]
    header = ["row", "figures", "PT ms", "PT speed-up", "model ms", "speed-up", "with tokenizer ms", "speed-up"]
    lines = [[*header, "hashed anew ms", "speed-up"]]
    for (label, _, _, printed), pt, times in zip(HASHFORMERS_3, pre_training, inference, strict=True):
        paper_pt, paper_infer = printed.split()
        measured = [(pt, pre_training[0])] + [
            (getattr(times, name), getattr(inference[0], name)) for name in ("model", "whole", "whole_anew")
        ]
        figures = [text for value, base in measured for text in (_number(value), _ratio(base, value))]
        lines += [[label, "paper", paper_pt, "", paper_infer, *[""] * 5], ["", "ours", *figures]]
    note = (
        f"Per sample. PT: a step on batches of {arguments.batch} sequences of {arguments.length} tokens (the paper: "
        "512). Inference: batches of 32 sentences, as long as the longest."
    )
    return "\n".join(["HashFormers, Table 3", "", *markdown_table(lines), "", note])


def eelbert_5(arguments: Namespace) -> str:
    """Returns EELBERT, Table 5: latency of single sentences; each row has its own size."""
    prepare_threads(arguments.threads or 1)
    with tempfile.TemporaryDirectory() as folder:
        documents = read(arguments.corpus, arguments.documents)
        wordpiece = vocabulary(documents, "wordpiece", BERT_WORDPIECE, folder)
        rows = [row for row in EELBERT_5 if arguments.size in (None, find_shape(row[1]).size)]
        sides = [_side(model, None, wordpiece) for _, model, _, _ in rows]
        times = measure_times(sides, sentences_of(documents, 10), 1, arguments.rounds)
    header = ["row", "figures", "MB", "model, hashed anew ms", "model, remembered ms", "with tokenizer, anew ms"]
    lines = [header]
    for (label, _, _, printed), side, row_times in zip(rows, sides, times, strict=True):
        megabytes = sum(p.numel() * p.element_size() for p in side.model.parameters()) / 1e6
        figures = [megabytes, row_times.model_anew, row_times.model, row_times.whole_anew]
        lines += [[label, "paper", *printed.split(), "", ""], ["", "ours", *map(_number, figures)]]
    note = "One thread, 10 sentences, one at a time; the paper: a MacBook Pro M1, without the tokenizer."
    return "\n".join(["EELBERT, Table 5", "", *markdown_table(lines), "", note])


def measure_times(sides: Sequence[Side], texts: Sequence[str], batch_size: int, rounds: int) -> list[Times]:
    """Returns the times of each side, measured in turns."""
    batches = [list(texts[start : start + batch_size]) for start in range(0, len(texts), batch_size)]
    columns = []
    for is_whole in (False, True):
        for is_anew in (True, False):
            runs = [_run(side, batches, is_whole) for side in sides]
            before = [_forget(side) if is_anew else (lambda: None) for side in sides]
            columns.append(seconds_in_turns(runs, rounds, before))
    return [Times(*(1000 * column[place] / len(texts) for column in columns)) for place in range(len(sides))]


def _run(side: Side, batches: Sequence[list[str]], is_whole: bool) -> Callable[[], None]:
    def encode(batch: list[str]) -> Any:
        return side.tokenizer(batch, padding=True, truncation=True, return_tensors="pt")

    encoded = [encode(batch) for batch in batches]

    def run() -> None:
        with torch.inference_mode():
            for batch, inputs in zip(batches, encoded, strict=True):
                side.model(**(encode(batch) if is_whole else inputs))

    return run


def _forget(side: Side) -> Callable[[], None]:
    """Returns a function that empties what the tokenizer and the front end of our side remember."""
    front_end: Any = getattr(side.model.base_model, "front_end", None)

    def forget() -> None:
        if hasattr(side.tokenizer, "_cache"):
            side.tokenizer._cache = copy.deepcopy(side.tokenizer._cache)  # the copy is empty
        if hasattr(front_end, "_cache"):
            front_end._cache = copy.deepcopy(front_end._cache)

    return forget


def _side(model: str, size: str | None, subword: str) -> Side:
    shape = with_overrides(find_shape(model), {"size": size} if size else {})
    if isinstance(shape, StockShape):
        return stock(shape, None if shape.subwords is None else subword)
    return ours(shape, subword if shape.reads_subwords else None)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _ratio(base: float | None, value: float | None) -> str:
    return "–" if base is None or value is None else f"{base / value:.2f}"
