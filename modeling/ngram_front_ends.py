"""Front ends that compute an embedding as a hash of the unit's bytes, without parameters.

Hashes are computed by integer arithmetic on tensors, so the model can be exported. Source: EELBERT 3.2 and 5.3.
"""
# mypy: no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods)

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from .blocks import NUM_SPECIAL, SPECIAL_NAMES, check_positive
from .ngram_hashes import MODULUS, hash_seeds
from .unit_front_end import UnitFrontEnd

HASH_BASE = 263  # a prime above all elements: n-grams of up to three bytes never share a hash
SECOND_HASH_BASE = 269  # another one: two units that share both hashes have the same normal numbers


class UnitHash(UnitFrontEnd):
    """Base class of both front ends. A special token is hashed as the bytes of its name, for instance "[CLS]"."""

    special_blocks: Tensor

    def __init__(self, block_size: int, embedding_size: int) -> None:
        super().__init__(block_size, embedding_size)
        if max(map(len, SPECIAL_NAMES)) > block_size:
            raise ValueError(
                f"ngram and random_normal hash the name [MASK], so block_size={block_size} is too small; "
                "give at least 6."
            )
        self.add_constant("special_blocks", special_blocks, block_size)

    def replace_special_tokens(self, blocks: Tensor) -> Tensor:
        """Returns `blocks` with each special token replaced by the bytes of its name."""
        names = F.embedding(blocks[..., 0].clamp(max=NUM_SPECIAL - 1), self.special_blocks)
        return torch.where(blocks[..., :1] < NUM_SPECIAL, names, blocks)


class Ngram(UnitHash):
    """Pooled n-gram hashes.

    1. For each n = 1 … N, a polynomial rolling hash maps every n-gram of the unit's bytes to an integer s.
    2. s times the seeds h, modulo B and scaled, is a vector in [−1, 1].
    3. The mean of these vectors over the n-grams is part n of the embedding. It is zero if the unit is shorter than n.
    4. The parts are concatenated. Their widths are in the ratio 1:2:…:N.

    Source: EELBERT 3.2. Differs from the paper: n-grams are of bytes, not of characters, which is the same for ASCII.

    Args:
        ngram_sizes: N.
        seed: seed of the generator that h comes from.
    """

    seeds: Tensor  # h, (D,) int64, values 1 to B − 1
    before: Tensor  # (D,) int64, n − 1 for the dimensions of part n

    def __init__(self, block_size: int, embedding_size: int, *, ngram_sizes: int = 3, seed: int = 0) -> None:
        super().__init__(block_size, embedding_size)
        self.ngram_sizes = check_positive("ngram_sizes", ngram_sizes, 4096)
        self.traced_length = self.ngram_sizes
        self.add_constant("seeds", hash_seeds, seed, embedding_size)
        before = [n for n, width in enumerate(self.widths) for _ in range(width)]
        self.add_constant("before", torch.tensor, before)

    @property
    def widths(self) -> list[int]:
        """Widths of the N parts; part N also gets the remainder of the division."""
        total = self.ngram_sizes * (self.ngram_sizes + 1) // 2
        widths = [self.embedding_size * n // total for n in range(1, self.ngram_sizes + 1)]
        return [*widths[:-1], self.embedding_size - sum(widths[:-1])]

    def embed_units(self, blocks: Tensor) -> Tensor:
        """Maps blocks without special tokens, (…, K) int64, to (…, D) float32."""
        # hashes[i] is the hash of the n-gram that starts at position i, last[i] its last element. Both are 0 if the
        # n-gram reaches beyond the end of the unit.
        hashes = last = blocks
        sums = []
        for n, seeds in enumerate(self.seeds.split(self.widths), start=1):
            if n > 1:  # Horner's rule: from the hashes for n − 1 to those for n
                last = last[..., 1:]
                hashes = torch.where(last > 0, hashes[..., :-1] * HASH_BASE + last, 0)
            if HASH_BASE**n > MODULUS:
                hashes = hashes % MODULUS
            sums.append(hash_vectors(hashes, seeds).sum(dim=-2))
        num_terms = (blocks.shape[-1] - self.before).clamp(min=0)  # in each sum, n-grams beyond the unit included
        num_ngrams = ((blocks > 0).sum(dim=-1, keepdim=True) - self.before).clamp(min=1)
        return scale_to_unit(torch.cat(sums, dim=-1), num_terms) / num_ngrams


class RandomNormal(UnitHash):
    """Frozen normal numbers for each unit, drawn from its hashes: similar words have unrelated embeddings.

    The paper draws a row of N(0, 0.02), BERT's default initialisation, for each word of a vocabulary, and freezes it.
    Here the numbers come from two hashes s and t of the whole unit, so no row is stored:

    1. x_i = (s·a_i + t·b_i + c_i)³ mod B are uniform, for a, b and c of the generator with the seed `seed`. The cube is
       one-to-one, and without it the numbers of similar words would lie on a lattice.
    2. The Box–Muller transform makes two normal numbers, of the standard deviation `std`, of two uniform ones.

    Source: EELBERT 5.3, Table 3.
    """

    traced_length = None
    uniform_seeds: Tensor  # a, b and c, (3, 2·⌈D/2⌉) int64, values 1 to B − 1

    def __init__(self, block_size: int, embedding_size: int, *, seed: int = 0, std: float = 0.02) -> None:
        super().__init__(block_size, embedding_size)
        if not std > 0:
            raise ValueError(f"random_normal got std={std!r}; give a number above 0.")
        self.std = std
        self.add_constant("uniform_seeds", hash_seeds, seed, 3, 2 * ((embedding_size + 1) // 2))

    def embed_units(self, blocks: Tensor) -> Tensor:
        first, second = (hash_units(blocks, base).unsqueeze(-1) for base in (HASH_BASE, SECOND_HASH_BASE))
        a, b, c = self.uniform_seeds
        sums = (first * a % MODULUS + second * b % MODULUS + c) % MODULUS
        numbers = sums * sums % MODULUS * sums % MODULUS
        radii, angles = ((numbers + 1).to(torch.float32) / MODULUS).chunk(2, dim=-1)  # above 0, at most 1
        radii, angles = self.std * (-2 * radii.log()).sqrt(), 2 * math.pi * angles
        return torch.cat([radii * angles.cos(), radii * angles.sin()], dim=-1)[..., : self.embedding_size]


def hash_units(blocks: Tensor, base: int) -> Tensor:
    """Returns a polynomial hash of the elements of each unit: (…, K) int64 → (…) int64, values 0 to B − 1."""
    hashes = blocks[..., 0]
    for position in range(1, blocks.shape[-1]):
        longer = (hashes * base + blocks[..., position]) % MODULUS
        hashes = torch.where(blocks[..., position] > 0, longer, hashes)
    return hashes


def hash_vectors(hashes: Tensor, seeds: Tensor) -> Tensor:
    """Multiplies hashes by the seeds: the vectors P of EELBERT 3.2, step 3, before the division by B/2, plus ⌊B/2⌋.

    The paper computes P = s ⊗ h, P %= B, P −= (P > B/2)·B. B is odd, so P + ⌊B/2⌋ is (s ⊗ h + ⌊B/2⌋) mod B.
    `scale_to_unit` subtracts ⌊B/2⌋ again. Hashes s are (…) int64, 0 to B − 1, where 0 gives P = 0; seeds h are (D,)
    int64, 1 to B − 1. The result is (…, D) int64, 0 to B − 1.
    """
    return (hashes.unsqueeze(-1) * seeds + MODULUS // 2) % MODULUS


def scale_to_unit(sums: Tensor, num_terms: Tensor | int) -> Tensor:
    """Returns Σ P / (B/2), float32, from sums of `num_terms` results of `hash_vectors`. One term is in [−1, 1]."""
    return (sums - num_terms * (MODULUS // 2)).to(torch.float32) / (MODULUS / 2)


def special_blocks(block_size: int) -> Tensor:
    """Returns the names of the special tokens as blocks of ordinary bytes, (5, K) int64."""
    names = [[byte + NUM_SPECIAL for byte in name.encode()] for name in SPECIAL_NAMES]
    return torch.tensor([name + [0] * (block_size - len(name)) for name in names])
