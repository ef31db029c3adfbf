"""Rows that need a second look: texts with several labels, and rows whose label held-out logits contradict most."""

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.problems import Array, SingleLabel

SECOND_LOOK = "second_look.csv"  # in the folder of a run
MOST_ROWS = 20
COLUMNS = ("text", "second_text", "label", "other_label", "probability_of_label", "probability_of_other_label")


def write_second_look(folder: Path, data: TaskData, logits: Array) -> int:
    """Writes at most `MOST_ROWS` rows into a csv file of a folder; returns how many. Without any, there is no file.

    Texts with several labels come first, then the rows whose label is less probable than another one, by the difference
    of both (normalised margin, Northcutt, Jiang and Chuang, *Confident Learning*, JAIR 2021, section 3.1).

    Args:
        folder: of the run.
        data: with one label for each text; of other problems no row is written.
        logits: of the validation rows, (n, labels), by models that have not learned them.
    """
    if not isinstance(data.problem, SingleLabel):
        return 0
    shown: dict[Any, dict[str, Any]] = {}
    for row in (*_of_several_labels(data.train), *_contradicted(data, logits)):
        shown.setdefault((row["text"], row.get("second_text"), row["label"]), row)
    rows = [*shown.values()][:MOST_ROWS]
    if rows:
        with (folder / SECOND_LOOK).open("w", encoding="utf-8", newline="") as stream:
            table = csv.DictWriter(stream, COLUMNS, restval="")
            table.writeheader()
            table.writerows(rows)
    return len(rows)


def _of_several_labels(examples: Examples) -> Iterator[dict[str, Any]]:
    """Yields the rows of texts, but for case, accents and marks, that have other labels in other rows."""
    labels: defaultdict[Any, dict[str, None]] = defaultdict(dict)
    keys = examples.keys()
    for key, label in zip(keys, examples.labels or [], strict=True):
        labels[key][label] = None
    several = [(key, row) for key, row in zip(keys, examples.rows(), strict=True) if len(labels[key]) > 1]
    for key, (*texts, label) in sorted(several, key=lambda row: row[0]):  # those of a text together
        others = [other for other in labels[key] if other != label]
        yield {**_texts(texts), "label": label, "other_label": ", ".join(others)}


def _contradicted(data: TaskData, logits: Array) -> Iterator[dict[str, Any]]:
    """Yields the rows whose label is less probable than another one, those with the largest difference first."""
    rows, examples = np.arange(len(logits)), data.validation[""]
    targets, probabilities = data.targets(examples), softmax(logits, axis=-1)
    others = np.where(np.eye(logits.shape[1], dtype=bool)[targets], -1.0, probabilities).argmax(axis=1)
    margins = probabilities[rows, targets] - probabilities[rows, others]
    texts = [*examples.rows()]
    for row in np.argsort(margins, kind="stable")[: (margins < 0).sum()]:
        of_row = [*_texts(texts[row][:-1]).items(), ("label", texts[row][-1])]
        yield dict(of_row) | {
            "other_label": data.problem.labels[others[row]],
            "probability_of_label": round(float(probabilities[row, targets[row]]), 4),
            "probability_of_other_label": round(float(probabilities[row, others[row]]), 4),
        }


def _texts(texts: Any) -> dict[str, str]:
    return dict(zip(COLUMNS, texts, strict=False))
