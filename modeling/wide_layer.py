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
        rows, numbers = self.features(blocks)
        numbers = numbers.to(self.weight.dtype)
        if torch.compiler.is_compiling():
            return (numbers.unsqueeze(-2) @ F.embedding(rows, self.weight)).sum(dim=(1, 2))
        return F.embedding_bag(rows.flatten(1), self.weight, per_sample_weights=numbers.flatten(1), mode="sum")

    def features(self, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the vectors of texts: for each token rows (B, S, R) int64, and their numbers (B, S, R) float32.

        The numbers of a row add up; they are 0 where a token has no such feature. A unit that a text has n times has a
        share of 1/n each time. `blocks` are (B, S, k) as for `forward`.
        """
        blocks = blocks.long()
        if not torch.compiler.is_compiling():  # a graph cannot have a length that depends on values
            blocks = blocks[..., : max(1, int((blocks.flatten(0, 1).amax(dim=0) > 0).sum()))]
        is_unit = (blocks[..., 0] >= NUM_SPECIAL).float()
        sums = (blocks.unsqueeze(-2) * self.unit_factors[:, : blocks.shape[-1]]).sum(dim=-1)
        hashes = torch.stack([sums[..., 0], sums[..., 0] + next_of(sums[..., 1])], dim=-1)  # of units and pairs
        shares = torch.stack([is_unit, is_unit * next_of(is_unit)], dim=-1) / occurrences(hashes)
        numbers = of_length_1(shares)
        if self.reads_letters:
            ngrams, is_ngram = self.ngrams(with_borders(blocks), self.ngram_factors, SHORTEST_NGRAM)
            hashes = torch.cat([hashes, ngrams], dim=-1)
            numbers = torch.cat([numbers, of_length_1(is_ngram * shares[..., :1])], dim=-1) * 0.5**0.5
        return hashes % MODULUS % self.num_rows, numbers


def next_of(values: Tensor) -> Tensor:
    """Returns the value after each of the values (B, S), 0 after the last one."""
    return F.pad(values, (0, 1))[:, 1:]


def occurrences(hashes: Tensor) -> Tensor:
    """Returns how often each hash is in its column of its text, (B, S, n).

    >>> occurrences(torch.tensor([[[4], [2], [4], [4]]])).squeeze().tolist()
    [3, 1, 3, 3]
    """
    return (hashes.unsqueeze(1) == hashes.unsqueeze(2)).sum(dim=2)


def of_length_1(shares: Tensor) -> Tensor:
    """Returns the shares of each text, (B, S, n), divided by the root of their sum; 0 if there are none."""
    return shares / shares.sum(dim=(1, 2), keepdim=True).clamp(min=1).sqrt()
