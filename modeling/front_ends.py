"""The table of front ends, which turn blocks of K elements into embeddings of width D.

To add a front end, write its class in a file of its own and add a row to `FRONT_ENDS`. The tests run over all rows.
"""

from typing import Any

from .blocks import FrontEnd
from .digest_front_ends import Add, Bucket, Linear, Pool, Projection
from .elementwise_front_end import Elementwise
from .hash_embedding_front_end import HashEmbedding
from .ngram_front_ends import Ngram, RandomNormal


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
