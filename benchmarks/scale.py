"""How fast the engines of docs/scale.md classify texts with one and with two workers, and what a worker takes.

    python -m benchmarks.scale checkpoints/hashgram-nano-sst2/onnx

The texts are made up, of 17 words on average, in eight files of Parquet. Seconds are those from reading files to the
written ones, with loading the model, without the start of the engine. Memory is the largest of a process of a worker,
which for Spark and Ray includes their own Python code. Each measurement is made in a process of its own.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import dataset, parquet

from benchmarks.measure import parser, write_record
from vocabless.saving.tables import markdown_table

FILES, BATCH = 8, 1024
WORDS = "the film is a slow but honest story of two men who never once say what they mean".split()


def write_texts(folder: Path, rows: int) -> None:
    """Writes the made-up texts."""
    chance = random.Random(0)
    for part in range(FILES):
        texts = [" ".join(chance.choices(WORDS, k=chance.randint(4, 30))) for _ in range(rows // FILES)]
        parquet.write_table(pa.table({"text": texts}), folder / f"{part}.parquet")


def labels(folder: str, texts: list[str]) -> list[str]:
    """Returns the label of each text, and writes the largest memory of this process, MB, into a file.

    The engines send this function by value, since it is one of `__main__`. A `functools.cache` cannot be sent so: what
    a process loads once is kept in the module that the folder holds.
    """
    import os
    import resource

    if folder not in sys.path:
        sys.path.insert(0, folder)
    import onnx_model  # type: ignore[import-not-found]

    if not hasattr(onnx_model, "loaded"):
        onnx_model.loaded = onnx_model.OnnxClassifier(folder, threads=1)
    found = [max(answer, key=answer.get) for answer in onnx_model.loaded(texts)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    (Path(os.environ["SCALE_MEMORY"]) / str(os.getpid())).write_text(str(memory))
    return found


def with_ray(model: str, source: str, target: str, workers: int) -> Callable[[], Any]:
    """Starts Ray; returns what reads and writes."""
    import ray

    ray.init(num_cpus=workers + 2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    class Read:
        def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
            return batch | {"label": labels(model, batch["text"].tolist())}

    def run() -> None:
        pool = ray.data.ActorPoolStrategy(size=workers)
        rows = ray.data.read_parquet(source).map_batches(Read, batch_size=BATCH, compute=pool)
        rows.write_parquet(target)

    return run


def with_spark(model: str, source: str, target: str, workers: int) -> Callable[[], Any]:
    """Starts Spark; returns what reads and writes."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers take `python3` of the path
    spark = SparkSession.builder.master(f"local[{workers},4]").config("spark.ui.enabled", "false").getOrCreate()

    def read(frames: Any) -> Any:
        for frame in frames:
            yield frame.assign(label=labels(model, frame["text"].tolist()))

    schema = "text string, label string"
    return lambda: spark.read.parquet(source).mapInPandas(read, schema).write.parquet(target)


def with_datasets(model: str, source: str, target: str, workers: int) -> Callable[[], Any]:
    """Returns what reads and writes."""
    from datasets import Dataset

    def run() -> None:
        rows = Dataset.from_parquet(f"{source}/*.parquet", cache_dir=f"{target}-cache")
        read = partial(_label_batch, model)
        Path(target).mkdir()
        rows.map(read, batched=True, batch_size=BATCH, num_proc=workers).to_parquet(f"{target}/0.parquet")

    return run


def _label_batch(model: str, batch: dict[str, list[str]]) -> dict[str, list[str]]:
    return {"label": labels(model, batch["text"])}


ENGINES = {"ray": with_ray, "pyspark": with_spark, "datasets": with_datasets}


def measure(engine: str, model: str, source: str, workers: int) -> dict[str, float]:
    """Returns rows a second, and the largest memory of a worker in MB."""
    import os

    with tempfile.TemporaryDirectory() as name:
        memory = Path(name) / "memory"
        memory.mkdir()
        os.environ["SCALE_MEMORY"] = str(memory)
        run = ENGINES[engine](model, source, f"{name}/read", workers)
        start = time.perf_counter()
        run()
        seconds = time.perf_counter() - start
        rows = dataset.dataset(f"{name}/read").count_rows()
        return {"rows a second": rows / seconds, "MB": max(float(each.read_text()) for each in memory.iterdir())}


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a line for each engine and number of workers."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("model", help="folder of an exported classifier")
    command_line.add_argument("--rows", type=int, default=200_000, help="texts; default %(default)s")
    command_line.add_argument("--engines", nargs="+", choices=[*ENGINES], default=[*ENGINES], help="default: all")
    command_line.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # engine, folder of texts, workers: see `main`
    arguments = command_line.parse_args(argv)
    model = str(Path(arguments.model).resolve())
    if arguments.one:
        engine, source, workers = arguments.one
        print(json.dumps(measure(engine, model, source, int(workers))))
        return
    table: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as source:
        write_texts(Path(source), arguments.rows)
        for engine in arguments.engines:
            for workers in (1, 2):
                command = [sys.executable, "-m", "benchmarks.scale", model, "--one", engine, source, str(workers)]
                printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
                table[f"{engine}, {workers}"] = json.loads(printed.strip().splitlines()[-1])
    lines = [[name, *(f"{value:,.0f}" for value in figures.values())] for name, figures in table.items()]
    print(markdown_table(["engine, workers", "rows a second", "MB of a worker"], lines))
    write_record(arguments.output, "scale", table)


if __name__ == "__main__":
    main()
