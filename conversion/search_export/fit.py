"""From which fit on a passage answers a query: more than queries without any meaning reach on the same passages.

The fit is half of the similarity and half of the share of the query's words that the passage has, see
`browser/searcher.js`. Words that nobody knows have the first half alone, and it grows with the number of passages.
"""

import random
import string

import numpy as np
from numpy.typing import NDArray

from vocabless.conversion.search_export.passage_index import Encode
from vocabless.conversion.search_export.vectors import Vectors

USUAL_FIT = 0.2  # almost every question that a passage answers reaches it; see benchmarks/fits.py
QUERIES, QUANTILE = 200, 0.99  # of queries without a meaning, and the share of them that must not fit


def least_fit(encode: Encode, vectors: NDArray[np.int8] | Vectors) -> float:
    """Returns the fit, 0–1, below which no passage answers a query. `vectors`, (n, D), have any length."""
    lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
    units = vectors / np.where(lengths > 0, lengths, 1)[:, None]
    nearest = (encode(meaningless_queries(QUERIES)) @ units.T.astype(np.float32)).max(axis=1)
    return round(max(USUAL_FIT, float(np.quantile(nearest, QUANTILE)) / 2), 3)


def meaningless_queries(count: int, seed: int = 0) -> list[str]:
    """Returns queries of one or two words of 4 to 8 random letters.

    >>> meaningless_queries(2)
    ['bzmxvzj nhtqg', 'cbwioj']
    """
    chance = random.Random(seed)

    def word() -> str:
        return "".join(chance.choices(string.ascii_lowercase, k=chance.randint(4, 8)))

    return [" ".join(word() for _ in range(chance.randint(1, 2))) for _ in range(count)]
