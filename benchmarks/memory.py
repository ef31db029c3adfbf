"""Memory of a service that reads new words without end: text → blocks → embeddings, each word once.

    python -m benchmarks.memory
    python -m benchmarks.memory --words 5000000 --variant eelbert-word-tiny

Prints the resident memory after increasing numbers of words. The caches of the tokenizer and the front end have limits
(VOCABLESS_CACHED_MIB for each), so the memory stops growing when they are full.
"""

from itertools import count, islice
from typing import Any

import psutil
import torch
from tqdm import tqdm

from benchmarks.measure import parser, prepare_threads, write_record
from benchmarks.peers import ours
from vocabless.saving.tables import markdown_table

BATCH_TEXTS, TEXT_WORDS = 64, 128


def main() -> None:
    """Runs the benchmark."""
    command_line = parser(__doc__, "threads", "output")
    command_line.add_argument("--words", type=int, default=5_000_000, help="number of distinct words")
    command_line.add_argument(
        "--variant", default="eelbert-word-tiny", help="variant whose tokenizer and front end run"
    )
    arguments = command_line.parse_args()
    prepare_threads(arguments.threads)
    side = ours(arguments.variant)
    front_end: Any = side.model.base_model.front_end
    process, numbers = psutil.Process(), count(10**7)
    batches = -(-arguments.words // (BATCH_TEXTS * TEXT_WORDS))
    rows = []
    for done in tqdm(range(batches + 1), unit=" batches"):
        if done % max(1, batches // 20) == 0:
            rows.append({"words": done * BATCH_TEXTS * TEXT_WORDS, "megabytes": process.memory_info().rss / 1e6})
        texts = [" ".join(f"{number:x}" for number in islice(numbers, TEXT_WORDS)) for _ in range(BATCH_TEXTS)]
        blocks = side.tokenizer(texts, padding=True, return_tensors="pt", add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            front_end(blocks)
    cells = [(f"{row['words']:,}", f"{row['megabytes']:,.0f}") for row in rows]
    print(f"\n{arguments.variant}\n\n{markdown_table(['distinct words', 'resident MB'], cells, num_texts=0)}")
    later = [row["megabytes"] for row in rows[len(rows) // 4 :]]
    print(f"over the last three quarters: {min(later):,.0f} to {max(later):,.0f} MB")
    write_record(arguments.output, "memory", rows)


if __name__ == "__main__":
    main()
