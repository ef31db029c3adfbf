"""Logits of texts and of their sentences: joined as the model does, and by parts."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.modeling.sentences import ODDS
from vocabless.training.finetuning.tasks.logits import TextLogits

TEXTS = [
    "Good morning to you. My card is lost! What shall I do?",
    "It is one sentence",
    "No. I do not know. It may be so.",
]
TOKENIZER = load_tokenizer("ewe-bert-word-tiny")
RANDOM = np.random.default_rng(0)
LOGITS = TextLogits(RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(6, 3)), np.array([0, 0, 3, 3, 3, 4]))


def test_joined_logits_are_those_of_a_model_that_reads_sentences_at_any_temperature():
    torch.manual_seed(0)
    model = VocablessForSequenceClassification(load_config("ewe-bert-word-tiny", num_labels=3)).eval()
    torch.nn.init.normal_(model.classifier.out_proj.weight)
    rows = [{"input_ids": TOKENIZER(text)["input_ids"]} for text in TEXTS]

    def collate(batch):
        return TOKENIZER.pad(batch, return_tensors="pt")

    found = TextLogits.of_model(model, rows, collate, reads_sentences=True)
    whole = TextLogits.of_model(model, rows, collate, reads_sentences=False)
    assert (whole.joined() == found.texts).all() and len(found.sentences) == 5
    with torch.no_grad():
        model.config.classifier_reads_sentences = ODDS
        for parameter in (model.classifier.out_proj.weight, model.classifier.out_proj.bias):
            parameter /= 2.5
        expected = model(**collate(rows)).logits
    np.testing.assert_allclose(found.joined(2.5), expected, rtol=1e-4, atol=1e-5)
    assert np.abs(found.joined(2.5) - found.joined() / 2.5)[0].max() > 1e-3  # joining is not linear


def test_parts_in_any_order_make_the_whole_and_a_file_holds_several_models(tmp_path):
    parts = [(rows, LOGITS.select(rows)) for rows in (np.array([1, 3]), np.array([0, 2, 4]))]
    found = TextLogits.of_parts(parts)
    np.testing.assert_array_equal(found.joined(), LOGITS.joined())
    few = TextLogits.of_parts(parts[:1])  # the other rows are not scored
    np.testing.assert_array_equal(few.joined(), LOGITS.joined()[[1, 3]])
    other = replace(LOGITS, texts=LOGITS.texts + 1)
    TextLogits.write(tmp_path / "0.npz", [LOGITS, other])
    for read, written in zip(TextLogits.read(tmp_path / "0.npz"), (LOGITS, other), strict=True):
        np.testing.assert_array_equal(read.joined(), written.joined())


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_text_that_its_sentences_make_wrong_is_an_error(noise):
    """Some texts have sentences, which say the same or noise."""
    random = np.random.default_rng(1)
    classes, places = random.integers(0, 3, 90), np.sort(random.integers(0, 90, 200))
    texts = 2 * np.eye(3)[classes] + random.normal(0, 1, (90, 3))
    logits = TextLogits(texts, texts[places] + random.normal(0, noise, (200, 3)), places)
    expected = [
        int(whole.argmax() == label) - int(joined.argmax() == label)
        for joined, whole, label in zip(logits.joined(), texts, classes, strict=True)
    ]
    assert logits.sentence_errors(classes).tolist() == expected and np.any(expected) == (noise > 0)
