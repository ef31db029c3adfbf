"""Configurations and blocks of small models, and a fixed seed for each test."""

import pytest
import torch
from front_end_blocks import make_blocks, make_config

from vocabless.modeling.configuration_vocabless import VocablessConfig


@pytest.fixture
def config() -> VocablessConfig:
    return make_config("bert", "ngram", num_labels=3)


@pytest.fixture
def blocks(config: VocablessConfig) -> torch.Tensor:
    """(4, 9, K): blocks of the configuration."""
    return make_blocks(config, 4, 9)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)
