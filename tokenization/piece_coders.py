"""The two LSH coders of the HashFormers authors' code, on whose blocks their published weights were trained.

They read tokens of RoBERTa's BPE, which their tokenizer.json describes; a token is called a piece here. `lsh` and
`lsh-index` read the n-grams of the unit itself, as the paper says (HashFormers 3.3, 3.5), and need no vocabulary.
Source: the authors' code.

Random numbers come from numpy's `RandomState`, whose streams are frozen. They are real numbers, so another platform may
give another sign to a sum that is zero but for rounding.
"""
# ruff: noqa: D102 (the base class documents the methods)

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block_coders import BlockCoder, Bytes
from .splitters import Unit, without_surrogates

MAX_CHARACTERS = 128  # of a unit that are read: the text of its cuts grows with their square
JOINT = "-"  # between the two parts of a cut, and between cuts
NUM_BITS = 128
NUM_BUCKETS, SEED = 50_260, 42


class PieceCoder(BlockCoder):
    """Base of the two coders.

    Args:
        tokenizer: the BPE, a `tokenizers.Tokenizer`; its post-processor, padding and truncation are not used.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # the names of its own special tokens are ordinary text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._tokenizer,)

    def weights(self, unit: Unit) -> dict[int, float]:
        """Returns the id of each piece of a unit → its weight, in the order in which the pieces occur first.

        The pieces are those of the unit, then of each cut into two parts: of `abc-a-bc-ab-c` for `abc`. A piece of n
        characters weighs its count over the number of places that n characters have in the unit. A hyphen counts only
        if there is nothing else.
        """
        text = unit.decode("latin-1") if isinstance(unit, bytes) else without_surrogates(unit)
        text = text[:MAX_CHARACTERS]
        cuts = [f"{text[:place]}{JOINT}{text[place:]}" for place in range(1, len(text))]
        encoding = self._tokenizer.encode(JOINT.join([text, *cuts]), add_special_tokens=False)
        counts = Counter(zip(encoding.ids, encoding.tokens, strict=True))
        return {
            index: count / max(len(text) + 1 - len(piece), 1)
            for (index, piece), count in counts.items()
            if piece != JOINT or len(counts) == 1
        }


class PieceLshCoder(PieceCoder):
    """Bit i = [Σ weight · r_i > 0] over the pieces of a unit; r are 128 normal numbers whose seed is the piece's id.

    The weights of HashFormers-Pool, -Add and -Proj were trained on these bits. See `PieceCoder` for the arguments.
    """

    block_size = NUM_BITS // 8

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer)
        self._vectors: dict[int, NDArray[np.float64]] = {}  # of the pieces that were seen, 1 kilobyte each

    def encode(self, units: Sequence[Unit]) -> Bytes:
        weights = [self.weights(unit) for unit in units]
        if new := {piece for of_unit in weights for piece in of_unit} - self._vectors.keys():
            generator = np.random.RandomState()  # one for all, because seeding it again is far quicker
            for piece in new:
                generator.seed(piece)
                self._vectors[piece] = generator.normal(0, 1, NUM_BITS)
        sums = np.zeros((len(units), NUM_BITS))
        for row, of_unit in zip(sums, weights, strict=True):
            for piece, weight in of_unit.items():
                row += self._vectors[piece] * weight
        return np.packbits(sums > 0, axis=1)


class PieceLshIndexCoder(PieceCoder):
    """Index of the largest of 50 260 sums, big-endian; the weights of HashFormers-Emb were trained on it.

    Sum i is Σ weight · η[(id + i) mod 50 260] over the pieces of a unit, negative in the second half. The first maximum
    wins. η are normal numbers of the seed 42. See `PieceCoder` for the arguments.
    """

    block_size = 2

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer)
        eta = np.random.RandomState(SEED).normal(0, 1, NUM_BUCKETS)
        self._repeated = np.concatenate([eta, eta])

    def encode(self, units: Sequence[Unit]) -> Bytes:
        indices = np.empty(len(units), dtype=">u2")
        for place, unit in enumerate(units):
            sums = np.zeros(NUM_BUCKETS)
            for piece, weight in self.weights(unit).items():
                start = piece % NUM_BUCKETS
                sums += self._repeated[start : start + NUM_BUCKETS] * weight
            sums[NUM_BUCKETS // 2 :] *= -1
            indices[place] = sums.argmax()
        return indices.view(np.uint8).reshape(-1, self.block_size)


PIECE_CODERS: dict[str, type[PieceCoder]] = {"lsh-pieces": PieceLshCoder, "lsh-index-pieces": PieceLshIndexCoder}
