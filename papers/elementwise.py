"""Tables 3 to 5 of Elementwise: patents, from random weights."""

from papers.table import OWN, Column, PaperRow, PaperTable, Tables, score

MEASURES = {"F1": "micro_f1", "precision": "micro_precision", "recall": "micro_recall"}
COLUMNS = tuple(
    score(f"{part} {title}", f"{OWN}.{prefix}{measure}")
    for part, prefix in (("A", ""), ("B", "test_"))
    for title, measure in MEASURES.items()
)
# On a GPU over 2015 A, with the tokenizer; `benchmarks/inference.py` measures ours.
SPEEDS = (Column("samples/s", (), "paper"), Column("speed-up", (), "paper"))
WHOLE = "64.30 66.02 62.66 63.94 66.55 61.53"
ALBERT = "albert/albert-base-v2"  # its own vocabulary; BERT's is that of `SUBWORD_TOKENIZERS`


def table(number: int, about: str, columns: tuple[Column, ...], *rows: PaperRow) -> PaperTable:
    """Returns a table of the paper."""
    return PaperTable(f"Elementwise, Table {number}", about, columns, rows, "elementwise-patents", is_patents=True)


TABLE_3 = table(
    3, "each model beside its original", (*SPEEDS, *COLUMNS),
    PaperRow("BERT, original", "bert-base", "366 1 63.68 65.59 61.82 63.35 67.16 59.95"),
    PaperRow("BERT, elementwise", "ewe-bert-base", f"629 1.7 {WHOLE}"),
    # Section 5: CANINE reads 512 characters or units, which it downsamples to M = 128.
    PaperRow("CANINE, original", "canine-base", "242 1 60.40 64.08 57.12 59.97 64.52 56.01", length=512),
    PaperRow("CANINE, elementwise", "ewe-canine-base", "339 1.4 64.30 65.86 62.82 63.95 66.43 61.64", length=512),
    PaperRow("ALBERT, original", "albert-base", "338 1 63.15 65.82 60.70 62.79 66.36 59.59", vocabulary=ALBERT),
    PaperRow("ALBERT, elementwise", "ewe-albert-base", "638 1.9 63.18 65.84 60.73 62.91 66.47 59.71"),
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
