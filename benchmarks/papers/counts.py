"""EELBERT Figure 1 and Elementwise Table 1: what is counted, not trained."""
# mypy: allow-untyped-calls

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification

from vocabless.stock_shapes import load_shape_config
from vocabless.training.finetuning.comparison import embedding_parameters, embedding_share
from vocabless.training.finetuning.patent_files import LABELS, TEST_YEARS, TRAIN_YEARS, read_patents
from vocabless.training.finetuning.patents import deviations_table, label_deviations, shorten_codes
from vocabless.training.finetuning.report import markdown_table

BERT_VOCABULARY = 30_522
# EELBERT 3.1 states one share as a number; Figure 1 draws the three.
FIGURE_1 = {"bert-base": "21", "bert-mini": "–", "bert-tiny": "almost 90"}
# Elementwise, Table 1, in thousands: SD and SD major of the training patents, 2015 A and 2015 B.
TABLE_1 = {"Original": "21 35.4 1.8 3 1.9 3.2", "Relabeled": "12.6 21 1.1 1.9 1.2 2"}


def eelbert_figure_1(arguments: Namespace) -> str:
    """Returns the share of the word table in three BERTs, in percent."""
    lines = [["model", "parameters", "word table", "share", "paper"]]
    for name, printed in FIGURE_1.items():
        with torch.device("meta"):
            model = AutoModelForSequenceClassification.from_config(load_shape_config(name, BERT_VOCABULARY))
        words, total = embedding_parameters(model.base_model), model.num_parameters()
        lines.append([name, f"{total:,}", f"{words:,}", f"{100 * embedding_share(words, total):.1f}", printed])
    return "\n".join(["EELBERT, Figure 1: share of the word table, in percent", "", *markdown_table(lines, left=1)])


def elementwise_1(arguments: Namespace) -> str:
    """Returns the deviations of the labels' frequencies, before and after First- and Later-.

    Raises:
        ValueError: no patents are given, or they cannot be read.
    """
    if not arguments.patents:
        raise ValueError("Table 1 of Elementwise counts the labels of patents; give --patents FILE.")
    years = arguments.train_years or TRAIN_YEARS, arguments.test_years or TEST_YEARS
    splits = read_patents(arguments.patents, *years)
    parts = {
        name: [shorten_codes(codes, arguments.cpc_level) for codes in table[LABELS]] for name, table in splits.items()
    }
    known = dict.fromkeys(code for patents in parts.values() for codes in patents for code in codes)
    if arguments.label_names:
        known = dict.fromkeys(Path(arguments.label_names).read_text(encoding="utf-8").split())
    table = deviations_table(label_deviations(parts, list(known)))
    printed = [f"| paper, {name} (thousands) | {figures.replace(' ', ' | ')} |" for name, figures in TABLE_1.items()]
    sizes = ", ".join(f"{len(patents):,} in {name}" for name, patents in parts.items())
    note = f"Patents: {sizes}; {len(known)} codes. The paper: 1.9M for training, 664 codes."
    return "\n".join(["Elementwise, Table 1", "", table, *printed, "", note])


TABLES: dict[str, Callable[[Namespace], str]] = {
    "eelbert-figure-1": eelbert_figure_1,
    "elementwise-1": elementwise_1,
}
