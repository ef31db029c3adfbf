"""Block coders against the same arithmetic in plain Python integers, published vectors, and frozen values."""

import hashlib
import hmac
import random
import tracemalloc

import numpy as np
import pytest
from strings import packed_blocks, random_strings

from vocabless import VocablessTokenizer
from vocabless.tokenization import block_coders
from vocabless.tokenization.block_coders import (
    CODERS,
    LshCoder,
    LshIndexCoder,
    Md5Coder,
    Utf8Coder,
    normal_integers,
    splitmix64,
)
from vocabless.tokenization.splitters import to_bytes

MASK = (1 << 64) - 1
WORDS = ["a", "the", "naïve", "自然言語", "👩🏽‍🔬", "\x00", "\ud800", "x" * 300, "hyperplane"]
UNITS = [*WORDS, "", "a\0", b"\0", b"\xff" * 40, *(text[:12] for text in random_strings(200))]
UNITS += [to_bytes(unit)[1:13] for unit in UNITS[40:]]


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def slow_stream(seed, count):
    return [mix(seed + i * 0x9E3779B97F4A7C15 & MASK) for i in range(1, count + 1)]


def slow_eta(seed, count):
    return [sum(word >> shift & 0xFFFF for shift in (0, 16, 32, 48)) - 2 * 0xFFFF for word in slow_stream(seed, count)]


def slow_features(unit, num_features, ngrams):
    text = unit.decode("latin-1") if isinstance(unit, bytes) else unit
    for n in (1, 2, 3, 4):
        for start in range(len(text) - n + 1):
            ngram = text[start : start + n]
            if ngrams is None:
                state = 0
                for c in ngram:
                    state = mix(state + ord(c) + 1 & MASK)
                yield state % num_features
            elif ngram in ngrams:
                yield ngrams.index(ngram)


def slow_scores(unit, count, num_features, ngrams=None, seed=42):
    eta = slow_eta(seed, num_features)
    features = list(slow_features(unit, num_features, ngrams))
    return [sum(eta[(j + i) % num_features] for j in features) for i in range(count)]


def slow_lsh(unit, num_bits, num_features, ngrams=None):
    bits = "".join(str(int(score >= 0)) for score in slow_scores(unit, num_bits, num_features, ngrams))
    size = -(-num_bits // 8)
    return int(bits.ljust(8 * size, "0"), 2).to_bytes(size, "big")


def blocks(coder, units):
    return [row.tobytes() for row in coder.encode(units)[:, : coder.block_size]]


def test_the_stream_is_splitmix64():
    for seed in (0, 1, 42, 10**15, MASK):
        assert splitmix64(seed, 40).tolist() == slow_stream(seed, 40)
        assert normal_integers(seed, 40).tolist() == slow_eta(seed, 40)
    assert splitmix64(0, 3).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # as published


@pytest.mark.parametrize("key", ["", "en", "k" * 64, "k" * 65, "ключ" * 20])
def test_md5_is_hmac_md5(key):
    expected = [hmac.new(key.encode(), to_bytes(unit), "md5").digest() for unit in UNITS]
    assert blocks(Md5Coder(key=key), UNITS) == expected


@pytest.mark.parametrize(
    ("printed", "beside", "word"),
    [("d077f244def8a70e5ea758bd8352fcd8", b"play", b"cat"), ("4a258d930b7d3409982d727ddbb4ba88", b"plays", b"mat")],
)
def test_the_papers_md5_of_play_is_that_of_cat(printed, beside, word):
    """HashFormers 3.2 prints these values. They have no key; ours have one."""
    assert hashlib.md5(word).hexdigest() == printed != hashlib.md5(beside).hexdigest()
    assert printed not in [block.hex() for block in blocks(Md5Coder(), [beside, word])]


@pytest.mark.parametrize(("num_bits", "num_features"), [(1, 1), (40, 7), (9, 60), (16, 500)])
def test_lsh_is_the_signs_of_the_rolled_hyperplanes(num_bits, num_features):
    expected = [slow_lsh(unit, num_bits, num_features) for unit in UNITS]
    assert blocks(LshCoder(num_bits=num_bits, num_features=num_features), UNITS) == expected


LIMITS = ("_MAX_NUMBERS_AT_ONCE", "_MAX_JOINT_FEATURES", "_MAX_ADDED_NUMBERS")
DEFAULTS = tuple(getattr(block_coders, name) for name in LIMITS)


@pytest.mark.parametrize(("num_features", "count"), [(500, 12), (997, 50), (101, 1009)])
def test_products_of_long_units_and_many_units_are_the_same_in_all_parts(num_features, count, monkeypatch):
    units = ["a", "long " * 40, "", "word", b"bytes" * 30, *(f"unit{i}" for i in range(9)), "ab" * 500]
    expected = [slow_scores(unit, count, num_features) for unit in units]
    coder = LshCoder(num_bits=count, num_features=num_features)
    for limits in (DEFAULTS, (84, 4, 1 << 40), (360, 1, 1 << 40), (1, 150, 1 << 40), (1, 1, 0)):
        for name, limit in zip(LIMITS, limits, strict=True):
            monkeypatch.setattr(block_coders, name, limit)
        assert block_coders._rolled_products(coder._eta, coder._features, units, count).tolist() == expected


def test_lsh_sums_may_exceed_32_bits():
    seed = next(seed for seed in range(10**6) if normal_integers(seed, 1)[0] < -115_000)
    word = "a" * 5000  # with 4 n-grams a character
    assert 4 * len(word) * 115_000 > 2**31
    assert blocks(LshCoder(num_bits=8, num_features=1, seed=seed), ["a", word]) == [b"\x00"] * 2


def test_lsh_uses_the_rank_of_an_ngram_as_its_feature_if_there_is_a_list():
    draw, ngrams = random.Random(0), ["a", "b", "ab", "abc", "dcba", "d"]
    units = ["", *("".join(draw.choices("abcd", k=draw.randint(1, 9))) for _ in range(100))]
    for num_bits in (3, 8, 40):
        expected = [slow_lsh(unit, num_bits, 9, ngrams) for unit in units]
        assert blocks(LshCoder(num_bits=num_bits, num_features=9, ngrams=ngrams), units) == expected


@pytest.mark.parametrize(
    ("count", "num_features", "size"), [(1, 5, 1), (256, 60, 1), (257, 60, 2), (700, 3, 2), (65_537, 9, 3)]
)
def test_lsh_index_is_the_first_hyperplane_with_the_largest_product(count, num_features, size):
    coder = LshIndexCoder(num_hyperplanes=count, num_features=num_features)
    assert coder.block_size == size
    units = UNITS[: 20_000 // count + 3]
    for unit, block in zip(units, blocks(coder, units), strict=True):
        scores = slow_scores(unit, count, num_features)
        assert int.from_bytes(block, "big") == scores.index(max(scores))


@pytest.mark.parametrize("size", [1, 5, 20])
def test_utf8_cuts_and_pads_the_bytes_of_units(size):
    data = [to_bytes(unit)[:size] for unit in UNITS]
    packed = [row.tobytes() for row in Utf8Coder(block_size=size).encode(UNITS)]
    assert packed == [unit.ljust(size, b"\0") + bytes([len(unit)]) for unit in data]


GOLDEN_WORDS = ["the", "naïve", "自然", "👩🏽‍🔬", "\x00", "\ud800"]
GOLDEN = {  # name → (coder, the blocks of these words)
    "md5": (Md5Coder(), """
        b9386d96710ddd52bc49ff0033ead10f 9d95277bb7ca83fae0262eaa0ae1d98b f17733288acce99e9800970fa2f94302
        49da5937c72ac079fa76c33dbb6302f7 0979379ff871f47fb5bf1736031e0154 d95ca32668d3bb9066b1612aa14938ee
    """),
    "lsh 128": (LshCoder(), """
        4ea8aa413c7acb0c50ab6f3df30f28ee 9f6b87093942f581d77bfed9ef10c95c d9d2b89cea795a0119cd222841fe54d3
        84e107958db3ea649f46ffed7e43351b 13a5b7945d10d11d442864a45e452e4c 829b377e2215913a514870f48fda3eb9
    """),
    "lsh-index 50260": (LshIndexCoder(), "7412 10c6 2ee2 0dd8 062a 61b1"),
    "utf8": (Utf8Coder(), """
        74686500000000000000000000000000 6e61c3af766500000000000000000000 e887aae784b600000000000000000000
        f09f91a9f09f8fbde2808df09f94ac00 00000000000000000000000000000000 eda08000000000000000000000000000
    """),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_blocks_never_change_and_depend_on_their_unit_alone(name):
    coder, golden = GOLDEN[name]
    assert [block.hex() for block in blocks(coder, GOLDEN_WORDS)] == golden.split()
    rng = random.Random(0)
    units = WORDS + ["".join(rng.choices("abcdé文", k=rng.randint(1, 30))) for _ in range(60)]
    together = dict(zip(units, blocks(coder, units), strict=True))
    shuffled = rng.sample(units, len(units))
    assert blocks(coder, shuffled) == [together[unit] for unit in shuffled]
    assert [blocks(coder, [unit])[0] for unit in units] == [together[unit] for unit in units]
    assert coder.encode([]).shape == (0, coder.block_size + coder.pads)
    assert coder.elements([]).shape == (0, coder.block_size)


@pytest.mark.parametrize("coder", ["utf8", "md5", "lsh"])
def test_corpora_get_the_blocks_that_calls_get(coder):
    rng = random.Random(1)
    units = ["".join(rng.choices("abcdefé文\0 ", k=rng.randint(0, 25))) for _ in range(3000)]
    units += [*WORDS, "", "\0", "\0" * 16, "\0" * 17, "a\0", "a\0\0", "x" * 15, "x" * 16, "x" * 17, "é" * 8 + "x"]
    tokenizer = VocablessTokenizer("whitespace", coder)
    elements = CODERS[coder]().elements(tokenizer.unit_splitter.normalize_all(units))
    for _ in range(2):  # new units, then cached ones
        packed = tokenizer.packed_units(units)
        assert packed.dtype == np.uint8 and np.array_equal(tokenizer.unpack(packed), elements)
    texts = [" ".join(units[i : i + 50]) for i in range(0, len(units), 50)]
    rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
    packed, lengths = packed_blocks(tokenizer, texts)
    assert lengths == [*map(len, rows)]
    assert tokenizer.unpack(packed).tolist() == [block for row in rows for block in row]


@pytest.mark.parametrize("coder", CODERS)
def test_a_word_of_a_million_characters_takes_little_memory_and_few_additions(coder, monkeypatch):
    """A window of η for each of its four million n-grams would be some hundred gigabytes, or as many additions."""
    added, windows_of = [], block_coders._windows_of

    def counted(features, windows, count):
        added.append(len(features) * count)
        return windows_of(features, windows, count)

    monkeypatch.setattr(block_coders, "_windows_of", counted)
    tracemalloc.start()
    assert len(CODERS[coder]().encode(["ab" * 500_000])) == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300e6 and sum(added) < block_coders._MAX_ADDED_NUMBERS
