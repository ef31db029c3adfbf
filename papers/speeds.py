"""HashFormers Table 3, EELBERT Table 5 and all published ratios of speeds, measured in turns; weights are random.

"Anew" hashes every unit again: the tokenizer and the front end remember nothing. "Remembered" is the second sight of
the same texts. HashFormers hash in the tokenizer, EELBERT in the front end, so times are given with and without the
tokenizer. Subword vocabularies are trained on the texts that are measured, with the paper's number of tokens.
"""

import statistics
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

import torch

from benchmarks import measure
from benchmarks.inference import from_text
from benchmarks.measure import Comparison, aligned_table, compare, prepare_threads
from benchmarks.peers import Side, milliseconds_per_text, original, ours, read, sentences_of, stock, vocabulary
from benchmarks.training import training_step
from papers.counts import VOCABULARY_SIZES
from papers.table import format_figure
from vocabless.overrides import with_overrides
from vocabless.stock_shapes import StockShape, find_shape

SR = "shuffle-random"
Row = tuple[str, str, str | None, str]  # label, model, pre-training objective, the printed figures
# Pre-training ms, speed-up; inference ms, speed-up.
HASHFORMERS_3: tuple[Row, ...] = (
    ("BERT-MLM", "roberta-base", "mlm", "24.9 1.0 4.6 1.0"),
    ("BERT-S+R", "roberta-base", SR, "11.6 2.1 4.6 1.0"),
    ("Canine-C", "canine-base", None, "– – 6.9 0.6"),
    ("Emb", "hashformer-md5-emb50k-base", SR, "11.6 2.1 2.0–4.6 1.0–2.4"),
    ("Pool", "hashformer-md5-pool-base", SR, "12.0 2.1 2.0–4.6 1.0–2.3"),
    ("Add", "hashformer-md5-add-base", SR, "11.7 2.1 2.0–4.6 1.0–2.4"),
    ("Proj", "hashformer-md5-proj-base", SR, "10.6 2.4 1.8–4.6 1.0–2.6"),
)
EELBERT_5: tuple[Row, ...] = (
    ("BERT-base", "bert-base", None, "428.00 162.0"), ("EELBERT-base", "eelbert-base", None, "344.00 165.0"),
    ("BERT-mini", "bert-mini", None, "44.80 7.0"), ("EELBERT-mini", "eelbert-mini", None, "13.40 9.9"),
    ("BERT-tiny", "bert-tiny", None, "17.40 1.7"), ("EELBERT-tiny", "eelbert-tiny", None, "2.04 3.9"),
)  # fmt: skip
ELEMENTWISE_3 = {"ewe-bert-base": 1.7, "ewe-albert-base": 1.9, "ewe-canine-base": 1.4}


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of the tables of times."""
    measure.add_flags(parser, *measure.FLAGS)
    parser.add_argument("--size", help="size of the models: tiny, mini, small or base; None is the paper's")
    parser.add_argument("--length", type=int, default=512, help="tokens of a pre-training sequence (hashformers-3)")
    parser.add_argument("--batch", type=int, default=16, help="sequences of a pre-training step (hashformers-3)")


def hashformers_3(arguments: Namespace) -> str:
    """Returns HashFormers, Table 3, at the size of the arguments. A step is forward and backward (4.4)."""
    prepare_threads(arguments.threads)
    size, length, batch, rounds = arguments.size, arguments.length, arguments.batch, arguments.rounds
    documents = read(arguments.corpus, arguments.documents)
    with tempfile.TemporaryDirectory() as folder:
        bpe = vocabulary(documents, "bpe", VOCABULARY_SIZES["bpe"], folder)
        sides = [_side(model, size, bpe) for _, model, _, _ in HASHFORMERS_3]
        steps = {
            label: training_step(model, objective, documents, bpe, length, batch, size, is_updated=False)
            for label, model, objective, _ in HASHFORMERS_3
            if objective
        }
    texts = sentences_of(documents, 64, min_words=8)
    seconds_of = measure.seconds_in_turns([*steps.values()], rounds)
    seconds = dict(zip(steps, map(statistics.median, seconds_of), strict=True))
    columns: dict[str, Sequence[float | None]] = {
        "PT ms": [1000 * seconds[label] / batch if label in seconds else None for label, *_ in HASHFORMERS_3],
        "model ms": milliseconds_per_text(sides, texts, 32, rounds, with_tokenizer=False, is_anew=False),
        "with tokenizer ms": milliseconds_per_text(sides, texts, 32, rounds, with_tokenizer=True, is_anew=False),
        "hashed anew ms": milliseconds_per_text(sides, texts, 32, rounds, with_tokenizer=True, is_anew=True),
    }
    lines = [["row", "figures", *(title for name in columns for title in (name, "speed-up"))]]
    for place, (label, _, _, printed) in enumerate(HASHFORMERS_3):
        cells = []
        for column in columns.values():
            base, value = column[0], column[place]
            cells += [format_figure(value, 2), format_figure(base / value if base and value else None, 2)]
        lines += [[label, "paper", *printed.split(), *[""] * 4], ["", "ours", *cells]]
    note = (
        f"Per sample. PT: forward and backward of batches of {batch} sequences of {length} tokens (the paper: 512). "
        "Inference: batches of 32 sentences, as long as the longest."
    )
    return "\n".join(["HashFormers, Table 3", "", aligned_table(lines), "", note])


def eelbert_5(arguments: Namespace) -> str:
    """Returns EELBERT, Table 5: latency of single sentences; each row has its own size."""
    prepare_threads(arguments.threads)
    documents, rounds = read(arguments.corpus, arguments.documents), arguments.rounds
    rows = [row for row in EELBERT_5 if arguments.size in (None, find_shape(row[1]).size)]
    with tempfile.TemporaryDirectory() as folder:
        wordpiece = vocabulary(documents, "wordpiece", VOCABULARY_SIZES["wordpiece"], folder)
        sides = [_side(model, None, wordpiece) for _, model, _, _ in rows]
    texts = sentences_of(documents, 10)
    anew = milliseconds_per_text(sides, texts, 1, rounds, with_tokenizer=False, is_anew=True)
    remembered = milliseconds_per_text(sides, texts, 1, rounds, with_tokenizer=False, is_anew=False)
    from_texts = milliseconds_per_text(sides, texts, 1, rounds, with_tokenizer=True, is_anew=True)
    lines = [["row", "figures", "MB", "model, hashed anew ms", "model, remembered ms", "with tokenizer, anew ms"]]
    for (label, _, _, printed), side, *times in zip(rows, sides, anew, remembered, from_texts, strict=True):
        megabytes = sum(p.numel() * p.element_size() for p in side.model.parameters()) / 1e6
        figures = [format_figure(each, 2) for each in (megabytes, *times)]
        lines += [[label, "paper", *printed.split(), "", ""], ["", "ours", *figures]]
    note = "One thread, 10 sentences, one at a time; the paper: a MacBook Pro M1, without the tokenizer."
    return "\n".join(["EELBERT, Table 5", "", aligned_table(lines), "", note])


def ratios(arguments: Namespace) -> None:
    """Prints the published ratios of speeds beside ours: HashFormers Table 3, EELBERT Table 5, Elementwise Table 3.

    The Elementwise paper compares samples with the same number of tokens on both sides, although its tokens are words
    and those of the original models are not.
    """
    prepare_threads(arguments.threads)
    documents, rounds = read(arguments.corpus, arguments.documents), arguments.rounds
    texts = sentences_of(documents, 100, min_words=8)
    with tempfile.TemporaryDirectory() as folder:
        wordpiece, bpe = (vocabulary(documents, kind, size, folder) for kind, size in VOCABULARY_SIZES.items())
        pool, tiny = "hashformer-md5-pool-base", ours("eelbert-tiny", wordpiece)
        rows = [from_text(f"{pool} : roberta-base", ours(pool), stock("roberta-base", bpe), texts[:40], 8, rounds, 2.3)]
        runs = [tiny.passes([text], 1, with_tokenizer=False) for text in texts]
        anew = [each for run in runs for each in (tiny.forget, run)]
        peer = stock("bert-tiny", wordpiece).passes(texts, 1, with_tokenizer=False)
        for how, side in (("hashed anew", measure.run_all(anew)), ("remembered", measure.run_all(runs))):
            rows.append(compare(f"eelbert-tiny : bert-tiny, {how}", side, peer, len(texts), "texts/s", rounds, 1 / 2.3))
        rows += [_equal_lengths(name, ours(name), original(name, wordpiece), rounds) for name in ELEMENTWISE_3]
    measure.report("papers; the goal is the paper's own ratio", rows, arguments.output)


def _equal_lengths(name: str, side: Side, peer: Side, rounds: int) -> Comparison:
    """Compares samples/s if both sides read M tokens, the longest sequence of our side."""
    length = side.tokenizer.model_max_length
    blocks, ids = torch.randint(5, 261, (1, length, side.tokenizer.block_size)), torch.randint(5, 1000, (1, length))
    runs = side.forward({"input_ids": blocks}), peer.forward({"input_ids": ids})
    return compare(f"{name} : its original, M = {length}", *runs, 1, "texts/s", rounds, ELEMENTWISE_3[name])


def _side(model: str, size: str | None, subword: str) -> Side:
    shape = with_overrides(find_shape(model), {"size": size} if size else {})
    vocabulary_file = subword if shape.reads_subwords else None
    return stock(shape, vocabulary_file) if isinstance(shape, StockShape) else ours(shape, vocabulary_file)
