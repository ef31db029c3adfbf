"""Tables 1, 3, 4 and 5 of Elementwise: patents, from random weights."""

from argparse import ArgumentParser, Namespace

from papers.patents import add_choices, describe, deviations_table, known_codes, read_patents
from papers.table import Column, PaperRow, PaperTable, Tables

COLUMNS: tuple[Column, ...] = (
    ("A F1", "own.micro_f1"), ("A precision", "own.micro_precision"), ("A recall", "own.micro_recall"),
    ("B F1", "own.test_micro_f1"), ("B precision", "own.test_micro_precision"), ("B recall", "own.test_micro_recall"),
)  # fmt: skip
SPEED: Column = ("samples/s", "samples_per_second")
WHOLE = "64.30 66.02 62.66 63.94 66.55 61.53"
PER_SECOND = "the paper's speed is that of a GPU, with the tokenizer"

TABLE_3 = PaperTable(
    "Elementwise, Table 3", "each model beside its original", (SPEED, *COLUMNS),
    (
        PaperRow("BERT, original", "bert-base", "366 63.68 65.59 61.82 63.35 67.16 59.95", note=PER_SECOND),
        PaperRow("BERT, elementwise", "ewe-bert-base", f"629 {WHOLE}", note=PER_SECOND),
        PaperRow("CANINE, original", "canine-base", "242 60.40 64.08 57.12 59.97 64.52 56.01", note=PER_SECOND),
        PaperRow("CANINE, elementwise", "ewe-canine-base", "339 64.30 65.86 62.82 63.95 66.43 61.64", note=PER_SECOND),
        PaperRow("ALBERT, original", "albert-base", "338 63.15 65.82 60.70 62.79 66.36 59.59", note=PER_SECOND),
        PaperRow("ALBERT, elementwise", "ewe-albert-base", "638 63.18 65.84 60.73 62.91 66.47 59.71", note=PER_SECOND),
    ),
    task_recipe="elementwise-patents", is_patents=True,
)  # fmt: skip

TABLE_4 = PaperTable(
    "Elementwise, Table 4", "the units", COLUMNS,
    (
        PaperRow("None", "ewe-bert-bytes-base", "60.01 63.77 56.67 59.80 64.49 55.75"),
        PaperRow("Gradient", "ewe-bert-gradient-base", "64.14 65.91 62.45 63.75 66.41 61.29"),
        PaperRow("Whitespace", "ewe-bert-base", WHOLE),
    ),
    task_recipe="elementwise-patents", is_patents=True,
)  # fmt: skip

TABLE_5 = PaperTable(
    "Elementwise, Table 5", "the focus embeddings", COLUMNS,
    (
        PaperRow("none ablated", "ewe-bert-base", WHOLE),
        PaperRow("without focus embeddings", "ewe-bert-nofocus-base", "63.22 66.14 60.55 62.91 66.69 59.54"),
    ),
    task_recipe="elementwise-patents", is_patents=True,
)  # fmt: skip

TABLES: Tables = {"elementwise-3": TABLE_3, "elementwise-4": TABLE_4, "elementwise-5": TABLE_5}

# Table 1, in thousands: SD and SD major of the training patents, 2015 A and 2015 B.
PRINTED_1 = {"Original": "21 35.4 1.8 3 1.9 3.2", "Relabeled": "12.6 21 1.1 1.9 1.2 2"}


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of Table 1."""
    parser.add_argument("--patents", metavar="FILE", nargs="+", required=True, help="parquet, jsonl or json files")
    add_choices(parser)


def table_1(arguments: Namespace) -> str:
    """Returns the deviations of the labels' frequencies, before and after First- and Later-.

    Raises:
        ValueError: the patents cannot be read.
    """
    splits = read_patents(arguments)
    codes = known_codes(splits, arguments.codes)
    columns = 2 * len(splits)  # without dates there are no years to evaluate
    printed = [[f"paper, {name} (thousands)", *figures.split()[:columns]] for name, figures in PRINTED_1.items()]
    note = f"{describe(splits, codes)} The paper: 1.9M for training, 664 codes."
    return "\n".join(["Elementwise, Table 1", "", deviations_table(splits, codes, printed), "", note])
