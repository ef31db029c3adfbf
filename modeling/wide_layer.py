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

    1. Words: each distinct unit of the text is hashed to a row of the weights, and so is each distinct pair of
       neighbouring units.
    2. Spelling, if the blocks hold letters: each n-gram of three to five characters of a distinct unit with its border
       marks is hashed to a row, too. Characters are bytes, unless those of the front end's n-grams are characters of
       UTF-8.
    3. The rows of the words are added and divided by the root of their number, and so are those of the spelling. With
       both, their sum is divided by the root of two. So a text is a vector of about length 1, however long it is.

    Special tokens and padding are no units, and no pair goes across them. Without units the output is 0. New weights
    are 0, so that they have no effect.

    The hash of a pair is that of the elements of both units, multilinear as in `ngram_hashes`. Units and pairs are
    distinct if their hashes are, before these are reduced to rows.
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
        """Maps blocks (B, S, k), k ≤ K and all zeros after the longest unit, to (B, outputs)."""
        rows, shares = self.features(blocks)
        shares = shares.to(self.weight.dtype)
        if torch.compiler.is_compiling():
            return (shares.unsqueeze(1) @ F.embedding(rows, self.weight)).squeeze(1)
        return F.embedding_bag(rows, self.weight, per_sample_weights=shares, mode="sum")

    def features(self, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the vectors of texts: rows (B, R) int64, and their numbers (B, R) float32, 0 where there is none.

        The numbers of a row add up. `blocks` are (B, S, k) as for `forward`.
        """
        blocks = blocks.long()
        if not torch.compiler.is_compiling():  # a graph cannot have a length that depends on values
            blocks = blocks[..., : max(1, int((blocks.flatten(0, 1).amax(dim=0) > 0).sum()))]
        is_unit = blocks[..., 0] >= NUM_SPECIAL
        sums = (blocks.unsqueeze(-2) * self.unit_factors[:, : blocks.shape[-1]]).sum(dim=-1)
        first, second = sums.unbind(dim=-1)
        words = torch.cat([first, first + next_of(second)], dim=1)
        is_word = torch.cat([is_unit, is_unit & (next_of(is_unit.long()) > 0)], dim=1)
        is_new = is_word & first_places(words)
        hashes, shares = [words], [shares_of(is_new)]
        if self.reads_letters:
            ngrams, is_ngram = self.ngrams(with_borders(blocks), self.ngram_factors, SHORTEST_NGRAM)
            of_new = torch.cat(is_ngram, dim=-1) & is_new[:, : blocks.shape[1], None]
            hashes.append(torch.cat(ngrams, dim=-1).flatten(1))
            shares = [half * 0.5**0.5 for half in (*shares, shares_of(of_new.flatten(1)))]
        return torch.cat(hashes, dim=1) % MODULUS % self.num_rows, torch.cat(shares, dim=1)


def next_of(values: Tensor) -> Tensor:
    """Returns the value after each of the values (B, S), 0 after the last one."""
    return F.pad(values, (0, 1))[:, 1:]


def first_places(hashes: Tensor) -> Tensor:
    """Returns whether a hash has its first place in its row, (B, R) bool.

    >>> first_places(torch.tensor([[4, 2, 4, 2]])).tolist()
    [[True, True, False, False]]
    """
    places = torch.arange(hashes.shape[1], device=hashes.device)
    is_earlier = places < places.unsqueeze(-1)
    return ~((hashes.unsqueeze(1) == hashes.unsqueeze(2)) & is_earlier).any(dim=-1)


def shares_of(is_feature: Tensor) -> Tensor:
    """Returns 1 / √(number of features) for each feature (B, R) bool, 0 elsewhere."""
    present = is_feature.float()
    return present / present.sum(dim=1, keepdim=True).clamp(min=1).sqrt()
