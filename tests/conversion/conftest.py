"""Tiny stock models with tokenizers, saved as folders, and a stand-in for the Hub."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hub_stand_in import HubStandIn
from huggingface_hub import constants
from transformers import AutoConfig, AutoModel

from vocabless.stock_shapes import load_shape_tokenizer

SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
BERT_LIKE = {**SHAPE, "max_position_embeddings": 80}
STOCK = {
    "bert": BERT_LIKE,
    "roberta": {**BERT_LIKE, "type_vocab_size": 1, "pad_token_id": 1},
    "albert": {**BERT_LIKE, "embedding_size": 24},
    "electra": {**BERT_LIKE, "embedding_size": 24},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 80},
    "modernbert": {**BERT_LIKE, "local_attention": 8, "global_attn_every_n_layers": 2},
    "mpnet": {**BERT_LIKE, "pad_token_id": 1},
    "deberta-v2": {**BERT_LIKE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 80},
    "t5": {"d_model": 32, "d_ff": 48, "num_layers": 1, "num_heads": 2, "d_kv": 16},
}
NO_SPECIAL_IDS = {f"{name}_token_id": None for name in ("bos", "eos", "cls", "sep", "decoder_start")}


@pytest.fixture
def stock_folder(subwords: dict[str, str], tmp_path: Path) -> Callable[..., str]:
    """Saves a tiny model of a type, under an Auto class; returns its folder."""

    def save(kind: str, auto_class: type = AutoModel, **options: object) -> str:
        tokenizer = load_shape_tokenizer("bert-tiny", subwords["wordpiece"], 78)
        settings = {**NO_SPECIAL_IDS, "pad_token_id": 0, **STOCK[kind], **options}
        torch.manual_seed(3)
        model = auto_class.from_config(AutoConfig.for_model(kind, vocab_size=len(tokenizer), **settings))
        folder = tmp_path / f"stock-{kind}"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return str(folder)

    return save


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The stand-in for the Hub, used by this process."""
    with HubStandIn() as stand_in:
        for name, value in stand_in.environment(tmp_path / "home").items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(constants, "ENDPOINT", stand_in.url)
        template = stand_in.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
        # transformers keeps one client, which remembers the address. Version 5.0 has none.
        monkeypatch.setattr("transformers.utils.hub._hf_api", None, raising=False)
        yield stand_in
