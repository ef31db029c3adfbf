"""Speed of our tokenizers and of BERT's Rust WordPiece for the same call: texts → padded tensors.

    python -m benchmarks.tokenizer
    python -m benchmarks.tokenizer --corpus "wikipedia/*.parquet"

One thread on each side. Both sides count words separated by white space.
"""

import copy
import random
import tempfile
from functools import partial
from typing import Any

from benchmarks import measure
from benchmarks.measure import Run, compare, words_of
from vocabless import load_tokenizer
from vocabless.stock_shapes import load_shape_tokenizer

CODERS = {"md5": "hashformer-md5-pool-tiny", "utf8": "ewe-bert-word-tiny", "lsh": "hashformer-lsh-proj-tiny"}
BATCH = 32


def encode(tokenizer: Any, texts: list[str], size: int = BATCH) -> Run:
    """Returns a function that encodes the texts in batches of `size`; 1 gives each text as a string."""
    calls = texts if size == 1 else [texts[start : start + size] for start in range(0, len(texts), size)]
    return measure.run_all([partial(tokenizer, call, padding=True, return_tensors="pt") for call in calls])


def main() -> None:
    """Runs the benchmark."""
    arguments = measure.parser(__doc__, *measure.FLAGS).parse_args()
    rounds = arguments.rounds
    measure.prepare_threads(arguments.threads)
    documents = measure.read(arguments.corpus, arguments.documents)
    texts = measure.sentences_of(documents, 100 * BATCH)
    distinct = list(dict.fromkeys(word for text in documents["text"] for word in text.split()))
    random.Random(0).shuffle(distinct)
    new_words = [" ".join(distinct[start : start + 20]) for start in range(0, min(len(distinct), 40_000), 20)]
    with tempfile.TemporaryDirectory() as folder:
        wordpiece = measure.vocabulary(documents, "wordpiece", 30_000, folder)
        peer = load_shape_tokenizer("bert-tiny", wordpiece, 10**9)
    rows = []
    for coder, variant in CODERS.items():
        ours = load_tokenizer(variant, model_max_length=10**9)
        sides = encode(ours, texts), encode(peer, texts)
        rows.append(compare(f"32 sentences, {coder}", *sides, words_of(texts), "words/s", rounds))
        sides = encode(ours, texts, 1), encode(peer, texts, 1)
        rows.append(compare(f"one sentence, {coder}", *sides, len(texts), "texts/s", rounds))
    for coder, variant in CODERS.items():
        unused = load_tokenizer(variant, model_max_length=10**9)
        first_sights = iter([encode(copy.deepcopy(unused), new_words) for _ in range(rounds + 1)])
        name, theirs = f"first sight of each word, {coder}", encode(peer, new_words)
        run = partial(lambda new: next(new)(), first_sights)
        rows.append(compare(name, run, theirs, words_of(new_words), "words/s", rounds))
    measure.report("tokenizer", rows, arguments.output)


if __name__ == "__main__":
    main()
