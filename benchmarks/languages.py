"""What frozen encoders know of languages: retrieval of translations, and classifiers across languages and within one.

    python -m benchmarks.languages checkpoints/hashgram-multi-sentence PEER --pairs A.parquet --labelled B.parquet \
        --heads checkpoints/hashgram-multi-sentence

`--pairs` has the columns `text`, `english`, `lang` and, if texts of several kinds are to be measured apart, `kind`. A
text is found if its English side is the nearest of 1 000: those of its language and kind, and as many of the same kind
beside other languages. A kind of which a language has fewer than 20 pairs is left out. `--labelled` has the columns
`text`, `label`, `lang` and `split`, train or test. A logistic regression on the vectors learns the training rows in
English (`from en`) or those of the language (`own`), and reads its test rows. `own` reads them also without the marks
of Latin, Greek and Cyrillic letters (`typed without accents`). The first columns are those of a regression on n-grams
of characters, weighted by TF-IDF. `--texts` has the columns `text` and `lang`; `neighbours` is the share of the ten
nearest texts of a text, by the vectors of `--teacher`, that those of the model find among the texts of its language.
`--heads` are encoders of ours, whose first head learns in place of the regression, `VocablessClassifier`: it may read
the words, too.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from unicodedata import normalize

import numpy as np
import regex
from numpy.typing import NDArray
from sklearn.preprocessing import FunctionTransformer
from tqdm import tqdm

from benchmarks.encoders import Encoder, unit_embedder
from benchmarks.features import PEER, character_ngrams, regression
from benchmarks.measure import Models, parser, write_record
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table
from vocabless.texts.tables import load_files
from vocabless.training.finetuning.scikit.estimators import VocablessClassifier
from vocabless.training.pretraining.measures import NEIGHBOURS, recall

ENGLISH = "en"
CANDIDATES = 1000  # English sides among which one is found
MIN_PAIRS = 20  # of a language and a kind; fewer say little, and would count as much in the mean
Table = dict[str, dict[str, float]]  # measure → language → percent
_MARKED = regex.compile(r"[\p{Latin}\p{Greek}\p{Cyrillic}]\p{M}*")
# Letters whose mark is part of them → how they are typed without their key.
_TYPED = "d d h i l o t ae oe th ss D D H L O T AE OE TH SS".split()
_BARE = str.maketrans(dict(zip("đðħıłøŧæœþßĐÐĦŁØŦÆŒÞẞ", _TYPED, strict=True)))


def without_accents(text: str) -> str:
    """Returns the text with bare Latin, Greek and Cyrillic letters; letters of other scripts keep their marks."""
    bare: str = _MARKED.sub(lambda letter: regex.sub(r"\p{M}", "", normalize("NFD", letter[0])), text)
    return bare.translate(_BARE)


def labels_found(file: str, make: Callable[[], Any]) -> Table:
    """Returns the accuracies on test rows of what learned the training rows in English, and those of the language.

    `make` returns a new estimator, as of scikit-learn.
    """
    rows: Any = load_files([file], f"--labelled {file!r}")
    texts = np.array(rows["text"][:], object)
    labels, languages, splits = (np.array(rows[name][:]) for name in ("label", "lang", "split"))

    def part(language: str, split: str) -> tuple[list[str], list[Any]]:
        chosen = (languages == language) & (splits == split)
        return texts[chosen].tolist(), labels[chosen].tolist()

    def fitted(language: str) -> Any:
        return make().fit(*part(language, "train"))

    table: Table = {"from en": {}, "own": {}, "typed without accents": {}}
    english = fitted(ENGLISH)
    for language in tqdm(sorted({*languages[splits == "test"]}), desc="languages"):
        own, (tested, right) = fitted(language), part(language, "test")
        table["from en"][language] = 100 * float(english.score(tested, right))
        table["own"][language] = 100 * float(own.score(tested, right))
        bare = [without_accents(text) for text in tested]
        table["typed without accents"][language] = 100 * float(own.score(bare, right))
    return table


def translations_found(file: str, embed: Encoder) -> Table:
    """Returns, for each kind of text and each language, the percent of texts whose own English side is the nearest."""
    rows: Any = load_files([file], f"--pairs {file!r}")
    names = ["lang", "text", "english", "kind"]
    missing = {"kind": [""] * len(rows)}
    languages, texts, sides, kinds = (
        np.array(rows[name][:] if name in rows.column_names else missing[name], object) for name in names
    )
    distinct, side_of = np.unique(sides.astype(str), return_inverse=True)
    vectors, side_vectors = embed(texts.tolist()), embed(distinct.tolist())
    table: Table = {}
    for kind in dict.fromkeys(kinds):
        found = table.setdefault(f"found, {kind}" if kind else "found", {})
        sides_of_kind = np.unique(side_of[kinds == kind])
        for language in sorted({*languages[kinds == kind]}):
            chosen = np.flatnonzero((languages == language) & (kinds == kind))
            if len(chosen) < MIN_PAIRS:
                continue
            candidates = candidates_of(np.unique(side_of[chosen]), sides_of_kind)
            nearest = candidates[(vectors[chosen] @ side_vectors[candidates].T).argmax(axis=1)]
            found[language] = 100 * float((nearest == side_of[chosen]).mean())
    return table


def neighbours_found(file: str, embed: Encoder, teacher: Encoder) -> dict[str, float]:
    """Returns, for each language, the percent of the texts that are nearest for the teacher and for the model, too."""
    rows: Any = load_files([file], f"--texts {file!r}")
    texts, languages = np.array(rows["text"][:], object), np.array(rows["lang"][:])
    found = {}
    for language in sorted({*languages}):
        of_language = texts[languages == language].tolist()
        if len(of_language) > NEIGHBOURS + 1:
            vectors = embed(of_language)
            found[language] = 100 * recall(vectors, teacher(of_language), index=vectors)
    return found


def candidates_of(own: NDArray[np.int64], all_sides: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the sides of a language, and random others until there are `CANDIDATES`.

    >>> len(candidates_of(np.arange(3), np.arange(5000)))
    1000
    """
    others = np.random.default_rng(0).permutation(np.setdiff1d(all_sides, own))
    return np.concatenate([own, others[: max(0, CANDIDATES - len(own))]])


def measure(
    embed: Encoder | None,
    pairs: str | None,
    labelled: str | None,
    texts: str | None = None,
    teacher: Encoder | None = None,
) -> Table:
    """Returns the measures of one model. None is TF-IDF, which is measured on labels alone."""
    table = translations_found(pairs, embed) if pairs and embed else {}
    if texts and embed and teacher:
        table["neighbours"] = neighbours_found(texts, embed, teacher)
    features = character_ngrams() if embed is None else FunctionTransformer(embed)
    return table | (labels_found(labelled, lambda: regression(features)) if labelled else {})


def cells(tables: Sequence[Table], languages: Sequence[str]) -> list[str]:
    """Returns the mean over languages of each measure of each model; a dash where there is none."""
    columns = [[of[language] for language in languages if language in of] for table in tables for of in table.values()]
    return [f"{np.mean(values):.1f}" if values else "–" for values in columns]


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a row for each language."""
    command_line = parser(__doc__, "output")
    command_line.add_argument(
        "models", action=Models, nargs="*", help="folders or Hub ids that sentence-transformers loads"
    )
    command_line.add_argument("--pairs", help="file of held-out translations")
    command_line.add_argument("--labelled", help="file of texts with labels")
    command_line.add_argument("--texts", help="file of texts, whose neighbours --teacher knows")
    command_line.add_argument("--teacher", help="sentence encoder that reads the languages of --texts")
    command_line.add_argument("--heads", action=Models, nargs="*", default=[], help="encoders of ours, see above")
    arguments = command_line.parse_args(argv)
    files = arguments.pairs, arguments.labelled, arguments.texts
    if not any(files) or bool(arguments.texts) != bool(arguments.teacher):
        command_line.error("nothing to measure; give --pairs, --labelled, or --texts with --teacher.")
    teacher = unit_embedder(arguments.teacher) if arguments.teacher else None
    tables = {PEER: measure(None, None, arguments.labelled)}
    for source in arguments.models:
        tables[without_path(source)] = measure(unit_embedder(source), *files, teacher)
    for source in arguments.heads if arguments.labelled else ():
        name = f"{without_path(source)}, first head"
        tables[name] = labels_found(arguments.labelled, partial(VocablessClassifier, source))
    languages = sorted({language for table in tables.values() for of in table.values() for language in of})
    header = [f"{name}: {column}" for name, table in tables.items() for column in table]
    others = [language for language in languages if language != ENGLISH]
    lines = [[language, *cells([*tables.values()], [language])] for language in languages]
    lines.append(["mean without en", *cells([*tables.values()], others)])
    print(markdown_table(["language", *header], lines))
    write_record(arguments.output, "languages", tables)


if __name__ == "__main__":
    main()
