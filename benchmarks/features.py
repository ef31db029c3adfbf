"""What frozen encoders know: their vectors under a logistic regression, beside TF-IDF; Spearman on scored pairs.

    python -m benchmarks.features checkpoints/hashgram-tiny-sentence PEER --data_dir sets/ --sts_file pairs.parquet

Each folder in `--data_dir` is one set: a `train*.parquet` and a `test*.parquet` with the columns `text` and `label`. A
model is anything that sentence-transformers loads. Its vectors feed a logistic regression, whose regularisation is
chosen by cross-validation on the training rows. TF-IDF reads words and pairs of words.
"""
# mypy: allow-untyped-calls

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from vocabless.saving.public_names import public_name
from vocabless.saving.run_folder import versions
from vocabless.saving.tables import markdown_table
from vocabless.training.distillation.sentence_measures import ScoredPairs, read_scored_pairs
from vocabless.training.finetuning.task_files import read_files

PEER = "TF-IDF"
REGULARISATIONS = (1.0, 10.0, 100.0)
FOLDS = 3
Features = Callable[[Sequence[str]], NDArray[np.float32]]


def accuracy(train: Dataset, test: Dataset, features: Features | None) -> float:
    """Returns the accuracy of a logistic regression on data with the columns `text` and `label`.

    `features` maps texts to vectors, (n, size); None is TF-IDF.
    """
    inputs: list[Any] = [list(part["text"]) for part in (train, test)]
    steps: list[Any] = [LogisticRegression(max_iter=2000)]
    if features is None:
        steps.insert(0, TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True))
    else:
        inputs = [features(texts) for texts in inputs]
    search = GridSearchCV(make_pipeline(*steps), {"logisticregression__C": REGULARISATIONS}, cv=FOLDS)
    return float(search.fit(inputs[0], train["label"]).score(inputs[1], test["label"]))


def spearman(pairs: ScoredPairs, features: Features) -> float:
    """Returns Spearman's correlation of the vectors' cosines with people's scores."""
    first, second = (features(texts) for texts in (pairs.first, pairs.second))
    return float(spearmanr((first * second).sum(axis=1), pairs.scores).statistic)


def rows(folder: Path, part: str, number: int) -> Dataset:
    """Returns rows of a set, drawn with a fixed seed."""
    file = next(iter(sorted(folder.glob(f"{part}*.parquet"))), None)
    if file is None:
        raise SystemExit(f"benchmarks.features: {folder} holds no {part}*.parquet; give a folder of such sets.")
    data = read_files([str(file)]).shuffle(seed=0)
    return data.select(range(min(number, len(data))))


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a column for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="folders or Hub ids")
    parser.add_argument("--data_dir", type=Path, required=True, help="folder with one folder for each set")
    parser.add_argument("--sets", nargs="+", help="names of sets; default: all folders with a column `text`")
    parser.add_argument("--sts_file", help="file with the columns sentence1, sentence2 and score")
    parser.add_argument("--rows", type=int, default=1000, help="training rows and test rows; default %(default)s")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args(argv)

    encoders: dict[str, Features | None] = {PEER: None}
    for source in arguments.models:
        model = SentenceTransformer(source, trust_remote_code=True, device="cpu")
        encoders[public_name(source)] = lambda texts, model=model: model.encode(texts, normalize_embeddings=True)
    table: dict[str, list[float]] = {}
    for name in arguments.sets or sorted(folder.name for folder in arguments.data_dir.iterdir() if folder.is_dir()):
        train, test = (rows(arguments.data_dir / name, part, arguments.rows) for part in ("train", "test"))
        if "text" in train.column_names:
            table[name] = [100 * accuracy(train, test, features) for features in encoders.values()]
    table["mean"] = [float(np.mean(column)) for column in zip(*table.values(), strict=True)]
    if arguments.sts_file:
        pairs = read_scored_pairs(arguments.sts_file)
        table["Spearman"] = [100 * spearman(pairs, each) if each else float("nan") for each in encoders.values()]
    lines = [[name, *(f"{value:.1f}" for value in values)] for name, values in table.items()]
    print(markdown_table(["", *encoders], lines))
    if arguments.json:
        arguments.json.write_text(json.dumps({"models": [*encoders], "table": table, "versions": versions()}, indent=2))


if __name__ == "__main__":
    main()
