"""What frozen encoders know of languages: retrieval of translations, and classifiers across languages and within one.

    python -m benchmarks.languages checkpoints/hashgram-multi-sentence PEER --pairs A.parquet --labelled B.parquet

`--pairs` has the columns `text`, `english` and `lang`. A text is found if its English side is the nearest of all of its
language. `--labelled` has the columns `text`, `label`, `lang` and `split`, train or test. A logistic regression on the
vectors learns the training rows in English (`from en`) or those of the language (`own`), and reads its test rows. `own`
reads them also without the marks of Latin, Greek and Cyrillic letters (`typed without accents`). The first columns are
those of a regression on n-grams of characters, weighted by TF-IDF.
"""

from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

import numpy as np
import regex
from sklearn.preprocessing import FunctionTransformer

from benchmarks.encoders import Encoder, unit_embedder
from benchmarks.features import PEER, character_ngrams, regression
from benchmarks.measure import parser, write_record
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table
from vocabless.training.texts.tables import load_files

ENGLISH = "en"
Table = dict[str, dict[str, float]]  # measure → language → percent
_MARKED = regex.compile(r"[\p{Latin}\p{Greek}\p{Cyrillic}]\p{M}*")
# Letters whose mark is part of them → how they are typed without their key.
_TYPED = "d d h i l o t ae oe th ss D D H L O T AE OE TH SS".split()
_BARE = str.maketrans(dict(zip("đðħıłøŧæœþßĐÐĦŁØŦÆŒÞẞ", _TYPED, strict=True)))


def without_accents(text: str) -> str:
    """Returns the text with bare Latin, Greek and Cyrillic letters; letters of other scripts keep their marks."""
    bare: str = _MARKED.sub(lambda letter: regex.sub(r"\p{M}", "", normalize("NFD", letter[0])), text)
    return bare.translate(_BARE)


def labels_found(file: str, embed: Encoder | None) -> Table:
    """Returns the accuracies on test rows of what learned the training rows in English, and those of the language.

    `embed` None is TF-IDF.
    """
    rows: Any = load_files([file], f"--labelled {file!r}")
    texts = np.array(rows["text"][:], object)
    labels, languages, splits = (np.array(rows[name][:]) for name in ("label", "lang", "split"))

    def part(language: str, split: str) -> tuple[list[str], list[Any]]:
        chosen = (languages == language) & (splits == split)
        return texts[chosen].tolist(), labels[chosen].tolist()

    def fitted(language: str) -> Any:
        features = character_ngrams() if embed is None else FunctionTransformer(embed)
        return regression(features).fit(*part(language, "train"))

    table: Table = {"from en": {}, "own": {}, "typed without accents": {}}
    english = fitted(ENGLISH)
    for language in sorted({*languages[splits == "test"]}):
        own, (tested, right) = fitted(language), part(language, "test")
        table["from en"][language] = 100 * float(english.score(tested, right))
        table["own"][language] = 100 * float(own.score(tested, right))
        bare = [without_accents(text) for text in tested]
        table["typed without accents"][language] = 100 * float(own.score(bare, right))
    return table


def translations_found(file: str, embed: Encoder) -> dict[str, float]:
    """Returns, for each language, the percent of texts whose own English side is the nearest."""
    rows: Any = load_files([file], f"--pairs {file!r}")
    languages, texts, sides = (np.array(rows[name][:], object) for name in ("lang", "text", "english"))
    distinct, side_of = np.unique(sides.astype(str), return_inverse=True)
    vectors, side_vectors = embed(texts.tolist()), embed(distinct.tolist())
    found = {}
    for language in sorted({*languages}):
        of_language = np.flatnonzero(languages == language)
        candidates = np.unique(side_of[of_language])
        nearest = candidates[(vectors[of_language] @ side_vectors[candidates].T).argmax(axis=1)]
        found[language] = 100 * float((nearest == side_of[of_language]).mean())
    return found


def measure(embed: Encoder | None, pairs: str | None, labelled: str | None) -> Table:
    """Returns the measures of one model. None is TF-IDF, which is measured on labels alone."""
    table: Table = {"found": translations_found(pairs, embed)} if pairs and embed else {}
    return table | (labels_found(labelled, embed) if labelled else {})


def cells(tables: Sequence[Table], languages: Sequence[str]) -> list[str]:
    """Returns the mean over languages of each measure of each model; a dash where there is none."""
    columns = [[of[language] for language in languages if language in of] for table in tables for of in table.values()]
    return [f"{np.mean(values):.1f}" if values else "–" for values in columns]


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a row for each language."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("models", nargs="+", help="folders or Hub ids that sentence-transformers loads")
    command_line.add_argument("--pairs", help="file of held-out translations")
    command_line.add_argument("--labelled", help="file of texts with labels")
    arguments = command_line.parse_args(argv)
    if not arguments.pairs and not arguments.labelled:
        command_line.error("nothing to measure; give --pairs, --labelled, or both.")
    tables = {PEER: measure(None, None, arguments.labelled)}
    for source in arguments.models:
        tables[without_path(source)] = measure(unit_embedder(source), arguments.pairs, arguments.labelled)
    languages = sorted({language for table in tables.values() for of in table.values() for language in of})
    header = [f"{name}: {column}" for name, table in tables.items() for column in table]
    others = [language for language in languages if language != ENGLISH]
    lines = [[language, *cells([*tables.values()], [language])] for language in languages]
    lines.append(["mean without en", *cells([*tables.values()], others)])
    print(markdown_table(["language", *header], lines))
    write_record(arguments.output, "languages", tables)


if __name__ == "__main__":
    main()
