"""Configurations and blocks of small models, and a fixed seed for each test."""

from collections.abc import Callable

import pytest
import torch
from front_end_blocks import EXAMPLES

from vocabless.modeling.configuration_vocabless import VocablessConfig

SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # outputs are the same in training mode
MAX_TOKENS = 24
BERT_LIKE = {**SHAPE, **NO_DROPOUT, "max_position_embeddings": MAX_TOKENS}
ENCODERS = {
    "roberta": {**SHAPE, **NO_DROPOUT, "max_position_embeddings": 26, "pad_token_id": 1, "type_vocab_size": 1},
    "bert": BERT_LIKE,
    "albert": {**BERT_LIKE, "embedding_size": 24},
    "canine": {**BERT_LIKE, "num_hash_buckets": 24},
    "modernbert": {
        **SHAPE, "max_position_embeddings": MAX_TOKENS, "local_attention": 8, "global_attn_every_n_layers": 2,
    },
    "electra": {**BERT_LIKE, "embedding_size": 24},
    "distilbert": {
        "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": MAX_TOKENS,
        "dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0,
    },
    "mpnet": {**SHAPE, **NO_DROPOUT, "max_position_embeddings": 26},
    "deberta-v2": {**BERT_LIKE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
}  # fmt: skip


def make_config(encoder: str = "bert", front_end: str = "ngram", **kwargs: object) -> VocablessConfig:
    """The first example of the front end with a small encoder; an unknown front end gets blocks of 12 elements."""
    block_size, options = EXAMPLES.get(front_end, [(12, {})])[0]
    settings = {
        "front_end": front_end,
        "front_end_options": options,
        "block_size": block_size,
        "encoder_config": {"model_type": encoder, **ENCODERS[encoder]},
        "target_vocab_size": 19,
    }
    return VocablessConfig(**{**settings, **kwargs})


def make_blocks(config: VocablessConfig, *shape: int, seed: int = 0) -> torch.Tensor:
    """(*shape, K): [CLS], ordinary tokens, [SEP]. Every third token is shorter than K bytes."""
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.randint(5, 261, (*shape, config.block_size), generator=generator)
    blocks[..., ::3, config.block_size // 2 :] = 0
    for position, special in ((0, 2), (-1, 3)):
        blocks[..., position, :] = 0
        blocks[..., position, 0] = special
    return blocks


@pytest.fixture
def config_of() -> Callable[..., VocablessConfig]:
    return make_config


@pytest.fixture
def blocks_of() -> Callable[..., torch.Tensor]:
    return make_blocks


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
