"""The published measures of the tasks, as `evaluate.Metric`s that need no network: scikit-learn and scipy compute them.

`evaluate.load` would fetch a script for each. `score` takes several at once; `METRICS` is the table of their names.
"""
# mypy: allow-untyped-calls

from collections.abc import Iterator, Sequence
from typing import Any

import evaluate
import numpy as np
from datasets import Features, Value
from datasets import Sequence as ListOf
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics

Span = tuple[str, int, int]
INTEGER, NUMBER = Value("int64"), Value("float64")


class _Measure(evaluate.Metric):
    """A metric whose description is its docstring and whose predictions and references are as `kinds` says."""

    kinds: tuple[Any, Any] = (INTEGER, INTEGER)

    def _info(self) -> evaluate.MetricInfo:
        predictions, references = self.kinds
        return evaluate.MetricInfo(
            description=str(self.__doc__),
            citation="",
            features=Features({"predictions": predictions, "references": references}),
        )


class Accuracy(_Measure):
    """Share of predictions that are right."""

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"accuracy": float(metrics.accuracy_score(references, predictions))}


class F1(_Measure):
    """F1 of class 1, of two classes; 0 where neither predictions nor references hold it."""

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"f1": float(metrics.f1_score(references, predictions, zero_division=0))}


class MacroF1(_Measure):
    """Mean over the classes of their F1."""

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"macro_f1": float(metrics.f1_score(references, predictions, average="macro", zero_division=0))}


class Matthews(_Measure):
    """Correlation of predicted and right classes; 0 where all predictions are the same."""

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"matthews_correlation": float(metrics.matthews_corrcoef(references, predictions))}


class Pearson(_Measure):
    """Linear correlation; 0 where all predictions are the same."""

    kinds = (NUMBER, NUMBER)

    def _compute(self, predictions: list[float], references: list[float]) -> dict[str, float]:
        return {"pearson": _correlation(stats.pearsonr, predictions, references)}


class Spearman(_Measure):
    """Rank correlation; 0 where all predictions are the same."""

    kinds = (NUMBER, NUMBER)

    def _compute(self, predictions: list[float], references: list[float]) -> dict[str, float]:
        return {"spearman": _correlation(stats.spearmanr, predictions, references)}


class MicroF1(_Measure):
    """Precision, recall and F1 over all (text, label) pairs; a label holds if its probability exceeds the threshold."""

    kinds = (ListOf(NUMBER), ListOf(INTEGER))

    def _compute(
        self, predictions: list[list[float]], references: list[list[int]], threshold: float = 0.5
    ) -> dict[str, float]:
        holds = np.asarray(predictions) > threshold
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(
            np.asarray(references).astype(bool), holds, average="micro", zero_division=0
        )
        return {"micro_precision": float(precision), "micro_recall": float(recall), "micro_f1": float(f1)}


class EntityF1(_Measure):
    """Precision, recall and F1 of entities: right are those whose type, first and last word are."""

    kinds = (ListOf(Value("string")), ListOf(Value("string")))

    def _compute(self, predictions: list[list[str]], references: list[list[str]]) -> dict[str, float]:
        found, right = (
            {(number, *span) for number, tags in enumerate(side) for span in entities(tags)}
            for side in (predictions, references)
        )
        precision = len(found & right) / len(found) if found else 0.0
        recall = len(found & right) / len(right) if right else 0.0
        f1 = 2 * len(found & right) / (len(found) + len(right)) if found or right else 0.0
        return {"entity_precision": precision, "entity_recall": recall, "entity_f1": f1}


def score(
    names: Sequence[str], predictions: Any, references: Any, options: dict[str, Any] | None = None
) -> dict[str, float]:
    """Returns the values of the metrics of these names.

    Args:
        names: keys of `METRICS`.
        predictions: as the metrics take them.
        references: what is right, likewise.
        options: of the metrics, for instance `{"threshold": 0.3}`.

    Example:
        >>> score(["accuracy", "f1"], [1, 0, 1], [1, 1, 1])
        {'accuracy': 0.6666666666666666, 'f1': 0.8}
    """
    found: dict[str, float] = {}
    for name in names:
        # in memory: the default is a file in the user's cache that concurrent runs would share
        metric = METRICS[name](keep_in_memory=True)
        found |= metric.compute(predictions=predictions, references=references, **(options or {})) or {}
    return found


def entities(tags: Sequence[str]) -> Iterator[Span]:
    """Yields (type, first word, word after the last) of the entities of a sentence, by CoNLL's rules.

    B- begins an entity, I- goes on with one of its type; after O or another type it begins one.

    Example:
        >>> list(entities(["B-person", "I-person", "O", "I-place", "B-place"]))
        [('person', 0, 2), ('place', 3, 4), ('place', 4, 5)]
    """
    kind, start = "", 0
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, now = tag.partition("-")
        now = now if prefix in ("B", "I") else ""
        if now != kind or prefix == "B":
            if kind:
                yield kind, start, place
            kind, start = now, place


def _correlation(function: Any, predictions: list[float], references: list[float]) -> float:
    sides: list[NDArray[np.float64]] = [np.asarray(side, np.float64) for side in (predictions, references)]
    if any(len(side) < 2 or np.ptp(side) == 0 for side in sides):
        return 0.0
    return float(function(*sides).statistic)


METRICS: dict[str, type[_Measure]] = {
    "accuracy": Accuracy,
    "f1": F1,
    "macro_f1": MacroF1,
    "matthews_correlation": Matthews,
    "pearson": Pearson,
    "spearman": Spearman,
    "micro_f1": MicroF1,
    "entity_f1": EntityF1,
}
