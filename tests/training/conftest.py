"""A small teacher: an encoder with random weights and its WordPiece tokenizer."""

from collections.abc import Callable
from pathlib import Path

import datasets
import pytest
import torch
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast


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


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of `datasets`."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"
