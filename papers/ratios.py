"""The sizes and speeds that the papers publish, beside ours.

    python -m papers ratios

Sizes: HashFormers Table 2, EELBERT Tables 1–3. Speeds: HashFormers Table 3, EELBERT Table 5, Elementwise Table 3.
EELBERT's latency leaves the tokenizer out and hashes each sentence anew; here it is shown so, and with remembered
embeddings. The Elementwise paper compares samples with the same number of tokens on both sides, although its tokens are
words and those of the original models are not. Weights are random on both sides.
"""

import copy
import tempfile
from argparse import ArgumentParser, Namespace
from typing import Any

import torch

from benchmarks.inference import from_text, run_all
from benchmarks.measure import Comparison, add_rounds, add_texts, compare, prepare_threads, report
from benchmarks.peers import Side, original, ours, read, sentences_of, stock, vocabulary
from papers.table import markdown_table
from vocabless import VocablessForMaskedLM, VocablessForSequenceClassification, VocablessModel, load_config

SIZES: list[tuple[str, str, type[VocablessModel] | type, str]] = [
    ("HashFormers, Table 2: embeddings", "hashformer-md5-emb50k-base", VocablessModel, "38.6M"),
    ("HashFormers, Table 2: embeddings", "hashformer-md5-emb1k-base", VocablessModel, "797.2K"),
    ("HashFormers, Table 2: embeddings", "hashformer-md5-pool-base", VocablessModel, "797.2K"),
    ("HashFormers, Table 2: embeddings", "hashformer-md5-add-base", VocablessModel, "197.4K"),
    ("HashFormers, Table 2: embeddings", "hashformer-md5-proj-base", VocablessModel, "99.1K"),
    ("HashFormers, Table 2: classifier", "hashformer-md5-emb50k-base", VocablessForSequenceClassification, "124.6M"),
    ("EELBERT, Table 1: masked LM", "eelbert-base", VocablessForMaskedLM, "86,073,402"),
    ("EELBERT, Table 2: classifier", "eelbert-mini", VocablessForSequenceClassification, "3,357,442"),
    ("EELBERT, Table 2: classifier", "eelbert-tiny", VocablessForSequenceClassification, "479,362"),
    ("EELBERT, Table 2: masked LM", "eelbert-uno", VocablessForMaskedLM, "312,506"),
]
SPEEDS = {"ewe-bert-base": 1.7, "ewe-albert-base": 1.9, "ewe-canine-base": 1.4}


def parameters(variant: str, kind: type) -> int:
    """Returns the parameters as the papers count them: of the front end, or of a model without its output matrix."""
    with torch.device("meta"):
        model = kind(load_config(variant))
    if kind is VocablessModel:
        # The paper does not count the five rows for special tokens of Pool, Add and Proj.
        return sum(parameter.numel() for parameter in model.front_end.parameters())
    return int(model.num_parameters()) - (model.decoder.weight.numel() if kind is VocablessForMaskedLM else 0)


def latency(name: str, side: Side, peer: Side, texts: list[str], rounds: int, is_fresh: bool) -> Comparison:
    """Compares sentences/s of the models alone; `is_fresh` empties our side's cache of hashes before each."""
    front_end: Any = side.model.base_model.front_end
    runs = [each.forward(each.tokenizer(text, return_tensors="pt")) for each in (side, peer) for text in texts]

    def run_ours() -> None:
        for run in runs[: len(texts)]:
            if is_fresh:
                front_end._cache = copy.deepcopy(front_end._cache)  # the copy is empty
            run()

    how = "hashed anew" if is_fresh else "remembered"
    return compare(f"{name}, {how}", run_ours, run_all(runs[len(texts) :]), len(texts), "texts/s", rounds, 1 / 2.3)


def equal_lengths(name: str, side: Side, peer: Side, rounds: int) -> Comparison:
    """Compares samples/s if both sides read M tokens, the longest sequence of our side."""
    length = side.tokenizer.model_max_length
    blocks, ids = torch.randint(5, 261, (1, length, side.tokenizer.block_size)), torch.randint(5, 1000, (1, length))
    runs = side.forward({"input_ids": blocks}), peer.forward({"input_ids": ids})
    return compare(f"{name} : its original, M = {length}", *runs, 1, "texts/s", rounds, SPEEDS[name])


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `python -m papers ratios`."""
    add_rounds(parser)
    add_texts(parser)


def run(arguments: Namespace) -> str:
    """Prints the ratios of the speeds and returns the table of sizes."""
    prepare_threads(arguments.threads or 1)
    documents = read(arguments.corpus, arguments.documents)
    texts = sentences_of(documents, 100, min_words=8)
    with tempfile.TemporaryDirectory() as folder:
        wordpiece, bpe = (
            vocabulary(documents, kind, size, folder) for kind, size in (("wordpiece", 30_000), ("bpe", 50_000))
        )
        rows = [
            from_text("hashformer-md5-pool-base : roberta-base", ours("hashformer-md5-pool-base"),
                      stock("roberta-base", bpe), texts[:40], 8, arguments.rounds, 2.3),
            *(latency("eelbert-tiny : bert-tiny", ours("eelbert-tiny", wordpiece), stock("bert-tiny", wordpiece),
                      texts, arguments.rounds, is_fresh) for is_fresh in (True, False)),
        ]  # fmt: skip
        rows += [equal_lengths(name, ours(name), original(name, wordpiece), arguments.rounds) for name in SPEEDS]
    report("papers; the goal is the paper's own ratio", rows, arguments.output)
    sizes = [[name, variant, published, f"{parameters(variant, kind):,}"] for name, variant, kind, published in SIZES]
    return "\n".join(markdown_table([["parameters", "variant", "paper", "ours"], *sizes]))
