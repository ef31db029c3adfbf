"""What encoders make of words as people mistype them, and what words and characters do: a row for each, in percent.

    python -m benchmarks.typed checkpoints/hashgram-tiny-sentence MiniLM/ --misspellings misspelt.csv \
        --qnli glue/qnli/validation.parquet --data_dir sets/ --sets trec banking77 --labelled languages.parquet

A model is `wordllama`, a package with the folder `model`, or what sentence-transformers loads. `--misspellings` has the
columns `misspelt`, `right` and `lang`; all right words of a language are candidates there.

- **Nearest word**: how often the nearest candidate of a misspelt word is its right word, and the mean cosine of both;
  for English, and the mean over the other languages, which a second table shows apart.
- **Search**: 1 000 questions of `--qnli`, whose answer is among the first ten of 4 000 clean sentences.
- **Labels**: accuracy of a logistic regression that learned clean rows: the mean over the sets of `--data_dir`, see
  `benchmarks.features`, and over the languages of `--labelled`, see `benchmarks.languages`, each within its language.

Questions and test texts have a share of their words misspelt (`--share`). A word gets one of its misspellings; one
without any gets an error of the keyboard, by `vocabless.texts.misspellings`.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import FunctionTransformer
from tqdm import tqdm

from benchmarks.encoders import unit_embedder
from benchmarks.features import add_sets, character_ngrams, labelled_sets, qnli, rank_figures, regression
from benchmarks.languages import ENGLISH
from benchmarks.measure import Models, parser, write_record
from benchmarks.search import Scores, bm25
from vocabless.loading import default_encoder
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table
from vocabless.texts.misspellings import misspell
from vocabless.texts.tables import load_table
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

SHARES = (0.0, 0.1, 0.3, 1.0)
SEED = 0  # of the misspellings
KINDS = ("nearest word", "cosine")
AT_ONCE = 1000  # misspelt words that are compared with all candidates
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*(?:['’]\p{L}+)*")
Pairs = dict[str, list[tuple[str, str]]]  # language → misspelt and right words
Known = dict[str, list[str]]  # right word in lower case → its misspellings
Figures = dict[str, float]  # measure → 0–1


@dataclass(frozen=True)
class System:
    """One row of the table: how queries are compared with texts, and what a regression reads of a text."""

    name: str
    scores: Callable[[Sequence[str], Sequence[str]], Scores]  # queries, texts → (queries, texts)
    features: Any  # a transformer of scikit-learn
    has_cosines: bool = True  # words that are not the same have none


def systems(models: Sequence[str]) -> list[System]:
    """Returns words, characters, and each model."""
    tokenizer = VocablessTokenizer.from_pretrained(default_encoder())
    of_words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    found = [
        System("words: BM25, TF-IDF", lambda queries, texts: bm25(tokenizer, queries, texts), of_words, False),
        System("characters: TF-IDF", _character_cosines, character_ngrams()),
    ]
    return found + [_of_model(source) for source in models]


def _of_model(source: str) -> System:
    embed = unit_embedder(source)
    return System(
        without_path(source), lambda queries, texts: embed(queries) @ embed(texts).T, FunctionTransformer(embed)
    )


def _character_cosines(queries: Sequence[str], texts: Sequence[str]) -> Scores:
    counter = character_ngrams().fit(texts)
    return np.asarray((counter.transform(queries) @ counter.transform(texts).T).todense())


def read_misspellings(file: str) -> Pairs:
    """Returns the pairs of each language; one without a language is English."""
    rows = load_table(file, "--misspellings", ("misspelt", "right", "lang"))
    pairs: Pairs = defaultdict(list)
    for misspelt, right, language in zip(rows["misspelt"], rows["right"], rows["lang"], strict=True):
        pairs[language or ENGLISH].append((misspelt, right))
    return dict(pairs)


def misspellings_of(pairs: Sequence[tuple[str, str]]) -> Known:
    """Returns the misspellings of each right word."""
    known: Known = defaultdict(list)
    for misspelt, right in pairs:
        known[right.lower()].append(misspelt)
    return dict(known)


def misspell_naturally(text: str, share: float, known: Known, rng: random.Random) -> str:
    """Returns a text with a share of its words misspelt as people do, where they are known, and else by the keyboard.

    >>> misspell_naturally("Their receipt", 1.0, {"their": ["thier"], "receipt": ["reciept"]}, random.Random(0))
    'Thier reciept'
    """

    def edit(match: regex.Match[str]) -> str:
        word = match.group()
        if rng.random() >= share:
            return str(word)
        if word.lower() not in known:
            return misspell(word, 1.0, rng)
        chosen = rng.choice(known[word.lower()])
        return chosen[:1].upper() + chosen[1:] if word[0].isupper() else chosen

    return str(_WORD.sub(edit, text))


def nearest_words(system: System, pairs: Sequence[tuple[str, str]]) -> tuple[float, float]:
    """Returns how often the nearest of all right words is the right one, and the mean cosine with it."""
    candidates = list(dict.fromkeys(right for _, right in pairs))
    place_of = {word: place for place, word in enumerate(candidates)}
    found: list[NDArray[Any]] = []
    for start in range(0, len(pairs), AT_ONCE):
        part = pairs[start : start + AT_ONCE]
        scores = system.scores([misspelt for misspelt, _ in part], candidates)
        places = np.array([place_of[right] for _, right in part])
        found.append(np.stack([scores.argmax(axis=1) == places, scores[np.arange(len(part)), places]]))
    nearest, cosine = np.concatenate(found, axis=1).mean(axis=1)
    return float(nearest), float(cosine)


def of_words(system: System, pairs: Pairs) -> Figures:
    """Returns the figures of each language, and the mean over those that are not English."""
    of_language = {language: nearest_words(system, pairs[language]) for language in sorted(pairs)}
    figures = {f"{kind}, {language}": both[i] for language, both in of_language.items() for i, kind in enumerate(KINDS)}
    others = [both for language, both in of_language.items() if language != ENGLISH]
    means = np.mean(others, axis=0) if others else ()
    return figures | {f"{kind}, others": float(mean) for kind, mean in zip(KINDS, means, strict=False)}


def of_search(system: System, file: str, shares: Sequence[float], known: Known) -> Figures:
    """Returns how often the answer of a question is among the first ten texts, for each share of misspelt words."""
    task, figures = qnli([file]), {}
    for share in shares:
        rng = random.Random(SEED)
        questions = [misspell_naturally(question, share, known, rng) for question in task.questions]
        figures[f"search, {100 * share:g} %"] = rank_figures(system.scores(questions, task.texts), task.places)[1]
    return figures


def of_labels(system: System, parts: Sequence[tuple[Any, Any, Known]], shares: Sequence[float], name: str) -> Figures:
    """Returns the mean accuracy over parts for each share: training rows, test rows, and known misspellings."""
    accuracies = []
    for train, test, known in parts:
        fitted, column = regression(system.features).fit(list(train["text"]), list(train["label"])), []
        for share in shares:
            rng = random.Random(SEED)
            texts = [misspell_naturally(text, share, known, rng) for text in test["text"]]
            column.append(fitted.score(texts, list(test["label"])))
        accuracies.append(column)
    means = np.mean(accuracies, axis=0)
    return {f"{name}, {100 * share:g} %": float(mean) for share, mean in zip(shares, means, strict=True)}


def parts_of_languages(file: str, pairs: Pairs) -> list[tuple[Any, Any, Known]]:
    """Returns the training and the test rows of each language of a file but English, and its misspellings."""
    rows = load_table(file, "--labelled", ("text", "label", "lang", "split")).to_pandas()
    parts = []
    for language, of_language in rows[rows["lang"] != ENGLISH].groupby("lang"):
        train, test = (of_language[of_language["split"] == split] for split in ("train", "test"))
        parts.append((train, test, misspellings_of(pairs.get(str(language), []))))
    return parts


def measure(system: System, arguments: argparse.Namespace, pairs: Pairs) -> Figures:
    """Returns the figures of one row."""
    english, shares = misspellings_of(pairs.get(ENGLISH, [])), arguments.share
    figures = of_words(system, pairs) if system.has_cosines else {}
    if arguments.qnli:
        figures |= of_search(system, arguments.qnli, shares, english)
    if arguments.data_dir:
        sets = labelled_sets(arguments, arguments.rows, arguments.test_rows)
        figures |= of_labels(system, [(train, test, english) for _, train, test in sets], shares, "labels")
    if arguments.labelled:
        figures |= of_labels(system, parts_of_languages(arguments.labelled, pairs), shares, "labels, others")
    return figures


def table(rows: dict[str, Figures], columns: Sequence[str]) -> str:
    """Returns a table of figures in percent, but for cosines."""

    def cell(name: str, figures: Figures) -> str:
        if name not in figures:
            return "–"
        return f"{figures[name]:.2f}" if name.startswith(KINDS[1]) else f"{100 * figures[name]:.1f}"

    return markdown_table(["", *columns], [[name, *(cell(each, of) for each in columns)] for name, of in rows.items()])


def main(argv: list[str] | None = None) -> None:
    """Prints a table of all measures, and one of the languages."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("models", action=Models, nargs="+", metavar="MODEL", help="sentence encoders, see above")
    command_line.add_argument("--misspellings", required=True, metavar="FILE", help="misspelt words, see above")
    command_line.add_argument("--qnli", metavar="FILE", help="parquet file of its pairs")
    command_line.add_argument("--labelled", metavar="FILE", help="file of texts with labels in several languages")
    add_sets(command_line, required=False)
    command_line.add_argument("--share", type=float, nargs="+", default=SHARES, help="of misspelt words, 0 to 1")
    command_line.add_argument("--rows", type=int, default=1000, help="training rows of a set; default %(default)s")
    command_line.add_argument("--test_rows", type=int, default=1000, help="at most so many; default %(default)s")
    arguments = command_line.parse_args(argv)
    pairs = read_misspellings(arguments.misspellings)
    found = {system.name: measure(system, arguments, pairs) for system in tqdm(systems(arguments.models))}
    languages = [f"{kind}, {language}" for kind in KINDS for language in sorted(pairs) if language != ENGLISH]
    names = list(dict.fromkeys(name for figures in found.values() for name in figures if name not in languages))
    print(table(found, names))
    if languages:
        print("", table({name: of for name, of in found.items() if languages[0] in of}, languages), sep="\n")
    write_record(arguments.output, "typed", found)


if __name__ == "__main__":
    main()
