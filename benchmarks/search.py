"""What a search page finds: by meaning, by words, by both as the page does, and by other encoders.

    python -m benchmarks.search --qnli glue/qnli/validation.parquet --qqp glue/qqp/*.parquet --peers wordllama MiniLM/

With --qnli, 1 000 questions look for the sentences that answer them; with --qqp, for questions that mean the same: the
share whose answer or duplicate is first, and among the first ten, and the mean of 1 / rank, in percent. Our vectors
have 8 bits, as in the page; a peer is an encoder of `benchmarks.encoders`, alone and with our search for words.
"""
# mypy: no-warn-return-any

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.encoders import unit_embedder
from benchmarks.features import RANK_FIGURES, TASKS, Task, rank_figures
from benchmarks.measure import Models, parser, write_record
from vocabless.conversion.search import load_encoder
from vocabless.conversion.search_export.passage_index import build_index
from vocabless.loading import default_encoder
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table
from vocabless.tokenization.splitters import SPLITTERS, Splitter
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.pretraining.measures import unit_vectors

K1, B = 0.6, 0.75  # of `browser/bm25.js`
WORDS_SHARE = 0.25  # of `browser/searcher.js`
LETTERS = str.maketrans({"ß": "ss", "œ": "oe", "æ": "ae", "ĳ": "ij"})
_UNSPACED = "".join(rf"\p{{Script={name}}}" for name in "Han Hiragana Katakana Thai Lao Khmer Myanmar".split())
RUN = regex.compile(rf"[^\s{_UNSPACED}\u3000-\u303f\uff00-\uffef,;!?()\[\]{{}}<>\"'«»“”„‘’…·•|`*=~]+")
IS_JOINED = regex.compile(r"[\p{L}\p{N}].*[^\p{L}\p{M}\p{N}]|[^\p{L}\p{M}\p{N}].*[\p{L}\p{N}]")
HYPHEN = regex.compile(r"(?<=\p{L}\p{M}*)[-\u00ad\u2010\u2011](?=\p{L})")
MOST_JOINED = 64
Scores = NDArray[np.floating[Any]]
Figures = dict[str, tuple[float, ...]]  # side → `RANK_FIGURES`


def words_of(splitter: Splitter) -> Callable[[str], tuple[list[str], list[str]]]:
    """Returns what gives the words of a text as `browser/searcher.js` indexes them: its units, and joined words."""

    def indexed(units: Sequence[str]) -> list[str]:
        found = [str(splitter.normalize(unit)).lower().translate(LETTERS) for unit in units]
        return [unit for unit in found if regex.search(r"[\p{L}\p{N}]", unit)]

    def words(text: str) -> tuple[list[str], list[str]]:
        units = indexed([str(unit) for unit in splitter.units(text)])
        return units, [word for word in indexed([word for word, _, _ in joined_words(text)]) if word not in units]

    return words


def joined_words(text: str) -> list[tuple[str, int, int]]:
    """Returns the words that marks join, with their places: `joinedWords` of `browser/index_words.js`.

    >>> joined_words("A co-operative (v1.2.3) in C++.")
    [('cooperative', 2, 14), ('v1.2.3', 16, 22), ('C++', 27, 30)]
    """
    found = []
    for run in RUN.finditer(text):
        word = run[0].lstrip("-:/\\&+_%")
        start = run.end() - len(word)
        word = word.rstrip("-.:/\\&_@$")
        if len(word.encode("utf-16-le", "surrogatepass")) <= 2 * MOST_JOINED and IS_JOINED.search(word):
            found.append((HYPHEN.sub("", word), start, start + len(word)))
    return found


def _splitter(tokenizer: VocablessTokenizer) -> Splitter:
    return SPLITTERS[tokenizer.splitter](**tokenizer.splitter_options)


def rarity(having: Any, count: int) -> Any:
    """Returns the inverse document frequency of words that so many of `count` texts have."""
    return np.log(1 + (count - having + 0.5) / (having + 0.5))


def bm25(tokenizer: VocablessTokenizer, queries: Sequence[str], texts: Sequence[str]) -> Scores:
    """Returns the scores of `browser/bm25.js` for exact words, (queries, texts)."""
    words = words_of(_splitter(tokenizer))
    counter = CountVectorizer(analyzer=lambda text: [*chain(*words(text))], dtype=np.float64)
    counts = counter.fit_transform(texts).tocoo()
    lengths, having = counts.sum(axis=1).A1, np.bincount(counts.col)
    weights = rarity(having, len(texts))
    discounts = K1 * (1 - B + B * lengths / lengths.mean())
    values = weights[counts.col] * counts.data * (K1 + 1) / (counts.data + discounts[counts.row])
    table = csr_matrix((values, (counts.row, counts.col)), counts.shape)
    return (counter.transform(queries) @ table.T).toarray()


def coverage(tokenizer: VocablessTokenizer, queries: Sequence[str], texts: Sequence[str]) -> Scores:
    """Returns the share of the words of each query that each text has, by their rarity, (queries, texts)."""
    words = words_of(_splitter(tokenizer))
    counter = CountVectorizer(analyzer=lambda text: [*chain(*words(text))], binary=True, dtype=np.float64)
    table = counter.fit_transform(texts).tocsc()
    known, weights = counter.vocabulary_, rarity(np.asarray(table.sum(axis=0)).ravel(), len(texts))
    found = np.zeros((len(queries), len(texts)))
    for row, query in enumerate(queries):
        units, joined = words(query)
        places = [known.get(word) for word in units] + [known[word] for word in joined if word in known]
        of_words = [rarity(0, len(texts)) if place is None else weights[place] for place in places]
        for place, weight in zip(places, of_words, strict=True):
            if place is not None:
                found[row] += weight * table.getcol(place).toarray().ravel()
        found[row] /= sum(of_words) or 1
    return found


def both(cosines: Scores, words: Scores) -> Scores:
    """Returns the scores of the page from cosines and BM25, (queries, texts)."""
    meaning, wording = map(standardised, (cosines, words))
    return (1 - WORDS_SHARE) * meaning + WORDS_SHARE * wording


def standardised(scores: Scores) -> Scores:
    """Returns scores minus the mean of their row, over its standard deviation; zeros where all are the same."""
    deviations = scores.std(1, keepdims=True)
    return (scores - scores.mean(1, keepdims=True)) / np.where(deviations > 0, deviations, 1)


def measure(encoder: str, task: Task, peers: Sequence[str]) -> Figures:
    """Returns the figures of our encoder, of words, of the page, and of each peer alone and with words."""
    model, tokenizer, modules = load_encoder(encoder)
    index = build_index(model, tokenizer, modules, task.texts)
    cosines = index.encode(task.questions) @ unit_vectors(index.vectors).T
    words = bm25(tokenizer, task.questions, task.texts)
    sides = {"meaning": cosines, "words: BM25": words, "both: the page": both(cosines, words)}
    for source in peers:
        embed, name = unit_embedder(source), without_path(source)
        of_peer = embed(task.questions) @ embed(task.texts).T
        sides |= {name: of_peer, f"{name} and words": both(of_peer, words)}
    return {name: rank_figures(scores, task.places) for name, scores in sides.items()}


def main(argv: list[str] | None = None) -> None:
    """Prints a table for each task."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("--encoder", default=default_encoder(), help="sentence encoder; default: ours")
    for name in TASKS:
        command_line.add_argument(f"--{name}", metavar="FILE", nargs="+", help="parquet files of its pairs")
    command_line.add_argument(
        "--peers", action=Models, nargs="+", default=[], help="other encoders, see benchmarks.encoders"
    )
    arguments = command_line.parse_args(argv)
    tasks = {name: draw(vars(arguments)[name]) for name, draw in TASKS.items() if vars(arguments)[name]}
    if not tasks:
        command_line.error("nothing to measure; give --qnli, --qqp, or both.")
    tables: dict[str, Figures] = {}
    for name, task in tasks.items():
        tables[name] = measure(arguments.encoder, task, arguments.peers)
        title = f"{name.upper()}: {len(task.questions)} questions, {len(task.texts)} texts"
        rows = [[side, *(f"{100 * each:.1f}" for each in found)] for side, found in tables[name].items()]
        print(markdown_table([title, *RANK_FIGURES], rows), end="\n\n")
    write_record(arguments.output, "search", tables)


if __name__ == "__main__":
    main()
