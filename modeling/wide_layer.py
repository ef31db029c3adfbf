"""The wide part of a head: a linear layer over hashed words, pairs of words and n-grams of characters.

Sources: Wide & Deep (Cheng et al., 2016) for a linear model of sparse features beside a deep one; the hashing trick
(Weinberger et al., 2009); fastText (Joulin et al., 2017) for hashed pairs of words.
"""
# mypy: no-warn-return-any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import initialization as init

from .blocks import HasConstants
from .configuration_vocabless import VocablessConfig
from .front_ends import FRONT_ENDS
from .ngram_hashes import characters_of, hash_factors

NGRAM_SIZES = (3, 4, 5)  # characters; the empty place before a unit counts as one
WORD_COPIES = 3  # how often the row of a word or a pair is added
PRIME = 2**26 - 5  # the modulus of the hashes
ORDER = 2**25 + 35  # makes the hash of a pair another one than that of its units in the other order
SEED = 1  # of the factors; those of front ends come from other seeds


class WideLayer(HasConstants):
    """A linear layer over the hashed features of a text: blocks (B, S, K) → (B, outputs).

    1. Words: each unit is hashed to a row of the weights, and so is each pair of neighbours. Special tokens are units,
       too, so that the first word makes a pair with [CLS]; the last token makes one with nothing.
    2. Spelling, if the blocks hold letters: each n-gram of three to five characters of a unit is hashed to a row. The
       first ones begin at an empty place before the unit, and the last ones with its last character: they go on with
       empty places behind it. So they know where a unit begins and ends. Characters are bytes, unless those of the
       front end's n-grams are characters of UTF-8.
    3. The rows are added, those of words and of pairs three times, since a word has many n-grams. What comes from a
       unit that the text has n times is divided by n each time. All numbers of a text are divided by the root of the
       sum of their squares. So a text is a vector of about length 1, however long it is.

    Padding has no features. New weights are 0, so that they have no effect.

    The hash of a unit or n-gram is Σ c_i·e_i of its elements modulo `PRIME`, with random factors c_i; that of a pair
    is u·(v + `ORDER`), by the hashes of its units. A hash of 0 is no feature, and units are equal if their hashes are.
    All numbers stay below 2⁵³, so torch, ONNX and JavaScript compute the same.
    """

    factors: Tensor  # see `feature_factors`

    def __init__(self, config: VocablessConfig, num_rows: int, num_outputs: int) -> None:
        super().__init__()
        self.num_rows = num_rows
        self.weight = nn.Parameter(torch.zeros(num_rows, num_outputs))
        self.reads_letters = FRONT_ENDS[config.front_end].reads_letters
        self.reads_characters = bool(config.front_end_options.get("characters"))
        self.add_constant("factors", feature_factors, config.block_size, self.reads_letters)

    def init_parameter(self, parameter: Tensor, std: float) -> None:
        """Makes the weights 0."""
        init.zeros_(parameter)

    def forward(self, blocks: Tensor) -> Tensor:
        """Maps blocks (B, S, k), k ≤ K and all zeros after the longest unit, to (B, outputs)."""
        rows, numbers = self.features(blocks)
        numbers = numbers.to(self.weight.dtype)
        if torch.compiler.is_compiling():
            return (numbers.unsqueeze(-2) @ F.embedding(rows, self.weight)).sum(dim=(1, 2))
        # A bag of each token: adding up the equal numbers of a long text one by one would lose digits.
        of_tokens = F.embedding_bag(
            rows.flatten(0, 1), self.weight, per_sample_weights=numbers.flatten(0, 1), mode="sum"
        )
        return of_tokens.unflatten(0, rows.shape[:2]).sum(dim=1)

    def features(self, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the vectors of texts: for each token rows (B, S, R) int64, and their numbers (B, S, R) float32.

        The numbers of a row add up; they are 0 where a token has no such feature. `blocks` are (B, S, k) as for
        `forward`.
        """
        elements = blocks.long()
        if not torch.compiler.is_compiling():  # a graph cannot have a length that depends on values
            elements = elements[..., : max(1, int((elements.flatten(0, 1).amax(dim=0) > 0).sum()))]
        if self.reads_characters:
            elements = characters(elements)
        length = elements.shape[-1]
        # They begin at length + 1 places. Multiplied out, this is one operation less of a graph.
        num_ngrams = len(NGRAM_SIZES) * length + len(NGRAM_SIZES) if self.reads_letters else 0
        hashes = integer_product(elements, self.factors[:length, : 1 + num_ngrams]) % PRIME
        units = hashes[..., :1]
        pairs = units * (next_of(units) + ORDER)
        hashes = torch.cat([pairs] * WORD_COPIES + [units] * (WORD_COPIES - 1) + [hashes], dim=-1)
        numbers = (hashes > 0).float() / occurrences(units)
        norm = torch.linalg.vector_norm(numbers, dim=(1, 2), keepdim=True)  # 0 of padding alone, else above 1
        numbers = numbers / norm.clamp(min=1)
        return hashes % self.num_rows, numbers


def feature_factors(block_size: int, reads_letters: bool) -> Tensor:
    """Returns the factors of the elements of a unit for each of its hashes, (K, hashes) int64.

    First comes the hash of the unit. With letters, those of its n-grams follow: for the empty place before the unit
    and then for each of its places, one n-gram of each size that begins there.
    """
    of_unit = hash_factors(SEED, 0, block_size, 1)
    if not reads_letters:
        return of_unit % PRIME
    longest = max(NGRAM_SIZES)
    of_ngrams = hash_factors(SEED, block_size, longest, len(NGRAM_SIZES))
    of_ngrams = of_ngrams * (torch.arange(longest).unsqueeze(-1) < torch.tensor(NGRAM_SIZES))
    places = torch.arange(block_size).unsqueeze(-1) - torch.arange(-1, block_size)  # of an element in an n-gram
    is_inside = ((places >= 0) & (places < longest)).unsqueeze(-1)
    of_places = of_ngrams[places.clamp(0, longest - 1)] * is_inside
    return torch.cat([of_unit, of_places.flatten(1)], dim=1) % PRIME


def characters(elements: Tensor) -> Tensor:
    """Returns the UTF-8 characters of units, one after the other: code point + 5, (…, k); 0 behind the last one.

    >>> characters(torch.tensor([byte + 5 for byte in "été".encode()])).tolist()
    [238, 121, 238, 0, 0]
    """
    length = elements.shape[-1]
    codes, _, is_start = (found[..., :length] for found in characters_of(F.pad(elements, (0, 3))))
    places = is_start.long().cumsum(dim=-1) - 1
    numbers = torch.arange(length, device=elements.device).unsqueeze(-1)
    is_here = (places.unsqueeze(-2) == numbers) & is_start.unsqueeze(-2)  # (…, character, byte)
    return (is_here * codes.unsqueeze(-2)).sum(dim=-1)


def integer_product(elements: Tensor, factors: Tensor) -> Tensor:
    """Returns elements (…, k) times factors (k, n), both int64. Most accelerators multiply no matrices of integers."""
    if elements.device.type == "cpu":
        return elements @ factors
    return sum(elements[..., place : place + 1] * row for place, row in enumerate(factors))


def next_of(values: Tensor) -> Tensor:
    """Returns the value after each of the values (B, S, n), 0 after the last one."""
    return F.pad(values, (0, 0, 0, 1))[:, 1:]


def occurrences(units: Tensor) -> Tensor:
    """Returns how often each unit is in its text, (B, S, 1) float32, by the hashes of units (B, S, 1).

    >>> occurrences(torch.tensor([[[4], [2], [4], [4]]])).flatten().tolist()
    [3.0, 1.0, 3.0, 3.0]
    """
    return (units == units.transpose(1, 2)).float().sum(dim=-1, keepdim=True)
