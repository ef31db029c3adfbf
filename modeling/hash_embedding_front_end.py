"""The front end with a learned table of hashed n-grams and words.

Sources: fastText (Bojanowski et al., 2017) for n-grams with word borders; hash embeddings (Svenstrup et al., 2017) and
spaCy's HashEmbed for several hashes of a word in one table. The combination is ours.
"""
# mypy: no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods)

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .blocks import NUM_SPECIAL, check_positive
from .ngram_hashes import MODULUS, byte_ngrams, character_ngrams, hash_factors, hash_seeds, with_borders
from .unit_front_end import UnitFrontEnd

MAX_WORD_HASHES = 1024
MAX_CHARACTER_NGRAM = 8  # 8 · MAX_CHARACTER · MODULUS is below 2⁵³


class HashEmbedding(UnitFrontEnd):
    """Sum of table rows, found by hashes of the unit's n-grams and of the whole unit.

    1. The unit gets a mark before and a mark after its bytes.
    2. Each n-gram of n = `min_ngram` … `max_ngram` elements is hashed to one row of the table, and the whole unit to
       `num_word_hashes` rows.
    3. The rows are added and divided by the square root of their number. Layer norm follows.

    A special token has a row of its own in place of 1–3's sum. Unlike units may share rows: what they share less often
    tells them apart.

    A row is a hash of `ngram_hashes` modulo `num_rows`. With `characters`, n-grams are of characters of UTF-8, see
    `characters_of`, and the rows of ASCII units stay the same. The hashes of the whole unit read bytes in both modes.

    Args:
        num_rows: rows of the table.
        min_ngram: length of the shortest n-grams, in bytes or characters; a border mark counts as one.
        max_ngram: length of the longest n-grams.
        num_word_hashes: rows that the whole unit is hashed to.
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
        self.table = nn.Embedding(num_rows, embedding_size)
        self.special = nn.Embedding(NUM_SPECIAL, embedding_size)
        self.norm = nn.LayerNorm(embedding_size)
        self.add_constant("ngram_factors", hash_seeds, seed, max_ngram)
        self.add_constant("word_factors", hash_factors, seed, max_ngram, num_word_hashes, block_size + 2)

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
        return self.norm(torch.where(is_special, self.special(first.clamp(max=NUM_SPECIAL - 1)), sums))

    def rows_of(self, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the table rows of blocks (…, k), and which of them count: both (…, R), int64 and bool.

        Rows of n-grams that reach beyond the end of the unit do not count.
        """
        elements = with_borders(blocks)
        ngrams = character_ngrams if self.characters else byte_ngrams
        hashes, is_ngram = ngrams(elements, self.ngram_factors, self.min_ngram)
        words = (elements.unsqueeze(-2) * self.word_factors[:, : elements.shape[-1]]).sum(dim=-1)
        rows = torch.cat([hashes, words], dim=-1) % MODULUS % self.num_rows
        return rows, torch.cat([is_ngram, torch.ones_like(words, dtype=torch.bool)], dim=-1)
