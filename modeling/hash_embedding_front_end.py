"""The front end with a learned table of hashed n-grams and words.

Sources: fastText (Bojanowski et al., 2017) for n-grams with word borders; hash embeddings (Svenstrup et al., 2017) and
spaCy's HashEmbed for several hashes of a word in one table. The combination is ours.
"""
# mypy: no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods)

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .blocks import NUM_SPECIAL, check_positive
from .ngram_front_ends import MODULUS, hash_seeds
from .unit_front_end import UnitFrontEnd

BEGIN, END = 1, 2  # elements that mark the borders of a unit; no unit contains them
MAX_WORD_HASHES = 1024
MAX_CHARACTER = 0x10FFFF + NUM_SPECIAL  # the last code point
MAX_CHARACTER_NGRAM = 8  # 8 · MAX_CHARACTER · MODULUS is below 2⁵³
FIRST_CONTINUATION, LAST_CONTINUATION = 0x80 + NUM_SPECIAL, 0xBF + NUM_SPECIAL  # bytes inside a UTF-8 character


class HashEmbedding(UnitFrontEnd):
    """Sum of table rows, found by hashes of the unit's n-grams and of the whole unit.

    1. The unit gets a mark before and a mark behind its bytes.
    2. Each n-gram of n = `min_ngram` … `max_ngram` elements is hashed to one row of the table, and the whole unit to
       `num_word_hashes` rows.
    3. The rows are added and divided by the square root of their number. Layer norm follows.
    4. With `mlp_size`, a two-layer MLP of that width is added to the result (a residual connection).

    A special token has a row of its own in place of 1–3's sum. Unlike units may share rows: what they share less often
    tells them apart.

    The hash of elements e_1 … e_n is (Σ c_i·e_i mod P) mod `num_rows`, P = 10⁹ + 7, with fixed random c_i: multilinear
    hashing. All intermediate results stay below 2⁵³.

    With `characters`, n-grams are of characters of UTF-8, a byte and up to three continuation bytes behind it. A
    character's element is its code point + 5, so the rows of ASCII units are the same in both modes. The hashes of the
    whole unit read bytes in both.

    Args:
        num_rows: rows of the table.
        min_ngram: length of the shortest n-grams, in bytes or characters; a border mark counts as one.
        max_ngram: length of the longest n-grams.
        num_word_hashes: rows that the whole unit is hashed to.
        mlp_size: width of the MLP; 0 leaves it out.
        seed: seed of the generator that the c_i come from.
        characters: whether n-grams are of characters instead of bytes.
    """

    ngram_factors: Tensor  # c_i of the n-grams, (max_ngram,) int64
    word_factors: Tensor  # c_i of the whole unit, (num_word_hashes, K + 2) int64
    hash_dtype = np.int32

    def __init__(
        self,
        block_size: int,
        embedding_size: int,
        *,
        num_rows: int = 8192,
        min_ngram: int = 2,
        max_ngram: int = 5,
        num_word_hashes: int = 3,
        mlp_size: int = 0,
        seed: int = 0,
        characters: bool = False,
    ) -> None:
        super().__init__(block_size, embedding_size)
        self.num_rows = check_positive("num_rows", num_rows)
        self.min_ngram = check_positive("min_ngram", min_ngram)
        self.max_ngram = check_positive("max_ngram", max_ngram)
        self.num_word_hashes = check_positive("num_word_hashes", num_word_hashes, MAX_WORD_HASHES)
        self.characters = characters
        if characters:
            check_positive("max_ngram", max_ngram, MAX_CHARACTER_NGRAM)
        self.traced_length = max_ngram
        if not min_ngram <= max_ngram <= block_size:
            raise ValueError(
                f"the front end got min_ngram={min_ngram} and max_ngram={max_ngram}; give min_ngram ≤ max_ngram ≤ "
                f"block_size = {block_size}."
            )
        if mlp_size != 0:
            check_positive("mlp_size", mlp_size)
        self.table = nn.Embedding(num_rows, embedding_size)
        self.special = nn.Embedding(NUM_SPECIAL, embedding_size)
        self.norm = nn.LayerNorm(embedding_size)
        self.mlp = (
            nn.Sequential(nn.Linear(embedding_size, mlp_size), nn.GELU(), nn.Linear(mlp_size, embedding_size))
            if mlp_size
            else None
        )
        self.add_constant("ngram_factors", hash_seeds, seed, max_ngram)
        self.add_constant("word_factors", word_factors, seed, max_ngram, num_word_hashes, block_size + 2)

    def embed_units(self, blocks: Tensor) -> Tensor:
        rows, is_row = self.rows_of(blocks)
        sums = (self.table(rows) * is_row.unsqueeze(-1).to(self.table.weight.dtype)).sum(dim=-2)
        return self._normalise(sums, is_row.sum(dim=-1), blocks)

    def hash_units(self, units: Tensor) -> tuple[Tensor, Tensor]:
        rows, is_row = self.rows_of(units)
        return rows[is_row].int(), is_row.sum(dim=-1)

    def embed_hashes(self, hashes: Tensor, counts: Tensor, units: Tensor) -> Tensor:
        starts = counts.cumsum(0) - counts
        places = torch.arange(len(hashes), device=hashes.device)
        sums = F.embedding_bag(places, self.table(hashes), starts, mode="sum")
        return self._normalise(sums, counts, units)

    def _normalise(self, sums: Tensor, counts: Tensor, blocks: Tensor) -> Tensor:
        """Maps sums of rows, their numbers, (…), and the blocks, (…, k), to embeddings; see the class."""
        first = blocks[..., 0]
        is_special = (first < NUM_SPECIAL).unsqueeze(-1)
        sums = sums / counts.unsqueeze(-1).sqrt().to(sums.dtype)
        embeddings = self.norm(torch.where(is_special, self.special(first.clamp(max=NUM_SPECIAL - 1)), sums))
        return embeddings if self.mlp is None else embeddings + self.mlp(embeddings)

    def rows_of(self, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the table rows of blocks (…, k), and which of them count: both (…, R), int64 and bool.

        Rows of n-grams that reach beyond the end of the unit do not count.
        """
        elements = self._with_borders(blocks)
        rows, is_row = self._character_ngrams(elements) if self.characters else self._byte_ngrams(elements)
        words = (elements.unsqueeze(-2) * self.word_factors[:, : elements.shape[-1]]).sum(dim=-1)
        rows.append(words % MODULUS % self.num_rows)
        is_row.append(torch.ones_like(words, dtype=torch.bool))
        return torch.cat(rows, dim=-1), torch.cat(is_row, dim=-1)

    def _byte_ngrams(self, elements: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Returns for each n the rows of the n-grams of elements (…, k), and which of them lie inside the unit."""
        hashes, rows, is_row = torch.zeros_like(elements), [], []
        for n in range(1, self.max_ngram + 1):
            last = elements[..., n - 1 :]  # the last element of the n-gram that starts at each position
            hashes = hashes[..., : last.shape[-1]] + self.ngram_factors[n - 1] * last
            if n >= self.min_ngram:
                rows.append(hashes % MODULUS % self.num_rows)
                is_row.append(last > 0)
        return rows, is_row

    def _character_ngrams(self, elements: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Returns the same as `_byte_ngrams` for n-grams of characters, which start where a character starts."""
        elements = F.pad(elements, (0, 1))  # from the last character on, n-grams end here
        codes, sizes, is_start = characters_of(elements)
        places = torch.arange(elements.shape[-1], device=elements.device).expand_as(elements)
        hashes, rows, is_row = torch.zeros_like(elements), [], []
        for n in range(1, self.max_ngram + 1):
            last = codes.gather(-1, places)  # the last character of the n-gram that starts at each position
            hashes = hashes + self.ngram_factors[n - 1] * last
            places = (places + sizes.gather(-1, places)).clamp(max=elements.shape[-1] - 1)
            if n >= self.min_ngram:
                rows.append(hashes % MODULUS % self.num_rows)
                is_row.append((last > 0) & is_start)
        return rows, is_row

    def _with_borders(self, blocks: Tensor) -> Tensor:
        """Returns blocks (…, k) with the marks around each unit, (…, k + 2)."""
        elements = F.pad(blocks, (1, 1))
        places = torch.arange(elements.shape[-1], device=blocks.device)
        end = (blocks > 0).sum(dim=-1, keepdim=True) + 1
        return torch.where(places == 0, BEGIN, torch.where(places == end, END, elements))


def word_factors(seed: int, start: int, *shape: int) -> Tensor:
    """Returns the numbers of the stream of `seed` from place `start` on."""
    return hash_seeds(seed, start + math.prod(shape))[start:].view(shape)


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
