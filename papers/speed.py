"""The papers' measures of time and size, which need no training: HashFormers, Table 3; EELBERT, Table 5 and Figure 1.

    python -m papers hashformers-3                                  # base size, 512 tokens: long on a CPU
    python -m papers hashformers-3 --batch 4                        # the same, in a quarter of the time
    python -m papers hashformers-3 --size tiny --length 128
    python -m papers eelbert-5
    python -m papers eelbert-figure-1                               # counted, nothing is run

Ours are measured on the CPU of this machine, by the steps and forward passes of `benchmarks`, in rounds in which each
row has its turn. The papers' are of other machines, so compare the rates, not the times.
"""

import os
import statistics
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import datasets
import torch
from datasets import Dataset

from benchmarks import inference, measure
from benchmarks.measure import Run, aligned_table
from benchmarks.training import STEP_DOCUMENTS, training_step
from papers.counts import size_figures
from papers.table import PaperRow, format_figure
from vocabless.overrides import with_overrides
from vocabless.stock_shapes import StockShape, find_shape

CACHE = "VOCABLESS_CACHED_MIB"  # what the front end keeps of the words of earlier texts; the papers keep nothing
SENTENCES, WORD_LENGTH = 10, 4.8  # of EELBERT, 5.5: characters, on average
CACHED = ", with its cache"


class TimedRow(NamedTuple):
    """A row of HashFormers, Table 3; its figures are texts, since some are ranges."""

    label: str
    model: str  # of base size
    objective: str | None
    printed: str  # pre-training, ms for each sample, and its speed-up; inference, the same


HASHFORMERS_3 = (
    TimedRow("BERT-MLM", "roberta-base", "mlm", "24.9 1.0 4.6 1.0"),
    TimedRow("BERT-S+R", "roberta-base", "shuffle-random", "11.6 2.1 4.6 1.0"),
    TimedRow("CANINE-C", "canine-base", None, "– – 6.9 0.6"),
    TimedRow("Emb", "hashformer-md5-emb50k-base", "shuffle-random", "11.6 2.1 2.0–4.6 1.0–2.4"),
    TimedRow("Pool", "hashformer-md5-pool-base", "shuffle-random", "12.0 2.1 2.0–4.6 1.0–2.3"),
    TimedRow("Add", "hashformer-md5-add-base", "shuffle-random", "11.7 2.1 2.0–4.6 1.0–2.4"),
    TimedRow("Proj", "hashformer-md5-proj-base", "shuffle-random", "10.6 2.4 1.8–4.6 1.0–2.6"),
)
# Model → the paper's size in MB and latency in ms, on a MacBook Pro M1.
EELBERT_5 = {
    **{"bert-base": (428.0, 162.0), "eelbert-base": (344.0, 165.0), "bert-mini": (44.8, 7.0)},
    **{"eelbert-mini": (13.4, 9.9), "bert-tiny": (17.4, 1.7), "eelbert-tiny": (2.04, 3.9)},
}
FIGURE_1 = ("bert-base", "bert-mini", "bert-tiny")


def speed_up(seconds: float, baseline: float) -> float:
    """Returns the speed-up rate of HashFormers, equation 8, 1 / (time / time of the baseline).

    >>> speed_up(2.0, 5.0)
    2.5
    """
    return 1 / (seconds / baseline)


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of a measure of time."""
    for flag in ("corpus", "documents", "threads"):
        parser.add_argument(f"--{flag}", **measure.FLAGS[flag])
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds after the warm-up; the median counts (default: 3)"
    )


def add_step_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of HashFormers, Table 3."""
    add_arguments(parser)
    parser.add_argument("--size", default="base", help="size of all models (default: base, the paper's)")
    parser.add_argument("--length", type=int, default=512, help="tokens of a sequence in pre-training (default: 512)")
    parser.add_argument("--batch", type=int, default=16, help="sequences of a step on one device (default: 16)")
    parser.add_argument("--texts", type=int, default=32, help="sentences of a batch of inference (default: 32)")


def hashformers_3(arguments: Namespace) -> str:
    """Returns HashFormers, Table 3, with our times beside the paper's."""
    documents = _prepared(arguments)
    length, size = arguments.length, {"size": arguments.size}
    trained_on = documents.select(range(min(STEP_DOCUMENTS, len(documents))))
    texts = measure.sentences_of(documents, arguments.texts, min_words=8)
    train: dict[str, Run] = {}
    infer: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as folder:
        subword = measure.vocabulary(documents, "bpe", 50_000, folder)
        for row in HASHFORMERS_3:
            side = _side(row.model, subword, size)
            encoded = side.tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
            infer[row.label] = side.forward(encoded)
            if row.objective is not None:
                step = partial(training_step, row.model, row.objective, trained_on, subword, length, arguments.batch)
                train[row.label] = step(0.1, [f"size={arguments.size}"], updates=False)
        trained = {label: 1000 * each / arguments.batch for label, each in times(train, arguments.rounds).items()}
        inferred = {label: 1000 * each / len(texts) for label, each in times(infer, arguments.rounds).items()}
    rows = [["row", "figures", "PT (ms)", "PT speed-up", "inference (ms)", "inference speed-up"]]
    for row in HASHFORMERS_3:
        rows.append([row.label, "paper", *row.printed.split()])
        rows.append(["", "ours", *_cells(trained, row.label), *_cells(inferred, row.label)])
    about = f"size {arguments.size}; pre-training, a forward and a backward pass, with {length} tokens, batches of "
    about += f"{arguments.batch} and a dropout of 0.1; inference with batches of {len(texts)} sentences, without the "
    about += "tokenizer"
    return _page("HashFormers, Table 3: milliseconds for each sample", rows, "Tesla V100 GPUs (4.2)", about)


def _cells(milliseconds: Mapping[str, float], label: str) -> list[str]:
    if label not in milliseconds:
        return ["–", "–"]
    return [f"{milliseconds[label]:.1f}", f"{speed_up(milliseconds[label], milliseconds['BERT-MLM']):.1f}"]


def eelbert_5(arguments: Namespace) -> str:
    """Returns EELBERT, Table 5, with our sizes and latencies beside the paper's."""
    documents = _prepared(arguments)
    texts = sorted(measure.sentences_of(documents, 100), key=_distance)[:SENTENCES]
    runs: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as folder:
        subword = measure.vocabulary(documents, "wordpiece", 30_000, folder)
        for model in EELBERT_5:
            for title in ("", CACHED) if model.startswith("eelbert") else ("",):
                with nullcontext() if title else _cache_of(0):
                    side = _side(model, subword)
                encoded = [side.tokenizer([text], truncation=True, return_tensors="pt") for text in texts]
                runs[model + title] = measure.run_all([side.forward(each) for each in encoded])
        latencies = {label: 1000 * each / SENTENCES for label, each in times(runs, arguments.rounds).items()}
    printed = {model: latency for model, (_, latency) in EELBERT_5.items()}
    rows = [["row", "size (MB)", "paper", "latency (ms)", "rate", "paper", "rate", "with its cache (ms)", "rate"]]
    for model, (size, _) in EELBERT_5.items():
        row = PaperRow(model, model, "", has_mlm_head=True, exports_mlm_head=model != "eelbert-mini")
        sizes: Any = size_figures(row, row)
        ours, theirs = _latency(latencies, model), _latency(printed, model, 1)
        kept = _latency(latencies, model, title=CACHED)
        rows.append([model, format_figure(sizes["exported_bytes"] / 1e6, 2), f"{size:g}", *ours, *theirs, *kept])
    about = f"{SENTENCES} sentences, one at a time, without the tokenizer. A rate is that to BERT of the same size. "
    about += "The cache keeps the hashes of words"
    return _page("EELBERT, Table 5: size, and latency of a sentence", rows, "a MacBook Pro M1", about)


def _latency(milliseconds: Mapping[str, float], model: str, decimals: int = 2, title: str = "") -> list[str]:
    """Returns the latency of a model, and how many times that of BERT of the same size it is."""
    if model + title not in milliseconds:
        return ["–", "–"]
    latency = milliseconds[model + title]
    return [f"{latency:.{decimals}f}", f"{latency / milliseconds[model.removeprefix('eel')]:.2f}"]


def eelbert_figure_1(arguments: Namespace) -> str:
    """Returns EELBERT, Figure 1: the share of the input embedding table in the parameters."""
    rows = [["row", "all (M)", "embeddings (M)", "share (%)"]]
    for model in FIGURE_1:
        row = PaperRow(model, model, "", has_mlm_head=True)
        sizes: Any = size_figures(row, row)
        every, table = sizes["parameters"], sizes["embedding_parameters"]
        rows.append(
            [model, *(format_figure(each, 2) for each in (every / 1e6, table / 1e6)), f"{100 * table / every:.1f}"]
        )
    note = 'The paper prints a picture alone, and of BERT-tiny "almost 90%".'
    return "\n".join(["EELBERT, Figure 1: the word table of BERT", "", aligned_table(rows, 1), "", note])


def times(runs: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """Returns the median seconds of each run, after one as a warm-up; all have their turn in each round."""
    seconds: dict[str, list[float]] = {label: [] for label in runs}
    for number in range(rounds + 1):
        for label, run in runs.items():
            taken = measure.seconds_of(run)
            seconds[label] += [taken] if number else []
    return {label: statistics.median(each) for label, each in seconds.items()}


def _prepared(arguments: Namespace) -> Dataset:
    measure.prepare_threads(arguments.threads)
    datasets.disable_progress_bars()
    return measure.read(arguments.corpus, arguments.documents)


def _side(model: str, subword: str, overrides: Mapping[str, Any] = {}) -> inference.Side:
    """Returns a model with random weights, and its tokenizer."""
    shape: Any = with_overrides(find_shape(model), overrides)
    if isinstance(shape, StockShape):
        return inference.stock(shape, subword if shape.subwords else None)
    return inference.ours(shape, subword if shape.reads_subwords else None)


@contextmanager
def _cache_of(mebibytes: int) -> Iterator[None]:
    """Gives front ends that are made here a cache of this size."""
    before = os.environ.get(CACHE)
    os.environ[CACHE] = str(mebibytes)
    try:
        yield
    finally:
        os.environ.pop(CACHE)
        os.environ.update({} if before is None else {CACHE: before})


def _distance(text: str) -> float:
    """Returns how far the mean length of the words of a text is from the paper's."""
    return abs(statistics.fmean(map(len, text.split())) - WORD_LENGTH)


def _page(title: str, rows: Sequence[Sequence[str]], theirs: str, about: str) -> str:
    machine = (
        f"The paper's figures are those of {theirs}. Ours are of this machine's CPU, with {torch.get_num_threads()} "
    )
    return "\n".join(
        [title, "", aligned_table(rows), "", f"{machine}threads: {about}. Compare the rates, not the times."]
    )


COMMANDS: dict[str, tuple[str, Callable[[ArgumentParser], object], Callable[[Namespace], str]]] = {
    "hashformers-3": ("HashFormers, Table 3: time of pre-training and inference", add_step_arguments, hashformers_3),
    "eelbert-5": ("EELBERT, Table 5: size and latency", add_arguments, eelbert_5),
    "eelbert-figure-1": ("EELBERT, Figure 1: the word table's share of BERT", lambda parser: None, eelbert_figure_1),
}
