"""Block coders: units → blocks of K bytes. Everything that a block depends on is frozen for ever.

`md5` and `lsh` write a digest of T bits, most significant bit first; `lsh-index` writes an integer, big-endian; `utf8`
writes the unit itself. All arithmetic is on integers, so every platform gives the same bytes.

Sources: HashFormers 3.2 (md5), 3.3 and 3.5 (lsh, lsh-index); Elementwise 3.2 (utf8).
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .splitters import Unit, to_bytes

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Scores = NDArray[np.signedinteger[Any]]

NUM_SPECIAL = 5  # elements 0–4 are special tokens; byte value b is element b + 5
PAD, UNK, CLS, SEP, MASK = range(NUM_SPECIAL)
MAX_NGRAM = 4
_MASK64 = (1 << 64) - 1
_CHUNK = 1 << 17  # numbers that `_rolled_products` sums at a time: half a megabyte, to stay in the cache
_PART = 32  # features of a unit that are summed one after the other; what has more is summed in several parts,
_MOST_PARTS = 256  # at most so many; beyond that the parts grow


def splitmix64(seed: int, count: int) -> NDArray[np.uint64]:
    """Returns the first `count` outputs of the SplitMix64 generator, a stream that no library version can change.

    Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (OOPSLA 2014).

    >>> hex(splitmix64(0, 1)[0])
    '0xe220a8397b1dcdaf'
    """
    state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed & _MASK64)
    return _mix(state)


class BlockCoder:
    """Writes a unit as a block of `block_size` bytes.

    Attributes:
        block_size: K.
        pads: whether bytes behind a unit's end are padding rather than part of a digest.
    """

    block_size: int
    pads: bool = False

    def encode(self, units: Sequence[Unit]) -> tuple[Bytes, Integers]:
        """Returns the blocks of `units`, (n, K) uint8, and how many leading bytes of each are not padding, (n,) int64.

        A unit's block depends on that unit alone.
        """
        raise NotImplementedError

    def decode(self, block: bytes) -> bytes:
        """Returns the UTF-8 bytes of the unit whose block this is.

        Raises:
            NotImplementedError: where the coder is a hash.
        """
        raise NotImplementedError(
            f"{type(self).__name__} hashes each unit, so blocks cannot be decoded into text; "
            "keep the text beside its blocks, or use the utf8 coder."
        )

    def _all_full(self, count: int) -> Integers:
        return np.full(count, self.block_size, dtype=np.int64)


class Utf8Coder(BlockCoder):
    """Writes a unit's own UTF-8 bytes, cut at K and zero-padded. Source: Elementwise 3.2.

    >>> Utf8Coder(block_size=4).encode(["as", "naïve"])[0].tolist()
    [[97, 115, 0, 0], [110, 97, 195, 175]]
    """

    pads = True

    def __init__(self, *, block_size: int = 16) -> None:
        self.block_size = _positive("block_size", block_size)
        if block_size > 255:  # a stored block says its length in one byte
            raise ValueError(f"the utf8 coder got block_size={block_size}; the limit is 255 bytes, give fewer.")

    def encode(self, units: Sequence[Unit]) -> tuple[Bytes, Integers]:
        """See `BlockCoder.encode`."""
        size = self.block_size
        data = [to_bytes(unit)[:size] for unit in units]
        blocks = np.frombuffer(b"".join([unit.ljust(size, b"\0") for unit in data]), dtype=np.uint8)
        return blocks.reshape(-1, size), np.fromiter(map(len, data), dtype=np.int64, count=len(data))

    def decode(self, block: bytes) -> bytes:
        """See `BlockCoder.decode`."""
        return block


class Md5Coder(BlockCoder):
    """HMAC-MD5 of a unit's UTF-8 bytes: T = 128 bits. Source: HashFormers 3.2; RFC 2104, RFC 1321.

    Args:
        key: the secret key; `en` is that of the authors' published models.

    >>> Md5Coder(key="Jefe").encode(["what do ya want for nothing?"])[0].tobytes().hex()
    '750c783e6ab0b503eaa86e310a5db738'
    """

    block_size = 16

    def __init__(self, *, key: str = "en") -> None:
        self.key = key
        secret = key.encode("utf-8")
        secret = (_md5(secret).digest() if len(secret) > 64 else secret).ljust(64, b"\0")
        # The two keyed states are made once and copied for each unit: half the time of the `hmac` module.
        self._pads = bytes(b ^ 0x36 for b in secret), bytes(b ^ 0x5C for b in secret)

    def encode(self, units: Sequence[Unit]) -> tuple[Bytes, Integers]:
        """See `BlockCoder.encode`."""
        inner, outer = map(_md5, self._pads)
        digests = []
        for unit in units:
            first, second = inner.copy(), outer.copy()
            first.update(to_bytes(unit))
            second.update(first.digest())
            digests.append(second.digest())
        return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, 16), self._all_full(len(units))


class NgramFeatures:
    """Characters n-grams, n = 1…4, of a unit as feature numbers in [0, num_features).

    Args:
        num_features: F, the length of the feature vector x.
        ngrams: the n-grams that have a feature, most frequent first (HashFormers 3.3: the top 50 000 of a corpus); None
            gives every n-gram the feature that its hash says, so that nothing has to be stored.
    """

    def __init__(self, num_features: int, ngrams: Sequence[str] | None = None) -> None:
        self.num_features = num_features
        self._rank = None if ngrams is None else {ngram: rank for rank, ngram in enumerate(ngrams)}

    def __call__(self, units: Sequence[Unit]) -> tuple[Integers, Integers]:
        """Returns (features, owners), both (m,) int64: one entry per n-gram, and the unit that it came from.

        An n-gram that occurs twice has two entries: its weight is its frequency in the unit.
        """
        if self._rank is not None:
            return self._ranked(units)
        codes, lengths = _codepoints(units)
        owner = np.repeat(np.arange(len(units)), lengths)
        remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # characters up to the unit's end
        state = np.zeros(len(codes), dtype=np.uint64)
        features, owners = [], []
        for n in range(1, MAX_NGRAM + 1):
            state = state[: len(codes) - n + 1]
            state = _mix(state + codes[n - 1 :] + np.uint64(1))
            whole = remaining[: len(state)] >= n
            features.append((state % np.uint64(self.num_features)).astype(np.int64)[whole])
            owners.append(owner[: len(state)][whole])
            if len(codes) <= n:
                break
        return np.concatenate(features), np.concatenate(owners)

    def _ranked(self, units: Sequence[Unit]) -> tuple[Integers, Integers]:
        assert self._rank is not None
        pairs = [
            (self._rank[ngram], index)
            for index, unit in enumerate(units)
            for ngram in _ngrams(unit)
            if ngram in self._rank
        ]
        features, owners = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return features, owners


class LshCoder(BlockCoder):
    """Signs of random hyperplanes: bit i = [x·r_i ≥ 0], x the unit's character n-gram frequencies.

    Component j of hyperplane i is η[(j + i) mod F]: one random vector η, rolled by i, so that nothing is stored.
    Source: HashFormers 3.3. Differs from the paper: η has integer components (the sum of four uniform 16-bit numbers,
    nearly normal), so that x·r_i is exact and the same on every platform; features are hashed unless `ngrams` is given.

    Args:
        num_bits: T; the block has ⌈T/8⌉ bytes, its last bits 0 where 8 does not divide T.
        num_features: F.
        ngrams: see `NgramFeatures`.
        seed: of η.
    """

    def __init__(
        self, *, num_bits: int = 128, num_features: int = 50_000, ngrams: Sequence[str] | None = None, seed: int = 42
    ) -> None:
        self.num_bits = _positive("num_bits", num_bits)
        self.block_size = -(-num_bits // 8)
        self._features = NgramFeatures(_positive("num_features", num_features), ngrams)
        self._eta = normal_integers(seed, num_features)

    def encode(self, units: Sequence[Unit]) -> tuple[Bytes, Integers]:
        """See `BlockCoder.encode`."""
        scores = _rolled_products(self._eta, self._features, units, self.num_bits)
        return np.packbits(scores >= 0, axis=1), self._all_full(len(units))


class LshIndexCoder(BlockCoder):
    """The hyperplane that a unit lies nearest to: v = argmax_i x·r_i over N hyperplanes, big-endian.

    Source: HashFormers 3.5. Hyperplanes and features are those of `LshCoder`; the first maximum wins.

    Args:
        num_hyperplanes: N; the block has as many bytes as N − 1 needs.
        num_features: F.
        ngrams: see `NgramFeatures`.
        seed: of η.
    """

    def __init__(
        self,
        *,
        num_hyperplanes: int = 50_260,
        num_features: int = 50_260,
        ngrams: Sequence[str] | None = None,
        seed: int = 42,
    ) -> None:
        self.num_hyperplanes = _positive("num_hyperplanes", num_hyperplanes)
        self.block_size = max(1, -(-(num_hyperplanes - 1).bit_length() // 8))
        self._features = NgramFeatures(_positive("num_features", num_features), ngrams)
        self._eta = normal_integers(seed, num_features)

    def encode(self, units: Sequence[Unit]) -> tuple[Bytes, Integers]:
        """See `BlockCoder.encode`."""
        blocks = np.empty((len(units), self.block_size), dtype=np.uint8)
        for index, unit in enumerate(units):  # one by one: N scores each
            value = int(_rolled_products(self._eta, self._features, [unit], self.num_hyperplanes)[0].argmax())
            blocks[index] = np.frombuffer(value.to_bytes(self.block_size, "big"), dtype=np.uint8)
        return blocks, self._all_full(len(units))


def widen(raw: Bytes, pads: bool) -> Integers:
    """Returns the elements of stored blocks: byte value b → b + 5, padding → 0.

    Args:
        raw: (…, K) uint8, or (…, K + 1) with the number of leading bytes that are no padding, if `pads`.
        pads: see `BlockCoder`.
    """
    if not pads:
        return np.add(raw, NUM_SPECIAL, dtype=np.int64)
    lengths = raw[..., -1:]
    return np.where(np.arange(raw.shape[-1] - 1) < lengths, raw[..., :-1].astype(np.int64) + NUM_SPECIAL, 0)


def narrow(elements: NDArray[np.integer[Any]], pads: bool) -> Bytes:
    """The inverse of `widen`, for blocks of ordinary tokens."""
    raw: Bytes = (np.maximum(elements, NUM_SPECIAL) - NUM_SPECIAL).astype(np.uint8)
    if not pads:
        return raw
    return np.concatenate([raw, np.count_nonzero(elements, axis=-1, keepdims=True).astype(np.uint8)], axis=-1)


def normal_integers(seed: int, count: int) -> NDArray[np.int32]:
    """Returns `count` nearly normal integers, mean 0, variance 4·(2¹⁶)²/12: sums of four uniform 16-bit numbers."""
    fields = splitmix64(seed, count)[:, None] >> np.array([0, 16, 32, 48], dtype=np.uint64) & np.uint64(0xFFFF)
    sums: Integers = fields.sum(axis=1).astype(np.int64)
    return (sums - 2 * 0xFFFF).astype(np.int32)


def _rolled_products(eta: NDArray[np.int32], features: NgramFeatures, units: Sequence[Unit], count: int) -> Scores:
    """Returns x·r_i for each unit and i = 0…count−1, (n, count), r_i = η rolled by i."""
    rolls = np.resize(eta, len(eta) + count - 1)  # η, and again from its beginning
    windows = np.ndarray(len(eta), f"V{4 * count}", rolls, strides=(4,))  # windows[j] is η[j…j + count), one element
    step = max(1, _CHUNK // count)
    parts = [_sums(windows, features, units[start : start + step], count) for start in range(0, len(units), step)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, count), np.int32), *parts])


def _sums(windows: NDArray[np.void], features: NgramFeatures, units: Sequence[Unit], count: int) -> Scores:
    """Returns the sum of the windows of each unit's features, (n, count).

    Units of many features are summed in parts, and the k-th features of all parts at once.
    """
    feature, owner = features(units)
    feature = feature[np.argsort(owner, kind="stable")]
    sizes = np.bincount(owner, minlength=len(units))
    most = sizes.max()
    longest = max(_PART, -(-most // _MOST_PARTS))
    ends = np.cumsum(sizes)
    num_parts = np.maximum(-(-sizes // longest), 1)
    first = np.cumsum(num_parts) - num_parts  # each unit's first part
    starts = np.repeat(ends - sizes - longest * first, num_parts)
    starts += longest * np.arange(len(starts))
    sizes = np.minimum(np.repeat(ends, num_parts) - starts, longest)

    order = np.argsort(-sizes, kind="stable")  # most features first
    having = np.searchsorted(-sizes[order], -np.arange(sizes.max()))  # parts that have a k-th feature
    columns = feature.take(starts[order] + np.arange(len(having))[:, None], mode="clip")
    sums = np.zeros((len(order), count), dtype=np.int32 if most < 1 << 14 else np.int64)  # of numbers below 2¹⁷
    for column, some in zip(columns, having.tolist(), strict=True):
        sums[:some] += windows[column[:some]].view(np.int32).reshape(-1, count)

    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    scores: Scores = sums[place[first]]
    for part in range(1, num_parts.max()):
        more = np.flatnonzero(num_parts > part)
        scores[more] += sums[place[first[more] + part]]
    return scores


def _codepoints(units: Sequence[Unit]) -> tuple[NDArray[np.uint64], Integers]:
    """Returns the code points of all units end to end and the length of each; of `bytes`, the bytes."""
    texts = [unit.decode("latin-1") if isinstance(unit, bytes) else unit for unit in units]
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    return codes, np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))


def _ngrams(unit: Unit) -> list[str]:
    text = unit.decode("latin-1") if isinstance(unit, bytes) else unit
    return [text[i : i + n] for n in range(1, MAX_NGRAM + 1) for i in range(len(text) - n + 1)]


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _md5(data: bytes) -> Any:  # hashlib's own type has no public name
    return hashlib.md5(data, usedforsecurity=False)


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"a block coder got {name}={value}; give a whole number of at least 1.")
    return value


CODERS: dict[str, type[BlockCoder]] = {
    "md5": Md5Coder,
    "lsh": LshCoder,
    "lsh-index": LshIndexCoder,
    "utf8": Utf8Coder,
}
