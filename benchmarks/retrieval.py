"""Questions and the texts that they should find, QNLI and QQP: by meaning, by words, by both, and by other encoders."""
# mypy: no-warn-return-any

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.encoders import unit_embedder
from vocabless.conversion.search import load_encoder
from vocabless.conversion.search_export.passage_index import build_index
from vocabless.conversion.space_export.page import join_page
from vocabless.saving.public_names import public_name
from vocabless.saving.tables import markdown_table
from vocabless.tokenization.splitters import SPLITTERS
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.distillation.sentence_measures import unit_vectors
from vocabless.training.finetuning.task_files import read_files

ASKED = 1000  # questions of a task
K1, B = 0.6, 0.75  # of `browser/bm25.js`
WORDS_SHARE = 0.25  # of `browser/searcher.js`
NEAREST = 10
RANK_FIGURES = ("first", "among ten", "reciprocal rank")
EMPTY = {"documents": "", "vectors": "", "weights": ""}
Scores = NDArray[np.float64]


class Task(NamedTuple):
    """Questions, texts, and the place of the text that each question should find."""

    questions: list[str]
    texts: list[str]
    places: NDArray[np.int64]


def qnli(files: Sequence[str]) -> Task:
    """Returns 1 000 questions and the first 4 000 sentences, one of which answers the question."""
    rows = read_files(files)
    answered = [(row["question"], row["sentence"]) for row in rows if row["label"] == 0]
    return _task(answered[:ASKED], rows["sentence"], 4 * ASKED)


def qqp(files: Sequence[str]) -> Task:
    """Returns 1 000 questions and 5 000 other ones, one of which means the same by QQP's labels."""
    rows = list(read_files(files))
    pairs: list[tuple[str, str]] = []
    used: set[str] = set()
    for row in rows:
        pair = (row["question1"], row["question2"])
        if row["label"] == 1 and len(pairs) < ASKED and len({*pair} - used) == 2:
            pairs.append(pair)
            used |= {*pair}
    questions = {question for question, _ in pairs}
    others = [row[name] for row in rows for name in ("question1", "question2") if row[name] not in questions]
    return _task(pairs, others, 5 * ASKED)


def _task(pairs: Sequence[tuple[str, str]], others: Sequence[str], count: int) -> Task:
    texts = list(dict.fromkeys([*(text for _, text in pairs), *others]))[:count]
    place_of = {text: place for place, text in enumerate(texts)}
    return Task([question for question, _ in pairs], texts, np.array([place_of[text] for _, text in pairs]))


TASKS = {"qnli": qnli, "qqp": qqp}


def bm25(tokenizer: VocablessTokenizer, queries: Sequence[str], texts: Sequence[str]) -> Scores:
    """Returns the scores of `browser/bm25.js`, (queries, texts)."""
    splitter = SPLITTERS[tokenizer.splitter](**tokenizer.splitter_options)

    def units(text: str) -> list[str]:
        found = [str(splitter.normalize(unit)).lower() for unit in splitter.units(text)]
        return [unit for unit in found if regex.search(r"[\p{L}\p{N}]", unit)]

    counter = CountVectorizer(analyzer=units, dtype=np.float64)
    counts = counter.fit_transform(texts).tocoo()
    lengths, having = counts.sum(axis=1).A1, np.bincount(counts.col)
    weights = np.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
    discounts = K1 * (1 - B + B * lengths / lengths.mean())
    values = weights[counts.col] * counts.data * (K1 + 1) / (counts.data + discounts[counts.row])
    table = csr_matrix((values, (counts.row, counts.col)), counts.shape)
    return (counter.transform(queries) @ table.T).toarray()


def both(cosines: Scores, words: Scores) -> Scores:
    """Returns the scores of the page from cosines and BM25, (queries, texts)."""
    meaning, wording = ((each - each.mean(1, keepdims=True)) / each.std(1, keepdims=True) for each in (cosines, words))
    return (1 - WORDS_SHARE) * meaning + WORDS_SHARE * wording


def table(encoder: str, task_name: str, files: Sequence[str], peers: Sequence[str]) -> str:
    """Returns a table: how often the right text is first, among the first ten, and its reciprocal rank, in percent."""
    task = TASKS[task_name](files)
    model, tokenizer, modules = load_encoder(encoder)
    index = build_index(model, tokenizer, modules, task.texts)
    cosines = index.encode(task.questions) @ unit_vectors(index.vectors).T
    words = bm25(tokenizer, task.questions, task.texts)
    rows = [("meaning", cosines), ("words: BM25", words), ("both: the page", both(cosines, words))]
    for name in peers:
        embed = unit_embedder(name)
        of_peer = embed(task.questions) @ embed(task.texts).T
        rows += [(public_name(name), of_peer), (f"{public_name(name)} and words", both(of_peer, words))]
    cells = [[name, *(f"{100 * each:.1f}" for each in rank_figures(scores, task.places))] for name, scores in rows]
    page = join_page("search", index.manifest | {"title": ""}, EMPTY)
    megabytes = (len(page) + len(index.weights) * 4 / 3) / 1e6  # weights are in base64
    title = f"{task_name.upper()}: {len(task.questions)} questions, {len(task.texts)} texts"
    result = markdown_table([title, *RANK_FIGURES], cells)
    return f"{result}\n\nThe page has {megabytes:.1f} MB without documents and their vectors."


def rank_figures(scores: NDArray[Any], places: NDArray[np.int64]) -> tuple[float, float, float]:
    """Returns the share of right texts that are first, and among the first ten, and the mean reciprocal rank.

    `scores` are (questions, texts), `places` (questions,) that of each question's right text.

    >>> rank_figures(np.array([[0.1, 0.9], [0.2, 0.8]]), np.array([1, 0]))
    (0.5, 1.0, 0.75)
    """
    ranks = 1 + (scores > scores[np.arange(len(places)), places][:, None]).sum(axis=1)
    return float((ranks == 1).mean()), float((ranks <= NEAREST).mean()), float((1 / ranks).mean())
