"""The limit of familiarity, on rows that were not learned."""

from types import SimpleNamespace

import numpy as np
import pytest

from vocabless import VocablessForSequenceClassification, load_config
from vocabless.modeling.rejection import SHARPNESS
from vocabless.training.finetuning.familiarity import Familiarity
from vocabless.training.finetuning.prepared import check_rejection
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.logits import TextLogits
from vocabless.training.finetuning.tasks.problems import Regression, SingleLabel

ROWS = Examples(["a"] * 30, labels=["x"] * 30)
DATA = TaskData("t", "t", SingleLabel(["x", "y"]), ROWS, {"": ROWS})
SCALES = np.ones((2, 2))


def text_logits(texts: list[list[float]], sentences: list[list[float]], places: list[int]) -> TextLogits:
    return TextLogits(np.asarray(texts), np.asarray(sentences).reshape(len(places), -1), np.asarray(places, np.int64))


@pytest.mark.parametrize(("rows", "share"), [(19, 0.05), (30, 0.1), (100, 0.05), (400, 0.2)])
def test_at_most_the_share_of_further_texts_is_below_the_limit_and_hardly_less(rows, share):
    random = np.random.default_rng(0)
    draws = [random.standard_cauchy(rows + 50) for _ in range(4000)]
    below = np.mean([(draw[rows:] < Familiarity(draw[:rows], SCALES).limit(share)).mean() for draw in draws])
    assert share - 1 / (rows + 1) - 0.005 < below < share + 0.003


def test_of_too_few_rows_the_limit_is_the_smallest_familiarity():
    assert Familiarity(np.array([3.0, 1.0, 2.0]), SCALES).limit(0.05) == 1.0


def test_energy_and_typicality_are_standardized_and_the_most_familiar_part_counts():
    logits = text_logits([[2.0, -2.0], [0.0, 0.0], [5.0, 1.0]], [[9.0, -9.0], [0.1, 0.0]], [1, 2])
    typicality = text_logits([[0.3], [0.1], [0.2]], [[0.1], [0.0]], [1, 2])
    found = Familiarity.of(logits, typicality, 2.0, SingleLabel(["x", "y"]))
    energies, typical = np.log(2 * np.cosh([1.0, 0.0, 1.0, 4.5])), np.array([0.3, 0.1, 0.2, 0.1])
    means, deviations = (np.array([each(energies[:3]), each(typical[:3])]) for each in (np.mean, np.std))
    np.testing.assert_allclose(found.scales, [means, 1 / deviations])
    parts = (np.stack([energies, typical]).T - means) / deviations
    expected = -np.log(np.exp(-SHARPNESS * parts).sum(axis=1)) / SHARPNESS
    np.testing.assert_allclose(found.scores, [expected[0], max(expected[[1, 3]]), expected[2]])
    constant = text_logits([[0.3], [0.3], [0.3]], [[0.3], [0.3]], [1, 2])
    assert Familiarity.of(logits, constant, 2.0, SingleLabel(["x", "y"])).scales[1, 1] == 1.0


@pytest.mark.parametrize(("changes", "share", "label", "sentence"), [
    ({"problem": Regression()}, 0.05, "z", "reject is 0.05, but the model gives numbers; leave it out"),
    ({}, 0.05, "y", "reject_label is 'y', which is a label of the training rows; give another name"),
    ({}, 0.01, "z", "reject is 0.01, which 30 training rows cannot hold; give at least 99 rows, or a larger"),
    ({"validation": {}}, 0.05, "z", "reject is 0.05, which 30 training rows cannot hold"),
])  # fmt: skip
def test_what_cannot_turn_texts_away_is_named(changes, share, label, sentence):
    model = VocablessForSequenceClassification(load_config("ewe-bert-word-tiny"))
    with pytest.raises(ValueError, match=sentence):
        check_rejection(TaskData(**{**vars(DATA), **changes}), model, share, label)


def test_a_stock_model_is_named():
    with pytest.raises(ValueError, match="but the model is not of vocabless; leave it out"):
        check_rejection(DATA, SimpleNamespace(classifier=None), 0.05, "z")
