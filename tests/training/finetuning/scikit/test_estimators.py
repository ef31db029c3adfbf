"""scikit-learn's interface."""

import copy
import importlib.util
import json
import random
import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from huggingface_hub import ModelCard
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from transformers import AutoModelForSequenceClassification, pipeline
from transformers.utils import logging as transformers_logging

from vocabless import VocablessClassifier, VocablessRegressor, default_encoder
from vocabless.training.finetuning.scikit import estimators

THINGS = "house river stone cat dog tree hill road".split()
TEXTS = [f"{colour} {thing}" for colour in ("red", "blue") for thing in THINGS]
LABELS = ["warm"] * 8 + ["cold"] * 8


@pytest.fixture(scope="module")
def fitted(encoder):
    """A classifier with a head alone, which no test may change."""
    return VocablessClassifier(encoder).fit(TEXTS, LABELS)


@parametrize_with_checks([VocablessClassifier(), VocablessRegressor()])
def test_what_scikit_learn_asks_of_an_estimator_of_texts(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("epochs", "least_gain"), [(0, 1e9), (1, 1e9), (None, -1e9), (0, -1e9)])
@pytest.mark.quick("0-1000000000.0", "None--1000000000.0")
def test_texts_are_classified_and_the_saved_folder_gives_the_same(encoder, tmp_path, epochs, least_gain, monkeypatch):
    monkeypatch.setattr("vocabless.training.finetuning.head.head_choice.WIDE_GAIN", least_gain)
    classifier = VocablessClassifier(encoder, epochs=epochs).fit(TEXTS, LABELS)
    assert classifier.classes_.tolist() == ["cold", "warm"]
    assert classifier.score(TEXTS, LABELS) == 1.0 and 0 <= classifier.cross_validated_["accuracy"] <= 1
    assert bool(classifier.model_.config.classifier_wide_rows) == (least_gain < 0)
    probabilities = classifier.predict_proba(["red hill", "a blue road and a river"])
    np.testing.assert_allclose(probabilities.sum(1), 1)
    classifier.save_pretrained(tmp_path / "saved")
    (found,) = pipeline("text-classification", str(tmp_path / "saved"))(["red hill"], top_k=None)
    by_label = {row["label"]: row["score"] for row in found}
    assert [by_label["cold"], by_label["warm"]] == pytest.approx(probabilities[0].tolist(), abs=1e-6)
    tokenizer = classifier.tokenizer_  # for a pipeline of the two objects
    assert len(tokenizer("all " * 600)["input_ids"]) == tokenizer.model_max_length


def test_labels_keep_their_type_and_a_run_repeats_itself_with_any_seed_of_scikit_learn(encoder, fitted):
    labels = [label == "warm" for label in LABELS]
    classifier = VocablessClassifier(encoder).fit(TEXTS, labels)
    assert classifier.predict(["red hill"]).dtype == bool
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    for seed in (None, np.int64(3), np.random.RandomState(0)):
        assert VocablessClassifier(encoder, random_state=seed).fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1.0


def test_parameters_are_cloned_and_searched(encoder, tmp_path):
    classifier = VocablessClassifier(encoder, epochs=2, learning_rate=1e-3)
    assert clone(classifier).get_params() == classifier.get_params()
    grid = {"class_weight": ["balanced"], "max_seq_length": np.array([16]), "reject": np.array([0.2], np.float32)}
    search = GridSearchCV(VocablessClassifier(encoder), grid, cv=2)
    assert search.fit(pd.Series(TEXTS, index=range(9, 25)), LABELS).predict(["red hill"]).tolist() == ["warm"]
    search.best_estimator_.save_pretrained(tmp_path)
    assert VocablessClassifier.from_pretrained(tmp_path).get_params()["reject"] == pytest.approx(0.2)


def test_the_labels_of_a_folder_are_those_of_its_weights(encoder, tmp_path):
    VocablessClassifier(encoder).fit(TEXTS, LABELS).save_pretrained(tmp_path)
    record = json.loads((tmp_path / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps(record | {"classes": ["left", "right"]}))
    assert VocablessClassifier.from_pretrained(tmp_path).classes_.tolist() == ["cold", "warm"]


@pytest.mark.parametrize(("texts", "labels", "sentence"), [
    ("red", ["a"], "texts are a list, but here is one str; give a list with one for each text"),
    ({"red": 1}, ["a"], "but here is one dict;"),
    (pd.DataFrame({"red": TEXTS}), ["a"], "but here is one DataFrame of columns; give one of them"),
    (np.array([["red"], ["blue"]]), ["a", "b"], "but here is one ndarray of columns;"),
    (["red", None], ["a", "b"], "but here is None; give a string for each text"),
    ([], [], "but here is nothing"),
    ({"red", "blue"}, ["a", "b"], "but here is one set;"),
    (frozenset({"red", "blue"}), ["a", "b"], "but here is one frozenset;"),
    (["red", "blue"], {"label a", "label b"}, "labels are a list, but here is one set; give a list with one for each"),
    (["red", "blue"], {"red": "a", "blue": "b"}, "labels are a list, but here is one dict;"),
    (["red", "blue"], "ab", "labels are a list, but here is one str;"),
    (["red", "Red!"] * 9, ["label a", "label b"] * 9, "all texts are copies of 'red'; give some for each label"),
    (["red"], ["a", "b"], "1 texts have 2 labels; give each text one label"),
    (["red", "blue"], ["a", None], "a label is missing"),
    (["red", "blue"], [1.0, float("nan")], "a label is missing"),
    (["red", "blue"], ["a", float("nan")], "a label is missing"),
    (["red", "blue"], pd.array(["a", pd.NA], dtype="string"), "a label is missing"),
    (["red", "blue"], [["a"], ["a", "b"]], r"a label is a list; .*MultiLabelBinarizer\(\)\.fit_transform"),
    (["red", "blue"], np.array([[1, 0], [2, 1]]), "columns are 0 or 1, but here is 2; give a column for each label"),
    (["red", "blue"], np.array([[1, 0]]), "2 texts have 1 labels; give each text one"),
    (["red", "blue"], pd.DataFrame([[1, 0], [0, 1]], columns=["a", "a"]), "several columns of labels are called 'a'"),
    (["", "red", " "], ["a", "b", "a"], "the texts 0 and 2 are empty; fill them or drop them"),
    (["red", "blue", "green"], [1, 0.2, 0.3], "numbers such as 0.2; give classes, or fit VocablessRegressor"),
    (["red", "blue", "green"], [1, "1", 2], "labels are texts and numbers; give one kind alone"),
    (["red", "blue"], pd.DataFrame({"a": ["1", 0], "b": [1, 0]}), "are 0 or 1, but here is '1'; give a column"),
    (["red", "blue"], [[1, 0], [1]], "a label is a list; give each text one label, or make a matrix"),
    (["red", "blue"], ["a", "a"], "all texts have the label 'a'; give texts of at least two labels"),
])  # fmt: skip
def test_a_mistake_is_named(encoder, texts, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        VocablessClassifier(encoder).fit(texts, labels)
    with pytest.raises(NotFittedError):
        VocablessClassifier(encoder).predict(TEXTS)


@pytest.mark.parametrize(("name", "values", "least"), [
    ("batch_size", [0, -1, 2.5, "8", True, None], "a whole number of at least 1"),
    ("max_seq_length", [0, -1, 2, 2.5, "8", True], "a whole number of at least 3, or None"),
    ("epochs", [-1, "2", float("nan"), float("inf"), True], "a number of at least 0, or None"),
    ("learning_rate", [0, -1.0, "2", float("nan"), True], "a number of at least 1e-12, or None"),
])  # fmt: skip
def test_a_number_out_of_range_is_named(encoder, name, values, least):
    for value in values:
        with pytest.raises(ValueError, match=re.escape(f"{name} {value!r} is out of range; give {least}.")):
            VocablessClassifier(encoder, **{name: value}).fit(TEXTS, LABELS)


@pytest.mark.parametrize("texts", [["red hill", "blue sea"], ["red hill", "blue sea", "red sun", "blue ice"]])
def test_two_texts_of_two_labels_are_enough_for_a_head(encoder, texts):
    labels = ["warm", "cold"] * (len(texts) // 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of labels of one text each, see the next test
        classifier = VocablessClassifier(encoder, epochs=None).fit(texts, labels)
    assert classifier.predict(texts).tolist() == labels
    assert (classifier.cross_validated_["accuracy"] == 0) == (len(texts) == 2)
    assert len(texts) > 2 or classifier.predict_proba(texts).max() < 0.95
    several = VocablessClassifier(encoder).fit([*texts, "ice sun"], [[1, 0], [0, 1]] * (len(texts) // 2) + [[1, 1]])
    assert several.predict(texts).shape == (len(texts), 2)


@pytest.mark.parametrize(("labels", "alone"), [
    (LABELS, None), (TEXTS, "16 of 16"), (["x", *LABELS[1:]], "1 of 3"), (["x"] * 15 + ["y"], "1 of 2")
])  # fmt: skip
def test_labels_of_one_text_are_named_since_no_fold_can_tell_of_them(encoder, labels, alone):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        VocablessClassifier(encoder).fit([*TEXTS, TEXTS[0].upper()], [*labels, labels[0]])
    sentences = [str(warning.message) for warning in caught if "cross_validated_" in str(warning.message)]
    assert [sentence.partition(" labels")[0] for sentence in sentences] == ([alone] if alone else [])


def test_a_model_or_length_that_does_not_fit_is_named(encoder, tmp_path):
    with pytest.raises(ValueError, match=r"holds no config\.json"):
        VocablessClassifier(str(tmp_path)).fit(TEXTS, LABELS)
    for length in 2, 1 << 20:
        with pytest.raises(ValueError, match=f"max_seq_length {length} .*; give "):
            VocablessClassifier(encoder, max_seq_length=length).fit(TEXTS, LABELS)


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


def test_the_import_for_the_first_fit_changes_no_generator(monkeypatch):
    imported = []
    monkeypatch.setattr(estimators, "import_module", lambda name: imported.append((name, random.random())))  # as rich
    random.seed(7)
    first = random.getstate()
    estimators._code()
    assert len(imported) == 1 and random.getstate() == first


def test_copies_of_a_text_do_not_raise_the_cross_validated_score(encoder):
    chance = random.Random(0)
    texts = [f"{chance.choice(THINGS)} {chance.choice(THINGS)} {row}" for row in range(50)]
    labels = [chance.choice("ab") for _ in texts]
    copies = [*texts, *(text.upper() for text in texts), *(f"{text}!".replace("e", "é") for text in texts)]
    assert VocablessClassifier(encoder).fit(copies, labels * 3).cross_validated_["accuracy"] < 0.75


def test_labels_may_be_a_column_and_a_refit_that_fails_changes_nothing(encoder, fitted, tmp_path):
    before = fitted.predict_proba(TEXTS)
    for column in (np.array(LABELS)[:, None], pd.DataFrame({"label": LABELS})):
        with pytest.warns(DataConversionWarning):
            classifier = VocablessClassifier(encoder).fit(TEXTS, column)
        np.testing.assert_array_equal(classifier.predict_proba(TEXTS), before)
    classifier.model_name_or_path = str(tmp_path)
    with pytest.raises(ValueError, match=r"holds no config\.json"):
        classifier.fit(TEXTS, ["x", "y"] * 8)
    assert classifier.classes_.tolist() == ["cold", "warm"]
    np.testing.assert_array_equal(classifier.predict_proba(TEXTS), before)


def test_texts_and_labels_may_be_columns_of_arrow_or_polars(encoder, fitted):
    expected = fitted.predict_proba(TEXTS)
    columns = [
        (pa.array(TEXTS), pa.array(LABELS)),
        (pa.chunked_array([TEXTS]), pa.chunked_array([LABELS[:8], LABELS[8:]])),
    ]
    if importlib.util.find_spec("polars"):
        import polars

        columns.append((polars.Series(TEXTS), polars.Series(LABELS)))
        with pytest.raises(ValueError, match="but here is one DataFrame"):
            VocablessClassifier(encoder).fit(polars.DataFrame({"text": TEXTS}), LABELS)
    for texts, labels in columns:
        classifier = VocablessClassifier(encoder).fit(texts, labels)
        assert classifier.classes_.tolist() == ["cold", "warm"]
        np.testing.assert_array_equal(classifier.predict_proba(texts), expected)
    with pytest.raises(ValueError, match="a label is missing"):
        VocablessClassifier(encoder).fit(TEXTS[:2], pa.array(["a", None]))


def test_a_text_may_have_several_labels(encoder, tmp_path):
    texts = [
        f"{colour} {size} {thing}" for colour in ("red", "blue") for size in ("large", "small") for thing in THINGS
    ]
    matrix = np.array([["red" in text, "large" in text, "cat" in text] for text in texts]).astype(int)
    classifier = VocablessClassifier(encoder).fit(texts, matrix)
    assert classifier.classes_.tolist() == [0, 1, 2] and "micro_f1" in classifier.cross_validated_
    found, probabilities = classifier.predict(texts), classifier.predict_proba(texts)
    assert found.shape == (32, 3) and (found[:, 0] == matrix[:, 0]).all()
    np.testing.assert_array_equal(found, probabilities >= classifier.model_.config.classifier_threshold)
    named = VocablessClassifier(encoder).fit(texts, pd.DataFrame(matrix, columns=["warm", "big", "cat"]))
    np.testing.assert_array_equal(named.predict_proba(texts), probabilities)
    objects = pd.DataFrame(matrix.astype(bool), dtype=object)
    for same in (csr_matrix(matrix), objects):
        again = VocablessClassifier(encoder).fit(texts, same)
        np.testing.assert_array_equal(again.predict_proba(texts), probabilities)
    named.save_pretrained(tmp_path / "mine")
    (rows,) = pipeline("text-classification", str(tmp_path / "mine"))(["red large cat"], top_k=None)
    of_labels = dict(zip(named.classes_, named.predict_proba(["red large cat"])[0], strict=True))
    assert {row["label"]: row["score"] for row in rows} == pytest.approx(of_labels, abs=1e-6)


def test_texts_get_numbers(encoder, tmp_path):
    numbers = [2.5 if label == "warm" else -1.0 for label in LABELS]
    regressor = VocablessRegressor(encoder).fit(TEXTS, pa.array(numbers))
    assert regressor.score(TEXTS, numbers) > 0.9 and "spearman" in regressor.cross_validated_
    assert regressor.predict(["red hill"])[0] > regressor.predict(["blue hill"])[0]
    regressor.save_pretrained(tmp_path / "mine")
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "mine").eval()
    logits = model(**regressor.tokenizer_("red hill", return_tensors="pt")).logits
    assert logits.item() == pytest.approx(regressor.predict(["red hill"])[0], abs=1e-5)
    for targets, sentence in (
        ([1.0, float("nan")], "2 texts have 1 numbers; give each text one"),
        (["1.5", "2,5"], "targets are no numbers .*'2,5'.*; give one for each text, or fit VocablessClassifier"),
        ([[1, 2], [3, 4]], r"targets are no numbers .*shape \(2, 2\)"),
    ):
        with pytest.raises(ValueError, match=sentence):
            VocablessRegressor(encoder).fit(["a", "b"], targets)
    with pytest.raises(ValueError, match="the texts 1 are empty; fill them or drop them"):
        regressor.predict(["a", " "])


@pytest.mark.parametrize(("estimator", "labels"), [
    (VocablessClassifier, LABELS), (VocablessClassifier, [label == "warm" for label in LABELS]),
    (VocablessClassifier, [7 if label == "warm" else 10 for label in LABELS]),
    (VocablessClassifier, pd.DataFrame({"warm": [1] * 8 + [0] * 8, "any": [1, 0] * 8})),
    (VocablessRegressor, [2.5 if label == "warm" else -1.0 for label in LABELS]),
])  # fmt: skip
def test_a_saved_estimator_is_loaded_and_saved_again(encoder, tmp_path, estimator, labels):
    first = estimator(encoder).fit(TEXTS, labels)
    first.save_pretrained(tmp_path / "mine-a")
    loaded = estimator.from_pretrained(tmp_path / "mine-a")
    loaded.save_pretrained(tmp_path / "mine-b")
    again = estimator.from_pretrained(tmp_path / "mine-b")
    for each in (loaded, again):
        np.testing.assert_array_equal(each.predict(TEXTS), first.predict(TEXTS))
        assert each.score(TEXTS, labels) == first.score(TEXTS, labels)
        assert each.cross_validated_ == first.cross_validated_ and each.problem_.threshold == first.problem_.threshold
        if estimator is VocablessClassifier:
            np.testing.assert_array_equal(each.predict_proba(TEXTS), first.predict_proba(TEXTS))
            assert each.classes_.tolist() == first.classes_.tolist()
    cards = [(tmp_path / name / "README.md").read_text().replace(name, "mine") for name in ("mine-a", "mine-b")]
    assert sorted(cards[0].splitlines()) == sorted(cards[1].splitlines())  # a record orders its scores by name
    other = {VocablessClassifier: VocablessRegressor, VocablessRegressor: VocablessClassifier}[estimator]
    with pytest.raises(ValueError, match=rf"is a model for \w+; load it with {estimator.__name__}\.from_pretrained"):
        other.from_pretrained(tmp_path / "mine-a")
    with pytest.raises(ValueError, match="has the head VocablessModel; give a classifier of single texts"):
        estimator.from_pretrained(encoder)


def test_a_classifier_of_several_labels_without_a_limit_has_that_of_its_record(encoder, tmp_path):
    labels = pd.DataFrame({"warm": [1] * 8 + [0] * 8, "any": [1, 0] * 8})
    VocablessClassifier(encoder).fit(TEXTS, labels).save_pretrained(tmp_path)
    config, results = (json.loads((tmp_path / name).read_text()) for name in ("config.json", "results.json"))
    config.pop("classifier_threshold")
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "results.json").write_text(json.dumps(results | {"threshold": 0.3}))
    assert VocablessClassifier.from_pretrained(tmp_path).problem_.threshold == 0.3
    (tmp_path / "results.json").unlink()
    assert VocablessClassifier.from_pretrained(tmp_path).problem_.threshold == 0.5


def test_long_texts_are_read_to_the_end_after_short_rows_and_the_first_cut_is_told(encoder, fitted):
    classifier = copy.copy(fitted)
    tail = "the house " * 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = classifier.predict_proba([tail + "red red red", tail + "blue blue blue"])
    assert (first != second).any()
    with pytest.warns(UserWarning, match="a text has more than 512 tokens; only so many are read"):
        first, second = (classifier.predict_proba([tail * 3 + end, "red"])[0] for end in ("red", "blue"))
    assert (first == second).all()
    classifier = VocablessClassifier(encoder, max_seq_length=16).fit(TEXTS, LABELS)
    with pytest.warns(UserWarning, match="more than 16 tokens"):
        classifier.predict([tail])


def test_training_says_what_it_does_and_the_head_alone_is_silent(encoder, capsys, tmp_path):
    transformers_logging.enable_progress_bar()  # as where nobody has changed it
    try:
        VocablessClassifier(encoder).fit(TEXTS, LABELS)
        assert capsys.readouterr() == ("", "") and transformers_logging.is_progress_bar_enabled()
    finally:
        transformers_logging.disable_progress_bar()
    transformers_logging.enable_progress_bar()
    try:
        silent = VocablessClassifier(encoder, epochs=1, verbose=False).fit(TEXTS, LABELS)
        silent.save_pretrained(tmp_path)
        assert capsys.readouterr() == ("", "") and transformers_logging.is_progress_bar_enabled()
    finally:
        transformers_logging.disable_progress_bar()
    chance = random.Random(0)
    texts = [f"{chance.choice(THINGS)} {chance.choice(THINGS)} {row}" for row in range(60)]
    VocablessClassifier(encoder, epochs=None).fit(texts, [chance.choice("ab") for _ in texts])
    printed = capsys.readouterr()
    assert re.search(r"Training 5 without its fold, .* about \d+ min\.", printed.out)
    assert "Training gains nothing on the first of five folds, so the others are not trained." in printed.out
    assert "the head alone is kept" in printed.out and "Cross-validation" in printed.out + printed.err


def test_the_card_has_labels_scores_licence_and_language_and_no_text_but_the_given_one(tmp_path):
    classifier = VocablessClassifier(default_encoder()).fit(TEXTS * 2, LABELS * 2)
    classifier.save_pretrained(tmp_path / "my-tickets")
    card, results = (
        ModelCard.load(tmp_path / "my-tickets" / "README.md"),
        json.loads((tmp_path / "my-tickets" / "results.json").read_text()),
    )
    assert "\n# hashgram-tiny-sentence on my-tickets\n" in card.content and "Its labels: `cold`, `warm`." in card.text
    assert (card.data.license, card.data.language, card.data.base_model) == (
        "apache-2.0",
        "en",
        "hashgram-tiny-sentence",
    )
    accuracy = 100 * classifier.cross_validated_["accuracy"]
    assert re.search(rf"\| accuracy \| {accuracy:.1f} \| [\d.]+–[\d.]+ \| 32 \| 50.0 \|", card.text)
    assert card.data.get("widget") is None and not any(text in card.content for text in TEXTS)
    assert str(tmp_path) not in json.dumps(results) and "/" not in results["arguments"]["model_name_or_path"]
    classifier.save_pretrained(tmp_path / "other", example="red hill")
    card = ModelCard.load(tmp_path / "other" / "README.md")
    assert card.data.widget == [{"text": "red hill"}] and 'tokenizer("red hill"' in card.text


def test_a_classifier_is_pushed(fitted, hub, capsys):
    address = fitted.push_to_hub("mine")
    assert re.search(r"/you/mine at the revision [0-9a-f]{40}$", address)
    files = hub.repositories["you/mine"].files
    assert {"README.md", "results.json", "model.safetensors", "modeling_vocabless.py"} <= set(files)
