"""Trains rows of the papers at tiny size, all with the same data, tokens and steps, and prints them beside the papers'.

    python -m papers scratch --corpus "corpus/*.parquet" --data_dir glue/ --subword vocab/ --claims claims.parquet
    python -m papers scratch --show                       # the tables of what is finished; nothing is trained

The encoders have two layers of width 128. Each row is a run of its own, one after another, and the same command again
continues after any interruption. `papers/scratch/` has the budgets, and small records of the finished rows: their
scores and curves without their weights. A row with a record is not trained again.
"""

import json
import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from papers import eelbert, elementwise, hashformers, patents
from papers.finished import RESULTS, fill, is_finished, read_results
from papers.plan import Plan, chosen_rows
from papers.plan import add_arguments as plan_arguments
from papers.table import PRETRAINING, Column, PaperRow, PaperTable, score

FOLDER = Path(__file__).with_suffix("")
RECIPES = "papers/scratch/"
TINY = ("size=tiny",)
WIDE = ("encoder_options.initializer_range=0.1",)  # without it, S+R stays at the class shares; see docs/papers.md
TASKS = ("SST", "SST-2", "MRPC", "MRPC acc.", "CoLA", "STS", "STS-B S", "RTE")  # columns of both papers
CURVE = ("step", "loss", "eval_")  # beginnings of the names that a record keeps of a line of the log
TIMES = ("runtime", "per_second")  # ends of those that it leaves out
ANCHORS = (
    "Published, for the eye: BERT-tiny of Turc et al. (2019), 3.3 billion words, test sets: SST-2 83.2, MRPC 71.1, "
    "CoLA 0.0, STS-B 73.6, RTE 57.2; bert-hash femto, pico, nano: SST-2 78.2, 78.8, 81.3, MNLI 57.0, 62.3, 65.7."
)


def rows_of(source: PaperTable, columns: Sequence[Column], *labels: str, **changes: Any) -> list[PaperRow]:
    """Returns rows of a paper's table with its figures of some columns, changed to our size."""
    rows = []
    for label in labels:
        row = next(row for row in source.rows if row.label == label)
        published = row.published(source.columns)
        figures = [published.get(column.title) for column in columns]
        printed = " ".join("-" if figure is None else str(figure) for figure in figures)
        rows.append(replace(row, printed=printed, recipe="", **{"overrides": TINY, **changes}))
    return rows


def table(title: str, about: str, columns: Sequence[Column], rows: Sequence[PaperRow], **options: Any) -> PaperTable:
    """Returns a table of ours, with the median over the seeds."""
    kept = {"task_recipe": f"{RECIPES}glue.yaml", "summary": "median", **options}
    return PaperTable(f"From scratch, {title}", about, (*columns,), (*rows,), **kept)


SIZE = score("Parameters (K)", "parameters", "size")
SR = (
    SIZE, score("S+R balanced", f"{PRETRAINING}.balanced_accuracy"),
    *(column for column in hashformers.TASKS if column.title in TASKS),
)  # fmt: skip
MLM = (
    SIZE, score("MLM accuracy", f"{PRETRAINING}.accuracy"),
    *(column for column in eelbert.LARGE if column.title in TASKS),
)  # fmt: skip

TABLES = (
    table(
        "S+R", "rows of HashFormers, Table 1; the paper's figures are of base size", SR,
        rows_of(hashformers.TABLE_1, SR, "BERT-S+R", "LSH Proj", "MD Emb (50K)", "MD Pool", "LSH Pool", "LSH Add",
                "LSH Emb (50K)", overrides=TINY + WIDE),
        first_recipe=f"{RECIPES}shuffle-random-short.yaml", recipe=f"{RECIPES}shuffle-random.yaml",
    ),
    table(
        "masked LM",
        "rows of EELBERT, Tables 2 to 4; the paper's random hash is of mini size, its hash start of base size", MLM,
        [
            *rows_of(eelbert.TABLE_2, MLM, "BERT-tiny", "EELBERT-tiny", "UNO-EELBERT", overrides=()),
            *rows_of(eelbert.TABLE_3, MLM, "BERT-mini, random", label="EELBERT-tiny, random hash"),
            *rows_of(eelbert.TABLE_4, MLM, "hash", label="BERT-tiny, hash start", model="bert-tiny",
                     overrides=()),
        ],
        recipe=f"{RECIPES}mlm.yaml", unit=100,
    ),
    table(
        "patents", "rows of Elementwise, Tables 3 and 4; its patents are other ones, see docs/papers.md",
        elementwise.COLUMNS,
        [
            *rows_of(elementwise.TABLE_3, elementwise.COLUMNS, "BERT, original", "BERT, elementwise",
                     overrides=TINY + WIDE),
            *rows_of(elementwise.TABLE_4, elementwise.COLUMNS, "None", label="BERT, elementwise bytes",
                     overrides=TINY + WIDE),
        ],
        task_recipe=f"{RECIPES}patents.yaml", is_patents=True, decimals=2,
    ),
)  # fmt: skip


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `python -m papers scratch`."""
    plan_arguments(parser)
    parser.set_defaults(output_dir="runs/scratch")
    parser.add_argument("--show", action="store_true", help="print the tables of what is finished, and train nothing")
    parser.add_argument("--subword", help="tokenizer of all rows with a vocabulary; None is BERT's, of the Hub")
    parser.add_argument(
        "--claims", help="parquet file with the columns text, subclass and document; None leaves the patents out"
    )
    parser.add_argument(
        "--records", default=FOLDER, type=Path, help="where finished rows are kept (default: %(default)s)"
    )


def run(arguments: Namespace) -> str:
    """Trains the rows that are not finished, one after another; returns the tables, or the commands with `--dry_run`.

    Raises:
        ValueError: see `chosen_rows`, `write_claims` and `finished.fill`.
    """
    plans = [Plan.of(each, arguments, subword=arguments.subword, records=arguments.records) for each in TABLES]
    chosen = chosen_rows(plans, arguments.rows)
    if arguments.dry_run:
        return "\n".join(plan.script(rows) for plan, rows in chosen)
    failed = [] if arguments.show else [label for plan, rows in chosen for label in train(plan, rows, arguments.claims)]
    notes = [f"- The commands of {', '.join(failed)} failed; their messages are above."] if failed else []
    return "\n\n".join([*(fill(plan, rows) for plan, rows in chosen), "\n".join([*notes, ANCHORS])])


def train(plan: Plan, rows: Sequence[PaperRow], claims: str | None) -> Iterator[str]:
    """Trains the rows of a plan that are not finished and keeps their records; yields the labels of those that fail."""
    has_data = not plan.table.is_patents or (plan.patents / patents.TEST_B).is_file()
    if not has_data and claims:
        patents.write_claims(claims, plan.patents)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for row in rows if has_data or claims else ():
        if not is_finished(plan, row):
            print(f"{plan.table.title}: {row.label}", flush=True)
            if subprocess.run(["sh", "-c", plan.line(row)], env={**os.environ, "PATH": path}).returncode:
                yield row.label
                continue
        for folder in (Path(words[-1]) for words in (*plan.pretraining(row), *plan.fine_tuning(row))):
            keep(folder, plan)


def keep(folder: Path, plan: Plan) -> None:
    """Writes the small record of a run that is finished here: its results, of whose log it has the curves alone."""
    record = dict(read_results(folder) or {})
    if plan.records is None or not record:
        return
    record["log"] = [
        {name: value for name, value in line.items() if name.startswith(CURVE) and not name.endswith(TIMES)}
        for line in record.get("log", ())
    ]
    target = plan.records / folder.relative_to(plan.root)
    target.mkdir(parents=True, exist_ok=True)
    (target / RESULTS).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
