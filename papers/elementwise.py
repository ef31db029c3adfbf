"""Tables 2 to 5 of Elementwise: sizes; and scores on patents, from random weights."""

from papers.table import OWN, Column, PaperRow, PaperTable, Tables, score

MEASURES = {"F1": "micro_f1", "precision": "micro_precision", "recall": "micro_recall"}
COLUMNS = tuple(
    score(f"{part} {title}", f"{OWN}.{prefix}{measure}")
    for part, prefix in (("A", ""), ("B", "test_"))
    for title, measure in MEASURES.items()
)
# On an RTX Titan over 2015 A, in batches of 64 (section 5).
SPEEDS = (Column("samples/s", (), "paper"), Column("speed-up", (), "paper"))
WHOLE = "64.30 66.02 62.66 63.94 66.55 61.53"
ALBERT = "albert/albert-base-v2"  # its own vocabulary; BERT's is that of `SUBWORD_TOKENIZERS`
SIZES = (
    score("Total (M)", "parameters", "size"), score("Total (x)", "parameters_ratio", "size"),
    score("Emb. (K)", "elementwise_embeddings", "size"), score("Emb. (x)", "elementwise_embeddings_ratio", "size"),
    *(score(letter, letter, "size") for letter in "MNDCA"),
)  # fmt: skip


def table(number: int, about: str, columns: tuple[Column, ...], *rows: PaperRow) -> PaperTable:
    """Returns a table of the paper."""
    title, recipe = f"Elementwise, Table {number}", "elementwise-patents"
    return PaperTable(title, about, columns, rows, recipe, is_patents=True, num_labels=1_328, decimals=2)


TABLE_2 = table(
    2, "sizes", SIZES,
    PaperRow("BERT, original", "bert-base", "110 1 23000 1 128 1 768 768 12"),
    PaperRow("BERT, elementwise", "ewe-bert-base", "87 0.8 12 0.0005 128 16 768 48 16"),
    PaperRow("ALBERT, original", "albert-base", "12 1 4000 1 128 1 128 768 12", vocabulary=ALBERT, original=2),
    PaperRow("ALBERT, elementwise", "ewe-albert-base", "9 0.7 2 0.0005 128 16 128 8 16", original=2),
    PaperRow("CANINE, original", "canine-base", "130 1 25000 1 128 1 768 768 12", length=512, original=4),
    PaperRow("CANINE, elementwise", "ewe-canine-base", "110 0.8 1000 0.05 128 16 768 48 16", length=512, original=4),
)  # fmt: skip

TABLE_3 = table(
    3, "each model beside its original", (*SPEEDS, *COLUMNS),
    PaperRow("BERT, original", "bert-base", "366 1 63.68 65.59 61.82 63.35 67.16 59.95"),
    PaperRow("BERT, original, 16 heads", "bert-16heads-base", "- - - - - - - -"),  # section 5, without figures
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

TABLES: Tables = {f"elementwise-{number}": each for number, each in enumerate((TABLE_2, TABLE_3, TABLE_4, TABLE_5), 2)}
