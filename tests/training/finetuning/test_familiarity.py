"""The limit of familiarity, on rows that were not learned."""

import numpy as np
import pytest

from vocabless.modeling.rejection import SHARPNESS
from vocabless.training.finetuning.familiarity import Familiarity
from vocabless.training.finetuning.tasks.logits import TextLogits
from vocabless.training.finetuning.tasks.problems import SingleLabel

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
