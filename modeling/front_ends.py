"""The table of front ends, which turn blocks of K elements into embeddings of width D.

To add a front end, write its class in a file of its own and add a row to `FRONT_ENDS`. The tests run over all rows.
"""

from dataclasses import dataclass, field
from typing import Any

from .blocks import FrontEnd
from .digest_front_ends import Add, Bucket, Linear, Pool, Projection
from .elementwise_front_end import Elementwise
from .hash_embedding_front_end import HashEmbedding
from .ngram_front_ends import Ngram, RandomNormal


@dataclass(frozen=True)
class FrontEndRow:
    """One row of the table.

    Attributes:
        front_end: the class.
        summary: how the embedding of a token is computed.
        num_parameters: number of parameters, a Python expression of K, D, `ceil` and the names of the options.
        source: paper and section.
        examples: block size and options of small front ends for the tests. All are tested alone at D = 64 and 192, the
            first also in whole models with D = 32, 4 attention heads and 24 positions.
        removed_options: options that old checkpoints may name, each with the only value that still loads.
    """

    front_end: type[FrontEnd]
    summary: str
    num_parameters: str
    source: str
    examples: tuple[tuple[int, dict[str, Any]], ...]
    removed_options: dict[str, Any] = field(default_factory=dict)

    @property
    def default_options(self) -> dict[str, Any]:
        """The options of the front end with their default values."""
        return dict(self.front_end.__init__.__kwdefaults__ or {})


def build_front_end(name: str, block_size: int, embedding_size: int, options: dict[str, Any]) -> FrontEnd:
    """Returns the front end `name`, with random weights.

    Raises:
        ValueError: the name or an option is unknown, or the options do not fit K and D.
    """
    if not isinstance(name, str) or name not in FRONT_ENDS:
        raise ValueError(f"unknown front_end {name!r}; choose one of {', '.join(FRONT_ENDS)}.")
    row = FRONT_ENDS[name]
    removed = row.removed_options
    options = {name: value for name, value in options.items() if name not in removed or value != removed[name]}
    unknown = sorted(set(options) - set(row.default_options))
    if unknown:
        legal = ", ".join(row.default_options)
        raise ValueError(f"front_end {name!r} has no option {unknown[0]!r}; its options are {legal}.")
    try:
        return row.front_end(block_size, embedding_size, **options)
    except (TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"front_end {name!r} got {options} ({error}); give numbers as in its class.") from error


FRONT_ENDS = {
    "bucket": FrontEndRow(
        Bucket,
        summary="row v mod N of a table, v the block as a big-endian integer",
        num_parameters="(num_buckets + 5) * D",
        source="HashFormers 3.1–3.3",
        examples=((16, {"num_buckets": 97}),),
    ),
    "pool": FrontEndRow(
        Pool,
        summary="rows of a codebook for codewords of k bits, summed with learned weights",
        num_parameters="(2**codeword_bits + ceil(num_bits / codeword_bits) + 6) * D",
        source="HashFormers 3.4, eq. 1",
        examples=((16, {}), (5, {"num_bits": 37, "codeword_bits": 7})),
    ),
    "add": FrontEndRow(
        Add,
        summary="one of two vectors for each bit, summed",
        num_parameters="(2 * num_bits + 6) * D",
        source="HashFormers 3.4, eq. 2",
        examples=((16, {}),),
    ),
    "projection": FrontEndRow(
        Projection,
        summary="Pearson correlation of the bits with D vectors",
        num_parameters="(num_bits + 6) * D",
        source="HashFormers 3.4, eq. 3",
        examples=((16, {}),),
    ),
    "linear": FrontEndRow(
        Linear,
        summary="the bits times a matrix",
        num_parameters="num_bits * D",
        source="ProFormer",
        examples=((53, {}),),
    ),
    "ngram": FrontEndRow(
        Ngram,
        summary="pooled hashes of the unit's n-grams",
        num_parameters="0",
        source="EELBERT 3.2",
        examples=((12, {}), (32, {"ngram_sizes": 4, "seed": 1})),
    ),
    "random_normal": FrontEndRow(
        RandomNormal,
        summary="normal numbers from hashes of the whole unit",
        num_parameters="0",
        source="EELBERT 5.3, Table 3",
        examples=((12, {}), (32, {"seed": 1, "std": 0.5})),
    ),
    "hash_embedding": FrontEndRow(
        HashEmbedding,
        summary="rows of a learned table for hashed n-grams and words, added and normalised",
        num_parameters="(num_rows + 7) * D + (mlp_size > 0) * (2 * D * mlp_size + mlp_size + D)",
        source="ours, after fastText and hash embeddings",
        examples=((12, {"num_rows": 97}), (8, {"num_rows": 50, "max_ngram": 3, "num_word_hashes": 1, "mlp_size": 7})),
    ),
    "elementwise": FrontEndRow(
        Elementwise,
        summary="byte embeddings, concatenated",
        num_parameters="(261 + focus * max_tokens * K) * D // K + pool_ngrams * (D // K + 1)",
        source="Elementwise 3.2, 5.1",
        examples=(
            (4, {"max_tokens": 24}),
            (16, {"focus": False}),
            (8, {"focus": False, "pool_ngrams": True}),
        ),
        removed_options={"gradient": False, "ngram_sizes": 4},
    ),
}
