"""Distillation of word states: the passages and the figures; `tests/conversion/test_encoder.py` trains."""

import numpy as np
import pytest
import torch
from transformers import EvalPrediction

from vocabless import load_tokenizer
from vocabless.training.pretraining.word_states import measure, passages
from vocabless.training.texts.sentences import sentences

LINES = ["the quick brown fox. jumps over the lazy dog", "a dog, a fox", "over the fox. the dog.", "fox! the lazy dog."]


def test_the_figures_are_mean_cosines_over_the_aligned_words() -> None:
    generator = torch.Generator().manual_seed(0)
    states, targets = torch.randn(2, 2, 3, 4, generator=generator)  # (texts, words, D) each
    labels = np.array([[1, 1, 1], [1, 1, -100]])  # the last word is padding
    measures = measure(EvalPrediction((states.numpy(), targets.numpy()), labels))
    pairs = [(states[i, j], targets[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1))]

    def cos(one: torch.Tensor, other: torch.Tensor) -> float:
        return float(one @ other / (one.norm() * other.norm()))

    mean = sum(target / target.norm() for _, target in pairs) / 5
    assert measures["words"] == 5
    assert measures["cosine"] == pytest.approx(sum(cos(state, target) for state, target in pairs) / 5, abs=1e-6)
    baseline = sum(cos(mean, target) for _, target in pairs) / 5
    assert measures["mean_state_baseline"] == pytest.approx(baseline, abs=1e-6)


def test_passages_are_whole_sentences_within_the_limit() -> None:
    tokenizer = load_tokenizer("hashformer-md5-emb1k-base")
    found = list(passages([{"text": line} for line in [*LINES, None]], tokenizer, 6))
    assert {sentence for passage in found for sentence in sentences(passage)} == {
        sentence for line in LINES for sentence in sentences(line)
    }
    lengths = {len(tokenizer.unit_splitter.units(passage)) for passage in found}
    assert max(lengths) == 6  # "fox! the lazy dog."; "over the fox. the dog." has one more
    assert sum(map(len, found)) == sum(map(len, LINES))  # nothing is lost or read twice
