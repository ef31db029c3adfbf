"""Front ends that hash a unit, against slow plain Python on thousands of blocks, and their golden values."""

import functools
import math

import pytest
import torch
from front_end_blocks import Block, assert_equals_oracle, build, is_special, specials_and, tensor, units

from vocabless.modeling.blocks import NUM_SPECIAL, SPECIAL_NAMES
from vocabless.modeling.ngram_front_ends import HASH_BASE
from vocabless.modeling.ngram_hashes import MODULUS, hash_seeds

GOLDEN_SEEDS = {
    0: [893357628, 432636857, 545843584, 322874831, 655593608],
    1: [493524570, 522957752, 811855499, 639896012, 955545640],
}
GOLDEN_NGRAM = [-0.15992187, 0.17077238, -0.44305808, 0.18885684, -0.4525958, 0.28218854]
GOLDEN_ROWS = [
    *(689, 61, 3992, 5906, 3631, 1994, 5666, 3602, 4966, 850, 5928),
    *(7038, 4974, 559, 7920, 384, 5882, 3889, 1104, 7173, 1837),
]
GOLDEN_CHARACTER_ROWS = [
    *(3644, 3886, 4723, 1676, 4851, 7770, 4014, 4721, 242, 1068, 6792, 655),
    *(2771, 540, 3353, 4175, 5727, 1518, 1295, 6990, 2837, 1920, 4696, 4641),
]
GOLDEN_RANDOM_NORMAL = [0.00069459, -0.05591833, 0.00967199, 0.0361159, -0.00787374, -0.0158521]


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


def character_ngrams(marked: Block, n: int) -> list[Block]:
    """The n-grams of characters: a byte and up to three continuation bytes behind it are a code point, plus 5."""
    is_behind, grams = [0x80 <= element - NUM_SPECIAL < 0xC0 for element in marked] + [False], []
    for start in [place for place, behind in enumerate(is_behind[:-1]) if not behind]:
        gram, place = [], start
        while len(gram) < n and place < len(marked):
            size = next((size for size in (1, 2, 3) if not is_behind[place + size]), 4)
            gram.append(code_of(marked[place : place + size]))
            place += size
        grams += [gram] * (len(gram) == n)
    return grams


def code_of(elements: Block) -> int:
    """Code point + 5, decoded as RFC 3629 says, from the bytes that are there; if no UTF-8, at most 0x10FFFF + 5."""
    if len(elements) == 1:
        return elements[0]
    first, *behind = [element - NUM_SPECIAL for element in elements]
    code = first - {2: 0xC0, 3: 0xE0, 4: 0xF0}[len(elements)]
    for byte in behind:
        code = code * 64 + byte - 0x80
    return min(max(code + NUM_SPECIAL, 1), 0x10FFFF + NUM_SPECIAL)


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
def test_random_normal_transforms_two_hashes_of_the_whole_unit(block_size: int, width: int, seed: int) -> None:
    front_end, count = build("random_normal", block_size, width, seed=seed), (width + 1) // 2 * 2
    stream = [value % (MODULUS - 1) + 1 for value in splitmix(seed, 3 * count)]
    factors = list(zip(stream[:count], stream[count : 2 * count], stream[2 * count :], strict=True))

    def oracle(block: Block) -> list[float]:
        first, second = (
            functools.reduce(lambda s, element, base=base: (s * base + element) % MODULUS, elements_of(block), 0)
            for base in (263, 269)
        )
        uniform = [(pow(first * a + second * b + c, 3, MODULUS) + 1) / MODULUS for a, b, c in factors]
        half = count // 2
        pairs = [
            (0.02 * math.sqrt(-2 * math.log(u)), 2 * math.pi * v)
            for u, v in zip(uniform[:half], uniform[half:], strict=True)
        ]
        return [*(r * math.cos(angle) for r, angle in pairs), *(r * math.sin(angle) for r, angle in pairs)][:width]

    assert_equals_oracle(front_end, specials_and(units(block_size, 1500)), oracle, tolerance=1e-6)


@pytest.mark.parametrize(("block_size", "options"), [
    (32, {}), (32, {"characters": True}), (16, {"num_rows": 1000}),
    (12, {"num_rows": 7, "min_ngram": 1, "max_ngram": 1, "seed": 5}),
    (8, {"num_rows": 1, "min_ngram": 3, "max_ngram": 8, "num_word_hashes": 2}),
    (9, {"num_rows": 300, "min_ngram": 1, "max_ngram": 8, "characters": True, "seed": 5}),
])  # fmt: skip
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

    def ngrams(marked: Block) -> list[Block]:
        if options.get("characters"):
            return [gram for n in range(n_min, n_max + 1) for gram in character_ngrams(marked, n)]
        return [marked[i : i + n] for n in range(n_min, n_max + 1) for i in range(len(marked) - n + 1)]

    def oracle(block: Block) -> list[float]:
        if is_special(block):
            return layer_norm(specials[block[0]])
        marked = [1, *(element for element in block if element), 2]
        rows = [row(gram, ngram_factors) for gram in ngrams(marked)]
        rows += [row(marked, factors) for factors in word_factors]
        total = [sum(table[index][column] for index in rows) for column in range(width)]
        return layer_norm([value / math.sqrt(len(rows)) for value in total])

    assert_equals_oracle(front_end, specials_and(units(block_size, 300)), oracle, tolerance=1e-4)


def test_the_hashes_of_two_words_never_change() -> None:
    assert splitmix(0, 1) == [0xE220A8397B1DCDAF]  # the stream's published first value
    assert [hash_seeds(seed, 5).tolist() for seed in (0, 1)] == [GOLDEN_SEEDS[0], GOLDEN_SEEDS[1]]
    hello, hindi = blocks_of(b"hello"), blocks_of("नमस्ते".encode())
    assert build("ngram", 32, 6)(hello).flatten().tolist() == pytest.approx(GOLDEN_NGRAM, abs=1e-7)
    assert build("random_normal", 32, 6)(hello).flatten().tolist() == pytest.approx(GOLDEN_RANDOM_NORMAL, abs=1e-7)
    for blocks, options, golden in (
        (hello, {}, GOLDEN_ROWS), (hindi, {"min_ngram": 1, "max_ngram": 3, "characters": True}, GOLDEN_CHARACTER_ROWS),
    ):  # fmt: skip
        rows, is_row = build("hash_embedding", 32, 6, **options).rows_of(blocks)
        assert rows[is_row].tolist() == golden


def blocks_of(*words: bytes, block_size: int = 32) -> torch.Tensor:
    return tensor([[byte + NUM_SPECIAL for byte in word] + [0] * (block_size - len(word)) for word in words])
