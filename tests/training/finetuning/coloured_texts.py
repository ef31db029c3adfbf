"""Texts of which one word tells the label, csv files of them, and quick runs on such files."""

import csv
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import run_glue

QUICK = ["--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none"]
QUICK += ["--model_name_or_path", "hashformer-md5-pool-tiny"]
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


def fine_tune(folder: Path, *flags: object) -> tuple[Path, dict[str, Any]]:
    """Fine-tunes a small random model, or that of the flags; returns the folder of the run and its results."""
    run_glue.main([*QUICK, "--output_dir", str(folder), *map(str, flags)])
    (run_folder,) = folder.glob("*/seed-*")
    return run_folder, json.loads((run_folder / "results.json").read_text())


def predictions_of(folder: Path) -> list[dict[str, Any]]:
    """The records of the predicted test rows."""
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
