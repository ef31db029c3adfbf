"""Measures of sentence vectors: cosine and recall against the teacher's, Spearman's rho against people's scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from vocabless.onnx_model import as_int8
from vocabless.training.pretraining.translations import ParallelTexts
from vocabless.training.texts.tables import load_table
from vocabless.training.trainer import EXACT_LOSS

Vectors = NDArray[np.float32]  # (n, size), of length 1
PAIR_COLUMNS = ("sentence1", "sentence2", "score")
NEIGHBOURS = 10


def read_scored_pairs(file: str) -> tuple[list[str], list[str], list[float]]:
    """Returns the columns `sentence1`, `sentence2`, and `score` or `label` of a parquet, jsonl or csv file.

    Raises:
        ValueError: the file does not exist, cannot be read, or lacks a column.
    """
    pairs = load_table(file, "--sts_file", PAIR_COLUMNS)
    first, second, scores = (list(pairs[name]) for name in PAIR_COLUMNS)
    return first, second, scores


def unit_vectors(vectors: Any) -> Vectors:
    """Returns vectors (n, size) divided by their lengths, as float32; a vector of zeros stays.

    >>> unit_vectors([[0, -4], [0, 0]]).tolist()
    [[0.0, -1.0], [0.0, 0.0]]
    """
    values: Vectors = np.asarray(vectors, np.float32)
    values = values / np.linalg.norm(values, axis=1, keepdims=True).clip(min=1e-12)
    return values


@dataclass(frozen=True)
class SentenceMeasures:
    """Measures an evaluation of held-out texts.

    They are followed by the first and then the second texts of scored pairs, then by held-out parallel texts and
    then their translations. Vectors are also measured when they are cut at `nested_dimensions`, see `SentenceStudent`.
    """

    num_texts: int
    scores: list[float]  # one for each pair
    parallel: ParallelTexts | None = None
    nested_dimensions: Sequence[int] = ()

    @property
    def names(self) -> list[str]:
        """What it measures: recall needs twelve texts (of eleven, each finds all others), Spearman pairs."""
        of_texts = ["loss", "cosine", "recall_at_10"] if self.num_texts > NEIGHBOURS + 1 else ["loss", "cosine"]
        of_pairs = ["spearman", "teacher_spearman"] if self.scores else []
        return [*of_texts, *of_pairs, *(["translation"] if self.parallel else [])]

    def __call__(self, evaluation: Any) -> dict[str, float]:
        """Returns the metrics of `names`, of each language and of short vectors; the loss is 1 − cosine.

        See `LANGUAGE_MEASURES` and `SHORT_MEASURES` in `saving/tables.py`.

        Args:
            evaluation: `predictions`, the student's vectors, and `label_ids`, the teacher's, both (n, size).
        """
        vectors, targets = (unit_vectors(values) for values in (evaluation.predictions, evaluation.label_ids))
        cosine = float((vectors * targets)[: self.num_texts].sum(axis=1).mean())
        metrics = {EXACT_LOSS: 1 - cosine, "cosine": cosine}
        if "recall_at_10" in self.names:
            metrics["recall_at_10"] = recall(vectors[: self.num_texts], targets[: self.num_texts])
        if self.scores:
            metrics["spearman"] = self._spearman(vectors)
            metrics["teacher_spearman"] = self._spearman(targets)
        metrics |= self._of_short_vectors(vectors, targets)
        if self.parallel:
            metrics |= self._of_languages(self.parallel, vectors, targets)
        return metrics

    @property
    def _first_translation(self) -> int:
        return self.num_texts + 2 * len(self.scores)

    def _of_languages(self, parallel: ParallelTexts, vectors: Vectors, targets: Vectors) -> dict[str, float]:
        metrics: dict[str, float] = {}
        right = []  # share of the texts of each language that find their translation
        for language in np.unique(parallel.languages):
            rows = np.flatnonzero(parallel.languages == language)
            texts = self._first_translation + rows
            translations = self._first_translation + len(parallel) + parallel.english_of[rows]
            nearest = (vectors[texts] @ vectors[translations].T).argmax(axis=1)
            right.append(float((nearest == np.arange(len(rows))).mean()))
            metrics[f"translation_{language}"] = right[-1]
            metrics[f"cosine_{language}"] = float((vectors[texts] * targets[texts]).sum(axis=1).mean())
            if len(rows) > NEIGHBOURS + 1:
                metrics[f"recall_at_10_{language}"] = recall(vectors[texts], targets[translations])
        return metrics | {"translation": float(np.mean(right))}

    def _of_short_vectors(self, vectors: Vectors, targets: Vectors) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for name, short in short_vectors(vectors, self.nested_dimensions).items():
            if "recall_at_10" in self.names:
                texts = short[: self.num_texts]
                metrics[f"neighbours_{name}"] = recall(texts, targets[: self.num_texts], index=texts)
            if self.scores:
                metrics[f"spearman_{name}"] = self._spearman(short)
        return metrics

    def _spearman(self, vectors: Vectors) -> float:
        first, second = np.split(vectors[self.num_texts : self._first_translation], 2)
        similarities = (first * second).sum(axis=1)
        if np.ptp(similarities) == 0 or np.ptp(self.scores) == 0:  # the correlation is not defined
            return 0.0
        return float(spearmanr(similarities, self.scores).statistic)


def short_vectors(vectors: Vectors, dimensions: Sequence[int]) -> dict[str, Vectors]:
    """Returns what remains of vectors (n, size) that are kept in fewer bytes, each of length 1.

    The names are `all` for the vectors as they are, each number of `dimensions` between 0 and the size for as many
    first numbers, `int8` for numbers that are rounded to 8 bits (`as_int8`), and `binary` for their signs.

    >>> short_vectors(np.array([[0.6, -0.8]], np.float32), [1])["1"].tolist()
    [[1.0]]
    """
    sizes = [size for size in dimensions if 0 < size < vectors.shape[1]]
    short: dict[str, Any] = {"all": vectors} | {str(size): vectors[:, :size] for size in sizes}
    short |= {"int8": as_int8(vectors), "binary": np.where(vectors < 0, -1, 1)}
    return {name: unit_vectors(values) for name, values in short.items()}


def recall(queries: Vectors, targets: Vectors, neighbours: int = NEIGHBOURS, index: Vectors | None = None) -> float:
    """Returns the share of each text's nearest texts, by the teacher's vectors, that the student's queries find.

    The text itself is no neighbour. They search the vectors of `index`; None searches the teacher's, `targets`.
    """
    index = targets if index is None else index
    nearest = []
    for similarities in (targets @ targets.T, queries @ index.T):
        np.fill_diagonal(similarities, -np.inf)
        nearest.append(np.argpartition(-similarities, neighbours, axis=1)[:, :neighbours])
    return float(np.mean([len({*a} & {*b}) / neighbours for a, b in zip(*nearest, strict=True)]))
