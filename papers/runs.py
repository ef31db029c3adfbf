"""Pre-trains, fine-tunes and compares what a table needs, by the two scripts; each run is resumed or read again."""
# mypy: allow-untyped-calls

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoModelForMaskedLM

import run_glue
import run_pretraining
from papers import hash_init, patents
from papers.comparison import compare_runs, read_run
from papers.table import PaperRow, PaperTable, render
from vocabless.overrides import with_overrides
from vocabless.stock_shapes import StockShape, find_shape, load_shape_config, load_shape_tokenizer

QUIET = ["--disable_tqdm", "true", "--report_to", "none"]
TRAINED_SUBWORD = "subword.json"  # what run_pretraining.py --subword train writes


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of the tables of scores."""
    parser.add_argument("--size", help="size of all models: uno, tiny, mini, small or base; None is the paper's")
    parser.add_argument("--max_steps", type=int, help="steps of pre-training; None trains by the paper's recipes")
    parser.add_argument("--corpus", nargs="+", help="text for pre-training, as run_pretraining.py takes it")
    parser.add_argument("--task_name", nargs="+", help="GLUE tasks of the table, or all")
    parser.add_argument("--data_dir", help="folder of the GLUE tasks, as run_glue.py takes it")
    parser.add_argument("--patents", metavar="FILE", nargs="+", help="files of patents, for the tables of Elementwise")
    patents.add_choices(parser)
    parser.add_argument("--rows", nargs="+", help="labels of some rows; None is all")
    parser.add_argument("--output_dir", default="runs/papers", help="folder of all runs (default: runs/papers)")


def make_table(table: PaperTable, arguments: Namespace) -> str:
    """Returns the table: the paper's figures beside ours, and what differs.

    Args:
        table: the paper's table.
        arguments: of the command line; `others` are flags for `run_glue.py`.
    """
    chosen = [row for row in table.rows if not arguments.rows or row.label in arguments.rows]
    data = _data(table, arguments)
    folders = [_fine_tune(table, row, data, arguments) for row in chosen]
    compared = compare_runs([str(folder) for folder in folders], None, table.summary)
    contents = [read_run(folder) for folder in folders]
    text = render(table, list(zip(chosen, contents, compared["rows"], strict=True)))
    return "\n".join([f"{table.title}: {table.about}", "", text, "", *_differences(table, chosen, contents, arguments)])


def _data(table: PaperTable, arguments: Namespace) -> list[str]:
    """Returns the flags of the table's data. Those of patents are made once."""
    if not table.is_patents:
        tasks = ["--task_name", *arguments.task_name] if arguments.task_name else []
        return [*tasks, *(["--data_dir", arguments.data_dir] if arguments.data_dir else [])]
    if not arguments.patents:
        raise ValueError(f"{table.title} is fine-tuned on patents; give --patents FILE.")
    folder = Path(arguments.output_dir) / "patents"
    if not (folder / patents.LABEL_NAMES).is_file():  # the last that is written
        print(patents.run(Namespace(**{**vars(arguments), "output_dir": folder})), flush=True)
    flags = ["--train_file", str(folder / f"{patents.TRAIN}.jsonl"), "--label_names", str(folder / patents.LABEL_NAMES)]
    if (folder / f"{patents.TEST_A}.jsonl").is_file():
        flags += ["--validation_file", str(folder / f"{patents.TEST_A}.jsonl")]
        flags += ["--test_file", str(folder / f"{patents.TEST_B}.jsonl"), "--do_predict"]
    return flags


def _fine_tune(table: PaperTable, row: PaperRow, data: Sequence[str], arguments: Namespace) -> Path:
    """Returns the folder of a fine-tuned row; a finished one is read."""
    start = _pretrain(table, row, arguments)
    tuned = "fine-tuned-on-patents" if table.is_patents else "fine-tuned"
    folder = Path(arguments.output_dir) / tuned / _slug(table, row, arguments)
    recipe = ["--recipe", table.task_recipe] if arguments.max_steps is None and table.task_recipe else []
    if table.is_patents and not recipe:
        recipe = ["--task_type", "multi_label_classification"]
    size = [] if row.objective else _size(table, arguments)
    vocabulary = ["--tokenizer_name", "train"] if not row.objective and _has_vocabulary(row) else []
    command = [*recipe, "--model_name_or_path", str(start), *size, *vocabulary, *data]
    run_glue.main([*command, "--output_dir", str(folder), *QUIET, *arguments.others])
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
        print(hash_init.run(Namespace(source=str(fresh), target=str(hashed), seed=0)), flush=True)
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
    notes = []
    if arguments.size and table.size:
        notes.append(f"the models are {arguments.size}, the paper's {table.size}")
    if arguments.max_steps is not None and any(row.objective for row in rows):
        corpus = ", ".join(Path(source).name for source in arguments.corpus or ["the embedded corpus"])
        notes.append(
            f"pre-training has {arguments.max_steps} steps of the script's default batch on {corpus}, in place of the "
            f"recipe {table.recipe}"
        )
    if arguments.max_steps is not None and table.task_recipe:
        notes.append(f"fine-tuning has the script's defaults, not the recipe {table.task_recipe}")
    with_vocabulary = [row.label for row in rows if _has_vocabulary(row)]
    if with_vocabulary:
        names = ", ".join(with_vocabulary)
        notes.append(f"the subword vocabularies are trained on the texts at hand, so they are smaller: {names}")
    seeds = {str(len(runs)) for content in contents for runs in content["scores"].values()}
    notes.append(f"seeds: {', '.join(sorted(seeds))}")
    notes += [f"{row.label}: {row.note}" for row in rows if row.note]
    return ["Beside the paper:", "", *(f"- {note}." for note in [*notes, *_footnotes(rows, contents)])]


def _footnotes(rows: Sequence[PaperRow], contents: Sequence[dict[str, Any]]) -> list[str]:
    """Returns the footnotes of the runs, each once, behind the labels of its rows unless all rows have it."""
    labels: dict[str, list[str]] = {}
    for row, content in zip(rows, contents, strict=True):
        for note in content.get("footnotes", []):
            labels.setdefault(note, []).append(row.label)
    return [note if len(named) == len(rows) else f"{', '.join(named)}: {note}" for note, named in labels.items()]
