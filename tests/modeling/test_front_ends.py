"""Every front end: against slow plain Python on thousands of blocks, and properties that all rows must have."""

import hashlib
import math
import random

import pytest
import torch
from torch import nn

from vocabless.modeling.blocks import NUM_ELEMENTS, NUM_SPECIAL, SPECIAL_NAMES, to_bytes
from vocabless.modeling.digest_front_ends import codewords
from vocabless.modeling.front_ends import FRONT_ENDS, FrontEnd, build_front_end
from vocabless.modeling.ngram_front_ends import HASH_BASE, MODULUS, hash_seeds, hash_vectors, scale_to_unit

SPECIALS = range(NUM_SPECIAL)
Block = list[int]
GOLDEN_SEEDS = {
    0: [893357628, 432636857, 545843584, 322874831, 655593608],
    1: [493524570, 522957752, 811855499, 639896012, 955545640],
}
GOLDEN_NGRAM = [-0.15992187, 0.17077238, -0.44305808, 0.18885684, -0.4525958, 0.28218854]
GOLDEN_ROWS = [
    *(689, 61, 3992, 5906, 3631, 1994, 5666, 3602, 4966, 850, 5928),
    *(7038, 4974, 559, 7920, 384, 5882, 3889, 1104, 7173, 1837),
]
GOLDEN_RANDOM = [-0.87813903, -0.93201178, 0.24460819, -0.01099318, -0.72097332, -0.32543566]


def build(name: str, block_size: int, width: int, **options: object) -> FrontEnd:
    """A front end with random weights everywhere, also where weights are usually zero at first."""
    front_end = build_front_end(name, block_size, width, options)
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


# ---- bits and codewords --------------------------------------------------------------------------------------------


def test_the_papers_codewords_come_out() -> None:
    bits = build("add", 2, 4, num_bits=12).unpack_bits(torch.tensor([0b10100100, 0b00010000]))
    assert bits.tolist() == [1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    assert codewords(bits, 4).tolist() == [10, 4, 1]


def test_the_last_codeword_of_128_bits_has_eight() -> None:
    ones = codewords(torch.ones(128, dtype=torch.int64), 10)
    assert ones.tolist() == [1023] * 12 + [255]


@pytest.mark.parametrize(("block_size", "num_bits"), [(1, 1), (1, 8), (2, 9), (16, 128), (16, 121), (53, 420)])
def test_bits_are_the_big_endian_bits_of_the_block(block_size: int, num_bits: int) -> None:
    blocks = specials_and(digests(block_size, 300))
    got = build("add", block_size, 4, num_bits=num_bits).unpack_bits(to_bytes(tensor(blocks)))[0].tolist()
    assert got == [bits_of(block, num_bits) for block in blocks]


# ---- bucket --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block_size", "num_buckets"), [(16, 50_260), (16, 1_033), (16, 1), (2, 50_260), (3, 256), (53, 999_983)]
)
def test_bucket_is_the_block_modulo_the_number_of_buckets(block_size: int, num_buckets: int) -> None:
    front_end = build_front_end("bucket", block_size, 1, {"num_buckets": num_buckets})
    with torch.no_grad():  # row i holds i, so the output is the row number
        front_end.embeddings.weight.copy_(torch.arange(num_buckets + NUM_SPECIAL).unsqueeze(1))
    blocks = specials_and(digests(block_size, 2000))

    def oracle(block: Block) -> int:
        value = int.from_bytes(bytes(max(element - NUM_SPECIAL, 0) for element in block), "big")
        return block[0] if is_special(block) else value % num_buckets + NUM_SPECIAL

    assert front_end(tensor(blocks)).flatten().long().tolist() == [oracle(block) for block in blocks]


def test_a_block_that_holds_a_bucket_index_selects_that_bucket() -> None:
    front_end = build_front_end("bucket", 2, 1, {"num_buckets": 50_260})
    with torch.no_grad():
        front_end.embeddings.weight.copy_(torch.arange(50_265).unsqueeze(1))
    indices = [0, 1, 255, 256, 50_259]
    blocks = [[index // 256 + NUM_SPECIAL, index % 256 + NUM_SPECIAL] for index in indices]
    assert front_end(tensor(blocks)).flatten().tolist() == [index + NUM_SPECIAL for index in indices]


# ---- pool, add, projection, linear ---------------------------------------------------------------------------------

SHAPES = [(16, 128), (53, 420), (5, 37), (1, 3)]


@pytest.mark.parametrize("codeword_bits", [10, 7, 1])
@pytest.mark.parametrize(("block_size", "num_bits"), SHAPES)
def test_pool_weights_the_codewords_by_position(block_size: int, num_bits: int, codeword_bits: int) -> None:
    front_end = build("pool", block_size, 3, num_bits=num_bits, codeword_bits=codeword_bits)
    book, scores, kinds = (
        w.tolist() for w in (front_end.codebook.weight, front_end.weights, front_end.token_kinds.weight)
    )
    totals = [sum(math.exp(row[d]) for row in scores) for d in range(3)]

    def oracle(block: Block) -> list[float]:
        if is_special(block):
            return kinds[block[0]]
        bits = "".join(map(str, bits_of(block, num_bits)))
        words = [int(bits[start : start + codeword_bits], 2) for start in range(0, num_bits, codeword_bits)]
        weighted = [
            sum(book[word][d] * math.exp(row[d]) / totals[d] for word, row in zip(words, scores, strict=True))
            for d in range(3)
        ]
        return [kinds[NUM_SPECIAL][d] + weighted[d] for d in range(3)]

    assert_equals_oracle(front_end, specials_and(digests(block_size, 400)), oracle)


@pytest.mark.parametrize(("block_size", "num_bits"), SHAPES)
def test_add_sums_one_of_two_vectors_for_each_bit(block_size: int, num_bits: int) -> None:
    front_end = build("add", block_size, 5, num_bits=num_bits)
    vectors, kinds = front_end.bit_vectors.tolist(), front_end.token_kinds.weight.tolist()

    def oracle(block: Block) -> list[float]:
        if is_special(block):
            return kinds[block[0]]
        chosen = [vectors[position][bit] for position, bit in enumerate(bits_of(block, num_bits))]
        return [kinds[NUM_SPECIAL][d] + sum(vector[d] for vector in chosen) / math.sqrt(num_bits) for d in range(5)]

    assert_equals_oracle(front_end, specials_and(digests(block_size, 400)), oracle)


def pearson(x: list[float], y: list[float]) -> float:
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    variances = sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y)
    return covariance / math.sqrt(variances) if variances else 0.0


@pytest.mark.parametrize(("block_size", "num_bits"), SHAPES)
def test_projection_is_the_pearson_correlation(block_size: int, num_bits: int) -> None:
    front_end = build("projection", block_size, 4, num_bits=num_bits).double()
    weights, kinds = front_end.weight.tolist(), front_end.token_kinds.weight.tolist()

    def oracle(block: Block) -> list[float]:
        if is_special(block):
            return kinds[block[0]]
        bits = bits_of(block, num_bits)
        return [kinds[NUM_SPECIAL][d] + pearson(bits, weights[d]) for d in range(4)]

    assert_equals_oracle(front_end, specials_and(digests(block_size, 300)), oracle)


def test_projection_of_a_block_worked_by_hand() -> None:
    front_end = build("projection", 1, 2, num_bits=4)
    with torch.no_grad():
        front_end.token_kinds.weight.zero_()
        front_end.weight.copy_(torch.tensor([[1.0, 1, 0, 0], [3.0, 1, 1, 1]]))
    block = [0b1100_0000 + NUM_SPECIAL]
    # τ = 1 1 0 0 equals w_1. Centred, τ and w_2 have the norms 1 and √3 and the product 1.
    assert front_end(tensor([block])).flatten().tolist() == pytest.approx([1.0, 1 / math.sqrt(3)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("byte", [0, 255])
def test_projection_of_constant_bits_is_exactly_zero_and_has_a_finite_gradient(byte: int, dtype: torch.dtype) -> None:
    front_end = build("projection", 16, 8).to(dtype)
    nn.init.zeros_(front_end.token_kinds.weight)
    varied = digests(16, 20)[5:]
    output = front_end(tensor([[byte + NUM_SPECIAL] * 16, *varied]))
    assert output[0, 0].tolist() == [0.0] * 8
    output.sum().backward()
    assert front_end.weight.grad.isfinite().all()
    assert front_end.weight.grad.abs().sum() > 0


def test_projection_on_constant_weights_is_zero_and_has_a_finite_gradient() -> None:
    front_end = build("projection", 16, 2)
    nn.init.zeros_(front_end.token_kinds.weight)
    nn.init.ones_(front_end.weight)
    output = front_end(tensor(digests(16, 20)))
    assert output.abs().max() < 1e-5
    output.sum().backward()
    assert front_end.weight.grad.isfinite().all()


@pytest.mark.parametrize("num_bits", [128, 420])
def test_projection_keeps_its_scale_in_bfloat16(num_bits: int) -> None:
    front_end = build("projection", -(-num_bits // 8), 16, num_bits=num_bits)
    nn.init.zeros_(front_end.token_kinds.weight)
    blocks = tensor(digests(-(-num_bits // 8), 200)[8:])
    exact = front_end(blocks)
    assert (front_end.bfloat16()(blocks).float() - exact).abs().max() < 0.02 * exact.abs().max()


@pytest.mark.parametrize(("block_size", "num_bits"), SHAPES)
def test_linear_multiplies_the_bits_and_reads_special_tokens_as_hashes_of_their_names(
    block_size: int, num_bits: int
) -> None:
    front_end = build("linear", block_size, 4, num_bits=num_bits)
    weights = front_end.weight.tolist()

    def oracle(block: Block) -> list[float]:
        if is_special(block):
            digest = hashlib.shake_128(SPECIAL_NAMES[block[0]].encode()).digest(block_size)
            block = [byte + NUM_SPECIAL for byte in digest]
        bits = bits_of(block, num_bits)
        return [sum(bit * weight for bit, weight in zip(bits, row, strict=True)) for row in weights]

    assert_equals_oracle(front_end, specials_and(digests(block_size, 300)), oracle, tolerance=1e-4)


# ---- ngram and random ----------------------------------------------------------------------------------------------


def splitmix(seed: int, count: int) -> list[int]:
    """The SplitMix64 stream as its authors write it: a growing state and three mixing steps."""
    state, values = seed % 2**64, []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        values.append(z ^ z >> 31)
    return values


def hashed(elements: list[int], seeds: list[int]) -> list[float]:
    """EELBERT 3.2: polynomial hash s, P = s ⊗ h, P %= B, P −= (P > B/2)·B, P /= B/2."""
    s = 0
    for element in elements:
        s = (s * HASH_BASE + element) % MODULUS
    products = [s * seed % MODULUS for seed in seeds]
    return [(p - MODULUS if p > MODULUS / 2 else p) / (MODULUS / 2) for p in products]


def elements_of(block: Block) -> list[int]:
    """The elements of a unit without padding; for a special token, those of its name."""
    if is_special(block):
        return [byte + NUM_SPECIAL for byte in SPECIAL_NAMES[block[0]].encode()]
    return [element for element in block if element]


@pytest.mark.parametrize(
    ("block_size", "width", "ngram_sizes", "seed"),
    [(32, 128, 3, 0), (32, 13, 3, 7), (16, 11, 4, 2**64 - 1), (6, 5, 1, 3), (6, 7, 2, 0), (7, 300, 10, 1)],
)
def test_ngram_is_the_papers_algorithm(block_size: int, width: int, ngram_sizes: int, seed: int) -> None:
    front_end = build("ngram", block_size, width, ngram_sizes=ngram_sizes, seed=seed)
    seeds = [value % (MODULUS - 1) + 1 for value in splitmix(seed, width)]
    unit_width = width / (ngram_sizes * (ngram_sizes + 1) / 2)
    widths = [math.floor(unit_width * n) for n in range(1, ngram_sizes)]
    widths.append(width - sum(widths))

    def oracle(block: Block) -> list[float]:
        letters, vector, start = elements_of(block), [], 0
        for n, part in enumerate(widths, start=1):
            grams = [letters[i : i + n] for i in range(len(letters) - n + 1)]
            vectors = [hashed(gram, seeds[start : start + part]) for gram in grams] or [[0.0] * part]
            vector += [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]
            start += part
        return vector

    count = 1000 if width < 100 else 200
    assert_equals_oracle(front_end, specials_and(units(block_size, count)), oracle, tolerance=1e-6)


@pytest.mark.parametrize(("block_size", "width", "seed"), [(32, 9, 0), (6, 4, 5)])
def test_random_is_the_hash_of_the_whole_unit(block_size: int, width: int, seed: int) -> None:
    front_end = build("random", block_size, width, seed=seed)
    seeds = [value % (MODULUS - 1) + 1 for value in splitmix(seed, width)]
    blocks = specials_and(units(block_size, 1500))
    assert_equals_oracle(front_end, blocks, lambda block: hashed(elements_of(block), seeds), tolerance=1e-6)


@pytest.mark.parametrize(
    ("block_size", "options"),
    [
        (32, {}),
        (12, {"num_rows": 7, "min_ngram": 1, "max_ngram": 1, "seed": 5}),
        (8, {"num_rows": 1, "min_ngram": 3, "max_ngram": 8, "num_word_hashes": 2}),
        (16, {"num_rows": 1000, "mlp_size": 9}),
    ],
)
def test_hash_embedding_adds_and_normalises_the_rows_of_ngrams_and_words(block_size: int, options: dict) -> None:
    front_end, width = build("hash_embedding", block_size, 6, **options), 6
    n_min, n_max, num_rows = front_end.min_ngram, front_end.max_ngram, front_end.num_rows
    stream = iter(value % (MODULUS - 1) + 1 for value in splitmix(options.get("seed", 0), 1000))
    ngram_factors = [next(stream) for _ in range(n_max)]
    word_factors = [[next(stream) for _ in range(block_size + 2)] for _ in range(front_end.num_word_hashes)]
    table, specials = front_end.table.weight.tolist(), front_end.special.weight.tolist()

    def row(elements: Block, factors: list[int]) -> int:
        return sum(c * e for c, e in zip(factors, elements, strict=False)) % MODULUS % num_rows

    def layer_norm(vector: list[float]) -> list[float]:
        mean = sum(vector) / width
        deviation = math.sqrt(sum((value - mean) ** 2 for value in vector) / width + front_end.norm.eps)
        weights, biases = front_end.norm.weight.tolist(), front_end.norm.bias.tolist()
        return [(value - mean) / deviation * w + b for value, w, b in zip(vector, weights, biases, strict=True)]

    def gelu(value: float) -> float:
        return value * (1 + math.erf(value / math.sqrt(2))) / 2

    def affine(layer: nn.Linear, vector: list[float]) -> list[float]:
        rows = zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
        return [sum(w * value for w, value in zip(weights, vector, strict=True)) + bias for weights, bias in rows]

    def oracle(block: Block) -> list[float]:
        if is_special(block):
            vector = layer_norm(specials[block[0]])
        else:
            marked = [1, *(element for element in block if element), 2]
            grams = [marked[i : i + n] for n in range(n_min, n_max + 1) for i in range(len(marked) - n + 1)]
            rows = [row(gram, ngram_factors) for gram in grams] + [row(marked, factors) for factors in word_factors]
            total = [sum(table[index][column] for index in rows) for column in range(width)]
            vector = layer_norm([value / math.sqrt(len(rows)) for value in total])
        if front_end.mlp is None:
            return vector
        hidden = [gelu(value) for value in affine(front_end.mlp[0], vector)]
        return [value + more for value, more in zip(vector, affine(front_end.mlp[2], hidden), strict=True)]

    assert_equals_oracle(front_end, specials_and(units(block_size, 300)), oracle, tolerance=1e-4)


def test_the_seeds_of_the_hashes_never_change() -> None:
    assert splitmix(0, 1) == [0xE220A8397B1DCDAF]  # the stream's published first value
    assert hash_seeds(0, 5).tolist() == GOLDEN_SEEDS[0]
    assert hash_seeds(1, 5).tolist() == GOLDEN_SEEDS[1]


def test_the_hashes_of_the_word_hello_never_change() -> None:
    blocks = tensor([[byte + NUM_SPECIAL for byte in b"hello"] + [0] * 27])
    assert build("ngram", 32, 6)(blocks).flatten().tolist() == pytest.approx(GOLDEN_NGRAM, abs=1e-7)
    assert build("random", 32, 6)(blocks).flatten().tolist() == pytest.approx(GOLDEN_RANDOM, abs=1e-7)
    rows, is_row = build("hash_embedding", 32, 6).rows_of(blocks)
    assert rows[is_row].tolist() == GOLDEN_ROWS


def test_hash_vectors_are_within_one_and_wrap_at_half_the_modulus() -> None:
    half = MODULUS // 2
    values = scale_to_unit(hash_vectors(torch.tensor([0, 1, half, half + 1, MODULUS - 1]), torch.tensor([1])), 1)
    assert values.flatten().tolist() == pytest.approx([0, 2 / MODULUS, 1, -1, -2 / MODULUS], abs=1e-7)


@pytest.mark.parametrize("name", ["ngram", "random"])
def test_hashing_each_distinct_unit_once_gives_the_same_bits(name: str) -> None:
    front_end = build(name, 32, 96)
    blocks = tensor(
        [[byte + NUM_SPECIAL for byte in word] + [0] * (32 - len(word)) for word in (b"a", b"bcd", b"a" * 9)]
    )
    blocks = torch.cat([blocks, blocks, torch.zeros(1, 1, 32, dtype=torch.int64).expand(len(blocks), -1, -1)], dim=1)
    assert torch.equal(front_end(blocks), front_end.embed_units(front_end.spell_special_tokens(blocks)))


def test_a_typo_changes_ngram_less_than_random() -> None:
    def similarity(name: str) -> float:
        words = [
            [byte + NUM_SPECIAL for byte in word] + [0] * (32 - len(word)) for word in (b"vocabulary", b"vocabulery")
        ]
        one, other = build(name, 32, 768)(tensor(words))[0]
        return torch.cosine_similarity(one, other, dim=0).item()

    assert similarity("ngram") > 0.5
    assert abs(similarity("random")) < 0.2


# ---- elementwise ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("focus", [True, False])
@pytest.mark.parametrize(("block_size", "width"), [(16, 48), (8, 8), (1, 5)])
def test_elementwise_concatenates_byte_embeddings(block_size: int, width: int, focus: bool) -> None:
    front_end = build("elementwise", block_size, width, focus=focus, max_tokens=700)
    part = width // block_size
    table = front_end.elements.weight.tolist()
    focus_table = front_end.focus.weight.tolist() if focus else None
    blocks = specials_and(units(block_size, 600))
    got = front_end(tensor(blocks))[0].tolist()
    for position, (block, vector) in enumerate(zip(blocks, got, strict=True)):
        expected = []
        for n, element in enumerate(block):
            focus_row = focus_table[position * block_size + n] if focus_table else [0.0] * part
            expected += [a + b for a, b in zip(table[element], focus_row, strict=True)]
        assert vector == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("ngram_sizes", [1, 4, 20])
def test_gradient_mixes_each_byte_with_the_ngrams_that_start_at_it(ngram_sizes: int) -> None:
    block_size, part = 8, 3
    front_end = build("elementwise", block_size, 24, focus=False, gradient=True, ngram_sizes=ngram_sizes)
    table, weight = front_end.elements.weight.tolist(), front_end.score.weight[0].tolist()
    bias = front_end.score.bias.item()

    def oracle(block: Block) -> list[float]:
        letters = [table[element] for element in block] + [[0.0] * part] * block_size
        vector = []
        for i in range(block_size):
            means = [
                [sum(letter[c] for letter in letters[i : i + n]) / n for c in range(part)]
                for n in range(1, min(ngram_sizes, block_size) + 1)
            ]
            scores = [math.exp(sum(w * x for w, x in zip(weight, mean, strict=True)) + bias) for mean in means]
            vector += [
                sum(s * mean[c] for s, mean in zip(scores, means, strict=True)) / sum(scores) for c in range(part)
            ]
        return vector

    assert_equals_oracle(front_end, specials_and(units(block_size, 400)), oracle)


def test_padding_inside_a_block_has_no_embedding_and_no_gradient() -> None:
    front_end = build_front_end("elementwise", 4, 8, {"focus": False})
    output = front_end(tensor([[100, 0, 0, 0]]))
    assert output[0, 0, 2:].abs().sum() == 0
    output.sum().backward()
    assert front_end.elements.weight.grad[0].abs().sum() == 0
    assert front_end.elements.weight.grad[100].abs().sum() > 0


# ---- all rows of the table ------------------------------------------------------------------------------------------

WIDTH = 64
EXAMPLES = [
    pytest.param(name, block_size, options, id="-".join([name, *(f"{key}={options[key]}" for key in options)]))
    for name, row in FRONT_ENDS.items()
    for block_size, options in row.examples
]
TRAINABLE = [example for example in EXAMPLES if FRONT_ENDS[example.values[0]].num_parameters != "0"]

all_examples = pytest.mark.parametrize(("name", "block_size", "options"), EXAMPLES)


def example_blocks(block_size: int) -> torch.Tensor:
    """(400, 1, K): one ordinary token in each sequence, with and without padding in its block."""
    return torch.tensor(digests(block_size, 200) + units(block_size, 200)).unsqueeze(1)


@all_examples
def test_the_number_of_parameters_is_the_formula_of_the_row(name: str, block_size: int, options: dict) -> None:
    row = FRONT_ENDS[name]
    for width in (WIDTH, 3 * WIDTH):
        values = {"K": block_size, "D": width, "ceil": math.ceil, **row.default_options, **options}
        front_end = build_front_end(name, block_size, width, options)
        got = sum(parameter.numel() for parameter in front_end.parameters())
        assert got == eval(row.num_parameters, values)


@all_examples
def test_special_tokens_differ_from_each_other_and_from_every_ordinary_token(
    name: str, block_size: int, options: dict
) -> None:
    front_end = build_front_end(name, block_size, WIDTH, options)
    front_end.init_weights(0.02)
    own = front_end(torch.tensor([special(index, block_size) for index in SPECIALS]).unsqueeze(1))[:, 0]
    distances = torch.cdist(own, torch.cat([own, front_end(example_blocks(block_size))[:, 0]]))
    distances[range(NUM_SPECIAL), range(NUM_SPECIAL)] = 1
    assert distances.min() > 1e-3


@all_examples
def test_equal_tokens_have_equal_embeddings_and_others_differ(name: str, block_size: int, options: dict) -> None:
    """Position matters only to a front end with `max_tokens`."""
    front_end, blocks = build(name, block_size, WIDTH, **options), example_blocks(block_size)
    alone = front_end(blocks)[:, 0]
    assert torch.allclose(front_end(blocks.flip(0)).flip(0)[:, 0], alone, atol=1e-6)
    length = front_end.max_tokens or len(blocks)
    sequence = blocks[:length].flatten(0, 1).unsqueeze(0)
    together = front_end(sequence)[0]
    reversed_order = front_end(sequence.flip(1)).flip(1)[0]
    assert torch.allclose(together, alone[:length], atol=1e-6) == (front_end.max_tokens is None)
    assert torch.allclose(reversed_order, together, atol=1e-6) == (front_end.max_tokens is None)
    assert (alone[20:30] - alone[30:40]).abs().sum(dim=-1).min() > 1e-3


@all_examples
def test_bfloat16_and_autocast_stay_near_float32(name: str, block_size: int, options: dict) -> None:
    front_end, blocks = build(name, block_size, WIDTH, **options), example_blocks(block_size)
    exact = front_end(blocks)
    assert exact.dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        under_autocast = front_end(blocks)
    limit = 0.02 * exact.abs().max()
    assert (under_autocast.float() - exact).abs().max() < limit
    assert (front_end.bfloat16()(blocks).float() - exact).abs().max() < limit


@all_examples
def test_an_empty_batch_and_an_empty_sequence_keep_their_shape(name: str, block_size: int, options: dict) -> None:
    front_end = build(name, block_size, WIDTH, **options)
    for shape in ((0, 3), (2, 0), (2, 3)):
        assert front_end(torch.zeros(*shape, block_size, dtype=torch.int64)).shape == (*shape, WIDTH)


@pytest.mark.parametrize(("name", "block_size", "options"), TRAINABLE)
def test_every_parameter_gets_a_gradient(name: str, block_size: int, options: dict) -> None:
    front_end = build(name, block_size, WIDTH, **options)
    specials = torch.tensor([special(index, block_size) for index in SPECIALS]).unsqueeze(1)
    embeddings = front_end(torch.cat([specials, example_blocks(block_size)]))
    (embeddings * torch.randn(embeddings.shape)).sum().backward()  # a sum of squares is constant behind a layer norm
    for parameter_name, parameter in front_end.named_parameters():
        if parameter_name != "score.bias":  # the softmax over scores does not depend on it
            assert parameter.grad.isfinite().all() and parameter.grad.abs().sum() > 0, parameter_name


@all_examples
def test_initialising_fills_what_a_checkpoint_does_not_hold(name: str, block_size: int, options: dict) -> None:
    """A loaded model is built without values: buffers that are not saved come from `init_weights` alone."""
    front_end, blocks = build_front_end(name, block_size, WIDTH, options), example_blocks(block_size)
    expected = build_front_end(name, block_size, WIDTH, options)
    with torch.no_grad():
        for parameter in front_end.parameters(recurse=False):
            parameter.fill_(torch.nan)
        for buffer in front_end.buffers():
            buffer.zero_()
    front_end.init_weights(0.02)
    assert front_end(blocks).isfinite().all()
    for buffer_name, buffer in front_end.named_buffers():
        assert torch.equal(buffer, expected.get_buffer(buffer_name)), buffer_name
    expected.load_state_dict(front_end.state_dict())
    assert torch.equal(expected(blocks), front_end(blocks))


@all_examples
def test_the_compiled_front_end_agrees(name: str, block_size: int, options: dict) -> None:
    front_end = build(name, block_size, WIDTH, **options)
    torch._dynamo.reset()
    compiled = torch.compile(front_end, fullgraph=True, dynamic=True, backend="aot_eager")
    blocks = example_blocks(block_size)
    with torch.no_grad():
        for sequences in (blocks[:40].view(10, 4, -1), blocks[-54:].view(9, 6, -1)):
            assert torch.allclose(compiled(sequences), front_end(sequences), atol=1e-5)


def test_the_largest_byte_is_the_last_element() -> None:
    assert NUM_ELEMENTS == 261
    assert to_bytes(torch.tensor([0, 4, 5, 260])).tolist() == [0, 0, 0, 255]


# ---- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "block_size", "options", "message"),
    [
        ("bucket", 16, {"num_buckets": 0}, r"num_buckets=0; give an integer of at least 1"),
        ("bucket", 16, {"num_buckets": 2.5}, r"num_buckets=2\.5; give an integer of at least 1"),
        ("bucket", 16, {"buckets": 3}, r"'bucket' has no option 'buckets'; its options are num_buckets\."),
        ("pool", 16, {"num_bits": 0}, r"num_bits=0; give an integer of at least 1"),
        ("pool", 16, {"codeword_bits": -1}, r"codeword_bits=-1; give an integer"),
        ("add", 16, {"num_bits": -5}, r"num_bits=-5; give an integer"),
        (
            "add",
            16,
            {"num_bits": 129},
            r"num_bits=129 does not fit blocks of 16 bytes; give 121 to 128 bits, or block_size=17",
        ),
        ("projection", 16, {"num_bits": 120}, r"num_bits=120 .*or block_size=15"),
        ("linear", 16, {"num_bits": 420}, r"num_bits=420 .*or block_size=53"),
        ("linear", 16, {"bits": 1, "num_bits": 128}, r"'linear' has no option 'bits'; its options are num_bits\."),
        ("ngram", 5, {}, r"block_size=5 is too small; give at least 6"),
        ("ngram", 32, {"ngram_sizes": 0}, r"ngram_sizes=0; give an integer"),
        ("random", 5, {}, r"block_size=5 is too small; give at least 6"),
        ("random", 32, {"ngram_sizes": 3}, r"'random' has no option 'ngram_sizes'; its options are seed\."),
        ("hash_embedding", 16, {"num_rows": 2**24 + 1}, r"num_rows=16777217; the limit is 16777216"),
        ("hash_embedding", 16, {"min_ngram": 4, "max_ngram": 3}, r"min_ngram=4 and max_ngram=3; give min_ngram ≤"),
        ("hash_embedding", 4, {}, r"min_ngram=2 and max_ngram=5; .* ≤ block_size = 4"),
        ("hash_embedding", 16, {"mlp_size": -1}, r"mlp_size=-1; give an integer of at least 0"),
        ("hash_embedding", 16, {"num_word_hashes": 0}, r"num_word_hashes=0; give an integer"),
        ("elementwise", 5, {}, r"block_size=5 does not divide the embedding width 64; give for instance 4"),
        ("elementwise", 16, {"max_tokens": 0}, r"max_tokens=0; give an integer"),
        ("elementwise", 16, {"focal": 1}, r"its options are focus, gradient, max_tokens, ngram_sizes\."),
        ("hash", 16, {}, r"unknown front_end 'hash'; choose one of bucket, pool, add, projection, linear, ngram"),
    ],
)
def test_a_wrong_option_is_refused_in_one_sentence(name: str, block_size: int, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        build_front_end(name, block_size, 64, options)
    assert "\n" not in str(error.value)
