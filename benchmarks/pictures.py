"""Draws the pictures of docs/performance.md: words/s of the tokenizer, and size against latency.

    python -m benchmarks.tokenizer --output tokenizer.json
    python -m benchmarks.pictures tokenizer.json docs/pictures

This script measures sizes and latencies: MB of weights in float32, and milliseconds from one sentence to logits on one
thread.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from benchmarks.measure import compare, parser, prepare_threads
from benchmarks.peers import ours, read, stock, vocabulary

OURS = ("eelbert-word-uno", "eelbert-word-tiny", "eelbert-word-mini", "hashformer-lsh-proj-tiny", "ewe-bert-word-tiny")
STOCK = ("bert-uno", "bert-tiny", "bert-mini")
SENTENCE = "The quick brown fox jumps over the lazy dog, while seven small cats sleep near the old walls."


def words_per_second(rows: list[dict[str, Any]], axes: Axes) -> None:
    """Draws the bars of both sides for each row with the unit words/s."""
    rows = [row for row in rows if row["unit"] == "words/s"][::-1]
    positions = range(len(rows))
    axes.barh([y + 0.2 for y in positions], [row["ours"] for row in rows], 0.4, label="vocabless")
    axes.barh([y - 0.2 for y in positions], [row["peer"] for row in rows], 0.4, label="BERT's Rust WordPiece")
    for y, row in zip(positions, rows, strict=True):
        axes.text(row["ours"], y + 0.2, f" {row['ratio']:.1f}×", va="center")
    axes.set(yticks=list(positions), yticklabels=[row["name"] for row in rows], xlabel="words/s, one thread")
    axes.margins(x=0.1)
    axes.legend()


def sizes_and_latencies(subword: str, rounds: int) -> list[tuple[str, float, float]]:
    """Returns (name, MB, ms) of each model. The smallest stock model runs in turns with each of them."""
    peer = stock("bert-uno", subword)
    points = []
    for name in (*OURS, *STOCK):
        side = stock(name, subword) if name in STOCK else ours(name)
        row = compare(name, side.from_text([SENTENCE]), peer.from_text([SENTENCE]), 1, "texts/s", 20 * rounds)
        size = sum(parameter.numel() for parameter in side.model.parameters()) * 4 / 1e6
        points.append((name, size, 1000 / row.ours))
    return points


def main() -> None:
    """Draws both pictures."""
    command_line = parser(__doc__, "rounds", "threads")
    command_line.add_argument("tokenizer", help="JSON file that `python -m benchmarks.tokenizer --output` wrote")
    command_line.add_argument("folder", help="folder for the pictures")
    arguments = command_line.parse_args()
    prepare_threads(arguments.threads)
    folder = Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams["svg.hashsalt"] = "vocabless"
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    words_per_second(json.loads(Path(arguments.tokenizer).read_text(encoding="utf-8"))["rows"], axes)
    figure.savefig(folder / "tokenizer.svg", metadata={"Date": None})

    with tempfile.TemporaryDirectory() as temporary:
        documents = read("pydocs", 5000)
        points = sizes_and_latencies(vocabulary(documents, "wordpiece", 30_000, temporary), arguments.rounds)
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for names, label in ((OURS, "vocabless"), (STOCK, "with a vocabulary of 30 000")):
        chosen = [point for point in points if point[0] in names]
        axes.scatter([size for _, size, _ in chosen], [time for *_, time in chosen], label=label)
        for name, size, time in chosen:
            axes.annotate(name, (size, time), xytext=(6, 3), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", xlabel="weights, MB (float32)", ylabel="one sentence → logits, ms, one thread")
    axes.legend()
    figure.savefig(folder / "size-latency.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
