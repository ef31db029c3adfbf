"""Texts of no label: how well a classifier tells them from those that have one, and what it turns away of these.

    python -m benchmarks.reject checkpoints/hashgram-tiny-sentence --data_dir sets/ --others everyday.csv

Each set is known once, with some training rows drawn anew for each seed (sizes as in `benchmarks.own_data`), and the
test texts of the others are of no label; so are those of `--others`. `--known 30` takes that many labels of a set as
known and the rest as `in-domain`. Figures in percent: `AUROC`, and `alarms`, the share of these texts that get a label
where 95 % of the test texts with a label keep theirs. Ours is `score_samples`, `largest probability` that of the same
classifier, and TF-IDF of words has the same two scores: the largest probability of a logistic regression, and energy
and typicality. So do the vectors of `--peers`. `kept` are the texts that keep a label with `reject=0.05`: as they are,
with one word in ten misspelt, after a greeting, and as many other rows of the training set, whose test texts may be of
another kind.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import normalize
from tqdm import tqdm

from benchmarks.encoders import unit_embedder
from benchmarks.features import add_sets, labelled_sets
from benchmarks.measure import Models, parser, write_record
from benchmarks.own_data import draw
from vocabless.modeling.rejection import familiarity
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table
from vocabless.texts.misspellings import misspell
from vocabless.texts.tables import read_files
from vocabless.training.finetuning.scikit.estimators import VocablessClassifier

SHARE = 0.05  # of texts with a label that may get none
GREETINGS = ("Hello, I hope you are well.", "Good morning to you all!", "Dear team, thanks for the quick answer.")
Scores = NDArray[np.float64]
Detectors = dict[str, Callable[[list[str]], Scores]]  # column → texts → scores, higher for texts with a label


def of_vectors(name: str, embed: Any, texts: list[str], labels: list[Any]) -> Detectors:
    """Returns the two scores of a logistic regression of vectors, with the means and deviations of five folds."""
    vectors, column = embed(texts), np.asarray(labels)

    def parts(rows: Any, inputs: Any) -> NDArray[np.float64]:
        """Returns energy and typicality, (2, n), of inputs by a regression and a mean of the rows that are learned."""
        learned = vectors[rows]
        probabilities = LogisticRegression(C=10, max_iter=1000).fit(learned, column[rows]).predict_log_proba(inputs)
        mean = np.asarray(learned.mean(0)).ravel()
        return np.stack([-probabilities.mean(axis=1), np.asarray(normalize(inputs) @ mean).ravel()])

    every, held_out = np.arange(len(texts)), np.zeros((2, len(texts)))
    for rows, fold in StratifiedKFold(shuffle=True, random_state=0).split(every, column):
        held_out[:, fold] = parts(rows, vectors[fold])
    scales = torch.from_numpy(np.stack([held_out.mean(axis=1), 1 / held_out.std(axis=1)]))

    def both(rows: list[str]) -> Scores:
        """Returns the familiarity of texts, (n,)."""
        found: Scores = familiarity(torch.from_numpy(parts(every, embed(rows)).T), scales)[:, 0].numpy()
        return found

    regression = LogisticRegression(C=10, max_iter=1000).fit(vectors, column)
    return {
        f"{name}, largest probability": lambda rows: regression.predict_proba(embed(rows)).max(axis=1),
        f"{name}, energy and typicality": both,
    }


def figures(score: Callable[[list[str]], Scores], known: list[str], others: dict[str, list[str]]) -> dict[str, float]:
    """Returns AUROC and alarms, in percent, of each kind of other texts, and of all together."""
    of_known, found = score(known), {}
    of_others = {kind: score(texts) for kind, texts in others.items()}
    limit = np.quantile(of_known, SHARE)
    for kind, scores in (*of_others.items(), ("all", np.concatenate([*of_others.values()]))):
        truth = np.repeat([1, 0], [len(of_known), len(scores)])
        found[f"{kind}, AUROC"] = 100 * float(roc_auc_score(truth, np.concatenate([of_known, scores])))
        found[f"{kind}, alarms"] = 100 * float((scores >= limit).mean())
    return found


def kept(classifier: VocablessClassifier, texts: list[str], rest: list[str]) -> dict[str, float]:
    """Returns the share of texts with a label that keep one, in percent, also of changed and of other ones."""
    rng = random.Random(0)
    kinds = {
        "kept": texts,
        "kept, misspelt": [misspell(text, 0.1, rng) for text in texts],
        "kept, after a greeting": [f"{rng.choice(GREETINGS)} {text}" for text in texts],
        "kept, training set": rest,
    }
    limit = float(classifier.offset_ or 0)
    return {kind: 100 * float((classifier.score_samples(rows) >= limit).mean()) for kind, rows in kinds.items()}


def measure(
    arguments: Any, part: Dataset, rest: list[str], known: list[str], others: dict[str, list[str]]
) -> dict[str, Any]:
    """Returns column → figures of a draw of training rows."""
    texts, labels = list(part["text"]), list(part["label"])
    epochs = None if arguments.fine_tuned else 0
    classifier = VocablessClassifier(arguments.model, epochs=epochs, reject=SHARE, verbose=False).fit(texts, labels)
    detectors: Detectors = {
        "ours": classifier.score_samples,
        "largest probability": lambda rows: classifier.predict_proba(rows).max(axis=1),
    }
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit(texts)
    detectors |= of_vectors("TF-IDF", words.transform, texts, labels)
    for name, embed in arguments.embedders.items():
        detectors |= of_vectors(name, embed, texts, labels)
    table = {column: figures(score, known, others) for column, score in detectors.items()}
    table["ours"] |= kept(classifier, known, rest)
    return table


def draws(train: Dataset, test: Dataset, size: str, arguments: Any) -> Iterator[tuple[Dataset, list[list[str]]]]:
    """Yields for each seed training rows of known labels, and other texts of these: of this set, to test; of others."""
    for seed in range(arguments.seeds):
        labels = np.random.default_rng(seed).permutation(sorted({*train["label"]})).tolist()[: arguments.known]
        drawn, rows = draw(train["label"][:], size, seed), np.flatnonzero(np.isin(train["label"][:], labels))
        part = train.select(rows[np.isin(rows, drawn)])
        rest = np.random.default_rng(seed).permutation(np.setdiff1d(rows, drawn))[: arguments.rows]
        is_known = np.isin(test["label"][:], labels)
        known, unknown = (list(test.select(np.flatnonzero(rows))["text"]) for rows in (is_known, ~is_known))
        yield part, [list(train.select(rest)["text"]), known, unknown]


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a row for each set, size and kind of other texts."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("model", help="folder or Hub id of an encoder of ours")
    command_line.add_argument("--peers", action=Models, nargs="*", default=[], help="see `benchmarks.own_data`")
    add_sets(command_line)
    command_line.add_argument("--others", help="file with texts of no label, in a column `text`")
    command_line.add_argument("--sizes", nargs="+", default=["20/label", "1000"], help="training rows; %(default)s")
    command_line.add_argument("--known", type=int, help="labels of a set that are known; default: all")
    command_line.add_argument("--fine_tuned", action="store_true", help="train all weights, too")
    command_line.add_argument("--rows", type=int, default=500, help="test rows of a set; default %(default)s")
    command_line.add_argument("--seeds", type=int, default=3, help="draws of each size; default %(default)s")
    arguments = command_line.parse_args(argv)
    arguments.embedders = {without_path(source): unit_embedder(source) for source in arguments.peers}  # which remember

    sets = {name: (train, test) for name, train, test in labelled_sets(arguments, 10**9, arguments.rows)}
    outside = list(read_files([arguments.others])["text"])[: arguments.rows] if arguments.others else []
    found: dict[str, dict[str, list[float]]] = {}  # set, size and figure → column → values of the draws
    for name, (train, test) in sets.items():
        others = {other: list(rows["text"]) for other, (_, rows) in sets.items() if other != name} | {"others": outside}
        for size in tqdm(arguments.sizes, desc=name):
            for part, (rest, known, unknown) in draws(train, test, size, arguments):
                kinds = {kind: texts for kind, texts in (others | {"in-domain": unknown}).items() if texts}
                for column, of_column in measure(arguments, part, rest, known, kinds).items():
                    for kind, value in of_column.items():
                        found.setdefault(f"{name}, {size}: {kind}", {}).setdefault(column, []).append(value)
    table = {row: {column: float(np.mean(each)) for column, each in cells.items()} for row, cells in found.items()}
    columns = next(iter(table.values()), {})
    lines = [
        [row, *(f"{cells[name]:.1f}" if name in cells else "–" for name in columns)] for row, cells in table.items()
    ]
    print(markdown_table(["", *columns], lines))
    write_record(arguments.output, "reject", table)


if __name__ == "__main__":
    main()
