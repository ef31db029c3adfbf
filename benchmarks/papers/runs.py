"""Pre-trains, fine-tunes and compares what a table needs, by the two scripts; each run is resumed or read again."""
# mypy: allow-untyped-calls

import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoModelForMaskedLM

import run_glue
import run_pretraining
from benchmarks.papers.figures import render
from benchmarks.papers.rows import PaperRow, PaperTable
from vocabless.conversion.__main__ import main as convert
from vocabless.overrides import with_overrides
from vocabless.saving.run_folder import read_results
from vocabless.stock_shapes import StockShape, find_shape, load_shape_config, load_shape_tokenizer
from vocabless.training.texts.subword import TRAINED_SUBWORD

QUIET = ["--disable_tqdm", "true", "--report_to", "none"]


def make_table(table: PaperTable, arguments: Namespace, others: Sequence[str]) -> str:
    """Returns the table: the paper's figures beside ours, and what differs.

    Args:
        table: the paper's table.
        arguments: of the command line, see `__main__`.
        others: further flags, for `run_glue.py`.
    """
    chosen = [row for row in table.rows if not arguments.rows or row.label in arguments.rows]
    folders = [_fine_tune(table, row, arguments, others) for row in chosen]
    output = Path(arguments.output_dir) / "compared" / "-".join(table.title.lower().replace(",", "").split())
    run_glue.main(["--compare", *map(str, folders), "--summary", table.summary, "--output_dir", str(output)])
    compared = json.loads((output / "comparison.json").read_text(encoding="utf-8"))
    contents = [read_results(folder) or {} for folder in folders]
    text = render(table, list(zip(chosen, contents, compared["rows"], strict=True)))
    return "\n".join([f"{table.title}: {table.about}", "", text, "", *_differences(table, chosen, contents, arguments)])


def _fine_tune(table: PaperTable, row: PaperRow, arguments: Namespace, others: Sequence[str]) -> Path:
    """Returns the folder of a fine-tuned row; a finished one is read."""
    start = _pretrain(table, row, arguments)
    tasks = ["--task_name", *arguments.task_name] if arguments.task_name else []
    tasks += ["--data_dir", arguments.data_dir] if arguments.data_dir else []
    tuned = "fine-tuned-on-patents" if table.is_patents else "fine-tuned"
    folder = Path(arguments.output_dir) / tuned / _slug(table, row, arguments)
    recipe = ["--recipe", table.task_recipe] if arguments.max_steps is None and table.task_recipe else []
    if table.is_patents and not recipe:
        recipe = ["--task_type", "multi_label_classification"]
    size = [] if row.objective else _size(table, arguments)
    vocabulary = ["--tokenizer_name", "train"] if not row.objective and _has_vocabulary(row) else []
    command = [*recipe, "--model_name_or_path", str(start), *size, *vocabulary, *tasks, "--summary", table.summary]
    run_glue.main([*command, "--output_dir", str(folder), *QUIET, *others])
    return folder


def _pretrain(table: PaperTable, row: PaperRow, arguments: Namespace) -> Path | str:
    """Returns the folder of a pre-trained row, or the name of random weights."""
    if row.objective is None:
        return row.model
    folder = Path(arguments.output_dir) / "pre-trained" / _slug(table, row, arguments)
    command = ["--objective", row.objective, "--output_dir", str(folder), *QUIET]
    if arguments.max_steps is None:
        recipe = "hashformer-mlm" if table.recipe == "hashformer" and row.objective == "mlm" else table.recipe
        command += ["--recipe", recipe]
        command += ["--set", "ngrams=train"] if "-lsh-" in row.model else []  # HashFormers, 3.3
    else:
        command += ["--max_steps", str(arguments.max_steps)]
    command += ["--corpus", *arguments.corpus] if arguments.corpus else []
    needs_vocabulary = row.objective == "mlm" or _has_vocabulary(row)
    if row.start == "hash":
        command += ["--model_name_or_path", str(_hashed_table(table, row, arguments))]
    else:
        command += ["--variant", row.model, *_size(table, arguments)]
        command += ["--subword", "train"] if needs_vocabulary else []
    run_pretraining.main(command)
    return folder


def _hashed_table(table: PaperTable, row: PaperRow, arguments: Namespace) -> Path:
    """Returns a fresh stock model whose word table is n-gram hashes, with the vocabulary of the row before it."""
    random_row = table.rows[0]
    vocabulary = Path(_pretrain(table, random_row, arguments)) / TRAINED_SUBWORD
    fresh = Path(arguments.output_dir) / "fresh" / _slug(table, row, arguments)
    hashed = fresh.with_name(f"{fresh.name}-hashed")
    if not hashed.is_dir():
        shape = with_overrides(find_shape(row.model), {"size": arguments.size} if arguments.size else {})
        assert isinstance(shape, StockShape)
        tokenizer = load_shape_tokenizer(shape, vocabulary)
        config = load_shape_config(shape, len(tokenizer), pad_token_id=tokenizer.pad_token_id)
        AutoModelForMaskedLM.from_config(config).save_pretrained(fresh)
        tokenizer.save_pretrained(fresh)
        convert(["hash-init", str(fresh), str(hashed)])
    return hashed


def _has_vocabulary(row: PaperRow) -> bool:
    shape = find_shape(row.model)
    return shape.subwords is not None if isinstance(shape, StockShape) else shape.reads_subwords


def _size(table: PaperTable, arguments: Namespace) -> list[str]:
    return ["--set", f"size={arguments.size}"] if arguments.size and table.size else []


def _slug(table: PaperTable, row: PaperRow, arguments: Namespace) -> str:
    """Returns a name for the folders of a row: rows of two tables with the same model and training share them."""
    size = arguments.size if table.size else ""
    return "-".join(filter(None, [row.model, size, row.objective, row.start and f"{row.start}-start"]))


def _differences(
    table: PaperTable, rows: Sequence[PaperRow], contents: Sequence[dict[str, Any]], arguments: Namespace
) -> list[str]:
    """Returns what differs from the paper, as a list."""
    sizes = f"the models are {arguments.size}, the paper's {table.size}" if arguments.size and table.size else ""
    steps = ""
    if arguments.max_steps is not None and any(row.objective for row in rows):
        corpus = ", ".join(Path(source).name for source in arguments.corpus or ["the embedded corpus"])
        steps = (
            f"pre-training has {arguments.max_steps} steps of the script's default batch on {corpus}, in place of the "
            f"recipe {table.recipe}"
        )
    tuning = (
        f"fine-tuning has the script's defaults, not the recipe {table.task_recipe}"
        if arguments.max_steps is not None and table.task_recipe
        else ""
    )
    seeds = {str(len(runs)) for content in contents for runs in content.get("scores", {}).values()}
    with_vocabulary = [row.label for row in rows if _has_vocabulary(row)]
    vocabulary = (
        f"the subword vocabularies are trained on the texts at hand, so they are smaller: {', '.join(with_vocabulary)}"
        if with_vocabulary
        else ""
    )
    notes = [f"{row.label}: {row.note}" for row in rows if row.note]
    footnotes = _footnotes(rows, contents)
    kept = [sizes, steps, tuning, vocabulary, f"seeds: {', '.join(sorted(seeds))}", *notes, *footnotes]
    return ["Beside the paper:", "", *(f"- {note}." for note in kept if note)]


def _footnotes(rows: Sequence[PaperRow], contents: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the footnotes of the runs, each once, behind the labels of its rows unless all rows have it."""
    labels: dict[str, list[str]] = {}
    for row, content in zip(rows, contents, strict=True):
        for note in content.get("footnotes", []):
            labels.setdefault(note, []).append(row.label)
    return [note if len(named) == len(rows) else f"{', '.join(named)}: {note}" for note, named in labels.items()]
