"""Tokenizer speed beside BERT's Rust WordPiece, by the same call: texts → padded tensors.

    python -m benchmarks.tokenizer
    python -m benchmarks.tokenizer --corpus "wikipedia/*.parquet"

One thread on each side. A word is what stands between white space, on both sides.
"""

import copy
import random
import tempfile
from collections.abc import Callable, Iterator

from transformers import PreTrainedTokenizerBase

from benchmarks.measure import compare, parser_with_texts, prepare_threads, report
from benchmarks.peers import read, sentences_of, vocabulary, words_of
from vocabless import load_tokenizer
from vocabless.stock_shapes import load_shape_tokenizer

CODERS = {"md5": "hashformer-md5-pool-tiny", "utf8": "ewe-bert-tiny", "lsh": "hashformer-lsh-proj-tiny"}
BATCH = 32


def batches(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> Callable[[], None]:
    """Returns what encodes texts 32 at a time."""

    def run() -> None:
        for start in range(0, len(texts), BATCH):
            tokenizer(texts[start : start + BATCH], padding=True, return_tensors="pt")

    return run


def singles(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> Callable[[], None]:
    """Returns what encodes texts one at a time."""

    def run() -> None:
        for text in texts:
            tokenizer(text, return_tensors="pt")

    return run


def first_sight(fresh: Iterator[PreTrainedTokenizerBase], texts: list[str]) -> Callable[[], None]:
    """Returns what encodes texts by a tokenizer that has seen none of their words."""
    return lambda: batches(next(fresh), texts)()


def main() -> None:
    """Runs the benchmark."""
    given = parser_with_texts(__doc__).parse_args()
    prepare_threads(given.threads or 1)
    documents = read(given.corpus, given.documents)
    texts = sentences_of(documents, 100 * BATCH)
    distinct = list(dict.fromkeys(word for text in documents["text"] for word in text.split()))
    random.Random(0).shuffle(distinct)
    new_words = [" ".join(distinct[start : start + 20]) for start in range(0, min(len(distinct), 40_000), 20)]
    with tempfile.TemporaryDirectory() as folder:
        peer = load_shape_tokenizer("bert-tiny", vocabulary(documents, "wordpiece", 30_000, folder), 10**9)
    rows = []
    for coder, variant in CODERS.items():
        tokenizer = load_tokenizer(variant, model_max_length=10**9)
        goal = 8.0 if coder == "lsh" else 10.0
        words = words_of(texts)
        rows.append(
            compare(f"32 sentences, {coder}", batches(tokenizer, texts), batches(peer, texts), words, "words/s",
                    given.rounds, goal)
        )  # fmt: skip
        rows.append(
            compare(f"one sentence, {coder}", singles(tokenizer, texts), singles(peer, texts), len(texts), "texts/s",
                    given.rounds, 4.0)
        )  # fmt: skip
    for coder, variant in CODERS.items():
        unused = load_tokenizer(variant, model_max_length=10**9)
        fresh = iter([copy.deepcopy(unused) for _ in range(given.rounds + 1)])
        ours = first_sight(fresh, new_words)
        goal = 2.0 if coder == "lsh" else None
        words = words_of(new_words)
        rows.append(
            compare(f"first sight of each word, {coder}", ours, batches(peer, new_words), words, "words/s",
                    given.rounds, goal)
        )  # fmt: skip
    report("tokenizer", rows, given.output)


if __name__ == "__main__":
    main()
