"""Texts of which one word tells the label, and csv files of them."""

import csv
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

THINGS = "house river stone cat dog tree hill road small large old new".split()


def coloured(count: int) -> list[tuple[str, str]]:
    """Different texts with one word of colour, and the colours."""
    chance = random.Random(0)
    colours = [("red", "blue", "green")[row % 3] for row in range(count)]
    return [(f"{colour} {' '.join(chance.choices(THINGS, k=4))} {row}", colour) for row, colour in enumerate(colours)]


def write_csv(file: Path, rows: Iterable[tuple[Any, ...]], header: tuple[str, ...] = ("text", "label")) -> Path:
    """Writes rows into a csv file; returns it."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return file
