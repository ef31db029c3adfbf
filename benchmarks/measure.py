"""How the benchmarks measure: all sides run in turns, and a ratio compares two runs next to each other in time.

So a load on the machine slows down all sides.
"""

import argparse
import contextlib
import gzip
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

from vocabless.conversion.__main__ import main as run_verb
from vocabless.saving.run_folder import versions
from vocabless.saving.tables import markdown_table

Run = Callable[[], Any]  # one round of a side
# The flags that benchmarks share → the arguments of `add_argument`.
FLAGS: dict[str, dict[str, Any]] = {
    "rounds": {"type": int, "default": 7, "help": "measured rounds of each side, after one as a warm-up (%(default)s)"},
    "threads": {"type": int, "default": 1, "help": "threads of torch; 0 is its own number (%(default)s)"},
    "output": {"help": "JSON file for the results"},
    "corpus": {"default": "pydocs", "help": "texts to read, as run_pretraining.py takes them (%(default)s)"},
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
    goal: float | None = None  # smallest ratio that is a success; None if there is no goal


def seconds_in_turns(runs: Sequence[Run], rounds: int, before: Sequence[Run] = ()) -> list[list[float]]:
    """Returns the seconds of each side in each round, after one round as a warm-up.

    `before` has what runs before each side and is not measured; empty for nothing.
    """
    seconds: list[list[float]] = [[] for _ in runs]
    for number in range(rounds + 1):
        for place, run in enumerate(runs):
            if before:
                before[place]()
            start = time.perf_counter()
            run()
            if number > 0:  # round 0 is the warm-up
                seconds[place].append(time.perf_counter() - start)
    return seconds


def run_all(runs: Sequence[Run]) -> Run:
    """Returns a function that calls all of `runs`."""

    def run() -> None:
        for each in runs:
            each()

    return run


def compare(
    name: str,
    ours: Run,
    peer: Run,
    work: float | tuple[float, float],
    unit: str,
    rounds: int = 7,
    goal: float | None = None,
) -> Comparison:
    """Measures the speed of both sides, see `seconds_in_turns` and `Comparison`.

    `work` is the amount of work of a round, in `unit` without its "/s"; two numbers if the sides differ.
    """
    amounts = work if isinstance(work, tuple) else (work, work)
    measured = seconds_in_turns((ours, peer), rounds)
    our_speeds, peer_speeds = (
        [amount / each for each in seconds] for amount, seconds in zip(amounts, measured, strict=True)
    )
    return comparison(name, unit, our_speeds, peer_speeds, goal)


def comparison(name: str, unit: str, ours: list[float], peer: list[float], goal: float | None = None) -> Comparison:
    """Returns the row for the speeds of both sides in each round."""
    ratios = [one / other for one, other in zip(ours, peer, strict=True)]
    low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    median = statistics.median
    return Comparison(name, unit, median(ours), median(peer), median(ratios), low, high, goal)


def report(benchmark: str, rows: Sequence[Comparison], output: str | None) -> None:
    """Prints the table, and writes it to the JSON file `output` if that is not None."""
    print(f"\n{benchmark} · torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}\n")
    lines = []
    for row in rows:
        goal = "" if row.goal is None else f"≥ {row.goal:g} {'✓' if row.ratio >= row.goal else '✗'}"
        quartiles = f"{row.low:.2f}–{row.high:.2f}"
        lines.append([row.name, row.unit, f"{row.ours:,.5g}", f"{row.peer:,.5g}", f"{row.ratio:.2f}×", quartiles, goal])
    print(markdown_table(["", "unit", "ours", "peer", "ratio", "quartiles", "goal"], lines, num_texts=2))
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


def convert(*words: str | Path) -> None:
    """Runs a verb of `python -m vocabless.conversion` without its report."""
    with contextlib.redirect_stdout(None):
        run_verb(list(map(str, words)))


def sizes(contents: Sequence[bytes]) -> list[str]:
    """Returns the size of some files, and their size gzipped, as a server sends them."""
    gzipped = (gzip.compress(content, 9) for content in contents)
    return [f"{sum(map(len, each)) / 1e3:.0f} kB" for each in (contents, gzipped)]


def prepare_threads(count: int) -> None:
    """Sets the threads of torch, and with 1 also those of Rust tokenizers; 0 changes nothing."""
    if count:
        torch.set_num_threads(count)
    if count == 1:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"


def parser(description: str | None, *flags: str) -> argparse.ArgumentParser:
    """Returns a parser of the running benchmark, with some of `FLAGS`."""
    program, raw = f"python -m benchmarks.{Path(sys.argv[0]).stem}", argparse.RawDescriptionHelpFormatter
    return add_flags(argparse.ArgumentParser(prog=program, description=description, formatter_class=raw), *flags)


def add_flags(command_line: argparse.ArgumentParser, *flags: str) -> argparse.ArgumentParser:
    """Declares some of `FLAGS`; returns the parser."""
    for flag in flags:
        command_line.add_argument(f"--{flag}", **FLAGS[flag])
    return command_line
