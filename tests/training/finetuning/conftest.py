"""A small encoder without a head, and quiet fine-tuning of it on own data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from coloured_texts import fine_tune

from vocabless import VocablessModel, load_config, load_tokenizer

TWO_EPOCHS = ("--num_train_epochs", "2")


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a small encoder without a head, as pre-training leaves it."""
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    VocablessModel(load_config("hashgram-nano")).save_pretrained(folder)
    load_tokenizer("hashgram-nano").save_pretrained(folder)
    return str(folder)


@pytest.fixture
def tune(encoder: str) -> Callable[..., tuple[Path, dict[str, Any]]]:
    """Fine-tunes the encoder, see `fine_tune`."""
    return lambda folder, *flags: fine_tune(folder, "--model_name_or_path", encoder, *TWO_EPOCHS, *flags)
