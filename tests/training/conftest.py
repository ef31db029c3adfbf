"""A small teacher with random weights, a small encoder without a head, and fine-tuning of it on own data."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from script_runs import fine_tune
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.training.finetuning import fit as fitting
from vocabless.training.finetuning.head import head_choice


@pytest.fixture(scope="session")
def make_teacher(subwords: dict[str, str]) -> Callable[..., str]:
    """Saves a teacher whose weights depend on the seed into a folder; returns the folder."""

    def make(folder: Path, seed: int = 0) -> str:
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=subwords["wordpiece"], pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
        )
        torch.manual_seed(seed)
        config = BertConfig(
            vocab_size=len(tokenizer), hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
        )
        BertModel(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return str(folder)

    return make


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a small encoder without a head, as pre-training leaves it."""
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    VocablessModel(load_config("hashgram-nano")).save_pretrained(folder)
    load_tokenizer("hashgram-nano").save_pretrained(folder)
    return str(folder)


@pytest.fixture(autouse=True, scope="module")
def few_settings() -> Iterator[None]:
    """Tries four settings of the first head where there are sixteen: each is fitted without each fold."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(head_choice, "STRENGTHS", (0.03, 0.3))
        patched.setattr(head_choice, "WIDE_WEIGHTS", (2.0,))
        yield


@pytest.fixture
def tune(encoder: str) -> Callable[..., tuple[Path, dict[str, Any]]]:
    """Fine-tunes the encoder in few steps, see `fine_tune`."""
    quick = ["--model_name_or_path", encoder, "--num_train_epochs", "1", "--per_device_train_batch_size", "32"]
    return lambda folder, *flags: fine_tune(folder, *quick, *flags)


@pytest.fixture
def keep(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes `fit` keep the candidate with a name, whatever held-out rows say."""

    def keep(name: str) -> None:
        monkeypatch.setattr(
            fitting, "simplest", lambda found, *_: {each.name: each for each in found}.get(name, found[0])
        )

    return keep
