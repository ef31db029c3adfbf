"""Preparing a corpus and training on it, compared with the stock pipeline of a BERT with a vocabulary.

    python -m benchmarks.training
    python -m benchmarks.training --corpus "wikipedia/*.parquet" --documents 20000

Preparation: texts → stored sequences with `Packing.prepare`; the peer sends the same texts through a Rust WordPiece in
`datasets.map`, with the same number of processes. Training: forward, backward and AdamW step on batches of one shape;
the peers are stock models with a vocabulary that is trained on the same text.
"""

import argparse
import copy
import tempfile
from collections.abc import Sequence
from itertools import chain
from typing import Any

import datasets
import torch
from datasets import Dataset
from transformers import DataCollatorForTokenClassification

from benchmarks import measure
from benchmarks.measure import Comparison, Run, compare
from vocabless import load_tokenizer
from vocabless.stock_shapes import find_shape, load_shape_tokenizer
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.command_line import OBJECTIVES
from vocabless.training.pretraining.objective import load_model
from vocabless.training.pretraining.packing import Packing
from vocabless.training.pretraining.tokens import PretrainingDataset

PREPARED = ("hashformer-md5-pool-tiny", "eelbert-word-tiny", "hashformer-lsh-proj-tiny")
STEP_DOCUMENTS = 500  # of which the batches of the training steps are made
LEAST_FILL = 0.6  # share of its length that a sequence of a training step has at least


def preparation(documents: Dataset, subword: str, variant: str, processes: int, rounds: int) -> Comparison:
    """Compares words/s from texts to stored sequences of 128 tokens; the peer keeps only ids and packs them at once."""
    datasets.disable_caching()
    packing = Packing(load_tokenizer(variant), needs_targets=False, max_seq_length=128)
    peer = load_shape_tokenizer("bert-tiny", subword, max_length=10**9)

    def tokenize_and_pack(batch: dict[str, Any]) -> dict[str, Any]:
        ids = list(chain.from_iterable(peer(batch["text"], add_special_tokens=False)["input_ids"]))
        return {"input_ids": [ids[start : start + 126] for start in range(0, len(ids), 126)]}

    return compare(
        f"preparation, {processes} processes, {variant} : WordPiece",
        lambda: copy.deepcopy(packing).prepare(documents, processes),  # the copy has an empty cache
        lambda: documents.map(tokenize_and_pack, remove_columns=["text"], batched=True, num_proc=processes),
        measure.words_of(documents["text"]), "words/s", rounds,
    )  # fmt: skip


def training_step(
    variant: str,
    objective_name: str,
    documents: Dataset,
    subword: str,
    length: int,
    batch_size: int,
    dropout: float,
    overrides: Sequence[str] = (),
    updates: bool = True,
) -> Run:
    """Returns a function that trains one step, always on the same batch, whose sequences are padded to `length`.

    `variant` is a variant or a stock shape, `subword` the file of a vocabulary for models with subwords, `overrides`
    what `--set` takes. Without `updates` a step is the forward and the backward pass, and the weights stay.
    """
    objective: Any = OBJECTIVES[objective_name]()
    subword_file = subword if find_shape(variant).reads_subwords else None
    options: dict[str, Any] = {"max_seq_length": length, "subword": subword_file, "dropout": dropout}
    options |= {"set": [*overrides]}
    arguments = PretrainingArguments(variant=variant, **options)
    model, tokenizer = load_model(arguments, objective)
    packing = Packing(tokenizer, objective.needs_targets, length)
    examples = PretrainingDataset(packing.prepare(documents), packing, objective, seed=0)
    candidates = examples.__getitems__(range(4 * batch_size))
    long_enough = [example for example in candidates if len(example["labels"]) > LEAST_FILL * length]
    collate = DataCollatorForTokenClassification(tokenizer, padding="max_length", max_length=length)
    inputs = collate(long_enough[:batch_size])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()

    def run() -> None:
        model(**inputs)["loss"].backward()
        if updates:
            optimizer.step()
        optimizer.zero_grad()

    return run


def training_steps(arguments: argparse.Namespace, documents: Dataset, subword: str) -> list[Comparison]:
    """Compares tokens/s of our S+R step with the steps of stock models."""
    size, length, batch_size = arguments.size, arguments.length, arguments.batch
    text = documents.select(range(min(STEP_DOCUMENTS, len(documents))))
    ours, bert, eelbert = f"hashformer-lsh-proj-{size}", f"bert-{size}", f"eelbert-{size}"
    peers = [("MLM", bert, "mlm"), ("S+R", bert, "shuffle-random")]
    if size != "small":  # there is no eelbert-small
        peers.append(("MLM on masked rows", eelbert, "mlm"))

    def step(variant: str, objective: str) -> Run:
        return training_step(variant, objective, text, subword, length, batch_size, arguments.dropout)

    rows = []
    for title, peer, objective in peers:
        sides = (step(ours, "shuffle-random"), step(peer, objective))
        name = f"step, {ours} S+R : {peer} {title}"
        rows.append(compare(name, *sides, batch_size * length, "tokens/s", arguments.rounds))
    return rows


def main() -> None:
    """Runs the benchmark."""
    command_line = measure.parser(__doc__, *measure.FLAGS)
    command_line.set_defaults(threads=0)
    command_line.add_argument("--processes", type=int, default=2, help="processes that prepare the corpus")
    command_line.add_argument("--steps_only", action="store_true", help="leave preparation out")
    command_line.add_argument("--size", default="tiny", help="size of the encoders: tiny, mini, small or base")
    command_line.add_argument("--batch", type=int, default=32, help="sequences of a training step")
    command_line.add_argument("--length", type=int, default=128, help="tokens of a sequence")
    command_line.add_argument("--dropout", type=float, default=0.0, help="dropout of a training step (%(default)s)")
    arguments = command_line.parse_args()
    measure.prepare_threads(arguments.threads)
    datasets.disable_progress_bars()
    documents = measure.read(arguments.corpus, arguments.documents)
    rows: list[Comparison] = []
    with tempfile.TemporaryDirectory() as folder:
        subword = measure.vocabulary(documents, "wordpiece", 30_000, folder)
        for variant in () if arguments.steps_only else PREPARED:
            rows.append(preparation(documents, subword, variant, arguments.processes, arguments.rounds))
        rows += training_steps(arguments, documents, subword)
    measure.report("training", rows, arguments.output)


if __name__ == "__main__":
    main()
