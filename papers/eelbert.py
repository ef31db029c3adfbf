"""Tables 1 to 4 of EELBERT: scores on GLUE with and without a word table, by the hash, and by the first weights."""

from papers.table import Column, PaperRow, PaperTable, Tables, score

SIZES = (score("Parameters (K)", "parameters", "size"), score("Exported (MB)", "exported_bytes", "size"))
COMMON: tuple[Column, ...] = (
    score("SST-2", "sst2.accuracy"), score("QNLI", "qnli.accuracy"), score("RTE", "rte.accuracy"),
    score("WNLI", "wnli.accuracy"), score("MRPC acc.", "mrpc.accuracy"), score("MRPC F1", "mrpc.f1"),
    score("QQP acc.", "qqp.accuracy"), score("QQP F1", "qqp.f1"), score("MNLI M", "mnli.accuracy"),
    score("MNLI MM", "mnli.accuracy_mm"),
)  # fmt: skip
STS = (score("STS-B P", "stsb.pearson"), score("STS-B S", "stsb.spearman"))
COLA = score("CoLA", "cola.matthews_correlation")
SMALL_SCORE = Column(  # without CoLA and STS-B (4.2)
    "GLUE score, small",
    ("sst2.accuracy", "mrpc.accuracy", "qqp.accuracy", "mnli.accuracy mnli.accuracy_mm", "qnli.accuracy",
     "rte.accuracy"),
)  # fmt: skip
LARGE_SCORE = Column("GLUE score", ("cola.matthews_correlation", "stsb.pearson", *SMALL_SCORE.key))
LARGE = (*SIZES, *COMMON, *STS, COLA, LARGE_SCORE, SMALL_SCORE)  # the last also of BERT-base, beside UNO (5.2)
SMALL = (*SIZES, *COMMON, COLA, SMALL_SCORE)
BASE = "109514.298 438 0.899 0.866 0.625 0.521 0.833 0.882 0.898 0.864 0.799 0.802 0.870 0.867 0.410 0.775 -"
NOT_PRINTED = " ".join("-" * len(LARGE))
MINI = "0.835 0.821 0.560 0.549 0.721 0.814 0.850 0.803 0.688 0.697"


def row(
    label: str,
    model: str,
    printed: str,
    is_hashed: bool = False,
    has_mlm_head: bool = True,
    exports_mlm_head: bool | None = None,
) -> PaperRow:
    """Returns a row that is pre-trained by masked LM."""
    return PaperRow(
        label,
        model,
        printed,
        "mlm",
        is_hashed=is_hashed,
        has_mlm_head=has_mlm_head,
        exports_mlm_head=exports_mlm_head,
    )


def table(number: int, about: str, columns: tuple[Column, ...], *rows: PaperRow) -> PaperTable:
    """Returns a table of the paper; 4.2: the median of five seeds. Its rates are those of Devlin et al., 4.1."""
    return PaperTable(
        f"EELBERT, Table {number}", about, columns, rows, recipe="eelbert", task_recipe="eelbert-glue", unit=100,
        summary="median", learning_rates=("5e-5", "4e-5", "3e-5", "2e-5"),
    )  # fmt: skip


TABLE_1 = table(
    1, "BERT-base with and without a word table", LARGE,
    row("BERT-base", "bert-base", BASE),
    row("EELBERT-base", "eelbert-base",
        "86073.402 344 0.900 0.864 0.563 0.563 0.838 0.887 0.895 0.861 0.790 0.795 0.851 0.849 0.373 0.760 -"),
)  # fmt: skip

TABLE_2 = table(
    2, "smaller models", SMALL,
    row("BERT-mini", "bert-mini",
        "11171.074 44.8 0.851 0.827 0.552 0.563 0.701 0.814 0.864 0.815 0.719 0.730 0.103 0.753", has_mlm_head=False,
        exports_mlm_head=True),
    row("EELBERT-mini", "eelbert-mini", f"3357.442 13.4 {MINI} 0 0.746", has_mlm_head=False),
    row("BERT-tiny", "bert-tiny",
        "4386.178 17.7 0.821 0.616 0.545 0.521 0.684 0.812 0.780 0.661 0.577 0.581 0 0.671", has_mlm_head=False,
        exports_mlm_head=True),
    row("EELBERT-tiny", "eelbert-tiny",
        "479.362 2.04 0.749 0.705 0.516 0.535 0.684 0.812 0.752 0.712 0.582 0.598 0 0.666", has_mlm_head=False,
        exports_mlm_head=True),
    row("UNO-EELBERT", "eelbert-uno",
        "312.506 1.24 0.701 0.609 0.527 0.479 0.684 0.812 0.728 0.628 0.539 0.552 0 0.632"),
)  # fmt: skip

TABLE_3 = table(
    3, "n-gram pooling beside a random hash", LARGE,
    row("BERT-base, n-gram pooling", "eelbert-base",
        "86073.402 344 0.900 0.864 0.563 0.563 0.838 0.887 0.895 0.861 0.791 0.795 0.851 0.849 0.373 0.760 -"),
    row("BERT-base, random", "eelbert-random-base",
        "86073.402 344 0.897 0.862 0.574 0.507 0.806 0.868 0.893 0.858 0.786 0.794 0.849 0.847 0.389 0.757 -"),
    row("BERT-mini, n-gram pooling", "eelbert-mini", f"3387.962 13.4 {MINI} - - 0 - 0.746",
        exports_mlm_head=False),
    row("BERT-mini, random", "eelbert-random-mini",
        "3387.962 13.4 0.823 0.639 0.569 0.507 0.690 0.805 0.800 0.759 0.647 0.660 - - 0 - 0.696",
        exports_mlm_head=False),
)  # fmt: skip

TABLE_4 = table(
    4, "a trainable word table that begins as random numbers or as n-gram hashes", LARGE,
    row("random", "bert-base", BASE),
    row("hash", "bert-base",
        "109514.298 438 0.904 0.876 0.614 0.563 0.850 0.896 0.901 0.867 0.807 0.809 0.869 0.867 0.417 0.780 -",
        is_hashed=True),
    # 5.4: the second has 1.6 points more, without further figures.
    row("BERT-mini, random", "bert-mini", NOT_PRINTED),
    row("BERT-mini, hash", "bert-mini", NOT_PRINTED, is_hashed=True),
)  # fmt: skip

TABLES: Tables = {"eelbert-1": TABLE_1, "eelbert-2": TABLE_2, "eelbert-3": TABLE_3, "eelbert-4": TABLE_4}
