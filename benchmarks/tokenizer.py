"""Speed of our tokenizers and of BERT's Rust WordPiece for the same call: texts → padded tensors.

    python -m benchmarks.tokenizer
    python -m benchmarks.tokenizer --corpus "wikipedia/*.parquet"

One thread on each side. Both sides count words separated by white space.
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

CODERS = {"md5": "hashformer-md5-pool-tiny", "utf8": "ewe-bert-word-tiny", "lsh": "hashformer-lsh-proj-tiny"}
BATCH = 32


def batches(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> Callable[[], None]:
    """Returns a function that encodes the texts in batches of 32."""

    def run() -> None:
        for start in range(0, len(texts), BATCH):
            tokenizer(texts[start : start + BATCH], padding=True, return_tensors="pt")

    return run


def singles(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> Callable[[], None]:
    """Returns a function that encodes the texts one at a time."""

    def run() -> None:
        for text in texts:
            tokenizer(text, return_tensors="pt")

    return run


def first_sight(new_tokenizers: Iterator[PreTrainedTokenizerBase], texts: list[str]) -> Callable[[], None]:
    """Returns a function that encodes the texts with a new tokenizer in each call, whose caches are empty."""
    return lambda: batches(next(new_tokenizers), texts)()


def main() -> None:
    """Runs the benchmark."""
    arguments = parser_with_texts(__doc__).parse_args()
    prepare_threads(arguments.threads or 1)
    documents = read(arguments.corpus, arguments.documents)
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
                    arguments.rounds, goal)
        )  # fmt: skip
        rows.append(
            compare(f"one sentence, {coder}", singles(tokenizer, texts), singles(peer, texts), len(texts), "texts/s",
                    arguments.rounds, 4.0)
        )  # fmt: skip
    for coder, variant in CODERS.items():
        unused = load_tokenizer(variant, model_max_length=10**9)
        new_tokenizers = iter([copy.deepcopy(unused) for _ in range(arguments.rounds + 1)])
        ours = first_sight(new_tokenizers, new_words)
        goal = 2.0 if coder == "lsh" else None
        words = words_of(new_words)
        rows.append(
            compare(f"first sight of each word, {coder}", ours, batches(peer, new_words), words, "words/s",
                    arguments.rounds, goal)
        )  # fmt: skip
    report("tokenizer", rows, arguments.output)


if __name__ == "__main__":
    main()
