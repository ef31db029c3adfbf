"""The wide part of a head: a linear layer over hashed words, pairs of words and n-grams of characters.

Sources: Wide & Deep (Cheng et al., 2016) for a linear model of sparse features beside a deep one; the hashing trick
(Weinberger et al., 2009); fastText (Joulin et al., 2017) for hashed pairs of words; ModDrop (Neverova et al., 2016) for
leaving out a whole part in training.
"""
# mypy: no-warn-return-any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import initialization as init

from .blocks import HasConstants, attention_mask_of
from .configuration_vocabless import VocablessConfig
from .front_ends import FRONT_ENDS
from .ngram_hashes import characters_of, hash_factors

NGRAM_SIZES = (3, 4)  # characters
HASHES_PER_PLACE = 1 + len(NGRAM_SIZES)  # what begins at a place of a unit: all the rest, and an n-gram of each size
WORD_COPIES = 3  # how often the row of a word or a pair is added
WORDLESS = 0.25  # share of the texts that lack a wide part in training
PRIME = 2**26 - 5  # the modulus of the hashes
ORDER = 2**25 + 35  # makes the hash of a pair another one than that of its units in the other order
SEED = 1  # of the factors; those of front ends come from other seeds


class WideLayer(HasConstants):
    """A linear layer over the hashed features of a text: blocks (B, S, K) → (B, outputs).

    1. Words: each unit is hashed to a row of the weights, and so is each pair of neighbours. Special tokens are units,
       too, so that the first word makes a pair with [CLS]; the last token makes one with nothing.
    2. Spelling, if the blocks hold letters: from each character of a unit on, the next three and the next four are
       hashed to rows, and so is all the rest of the unit. N-grams know where a unit begins and ends: those of the
       first character have factors of their own, and the last ones go on with empty places behind the unit. Characters
       are bytes, unless those of the front end's n-grams are characters of UTF-8.
    3. The rows are added, those of words and of pairs three times, since a word has many n-grams. What comes from a
       unit that the text has n times is divided by n each time. The sum is divided by the root of the number of tokens,
       so that the length of a text matters little.

    Padding has no features. New weights are 0, so that they have no effect. In training, the outputs of a quarter
    of the texts are 0, drawn at random: where the words know the label, the encoder would learn nothing from a text.

    The hash of a unit, a rest or an n-gram is Σ c_i·e_i of its elements modulo `PRIME`, with random factors c_i; that
    of a pair is u·(v + `ORDER`), by the hashes of its units. Units are equal if their hashes are. The row of a hash is
    the hash modulo the number of rows. (Sums modulo the number of rows alone would not do: where two n-grams share a
    row, all their neighbours would.) Row 0 stands for nothing; its weights are 0. All numbers stay below 2⁵³, so torch,
    ONNX and JavaScript compute the same.
    """

    factors: Tensor  # see `feature_factors`

    def __init__(self, config: VocablessConfig, num_rows: int, num_outputs: int) -> None:
        super().__init__()
        self.num_rows = num_rows
        self.weight = nn.Parameter(torch.zeros(num_rows, num_outputs))
        self.reads_characters = bool(config.front_end_options.get("characters"))
        self.add_constant("factors", feature_factors, config.block_size, FRONT_ENDS[config.front_end].reads_letters)

    def init_parameter(self, parameter: Tensor, std: float) -> None:
        """Makes the weights 0."""
        init.zeros_(parameter)

    def forward(self, blocks: Tensor, num_tokens: Tensor | None = None) -> Tensor:
        """Maps blocks (B, S, k), k ≤ K and all zeros after the longest unit, to (B, outputs).

        `num_tokens` is (B, 1), if the number of tokens of each text is known already.
        """
        rows, counts = self.rows(blocks)
        if torch.compiler.is_compiling() or len(rows) == 1:  # for one text, bags take longer
            of_tokens = F.embedding(rows, self.weight, padding_idx=0).sum(dim=2)
        else:
            nothing = 0 if torch.is_grad_enabled() else None  # row 0 must get no gradient; without one, this is faster
            bags = F.embedding_bag(rows.flatten(0, 1), self.weight, mode="sum", padding_idx=nothing)
            of_tokens = bags.unflatten(0, rows.shape[:2])
        outputs = (of_tokens / counts).sum(dim=1)
        num_tokens = num_tokens_of(blocks) if num_tokens is None else num_tokens
        outputs = (outputs / num_tokens.sqrt()).to(self.weight.dtype)
        return outputs if not self.training else outputs * (torch.rand_like(outputs[:, :1]) >= WORDLESS)

    def features(self, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the vectors of texts: for each token rows (B, S, R) int64, and their numbers (B, S, R) float32.

        The numbers of a row add up; those of row 0 are 0. `blocks` are (B, S, k) as for `forward`.
        """
        rows, counts = self.rows(blocks)
        return rows, (rows > 0) / counts / num_tokens_of(blocks).sqrt().unsqueeze(-1)

    def rows(self, blocks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the rows of each token, (B, S, R) int64, and how often its text has the same unit, (B, S, 1)."""
        elements = blocks.long()
        if not torch.compiler.is_compiling():  # a graph cannot have a length that depends on values
            elements = elements[..., : max(1, len(elements.amax(dim=(0, 1)).nonzero()))]
        if self.reads_characters:
            elements = characters(elements)
        length = elements.shape[-1]
        hashes = integer_product(elements, self.factors[:length, : HASHES_PER_PLACE * length]) % PRIME
        units = hashes[..., :1]
        following = torch.constant_pad_nd(units, (0, 0, -1, 1))  # 0 after the last one; `F.pad` with less overhead
        pairs = units * (following + ORDER)
        hashes = torch.cat([pairs] * WORD_COPIES + [units] * (WORD_COPIES - 1) + [hashes], dim=-1)
        return hashes % self.num_rows, (units == units.transpose(1, 2)).float().sum(dim=-1, keepdim=True)


def num_tokens_of(blocks: Tensor) -> Tensor:
    """Returns the number of tokens of each text, (B, 1) float32, at least 1."""
    return attention_mask_of(blocks).float().sum(dim=1, keepdim=True).clamp(min=1)


def feature_factors(block_size: int, reads_letters: bool) -> Tensor:
    """Returns the factors of the elements of a unit for each of its hashes, (K, hashes) int64.

    With letters, these are for each place of the unit the hash of the rest from there on, and one of the n-gram of each
    size that begins there. The first of all is the hash of the unit.
    """
    of_rest = hash_factors(SEED, 0, block_size, 1) % PRIME
    if not reads_letters:
        return of_rest
    is_inside = torch.arange(block_size).unsqueeze(-1) < torch.tensor(NGRAM_SIZES)
    of_first, of_others = hash_factors(SEED, block_size, 2, block_size, len(NGRAM_SIZES)) % PRIME * is_inside
    places = torch.arange(block_size).unsqueeze(-1) - torch.arange(block_size)  # of an element, after the first one
    of_places = torch.cat([of_rest, of_others], dim=1)[places.clamp(min=0)] * (places >= 0).unsqueeze(-1)
    of_places[:, 0, 1:] = of_first
    return of_places.flatten(1)


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
    """Returns elements (…, k) times factors (k, n), both int64, with sums below 2⁵³.

    On a CPU they are multiplied as float64, which is exact and 2 to 16 times as fast. Most accelerators multiply no
    matrices of integers or of float64.
    """
    if elements.device.type != "cpu":
        return sum(elements[..., place : place + 1] * row for place, row in enumerate(factors))
    if torch.compiler.is_compiling():  # a graph may be quantised
        return elements @ factors
    return (elements.double() @ factors.double()).long()
