"""Memory of a service that meets new words for ever: text → blocks → embeddings, no word twice.

    python -m benchmarks.memory
    python -m benchmarks.memory --words 5000000 --variant eelbert-word-tiny

Prints the resident memory as words go by. The caches of tokenizer and front end are bounded
(VOCABLESS_CACHED_UNITS, VOCABLESS_CACHED_MIB), so it rises until they are full, and then no more.
"""

import json
from itertools import count, islice
from pathlib import Path
from typing import Any

import psutil
import torch
from tqdm import tqdm

from benchmarks.measure import parser, prepare_threads
from benchmarks.peers import ours

TEXTS, WORDS = 64, 128  # of a batch


def main() -> None:
    """Runs the benchmark."""
    arguments = parser(__doc__)
    arguments.add_argument("--words", type=int, default=5_000_000, help="distinct words")
    arguments.add_argument("--variant", default="eelbert-word-tiny", help="whose tokenizer and front end")
    given = arguments.parse_args()
    prepare_threads(given.threads or 1)
    side = ours(given.variant)
    front_end: Any = side.model.base_model.front_end
    process, numbers = psutil.Process(), count(10**7)
    batches = -(-given.words // (TEXTS * WORDS))
    found = []
    for done in tqdm(range(batches + 1), unit=" batches"):
        if done % max(1, batches // 20) == 0:
            found.append({"words": done * TEXTS * WORDS, "megabytes": process.memory_info().rss / 1e6})
        texts = [" ".join(f"{number:x}" for number in islice(numbers, WORDS)) for _ in range(TEXTS)]
        blocks = side.tokenizer(texts, padding=True, return_tensors="pt", add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            front_end(blocks)
    print(f"\n{given.variant}\n{'distinct words':>16} {'resident MB':>12}")
    for row in found:
        print(f"{row['words']:16,} {row['megabytes']:12,.0f}")
    later = [row["megabytes"] for row in found[len(found) // 4 :]]
    print(f"over the last three quarters: {min(later):,.0f} to {max(later):,.0f} MB")
    if given.output:
        Path(given.output).write_text(json.dumps({"benchmark": "memory", "rows": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
