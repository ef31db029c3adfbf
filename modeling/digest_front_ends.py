"""Front ends that read a block as a digest: one integer of 8·K bits, or T bits, the most significant bit first.

Source: HashFormers 3.2–3.5; ProFormer (Sankar et al., 2021) for `Linear`.
"""
# mypy: no-warn-return-any
# ruff: noqa: D102 (the base class documents the methods)

import hashlib

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import initialization as init

from .blocks import NUM_SPECIAL, SPECIAL_NAMES, FrontEnd, check_positive, to_bytes

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
