"""Scores of n-grams beside the first head: their features, their model, and the model that gets them."""

from functools import partial

import numpy as np
import pytest
import torch

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.training.finetuning.first_head import held_out_logits
from vocabless.training.finetuning.ngram_scores import NgramScores, can_score, ngram_features
from vocabless.training.finetuning.problems import MultiLabel, Regression, SingleLabel
from vocabless.training.finetuning.task_files import EncodedExamples, Examples
from vocabless.training.finetuning.tasks import folds_of

TEXTS = ["one red fox", "a blue bird, a blue sky", "", "red red red"]
TARGETS = [0, 1, 1, 0]


@pytest.fixture
def loaded():
    torch.manual_seed(0)
    config = load_config("hashgram-nano", num_labels=2, front_end_options={"num_rows": 40})
    return VocablessForSequenceClassification(config).eval(), load_tokenizer("hashgram-nano")


def features_of(model, tokenizer, texts=TEXTS):
    encoded = EncodedExamples(Examples(texts), SingleLabel(["a", "b"]), tokenizer, 32)
    return ngram_features(model.base_model.front_end, encoded)


def test_features_are_those_of_a_slow_loop(loaded):
    model, tokenizer = loaded
    expected = np.zeros((len(TEXTS), 40))
    for row, text in enumerate(TEXTS):
        blocks = tokenizer(text, return_tensors="pt")["input_ids"][0]
        for block in blocks[1:-1]:
            rows, is_row = model.base_model.front_end.rows_of(block[None])
            for place in rows[is_row].tolist():
                expected[row, place] += 1 / is_row.sum().item() ** 0.5 / len(blocks) ** 0.5
    assert np.allclose(features_of(model, tokenizer).toarray(), expected)


@torch.no_grad()
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_model_adds_the_scores_that_were_fitted(share, loaded):
    model, tokenizer = loaded
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt")
    before, features = model(**inputs).logits, features_of(model, tokenizer)
    scores = NgramScores.fit(SingleLabel(["a", "b"]), features, TARGETS, share)
    scores.write_into(model)
    assert np.allclose(model(**inputs).logits - before, scores.logits(features), atol=1e-5)
    assert model.config.front_end_options["num_scores"] == 2
    assert (scores.logits(features).argmax(1) == TARGETS).all()


def test_each_row_is_scored_without_itself(loaded):
    model, tokenizer = loaded
    problem, features = SingleLabel(["a", "b"]), features_of(model, tokenizer, TEXTS * 3)
    folds = folds_of(TARGETS * 3)
    found = held_out_logits(partial(NgramScores.fit, problem), features, TARGETS * 3, folds)
    rest = np.setdiff1d(np.arange(12), folds[1])
    fitted = NgramScores.fit(problem, features[rest], [(TARGETS * 3)[row] for row in rest])
    assert np.allclose(found[folds[1]], fitted.logits(features[folds[1]]))


@pytest.mark.parametrize(
    ("problem", "is_pair", "fits"),
    [
        (SingleLabel(["a", "b"]), False, True),
        (MultiLabel(["a", "b"]), False, True),
        (SingleLabel(["a", "b"]), True, False),
        (SingleLabel([str(label) for label in range(33)]), False, False),
        (Regression(), False, False),
    ],
)
def test_scores_are_for_few_labels_of_single_texts(problem, is_pair, fits, loaded):
    model, tokenizer = loaded
    assert can_score(model, problem, is_pair) == fits
    NgramScores.fit(SingleLabel(["a", "b"]), features_of(model, tokenizer), TARGETS).write_into(model)
    assert not can_score(model, problem, is_pair)  # it has some
