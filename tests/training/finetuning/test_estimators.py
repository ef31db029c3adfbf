"""scikit-learn's interface."""

import random

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from transformers import pipeline

from vocabless import VocablessClassifier, VocablessVectorizer

THINGS = "house river stone cat dog tree hill road".split()
TEXTS = [f"{colour} {thing}" for colour in ("red", "blue") for thing in THINGS]
LABELS = ["warm"] * 8 + ["cold"] * 8


@parametrize_with_checks([VocablessClassifier(), VocablessVectorizer()])
def test_what_scikit_learn_asks_of_an_estimator_of_texts(estimator, check):
    check(estimator)


@pytest.mark.parametrize("epochs", [0, 1, None])
def test_texts_are_classified_and_the_saved_folder_gives_the_same(encoder, tmp_path, epochs):
    classifier = VocablessClassifier(encoder, epochs=epochs).fit(TEXTS, LABELS)
    assert classifier.classes_.tolist() == ["cold", "warm"]
    assert classifier.score(TEXTS, LABELS) == 1.0 and 0 <= classifier.cross_validated_["accuracy"] <= 1
    probabilities = classifier.predict_proba(["red hill", "a blue road and a river"])
    np.testing.assert_allclose(probabilities.sum(1), 1)
    classifier.save_pretrained(tmp_path / "saved")
    (found,) = pipeline("text-classification", str(tmp_path / "saved"))(["red hill"], top_k=None)
    by_label = {row["label"]: row["score"] for row in found}
    assert [by_label["cold"], by_label["warm"]] == pytest.approx(probabilities[0].tolist(), abs=1e-6)
    tokenizer = classifier.tokenizer_  # for a pipeline of the two objects
    assert len(tokenizer("all " * 600)["input_ids"]) == tokenizer.model_max_length


def test_labels_keep_their_type_and_a_run_repeats_itself_with_any_seed_of_scikit_learn(encoder):
    labels = [label == "warm" for label in LABELS]
    first, second = (VocablessClassifier(encoder).fit(TEXTS, labels) for _ in range(2))
    assert first.predict(["red hill"]).dtype == bool
    np.testing.assert_array_equal(first.predict_proba(TEXTS), second.predict_proba(TEXTS))
    for seed in (None, np.int64(3), np.random.RandomState(0)):
        assert VocablessClassifier(encoder, random_state=seed).fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1.0


def test_parameters_are_cloned_and_searched(encoder):
    classifier = VocablessClassifier(encoder, epochs=2, learning_rate=1e-3)
    assert clone(classifier).get_params() == classifier.get_params()
    steps = make_pipeline(VocablessVectorizer(encoder), LogisticRegression())
    search = GridSearchCV(steps, {"logisticregression__C": [0.1, 10.0]}, cv=2).fit(TEXTS, LABELS)
    assert search.predict(["red hill"]).tolist() == ["warm"]
    series = pd.Series(TEXTS, index=range(9, 25))
    table = VocablessVectorizer(encoder).set_output(transform="pandas").fit_transform(series)
    assert table.shape == (16, 64) and table.columns[-1] == "vocablessvectorizer63"
    usual = VocablessVectorizer().fit(TEXTS)  # its weights are stored in 16 bits
    assert usual.transform(TEXTS).shape == (16, 256) and usual.model_.dtype == torch.float32


@pytest.mark.parametrize(("texts", "labels", "sentence"), [
    ("red", ["a"], "texts are a list of strings, but here is one str;"),
    ({"red": 1}, ["a"], "but here is one dict;"),
    (pd.DataFrame({"red": TEXTS}), ["a"], "but here is one DataFrame;"),
    (np.array([["red"], ["blue"]]), ["a", "b"], "but here is one ndarray;"),
    (["red", None], ["a", "b"], "but here is None; give a list with a string for each text"),
    ([], [], "but here is nothing"),
    (["red"], ["a", "b"], "1 texts have 2 labels; give each text one label"),
    (["red", "blue"], ["a", None], "a label is missing"),
    (["red", "blue"], [1.0, float("nan")], "a label is missing"),
    (["red", "blue"], ["a", float("nan")], "a label is missing"),
    (["red", "blue"], pd.array(["a", pd.NA], dtype="string"), "a label is missing"),
    (["red", "blue"], [["a"], ["a", "b"]], "a label is a list"),
    (["red", "blue", "green"], [0.1, 0.2, 0.3], "Unknown label type"),
    (["red", "blue"], ["a", "a"], "all texts have the label 'a'; give texts of at least two labels"),
])  # fmt: skip
def test_a_mistake_is_named(encoder, texts, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        VocablessClassifier(encoder).fit(texts, labels)
    if "label" not in sentence and "Unknown" not in sentence:
        with pytest.raises(ValueError, match=sentence):
            VocablessVectorizer(encoder).fit(texts)
    for estimator in (VocablessClassifier(encoder).predict, VocablessVectorizer(encoder).transform):
        with pytest.raises(NotFittedError):
            estimator(TEXTS)


def test_a_model_or_length_that_does_not_fit_is_named(encoder, tmp_path):
    for estimator in VocablessClassifier, VocablessVectorizer:
        with pytest.raises(ValueError, match="cannot be loaded"):
            estimator(str(tmp_path)).fit(TEXTS, LABELS)
        for length in 2, 1 << 20:
            with pytest.raises(ValueError, match=f"max_seq_length {length} .*; give "):
                estimator(encoder, max_seq_length=length).fit(TEXTS, LABELS)


def test_fitting_changes_no_global_generator(encoder):
    def draw():
        return random.random(), np.random.random(), torch.rand(1).item()  # noqa: NPY002

    drawn = []
    for epochs in (None, 1):
        for seed in (random.seed, np.random.seed, torch.manual_seed):
            seed(7)
        if epochs:
            VocablessClassifier(encoder, epochs=epochs).fit(TEXTS, LABELS)
        drawn.append(draw())
    assert drawn[0] == drawn[1]


def test_copies_of_a_text_do_not_raise_the_cross_validated_score(encoder):
    chance = random.Random(0)
    texts = [f"{chance.choice(THINGS)} {chance.choice(THINGS)} {row}" for row in range(50)]
    labels = [chance.choice("ab") for _ in texts]
    copies = [*texts, *(text.upper() for text in texts), *(f"{text}!".replace("e", "é") for text in texts)]
    assert VocablessClassifier(encoder).fit(copies, labels * 3).cross_validated_["accuracy"] < 0.75


def test_labels_may_be_a_column_and_a_refit_that_fails_changes_nothing(encoder, tmp_path):
    classifier = VocablessClassifier(encoder).fit(TEXTS, np.array(LABELS)[:, None])
    before = classifier.predict_proba(TEXTS)
    classifier.model_name_or_path = str(tmp_path)
    with pytest.raises(ValueError, match="cannot be loaded"):
        classifier.fit(TEXTS, ["x", "y"] * 8)
    assert classifier.classes_.tolist() == ["cold", "warm"]
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), before)
