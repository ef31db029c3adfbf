"""Front ends that read bits or an integer, against slow plain Python on thousands of blocks."""

import hashlib
import math

import pytest
import torch
from front_end_blocks import Block, assert_equals_oracle, build, digests, is_special, specials_and, tensor
from torch import nn

from vocabless import VocablessModel, load_config
from vocabless.modeling.blocks import NUM_SPECIAL, SPECIAL_NAMES
from vocabless.modeling.digest_front_ends import codewords
from vocabless.modeling.front_ends import FrontEnd, build_front_end


def value_of(block: Block) -> int:
    return int.from_bytes(bytes(max(element - NUM_SPECIAL, 0) for element in block), "big")


def bits_of(block: Block, num_bits: int) -> list[int]:
    """The first big-endian bits of the block."""
    return [int(bit) for bit in f"{value_of(block):0{8 * len(block)}b}"][:num_bits]


def test_the_papers_codewords_come_out_and_the_last_one_of_128_bits_has_eight() -> None:
    bits = build("add", 2, 4, num_bits=12).unpack_bits(torch.tensor([0b10100100, 0b00010000]))
    assert bits.tolist() == [1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert codewords(bits, 4).tolist() == [10, 4, 1]
    assert codewords(torch.ones(128, dtype=torch.int64), 10).tolist() == [1023] * 12 + [255]


@pytest.mark.parametrize(
    ("block_size", "num_buckets"), [(16, 50_260), (16, 1_033), (16, 1), (2, 50_260), (3, 256), (53, 999_983)]
)
def test_bucket_is_the_block_modulo_the_number_of_buckets(block_size: int, num_buckets: int) -> None:
    front_end = build_front_end("bucket", block_size, 1, {"num_buckets": num_buckets})
    with torch.no_grad():  # row i holds i, so the output is the row number
        front_end.embeddings.weight.copy_(torch.arange(num_buckets + NUM_SPECIAL).unsqueeze(1))
    blocks = specials_and(digests(block_size, 2000))
    if block_size == 2:  # bytes that are the index of a bucket: 0, 1, 255, 256 and the last one
        indices = ((0, 0), (0, 1), (0, 255), (1, 0), (196, 83))
        blocks += [[high + NUM_SPECIAL, low + NUM_SPECIAL] for high, low in indices]
    rows = [block[0] if is_special(block) else value_of(block) % num_buckets + NUM_SPECIAL for block in blocks]
    assert front_end(tensor(blocks)).flatten().long().tolist() == rows


def pool(front_end: FrontEnd, bits: list[int]) -> list[float]:
    """The codewords, weighted by the softmax of the scores of their positions."""
    book, scores = front_end.codebook.weight.tolist(), front_end.weights.tolist()
    starts = range(0, len(bits), front_end.codeword_bits)
    words = [int("".join(map(str, bits[start : start + front_end.codeword_bits])), 2) for start in starts]
    totals = [sum(math.exp(row[d]) for row in scores) for d in range(len(scores[0]))]
    return [
        sum(book[word][d] * math.exp(row[d]) / total for word, row in zip(words, scores, strict=True))
        for d, total in enumerate(totals)
    ]


def add(front_end: FrontEnd, bits: list[int]) -> list[float]:
    """The sum of one of two vectors for each bit."""
    chosen = [pair[bit] for pair, bit in zip(front_end.bit_vectors.tolist(), bits, strict=True)]
    return [sum(column) / math.sqrt(len(bits)) for column in zip(*chosen, strict=True)]


def projection(front_end: FrontEnd, bits: list[int]) -> list[float]:
    return [pearson(bits, weights) for weights in front_end.weight.tolist()]


def linear(front_end: FrontEnd, bits: list[int]) -> list[float]:
    return [sum(bit * weight for bit, weight in zip(bits, row, strict=True)) for row in front_end.weight.tolist()]


def pearson(x: list[int], y: list[float]) -> float:
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    variances = sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y)
    return covariance / math.sqrt(variances) if variances else 0.0


SHAPES = [(16, 128), (53, 420), (5, 37), (2, 9), (1, 3), (1, 1)]
ORACLES = [(pool, {"codeword_bits": 10}), (pool, {"codeword_bits": 7}), (pool, {"codeword_bits": 1})]
ORACLES += [(add, {}), (projection, {}), (linear, {})]


@pytest.mark.parametrize(("block_size", "num_bits"), SHAPES)
@pytest.mark.parametrize(("oracle", "options"), ORACLES)
def test_bits_are_embedded_by_the_equation_of_the_paper(oracle, options, block_size: int, num_bits: int) -> None:
    """A special token is a vector of its own, an ordinary one gets a vector added; `linear` reads a hash instead."""
    front_end = build(oracle.__name__, block_size, 3, num_bits=num_bits, **options)
    front_end = front_end.double() if oracle is projection else front_end
    kinds = None if oracle is linear else front_end.token_kinds.weight.tolist()

    def embed(block: Block) -> list[float]:
        if is_special(block) and kinds:
            return kinds[block[0]]
        if is_special(block):
            digest = hashlib.shake_128(SPECIAL_NAMES[block[0]].encode()).digest(block_size)
            block = [byte + NUM_SPECIAL for byte in digest]
        vector = oracle(front_end, bits_of(block, num_bits))
        return [a + b for a, b in zip(vector, kinds[NUM_SPECIAL] if kinds else [0.0] * 3, strict=True)]

    assert_equals_oracle(front_end, specials_and(digests(block_size, 300)), embed, tolerance=1e-5 if kinds else 1e-4)


def test_pool_starts_with_equal_weights_and_embeddings_as_wide_as_those_of_other_front_ends() -> None:
    config = load_config("hashformer-md5-pool-tiny")
    front_end = VocablessModel(config).eval().front_end
    assert not front_end.weights.any()
    ordinary = front_end(tensor(digests(16, 400)[5:])) - front_end.token_kinds.weight[-1]
    assert ordinary.std().item() == pytest.approx(config.initializer_range, rel=0.1)


def test_projection_of_a_block_worked_by_hand() -> None:
    front_end = build("projection", 1, 2, num_bits=4)
    with torch.no_grad():
        front_end.token_kinds.weight.zero_()
        front_end.weight.copy_(torch.tensor([[1.0, 1, 0, 0], [3.0, 1, 1, 1]]))
    block = [0b1100_0000 + NUM_SPECIAL]
    # τ = 1 1 0 0 equals w_1. Centred, τ and w_2 have the norms 1 and √3 and the product 1.
    assert front_end(tensor([block])).flatten().tolist() == pytest.approx([1.0, 1 / math.sqrt(3)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_projection_of_constant_bits_or_weights_is_zero_and_has_a_finite_gradient(dtype: torch.dtype) -> None:
    front_end = build("projection", 16, 8).to(dtype)
    nn.init.zeros_(front_end.token_kinds.weight)
    output = front_end(tensor([[NUM_SPECIAL] * 16, [255 + NUM_SPECIAL] * 16, *digests(16, 20)[5:]]))
    assert output[0, :2].tolist() == [[0.0] * 8] * 2
    output.sum().backward()
    assert front_end.weight.grad.isfinite().all() and front_end.weight.grad.abs().sum() > 0
    nn.init.ones_(front_end.weight)  # the weights of a vector are constant, too
    front_end.zero_grad()
    output = front_end(tensor(digests(16, 20)))
    output.sum().backward()
    assert output.abs().max() < 1e-5 and front_end.weight.grad.isfinite().all()


@pytest.mark.parametrize("num_bits", [128, 420])
def test_projection_keeps_its_scale_in_bfloat16(num_bits: int) -> None:
    front_end = build("projection", -(-num_bits // 8), 16, num_bits=num_bits)
    nn.init.zeros_(front_end.token_kinds.weight)
    blocks = tensor(digests(-(-num_bits // 8), 200)[8:])
    exact = front_end(blocks)
    assert (front_end.bfloat16()(blocks).float() - exact).abs().max() < 0.02 * exact.abs().max()


@pytest.mark.parametrize("name", ["pool", "add"])
def test_pool_and_add_drop_a_tenth_of_their_vectors_in_training_alone(name: str) -> None:
    """HashFormers, Tables 4 and 5: dropout 0.1. Pool drops numbers of the vectors it looked up, Add those of B."""
    front_end = build_front_end(name, 16, 512, {})
    front_end.init_weights(0.02)
    with torch.no_grad():
        for weight in front_end.parameters():
            weight.fill_(1.0)
        front_end.token_kinds.weight.zero_()
    blocks = tensor(digests(16, 20))
    terms, scale = (13, 13) if name == "pool" else (128, 128**0.5)  # equal terms, and what divides their sum
    whole, dropped = front_end.eval()(blocks), front_end.train()(blocks)
    assert torch.allclose(whole, torch.tensor(terms / scale))
    kept = dropped * scale * 0.9  # terms that are left: each is divided by 0.9
    assert torch.allclose(kept, kept.round(), atol=1e-3)
    assert kept.mean().item() == pytest.approx(0.9 * terms, rel=0.01)
    without = build_front_end(name, 16, 512, {"dropout": 0.0})
    without.load_state_dict(front_end.state_dict())
    assert torch.equal(without.train()(blocks), without.eval()(blocks))
