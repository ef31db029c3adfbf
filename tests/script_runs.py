"""Quick runs of both scripts with the progress bar, and the data that they learn from."""

import csv
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import run_glue
import run_pretraining

VARIANT = "hashformer-lsh-proj-tiny"
PRETRAINING = ["--use_cpu", "true", "--max_steps", "6", "--save_steps", "2", "--logging_steps", "2",
               "--per_device_train_batch_size", "4", "--max_seq_length", "16"]  # fmt: skip
WORDS = "the quick brown fox jumps over lazy dogs while seven small cats sleep near old walls".split()
THINGS = "house river stone cat dog tree hill road small large old new".split()


def write_corpus(file: Path, start: int = 1) -> str:
    """Writes 80 sentences of few words; those of another start differ. Returns the file's name."""
    sentences = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 30)) + "." for i in range(start, start + 80)]
    file.write_text("\n".join(sentences))
    return str(file)


def read_results(folder: Path) -> dict[str, Any]:
    """The content of results.json."""
    return json.loads((Path(folder) / "results.json").read_text())


def pretrain(folder: Path, *flags: object) -> dict[str, Any]:
    """Runs the script into a folder; returns the results. Flags go before those of `PRETRAINING`."""
    run_pretraining.main([*PRETRAINING, "--output_dir", str(folder), *map(str, flags)])
    return read_results(folder)


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
    """Fine-tunes a random model, or that of the flags; returns the folder of the last task's run and its results."""
    quick = ["--use_cpu", "true", "--model_name_or_path", "hashformer-md5-pool-tiny"]
    run_glue.main([*quick, "--output_dir", str(folder), *map(str, flags)])
    run_folder = sorted(folder.glob("*/seed-*"))[-1]
    return run_folder, read_results(run_folder)


def predictions_of(folder: Path) -> list[dict[str, Any]]:
    """The records of the predicted test rows."""
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
