"""Speed from text to logits, and of the model alone, compared with the stock encoder of the same shape.

    python -m benchmarks.inference                       # tiny shapes and onnxruntime, minutes
    python -m benchmarks.inference --size base           # base shapes, many minutes on a CPU

Weights are random, because the speed does not depend on them. A ratio is our texts/s divided by the peer's.
"""

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import FLAGS, Comparison, compare, comparison, parser, prepare_threads, report, run_all
from benchmarks.peers import Side, original, ours, read, sentences_of, stock, vocabulary
from vocabless import load_tokenizer
from vocabless.conversion.onnx import write_graphs, write_settings
from vocabless.conversion.onnx_export.graph import INPUT, run_session, session_of
from vocabless.joined_code import PROGRAM

BATCH = 32
LONG_TEXT = 100  # words: they fit into 128 units and into 2 048 characters
EXAMPLE = "The quick brown fox jumps over the lazy dog, and nobody minds it."


def from_text(
    name: str, side: Side, peer: Side, texts: list[str], batch_size: int, rounds: int, goal: float | None
) -> Comparison:
    """Compares texts/s from strings to logits."""
    return compare(
        name, side.passes(texts, batch_size), peer.passes(texts, batch_size), len(texts), "texts/s", rounds, goal
    )


def new_words(tokenizer: Any, length: int) -> Iterator[dict[str, Any]]:
    """Yields encoded batches of `length` tokens. Each word occurs only once in all batches."""
    numbers = count(random.Random(0).randrange(10**6))
    while True:
        texts = [" ".join(f"w{number:x}" for number in islice(numbers, length)) for _ in range(BATCH)]
        yield dict(tokenizer(texts, padding="max_length", truncation=True, max_length=length, return_tensors="pt"))


def front_end_and_model(words: Side, bert: Side, length: int, rounds: int) -> list[Comparison]:
    """Compares the models without tokenizers on 32 × `length` tokens: all words new, and all words in the cache."""
    ids = {"input_ids": torch.randint(5, len(bert.tokenizer), (BATCH, length))}
    peer = bert.forward({**ids, "attention_mask": torch.ones_like(ids["input_ids"])})
    unseen = iter(list(islice(new_words(words.tokenizer, length), rounds + 1)))
    cached = words.forward(next(new_words(words.tokenizer, length)))
    name = f"model alone, {BATCH}×{length}, {{}}: eelbert-word : bert".format
    return [
        compare(name("all words new"), lambda: words.forward(next(unseen))(), peer, BATCH, "texts/s", rounds, 0.8),
        compare(name("warm"), cached, peer, BATCH, "texts/s", rounds, 1 / 1.02),
    ]


def tiny(subword: str, texts: list[str], rounds: int) -> list[Comparison]:
    """Returns the rows for tiny models."""
    bert, words = stock("bert-tiny", subword), ours("eelbert-word-tiny")
    sides = (
        (words, "eelbert-word-tiny", 1 / 0.85),
        (ours("eelbert-tiny", subword), "eelbert-tiny", 1 / 1.05),
        (ours("hashformer-lsh-proj-tiny"), "hashformer-lsh-proj-tiny", None),
    )
    rows = []
    for side, name, goal in sides:
        rows += [
            from_text(f"text → logits, one sentence: {name} : bert-tiny", side, bert, texts[:100], 1, rounds, goal),
            from_text(f"text → logits, 32 sentences: {name} : bert-tiny", side, bert, texts, BATCH, rounds, goal),
        ]
    return [*rows, *front_end_and_model(words, bert, 128, rounds)]


def base(wordpiece: str, bpe: str, texts: list[str], rounds: int) -> list[Comparison]:
    """Returns the rows for base models. Both sides of `ewe-*` read the whole of a long text."""
    rows = []
    roberta = stock("roberta-base", bpe)
    for name in ("hashformer-md5-pool-base", "hashformer-lsh-proj-base"):
        side = ours(name)
        row = f"text → logits, 8 sentences: {name} : roberta-base"
        rows.append(from_text(row, side, roberta, texts[:40], 8, rounds, 1 / 0.92))
        rows.append(share_of_front_end(name, side, texts[:8], rounds))
    long = " ".join(" ".join(texts).split()[:LONG_TEXT])
    for name, goal in (("ewe-bert-base", 1.4), ("ewe-albert-base", 1.4), ("ewe-canine-base", 2.0)):
        side, peer = ours(name), original(name, wordpiece)
        windows = side._replace(tokenizer=load_tokenizer("ewe-bert-bytes-base"))
        for our_side, units in ((side, ""), (windows, " in windows of 16 bytes")):
            row = f"the same {LONG_TEXT} words{units}: {name} : its original"
            rows.append(from_text(row, our_side, peer, [long], 1, rounds, goal))
    return rows


def share_of_front_end(name: str, side: Side, texts: list[str], rounds: int) -> Comparison:
    """Compares the front end with the whole model: a ratio of 100 means that the front end takes 1 % of the time."""
    blocks = side.encode(texts)["input_ids"]
    front_end: Any = side.model.base_model.front_end

    def embed() -> None:
        with torch.inference_mode():
            front_end(blocks)

    whole = side.forward({"input_ids": blocks})
    return compare(f"front end : model, {name}", embed, whole, 1, "calls/s", rounds, goal=100)


def exported(subword: str, documents: list[str], folder: Path, rounds: int) -> list[Comparison]:
    """Returns the rows for onnxruntime, with one thread on each side."""
    rows = []
    bert = stock("bert-tiny", subword)
    for name in ("hashformer-lsh-proj-tiny", "eelbert-word-tiny", "eelbert-word-uno"):
        side = ours(name)
        (folder / name).mkdir()
        files = write_graphs(side.model, side.tokenizer, folder / name, int8=True)
        write_settings(side.model, side.tokenizer, folder / name)
        inputs = side.tokenizer([EXAMPLE], max_length=16, padding="max_length", truncation=True, return_tensors="pt")
        eager = run_all([side.forward(dict(inputs))] * 100)
        for file, precision, goal in zip(files, ("fp32", "int8"), (3.5, 5.5), strict=True):
            session = session_of(file, 1)
            runs = run_all([partial(session.run, None, {INPUT: inputs["input_ids"].numpy()})] * 100)
            rows.append(compare(f"1×16, {precision}, {name} : eager torch", runs, eager, 100, "texts/s", rounds, goal))
        of_bert = [
            bert.from_text(documents[start : start + BATCH], side.tokenizer.model_max_length)
            for start in range(0, len(documents), BATCH)
        ]
        row = f"documents sorted by length, int8, {name} : bert-tiny eager"
        of_int8 = partial(classify_sorted, session, side.tokenizer, documents)
        rows.append(compare(row, of_int8, run_all(of_bert), len(documents), "texts/s", rounds, 5.0))
    return [*rows, *cold_start(folder / "eelbert-word-uno" / "model.onnx", rounds)]


def classify_sorted(session: Any, tokenizer: Any, texts: list[str]) -> None:
    """Classifies texts in batches of similar length."""
    texts = sorted(texts, key=len)
    for start in range(0, len(texts), BATCH):
        batch = tokenizer(texts[start : start + BATCH], padding=True, truncation=True, return_tensors="pt")
        run_session(session, batch["input_ids"])


def cold_start(model: Path, rounds: int) -> list[Comparison]:
    """Compares time and memory of a new process, from its start to a label, with the limits 0.2 s and 80 MB."""
    seconds, megabytes = [], []
    program = model.with_name(PROGRAM)
    peak_kib = "next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))"
    code = f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__'); print({peak_kib})"
    for _ in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, program, model, EXAMPLE], check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
        printed = subprocess.run([sys.executable, "-c", code, model, EXAMPLE], check=True, capture_output=True).stdout
        megabytes.append(int(printed.split()[-1]) * 1024 / 1e6)
    rows = []
    for name, unit, limit, values in (("time", "1/s", 0.2, seconds[1:]), ("memory", "1/MB", 80.0, megabytes[1:])):
        row = f"cold start, text → label, {name} {statistics.median(values):.3g} : limit {limit:g}"
        rows.append(comparison(row, unit, [1 / value for value in values], [1 / limit] * rounds, goal=1.0))
    return rows


def main() -> None:
    """Runs the benchmark."""
    command_line = parser(__doc__, *FLAGS)
    command_line.add_argument("--size", choices=("tiny", "base"), default="tiny", help="size of the encoders")
    arguments = command_line.parse_args()
    prepare_threads(arguments.threads)
    documents = read(arguments.corpus, arguments.documents)
    texts = sentences_of(documents, 20 * BATCH, min_words=8)
    with tempfile.TemporaryDirectory() as folder:
        wordpiece = vocabulary(documents, "wordpiece", 30_000, folder)
        if arguments.size == "base":
            rows = base(wordpiece, vocabulary(documents, "bpe", 50_000, folder), texts, arguments.rounds)
        else:
            rows = tiny(wordpiece, texts, arguments.rounds)
            rows += exported(wordpiece, documents[: 10 * BATCH]["text"], Path(folder), arguments.rounds)
    report(f"inference, {arguments.size}", rows, arguments.output)


if __name__ == "__main__":
    main()
