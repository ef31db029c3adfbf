"""Weights of rows and of classes, in scikit-learn's interface."""

import math

import numpy as np
import pytest

from vocabless import VocablessClassifier
from vocabless.training.finetuning.scikit.estimator_inputs import read_labels, weights_of_classes

THINGS = "house river stone cat dog tree hill road".split()
TEXTS = [f"{colour} {thing}" for colour in ("red", "blue") for thing in THINGS]
LABELS = ["warm"] * 8 + ["cold"] * 8


@pytest.mark.parametrize(("weights", "sentence"), [
    ({"warn": 2.0}, "class_weight has 'warn', which no text has; the labels are cold and warm"),
    ({"warm": -1}, "class_weight of 'warm' is -1; give a finite number of at least 0"),
    ({"warm": "2"}, "class_weight of 'warm' is '2'; give a finite number"),
    ("equal", "class_weight is 'equal'; give \"balanced\", or a dictionary label → weight"),
    ([{0: 1.0, 1: 2.0}], "give \"balanced\", or a dictionary label → weight"),
])  # fmt: skip
def test_a_mistake_in_the_weights_of_classes_is_named(weights, sentence):
    classes, column = read_labels(TEXTS, LABELS)
    with pytest.raises(ValueError, match=sentence):
        weights_of_classes(weights, classes, column)
    matrix = np.array([[1, 0, 1], [0, 1, 1]])
    with pytest.raises(ValueError, match="a list of 3 dictionaries, one for each label"):
        weights_of_classes(weights, np.arange(3), matrix)


@pytest.mark.parametrize(("epochs", "least_gain"), [(0, 1e9), (1, -1e9)])  # the second one fits a wide part, too
def test_weights_count_by_their_ratios_alone(encoder, epochs, least_gain, monkeypatch):
    monkeypatch.setattr("vocabless.training.finetuning.head.head_choice.WIDE_GAIN", least_gain)
    weights = np.linspace(1, 4, 16)
    expected, found = (
        VocablessClassifier(encoder, epochs=epochs, class_weight={"warm": of_class, "cold": 2 * of_class})
        .fit(TEXTS, LABELS, scale * weights)
        .predict_proba(TEXTS)
        for scale, of_class in ((1, 1), (1e-6, 1e9))
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("epochs", [0, 1])
@pytest.mark.quick("1")
def test_a_row_of_weight_two_counts_as_two_and_one_of_weight_zero_not_at_all(encoder, epochs):
    """In fine-tuning only the direction can be told: batches are others."""
    texts, labels = [*TEXTS, "red sea", "blue sea"], [*LABELS, "cold", "warm"]  # the last two are against the others
    chances = {}
    for weight in (0.0, 1.0, 8.0):
        weights = [1.0] * 16 + [weight] * 2
        classifier = VocablessClassifier(encoder, epochs=epochs).fit(texts, labels, sample_weight=weights)
        chances[weight] = classifier.predict_proba(["red sea"])[0, 0]
        assert classifier.results_["has_sample_weight"]
    assert chances[0.0] < chances[1.0] < chances[8.0]
    if not epochs:
        once = VocablessClassifier(encoder).fit(texts, labels).predict_proba(TEXTS)
        np.testing.assert_allclose(once, VocablessClassifier(encoder).fit(texts, labels, [1] * 18).predict_proba(TEXTS))


@pytest.mark.parametrize("least_gain", [1e9, -1e9])  # without the words, and with them: 24 rows may choose either
@pytest.mark.quick("-1000000000.0")
def test_weights_of_classes_are_those_of_scikit_learn(encoder, least_gain, monkeypatch):
    monkeypatch.setattr("vocabless.training.finetuning.head.head_choice.WIDE_GAIN", least_gain)
    texts, labels = [*TEXTS, *(f"{thing} green" for thing in THINGS)], [*LABELS, *["warm"] * 8]
    plain, balanced, given = (
        VocablessClassifier(encoder, class_weight=weight).fit(texts, labels)
        for weight in (None, "balanced", {"cold": 24 / 16, "warm": 24 / 32})
    )
    np.testing.assert_array_equal(balanced.predict_proba(texts), given.predict_proba(texts))
    unsure = ["a green and blue thing"]
    assert balanced.predict_proba(unsure)[0, 0] > plain.predict_proba(unsure)[0, 0]
    assert (
        balanced.results_["class_weight"] == "balanced"
        and given.results_["class_weight"] == "{'cold': 1.5, 'warm': 0.75}"
    )
    for weights, sentence in (
        ([1, -1], r"sample_weight has the shape \(2,\); give a number for each of 24 texts"),
        ([1.0] * 23 + [-2.5], "the weights of texts are not all finite and at least 0"),
        ([math.nan] * 24, "the weights of texts are not all finite"),
        ([0] * 24, "with some above 0; mend them"),
    ):
        with pytest.raises(ValueError, match=sentence):
            VocablessClassifier(encoder).fit(texts, labels, weights)
