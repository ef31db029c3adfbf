"""Small configurations and blocks for the tests of models, and the comparison of a front end with slow plain Python."""

import random

import pytest
import torch
from torch import nn

from vocabless.modeling.blocks import NUM_SPECIAL
from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.modeling.front_ends import FrontEnd, build_front_end

Block = list[int]
SPECIALS = range(NUM_SPECIAL)
# Front end → block sizes and options of small ones. All are tested alone at D = 64 and 192, the first also in whole
# models with D = 32, 4 attention heads and 24 positions.
EXAMPLES: dict[str, list[tuple[int, dict]]] = {
    "bucket": [(16, {"num_buckets": 97})],
    "pool": [(16, {}), (5, {"num_bits": 37, "codeword_bits": 7})],
    "add": [(16, {})],
    "projection": [(16, {})],
    "linear": [(53, {})],
    "ngram": [(12, {}), (32, {"ngram_sizes": 4, "seed": 1})],
    "random_normal": [(12, {}), (32, {"seed": 1, "std": 0.5})],
    "hash_embedding": [
        (12, {"num_rows": 97}), (8, {"num_rows": 50, "max_ngram": 3, "num_word_hashes": 1}),
        (12, {"num_rows": 97, "characters": True}),
    ],
    "elementwise": [(4, {"max_tokens": 24}), (16, {"focus": False}), (8, {"focus": False, "pool_ngrams": True})],
}  # fmt: skip
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # outputs are the same in training mode
BERT_LIKE = {**SHAPE, **NO_DROPOUT, "max_position_embeddings": 24}
ENCODERS = {
    "roberta": {**BERT_LIKE, "max_position_embeddings": 26, "pad_token_id": 1, "type_vocab_size": 1},
    "bert": BERT_LIKE,
    "albert": {**BERT_LIKE, "embedding_size": 24},
    "canine": {**BERT_LIKE, "num_hash_buckets": 24},
    "modernbert": {**SHAPE, "max_position_embeddings": 24, "local_attention": 8, "global_attn_every_n_layers": 2},
    "electra": {**BERT_LIKE, "embedding_size": 24},
    "distilbert": {
        "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 24,
        "dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0,
    },
    "mpnet": {**BERT_LIKE, "max_position_embeddings": 26},
    "deberta-v2": {**BERT_LIKE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
}  # fmt: skip


def make_config(encoder: str = "bert", front_end: str = "ngram", **kwargs: object) -> VocablessConfig:
    """The first example of the front end with a small encoder."""
    block_size, options = EXAMPLES[front_end][0]
    settings = {
        "front_end": front_end, "front_end_options": options, "block_size": block_size, "target_vocab_size": 19,
        "encoder_config": {"model_type": encoder, **ENCODERS[encoder]},
    }  # fmt: skip
    return VocablessConfig(**{**settings, **kwargs})


def make_blocks(config: VocablessConfig, *shape: int, seed: int = 0) -> torch.Tensor:
    """(*shape, K): [CLS], ordinary tokens, [SEP]. Every third token is shorter than K bytes."""
    blocks = torch.randint(5, 261, (*shape, config.block_size), generator=torch.Generator().manual_seed(seed))
    blocks[..., ::3, config.block_size // 2 :] = 0
    for position, index in ((0, 2), (-1, 3)):
        blocks[..., position, :] = torch.tensor(special(index, config.block_size))
    return blocks


def build(name: str, block_size: int, width: int, **options: object) -> FrontEnd:
    """A front end without dropout, with random weights everywhere, also where weights are usually zero at first."""
    front_end = build_front_end(name, block_size, width, options).eval()
    front_end.init_weights(0.02)
    for parameter in front_end.parameters():
        nn.init.normal_(parameter)
    return front_end


def special(index: int, block_size: int) -> Block:
    return [index] + [0] * (block_size - 1)


def digests(block_size: int, count: int) -> list[Block]:
    """Blocks without padding: random, constant and nearly constant bytes."""
    draw = random.Random(block_size)
    edges = [[byte] * block_size for byte in (0, 255, 1, 128, 127)]
    edges += [[0] * (block_size - 1) + [1], [128] + [0] * (block_size - 1), [255] * (block_size - 1) + [254]]
    rows = edges + [[draw.randrange(256) for _ in range(block_size)] for _ in range(count - len(edges))]
    return [[byte + NUM_SPECIAL for byte in row] for row in rows]


def units(block_size: int, count: int) -> list[Block]:
    """Blocks of units of 1 to K bytes, some of them NUL, padded with zeros."""
    draw = random.Random(block_size)
    lengths = [1 + index % block_size for index in range(count)]
    letters = [[draw.choice((0, 255, 97, draw.randrange(256))) + NUM_SPECIAL for _ in range(n)] for n in lengths]
    return [unit + [0] * (block_size - len(unit)) for unit in letters]


def tensor(blocks: list[Block]) -> torch.Tensor:
    """(1, blocks, K)."""
    return torch.tensor([blocks])


def specials_and(blocks: list[Block]) -> list[Block]:
    """The blocks of all special tokens, then `blocks`."""
    return [special(index, len(blocks[0])) for index in SPECIALS] + blocks


def is_special(block: Block) -> bool:
    return block[0] < NUM_SPECIAL


def assert_equals_oracle(front_end: FrontEnd, blocks: list[Block], oracle, tolerance: float = 1e-5) -> None:
    for block, vector in zip(blocks, front_end(tensor(blocks))[0].tolist(), strict=True):
        assert vector == pytest.approx(oracle(block), abs=tolerance, rel=tolerance), block
