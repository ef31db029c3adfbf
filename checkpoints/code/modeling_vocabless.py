# Generated from files of modeling/ in the package vocabless. Do not edit.

"""The models: a Hugging Face encoder with a front end in place of its word embeddings, and heads for the usual tasks.

`VocablessModel` builds the stock encoder, removes its word table and passes embeddings to it as `inputs_embeds`. The
heads work with every encoder. They have as many parameters as the stock heads, to agree with published counts.
"""

import hashlib
import importlib
import inspect
import math
import numpy as np
import os
import re
import sys
import torch
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from math import log
from numpy.typing import NDArray
from pathlib import Path
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel, initialization as init
from transformers.modeling_outputs import (
    BaseModelOutput,
    MaskedLMOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.utils import CONFIG_NAME, SAFE_WEIGHTS_NAME, logging
from transformers.utils.generic import can_return_tuple
from typing import Any, NamedTuple, cast
from .configuration_vocabless import LIMITS, TYPE_ERRORS, VocablessConfig, check_limits


# ---- blocks.py -------------------------------------------------------------------------------------------------------
# Blocks as the models read them, and the base class of the front ends.
#
# A token is a block of K elements. An element is a byte value + 5, or the id of a special token, 0–4. A special token is
# the block [id, 0, …, 0]. A unit shorter than K bytes is padded with zeros; a block of zeros alone is a padding token.

NUM_SPECIAL = 5
SPECIAL_NAMES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SEP = SPECIAL_NAMES.index("[SEP]")
NUM_ELEMENTS = NUM_SPECIAL + 256
MAX_ROWS = 1 << 24  # of a table of a front end


class HasConstants(nn.Module):
    """Base class of the modules with buffers that no checkpoint holds."""

    def __init__(self) -> None:
        super().__init__()
        self._constants: dict[str, tuple[Callable[..., Tensor], tuple[Any, ...]]] = {}

    def add_constant(self, name: str, make: Callable[..., Tensor], *arguments: Any) -> None:
        """Adds the buffer `make(*arguments)`, which no checkpoint holds."""
        self._constants[name] = make, arguments
        self.register_buffer(name, make(*arguments), persistent=False)

    def init_weights(self, std: float) -> None:
        """Initialises the parameters and constants of this module itself, not those of its submodules.

        A model that is loaded is first built without values, so the constants are made again here.
        """
        for name, (make, arguments) in self._constants.items():
            init.copy_(getattr(self, name), make(*arguments))
        for parameter in self.parameters(recurse=False):
            self.init_parameter(parameter, std)

    def init_parameter(self, parameter: Tensor, std: float) -> None:
        """Initialises a parameter with random numbers of this standard deviation."""
        init.normal_(parameter, std=std)


class FrontEnd(HasConstants):
    """Base class of the front ends: `forward` maps blocks (B, S, K) int64, values 0–260, to embeddings (B, S, D).

    `block_size` is K, `embedding_size` D. The options of a front end are the keyword-only arguments of its `__init__`.
    """

    max_tokens: int | None = None  # maximum sequence length; None is no limit
    embeds_by_place = False  # whether the embedding of a token depends on its place or on its neighbours
    reads_letters = True  # whether the elements of a block are letters, not the bytes of a digest

    def __init__(self, block_size: int, embedding_size: int) -> None:
        super().__init__()
        self.block_size, self.embedding_size = block_size, embedding_size
        # No parameter, and no memory: its rows are the values of an element. Libraries such as PEFT compare the rows of
        # a word table with `len(tokenizer)`. A front end may have a parameter of this name instead.
        self.weight: Any = torch.zeros((), device="cpu").expand(NUM_ELEMENTS, embedding_size)

    def check_encoder(self, config: PreTrainedConfig) -> None:
        """Raises ValueError if the encoder of this configuration does not fit the front end. By default all fit."""


def to_bytes(blocks: Tensor) -> Tensor:
    """Maps elements 0–260 to byte values 0–255; special tokens and padding become 0."""
    return (blocks - NUM_SPECIAL).clamp(min=0)


def attention_mask_of(blocks: Tensor) -> Tensor:
    """Returns True for tokens and False for padding, (…, S) bool. Only padding blocks begin with 0.

    >>> attention_mask_of(torch.tensor([[[2, 0], [102, 120], [3, 0], [0, 0]]])).tolist()
    [[True, True, True, False]]
    """
    return blocks[..., 0] > 0


def token_type_ids_of(blocks: Tensor) -> Tensor:
    """Returns 1 for the tokens after the first [SEP], which are those of the second text, else 0; (…, S) int64.

    >>> token_type_ids_of(torch.tensor([[[2, 0], [102, 120], [3, 0], [102, 0], [3, 0], [0, 0]]])).tolist()
    [[0, 0, 0, 1, 1, 0]]
    """
    is_sep = (blocks[..., 0] == SEP).long()
    is_behind_sep = is_sep.cumsum(dim=-1) > is_sep  # more [SEP]s up to here than this token itself
    return (is_behind_sep & attention_mask_of(blocks)).long()


def check_blocks(blocks: Tensor, block_size: int) -> None:
    """Checks that `blocks` is an integer tensor (batch, seq, block_size) with values 0–260.

    Values are checked on the CPU only: on an accelerator the check would make the CPU wait for it.

    Raises:
        ValueError: wrong rank, K or dtype, no token, or a value out of range.
    """
    if blocks.ndim != 3 or blocks.shape[-1] != block_size:
        raise ValueError(
            f"input_ids has shape {tuple(blocks.shape)}; blocks have shape (batch, seq, {block_size}): "
            "use the tokenizer that was saved with this model."
        )
    if blocks.is_floating_point():
        raise ValueError(
            f"input_ids is {blocks.dtype}; blocks are integers 0–{NUM_ELEMENTS - 1}, pass embeddings as inputs_embeds."
        )
    if blocks.device.type == "cpu" and not torch.compiler.is_compiling():
        if not blocks.numel():
            raise ValueError(f"input_ids has shape {tuple(blocks.shape)} and holds no token; give at least one text.")
        low, high = (int(value) for value in blocks.aminmax())
        if low < 0 or high >= NUM_ELEMENTS:
            raise ValueError(
                f"input_ids contains {low if low < 0 else high}; elements of a block are 0–{NUM_ELEMENTS - 1}: "
                "use the tokenizer that was saved with this model."
            )


def check_positive(name: str, value: int, limit: int = MAX_ROWS) -> int:
    """Returns an option of the front end, called `name`. Raises ValueError if it is no integer from 1 to `limit`."""
    if type(value) is not int or not 1 <= value <= limit:
        raise ValueError(f"the front end got {name}={value!r}; give an integer from 1 to {limit}.")
    return value


# ---- digest_front_ends.py --------------------------------------------------------------------------------------------
# Front ends that read a block as a digest: one integer of 8·K bits, or T bits, the most significant bit first.
#
# Source: HashFormers 3.2–3.5; ProFormer (Sankar et al., 2021) for `Linear`.

MAX_CODEWORD_BITS = 24  # the codebook has 2 to this power rows
DROPOUT = 0.1


class Bucket(FrontEnd):
    """Looks up row v mod N of a table, where v is the block as a big-endian integer, and N is `num_buckets`.

    The table has five more rows, one for each special token. Source: HashFormers 3.1; 3.2 for MD5, 3.3 for LSH.
    """

    reads_letters = False

    def __init__(self, block_size: int, embedding_size: int, *, num_buckets: int = 50_260) -> None:
        super().__init__(block_size, embedding_size)
        self.num_buckets = check_positive("num_buckets", num_buckets)
        self.embeddings = nn.Embedding(NUM_SPECIAL + num_buckets, embedding_size)

    def forward(self, blocks: Tensor) -> Tensor:
        first = blocks[..., 0]
        data = to_bytes(blocks)
        bucket = data[..., 0] % self.num_buckets
        for position in range(1, self.block_size):  # Horner's rule: every step fits into 64 bits
            bucket = (bucket * 256 + data[..., position]) % self.num_buckets
        return self.embeddings(torch.where(first < NUM_SPECIAL, first, bucket + NUM_SPECIAL))


class BitFrontEnd(FrontEnd):
    """Base class of the front ends that read T bits; T, `num_bits`, is from 8K − 7 to 8K."""

    reads_letters = False
    bits_of_bytes: Tensor  # a lookup takes a tenth of the time of shifts

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int) -> None:
        super().__init__(block_size, embedding_size)
        if -(-check_positive("num_bits", num_bits) // 8) != block_size:
            raise ValueError(
                f"num_bits={num_bits} does not fit blocks of {block_size} bytes; "
                f"give {8 * block_size - 7} to {8 * block_size} bits, or block_size={-(-num_bits // 8)}."
            )
        self.num_bits = num_bits
        self.add_constant("bits_of_bytes", bits_of_bytes)

    def unpack_bits(self, data: Tensor) -> Tensor:
        """Maps bytes (…, K) int64, values 0–255, to their first T bits, (…, T) uint8."""
        return F.embedding(data, self.bits_of_bytes).flatten(start_dim=-2)[..., : self.num_bits]


class DigestFrontEnd(BitFrontEnd):
    """Base class of the front ends of HashFormers 3.4: a function of the bits plus a learned row for the kind of token.

    `token_kinds` has one row for each special token, which is the token's whole embedding, and a sixth row that is
    added to every ordinary token. The authors' code has this sixth row too, so Table 2 of HashFormers counts one row
    more than equations (13)–(15).
    """

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int = 128) -> None:
        super().__init__(block_size, embedding_size, num_bits=num_bits)
        self.token_kinds = nn.Embedding(NUM_SPECIAL + 1, embedding_size)

    def forward(self, blocks: Tensor) -> Tensor:
        kind = blocks[..., 0].clamp(max=NUM_SPECIAL)
        embeddings = self.embed_bits(self.unpack_bits(to_bytes(blocks)))
        return self.token_kinds(kind) + embeddings * (kind == NUM_SPECIAL).unsqueeze(-1)

    def embed_bits(self, bits: Tensor) -> Tensor:
        """Maps bits, (B, S, T) uint8 in {0, 1}, to (B, S, D)."""
        raise NotImplementedError


class Pool(DigestFrontEnd):
    """Looks up codewords c_j of k bits in a codebook B and sums them with learned weights: Σ_j B[c_j] ⊙ softmax(W)_j.

    `num_bits` is T, `codeword_bits` k. If k does not divide T, the last codeword is shorter: T = 128, k = 10 leave 8
    bits. `dropout`, 0–1, is of the rows of B in training. Sources: HashFormers 3.4, Pool; of the dropout Tables 4 and
    5, and the authors' code.
    """

    def __init__(
        self,
        block_size: int,
        embedding_size: int,
        *,
        num_bits: int = 128,
        codeword_bits: int = 10,
        dropout: float = DROPOUT,
    ) -> None:
        super().__init__(block_size, embedding_size, num_bits=num_bits)
        self.dropout = nn.Dropout(dropout)
        self.codeword_bits = check_positive("codeword_bits", codeword_bits, MAX_CODEWORD_BITS)
        self.codebook = nn.Embedding(2**codeword_bits, embedding_size)
        self.weights = nn.Parameter(torch.zeros(-(-num_bits // codeword_bits), embedding_size))

    def init_weights(self, std: float) -> None:
        super().init_weights(std)
        # The mean of J independent codewords is then as wide as a row of the other front ends.
        init.normal_(self.codebook.weight, std=std * len(self.weights) ** 0.5)

    def init_parameter(self, parameter: Tensor, std: float) -> None:
        init.zeros_(parameter)  # equal weights for all codewords

    def embed_bits(self, bits: Tensor) -> Tensor:
        words = codewords(bits, self.codeword_bits).unbind(dim=-1)
        embeddings = self.token_kinds.weight.new_zeros(())
        for word, weight in zip(words, self.weights.softmax(dim=0).unbind(dim=0), strict=True):
            # A loop avoids a tensor (B, S, J, D), which would be written to memory and read again.
            embeddings = torch.addcmul(embeddings, self.dropout(self.codebook(word)), weight)
        return embeddings


class Add(DigestFrontEnd):
    """Sums one of two learned vectors for each bit: Σ_j B^j[τ_j] / √T, computed as one matrix product.

    `num_bits` is T; `dropout`, 0–1, is of the numbers in B in training. Sources: HashFormers 3.4, Add; as for `Pool`.
    """

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int = 128, dropout: float = DROPOUT) -> None:
        super().__init__(block_size, embedding_size, num_bits=num_bits)
        self.dropout = nn.Dropout(dropout)
        self.bit_vectors = nn.Parameter(torch.empty(num_bits, 2, embedding_size))

    def embed_bits(self, bits: Tensor) -> Tensor:
        zero, one = self.dropout(self.bit_vectors).unbind(dim=1)
        return (zero.sum(dim=0) + bits.to(zero.dtype) @ (one - zero)) / self.num_bits**0.5


class Projection(DigestFrontEnd):
    """Correlates the bits with D learned vectors: e_j = Pearson(τ, w_j). If all bits are equal, e is 0, not NaN.

    Source: HashFormers 3.4, Proj.
    """

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int = 128) -> None:
        super().__init__(block_size, embedding_size, num_bits=num_bits)
        self.weight = nn.Parameter(torch.empty(embedding_size, num_bits))

    def embed_bits(self, bits: Tensor) -> Tensor:
        centred = self.weight - self.weight.mean(dim=1, keepdim=True)
        bits = bits.float()
        ones = bits.sum(dim=-1, keepdim=True)  # in float32: bfloat16 would round the count
        deviation = (ones * (self.num_bits - ones) / self.num_bits).sqrt()  # ‖τ − mean(τ)‖
        # w is centred, so subtracting the mean of τ would not change the products.
        products = F.linear(bits.to(centred.dtype), F.normalize(centred, dim=1))
        return torch.where(deviation > 0, products / deviation.clamp(min=0.5), 0)


class Linear(BitFrontEnd):
    """Multiplies T = `num_bits` bits by a learned matrix: e = W τ. The bits of a special token are a hash of its name.

    Source: ProFormer (Sankar et al., 2021), which multiplies 420 LSH bits by one trained matrix.
    """

    special_bytes: Tensor

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int = 420) -> None:
        super().__init__(block_size, embedding_size, num_bits=num_bits)
        self.weight = nn.Parameter(torch.empty(embedding_size, num_bits))
        self.add_constant("special_bytes", special_bytes, block_size)

    def forward(self, blocks: Tensor) -> Tensor:
        names = self.special_bytes[blocks[..., 0].clamp(max=NUM_SPECIAL - 1)]
        data = torch.where(blocks[..., :1] < NUM_SPECIAL, names, to_bytes(blocks))
        return F.linear(self.unpack_bits(data).to(self.weight.dtype), self.weight)


def bits_of_bytes() -> Tensor:
    """Returns the bits of each byte, (256, 8) uint8, most significant bit first."""
    return torch.tensor([[byte >> place & 1 for place in range(7, -1, -1)] for byte in range(256)]).to(torch.uint8)


def special_bytes(block_size: int) -> Tensor:
    """Returns a hash of each special token's name, (5, K) int64, values 0–255."""
    return torch.tensor([list(hashlib.shake_128(name.encode()).digest(block_size)) for name in SPECIAL_NAMES])


def codewords(bits: Tensor, size: int) -> Tensor:
    """Groups bits (…, T) into words of `size` bits and returns them as integers, (…, ⌈T/size⌉) int64.

    The last word may have fewer bits. Source and example: HashFormers 3.4.

    >>> codewords(torch.tensor([1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1]), 4).tolist()
    [10, 4, 1]
    """
    values = 2 ** torch.arange(size - 1, -1, -1, device=bits.device)
    whole = bits.shape[-1] // size * size
    words = (bits[..., :whole].unflatten(-1, (-1, size)) * values).sum(dim=-1)
    rest = bits[..., whole:]
    last = (rest * values[size - rest.shape[-1] :]).sum(dim=-1, keepdim=True)
    return torch.cat([words, last], dim=-1) if rest.shape[-1] else words


# ---- elementwise_front_end.py ----------------------------------------------------------------------------------------
# The front end that concatenates byte embeddings. Source: Elementwise 3.2, 5.1.

class Elementwise(FrontEnd):
    """Concatenates K byte embeddings of width C = D/K, the width of an attention head of the encoder.

    Source: Elementwise 3.2; 5.1 for `pool_ngrams`.

    Args:
        focus: whether to add the global focus embedding, row p = m·K + n of a table for byte n of token m.
        max_tokens: M, the maximum sequence length with `focus`.
        pool_ngrams: whether to replace each byte embedding by the weighted sum of the K bytes that start at this byte,
            across the borders of blocks. The weights are a softmax over learned scores of the K bytes.
    """

    def __init__(
        self,
        block_size: int,
        embedding_size: int,
        *,
        focus: bool = True,
        max_tokens: int = 128,
        pool_ngrams: bool = False,
    ) -> None:
        super().__init__(block_size, embedding_size)
        if embedding_size % block_size:
            divisor = max(k for k in range(1, block_size) if embedding_size % k == 0)
            raise ValueError(
                f"block_size={block_size} does not divide the embedding width {embedding_size}; "
                f"give for instance {divisor}."
            )
        check_positive("max_tokens", max_tokens, MAX_ROWS // block_size)
        self.max_tokens = max_tokens if focus else None
        self.embeds_by_place = focus or pool_ngrams
        width = embedding_size // block_size  # C
        self.elements = nn.Embedding(NUM_ELEMENTS, width, padding_idx=0)
        self.focus = nn.Embedding(max_tokens * block_size, width) if focus else None
        self.score = nn.Linear(width, 1) if pool_ngrams else None

    def forward(self, blocks: Tensor) -> Tensor:
        seq_length = blocks.shape[1]
        embeddings = self.elements(blocks)  # (B, S, K, C)
        if self.score is not None:
            embeddings = self._pool_ngrams(self.score, embeddings, blocks)
        if self.focus is not None:
            places = torch.arange(seq_length * self.block_size, device=blocks.device)
            embeddings = embeddings + self.focus(places.view(seq_length, self.block_size))
        return embeddings.flatten(start_dim=-2)

    def check_encoder(self, config: PreTrainedConfig) -> None:
        if config.num_attention_heads != self.block_size:
            raise ValueError(
                f"elementwise needs one attention head for each of the {self.block_size} elements of a block, but the "
                f"encoder has {config.num_attention_heads} attention heads; make num_attention_heads equal block_size."
            )

    def _pool_ngrams(self, score: nn.Module, embeddings: Tensor, blocks: Tensor) -> Tensor:
        """Replaces the embedding of byte i of a sequence by Σ_j softmax_j(score(e_{i+j})) · e_{i+j}, j = 0 … K−1.

        Padding has no weight and stays zero, inside a block and after the text. (B, S, K, C) → (B, S, K, C).
        """
        is_byte = (blocks > 0).flatten(1)  # (B, S·K)
        length, behind = is_byte.shape[1], self.block_size - 1
        letters = embeddings.flatten(1, 2)  # (B, S·K, C)
        scores = score(letters).squeeze(-1)
        lowest = torch.finfo(scores.dtype).min
        scores = F.pad(scores.masked_fill(~is_byte, lowest), (0, behind), value=lowest)
        letters = F.pad(letters, (0, 0, 0, behind))
        ngrams = torch.stack([letters[:, j : j + length] for j in range(self.block_size)], dim=-2)  # (B, S·K, K, C)
        weights = torch.stack([scores[:, j : j + length] for j in range(self.block_size)], dim=-1).softmax(dim=-1)
        return ((weights * is_byte.unsqueeze(-1)).unsqueeze(-1) * ngrams).sum(dim=-2).view(embeddings.shape)


# ---- ngram_hashes.py -------------------------------------------------------------------------------------------------
# Hashes of the n-grams of a unit, for tables of hashed n-grams.
#
# The hash of elements e_1 … e_n is Σ c_i·e_i, with fixed random c_i below P = 10⁹ + 7; modulo P it is multilinear
# hashing. All sums stay below 2⁵³, so torch, ONNX and JavaScript compute the same.

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


# ---- unit_front_end.py -----------------------------------------------------------------------------------------------
# Base class of the front ends that embed each distinct block once: their embedding depends on the block alone.

ENTRY_BYTES = 200  # of a key and its hashes in a dictionary, without their contents

Hashes = tuple[Tensor, Tensor]  # of all units, one after the other, (H,); and their number for each unit, (n,) int64


class UnitFrontEnd(FrontEnd):
    """Embeds each distinct block of a batch once, in two steps: its hashes, and what the weights make of them.

    On the CPU, hashes are kept from call to call. Results of weights are never kept, because weights may change in ways
    that nobody can see from here: by a fused optimizer, an adapter, a hook.
    """

    hash_dtype: type[np.generic] = np.float32
    # In an exported graph, blocks are cut after the longest unit, to no fewer elements than this. None: not cut, since
    # the operations of `embed_units` depend on the length.
    traced_length: int | None = 1

    def __init__(self, block_size: int, embedding_size: int) -> None:
        super().__init__(block_size, embedding_size)
        self._cache = UnitCache(self.hash_dtype)

    def embed_units(self, blocks: Tensor) -> Tensor:
        """Maps blocks, (…, k) int64 with k ≤ K and all zeros after the longest unit, to embeddings (…, D).

        No shape depends on the values of the blocks, as a compiled graph needs it.
        """
        raise NotImplementedError

    def hash_units(self, units: Tensor) -> Hashes:
        """Returns what the embeddings need of units, (n, k) int64, and weights do not change.

        By default these are the embeddings, of a front end without parameters.
        """
        embeddings = self.embed_units(units)
        return embeddings.flatten(), torch.full(units.shape[:1], self.embedding_size)

    def embed_hashes(self, hashes: Tensor, counts: Tensor, units: Tensor) -> Tensor:
        """Maps what `hash_units` gave, and units (n, K), to embeddings (n, D)."""
        return hashes.view(-1, self.embedding_size)

    def replace_special_tokens(self, blocks: Tensor) -> Tensor:
        """Returns what `embed_units` is called with. By default the blocks themselves."""
        return blocks

    def forward(self, blocks: Tensor) -> Tensor:
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            return self.embed_units(self.replace_special_tokens(blocks))
        if blocks.device.type == "cpu":
            units, inverse = distinct_blocks(blocks)
            hashes = self._cache.look_up(units, self._hash_distinct)
        else:
            units, inverse = blocks.flatten(0, -2).unique(dim=0, return_inverse=True)
            hashes = self._hash_distinct(units)
        return self.embed_hashes(*hashes, units)[inverse.view(blocks.shape[:-1])]

    def _hash_distinct(self, units: Tensor) -> Hashes:
        """Returns the hashes of distinct blocks, (n, K) int64. Blocks are cut after the longest unit."""
        units = self.replace_special_tokens(units)
        longest = int((units.amax(dim=0) > 0).sum()) if len(units) else 1
        return self.hash_units(units[:, : max(longest, 1)])


class UnitCache:
    """Hashes of the units seen so far, on the CPU. It is never saved, and a copy or pickle of it is empty.

    After a call in which it has grown beyond its limit, the cache is emptied. The environment variable
    `VOCABLESS_CACHED_MIB` sets this limit, by default 64 MiB; with 0 nothing is kept between calls. Threads may share
    it: no call changes or removes an entry that another one reads. `dtype` is the type of the hashes.

    Raises:
        ValueError: `VOCABLESS_CACHED_MIB` is no number.
    """

    def __init__(self, dtype: type[np.generic]) -> None:
        text = os.environ.get("VOCABLESS_CACHED_MIB", "64")
        if not re.fullmatch(r"\d+(\.\d+)?", text):
            raise ValueError(f"VOCABLESS_CACHED_MIB is {text!r}; give a number of MiB from 0 up, or unset it for 64.")
        self.max_bytes, self.num_bytes = int(float(text) * 2**20), 0
        self._dtype = np.dtype(dtype)
        self._hashes: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitCache, (self._dtype.type,)

    def look_up(self, units: Tensor, hash_units: Callable[[Tensor], Hashes]) -> Hashes:
        """Returns what `hash_units` gives for these units, (n, K) int64 and all distinct; calls it for new ones."""
        keys = _keys(units)
        hashes = self._hashes  # emptying the cache replaces this dictionary and does not change it
        new = [index for index, key in enumerate(keys) if key not in hashes]
        if new:
            values, counts = hash_units(units[new])
            data, ends = values.numpy().tobytes(), (counts.cumsum(0) * self._dtype.itemsize).tolist()
            spans = zip(new, [0, *ends], ends, strict=False)
            hashes.update((keys[index], data[start:end]) for index, start, end in spans)
            self.num_bytes += len(data) + len(new) * (len(keys[0]) + ENTRY_BYTES)
        if self.num_bytes > self.max_bytes:
            self.num_bytes, self._hashes = 0, {}
        found = [hashes[key] for key in keys]
        joined = np.frombuffer(bytearray().join(found), self._dtype)
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        return torch.from_numpy(joined), torch.from_numpy(sizes // self._dtype.itemsize)


def distinct_blocks(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the distinct ones of blocks, (n, K), in the order in which they come first, and the place of each, (…).

    The same as `torch.unique(dim=0)` up to the order, and ten times as fast. `blocks` are (…, K) int64 on the CPU.
    """
    keys = _keys(blocks)
    places: dict[bytes, int] = {}
    indices = np.fromiter((places.setdefault(key, len(places)) for key in keys), np.int64, len(keys))
    elements = np.frombuffer(b"".join(places), np.int16).reshape(-1, blocks.shape[-1])
    return torch.from_numpy(elements.astype(np.int64)), torch.from_numpy(indices).unflatten(0, blocks.shape[:-1])


def _keys(blocks: Tensor) -> list[bytes]:
    """Returns the elements of each block, (…, K) int64 below 2¹⁵, as bytes."""
    elements = np.ascontiguousarray(blocks.numpy().astype(np.int16))
    return elements.view(f"V{2 * elements.shape[-1]}").ravel().tolist()


# ---- hash_embedding_front_end.py -------------------------------------------------------------------------------------
# The front end with a learned table of hashed n-grams and words.
#
# Sources: fastText (Bojanowski et al., 2017) for n-grams with word borders; hash embeddings (Svenstrup et al., 2017) and
# spaCy's HashEmbed for several hashes of a word in one table. The combination is ours.

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


# ---- ngram_front_ends.py ---------------------------------------------------------------------------------------------
# Front ends that compute an embedding as a hash of the unit's bytes, without parameters.
#
# Hashes are computed by integer arithmetic on tensors, so the model can be exported. Source: EELBERT 3.2 and 5.3.

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


# ---- front_ends.py ---------------------------------------------------------------------------------------------------
# The table of front ends, which turn blocks of K elements into embeddings of width D.
#
# To add a front end, write its class in a file of its own and add a row to `FRONT_ENDS`. The tests run over all rows.

def build_front_end(name: str, block_size: int, embedding_size: int, options: dict[str, Any]) -> FrontEnd:
    """Returns the front end `name`, with random weights.

    Raises:
        ValueError: the name or an option is unknown, or the options do not fit K and D.
    """
    if not isinstance(name, str) or name not in FRONT_ENDS:
        raise ValueError(f"unknown front_end {name!r}; choose one of {', '.join(FRONT_ENDS)}.")
    front_end = FRONT_ENDS[name]
    legal = front_end.__init__.__kwdefaults__ or {}
    unknown = sorted(set(options) - set(legal))
    if unknown:
        raise ValueError(f"front_end {name!r} has no option {unknown[0]!r}; its options are {', '.join(legal)}.")
    try:
        return front_end(block_size, embedding_size, **options)
    except (TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"front_end {name!r} got {options} ({error}); give numbers as in its class.") from error


FRONT_ENDS: dict[str, type[FrontEnd]] = {
    "bucket": Bucket,
    "pool": Pool,
    "add": Add,
    "projection": Projection,
    "linear": Linear,
    "ngram": Ngram,
    "random_normal": RandomNormal,
    "hash_embedding": HashEmbedding,
    "elementwise": Elementwise,
}


# ---- rejection.py ----------------------------------------------------------------------------------------------------
# The answer "none of these": how familiar a text is, and the logit of a label for texts that are not familiar.

SUPPRESSED = 20.0  # taken from the logits of several labels, so that a text that is turned away gets none of them
SHARPNESS = 3.0  # of the smooth minimum of energy and typicality


class Rejection(HasConstants):
    """Adds the logit of a last label, "none of these", to those of the other labels: (B, L) → (B, L + 1).

    A text is familiar if both of these are high, see `familiarity`:

    - The energy of its logits, their log-sum-exp (Liu et al., *Energy-based Out-of-distribution Detection*, NeurIPS
      2020): one label fits. The logits of a softmax are known up to a number for each text, so the energy is that of
      logits whose mean is 0. With several labels for a text it is Σ log(1 + exp(logit)) (Wang et al., *Can multi-label
      classification networks know what they don't know?*, NeurIPS 2021).
    - What that number would say, its typicality: how near it is to all labels together. It is the dot product of its
      directions, see `PooledHead.directions`, and their mean over the training texts.

    The new logit is as far above the largest other one as the familiarity is below `config.classifier_reject_score`. So
    it is the largest one of exactly the texts that are not familiar enough. With several labels for a text, it has a
    probability above `config.classifier_threshold` there, and the others have nearly none.
    """

    def __init__(self, config: VocablessConfig, num_directions: int) -> None:
        super().__init__()
        self.config: Any = config
        self.typical = nn.Parameter(torch.zeros(num_directions))
        self.scales = nn.Parameter(torch.zeros(2, 2))  # see `familiarity`

    def init_parameter(self, parameter: Tensor, std: float) -> None:
        """Makes the weights 0."""
        init.zeros_(parameter)

    def forward(self, logits: Tensor, directions: Tensor) -> Tensor:
        """Returns the logits (B, L + 1); directions are (B, num_directions)."""
        has_several = self.config.problem_type == "multi_label_classification"
        typicality = (directions * self.typical).sum(dim=-1, keepdim=True)  # no matrix product, which 8 bits would blur
        parts = torch.cat([energy(logits, has_several), typicality], dim=-1)
        strangeness = self.config.classifier_reject_score - familiarity(parts, self.scales)
        if not has_several:
            return torch.cat([logits, logits.amax(dim=-1, keepdim=True) + strangeness], dim=-1)
        threshold = self.config.classifier_threshold or 0.5
        none = strangeness + log(threshold / (1 - threshold))
        return torch.cat([logits - SUPPRESSED * (strangeness > 0), none], dim=-1)


def familiarity(parts: Tensor, scales: Tensor) -> Tensor:
    """Returns the familiarity of texts, (B, 1), by their energy and typicality, (B, 2).

    Both are standardized by `scales`, (2, 2): means, and 1 / standard deviations. The familiarity is their smooth
    minimum −log Σ exp(−`SHARPNESS` · part) / `SHARPNESS`. A sum would let one part make up for the other; then a known
    text that is misspelt, which has less of both, is turned away more often than by either part.

    >>> familiarity(torch.tensor([[2.0, 9.0], [4.0, 1.0]]), torch.tensor([[2.0, 0.0], [0.5, 1.0]]))
    tensor([[0.0000],
            [0.7690]])
    """
    parts = (parts - scales[0]) * scales[1]
    first, last = parts[:, :1], parts[:, 1:]  # `chunk` is a Split without sizes, which pages lack
    return last - F.softplus(SHARPNESS * (last - first)) / SHARPNESS


def energy(logits: Tensor, has_several: bool) -> Tensor:
    """Returns the energy (B, 1) of logits (B, L), of one of several labels or of several, see `Rejection`.

    >>> energy(torch.tensor([[3.0, 3.0], [1.0, -1.0]]), has_several=False)
    tensor([[0.6931],
            [1.1269]])
    """
    if has_several:
        return F.softplus(logits).sum(dim=-1, keepdim=True)
    most = logits.amax(dim=-1, keepdim=True)  # no `logsumexp`, an operator that pages lack
    return most - logits.mean(dim=-1, keepdim=True) + (logits - most).exp().sum(dim=-1, keepdim=True).log()


# ---- wide_layer.py ---------------------------------------------------------------------------------------------------
# The wide part of a head: a linear layer over hashed words, pairs of words and n-grams of characters.
#
# Sources: Wide & Deep (Cheng et al., 2016) for a linear model of sparse features beside a deep one; the hashing trick
# (Weinberger et al., 2009); fastText (Joulin et al., 2017) for hashed pairs of words; ModDrop (Neverova et al., 2016) for
# leaving out a whole part in training.

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


# ---- head_layers.py --------------------------------------------------------------------------------------------------
# Parts of the heads: layers over the encoder, pairs that it reads apart, and the loss over tokens.

class Inputs(NamedTuple):
    """The first arguments of `VocablessModel.forward`."""

    input_ids: Tensor | None = None
    attention_mask: Tensor | None = None
    token_type_ids: Tensor | None = None
    position_ids: Tensor | None = None
    inputs_embeds: Tensor | None = None


class LecunLinear(nn.Linear):
    """A linear layer with LeCun's first weights, N(0, 1 / inputs), so that its outputs are as large as its inputs."""

    def init_weights(self) -> None:
        """Draws the weights."""
        init.normal_(self.weight, std=self.in_features**-0.5)


class PooledHead(nn.Module):
    """Dense layer, activation, dropout and output layer on one vector for the whole text: (B, S, D) → (B, outputs).

    `config.classifier_pooling` chooses the vector, see `pool`. With `cls` and `mean`, the head has as many parameters
    as BERT's pooler and classifier together, and as RoBERTa's classification head. The numbers of a mean are small, so
    its layers are `LecunLinear`: with BERT's first weights, N(0, 0.02²), a narrow model needs hundreds of steps to
    enlarge them.

    `config.classifier_activation` is tanh, or `rms_norm`, which divides the outputs of the dense layer by their root
    mean square: the output layer then reads the vector of a sentence encoder with the length √D, whose numbers are
    large enough for an optimizer's steps, see `read_sentence_vector`.

    With `config.classifier_wide_rows`, the outputs of a `WideLayer` are added, which reads the blocks. With
    `config.classifier_reject_score`, the last of several outputs is that of `Rejection`.
    """

    def __init__(self, config: VocablessConfig, num_outputs: int) -> None:
        super().__init__()
        self.pooling, self.activation = config.classifier_pooling, config.classifier_activation
        linear = nn.Linear if self.pooling == "cls" else LecunLinear
        num_parts = 4 if self.pooling == "siamese" else 1
        self.dense = linear(num_parts * config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.head_dropout)
        self.rejection = None
        if config.classifier_reject_score is not None and num_outputs > 1:
            num_outputs -= 1
            num_taught = config.hidden_size if self.activation == "rms_norm" else 0
            self.rejection = Rejection(config, num_parts * config.hidden_size + num_taught)
        self.out_proj = linear(config.hidden_size, num_outputs)
        rows = config.classifier_wide_rows
        self.wide = WideLayer(config, rows, num_outputs) if rows else None

    def sequences(self, front_end: FrontEnd, inputs: Inputs) -> Inputs:
        """Returns the inputs as the encoder shall read them: with `siamese`, the sequences of `split_pairs`.

        With a wide part, `inputs_embeds` may be given with `input_ids`, which are for the wide part alone then.

        Raises:
            ValueError: a head with a wide part gets no `input_ids`; or `inputs_embeds` come from a front end that
                embeds a token by its place, which it has lost in the second sequence; see also `split_pairs` and
                `check_blocks`.
        """
        if self.wide is not None:
            if inputs.input_ids is None:
                raise ValueError("the wide part of the head reads blocks; give input_ids beside inputs_embeds.")
            return inputs if inputs.inputs_embeds is None else inputs._replace(input_ids=None)
        if self.pooling != "siamese":
            return inputs
        if inputs.input_ids is not None:
            check_blocks(inputs.input_ids, front_end.block_size)
        elif front_end.embeds_by_place:
            raise ValueError(
                "a siamese model reads the second text from place 0, but inputs_embeds of this front end hold the "
                "places of the whole pair; give input_ids."
            )
        return split_pairs(inputs)

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, blocks: Tensor | None = None
    ) -> Tensor:
        """Maps hidden states (B, S, D), and blocks (B, S, K) for a wide part, to outputs (B, num_outputs)."""
        pooled, num_tokens = self.pool(hidden_states, attention_mask)
        hidden = self.activate(pooled)
        outputs = self.out_proj(self.dropout(hidden))
        if self.wide is not None and blocks is not None:
            outputs = outputs + self.wide(blocks, num_tokens)
        return outputs if self.rejection is None else self.rejection(outputs, self.directions(pooled, hidden))

    def activate(self, pooled: Tensor) -> Tensor:
        """Maps the vector that `pool` returns to what the output layer reads."""
        hidden = self.dense(pooled)
        if self.activation == "rms_norm":
            return F.normalize(hidden, dim=-1) * hidden.shape[-1] ** 0.5
        return torch.tanh(hidden)

    def directions(self, pooled: Tensor, hidden: Tensor) -> Tensor:
        """Returns the vector that the layers read, with the length 1, and behind it a sentence vector, if there is one.

        Both are (B, D); `hidden` is what `activate` returns.
        """
        vectors = [pooled, hidden] if self.activation == "rms_norm" else [pooled]
        return torch.cat([F.normalize(vector, dim=-1) for vector in vectors], dim=-1)

    def pool(self, hidden_states: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Returns the vector that the layers read, and the number of tokens if it was counted, see `mean_state`.

        Args:
            hidden_states: (B, S, D); with `siamese` (2B, S, D), the first texts and then the second ones.
            attention_mask: (B, S) or (2B, S), 0 for padding, which a mean leaves out; None if there is no padding.

        Returns:
            `cls`: the state of the first token, (B, D). `mean`: the mean of the states, (B, D). `siamese`: the means u
            and v of the two texts as [u, v, |u − v|, u ∗ v], (B, 4D) (InferSent, Conneau et al. 2017, section 3.1;
            Sentence-BERT, Reimers & Gurevych 2019).
        """
        if self.pooling == "cls":
            return hidden_states[:, 0], None
        mean, num_tokens = mean_state(hidden_states, attention_mask)
        if self.pooling == "mean":
            return mean, num_tokens
        first, second = mean.unflatten(0, (2, -1))
        return torch.cat([first, second, (first - second).abs(), first * second], dim=-1), None


class PredictionTransform(nn.Sequential):
    """Dense layer, GELU and layer norm, as before BERT's output layer: (…, hidden size) → (…, embedding size)."""

    def __init__(self, config: VocablessConfig) -> None:
        encoder, size = config.encoder_config, config.embedding_size
        eps = getattr(encoder, "layer_norm_eps", getattr(encoder, "norm_eps", 1e-12))
        super().__init__(nn.Linear(config.hidden_size, size), nn.GELU(), nn.LayerNorm(size, eps=eps))


def mean_state(hidden_states: Tensor, attention_mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Returns the mean of the tokens' states, (B, D), and their number, (B, 1), at least 1; None without a mask.

    The special tokens are included, and padding is left out.

    >>> mean_state(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[1, 1, 0]]))
    (tensor([[2.]]), tensor([[2.]]))
    """
    if attention_mask is None:
        return hidden_states.mean(dim=1), None
    weights = attention_mask.to(hidden_states.dtype).unsqueeze(-1)
    num_tokens = weights.sum(dim=1).clamp(min=1)
    return (hidden_states * weights).sum(dim=1) / num_tokens, num_tokens


def split_pairs(inputs: Inputs) -> Inputs:
    """Makes two sequences of each pair, [CLS] a [SEP] b [SEP]: [CLS] a [SEP] and [CLS] b [SEP].

    A single text is a pair whose second sequence is [CLS] alone. Returned are all first sequences and then all second
    ones, (2B, T, …), without token types and positions, because tokens are numbered anew. T is the longest sequence, or
    S in a compiled graph.

    Raises:
        ValueError: the texts cannot be told apart.
    """
    input_ids, attention_mask, token_type_ids, _, inputs_embeds = inputs
    tokens = inputs_embeds if input_ids is None else input_ids
    if token_type_ids is None and input_ids is not None:
        token_type_ids = token_type_ids_of(input_ids)
    if tokens is None or token_type_ids is None:
        raise ValueError("a siamese model splits pairs; give input_ids, or inputs_embeds with token_type_ids.")
    is_token = torch.ones_like(token_type_ids) if attention_mask is None else (attention_mask > 0).long()
    is_second = (token_type_ids > 0).long() * is_token
    last = tokens.shape[1] - 1
    positions = torch.arange(last + 1, device=tokens.device)
    first_token = (is_token.cumsum(dim=1) == 0).sum(dim=1, keepdim=True)  # [CLS], after padding on the left
    start = (is_second.cumsum(dim=1) == 0).sum(dim=1, keepdim=True)
    source = torch.where(positions == 0, first_token, start + positions - 1).clamp(max=last)
    seconds = tokens.gather(1, source.unsqueeze(-1).expand_as(tokens))
    is_in_second = (positions <= is_second.sum(dim=1, keepdim=True)).long()
    sequences, mask = torch.cat([tokens, seconds]), torch.cat([is_token - is_second, is_in_second])
    if not torch.compiler.is_compiling():  # a graph cannot have a width that depends on values
        width = int(mask.any(dim=0).nonzero().max()) + 1
        sequences, mask = sequences[:, :width], mask[:, :width]
    name = "inputs_embeds" if input_ids is None else "input_ids"
    return Inputs(attention_mask=mask, **{name: sequences})


def token_loss(logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None) -> Tensor:
    """Returns the mean cross-entropy over the labelled tokens, 0 if no token has a label.

    Logits are (…, classes) floating point, labels (…) integers, −100 for tokens without a label. The sum is divided by
    `num_items_in_batch`, the number of labels in all micro-batches of a step, in place of the number of labels here, so
    that the losses of the micro-batches add up to the mean of the step.
    """
    logits, labels = logits.flatten(0, -2).float(), labels.flatten()
    total = F.cross_entropy(logits, labels, ignore_index=-100, reduction="sum")
    count = (labels != -100).sum().clamp(min=1) if num_items_in_batch is None else num_items_in_batch
    return total / count


# ---- pretrained_model.py ---------------------------------------------------------------------------------------------
# The base class of all models.

logger = logging.get_logger(__name__)
WEIGHTS_ID = "weights_id"  # what config.json and the metadata of model.safetensors have in common, if they have it
OTHER_WEIGHTS = (
    "{file!r} does not belong to the {settings} beside it: a process is writing the folder, or was stopped while it "
    "did; load it again, or write it once more."
)


class MainInputName:
    """The name of the input whose numbers the Trainer of the library counts as tokens, in a model that trains.

    That is the attention mask, with one number for each token; a block has K. A class, and a model in evaluation mode,
    whose main input goes to metrics, have `input_ids`.
    """

    def __get__(self, model: nn.Module | None, owner: type[nn.Module]) -> str:
        return "attention_mask" if model is not None and model.training else "input_ids"


def check_finite(source: str, weights: Mapping[str, Tensor]) -> None:
    """Raises ValueError if a weight of a checkpoint is NaN or infinite."""
    kinds = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
    for name, weight in weights.items():
        if weight.dtype in kinds and not (weight.is_meta or weight.isfinite().all()):
            raise ValueError(f"the weights {name} of {source!r} are not finite numbers; train or download it again.")


class VocablessPreTrainedModel(PreTrainedModel):
    """Base class of all models. `base_model` is the `VocablessModel`, which has the front end."""

    config_class = VocablessConfig
    base_model_prefix = "vocabless"
    main_input_name = MainInputName()
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True

    def __new__(cls, config: VocablessConfig | None = None, **kwargs: Any) -> "VocablessPreTrainedModel":
        """Refuses what `from_pretrained` was given and nothing takes, before `__init__` raises a TypeError.

        A copy or a pickle is made without a configuration.
        """
        if config is not None:
            config.check_names(kwargs)
        return super().__new__(cls)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Loads a model, see `PreTrainedModel.from_pretrained`.

        Raises:
            OSError: the weights in the folder are not those of its config.json, which was read before them.
            ValueError: a weight is not a finite number.
        """
        source, config = str(pretrained_model_name_or_path), kwargs.get("config")
        file = Path(source, kwargs.get("subfolder") or "", SAFE_WEIGHTS_NAME)
        # Another configuration than that of the folder may be given. Repositories of the Hub change as a whole.
        is_checked = file.is_file() and (config is None or str(getattr(config, "name_or_path", None)) == source)
        before = os.stat(file) if is_checked else None
        loaded = super().from_pretrained(pretrained_model_name_or_path, *args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        check_finite(source, dict(model.named_parameters()))
        if before is not None:
            with safe_open(file, "pt") as weights:
                found = (weights.metadata() or {}).get(WEIGHTS_ID)
            after = os.stat(file)
            is_same = (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
            if not is_same or found not in (None, getattr(model.config, WEIGHTS_ID, None)):
                raise OSError(OTHER_WEIGHTS.format(file=str(file), settings=CONFIG_NAME))
        return loaded

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, HasConstants):
            module.init_weights(self.config.initializer_range)
        elif isinstance(module, LecunLinear):
            module.init_weights()

    def get_input_embeddings(self) -> nn.Module:
        """Returns the front end, which takes the place of the word table."""
        return cast(FrontEnd, self.base_model.front_end)

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.base_model.front_end = value

    def resize_token_embeddings(
        self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any
    ) -> nn.Module:
        """Does nothing, because there is no word table to resize. Returns the front end."""
        if new_num_tokens not in (None, self.config.vocab_size):
            logger.warning_once("A vocabless model has no word table; resize_token_embeddings changes nothing.")
        return self.get_input_embeddings()


# ---- sentences.py ----------------------------------------------------------------------------------------------------
# The sentences of a text, which a classifier may read beside the whole text, and what both say together.
#
# A polite first sentence changes the mean of all states, and so it can drown the sentence that decides. The rules of
# joining them are keys of `RULES`; new classifiers have `ODDS`.

ODDS = "odds"
MARKS = ".!?…。！？｡؟।۔"  # a unit that begins with one of them ends a sentence
COMMAS = ",，،"  # by `ODDS`, one of them among the first units of a text does, too: "Dear Sir or Madam,"
SALUTATION = 6  # of these units
SHORTEST = 3  # units of a sentence, its mark among them
MOST_AT_ONCE = 64  # sentences
LEAST_SAID = 1e-3  # of a sentence, see `probabilities_by_divergence`, so that the sums of no text are all 0
LARGEST = 600.0  # logit whose exponential, and that of the negative one, is finite and not 0

FIRST_BYTE = 5  # the element of byte 0; smaller ones are special tokens
MARK_ELEMENTS, COMMA_ELEMENTS = (
    [[byte + FIRST_BYTE for byte in mark.encode()] for mark in each] for each in (MARKS, COMMAS)
)
FIRST_ELEMENTS = {first for first, *_ in MARK_ELEMENTS + COMMA_ELEMENTS}

BlockArray = NDArray[np.int64]
Logits = NDArray[Any]  # of any floating point


def read_with_sentences(
    blocks: BlockArray, logits: Logits, read: Callable[[BlockArray], Logits], rule: bool | str, rejects: bool = False
) -> Logits:
    """Returns the logits of texts, (B, L), joined with those of the sentences of texts that have several.

    Args:
        blocks: the texts, (B, S, K).
        logits: those of the whole texts, (B, L). They are returned themselves if no text has several sentences.
        read: returns the logits of sentences, (n, T, K) → (n, L).
        rule: key of `RULES`.
        rejects: whether the last label is "none of these", see `Rejection`.
    """
    found = [(texts, read(sentences)) for texts, sentences in sentences_of(blocks, rule)]
    if not found:
        return logits
    texts, of_sentences = map(np.concatenate, zip(*found, strict=True))
    if not rejects:
        return join_sentences(logits, of_sentences, texts, rule)
    joined = join_sentences(logits[:, :-1], of_sentences[:, :-1], texts, rule)
    least = smallest_of_texts(strangeness_of(logits), strangeness_of(of_sentences), texts)
    return np.column_stack([joined, joined.max(axis=1) + least]).astype(logits.dtype)


def strangeness_of(logits: Logits) -> Logits:
    """Returns by how much the last logit is above all others, (n,), for logits (n, L + 1) of a `Rejection`."""
    strangeness: Logits = logits[:, -1] - logits[:, :-1].max(axis=1)
    return strangeness


def smallest_of_texts(numbers: Logits, of_sentences: Logits, texts: NDArray[np.int64]) -> Logits:
    """Returns the smallest number of each text and its sentences, (B,): a text is as strange as its best known part."""
    smallest = numbers.copy()
    np.minimum.at(smallest, texts, of_sentences)
    return smallest


def join_sentences(logits: Logits, of_sentences: Logits, texts: NDArray[np.int64], rule: bool | str) -> Logits:
    """Returns logits (B, L) of one label that also say what the sentences of some texts do.

    The probabilities are a mean of those of the whole text and of those of its sentences together, see `RULES`. Each
    has half the weight; by `ODDS`, the whole text has half the probability that it is no everyday line, see `odds`. The
    logits of a text without sentences stay as they are. Source for passages of a text that are scored apart: Dai and
    Callan, *Deeper Text Understanding for IR with Contextual Neural Language Modeling*, SIGIR 2019; the rules are ours.

    Args:
        logits: of the whole texts, (B, L).
        of_sentences: the logits of their n sentences, (n, L).
        texts: the text of each sentence, (n,).
        rule: key of `RULES`.
    """
    sums = np.zeros(logits.shape)
    np.add.at(sums, texts, RULES[rule](of_sentences))
    totals = sums.sum(axis=1, keepdims=True)
    share = 1 / (1 + np.exp(-clipped(logits.mean(axis=1, keepdims=True)))) / 2 if rule == ODDS else 1 / 2
    joined = np.log(share * softmax(logits) + (1 - share) * sums / np.where(totals > 0, totals, 1))
    return np.where(totals > 0, joined, logits).astype(logits.dtype)


def odds(logits: Logits) -> NDArray[np.float64]:
    """Returns the exponentials of logits (n, L), whose mean is the log-odds of a text of the task.

    A softmax does not depend on this mean, so the first head makes it say how a text differs from the everyday lines of
    mails, such as greetings. A sentence counts by these odds times exp(energy), which is large where
    the head knows what it reads: the energy is the log-sum-exp of the logits without their mean.
    """
    powers: NDArray[np.float64] = np.exp(clipped(logits))
    return powers


def clipped(logits: Logits) -> NDArray[np.float64]:
    """Returns logits whose exponentials are finite, and not 0."""
    return np.clip(logits.astype(np.float64), -LARGEST, LARGEST)


def probabilities_by_divergence(logits: Logits) -> NDArray[np.float64]:
    """Returns probabilities (n, L) times the square of what they say, their Kullback-Leibler divergence from 1/L each.

    It is the rule of older classifiers.
    """
    probabilities = softmax(logits)
    logarithms = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    said = np.log(logits.shape[1]) + (probabilities * logarithms).sum(axis=1, keepdims=True)
    weighted: NDArray[np.float64] = np.maximum(said, LEAST_SAID) ** 2 * probabilities
    return weighted


def softmax(logits: Logits) -> NDArray[np.float64]:
    """Returns the probabilities of logits (…, L)."""
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    result: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return result


def sentences_of(blocks: BlockArray, rule: bool | str = ODDS) -> Iterator[tuple[BlockArray, BlockArray]]:
    """Yields the sentences of the texts that have more than one, up to `MOST_AT_ONCE` of similar length.

    A sentence ends with a unit that begins with a mark and is not followed by another such unit, and by `ODDS` with a
    comma among the first units of a text. A sentence of fewer than `SHORTEST` units is part of the next one, or at the
    end of the text of the one before.

    Args:
        blocks: texts (B, S, K): [CLS], units and [SEP], with padding on either side. A row with more special tokens,
            such as a pair of texts, has no sentences.
        rule: key of `RULES`.

    Yields:
        The text of each sentence, (n,), and the sentences, (n, T, K), each as a text of its own, with padding behind.
    """
    found: list[tuple[int, list[int]]] = []  # a text, and the places of the tokens of one of its sentences
    for text, firsts in enumerate(blocks[..., 0].tolist()):
        ends = _ends(blocks[text], firsts, rule)
        if not ends or sum(0 < first < FIRST_BYTE for first in firsts) != 2:
            continue
        start, *units, end = (place for place, first in enumerate(firsts) if first)
        spans: list[list[int]] = [[]]
        for unit in units:
            spans[-1].append(unit)
            if unit in ends and len(spans[-1]) >= SHORTEST:
                spans.append([])
        if len(spans) > 1 and len(spans[-1]) < SHORTEST:
            last = spans.pop()
            spans[-1] += last
        if len(spans) > 1:
            found += [(text, [start, *span, end]) for span in spans]
    found.sort(key=lambda sentence: len(sentence[1]))
    for first in range(0, len(found), MOST_AT_ONCE):
        texts, places = zip(*found[first : first + MOST_AT_ONCE], strict=True)
        sentences = np.zeros((len(places), len(places[-1]), blocks.shape[-1]), np.int64)
        for sentence, text, of_sentence in zip(sentences, texts, places, strict=True):
            sentence[: len(of_sentence)] = blocks[text, of_sentence]
        yield np.asarray(texts, np.int64), sentences


def _ends(blocks: BlockArray, firsts: list[int], rule: bool | str) -> set[int]:
    """Returns the places of a text, (S, K), where a sentence may end; `firsts` are the first elements of its blocks."""
    early = next((place for place, first in enumerate(firsts) if first), 0) + SALUTATION if rule == ODDS else -1
    return {
        place
        for place, (first, behind) in enumerate(pairwise(firsts))
        if first in FIRST_ELEMENTS and behind >= FIRST_BYTE  # a mark or a comma, and a unit behind it
        if (_begins(blocks[place], MARK_ELEMENTS) and not _begins(blocks[place + 1], MARK_ELEMENTS))
        or (place <= early and _begins(blocks[place], COMMA_ELEMENTS))
    }


def _begins(block: BlockArray, marks: list[list[int]]) -> bool:
    """Returns whether the unit of a block, (K,), begins with one of the marks."""
    return any(block[: len(mark)].tolist() == mark for mark in marks)


# `classifier_reads_sentences` → what each sentence adds to the odds of the labels, by its logits, (n, L) → (n, L).
RULES = {True: probabilities_by_divergence, ODDS: odds}


# ---- stock_encoders.py -----------------------------------------------------------------------------------------------
# Stock Hugging Face encoders without word table and pooler, as the body of a vocabless model.
#
# They read `inputs_embeds`, and their outputs are the same as the stock encoder's, bit for bit. CANINE's outputs depend
# on the padding: it reads windows of four positions, masked or not, and drops the last window.

def build_encoder(config: VocablessConfig) -> PreTrainedModel:
    """Returns the encoder of `config.encoder_config` without its word table and pooler.

    Raises:
        ValueError: the configuration has a value of a wrong type, the model is an encoder-decoder or does not accept
            `inputs_embeds`, or `position_embeddings` is False and it has no table of positions.
    """
    kind = config.encoder_config.model_type
    encoder = None
    if not config.encoder_config.is_encoder_decoder:
        try:  # never code that the configuration names
            encoder = AutoModel.from_config(config.encoder_config, trust_remote_code=False)
        except (*TYPE_ERRORS, ArithmeticError, AssertionError) as error:
            raise ValueError(f"encoder_config describes no {kind!r} model ({error!r}); correct config.json.") from error
    if encoder is None or "inputs_embeds" not in arguments_of(encoder):
        raise ValueError(
            f"the model type {kind!r} is not an encoder that accepts inputs_embeds; choose for instance "
            "roberta, bert, albert, canine, modernbert, electra or distilbert."
        )
    _remove_word_table(encoder)
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    if not config.position_embeddings:
        module, name = _find_position_table(encoder)
        if module is None:
            raise ValueError(f"the encoder {kind!r} has no table of positions to drop; set position_embeddings=True.")
        setattr(module, name, _NoPositions())
    return encoder


def arguments_of(encoder: PreTrainedModel) -> frozenset[str]:
    """Returns the argument names of the encoder's `forward`."""
    return frozenset(inspect.signature(encoder.forward).parameters)


def max_tokens(encoder: PreTrainedModel) -> int:
    """Returns the longest sequence that has positions. RoBERTa and models like it count from padding_idx + 1."""
    limits = [getattr(encoder.config, "max_position_embeddings", 0)]
    module, name = _find_position_table(encoder)
    if module is not None:
        table = getattr(module, name)
        limits.append(table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1))
    return min((limit for limit in limits if limit > 0), default=sys.maxsize)


def pad_to_minimum_length(inputs: dict[str, Tensor], minimum: int) -> dict[str, Tensor]:
    """Pads the encoder's inputs, (B, S) each and `inputs_embeds` (B, S, D), to at least `minimum` tokens."""
    embeddings = inputs["inputs_embeds"]
    missing = minimum - embeddings.shape[1]
    if missing <= 0:
        return inputs
    mask = {"attention_mask": embeddings.new_ones(embeddings.shape[:2])}
    return {
        name: F.pad(value, (0, 0, 0, missing) if name == "inputs_embeds" else (0, missing))
        for name, value in {**mask, **inputs}.items()
    }


class _NoPositions(nn.Module):
    """Replaces an encoder's table of positions and returns 0."""

    def forward(self, position_ids: Tensor) -> Tensor:
        return torch.zeros((), device=position_ids.device)


class _NoWordTable(nn.Module):
    """Replaces an encoder's word table. ModernBERT of transformers 5.0 initialises the `weight` of its table."""

    weight = torch.empty(0)


def _remove_word_table(encoder: PreTrainedModel) -> None:
    canine = getattr(encoder, "char_embeddings", None)
    if canine is None:
        encoder.set_input_embeddings(_NoWordTable())
    else:  # CANINE has eight hash tables, which `set_input_embeddings` does not reach
        for name in [name for name, _ in canine.named_children() if name.startswith("HashBucketCodepointEmbedder")]:
            delattr(canine, name)


def _find_position_table(encoder: PreTrainedModel) -> tuple[nn.Module | None, str]:
    """Returns the module that has the encoder's table of positions, or None, and the table's attribute name."""
    for part, name in (("embeddings", "position_embeddings"), ("char_embeddings", "char_position_embeddings")):
        module = getattr(encoder, part, None)
        if isinstance(getattr(module, name, None), nn.Embedding):
            return module, name
    return None, ""


# ---- modeling_vocabless.py -------------------------------------------------------------------------------------------

NUM_CORRUPTIONS = 3  # intact, shuffled, replaced
WHOLE_TEXTS = (
    "In training mode this model reads whole texts, but in evaluation mode also their sentences; set "
    "model.config.classifier_reads_sentences = False to read whole texts in both."
)


class VocablessModel(VocablessPreTrainedModel):
    """Front end and encoder: blocks (B, S, K) → hidden states (B, S, hidden_size).

    Raises:
        ValueError: a size is not in `LIMITS`, the front end does not fit K, D or the encoder, or the encoder does not
            accept `inputs_embeds`.
    """

    _auto_class = "AutoModel"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        check_limits({name: getattr(config.encoder_config, name, None) for name in LIMITS})
        self.front_end = build_front_end(
            config.front_end, config.block_size, config.embedding_size, config.front_end_options
        )
        self.front_end.check_encoder(config.encoder_config)
        self.encoder = build_encoder(config)
        self.max_tokens = min(max_tokens(self.encoder), self.front_end.max_tokens or sys.maxsize)
        self._min_tokens = getattr(self.encoder.config, "downsampling_rate", 1)  # of CANINE
        self.encoder_arguments = sorted(arguments_of(self.encoder))  # a set would pickle differently in each process
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput:
        """Encodes blocks.

        Args:
            input_ids: blocks, (B, S, K) integers, values 0–260.
            attention_mask: (B, S), 1 for tokens, 0 for padding; None if there is no padding.
            token_type_ids: (B, S), 0 for the first text of a pair, 1 for the second. Ignored if the encoder has no
                token types.
            position_ids: (B, S); None numbers the tokens in order.
            inputs_embeds: (B, S, D) floating point, in place of `input_ids`.
            kwargs: further arguments of the encoder, for instance `output_hidden_states`.

        Returns:
            `last_hidden_state` (B, S, `config.hidden_size`), and `hidden_states` and `attentions`, those of the
            encoder, if they are requested.

        Raises:
            ValueError: not exactly one of `input_ids` and `inputs_embeds` is given, the rank or K is wrong, or the
                sequence is too long. On the CPU also: values are out of range.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids, blocks of shape (batch, seq, K), or inputs_embeds, not both.")
        if input_ids is not None:
            check_blocks(input_ids, self.config.block_size)
        seq_length = cast(Tensor, inputs_embeds if input_ids is None else input_ids).shape[1]
        if seq_length > self.max_tokens:
            raise ValueError(
                f"a sequence has {seq_length} tokens but the model has {self.max_tokens} positions; "
                f"call the tokenizer with truncation=True, max_length={self.max_tokens}."
            )
        if input_ids is not None:
            inputs_embeds = self.front_end(input_ids.long()).to(self.dtype)
        tensors = {"inputs_embeds": inputs_embeds, "attention_mask": attention_mask}
        tensors |= {"token_type_ids": token_type_ids, "position_ids": position_ids}
        inputs = {key: value for key, value in tensors.items() if value is not None and key in self.encoder_arguments}
        inputs = pad_to_minimum_length(inputs, self._min_tokens)
        for name in ("output_hidden_states", "output_attentions"):  # the default is this config's, not the encoder's
            if kwargs.get(name) is None:
                kwargs[name] = getattr(self.config, name)
        outputs = self.encoder(**inputs, **{**kwargs, "return_dict": True})
        states = outputs.last_hidden_state[:, :seq_length]
        if self.config.append_embeddings:
            states = torch.cat([states, cast(Tensor, inputs_embeds).to(states.dtype)], dim=-1)
        return BaseModelOutput(
            last_hidden_state=states,
            hidden_states=outputs.get("hidden_states"),
            attentions=outputs.get("attentions"),
        )


class _HeadModel(VocablessPreTrainedModel):
    """Base class of the models with a head. A subclass defines `predict`, and may define the others."""

    output_class: type[Any] = TokenClassifierOutput

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.vocabless = VocablessModel(config)

    @property
    def reads_labelled_only(self) -> bool:
        """Whether the head reads the states of labelled tokens alone, if there are labels."""
        return False

    def sequences(self, inputs: Inputs) -> Inputs:
        """Returns the inputs as the encoder shall read them."""
        return inputs

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        """Maps hidden states (B, S, hidden_size) to logits; `read` is what `sequences` made of the inputs."""
        raise NotImplementedError

    def loss(self, logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | None) -> Tensor:
        """Returns the loss, by default `token_loss`."""
        return token_loss(logits, labels, num_items_in_batch)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput | TokenClassifierOutput | MaskedLMOutput:
        """Computes logits. The other arguments are those of `VocablessModel.forward`.

        Args:
            labels: see the class; or None.
            num_items_in_batch: number of labels in all micro-batches of a step, see `token_loss`.

        Returns:
            `logits`, see the class, and `loss` if there are labels. sentence-transformers reads the annotation.
        """
        inputs = Inputs(input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds)
        read = self.sequences(inputs)
        outputs = self.vocabless(*read, **kwargs, return_dict=True)
        states = outputs.last_hidden_state
        if labels is not None and self.reads_labelled_only:
            states, labels = states[labels != -100], labels[labels != -100]
        logits = self.predict(states, read, inputs)
        loss = None if labels is None else self.loss(logits, labels, num_items_in_batch)
        return self.output_class(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


class VocablessForSequenceClassification(_HeadModel):
    """Classification or regression of a text or a pair of texts. Logits are (B, num_labels).

    Labels are (B,) integers for one label, (B, num_labels) floats 0 or 1 for several, (B,) floats for regression. The
    last label may be that of `Rejection`.

    If it `reads_sentences`, a text of several sentences is read once more in evaluation mode, sentence by sentence, and
    `join_sentences` makes the logits, without a gradient. In training mode, logits and loss are of the whole text;
    `train` warns of this once. States, attentions and exported graphs are of the whole text, too.
    """

    _auto_class = "AutoModelForSequenceClassification"
    output_class = SequenceClassifierOutput
    accepts_loss_kwargs = False  # the loss is a mean over texts; gradient accumulation averages these means

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = cast(int, config.num_labels)
        self.classifier = PooledHead(config, self.num_labels)
        self.post_init()

    @property
    def reads_sentences(self) -> bool | str:
        """The rule by which sentences are joined; False if the configuration has none or the head cannot.

        The head can if it has one of several labels for a text, not for a pair. It is asked at each call: the kind
        of problem may change after the model was made.
        """
        config: Any = self.config
        has_one_label = config.problem_type in (None, "single_label_classification") and config.num_labels > 1
        is_able = has_one_label and config.classifier_pooling != "siamese"
        return config.classifier_reads_sentences if is_able else False

    def train(self, mode: bool = True) -> "VocablessForSequenceClassification":
        if mode and self.reads_sentences:
            logger.warning_once(WHOLE_TEXTS)
        return super().train(mode)

    def sequences(self, inputs: Inputs) -> Inputs:
        return self.classifier.sequences(self.vocabless.front_end, inputs)

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        logits = self.classifier(states, read.attention_mask, inputs.input_ids)
        if not self.reads_sentences or self.training or inputs.inputs_embeds is not None:
            return logits
        return self._with_sentences(logits, cast(Tensor, inputs.input_ids))

    @torch.compiler.disable
    @torch.no_grad()
    def _with_sentences(self, logits: Tensor, blocks: Tensor) -> Tensor:
        """Returns the logits (B, L) of texts joined with those of their sentences; blocks are (B, S, K)."""

        def read(sentences: BlockArray) -> Logits:
            input_ids = torch.from_numpy(sentences).to(blocks.device)
            mask = attention_mask_of(input_ids)
            states = self.vocabless(input_ids, mask, return_dict=True).last_hidden_state
            return self.classifier(states, mask, input_ids).cpu().double().numpy()

        whole, rejects = logits.detach().cpu().double().numpy(), self.classifier.rejection is not None
        joined = read_with_sentences(blocks.cpu().numpy(), whole, read, self.reads_sentences, rejects)
        return logits if joined is whole else torch.from_numpy(joined).to(logits.dtype).to(logits.device)

    def loss(self, logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | None) -> Tensor:
        return self.loss_function(labels, logits, self.config)


class VocablessForTokenClassification(_HeadModel):
    """Classification of each token. Logits are (B, S, num_labels); labels (B, S), −100 for tokens without a label."""

    _auto_class = "AutoModelForTokenClassification"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.num_labels = cast(int, config.num_labels)
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.hidden_size, self.num_labels)
        self.post_init()

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        return self.classifier(self.dropout(states))


class VocablessForPreTraining(_HeadModel):
    """Classifies tokens as intact (0), shuffled (1) or replaced (2). Source: HashFormers 3.6, S+R.

    Logits are (B, S, 3); labels (B, S), −100 for tokens without a label.
    """

    _auto_class = "AutoModelForPreTraining"

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.dropout = nn.Dropout(config.head_dropout)
        self.dense = nn.Linear(config.hidden_size, NUM_CORRUPTIONS)
        self.post_init()

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        return self.dense(self.dropout(states))


class VocablessForMaskedLM(_HeadModel):
    """Prediction of masked tokens, over the vocabulary of a target tokenizer. Source: EELBERT 4.1.

    The output layer is not tied to an input table, because there is none. Only training needs this layer: it is dropped
    when the checkpoint is loaded with another head.

    Logits are (B, S, target_vocab_size), or (labelled tokens, target_vocab_size) if there are labels and
    `config.sparse_prediction` is set. Labels are (B, S) ids of the target vocabulary, −100 for tokens without a label.
    """

    _auto_class = "AutoModelForMaskedLM"
    output_class = MaskedLMOutput

    def __init__(self, config: VocablessConfig) -> None:
        super().__init__(config)
        self.transform = PredictionTransform(config)
        self.decoder: nn.Module = nn.Linear(config.embedding_size, config.target_vocab_size)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        return self.decoder

    def set_output_embeddings(self, value: nn.Module) -> None:
        self.decoder = value

    @property
    def reads_labelled_only(self) -> bool:
        return self.config.sparse_prediction

    def predict(self, states: Tensor, read: Inputs, inputs: Inputs) -> Tensor:
        return self.decoder(self.transform(states))


# dill, by which `datasets` names the results in its cache, looks for classes here.
if __package__:
    setattr(importlib.import_module(__package__), __name__.rpartition(".")[2], sys.modules[__name__])
