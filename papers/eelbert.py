"""Tables 1 to 4 of EELBERT: scores on GLUE with and without a word table, by the hash, and by the first weights."""
# mypy: allow-untyped-calls

from argparse import Namespace

import torch
from transformers import AutoModelForSequenceClassification

from papers.comparison import embedding_parameters, embedding_share
from papers.table import Column, PaperRow, PaperTable, Tables, markdown_table
from vocabless.stock_shapes import load_shape_config

PARAMETERS: Column = ("Parameters (K)", "parameters")
COMMON: tuple[Column, ...] = (
    ("SST-2", "sst2.accuracy"), ("QNLI", "qnli.accuracy"), ("RTE", "rte.accuracy"), ("WNLI", "wnli.accuracy"),
    ("MRPC acc.", "mrpc.accuracy"), ("MRPC F1", "mrpc.f1"), ("QQP acc.", "qqp.accuracy"), ("QQP F1", "qqp.f1"),
    ("MNLI M", "mnli.accuracy"), ("MNLI MM", "mnli.accuracy_mm"),
)  # fmt: skip
STS: tuple[Column, ...] = (("STS-B P", "stsb.pearson"), ("STS-B S", "stsb.spearman"))
COLA: Column = ("CoLA", "cola.matthews_correlation")
SCORE = (
    "sst2.accuracy", "mrpc.accuracy", "qqp.accuracy", "mnli.accuracy mnli.accuracy_mm", "qnli.accuracy", "rte.accuracy",
)  # fmt: skip
LARGE = (PARAMETERS, *COMMON, *STS, COLA, ("GLUE score", ("cola.matthews_correlation", "stsb.pearson", *SCORE)))
SMALL = (PARAMETERS, *COMMON, COLA, ("GLUE score", SCORE))
BASE = "109514.298 0.899 0.866 0.625 0.521 0.833 0.882 0.898 0.864 0.799 0.802 0.870 0.867 0.410 0.775"
MINI = "3357.442 0.835 0.821 0.560 0.549 0.721 0.814 0.850 0.803 0.688 0.697"

TABLE_1 = PaperTable(
    "EELBERT, Table 1", "BERT-base with and without a word table", LARGE,
    (
        PaperRow("BERT-base", "bert-base", BASE, "mlm"),
        PaperRow("EELBERT-base", "eelbert-base",
                 "86073.402 0.900 0.864 0.563 0.563 0.838 0.887 0.895 0.861 0.790 0.795 0.851 0.849 0.373 0.760", "mlm",
                 note="the paper counts parameters with the masked-LM head"),
    ),
    recipe="eelbert", unit=100, summary="median",
)  # fmt: skip

TABLE_2 = PaperTable(
    "EELBERT, Table 2", "smaller models", SMALL,
    (
        PaperRow("BERT-mini", "bert-mini",
                 "11171.074 0.851 0.827 0.552 0.563 0.701 0.814 0.864 0.815 0.719 0.730 0.103 0.753", "mlm"),
        PaperRow("EELBERT-mini", "eelbert-mini", f"{MINI} 0 0.746", "mlm"),
        PaperRow("BERT-tiny", "bert-tiny",
                 "4386.178 0.821 0.616 0.545 0.521 0.684 0.812 0.780 0.661 0.577 0.581 0 0.671", "mlm"),
        PaperRow("EELBERT-tiny", "eelbert-tiny",
                 "479.362 0.749 0.705 0.516 0.535 0.684 0.812 0.752 0.712 0.582 0.598 0 0.666", "mlm"),
        PaperRow("UNO-EELBERT", "eelbert-uno",
                 "312.506 0.701 0.609 0.527 0.479 0.684 0.812 0.728 0.628 0.539 0.552 0 0.632", "mlm",
                 note="the paper counts parameters with the masked-LM head"),
    ),
    recipe="eelbert", unit=100, size="", summary="median",
)  # fmt: skip

TABLE_3 = PaperTable(
    "EELBERT, Table 3", "n-gram pooling beside a random hash; the paper's BERT-mini (its BERT-base: 76.0 and 75.7)",
    SMALL,
    (
        PaperRow("n-gram pooling", "eelbert-mini", f"{MINI.replace('3357.442', '3387.962')} 0 0.746", "mlm",
                 note="the paper counts parameters with the masked-LM head"),
        PaperRow("random", "eelbert-random-mini",
                 "3387.962 0.823 0.639 0.569 0.507 0.690 0.805 0.800 0.759 0.647 0.660 0 0.696", "mlm",
                 note="the paper counts parameters with the masked-LM head"),
    ),
    recipe="eelbert", unit=100, size="mini", summary="median",
)  # fmt: skip

TABLE_4 = PaperTable(
    "EELBERT, Table 4", "a trainable word table that begins as random numbers or as n-gram hashes", LARGE,
    (
        PaperRow("random", "bert-base", BASE, "mlm"),
        PaperRow("hash", "bert-base",
                 "109514.298 0.904 0.876 0.614 0.563 0.850 0.896 0.901 0.867 0.807 0.809 0.869 0.867 0.417 0.780",
                 "mlm", start="hash"),
    ),
    recipe="eelbert", unit=100, summary="median",
)  # fmt: skip

TABLES: Tables = {"eelbert-1": TABLE_1, "eelbert-2": TABLE_2, "eelbert-3": TABLE_3, "eelbert-4": TABLE_4}

VOCABULARY = 30_522
# EELBERT 3.1 states one share as a number; Figure 1 draws the three.
FIGURE_1 = {"bert-base": "21", "bert-mini": "–", "bert-tiny": "almost 90"}


def figure_1(_: Namespace) -> str:
    """Returns the share of the word table in three BERTs, in percent."""
    lines = [["model", "parameters", "word table", "share", "paper"]]
    for name, printed in FIGURE_1.items():
        with torch.device("meta"):
            model = AutoModelForSequenceClassification.from_config(load_shape_config(name, VOCABULARY))
        words, total = embedding_parameters(model.base_model), model.num_parameters()
        lines.append([name, f"{total:,}", f"{words:,}", f"{100 * embedding_share(words, total):.1f}", printed])
    return "\n".join(["EELBERT, Figure 1: share of the word table, in percent", "", *markdown_table(lines, left=1)])
