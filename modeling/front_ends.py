"""Front ends: blocks of K elements → embeddings of width D. The only part of a model that sees blocks.

| name | embedding of a token | parameters, special tokens aside | source |
|---|---|---|---|
| bucket | row v mod N of a table, v the block as a big-endian integer | N·D | HashFormers 3.2, 3.5 |
| pool | codewords of k bits, weighted and summed | (2^k + ⌈T/k⌉ + 1)·D | HashFormers 3.4, eq. 5–7 |
| add | one of two vectors for each bit, summed | (2T + 1)·D | HashFormers 3.4 |
| projection | Pearson correlation of the bits with D vectors | (T + 1)·D | HashFormers 3.4 |
| ngram | pooled n-gram hashes | 0 | EELBERT 3.2 |
| random | a hash of the whole unit | 0 | EELBERT Table 3 |
| elementwise | byte embeddings side by side | 261·D/K + focus | Elementwise 3.2 |

The hashes of ngram and random are integer arithmetic on tensors, so that they export with the model.
"""

import hashlib
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import initialization as init

NUM_SPECIAL = 5
SPECIAL_NAMES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NUM_ELEMENTS = NUM_SPECIAL + 256
MODULUS = 10**9 + 7  # B of EELBERT 3.2
HASH_BASE = 263  # prime and above every element, so that no two n-grams of up to three bytes share a hash


class FrontEnd(nn.Module):
    """Base of all front ends: `forward(blocks)` maps (B, S, K) int64, values 0–260, to (B, S, D).

    Args:
        block_size: K.
        embedding_size: D.
    """

    def __init__(self, block_size: int, embedding_size: int) -> None:
        super().__init__()
        self.block_size = block_size
        self.embedding_size = embedding_size

    def init_weights(self, std: float) -> None:
        """Fills the parameters and buffers that no submodule fills; a buffer that is not saved is filled here alone."""


class Bucket(FrontEnd):
    """Row v mod N of a table, v the block read as a big-endian integer.

    Source: HashFormers 3.2 (MD5), 3.5 (LSH): Emb. Five more rows are the special tokens'.

    Args:
        num_buckets: N.
    """

    def __init__(self, block_size: int, embedding_size: int, *, num_buckets: int = 50_260) -> None:
        super().__init__(block_size, embedding_size)
        self.num_buckets = _at_least_one("num_buckets", num_buckets)
        self.embeddings = nn.Embedding(NUM_SPECIAL + num_buckets, embedding_size)

    def forward(self, blocks: Tensor) -> Tensor:
        first = blocks[..., 0]
        data = to_bytes(blocks)
        bucket = data[..., 0] % self.num_buckets
        for position in range(1, self.block_size):  # Horner's rule keeps 128-bit integers within 64 bits
            bucket = (bucket * 256 + data[..., position]) % self.num_buckets
        return self.embeddings(torch.where(first < NUM_SPECIAL, first, bucket + NUM_SPECIAL))


class DigestFrontEnd(FrontEnd):
    """Base of the front ends that read T bits τ: adds each token's row of `token_kinds`.

    Special tokens have a row each and nothing else; a sixth row is shared by all ordinary tokens, as in the authors'
    code: it is why Table 2 of HashFormers counts one row more than its equations (13)–(15).

    Args:
        num_bits: T, at most 8·K.
    """

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int = 128) -> None:
        super().__init__(block_size, embedding_size)
        self.num_bits = _at_least_one("num_bits", num_bits)
        if not 8 * (block_size - 1) < num_bits <= 8 * block_size:
            raise ValueError(
                f"num_bits={num_bits} does not belong to blocks of {block_size} bytes; "
                f"give {8 * block_size - 7} to {8 * block_size} bits, or block_size={-(-num_bits // 8)}."
            )
        self.token_kinds = nn.Embedding(NUM_SPECIAL + 1, embedding_size)

    def forward(self, blocks: Tensor) -> Tensor:
        kind = blocks[..., 0].clamp(max=NUM_SPECIAL)
        embeddings = self.embed_bits(unpack_bits(to_bytes(blocks), self.num_bits))
        return self.token_kinds(kind) + embeddings * (kind == NUM_SPECIAL).unsqueeze(-1)

    def embed_bits(self, bits: Tensor) -> Tensor:
        """Maps bits, (B, S, T) int64 in {0, 1}, to (B, S, D)."""
        raise NotImplementedError


class Pool(DigestFrontEnd):
    """e = Σ_j B[c_j] ⊙ softmax(W)_j: codewords c_j of k bits look up a codebook and are weighted by position.

    Source: HashFormers 3.4, Pool. The last codeword has the bits that are left (8 of 128 for k = 10).

    Args:
        num_bits: T.
        codeword_bits: k.
    """

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int = 128, codeword_bits: int = 10) -> None:
        super().__init__(block_size, embedding_size, num_bits=num_bits)
        self.codeword_bits = _at_least_one("codeword_bits", codeword_bits)
        self.codebook = nn.Embedding(2**codeword_bits, embedding_size)
        self.weights = nn.Parameter(torch.zeros(-(-num_bits // codeword_bits), embedding_size))

    def init_weights(self, std: float) -> None:
        init.zeros_(self.weights)  # every codeword counts alike at first

    def embed_bits(self, bits: Tensor) -> Tensor:
        words = self.codebook(codewords(bits, self.codeword_bits))  # (B, S, J, D)
        return torch.einsum("bsjd,jd->bsd", words, self.weights.softmax(dim=0))


class Add(DigestFrontEnd):
    """e = Σ_j B^j[τ_j] / √T: each bit chooses one of two vectors. Written as one matrix product.

    Source: HashFormers 3.4, Add.
    """

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int = 128) -> None:
        super().__init__(block_size, embedding_size, num_bits=num_bits)
        self.bit_vectors = nn.Parameter(torch.empty(num_bits, 2, embedding_size))

    def init_weights(self, std: float) -> None:
        init.normal_(self.bit_vectors, std=std)

    def embed_bits(self, bits: Tensor) -> Tensor:
        zero, one = self.bit_vectors.unbind(dim=1)
        return (zero.sum(dim=0) + bits.to(zero.dtype) @ (one - zero)) / self.num_bits**0.5


class Projection(DigestFrontEnd):
    """e_j = Pearson(τ, w_j). Constant bits correlate with nothing: e = 0.

    Source: HashFormers 3.4, Proj.
    """

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int = 128) -> None:
        super().__init__(block_size, embedding_size, num_bits=num_bits)
        self.weight = nn.Parameter(torch.empty(embedding_size, num_bits))

    def init_weights(self, std: float) -> None:
        init.normal_(self.weight, std=std)

    def embed_bits(self, bits: Tensor) -> Tensor:
        centred = self.weight - self.weight.mean(dim=1, keepdim=True)
        ones = bits.sum(dim=-1, keepdim=True).to(centred.dtype)
        deviation = (ones * (self.num_bits - ones) / self.num_bits).sqrt()  # ‖τ − mean‖ of zeros and ones
        # A centred w is orthogonal to constants, so τ need not be centred.
        products = F.linear(bits.to(centred.dtype), F.normalize(centred, dim=1))
        return torch.where(deviation > 0, products / deviation.clamp(min=0.5), 0)


class Linear(FrontEnd):
    """e = W τ: no bias, no rows of its own for special tokens, whose bits are a frozen hash of their names.

    Source: ProFormer (Sankar et al., 2019), whose 420-bit LSH projection is multiplied by one trained matrix.
    """

    def __init__(self, block_size: int, embedding_size: int, *, num_bits: int = 420) -> None:
        super().__init__(block_size, embedding_size)
        self.num_bits = _at_least_one("num_bits", num_bits)
        self.weight = nn.Parameter(torch.empty(embedding_size, num_bits))
        self.register_buffer("special_bytes", self._special_bytes(), persistent=False)

    def init_weights(self, std: float) -> None:
        init.normal_(self.weight, std=std)
        init.copy_(self.special_bytes, self._special_bytes())

    def forward(self, blocks: Tensor) -> Tensor:
        first = blocks[..., :1]
        data = torch.where(
            first < NUM_SPECIAL,
            self.special_bytes[blocks[..., 0].clamp(max=NUM_SPECIAL - 1)],
            to_bytes(blocks),
        )
        return F.linear(unpack_bits(data, self.num_bits).to(self.weight.dtype), self.weight)

    def _special_bytes(self) -> Tensor:
        digests = [hashlib.shake_128(name.encode()).digest(self.block_size) for name in SPECIAL_NAMES]
        return torch.tensor([list(digest) for digest in digests])


class Ngram(FrontEnd):
    """Pooled n-gram hashes: no parameter, nothing to train.

    For each n = 1…N every n-gram of the unit's bytes is hashed to s (polynomial rolling hash), s ⊗ h modulo B gives a
    vector in [−1, 1], the mean over the n-grams is the part for n; the parts, of widths in the ratio 1:2:…:N, are
    concatenated. A unit shorter than n has zeros there. Source: EELBERT 3.2. Differs from the paper: n-grams are of bytes,
    not characters, which is the same for ASCII. Special tokens hash their own literal names.

    Args:
        ngram_sizes: N.
        seed: of h.
    """

    def __init__(self, block_size: int, embedding_size: int, *, ngram_sizes: int = 3, seed: int = 0) -> None:
        super().__init__(block_size, embedding_size)
        self.ngram_sizes = _at_least_one("ngram_sizes", ngram_sizes)
        self.seed = seed
        if max(map(len, SPECIAL_NAMES)) > block_size:
            raise ValueError(f"ngram and random hash the name '[MASK]', so block_size={block_size} must be at least 6.")
        self.register_buffer("seeds", hash_seeds(seed, embedding_size), persistent=False)
        self.register_buffer("special_blocks", self._special_blocks(), persistent=False)

    def init_weights(self, std: float) -> None:
        init.copy_(self.seeds, hash_seeds(self.seed, self.embedding_size))
        init.copy_(self.special_blocks, self._special_blocks())

    @property
    def widths(self) -> list[int]:
        """Width of the part for each n; what is left over goes to the longest n-grams."""
        total = self.ngram_sizes * (self.ngram_sizes + 1) // 2
        widths = [self.embedding_size * n // total for n in range(1, self.ngram_sizes + 1)]
        return [*widths[:-1], self.embedding_size - sum(widths[:-1])]

    def forward(self, blocks: Tensor) -> Tensor:
        elements = self.spelled(blocks)
        parts = []
        hashes = torch.zeros_like(elements)
        for n, seeds in enumerate(self.seeds.split(self.widths), start=1):
            # hashes[..., i] of the n-gram from i on: Horner's rule, one more element at each n
            count = elements.shape[-1] - n + 1
            if count < 1:
                parts.append(elements.new_zeros((*elements.shape[:-1], len(seeds)), dtype=torch.float32))
                continue
            hashes = (hashes[..., :count] * HASH_BASE + elements[..., n - 1 :]) % MODULUS
            whole = (elements[..., n - 1 :] > 0).unsqueeze(-1)
            values = spread(hashes, seeds) * whole
            parts.append(values.sum(dim=-2) / whole.sum(dim=-2).clamp(min=1))
        return torch.cat(parts, dim=-1)

    def spelled(self, blocks: Tensor) -> Tensor:
        """Returns `blocks` with the letters of their names in place of special tokens."""
        names = self.special_blocks[blocks[..., 0].clamp(max=NUM_SPECIAL - 1)]
        return torch.where(blocks[..., :1] < NUM_SPECIAL, names, blocks)

    def _special_blocks(self) -> Tensor:
        spelled = [[byte + NUM_SPECIAL for byte in name.encode()] for name in SPECIAL_NAMES]
        return torch.tensor([row + [0] * (self.block_size - len(row)) for row in spelled])


class Random(Ngram):
    """One hash of the whole unit: a fixed random vector for each unit, no two alike, none near another.

    Source: EELBERT Table 3, the random hash that n-gram pooling is compared with.
    """

    def __init__(self, block_size: int, embedding_size: int, *, seed: int = 0) -> None:
        super().__init__(block_size, embedding_size, ngram_sizes=1, seed=seed)

    def forward(self, blocks: Tensor) -> Tensor:
        elements = self.spelled(blocks)
        hashes = elements[..., 0]
        for position in range(1, self.block_size):
            longer = (hashes * HASH_BASE + elements[..., position]) % MODULUS
            hashes = torch.where(elements[..., position] > 0, longer, hashes)
        return spread(hashes, self.seeds)


class Elementwise(FrontEnd):
    """K byte embeddings side by side, each as wide as an attention head of the encoder.

    Source: Elementwise 3.2; focus embeddings 3.3; `gradient` 5.1.

    Args:
        focus: whether each (position, byte) pair adds an embedding of its own, g at p = m·K + n.
        gradient: whether each byte is first mixed with the n-grams that begin at it, weighted by a softmax of their
            scores (Charformer's block scoring).
        max_tokens: M, positions that `focus` knows.
        ngram_sizes: the longest n-gram of `gradient`.
    """

    def __init__(
        self,
        block_size: int,
        embedding_size: int,
        *,
        focus: bool = True,
        gradient: bool = False,
        max_tokens: int = 128,
        ngram_sizes: int = 4,
    ) -> None:
        super().__init__(block_size, embedding_size)
        if embedding_size % block_size:
            near = max(k for k in range(1, block_size) if embedding_size % k == 0)
            raise ValueError(
                f"block_size={block_size} does not divide the embedding width {embedding_size}; give for instance {near}."
            )
        self.max_tokens = _at_least_one("max_tokens", max_tokens)
        self.ngram_sizes = _at_least_one("ngram_sizes", ngram_sizes)
        width = embedding_size // block_size  # C
        self.elements = nn.Embedding(NUM_ELEMENTS, width, padding_idx=0)
        self.focus = nn.Embedding(max_tokens * block_size, width) if focus else None
        self.score = nn.Linear(width, 1) if gradient else None

    def forward(self, blocks: Tensor) -> Tensor:
        seq_length = blocks.shape[1]
        embeddings = self.elements(blocks)  # (B, S, K, C)
        if self.score is not None:
            embeddings = self._mix_ngrams(embeddings)
        if self.focus is not None:
            if seq_length > self.max_tokens:
                raise ValueError(
                    f"a sequence of {seq_length} tokens is longer than the {self.max_tokens} focus positions; truncate it."
                )
            focus = self.focus.weight.view(self.max_tokens, self.block_size, -1)
            embeddings = embeddings + focus[:seq_length]
        return embeddings.flatten(start_dim=-2)

    def _mix_ngrams(self, embeddings: Tensor) -> Tensor:
        """Σ_n softmax_n(score(mean of bytes i…i+n−1)) · that mean, for each byte i; bytes beyond K are zeros."""
        assert self.score is not None
        total, means = torch.zeros_like(embeddings), []
        for n in range(min(self.ngram_sizes, self.block_size)):
            total = total + F.pad(embeddings[..., n:, :], (0, 0, 0, n))
            means.append(total / (n + 1))
        candidates = torch.stack(means, dim=-2)  # (B, S, K, N, C)
        return (self.score(candidates).softmax(dim=-2) * candidates).sum(dim=-2)


def to_bytes(blocks: Tensor) -> Tensor:
    """Returns the bytes, 0–255, of elements 0–260; special elements and padding give 0."""
    return (blocks - NUM_SPECIAL).clamp(min=0)


def unpack_bits(data: Tensor, num_bits: int) -> Tensor:
    """Returns the first `num_bits` bits of bytes (…, K), most significant first, (…, num_bits) int64.

    >>> unpack_bits(torch.tensor([164, 16]), 12).tolist()
    [1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1]
    """
    shifts = torch.arange(7, -1, -1, device=data.device)
    return ((data.unsqueeze(-1) >> shifts) & 1).flatten(start_dim=-2)[..., :num_bits]


def codewords(bits: Tensor, size: int) -> Tensor:
    """Returns consecutive words of `size` bits, (…, T), as integers, (…, ⌈T/size⌉); the last word may be shorter.

    Source: HashFormers 3.4 and its example.

    >>> codewords(torch.tensor([1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1]), 4).tolist()
    [10, 4, 1]
    """
    values = []
    for start in range(0, bits.shape[-1], size):
        word = bits[..., start : start + size]
        values.append((word << torch.arange(word.shape[-1] - 1, -1, -1, device=bits.device)).sum(dim=-1))
    return torch.stack(values, dim=-1)


def spread(hashes: Tensor, seeds: Tensor) -> Tensor:
    """Returns each hash as a vector in [−1, 1]: P = s ⊗ h, P %= B, P −= (P > B/2)·B, P /= B/2.

    Source: EELBERT 3.2, Algorithm 1.

    Args:
        hashes: (…) int64, values 0 to B − 1.
        seeds: (D,) int64, values 1 to B − 1.
    """
    product = (hashes.unsqueeze(-1) * seeds) % MODULUS
    return (product - (product > MODULUS // 2) * MODULUS).to(torch.float32) / (MODULUS / 2)


def hash_seeds(seed: int, count: int) -> Tensor:
    """Returns h: `count` integers from 1 to B − 1, the SplitMix64 stream of `seed`. (count,) int64."""
    mask = (1 << 64) - 1
    values = []
    for index in range(1, count + 1):
        z = (seed + index * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        values.append((z ^ (z >> 31)) % (MODULUS - 1) + 1)
    return torch.tensor(values, dtype=torch.int64)


def build_front_end(name: str, block_size: int, embedding_size: int, options: dict[str, Any]) -> FrontEnd:
    """Returns the front end of that name.

    Raises:
        ValueError: unknown name or options, or options that do not fit K and D.
    """
    if name not in FRONT_ENDS:
        raise ValueError(f"unknown front_end {name!r}; choose one of {', '.join(FRONT_ENDS)}.")
    legal = FRONT_ENDS[name].__init__.__kwdefaults__ or {}
    unknown = sorted(set(options) - set(legal))
    if unknown:
        raise ValueError(f"front_end {name!r} knows no option {unknown[0]!r}; it takes {', '.join(legal) or 'none'}.")
    return FRONT_ENDS[name](block_size, embedding_size, **options)


def _at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"a front end got {name}={value}; give a whole number of at least 1.")
    return value


FRONT_ENDS: dict[str, type[FrontEnd]] = {
    "bucket": Bucket,
    "pool": Pool,
    "add": Add,
    "projection": Projection,
    "linear": Linear,
    "ngram": Ngram,
    "random": Random,
    "elementwise": Elementwise,
}
