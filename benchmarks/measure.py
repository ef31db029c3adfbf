"""How the benchmarks measure: both sides run in turns, and a ratio compares two runs next to each other in time.

So a load on the machine slows down both sides. Speeds are measured on the texts that `read` returns.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset

from vocabless.public_names import without_path
from vocabless.saving.run_folder import versions
from vocabless.saving.tables import markdown_table
from vocabless.texts.corpora import load_text
from vocabless.texts.sentences import sentences
from vocabless.texts.subwords_and_ngrams import train_subword

Run = Callable[[], Any]  # one round of a side
# The flags that benchmarks share → the arguments of `add_argument`.
FLAGS: dict[str, dict[str, Any]] = {
    "rounds": {"type": int, "default": 7, "help": "measured rounds of each side, after one as a warm-up (%(default)s)"},
    "threads": {"type": int, "default": 1, "help": "threads of torch; 0 is its own number (%(default)s)"},
    "output": {"help": "JSON file for the results"},
    "corpus": {"default": "pydocs", "help": "texts to read, as `vocabless pretrain` takes them (%(default)s)"},
    "documents": {"type": int, "default": 5000, "help": "documents to read from the corpus (%(default)s)"},
}


@dataclass(frozen=True)
class Comparison:
    """One row of a benchmark's table."""

    name: str  # what was measured
    unit: str  # of the speeds, for instance `words/s`
    ours: float  # median speed of our side
    peer: float  # median speed of the peer
    ratio: float  # median over the rounds of our speed divided by the peer's
    low: float  # lower quartile of the ratio
    high: float  # upper quartile of the ratio


def run_all(runs: Sequence[Run]) -> Run:
    """Returns a function that calls all of `runs`."""

    def run() -> None:
        for each in runs:
            each()

    return run


def seconds_of(run: Run) -> float:
    """Returns the seconds that one round takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, ours: Run, peer: Run, work: float, unit: str, rounds: int = 7) -> Comparison:
    """Measures the speed of both sides in `rounds` rounds, after one as a warm-up; `unit` is that of `work` with "/s".

    `work` is what one round does, for instance the number of words.
    """
    speeds: list[list[float]] = [[], []]
    for number in range(rounds + 1):
        for run, of_side in zip((ours, peer), speeds, strict=True):
            seconds = seconds_of(run)
            if number > 0:  # round 0 is the warm-up
                of_side.append(work / seconds)
    ratios = [one / other for one, other in zip(*speeds, strict=True)]
    low, ratio, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    our_speed, peer_speed = map(statistics.median, speeds)
    return Comparison(name, unit, our_speed, peer_speed, ratio, low, high)


def report(benchmark: str, rows: Sequence[Comparison], output: str | None) -> None:
    """Prints the table, and writes it to the JSON file `output` if that is not None."""
    print(f"\n{benchmark} · torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}\n")
    lines = [
        [
            row.name,
            row.unit,
            f"{row.ours:,.5g}",
            f"{row.peer:,.5g}",
            f"{row.ratio:.2f}×",
            f"{row.low:.2f}–{row.high:.2f}",
        ]
        for row in rows
    ]
    print(markdown_table(["", "unit", "ours", "peer", "ratio", "quartiles"], lines, num_texts=2))
    write_record(output, benchmark, [asdict(row) for row in rows])


def aligned_table(rows: Sequence[Sequence[str]], num_texts: int = 2) -> str:
    """Returns a table to be read in a terminal; the first row is its header."""
    return markdown_table(rows[0], rows[1:], num_texts, aligned=True)


def write_record(output: str | None, benchmark: str, rows: Any) -> None:
    """Writes what was measured to the JSON file `output` if that is not None."""
    if output:
        content = {"benchmark": benchmark, "rows": rows, "versions": versions()}
        content |= {"threads": torch.get_num_threads(), "machine": platform.platform()}
        Path(output).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def prepare_threads(count: int) -> None:
    """Sets the threads of torch, and with 1 also those of Rust tokenizers; 0 changes nothing."""
    if count:
        torch.set_num_threads(count)
    if count == 1:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"


def parser(description: str | None, *flags: str) -> argparse.ArgumentParser:
    """Returns a parser of the running benchmark, with some of `FLAGS`."""
    program, raw = f"python -m benchmarks.{Path(sys.argv[0]).stem}", argparse.RawDescriptionHelpFormatter
    command_line = argparse.ArgumentParser(prog=program, description=description, formatter_class=raw)
    for flag in flags:
        command_line.add_argument(f"--{flag}", **FLAGS[flag])
    return command_line


class Models(argparse.Action):
    """Models of a table, which calls each by the name that `without_path` gives; two with one name are refused."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        """Sets the models."""
        names = [*map(without_path, values)]
        for name in {name for name in names if names.count(name) > 1}:
            parser.error(f"several models are called {name} in the table; rename a folder, or measure them apart")
        setattr(namespace, self.dest, values)


def vocabulary(documents: Dataset, kind: str, size: int, folder: str | os.PathLike[str]) -> str:
    """Trains a subword vocabulary of `size` tokens on the documents and returns its file."""
    file = Path(folder) / f"{kind}.json"
    train_subword(documents, kind, size).save(str(file))
    return str(file)


def read(corpus: str, documents: int) -> Dataset:
    """Returns the first documents of a corpus."""
    dataset = load_text(corpus)
    assert isinstance(dataset, Dataset)
    return dataset.select(range(min(documents, len(dataset))))


def sentences_of(documents: Dataset, count: int, min_words: int = 5) -> list[str]:
    """Returns the first `count` sentences that have at least `min_words` words."""
    chosen = []
    for text in documents["text"]:
        chosen += [sentence.strip() for sentence in sentences(text) if len(sentence.split()) >= min_words]
        if len(chosen) >= count:
            break
    return chosen[:count]


def words_of(texts: list[str]) -> int:
    """Returns the number of words, separated by white space."""
    return sum(len(text.split()) for text in texts)
