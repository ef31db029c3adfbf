"""Front ends that hash a unit's bytes to its embedding: no table, no parameter.

The hashes are integer arithmetic on tensors, so that they export with the model. Source: EELBERT 3.2 and Table 3.
"""
# mypy: allow-untyped-calls, no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods of all)

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import initialization as init

from .blocks import NUM_SPECIAL, SPECIAL_NAMES, FrontEnd, at_least_one
from .unit_cache import UnitCache

MODULUS = 10**9 + 7  # B of EELBERT 3.2
HASH_BASE = 263  # prime and above every element, so that no two n-grams of up to three bytes share a hash


class Ngram(FrontEnd):
    """Pooled n-gram hashes: no parameter, nothing to train.

    For each n = 1…N every n-gram of the unit's bytes is hashed to s (polynomial rolling hash), s ⊗ h modulo B gives a
    vector in [−1, 1], the mean over the n-grams is the part for n; the parts, of widths in the ratio 1:2:…:N, are
    concatenated. A unit shorter than n has zeros there. Special tokens hash their own literal names.

    Source: EELBERT 3.2. Differs from the paper: n-grams are of bytes, not characters, which is the same for ASCII.

    Args:
        ngram_sizes: N.
        seed: of h.
    """

    seeds: Tensor  # (D,) int64, values 1 to B − 1
    before: Tensor  # (D,) int64, n − 1 for the n-grams that each dimension pools
    special_blocks: Tensor  # (5, K) int64, the special tokens' names as ordinary blocks

    def __init__(self, block_size: int, embedding_size: int, *, ngram_sizes: int = 3, seed: int = 0) -> None:
        super().__init__(block_size, embedding_size)
        self.ngram_sizes = at_least_one("ngram_sizes", ngram_sizes)
        self.seed = seed
        if max(map(len, SPECIAL_NAMES)) > block_size:
            raise ValueError(f"ngram and random hash the name '[MASK]', so block_size={block_size} must be at least 6.")
        self.register_buffer("seeds", hash_seeds(seed, embedding_size), persistent=False)
        self.register_buffer("before", self._before(), persistent=False)
        self.register_buffer("special_blocks", self._special_blocks(), persistent=False)
        self._cache = UnitCache(embedding_size)

    def init_weights(self, std: float) -> None:
        init.copy_(self.seeds, hash_seeds(self.seed, self.embedding_size))
        init.copy_(self.before, self._before())
        init.copy_(self.special_blocks, self._special_blocks())

    @property
    def widths(self) -> list[int]:
        """Width of the part for each n; what is left over goes to the longest n-grams."""
        total = self.ngram_sizes * (self.ngram_sizes + 1) // 2
        widths = [self.embedding_size * n // total for n in range(1, self.ngram_sizes + 1)]
        return [*widths[:-1], self.embedding_size - sum(widths[:-1])]

    def forward(self, blocks: Tensor) -> Tensor:
        tracing = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined]
        if tracing:  # a traced graph hashes every token
            return self.hash_units(self.spelled(blocks))
        if blocks.device.type == "cpu":
            return self._cache.look_up(blocks, self.hash_distinct)
        units, inverse = blocks.flatten(0, -2).unique(dim=0, return_inverse=True)
        return self.hash_distinct(units)[inverse].unflatten(0, blocks.shape[:-1])

    def hash_distinct(self, blocks: Tensor) -> Tensor:
        """Maps distinct blocks, (n, K) int64, to (n, D) float32, each as far as the longest one reaches."""
        units = self.spelled(blocks)
        longest = int((units.amax(dim=0) > 0).sum()) if len(units) else 1
        return self.hash_units(units[:, :longest])  # sums of integers: what is cut off changes nothing

    def hash_units(self, elements: Tensor) -> Tensor:
        """Maps units spelled out, (…, K) int64, to (…, D) float32."""
        hashes = last = elements  # of the n-grams from each place on, and their last elements; 0 beyond the unit's end
        totals = []
        for n, seeds in enumerate(self.seeds.split(self.widths), start=1):
            if n > 1:  # Horner's rule
                last = last[..., 1:]
                hashes = torch.where(last > 0, hashes[..., :-1] * HASH_BASE + last, 0)
            if HASH_BASE**n > MODULUS:
                hashes = hashes % MODULUS
            totals.append(spread(hashes, seeds).sum(dim=-2))
        places = (elements.shape[-1] - self.before).clamp(min=0)
        counts = ((elements > 0).sum(dim=-1, keepdim=True) - self.before).clamp(min=1)
        return scale(torch.cat(totals, dim=-1), places) / counts

    def spelled(self, blocks: Tensor) -> Tensor:
        """Returns `blocks` with the letters of their names in place of special tokens."""
        names = F.embedding(blocks[..., 0].clamp(max=NUM_SPECIAL - 1), self.special_blocks)
        return torch.where(blocks[..., :1] < NUM_SPECIAL, names, blocks)

    def _before(self) -> Tensor:
        return torch.tensor([n for n, width in enumerate(self.widths) for _ in range(width)])

    def _special_blocks(self) -> Tensor:
        spelled = [[byte + NUM_SPECIAL for byte in name.encode()] for name in SPECIAL_NAMES]
        return torch.tensor([row + [0] * (self.block_size - len(row)) for row in spelled])


class Random(Ngram):
    """One hash of the whole unit: a fixed random vector for each unit, no two alike, none near another.

    Source: EELBERT Table 3, the random hash that n-gram pooling is compared with.
    """

    def __init__(self, block_size: int, embedding_size: int, *, seed: int = 0) -> None:
        super().__init__(block_size, embedding_size, ngram_sizes=1, seed=seed)

    def hash_units(self, elements: Tensor) -> Tensor:
        hashes = elements[..., 0]
        for position in range(1, elements.shape[-1]):
            longer = (hashes * HASH_BASE + elements[..., position]) % MODULUS
            hashes = torch.where(elements[..., position] > 0, longer, hashes)
        return scale(spread(hashes, self.seeds), 1)


def spread(hashes: Tensor, seeds: Tensor) -> Tensor:
    """Returns each hash as a vector of integers, P + ⌊B/2⌋ with P = s ⊗ h, P %= B, P −= (P > B/2)·B.

    B is odd, so that this is the remainder of s ⊗ h + ⌊B/2⌋. Source: EELBERT 3.2, Algorithm 1, up to its last step.

    Args:
        hashes: (…) int64, values 0 to B − 1; 0 gives P = 0.
        seeds: (D,) int64, values 1 to B − 1.

    Returns:
        (…, D) int64, values 0 to B − 1.
    """
    return (hashes.unsqueeze(-1) * seeds + MODULUS // 2) % MODULUS


def scale(sums: Tensor, count: Tensor | int) -> Tensor:
    """Returns P / (B/2), float32, for sums of `count` results of `spread`: [−1, 1] for one. Integer sums are exact."""
    return (sums - count * (MODULUS // 2)).to(torch.float32) / (MODULUS / 2)


def hash_seeds(seed: int, count: int) -> Tensor:
    """Returns h: `count` integers from 1 to B − 1, the SplitMix64 stream of `seed`. (count,) int64."""
    mask = (1 << 64) - 1
    values = []
    for index in range(1, count + 1):
        z = (seed + index * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        values.append((z ^ (z >> 31)) % (MODULUS - 1) + 1)
    return torch.tensor(values, dtype=torch.int64)
