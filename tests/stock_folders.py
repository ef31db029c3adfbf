"""Tiny stock models with tokenizers, saved as folders."""

from pathlib import Path

import torch
from transformers import AutoConfig

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


def save_stock(folder: Path, subword: str, kind: str, auto_class: type, **options: object) -> str:
    """Saves a tiny model of a type, under an Auto class; returns its folder."""
    tokenizer = load_shape_tokenizer("bert-tiny", subword, 78)
    settings = {**NO_SPECIAL_IDS, "pad_token_id": 0, **STOCK[kind], **options}
    torch.manual_seed(3)
    model = auto_class.from_config(AutoConfig.for_model(kind, vocab_size=len(tokenizer), **settings))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
