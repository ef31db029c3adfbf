"""Blocks for the tests of front ends, and the comparison of a front end with slow plain Python."""

import random

import pytest
import torch
from torch import nn

from vocabless.modeling.blocks import NUM_SPECIAL
from vocabless.modeling.front_ends import FrontEnd, build_front_end

SPECIALS = range(NUM_SPECIAL)
ENCODERS = ["roberta", "bert", "albert", "canine", "modernbert", "electra", "distilbert", "mpnet", "deberta-v2"]
Block = list[int]


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
        (12, {"num_rows": 97}), (8, {"num_rows": 50, "max_ngram": 3, "num_word_hashes": 1, "mlp_size": 7}),
        (12, {"num_rows": 97, "characters": True}),
    ],
    "elementwise": [(4, {"max_tokens": 24}), (16, {"focus": False}), (8, {"focus": False, "pool_ngrams": True})],
}  # fmt: skip


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
    blocks = []
    for index in range(count):
        length = 1 + index % block_size
        letters = [draw.choice((0, 255, 97, draw.randrange(256))) + NUM_SPECIAL for _ in range(length)]
        blocks.append(letters + [0] * (block_size - length))
    return blocks


def tensor(blocks: list[Block]) -> torch.Tensor:
    """(1, blocks, K)."""
    return torch.tensor([blocks])


def specials_and(blocks: list[Block]) -> list[Block]:
    """The blocks of all special tokens, then `blocks`."""
    return [special(index, len(blocks[0])) for index in SPECIALS] + blocks


def bits_of(block: Block, num_bits: int) -> list[int]:
    value = int.from_bytes(bytes(max(element - NUM_SPECIAL, 0) for element in block), "big")
    return [int(bit) for bit in f"{value:0{8 * len(block)}b}"][:num_bits]


def is_special(block: Block) -> bool:
    return block[0] < NUM_SPECIAL


def assert_equals_oracle(front_end: FrontEnd, blocks: list[Block], oracle, tolerance: float = 1e-5) -> None:
    got = front_end(tensor(blocks))[0].tolist()
    assert len(got) == len(blocks)
    for block, vector in zip(blocks, got, strict=True):
        assert vector == pytest.approx(oracle(block), abs=tolerance, rel=tolerance), block
