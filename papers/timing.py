"""Times of forward passes, measured in turns, so that a load on the machine slows down all of them."""

import copy
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.peers import Side

Run = Callable[[], Any]


def seconds_in_turns(runs: Sequence[Run], rounds: int, before: Sequence[Run] | None = None) -> list[float]:
    """Returns the median seconds of each function over the rounds, after one round as a warm-up.

    Args:
        runs: what is measured.
        rounds: number of measured rounds.
        before: run before each of them, and not measured.
    """
    seconds: list[list[float]] = [[] for _ in runs]
    for number in range(rounds + 1):
        for place, run in enumerate(runs):
            if before is not None:
                before[place]()
            start = time.perf_counter()
            run()
            if number > 0:
                seconds[place].append(time.perf_counter() - start)
    return [statistics.median(measured) for measured in seconds]


def milliseconds_per_text(
    sides: Sequence[Side],
    texts: Sequence[str],
    batch_size: int,
    rounds: int,
    with_tokenizer: bool = False,
    is_anew: bool = False,
) -> list[float]:
    """Returns the time of each side in milliseconds per text; a batch is as long as its longest text.

    Args:
        sides: tokenizers and models.
        texts: what they read.
        batch_size: texts of a batch.
        rounds: number of measured rounds.
        with_tokenizer: whether the tokenizer is measured, too.
        is_anew: whether every unit is hashed again: tokenizer and front end then remember nothing.
    """
    batches = [list(texts[start : start + batch_size]) for start in range(0, len(texts), batch_size)]
    runs = [passes(side, batches, with_tokenizer) for side in sides]
    before = [forgetting(side) for side in sides] if is_anew else None
    return [1000 * seconds / len(texts) for seconds in seconds_in_turns(runs, rounds, before)]


def passes(side: Side, batches: Sequence[list[str]], with_tokenizer: bool) -> Run:
    """Returns a function that passes the batches through the model; they are encoded once, or with the tokenizer."""

    def encode(batch: list[str]) -> Any:
        return side.tokenizer(batch, padding=True, truncation=True, return_tensors="pt")

    encoded = [encode(batch) for batch in batches]

    def run() -> None:
        with torch.inference_mode():
            for batch, inputs in zip(batches, encoded, strict=True):
                side.model(**(encode(batch) if with_tokenizer else inputs))

    return run


def forgetting(side: Side) -> Run:
    """Returns a function that empties what the tokenizer and the front end of our side remember."""
    owners: list[Any] = [side.tokenizer, getattr(side.model.base_model, "front_end", None)]

    def forget() -> None:
        for owner in owners:
            if hasattr(owner, "_cache"):
                owner._cache = copy.deepcopy(owner._cache)  # the copy is empty

    return forget
