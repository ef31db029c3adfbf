"""The last label, "none of these", against slow plain Python."""

import math

import numpy as np
import pytest
import torch

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.modeling.rejection import SHARPNESS, Rejection
from vocabless.modeling.sentences import ODDS, join_sentences, read_with_sentences, strangeness_of

TOKENIZER = load_tokenizer("ewe-bert-word-tiny")
LABELS = {"id2label": {0: "a", 1: "b", 2: "none of these"}}
SEVERAL = {"problem_type": "multi_label_classification", "classifier_threshold": 0.3}
TYPICAL, MEANS, DEVIATIONS = [1.0, -0.5, 0.2], [2.0, 0.3], [0.6, 1.1]


def model_of(**settings: object) -> VocablessForSequenceClassification:
    torch.manual_seed(0)
    model = VocablessForSequenceClassification(load_config("ewe-bert-word-tiny", **LABELS, **settings)).eval()
    if model.classifier.rejection is not None:
        torch.nn.init.normal_(model.classifier.rejection.typical)
        torch.nn.init.ones_(model.classifier.rejection.scales)
    return model


def slow_familiarity(logits: list[float], directions: list[float], several: bool) -> float:
    mean = sum(logits) / len(logits)
    one = math.log(sum(math.exp(number - mean) for number in logits))
    energy = sum(math.log(1 + math.exp(number)) for number in logits) if several else one
    typicality = sum(a * b for a, b in zip(directions, TYPICAL, strict=True))
    parts = (energy - MEANS[0]) / DEVIATIONS[0], (typicality - MEANS[1]) / DEVIATIONS[1]
    return -math.log(sum(math.exp(-SHARPNESS * part) for part in parts)) / SHARPNESS


@pytest.mark.parametrize("several", [False, True])
def test_the_last_logit_wins_exactly_where_a_text_is_not_familiar_enough(several):
    random = torch.Generator().manual_seed(0)
    logits, directions = torch.randn(50, 4, generator=random), torch.randn(50, 3, generator=random)
    config = load_config("ewe-bert-word-tiny", classifier_reject_score=-0.5, **(SEVERAL if several else {}))
    rejection = Rejection(config, 3)
    rejection.typical.data = torch.tensor(TYPICAL)
    rejection.scales.data = torch.tensor([MEANS, [1 / deviation for deviation in DEVIATIONS]])
    found = rejection(logits, directions).detach()
    rows = zip(logits.tolist(), directions.tolist(), strict=True)
    familiar = np.array([slow_familiarity(*row, several) for row in rows])
    is_rejected = familiar < -0.5
    assert 5 < is_rejected.sum() < 45
    if several:
        given = found.sigmoid() >= 0.3
        assert (given[:, -1].numpy() == is_rejected).all() and not given[is_rejected, :-1].any()
        assert (found[~is_rejected, :-1] == logits[~is_rejected]).all()
    else:
        assert ((found.argmax(-1) == 4).numpy() == is_rejected).all() and (found[:, :-1] == logits).all()
        np.testing.assert_allclose(strangeness_of(found.numpy()), -0.5 - familiar, atol=1e-5)


@pytest.mark.parametrize("activation", ["tanh", "rms_norm"])
def test_other_logits_and_other_models_stay_as_they_are_to_the_bit(activation):
    settings = {"classifier_pooling": "mean", "classifier_activation": activation}
    model, plain = model_of(classifier_reject_score=1.0, **settings), model_of(**settings)
    assert plain.classifier.rejection is None and len(plain.classifier.out_proj.weight) == 3
    assert len(model.classifier.out_proj.weight) == 2
    plain.classifier.out_proj = model.classifier.out_proj
    plain.load_state_dict(model.state_dict(), strict=False)
    inputs = TOKENIZER(["One text.", "Another, longer text"], padding=True, return_tensors="pt")
    with torch.no_grad():
        found, expected = model(**inputs).logits, plain(**inputs).logits
    assert found.shape == (2, 3) and (found[:, :2] == expected).all()
    size = model.config.hidden_size * (2 if activation == "rms_norm" else 1)
    assert model.classifier.rejection.typical.shape == (size,)


def test_a_text_is_as_familiar_as_its_most_familiar_part():
    random = np.random.default_rng(0)
    whole, parts = random.normal(size=(2, 4)), random.normal(size=(2, 4))
    texts = TOKENIZER(["One short text.", "It has one part. It has two parts."], padding=True, return_tensors="np")
    found = read_with_sentences(texts["input_ids"], whole, lambda _: parts, ODDS, rejects=True)
    known = join_sentences(whole[:, :3], parts[:, :3], np.array([1, 1]), ODDS)
    np.testing.assert_allclose(found[:, :3], known)
    least = min(row[3] - max(row[:3]) for row in (whole[1], *parts))
    np.testing.assert_allclose(strangeness_of(found), [whole[0, 3] - max(whole[0, :3]), least])


def test_the_model_reads_sentences_with_its_last_label():
    model = model_of(classifier_reject_score=1.0, classifier_reads_sentences=ODDS)
    inputs = TOKENIZER(["It has one part. It has two parts."], return_tensors="pt")
    parts = [
        model(**TOKENIZER([text], return_tensors="pt")).logits for text in ("It has one part.", "It has two parts.")
    ]
    model.config.classifier_reads_sentences = False
    strangeness = [strangeness_of(each.detach().numpy()) for each in (model(**inputs).logits, *parts)]
    model.config.classifier_reads_sentences = ODDS
    assert strangeness_of(model(**inputs).logits.numpy()) == pytest.approx(min(strangeness), abs=1e-5)


@pytest.mark.parametrize("score", ["high", float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_named(score):
    with pytest.raises(ValueError, match=f"classifier_reject_score is {score!r}; give a number from -1000000 to"):
        load_config("ewe-bert-word-tiny", classifier_reject_score=score)
