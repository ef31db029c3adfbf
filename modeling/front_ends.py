"""Front ends: blocks of K elements → embeddings of width D. The only part of a model that sees blocks.

| name | embedding of a token | parameters, special tokens aside | source |
|---|---|---|---|
| bucket | row v mod N of a table, v the block as a big-endian integer | N·D | HashFormers 3.2, 3.5 |
| pool | codewords of k bits, weighted and summed | (2^k + ⌈T/k⌉ + 1)·D | HashFormers 3.4, eq. 5–7 |
| add | one of two vectors for each bit, summed | (2T + 1)·D | HashFormers 3.4 |
| projection | Pearson correlation of the bits with D vectors | (T + 1)·D | HashFormers 3.4 |
| linear | the bits times a matrix | T·D | ProFormer |
| ngram | pooled n-gram hashes | 0 | EELBERT 3.2 |
| random | a hash of the whole unit | 0 | EELBERT Table 3 |
| elementwise | byte embeddings side by side | 261·D/K + focus | Elementwise 3.2 |
"""

from typing import Any

from .blocks import FrontEnd
from .digest_front_ends import Add, Bucket, Linear, Pool, Projection
from .elementwise_front_end import Elementwise
from .ngram_front_ends import Ngram, Random


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
        raise ValueError(f"front_end {name!r} knows no option {unknown[0]!r}; it takes {', '.join(legal)}.")
    return FRONT_ENDS[name](block_size, embedding_size, **options)


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
