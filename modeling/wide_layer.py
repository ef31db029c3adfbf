"""The wide part of a head: a linear layer over hashed words, pairs of words and n-grams of characters.

Sources: Wide & Deep (Cheng et al., 2016) for a linear model of sparse features beside a deep one; the hashing trick
(Weinberger et al., 2009); fastText (Joulin et al., 2017) for hashed pairs of words.
"""
# mypy: no-warn-return-any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import initialization as init

from .blocks import NUM_SPECIAL, HasConstants
from .configuration_vocabless import VocablessConfig
from .front_ends import FRONT_ENDS
from .ngram_front_ends import MODULUS
from .ngram_hashes import byte_ngrams, character_ngrams, hash_factors, with_borders

SHORTEST_NGRAM, LONGEST_NGRAM = 3, 5  # characters; a border mark counts as one
SEED = 1  # of the factors; those of front ends come from other seeds


class WideLayer(HasConstants):
    """A linear layer over the hashed features of a text: blocks (B, S, K) → (B, outputs).

    1. Words: each unit is hashed to a row of the weights, and so is each pair of neighbouring units.
    2. Spelling, if the blocks hold letters: each n-gram of three to five characters of a unit with its border marks is
       hashed to a row, too. Characters are bytes, unless those of the front end's n-grams are characters of UTF-8.
    3. A text is a vector of length 1. Words are one half of it, spelling the other; of a half, each row that is hit has
       the same number, however often it is hit.
    4. The output is this vector times the weights, (rows, outputs).

    Special tokens and padding are no units, and no pair goes across them. Without units the output is 0. New weights
    are 0, so that they have no effect.

    The hash of a pair is that of the elements of both units, multilinear as in `ngram_hashes`.
    """

    unit_factors: Tensor  # c_i of a unit, the first of a pair, and those of the second, (2, K) int64
    ngram_factors: Tensor  # (LONGEST_NGRAM,) int64

    def __init__(self, config: VocablessConfig, num_rows: int, num_outputs: int) -> None:
        super().__init__()
        self.num_rows = num_rows
        self.weight = nn.Parameter(torch.zeros(num_rows, num_outputs))
        self.reads_letters = FRONT_ENDS[config.front_end].reads_letters
        self.ngrams = character_ngrams if config.front_end_options.get("characters") else byte_ngrams
        self.add_constant("ngram_factors", hash_factors, SEED, 0, LONGEST_NGRAM)
        self.add_constant("unit_factors", hash_factors, SEED, LONGEST_NGRAM, 2, config.block_size)

    def init_parameter(self, parameter: Tensor, std: float) -> None:
        """Makes the weights 0."""
        init.zeros_(parameter)

    def forward(self, blocks: Tensor) -> Tensor:
        """Maps blocks (B, S, k), k ≤ K and all zeros behind the longest unit, to (B, outputs)."""
        rows, shares = self.features(blocks)
        shares = shares.to(self.weight.dtype)
        if torch.compiler.is_compiling():
            return (shares.unsqueeze(1) @ F.embedding(rows, self.weight)).squeeze(1)
        return F.embedding_bag(rows, self.weight, per_sample_weights=shares, mode="sum")

    def features(self, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the vectors of texts: rows (B, R) int64 and their numbers (B, R) float32, 0 for repetitions.

        `blocks` are (B, S, k) as for `forward`.
        """
        blocks = blocks.long()
        if not torch.compiler.is_compiling():  # a graph cannot have a length that depends on values
            blocks = blocks[..., : max(1, int((blocks.flatten(0, 1).amax(dim=0) > 0).sum()))]
        is_unit = blocks[..., 0] >= NUM_SPECIAL
        first, second = ((blocks * factors[: blocks.shape[-1]]).sum(dim=-1) for factors in self.unit_factors)
        hashes = [first, first + next_of(second)]
        is_feature = [is_unit, is_unit & (next_of(blocks[..., 0]) >= NUM_SPECIAL)]
        sizes = [2 * blocks.shape[1]]
        if self.reads_letters:
            ngrams, is_ngram = self.ngrams(with_borders(blocks), self.ngram_factors, SHORTEST_NGRAM)
            hashes += [each.flatten(1) for each in ngrams]
            is_feature += [(each & is_unit.unsqueeze(-1)).flatten(1) for each in is_ngram]
            sizes.append(sum(each.shape[1] for each in hashes[2:]))
        rows = torch.cat(hashes, dim=1) % MODULUS % self.num_rows
        is_first = first_places(rows, torch.cat(is_feature, dim=1), self.num_rows)
        halves = is_first.float().split(sizes, dim=1)
        shares = [half / (len(sizes) * half.sum(dim=1, keepdim=True)).clamp(min=1).sqrt() for half in halves]
        return rows, torch.cat(shares, dim=1)


def next_of(values: Tensor) -> Tensor:
    """Returns what stands behind each of the values (B, S), 0 behind the last one."""
    return F.pad(values, (0, 1))[:, 1:]


def first_places(rows: Tensor, counts: Tensor, num_rows: int) -> Tensor:
    """Returns which places of rows (B, R) hold a row for the only time that counts, (B, R) bool.

    Of the places of a row, the last one counts; `counts` (B, R) bool says which places take part.

    >>> first_places(torch.tensor([[4, 2, 4, 2]]), torch.tensor([[True, True, True, False]]), 8).tolist()
    [[False, True, True, False]]
    """
    places = torch.arange(1, rows.shape[1] + 1, device=rows.device) * counts
    last = places.new_zeros(rows.shape[0], num_rows).scatter_reduce(1, rows, places, "amax")
    return (last.gather(1, rows) == places) & counts
