"""Preparing a corpus and training on it, beside the stock pipeline of a vocabulary-bound BERT.

    python -m benchmarks.training
    python -m benchmarks.training --corpus "wikipedia/*.parquet" --documents 20000

Preparation: texts → stored sequences with `prepare`, and the same texts through a Rust WordPiece in `datasets.map`, by
the same number of processes. Training: forward, backward and AdamW step on the same batch shape; the peers are stock
models with a vocabulary that is trained on the spot.
"""

import copy
import tempfile
from collections.abc import Callable
from itertools import chain
from typing import Any

import datasets
import torch
from datasets import Dataset
from transformers import DataCollatorForTokenClassification

from benchmarks.measure import Comparison, compare, parser_with_texts, prepare_threads, report
from benchmarks.peers import read, vocabulary, words_of
from vocabless.stock_shapes import load_shape_tokenizer
from vocabless.training.pretraining.corruption import MaskedTokens, Objective, ShuffleRandom
from vocabless.training.pretraining.learners import Learner, load_learner
from vocabless.training.pretraining.packing import prepare
from vocabless.training.pretraining.sequences import PretrainingDataset


def preparation(documents: Dataset, subword: str, variant: str, processes: int, rounds: int) -> list[Comparison]:
    """Compares words/s from texts to stored sequences of 128 tokens, packed on both sides.

    The peer is one map that keeps only ids and packs them at once, and then what transformers' own example of masked LM
    does: a map that tokenizes and a map that packs, with all that a tokenizer returns.
    """
    datasets.disable_caching()
    words = words_of(documents["text"])
    codec = load_learner(variant, "shuffle-random", 128).codec
    peer = load_shape_tokenizer("bert-tiny", subword, max_length=10**9)
    given: dict[str, Any] = {"batched": True, "num_proc": processes}

    def lean(batch: dict[str, Any]) -> dict[str, Any]:
        ids = peer(batch["text"], add_special_tokens=False)["input_ids"]
        return {"input_ids": _packed(ids, 126)}

    def tokenize(batch: dict[str, Any]) -> dict[str, Any]:
        return dict(peer(batch["text"], return_special_tokens_mask=True))

    def pack(batch: dict[str, Any]) -> dict[str, Any]:
        return {name: _packed(rows, 128) for name, rows in batch.items()}

    def ours() -> None:
        prepare(documents, copy.deepcopy(codec), 128, processes)  # a codec that has seen no word

    peers = {
        "one map": lambda: documents.map(lean, remove_columns=["text"], **given),
        "tokenize, pack": lambda: documents.map(tokenize, remove_columns=["text"], **given).map(pack, **given),
    }
    return [
        compare(f"preparation, {processes} processes, {variant} : {name}", ours, run, words, "words/s", rounds, 10)
        for name, run in peers.items()
    ]


def _packed(rows: list[list[int]], length: int) -> list[list[int]]:
    values = list(chain.from_iterable(rows))
    return [values[start : start + length] for start in range(0, len(values), length)]


def step(learner: Learner, objective: Objective, documents: Dataset, length: int, batch: int) -> Callable[[], None]:
    """Returns one training step on a batch of the learner's own."""
    sequences = PretrainingDataset(prepare(documents, learner.codec, length), learner.codec, objective, seed=0)
    full = [item for item in sequences.__getitems__(range(4 * batch)) if len(item["labels"]) > length * 0.6][:batch]
    inputs = DataCollatorForTokenClassification(
        learner.tokenizer,
        padding="max_length",
        max_length=length,  # the same shape on both sides
    )(full)
    optimizer = torch.optim.AdamW(learner.model.parameters(), lr=1e-4)
    learner.model.train()

    def run() -> None:
        learner.model(**inputs)["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()

    return run


def main() -> None:
    """Runs the benchmark."""
    arguments = parser_with_texts(__doc__)
    arguments.add_argument("--processes", type=int, default=2, help="that prepare")
    arguments.add_argument("--steps_only", action="store_true", help="leave preparation out")
    arguments.add_argument("--size", default="tiny", help="of the encoders: tiny, mini, small or base")
    arguments.add_argument("--batch", type=int, default=32, help="sequences of a training step")
    arguments.add_argument("--length", type=int, default=128, help="tokens of a sequence")
    given = arguments.parse_args()
    prepare_threads(given.threads)
    datasets.disable_progress_bars()
    documents = read(given.corpus, given.documents)
    with tempfile.TemporaryDirectory() as folder:
        subword = vocabulary(documents, "wordpiece", 30_000, folder)
        coders = ("hashformer-md5-pool-tiny", "eelbert-word-tiny", "hashformer-lsh-proj-tiny")
        rows = [
            row
            for variant in (() if given.steps_only else coders)
            for row in preparation(documents, subword, variant, given.processes, given.rounds)
        ]
        shape = {"documents": documents.select(range(min(500, len(documents)))), "length": given.length}
        shape["batch"] = given.batch

        def run(model: str, objective: str) -> Callable[[], None]:
            reads_subwords = model.startswith(("bert", "eelbert"))
            learner = load_learner(model, objective, given.length, subword if reads_subwords else None)
            return step(learner, MaskedTokens() if objective == "mlm" else ShuffleRandom(), **shape)

        ours = f"hashformer-lsh-proj-{given.size}", "shuffle-random"
        bert, eelbert = f"bert-{given.size}", f"eelbert-{given.size}"
        peers = [(bert, "mlm", None), (bert, "shuffle-random", 1.0)]
        peers += [(eelbert, "mlm", 2.8 if given.size == "tiny" else None)] if given.size != "small" else []
        for model, objective, goal in peers:
            rows_of = " on masked rows" if model == eelbert else ""
            name = f"step, {ours[0]} S+R : {model} {'MLM' if objective == 'mlm' else 'S+R'}{rows_of}"
            tokens = given.batch * given.length
            rows.append(compare(name, run(*ours), run(model, objective), tokens, "tokens/s", given.rounds, goal))
    report("training", rows, given.output)


if __name__ == "__main__":
    main()
