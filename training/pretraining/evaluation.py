"""Evaluators of sentence vectors for the Trainer of sentence-transformers, which this file needs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import BaseEvaluator, SequentialEvaluator

from vocabless.training.pretraining.measures import (
    Vectors,
    can_measure_recall,
    rank_correlation,
    recall,
    short_vectors,
    unit_vectors,
)
from vocabless.training.pretraining.translations import ParallelTexts

BATCH_SIZE = 64


class Evaluation(SequentialEvaluator):
    """The measures of several evaluators, by the names that results.json has."""

    def __call__(self, *args: Any, **options: Any) -> dict[str, float]:
        """Returns the measures."""
        measures: dict[str, float] = super().__call__(*args, **options)
        return {name: value for name, value in measures.items() if name != "sequential_score"}


class HeldOutTexts(BaseEvaluator):
    """Measures the vectors of texts against those of the teacher.

    Args:
        texts: n texts.
        targets: (n, size), the teacher's vectors.
        nested_dimensions: numbers at which vectors are cut and measured, too.
    """

    def __init__(self, texts: Sequence[str], targets: Vectors, nested_dimensions: Sequence[int] = ()) -> None:
        super().__init__()
        self._texts, self._targets, self._dimensions = list(texts), unit_vectors(targets), nested_dimensions

    def __call__(self, model: Any, *_: Any, **options: Any) -> dict[str, float]:
        """Returns the loss, which is 1 − cosine, the cosine, the recall, and the recall of short vectors."""
        vectors, targets = _vectors(model, self._texts), self._targets
        cosine = float((vectors * targets).sum(axis=1).mean())
        measures = {"loss": 1 - cosine, "cosine": cosine}
        if can_measure_recall(len(vectors)):
            measures["recall_at_10"] = recall(vectors, targets)
            for name, short in short_vectors(vectors, self._dimensions).items():
                measures[f"neighbours_{name}"] = recall(short, targets, index=short)
        return measures


class ScoredPairs(BaseEvaluator):
    """Measures the cosines of pairs of texts against people's scores.

    Args:
        texts: the first texts of n pairs, then their second ones.
        scores: one for each pair.
        targets: (2n, size), the teacher's vectors of the texts.
        nested_dimensions: numbers at which vectors are cut and measured, too.
    """

    def __init__(
        self, texts: Sequence[str], scores: Sequence[float], targets: Vectors, nested_dimensions: Sequence[int] = ()
    ) -> None:
        super().__init__()
        self._texts, self._scores, self._targets = list(texts), scores, unit_vectors(targets)
        self._dimensions = nested_dimensions

    def __call__(self, model: Any, *_: Any, **options: Any) -> dict[str, float]:
        """Returns Spearman's rho of the student, of the teacher, and of the student's short vectors."""
        vectors = _vectors(model, self._texts)
        short = short_vectors(vectors, self._dimensions)
        return {
            "spearman": self._correlation(vectors),
            "teacher_spearman": self._correlation(self._targets),
            **{f"spearman_{name}": self._correlation(values) for name, values in short.items()},
        }

    def _correlation(self, vectors: Vectors) -> float:
        first, second = np.split(vectors, 2)
        return rank_correlation((first * second).sum(axis=1), self._scores)


class Translations(BaseEvaluator):
    """Measures the vectors of parallel texts of each language against those of their translations.

    Args:
        parallel: the texts.
        targets: (translations, size), the teacher's vectors of their translations.
    """

    def __init__(self, parallel: ParallelTexts, targets: Vectors) -> None:
        super().__init__()
        self._texts, self._languages = list(parallel.texts["text"]), parallel.languages
        self._translations, self._english_of = parallel.translations, parallel.english_of
        self._targets = unit_vectors(targets)

    def __call__(self, model: Any, *_: Any, **options: Any) -> dict[str, float]:
        """Returns the measures of each language, see `LANGUAGE_MEASURES` in `saving/tables.py`, and a mean."""
        vectors, translations = _vectors(model, self._texts), _vectors(model, self._translations)
        measures: dict[str, float] = {}
        right = []  # share of the texts of each language that find their translation
        for language in np.unique(self._languages):
            rows: NDArray[np.int64] = np.flatnonzero(self._languages == language)
            english, texts = self._english_of[rows], vectors[rows]
            targets = self._targets[english]
            nearest = (texts @ translations[english].T).argmax(axis=1)
            right.append(float((nearest == np.arange(len(rows))).mean()))
            measures[f"translation_{language}"] = right[-1]
            measures[f"cosine_{language}"] = float((texts * targets).sum(axis=1).mean())
            if can_measure_recall(len(rows)):
                measures[f"recall_at_10_{language}"] = recall(texts, targets)
        return measures | {"translation": float(np.mean(right))}


def _vectors(model: SentenceTransformer, texts: list[str]) -> Vectors:
    return unit_vectors(model.encode(texts, batch_size=BATCH_SIZE, show_progress_bar=False))
