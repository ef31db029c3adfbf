"""Measures of sentence vectors: cosine and recall against the teacher's, Spearman's rho against people's scores."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from vocabless.conversion.onnx_program.onnx_model import as_int8
from vocabless.texts.tables import load_table

Vectors = NDArray[np.float32]  # (n, size), of length 1
PAIR_COLUMNS = ("sentence1", "sentence2", "score")
NEIGHBOURS = 10


def read_scored_pairs(file: str) -> tuple[list[str], list[str], list[float]]:
    """Returns the columns `sentence1`, `sentence2`, and `score` or `label` of a parquet, jsonl or csv file.

    Raises:
        ValueError: the file does not exist, cannot be read, or lacks a column; a row lacks a sentence or a score.
    """
    pairs = load_table(file, "--sts_file", PAIR_COLUMNS)
    first, second, scores = (list(pairs[name]) for name in PAIR_COLUMNS)
    for row, (one, two, score) in enumerate(zip(first, second, scores, strict=True), 1):
        has_texts = all(isinstance(text, str) and text.strip() for text in (one, two))
        if not has_texts or score is None or not isfinite(score):
            raise ValueError(
                f"--sts_file {file!r} lacks a sentence or a score in row {row}; fill it in or leave the row out."
            )
    return first, second, scores


def unit_vectors(vectors: Any) -> Vectors:
    """Returns vectors (n, size) divided by their lengths, as float32; a vector of zeros stays.

    >>> unit_vectors([[0, -4], [0, 0]]).tolist()
    [[0.0, -1.0], [0.0, 0.0]]
    """
    values: Vectors = np.asarray(vectors, np.float32)
    values = values / np.linalg.norm(values, axis=1, keepdims=True).clip(min=1e-12)
    return values


def measured_names(num_texts: int, has_pairs: bool, has_translations: bool) -> list[str]:
    """Returns the names of what the held-out texts, scored pairs and translations of a run measure."""
    of_texts = ["loss", "cosine", "recall_at_10"] if can_measure_recall(num_texts) else ["loss", "cosine"]
    of_pairs = ["spearman", "teacher_spearman"] if has_pairs else []
    return [*of_texts, *of_pairs, *(["translation"] if has_translations else [])]


def can_measure_recall(num_texts: int) -> bool:
    """Returns whether there are twelve texts: of eleven, each finds all others."""
    return num_texts > NEIGHBOURS + 1


def rank_correlation(similarities: NDArray[np.float32], scores: Sequence[float]) -> float:
    """Returns Spearman's rho, or 0 where it is not defined."""
    if np.ptp(similarities) == 0 or np.ptp(scores) == 0:
        return 0.0
    return float(spearmanr(similarities, scores).statistic)


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


def recall(queries: Vectors, targets: Vectors, index: Vectors | None = None) -> float:
    """Returns the share of each text's ten nearest texts, by the teacher's vectors, that the student's queries find.

    The text itself is no neighbour. They search the vectors of `index`; None searches the teacher's, `targets`.
    """
    index = targets if index is None else index
    nearest = []
    for similarities in (targets @ targets.T, queries @ index.T):
        np.fill_diagonal(similarities, -np.inf)
        nearest.append(np.argpartition(-similarities, NEIGHBOURS, axis=1)[:, :NEIGHBOURS])
    return float(np.mean([len({*a} & {*b}) / NEIGHBOURS for a, b in zip(*nearest, strict=True)]))
