"""Tiny teachers with random weights, and a cache of their own for each test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, BertForTokenClassification, PreTrainedTokenizerFast


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache" / "vocabless-teachers"


@pytest.fixture
def save_teacher(tmp_path: Path, subwords: dict[str, str]) -> Callable[..., Path]:
    """Saves a BERT with random weights, a head and a WordPiece; returns its folder."""

    def save(labels: list[str], per_word: bool = False, seed: int = 0, **options: Any) -> Path:
        folder = tmp_path / f"teacher-{seed}"
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=subwords["wordpiece"], unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
            sep_token="[SEP]", mask_token="[MASK]", model_max_length=12,
        )  # fmt: skip
        options = {"id2label": dict(enumerate(labels)), "label2id": {n: i for i, n in enumerate(labels)}} | options
        config = BertConfig(
            vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=16, initializer_range=0.5, **options,
        )  # fmt: skip
        torch.manual_seed(seed)
        (BertForTokenClassification if per_word else BertForSequenceClassification)(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return save
