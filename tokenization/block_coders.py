"""Block coders: units → blocks of K bytes. The same unit and options give the same block for ever.

`md5` and `lsh` write a digest of T bits, most significant bit first. `lsh-index` writes an integer, big-endian. `utf8`
writes the unit itself. All arithmetic is on integers, so every platform gives the same bytes.

Sources: HashFormers 3.2 (md5), 3.5 and 3.3 (lsh, lsh-index); Elementwise 3.2 (utf8).
"""
# ruff: noqa: D102 (the base class documents the methods)

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .options import check_integer
from .splitters import Unit, to_bytes

Bytes = NDArray[np.uint8]
Elements = NDArray[np.uint16]
Integers = NDArray[np.int64]
Scores = NDArray[np.signedinteger[Any]]

NUM_SPECIAL = 5  # elements 0–4 are special tokens; byte value b is element b + 5
PAD, UNK, CLS, SEP, MASK = range(NUM_SPECIAL)
MAX_NGRAM = 4
MAX_BITS, MAX_FEATURES = 1 << 15, 1 << 24  # limits of the options; of hyperplanes there are at most MAX_FEATURES
_MAX_NUMBERS_AT_ONCE = 1 << 17  # in a temporary array of `_rolled_products`: half a megabyte fits the CPU's cache
_MAX_ADDED_NUMBERS = 1 << 22  # for a unit, 16 megabytes; beyond it a transform is as fast
_MAX_JOINT_FEATURES = 64  # features of a unit that `_sums` adds together with those of other units; 18 characters


def splitmix64(seed: int, count: int) -> NDArray[np.uint64]:
    """Returns the first `count` outputs of the SplitMix64 generator, (count,) uint64; no library version changes them.

    Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (OOPSLA 2014).

    >>> hex(splitmix64(0, 1)[0])
    '0xe220a8397b1dcdaf'
    """
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
        seed & 0xFFFFFFFFFFFFFFFF
    )
    return _mix(state)


class BlockCoder:
    """Writes a unit as a block of `block_size` bytes.

    Attributes:
        block_size: K.
        pads: True if a short unit leaves padding at the end of its block; False if all K bytes are a digest.
    """

    block_size: int
    pads: bool = False

    def encode(self, units: Sequence[Unit]) -> Bytes:
        """Returns the packed blocks of `units`, which corpora store; the block of a unit depends on that unit alone.

        They are (n, K) uint8, or (n, K + 1) with the number of bytes before the padding last where the coder pads.
        """
        raise NotImplementedError

    def elements(self, units: Sequence[Unit]) -> Elements:
        """Returns the elements of the blocks of `units`, (n, K) uint16, see `unpack`."""
        return unpack(self.encode(units), self.pads, np.uint16)

    def decode(self, block: bytes) -> bytes:
        """Returns the UTF-8 bytes of the unit that was written as `block`, given without its padding.

        Raises:
            NotImplementedError: the coder is a hash.
        """
        raise NotImplementedError(
            f"{type(self).__name__} hashes each unit, so blocks cannot be decoded into text; "
            "keep the text with its blocks, or use the utf8 coder."
        )


class Utf8Coder(BlockCoder):
    """Writes a unit's own UTF-8 bytes, cut at K and zero-padded. Source: Elementwise 3.2.

    >>> Utf8Coder(block_size=4).encode(["as", "naïve"]).tolist()
    [[97, 115, 0, 0, 2], [110, 97, 195, 175, 4]]
    """

    pads = True

    def __init__(self, *, block_size: int = 16) -> None:
        self.block_size = check_integer("block_size", block_size, 255)  # the length of a packed block is one byte

    def encode(self, units: Sequence[Unit]) -> Bytes:
        size = self.block_size
        data = [to_bytes(unit)[:size] for unit in units]
        packed = np.empty((len(units), size + 1), dtype=np.uint8)
        blocks = b"".join([unit.ljust(size, b"\0") for unit in data])
        packed[:, :size] = np.frombuffer(blocks, dtype=np.uint8).reshape(-1, size)
        packed[:, size] = np.fromiter(map(len, data), dtype=np.uint8, count=len(data))
        return packed

    def decode(self, block: bytes) -> bytes:
        return block


class Md5Coder(BlockCoder):
    """HMAC-MD5 of a unit's UTF-8 bytes: T = 128 bits. Source: HashFormers 3.2; RFC 2104, RFC 1321.

    `key` is the secret key; the authors' published models use `en`.

    >>> Md5Coder(key="Jefe").encode(["what do ya want for nothing?"]).tobytes().hex()
    '750c783e6ab0b503eaa86e310a5db738'
    """

    block_size = 16

    def __init__(self, *, key: str = "en") -> None:
        self.key = key
        secret = key.encode("utf-8")
        secret = (_md5(secret).digest() if len(secret) > 64 else secret).ljust(64, b"\0")
        # The two keyed states are copied for each unit, which takes half the time of the `hmac` module.
        self._pads = bytes(b ^ 0x36 for b in secret), bytes(b ^ 0x5C for b in secret)

    def encode(self, units: Sequence[Unit]) -> Bytes:
        inner, outer = map(_md5, self._pads)
        digests = []
        for unit in units:
            first, second = inner.copy(), outer.copy()
            first.update(to_bytes(unit))
            second.update(first.digest())
            digests.append(second.digest())
        return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 16)


class NgramFeatures:
    """Maps the character n-grams of a unit, n = 1…4, to feature numbers in [0, num_features).

    Args:
        num_features: F, the length of the feature vector x.
        ngrams: the n-grams that have a feature, most frequent first (HashFormers 3.3: the top 50 000 of a corpus); an
            n-gram's feature is its rank. None: every n-gram has a feature, its hash modulo F, and nothing is stored.
    """

    def __init__(self, num_features: int, ngrams: Sequence[str] | None = None) -> None:
        self.num_features = num_features
        self._rank = None if ngrams is None else {ngram: rank for rank, ngram in enumerate(ngrams)}

    def __call__(self, units: Sequence[Unit]) -> tuple[Integers, Integers]:
        """Returns (features, owners), both (m,) int64: the feature of each n-gram, and the index of its unit.

        An n-gram that occurs twice has two entries, because its weight is its frequency in the unit.
        """
        texts = [unit.decode("latin-1") if isinstance(unit, bytes) else unit for unit in units]
        return self._hashed(texts) if self._rank is None else self._ranked(texts, self._rank)

    def _hashed(self, texts: Sequence[str]) -> tuple[Integers, Integers]:
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        owner = np.repeat(np.arange(len(texts)), lengths)
        remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # characters up to the unit's end
        state = np.zeros(len(codes), dtype=np.uint64)  # state[i]: hash of the n-gram that begins at character i
        features, owners = [], []
        for n in range(1, MAX_NGRAM + 1):
            state = state[: len(codes) - n + 1]
            state = _mix(state + codes[n - 1 :] + np.uint64(1))
            within_unit = remaining[: len(state)] >= n
            features.append((state % np.uint64(self.num_features)).astype(np.int64)[within_unit])
            owners.append(owner[: len(state)][within_unit])
            if len(codes) <= n:
                break
        return np.concatenate(features), np.concatenate(owners)

    def _ranked(self, texts: Sequence[str], rank: dict[str, int]) -> tuple[Integers, Integers]:
        pairs = [
            (rank[text[start : start + n]], owner)
            for owner, text in enumerate(texts)
            for n in range(1, MAX_NGRAM + 1)
            for start in range(len(text) - n + 1)
            if text[start : start + n] in rank
        ]
        features, owners = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return features, owners


class LshCoder(BlockCoder):
    """Signs of random hyperplanes: bit i = [x·r_i ≥ 0], where x is the vector of a unit's n-gram frequencies.

    Component j of hyperplane r_i is η[(j + i) mod F]: all hyperplanes are one random vector η, rolled by i. η follows
    from `seed`, so nothing is stored. Source: HashFormers 3.5; 3.3 for η.

    Differs from the paper: η has integer components (sums of four uniform 16-bit numbers, nearly normal), so x·r_i is
    exact and the same on every platform. Features are hashed unless `ngrams` is given.

    Args:
        num_bits: T; the block has ⌈T/8⌉ bytes. If T is no multiple of 8, the last bits are 0.
        num_features: F.
        ngrams: see `NgramFeatures`.
        seed: seed of η.
    """

    def __init__(
        self, *, num_bits: int = 128, num_features: int = 50_000, ngrams: Sequence[str] | None = None, seed: int = 42
    ) -> None:
        self.num_bits = check_integer("num_bits", num_bits, MAX_BITS)
        self.block_size = -(-num_bits // 8)
        self._features = NgramFeatures(check_integer("num_features", num_features, MAX_FEATURES), ngrams)
        self._eta = normal_integers(seed, num_features)

    def encode(self, units: Sequence[Unit]) -> Bytes:
        scores = _rolled_products(self._eta, self._features, units, self.num_bits)
        return np.packbits(scores >= 0, axis=1)


class LshIndexCoder(BlockCoder):
    """Index of the hyperplane with the largest product: v = argmax_i x·r_i over N hyperplanes, big-endian.

    The first maximum wins. Hyperplanes, features and the other arguments are the same as in `LshCoder`. N is
    `num_hyperplanes`; the block has as many bytes as the number N − 1. Source: HashFormers 3.3.
    """

    def __init__(
        self,
        *,
        num_hyperplanes: int = 50_260,
        num_features: int = 50_260,
        ngrams: Sequence[str] | None = None,
        seed: int = 42,
    ) -> None:
        self.num_hyperplanes = check_integer("num_hyperplanes", num_hyperplanes, MAX_FEATURES)
        self.block_size = max(1, -(-(num_hyperplanes - 1).bit_length() // 8))
        self._features = NgramFeatures(check_integer("num_features", num_features, MAX_FEATURES), ngrams)
        self._eta = normal_integers(seed, num_features)

    def encode(self, units: Sequence[Unit]) -> Bytes:
        blocks = np.empty((len(units), self.block_size), dtype=np.uint8)
        for index, unit in enumerate(units):  # one at a time, because each has N scores
            scores = _rolled_products(self._eta, self._features, [unit], self.num_hyperplanes)[0]
            blocks[index] = [*int(scores.argmax()).to_bytes(self.block_size, "big")]
        return blocks


def special_blocks(block_size: int) -> Elements:
    """Returns the blocks [id, 0, …, 0] of the special tokens, by id, (5, K) uint16."""
    blocks = np.zeros((NUM_SPECIAL, block_size), dtype=np.uint16)
    blocks[:, 0] = range(NUM_SPECIAL)
    return blocks


def unpack(packed: Bytes, pads: bool, dtype: type[np.integer[Any]] = np.int64) -> NDArray[Any]:
    """Returns the elements of packed blocks, (…, K) of this type: byte value b → b + 5, padding → 0.

    `packed` is what `BlockCoder.encode` returns, (…, K) uint8, or (…, K + 1) with the length last if the coder `pads`.

    >>> unpack(np.array([[97, 115, 0, 2]], dtype=np.uint8), pads=True).tolist()
    [[102, 120, 0]]
    """
    if not pads:
        return np.add(packed, NUM_SPECIAL, dtype=dtype)
    elements = np.add(packed[..., :-1], NUM_SPECIAL, dtype=dtype)
    elements[np.arange(elements.shape[-1]) >= packed[..., -1:]] = PAD
    return elements


def normal_integers(seed: int, count: int) -> NDArray[np.int32]:
    """Returns `count` nearly normal integers of mean 0 and variance 4·(2¹⁶)²/12, absolute values below 2¹⁷.

    Each is the sum of four uniform 16-bit numbers, less the mean of such sums.
    """
    fields = splitmix64(seed, count)[:, None] >> np.array([0, 16, 32, 48], dtype=np.uint64) & np.uint64(0xFFFF)
    sums: Integers = fields.sum(axis=1).astype(np.int64)
    return (sums - 2 * 0xFFFF).astype(np.int32)


def _rolled_products(eta: NDArray[np.int32], features: NgramFeatures, units: Sequence[Unit], count: int) -> Scores:
    """Returns x·r_i for each unit and i = 0…count−1, (n, count).

    r_i is η rolled by i, and x counts the features of the unit. So x·r_i is the sum of η[(j + i) mod F] over these
    features j, and all products of a unit are the sum of one window of η per feature: η[j], …, η[j + count − 1].
    For η = (7, 8, 9), count = 2 and the features 0 and 2, the windows are (7, 8) and (9, 7), the products (16, 15).
    """
    repeated = np.resize(eta, len(eta) + count - 1)  # η, then η from its beginning again
    # windows[j] is one item of 4·count bytes, because that is copied faster than `count` numbers are.
    windows = np.ndarray(len(eta), f"V{4 * count}", repeated, strides=(4,))
    step = max(1, _MAX_NUMBERS_AT_ONCE // count)
    scores = [_sums(eta, windows, features, units[start : start + step], count) for start in range(0, len(units), step)]
    return scores[0] if len(scores) == 1 else np.concatenate([np.zeros((0, count), np.int32), *scores])


def _sums(
    eta: NDArray[np.int32], windows: NDArray[np.void], features: NgramFeatures, units: Sequence[Unit], count: int
) -> Scores:
    """Returns the sum of the windows of each unit's features, (n, count).

    Adds the first feature of all units at once, then the second of all that have two, and so on. Units that have more
    than `_MAX_JOINT_FEATURES` are then finished alone.
    """
    feature, owner = features(units)
    feature = feature[np.argsort(owner, kind="stable")]  # the first unit's features, then the second's, …
    sizes = np.bincount(owner, minlength=len(units))
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(-sizes, kind="stable")  # most features first: each step adds to the first units only
    sizes, starts = sizes[order], starts[order]

    most = sizes[0]
    sums = np.zeros((len(units), count), dtype=np.int32 if most < 1 << 14 else np.int64)  # of numbers below 2¹⁷
    steps = np.arange(min(most, _MAX_JOINT_FEATURES))
    columns = feature.take(starts + steps[:, None], mode="clip")  # columns[k]: the k-th feature of each unit
    num_adding = np.searchsorted(-sizes, -steps)  # num_adding[k]: how many units have it
    for column, stop in zip(columns, num_adding.tolist(), strict=True):
        sums[:stop] += _windows_of(column[:stop], windows, count)

    for index in range(np.count_nonzero(sizes > _MAX_JOINT_FEATURES)):
        rest = feature[starts[index] + _MAX_JOINT_FEATURES : starts[index] + sizes[index]]
        if len(rest) * count < _MAX_ADDED_NUMBERS:
            sums[index] += _windows_of(rest, windows, count).sum(axis=0, dtype=sums.dtype)
        else:
            _add_correlation(sums[index], rest, eta)

    scores = np.empty_like(sums)
    scores[order] = sums
    return scores


def _add_correlation(total: Scores, features: Integers, eta: NDArray[np.int32]) -> None:
    """Adds the sum of the features' windows by Fourier transforms, in a time that hardly depends on their number.

    It is the circular correlation of η with the counts of the features. Eight bits of the counts go at a time, so the
    errors stay far below 1/2 and rounding is exact.
    """
    spectrum, counts, place = np.fft.rfft(eta), np.bincount(features, minlength=len(eta)), 0
    while counts.any():
        part = np.fft.rfft(counts & 0xFF)
        products = np.rint(np.fft.irfft(spectrum * part.conj(), len(eta))).astype(np.int64) << place
        total += np.resize(products, len(total)).astype(total.dtype)
        counts, place = counts >> 8, place + 8


def _windows_of(features: Integers, windows: NDArray[np.void], count: int) -> NDArray[np.int32]:
    """Returns the windows of `features`, (m, count)."""
    return windows[features].view(np.int32).reshape(-1, count)


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _md5(data: bytes) -> Any:  # hashlib's own type has no public name
    return hashlib.md5(data, usedforsecurity=False)


CODERS: dict[str, type[BlockCoder]] = {
    "md5": Md5Coder,
    "lsh": LshCoder,
    "lsh-index": LshIndexCoder,
    "utf8": Utf8Coder,
}
