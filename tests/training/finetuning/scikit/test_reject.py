"""Texts that get no label: the estimator that turns them away, and its saved folder."""

import numpy as np
import pytest
from transformers import pipeline

from vocabless import VocablessClassifier
from vocabless.training.finetuning.candidates import TRAINED
from vocabless.training.trainer import ResumableTrainer

THINGS = "house river stone cat dog tree hill road lake moon".split()
TEXTS = [f"the {colour} {thing}" for colour in ("red", "blue") for thing in THINGS]
LABELS = ["warm"] * 10 + ["cold"] * 10
OTHERS = ["👍", "Der Zug fährt heute nicht.", "1234567", "qwertz asdf", "the red house", "It is a blue lake. 👍 👍"]


@pytest.fixture(scope="module")
def rejecting(encoder):
    return VocablessClassifier(encoder, reject=0.2).fit(TEXTS, LABELS)


def test_only_texts_below_the_limit_get_none_and_nothing_else_changes(encoder, rejecting):
    plain = VocablessClassifier(encoder).fit(TEXTS, LABELS)
    scores, found = rejecting.score_samples(OTHERS), rejecting.predict(OTHERS)
    assert scores.shape == (6,) and found.dtype == object and {None, *found} - {"warm", "cold"} == {None}
    is_rejected = scores < rejecting.offset_
    assert 0 < is_rejected.sum() < 6
    np.testing.assert_array_equal(found == np.array(None), is_rejected)
    np.testing.assert_array_equal(found[~is_rejected], plain.predict(OTHERS)[~is_rejected])
    np.testing.assert_array_equal(rejecting.predict_proba(OTHERS), plain.predict_proba(OTHERS))
    assert rejecting.cross_validated_ == plain.cross_validated_
    answers = ["warm"] * 6
    weights = np.arange(1.0, 7.0)
    assert rejecting.score(OTHERS, answers, weights) == np.average(found == "warm", weights=weights)
    assert rejecting.score(OTHERS, np.array(answers)[:, None]) == np.mean(found == "warm")
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[6, 1\]"):
        rejecting.score(OTHERS, ["warm"])
    assert plain.score(OTHERS, answers) == np.mean(plain.predict(OTHERS) == "warm")
    assert plain.offset_ is None and plain.model_.config.num_labels == 2
    with pytest.raises(ValueError, match=r"gives each text a label; fit it with reject=0\.05"):
        plain.score_samples(OTHERS)


def test_a_saved_folder_gives_the_same_and_a_label_of_its_own_to_the_pipeline(rejecting, tmp_path):
    rejecting.save_pretrained(tmp_path / "saved")
    again = VocablessClassifier.from_pretrained(tmp_path / "saved")
    assert again.classes_.tolist() == ["cold", "warm"] and again.problem_.labels == ["cold", "warm"]
    np.testing.assert_array_equal(again.predict(OTHERS), rejecting.predict(OTHERS))
    np.testing.assert_allclose(again.score_samples(OTHERS), rejecting.score_samples(OTHERS))
    assert again.get_params()["reject"] == 0.2
    by_name = pipeline("text-classification", str(tmp_path / "saved"))
    by_object = pipeline("text-classification", rejecting.model_, tokenizer=rejecting.tokenizer_)
    for classify in (by_name, by_object):
        labels = [found["label"] for found in classify(OTHERS)]
        assert labels == [label or "none of these" for label in rejecting.predict(OTHERS)]
    assert "none of these" in (tmp_path / "saved" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("classes", "reject_label", "kind"), [
    (["warm", "cold"], "something else", "U"), ([1, 0], -1, "i"), ([1, 0], "neither", "O")
])  # fmt: skip
def test_the_answer_is_the_users_and_labels_keep_their_type_if_it_has_it(encoder, classes, reject_label, kind):
    labels = [classes[label == "cold"] for label in LABELS]
    classifier = VocablessClassifier(encoder, reject=0.2, reject_label=reject_label).fit(TEXTS, labels)
    found = classifier.predict(OTHERS)
    assert found.dtype.kind == kind and {*found.tolist()} - {*classes} == {reject_label}
    assert classifier.model_.config.id2label[2] == str(reject_label)
    with pytest.raises(ValueError, match=r"reject_label is .*, which is a label of the training rows"):
        VocablessClassifier(encoder, reject=0.2, reject_label=classes[0]).fit(TEXTS, labels)


def test_a_text_that_is_turned_away_gets_none_of_several_labels(encoder):
    columns = [[label == "warm", "o" in text] for text, label in zip(TEXTS, LABELS, strict=True)]
    classifier = VocablessClassifier(encoder, reject=0.2).fit(TEXTS, np.array(columns, int))
    is_rejected = classifier.score_samples(OTHERS) < classifier.offset_
    assert is_rejected.any() and classifier.predict(OTHERS).shape == (6, 2)
    assert not classifier.predict(OTHERS)[is_rejected].any()
    plain = VocablessClassifier(encoder).fit(TEXTS, np.array(columns, int))
    np.testing.assert_array_equal(classifier.predict(OTHERS)[~is_rejected], plain.predict(OTHERS)[~is_rejected])


def test_a_classifier_that_reads_sentences_turns_texts_away(encoder):
    texts = [f"{text}. It is near." for text in TEXTS]
    classifier = VocablessClassifier(encoder, reject=0.2).fit(texts, LABELS)
    assert classifier.model_.config.classifier_reads_sentences == "odds"
    assert 0 < (classifier.score_samples([*texts, *OTHERS]) < classifier.offset_).sum() < 26


def test_fine_tuned_weights_are_judged_on_folds_that_they_have_not_learned(encoder, keep):
    keep(TRAINED)
    classifier = VocablessClassifier(encoder, reject=0.2, epochs=1, learning_rate=1e-3).fit(TEXTS, LABELS)
    assert classifier.results_["epochs"] == 1 and classifier.model_.classifier.rejection.typical.any()
    scores = classifier.score_samples(TEXTS)
    assert 0 <= (scores < classifier.offset_).mean() <= 0.3


def test_weights_that_are_divided_among_processes_are_refused_before_they_are_trained(encoder, monkeypatch):
    monkeypatch.setattr(ResumableTrainer, "is_sharded", True)
    with pytest.raises(
        ValueError, match="reject reads the whole model, which FSDP and DeepSpeed split across processes"
    ):
        VocablessClassifier(encoder, reject=0.2, epochs=1).fit(TEXTS, LABELS)


@pytest.mark.parametrize("reject", [0, -0.1, 0.6, True, "0.1", float("nan")])
def test_a_share_out_of_range_is_named(encoder, reject):
    sentence = f"reject {reject!r} is out of range; give a number of at least 1e-12 and at most 0.5, or None"
    with pytest.raises(ValueError, match=sentence):
        VocablessClassifier(encoder, reject=reject).fit(TEXTS, LABELS)


def test_too_few_texts_for_the_share_are_named(encoder):
    with pytest.raises(ValueError, match=r"reject is 0\.01, which 20 training rows cannot hold; give at least 99 rows"):
        VocablessClassifier(encoder, reject=0.01).fit(TEXTS, LABELS)
