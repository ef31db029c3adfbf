"""Tables 1, 3, 4 and 5 of Elementwise: patents, from random weights."""

from argparse import ArgumentParser, Namespace

from papers.patents import add_choices, describe, deviations_table, known_codes, read_patents
from papers.table import Column, PaperRow, PaperTable, Tables

COLUMNS: tuple[Column, ...] = (
    ("A F1", "own.micro_f1"), ("A precision", "own.micro_precision"), ("A recall", "own.micro_recall"),
    ("B F1", "own.test_micro_f1"), ("B precision", "own.test_micro_precision"), ("B recall", "own.test_micro_recall"),
)  # fmt: skip
SPEEDS: tuple[Column, ...] = (("samples/s", "samples_per_second"), ("speed-up", "speed_up"))
WHOLE = "64.30 66.02 62.66 63.94 66.55 61.53"
ALBERT = "albert/albert-base-v2"  # its own vocabulary; BERT's is that of `SUBWORD_TOKENIZERS`


def table(number: int, about: str, columns: tuple[Column, ...], *rows: PaperRow, note: str = "") -> PaperTable:
    """Returns a table of the paper."""
    notes = (note,) if note else ()
    title = f"Elementwise, Table {number}"
    return PaperTable(title, about, columns, rows, "elementwise-patents", is_patents=True, notes=notes)


def row(family: str, kind: str, model: str, printed: str, vocabulary: str = "", length: int | None = None) -> PaperRow:
    """Returns a row of Table 3, whose speed is compared with the family's original."""
    original = f"{family}, original"
    return PaperRow(f"{family}, {kind}", model, printed, vocabulary=vocabulary, length=length, original=original)


TABLE_3 = table(
    3, "each model beside its original", (*SPEEDS, *COLUMNS),
    row("BERT", "original", "bert-base", "366 1 63.68 65.59 61.82 63.35 67.16 59.95"),
    row("BERT", "elementwise", "ewe-bert-base", f"629 1.7 {WHOLE}"),
    # Section 5: CANINE reads 512 characters or units, which it downsamples to M = 128.
    row("CANINE", "original", "canine-base", "242 1 60.40 64.08 57.12 59.97 64.52 56.01", length=512),
    row("CANINE", "elementwise", "ewe-canine-base", "339 1.4 64.30 65.86 62.82 63.95 66.43 61.64", length=512),
    row("ALBERT", "original", "albert-base", "338 1 63.15 65.82 60.70 62.79 66.36 59.59", ALBERT),
    row("ALBERT", "elementwise", "ewe-albert-base", "638 1.9 63.18 65.84 60.73 62.91 66.47 59.71"),
    note="the paper's speed is that of a GPU with the tokenizer over 2015 A; ours is the encoder's over sentences",
)  # fmt: skip

TABLE_4 = table(
    4, "the units", COLUMNS,
    PaperRow("None", "ewe-bert-bytes-base", "60.01 63.77 56.67 59.80 64.49 55.75"),
    PaperRow("Gradient", "ewe-bert-gradient-base", "64.14 65.91 62.45 63.75 66.41 61.29"),
    PaperRow("Whitespace", "ewe-bert-base", WHOLE),
)  # fmt: skip

TABLE_5 = table(
    5, "the focus embeddings", COLUMNS,
    PaperRow("none ablated", "ewe-bert-base", WHOLE),
    PaperRow("without focus embeddings", "ewe-bert-nofocus-base", "63.22 66.14 60.55 62.91 66.69 59.54"),
)  # fmt: skip

TABLES: Tables = {"elementwise-3": TABLE_3, "elementwise-4": TABLE_4, "elementwise-5": TABLE_5}

# Table 1: samples, SD and SD major of the training patents, 2015 A and 2015 B.
PRINTED_1 = {
    "Original": "1.9M 21k 35.4k 14.5k 1.8k 3k 15.4k 1.9k 3.2k",
    "Relabeled": "1.9M 12.6k 21k 14.5k 1.1k 1.9k 15.4k 1.2k 2k",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of Table 1."""
    parser.add_argument("--patents", metavar="FILE", nargs="+", required=True, help="parquet, jsonl or json files")
    add_choices(parser)


def table_1(arguments: Namespace) -> str:
    """Returns the patents of each split and the deviations of the labels' frequencies, before and after relabelling.

    Raises:
        ValueError: the patents cannot be read.
    """
    splits = read_patents(arguments)
    codes = known_codes(splits, arguments.codes)
    columns = 3 * len(splits)  # without dates there are no years to evaluate
    printed = [[f"paper, {name}", *figures.split()[:columns]] for name, figures in PRINTED_1.items()]
    note = f"{describe(splits, codes)} The paper has 664 codes."
    return "\n".join(["Elementwise, Table 1", "", deviations_table(splits, codes, printed), "", note])
