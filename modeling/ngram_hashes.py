"""Hashes of the n-grams of a unit, for tables of hashed n-grams.

The hash of elements e_1 … e_n is Σ c_i·e_i, with fixed random c_i below P = 10⁹ + 7; modulo P it is multilinear
hashing. All sums stay below 2⁵³, so torch, ONNX and JavaScript compute the same.
"""
# mypy: no-warn-return-any

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from .blocks import NUM_SPECIAL

MODULUS = 10**9 + 7  # P; B of EELBERT 3.2
BEGIN, END = 1, 2  # elements that mark the borders of a unit; no unit contains them
MAX_CHARACTER = 0x10FFFF + NUM_SPECIAL  # the last code point
FIRST_CONTINUATION, LAST_CONTINUATION = 0x80 + NUM_SPECIAL, 0xBF + NUM_SPECIAL  # bytes inside a UTF-8 character
Ngrams = tuple[Tensor, Tensor]  # the hashes of n-grams, for one n after the other, and which there are, (…, R) each


def hash_seeds(seed: int, *shape: int) -> Tensor:
    """Returns integers of this shape, int64, values 1 to P − 1: the SplitMix64 stream of `seed`."""
    mask = (1 << 64) - 1
    values = []
    for index in range(1, math.prod(shape) + 1):
        z = (seed + index * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        values.append((z ^ (z >> 31)) % (MODULUS - 1) + 1)
    return torch.tensor(values, dtype=torch.int64).view(shape)


def hash_factors(seed: int, start: int, *shape: int) -> Tensor:
    """Returns c_i of this shape: the numbers of the stream of `seed` from place `start` on."""
    return hash_seeds(seed, start + math.prod(shape))[start:].view(shape)


def with_borders(blocks: Tensor) -> Tensor:
    """Returns blocks (…, k) with the marks around each unit, (…, k + 2)."""
    elements, before = F.pad(blocks, (0, 1)), F.pad(blocks, (1, 0), value=BEGIN)
    return F.pad(torch.where((elements == 0) & (before > 0), END, elements), (1, 0), value=BEGIN)


def byte_ngrams(elements: Tensor, factors: Tensor, shortest: int) -> Ngrams:
    """Returns the n-grams of elements (…, k) for n from `shortest` to the number of factors.

    There is none where it would reach beyond the end of the unit.
    """
    sums, hashes, ends = factors[0] * elements, [], []
    for n in range(1, len(factors) + 1):
        last = elements[..., n - 1 :]  # the last element of the n-gram that starts at each position
        if n > 1:
            sums = sums[..., :-1] + factors[n - 1] * last
        if n >= shortest:
            hashes.append(sums)
            ends.append(last)
    return torch.cat(hashes, dim=-1), torch.cat(ends, dim=-1) > 0


def character_ngrams(elements: Tensor, factors: Tensor, shortest: int) -> Ngrams:
    """Returns the same as `byte_ngrams` for n-grams of characters, which start where a character starts."""
    elements = F.pad(elements, (0, 1))  # from the last character on, n-grams end here
    codes, sizes, is_start = characters_of(elements)
    places = torch.arange(elements.shape[-1], device=elements.device).expand_as(elements)
    sums, hashes, ends = torch.zeros_like(elements), [], []
    for n in range(1, len(factors) + 1):
        last = codes.gather(-1, places)  # the last character of the n-gram that starts at each position
        sums = sums + factors[n - 1] * last
        places = (places + sizes.gather(-1, places)).clamp(max=elements.shape[-1] - 1)
        if n >= shortest:
            hashes.append(sums)
            ends.append(last * is_start)
    return torch.cat(hashes, dim=-1), torch.cat(ends, dim=-1) > 0


def characters_of(elements: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the UTF-8 character at each place of elements (…, k): code point + 5, bytes, whether it starts there.

    A character is a byte and up to three continuation bytes behind it, so that every unit has some, UTF-8 or not.

    >>> codes, sizes, is_start = characters_of(torch.tensor([[byte + 5 for byte in "aé".encode()]]))
    >>> codes[is_start].tolist(), sizes[is_start].tolist()
    ([102, 238], [1, 2])
    """
    continues = (elements >= FIRST_CONTINUATION) & (elements <= LAST_CONTINUATION)
    codes, sizes, is_inside = elements, torch.ones_like(elements), torch.ones_like(continues)
    for num_behind, lead in enumerate((0xC0, 0x20, 0x10), start=1):  # what each longer form adds to its first byte
        is_inside = is_inside & F.pad(continues[..., num_behind:], (0, num_behind))
        following = F.pad(elements[..., num_behind:], (0, num_behind))
        # Both elements are 5 above their bytes, and the following byte has 0x80 beside its six bits.
        longer = 64 * codes + following - 64 * NUM_SPECIAL - 0x80 - lead * 64**num_behind
        codes, sizes = torch.where(is_inside, longer.clamp(1, MAX_CHARACTER), codes), sizes + is_inside
    return codes, sizes, ~continues
