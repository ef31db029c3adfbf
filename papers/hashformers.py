"""Tables 1, 2 and 6 of HashFormers: scores on GLUE, and what they cost in parameters."""

from papers.table import Column, PaperRow, PaperTable, Tables, score

TASKS: tuple[Column, ...] = (
    score("MNLI", "mnli.accuracy"), score("QNLI", "qnli.accuracy"), score("QQP", "qqp.f1"),
    score("RTE", "rte.accuracy"), score("SST", "sst2.accuracy"), score("MRPC", "mrpc.accuracy"),
    score("CoLA", "cola.matthews_correlation"), score("STS", "stsb.spearman"),
)  # fmt: skip
AVERAGE = Column("Avg.", tuple(key for column in TASKS for key in column.key))
SCORES = (*TASKS, AVERAGE, Column("SD of Avg.", AVERAGE.key, "deviation"))
RETENTION = tuple(Column(column.title, column.key, "retention") for column in (*TASKS, AVERAGE))
SIZES = (
    score("Total (M)", "parameters", "size"), score("Emb. (K)", "embedding_parameters", "size"),
    score("PCR all", "pcr_all", "size"), score("PCR emb.", "pcr_embeddings", "size"), score("PoEP", "poep", "size"),
)  # fmt: skip
SR = "shuffle-random"
CANINE = "google/canine-c"  # 4.1: "off-the-shelf"


def row(label: str, printed: str, model: str = "", objective: str | None = SR) -> PaperRow:
    """Returns a row of one of our variants, or of `model`.

    >>> row("LSH Emb (50K), subword", "").model
    'hashformer-lsh-emb50k-bpe-base'
    """
    name, _, units = label.partition(", ")
    coder, _, front_end = name.lower().replace("md ", "md5 ").partition(" ")
    front_end = "".join(each for each in front_end if each not in " ()")
    bpe = "-bpe" if units == "subword" else ""
    recipe = "hashformer-mlm" if objective == "mlm" else ""
    return PaperRow(label, model or f"hashformer-{coder}-{front_end}{bpe}-base", printed, objective, recipe)


def table(number: int, about: str, columns: tuple[Column, ...], *rows: PaperRow) -> PaperTable:
    """Returns a table of the paper."""
    title = f"HashFormers, Table {number}"
    return PaperTable(title, about, columns, rows, recipe="hashformer", task_recipe="hashformer-glue")


TABLE_1 = table(
    1, "GLUE, dev sets", SCORES,
    row("BERT-MLM", "81.9 88.9 86.7 60.4 92.0 85.7 54.5 86.0 79.5 0.4", "roberta-base", "mlm"),
    row("BERT-S+R", "79.9 88.7 86.7 64.6 88.6 85.6 55.6 86.8 79.6 0.3", "roberta-base"),
    PaperRow("CANINE-C", "canine-base", "77.7 87.6 82.8 62.0 85.7 81.4 2.3 83.9 70.4 1.3", weights=CANINE),
    PaperRow("ProFormer", "proformer", "45.2 59.1 71.4 53.9 82.1 71.2 9.7 22.1 51.8 0.5"),
    row("MD Emb (50K)", "79.6 88.4 86.9 66.4 88.0 86.8 57.3 86.1 79.9 0.3"),
    row("MD Emb (1K)", "67.9 80.5 81.0 55.8 72.9 78.4 19.0 79.0 66.8 0.9"),
    row("MD Pool", "75.6 84.9 84.9 59.7 86.7 82.7 45.7 82.0 75.3 0.2"),
    row("MD Add", "76.2 86.3 85.2 60.2 86.6 81.9 47.4 82.2 75.7 0.5"),
    row("MD Proj", "76.0 85.8 84.8 60.9 87.3 83.0 45.9 82.1 75.7 0.3"),
    row("LSH Emb (50K)", "76.1 86.5 85.5 65.5 83.6 84.2 42.7 83.7 76.0 0.3"),
    row("LSH Emb (1K)", "65.6 80.1 80.0 56.4 71.3 78.1 5.2 76.9 64.2 0.8"),
    row("LSH Pool", "78.0 87.7 86.4 65.6 88.1 84.2 55.3 85.6 78.9 0.3"),
    row("LSH Add", "78.6 88.2 86.0 63.1 88.0 84.0 57.7 85.9 78.9 0.2"),
    row("LSH Proj", "79.2 88.7 86.5 63.4 88.9 84.6 56.2 85.5 79.1 0.3"),
)  # fmt: skip

TABLE_2 = table(
    2, "what is kept of BERT-MLM's scores, and the parameters", (*RETENTION, *SIZES),
    row("BERT-MLM", "- - - - - - - - - 124.6 38600 - - -", "roberta-base", "mlm"),  # 38.6M: 5.2; 124.6M: PCR is 0
    PaperRow("CANINE-C", "canine-base",
             "94.9 98.5 95.5 102.6 93.2 95.0 4.2 97.6 88.6 121.0 12300 2.9 68.1 10.2", weights=CANINE),
    PaperRow("ProFormer", "proformer", "55.2 66.5 82.4 89.2 89.2 83.1 17.8 25.7 65.2 15.1 322.6 87.9 99.2 2.1"),
    row("MD Emb (50K)", "97.2 99.4 100.2 109.9 95.7 101.3 105.1 100.1 100.5 124.6 38600 0.0 0.0 31.0"),
    row("MD Emb (1K)", "82.9 90.6 93.4 92.4 79.2 91.5 34.9 91.9 84.0 86.8 797.2 30.3 97.9 1.0"),
    row("MD Pool", "92.3 95.5 97.9 98.8 94.2 96.5 83.9 95.3 94.7 86.8 797.2 30.3 97.9 1.0"),
    row("MD Add", "93.0 97.1 98.3 99.7 94.1 95.6 87.0 95.6 95.2 86.2 197.4 30.8 99.5 0.2"),
    row("MD Proj", "92.8 96.5 97.8 100.8 94.9 96.8 84.2 95.5 95.2 86.1 99.1 30.9 99.7 0.1"),
    row("LSH Emb (50K)", "92.9 97.3 98.6 108.4 90.9 98.2 78.3 97.3 95.6 124.6 38600 0.0 0.0 31.0"),
    row("LSH Emb (1K)", "80.1 90.1 92.3 93.4 77.5 91.1 9.5 89.4 80.8 86.8 797.2 30.3 97.9 1.0"),
    row("LSH Pool", "95.2 98.7 99.7 108.6 95.8 98.2 101.5 99.5 99.2 86.8 797.2 30.3 97.9 1.0"),
    row("LSH Add", "96.0 99.2 99.2 104.5 95.7 98.0 105.9 99.9 99.2 86.2 197.4 30.8 99.5 0.2"),
    row("LSH Proj", "96.7 99.8 99.8 105.0 96.6 98.7 103.1 99.4 99.5 86.1 99.1 30.9 99.7 0.1"),
)  # fmt: skip

TABLE_6 = table(
    6, "BPE units beside words", SCORES,
    row("MD Emb (50K), subword", "78.6 87.7 86.0 65.6 88.5 85.1 51.2 85.0 78.5 0.4"),
    row("MD Emb (50K), word", "79.6 88.4 86.9 66.4 88 86.8 57.3 86.1 79.9 0.3"),
    row("MD Proj, subword", "74.6 84.8 83.7 58.7 85.5 80.7 44.6 80.1 74.1 0.5"),
    row("MD Proj, word", "76.0 85.8 84.8 60.9 87.3 83.0 45.9 82.1 75.7 0.3"),
    row("LSH Emb (50K), subword", "62.6 80.2 80.8 59.3 71.3 80.2 18.3 75.5 66.0 0.2"),
    row("LSH Emb (50K), word", "76.1 86.5 85.5 65.5 83.6 84.2 42.7 83.7 76.0 0.3"),
    row("LSH Proj, subword", "78.2 87.5 86.3 64.3 88.6 85.5 51.2 85.1 78.3 0.1"),
    row("LSH Proj, word", "79.2 88.7 86.5 63.4 88.9 84.6 56.2 85.5 79.1 0.3"),
)  # fmt: skip

TABLES: Tables = {"hashformers-1": TABLE_1, "hashformers-2": TABLE_2, "hashformers-6": TABLE_6}
