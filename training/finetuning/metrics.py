"""The metrics of the tasks, as `evaluate.Metric` classes that use scikit-learn and scipy.

They need no network; `evaluate.load` would download a script for each. `METRICS` is the table of their names, and
`score` computes several at once.
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


class _Metric(evaluate.Metric):
    """Base class: the docstring is the description; `feature_types` are the types of a prediction and a reference."""

    feature_types: tuple[Any, Any] = (INTEGER, INTEGER)

    def _info(self) -> evaluate.MetricInfo:
        predictions, references = self.feature_types
        return evaluate.MetricInfo(
            description=str(self.__doc__),
            citation="",
            features=Features({"predictions": predictions, "references": references}),
        )


class Accuracy(_Metric):
    """Share of correct predictions."""

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"accuracy": float(metrics.accuracy_score(references, predictions))}


class F1(_Metric):
    """F1 of class 1 in a problem with two classes; 0 if neither predictions nor references contain class 1."""

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"f1": float(metrics.f1_score(references, predictions, zero_division=0))}


class MacroF1(_Metric):
    """Mean of the F1 of all classes."""

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"macro_f1": float(metrics.f1_score(references, predictions, average="macro", zero_division=0))}


class Matthews(_Metric):
    """Matthews correlation of predicted and correct classes; 0 if all predictions are the same."""

    def _compute(self, predictions: list[int], references: list[int]) -> dict[str, float]:
        return {"matthews_correlation": float(metrics.matthews_corrcoef(references, predictions))}


class Pearson(_Metric):
    """Linear correlation; 0 if all predictions are the same."""

    feature_types = (NUMBER, NUMBER)

    def _compute(self, predictions: list[float], references: list[float]) -> dict[str, float]:
        return {"pearson": _correlation(stats.pearsonr, predictions, references)}


class Spearman(_Metric):
    """Rank correlation; 0 if all predictions are the same."""

    feature_types = (NUMBER, NUMBER)

    def _compute(self, predictions: list[float], references: list[float]) -> dict[str, float]:
        return {"spearman": _correlation(stats.spearmanr, predictions, references)}


class MicroF1(_Metric):
    """Precision, recall and F1 over all pairs of text and label; a label is predicted above the threshold."""

    feature_types = (ListOf(NUMBER), ListOf(INTEGER))

    def _compute(
        self, predictions: list[list[float]], references: list[list[int]], threshold: float = 0.5
    ) -> dict[str, float]:
        predicted = np.asarray(predictions) > threshold
        precision, recall, f1, _ = metrics.precision_recall_fscore_support(
            np.asarray(references).astype(bool), predicted, average="micro", zero_division=0
        )
        return {"micro_precision": float(precision), "micro_recall": float(recall), "micro_f1": float(f1)}


class EntityF1(_Metric):
    """Precision, recall and F1 of entities. An entity is correct if its type and both of its ends are correct."""

    feature_types = (ListOf(Value("string")), ListOf(Value("string")))

    def _compute(self, predictions: list[list[str]], references: list[list[str]]) -> dict[str, float]:
        predicted, correct = (
            {(sentence, *span) for sentence, tags in enumerate(side) for span in entities(tags)}
            for side in (predictions, references)
        )
        both = len(predicted & correct)
        precision = both / len(predicted) if predicted else 0.0
        recall = both / len(correct) if correct else 0.0
        f1 = 2 * both / (len(predicted) + len(correct)) if predicted or correct else 0.0
        return {"entity_precision": precision, "entity_recall": recall, "entity_f1": f1}


def score(
    names: Sequence[str], predictions: Any, references: Any, options: dict[str, Any] | None = None
) -> dict[str, float]:
    """Returns the values of several metrics.

    Args:
        names: keys of `METRICS`.
        predictions: one for each example, in the form that the metrics take.
        references: the correct answers, in the same order.
        options: keyword arguments of the metrics, for instance `{"threshold": 0.3}`.

    Example:
        >>> score(["accuracy", "f1"], [1, 0, 1], [1, 1, 1])
        {'accuracy': 0.6666666666666666, 'f1': 0.8}
    """
    values: dict[str, float] = {}
    for name in names:
        # The default, a file in the user's cache, fails if several processes compute at the same time.
        metric = METRICS[name](keep_in_memory=True)
        values |= metric.compute(predictions=predictions, references=references, **(options or {})) or {}
    return values


def entities(tags: Sequence[str]) -> Iterator[Span]:
    """Yields the entities of a sentence as (type, first word, word after the last), by the rules of CoNLL.

    B- begins an entity. I- continues an entity of its type; after O or another type it begins one.

    Example:
        >>> list(entities(["B-person", "I-person", "O", "I-place", "B-place"]))
        [('person', 0, 2), ('place', 3, 4), ('place', 4, 5)]
    """
    current_type, first_word = "", 0
    for word, tag in enumerate([*tags, "O"]):
        prefix, _, name = tag.partition("-")
        tag_type = name if prefix in ("B", "I") else ""
        if tag_type != current_type or prefix == "B":
            if current_type:
                yield current_type, first_word, word
            current_type, first_word = tag_type, word


def _correlation(function: Any, predictions: list[float], references: list[float]) -> float:
    sides: list[NDArray[np.float64]] = [np.asarray(side, np.float64) for side in (predictions, references)]
    if any(len(side) < 2 or np.ptp(side) == 0 for side in sides):
        return 0.0
    return float(function(*sides).statistic)


METRICS: dict[str, type[_Metric]] = {
    "accuracy": Accuracy,
    "f1": F1,
    "macro_f1": MacroF1,
    "matthews_correlation": Matthews,
    "pearson": Pearson,
    "spearman": Spearman,
    "micro_f1": MicroF1,
    "entity_f1": EntityF1,
}
