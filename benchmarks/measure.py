"""How the benchmarks measure: each side in turns, since a noisy machine is noisy for both, and ratios of neighbours."""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from vocabless.saving.run_folder import versions


@dataclass(frozen=True)
class Comparison:
    """One row of a benchmark's table.

    Attributes:
        name: what was measured.
        unit: of the speeds, for instance `words/s`.
        ours: median speed of our side.
        peer: median speed of the peer's.
        ratio: median over the rounds of ours / peer's.
        low: its lower quartile.
        high: its upper quartile.
        goal: least ratio that is aimed at; None if there is none.
    """

    name: str
    unit: str
    ours: float
    peer: float
    ratio: float
    low: float
    high: float
    goal: float | None = None


def compare(
    name: str,
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    work: float | tuple[float, float],
    unit: str,
    rounds: int = 7,
    goal: float | None = None,
) -> Comparison:
    """Runs both sides in turns after a warm-up of each.

    Args:
        name: see `Comparison`.
        ours: one round of our side.
        peer: one round of the peer's.
        work: what a round does, in `unit` without its "/s"; two numbers if the sides differ.
        unit: of the speeds.
        rounds: of each side.
        goal: see `Comparison`.
    """
    amounts = work if isinstance(work, tuple) else (work, work)
    speeds: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for side, (run, amount) in enumerate(zip((ours, peer), amounts, strict=True)):
            start = time.perf_counter()
            run()
            if number:
                speeds[side].append(amount / (time.perf_counter() - start))
    ratios = [one / other for one, other in zip(*speeds, strict=True)]
    low, _, high = statistics.quantiles(ratios, n=4) if rounds > 1 else ratios * 3
    medians = [statistics.median(side) for side in speeds]
    return Comparison(name, unit, *medians, statistics.median(ratios), low, high, goal)


def report(benchmark: str, rows: Sequence[Comparison], output: str | None) -> None:
    """Prints the table; writes it as JSON if `output` names a file."""
    print(f"\n{benchmark} · torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.machine()}\n")
    width = max(len(row.name) for row in rows)
    print(f"{'':{width}} {'ours':>12} {'peer':>12} {'':10} {'ratio':>7}  {'quartiles':13} goal")
    for row in rows:
        goal = "" if row.goal is None else f"≥ {row.goal:g} {'✓' if row.ratio >= row.goal else '✗'}"
        ratio = f"{row.ratio:6.2f}×  {f'{row.low:.2f}–{row.high:.2f}':13}"
        print(f"{row.name:{width}} {row.ours:12,.5g} {row.peer:12,.5g} {row.unit:10} {ratio} {goal}")
    if output:
        content = {"benchmark": benchmark, "rows": [asdict(row) for row in rows], "versions": versions()}
        content |= {"threads": torch.get_num_threads(), "machine": platform.platform()}
        Path(output).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def prepare_threads(count: int) -> None:
    """Gives torch, and the tokenizers of both sides, `count` threads; 0 leaves them as they are."""
    if count:
        torch.set_num_threads(count)
    if count == 1:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"


def parser(description: str | None) -> argparse.ArgumentParser:
    """Returns the arguments that all benchmarks take."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=7, help="rounds of each side, after one to warm up")
    arguments.add_argument("--threads", type=int, default=0, help="torch's threads; 0 leaves them as they are")
    arguments.add_argument("--output", help="JSON file for the figures")
    return arguments


def parser_with_texts(description: str | None) -> argparse.ArgumentParser:
    """Returns those, and which texts are read."""
    arguments = parser(description)
    arguments.add_argument("--corpus", default="pydocs", help="texts, as for run_pretraining.py")
    arguments.add_argument("--documents", type=int, default=5000, help="of the corpus")
    return arguments
