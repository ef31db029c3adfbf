"""Numbers of parameters as the papers count them: HashFormers, Appendix B, and EELBERT, Tables 1 to 4."""

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, PreTrainedModel

from benchmarks.measure import aligned_table
from papers.table import PaperTable, format_figure, our_figure
from vocabless import VocablessForMaskedLM, VocablessModel, load_config
from vocabless.stock_shapes import StockShape, find_shape, load_shape_config

VOCABULARY_SIZES = {"wordpiece": 30_522, "bpe": 50_265}  # of bert-base-uncased and roberta-base
NUM_SPECIAL = 5  # rows for special tokens, the first of the tables that have them
TABLES_OF_SPECIAL_TOKENS = ("token_kinds.weight", "special.weight", "elements.weight")
POSITIONS = "focus.weight"


def config_of(model: str) -> Any:
    """Returns the configuration of a variant or a stock shape."""
    shape = find_shape(model)
    if isinstance(shape, StockShape):
        return load_shape_config(shape, VOCABULARY_SIZES[shape.subwords or "wordpiece"])
    return load_config(shape)


def parameter_figures(config: Any, has_mlm_head: bool = False) -> dict[str, int]:
    """Returns the parameters of all and of the embeddings, of a configuration.

    All are those of a binary classifier (HashFormers, Appendix B). With `has_mlm_head` they are those of a masked LM
    without the matrix over a vocabulary that a variant drops afterwards, as in some rows of EELBERT.
    """
    config = copy.deepcopy(config)
    config.num_labels = 2
    head: Any = AutoModelForMaskedLM if has_mlm_head else AutoModelForSequenceClassification
    with torch.device("meta"):
        model = head.from_config(config)
    dropped = model.get_parameter("decoder.weight").numel() if isinstance(model, VocablessForMaskedLM) else 0
    parameters = int(model.num_parameters()) - dropped
    return {"parameters": parameters, "embedding_parameters": embedding_parameters(model.base_model)}


def embedding_parameters(model: PreTrainedModel) -> int:
    """Returns the parameters that make the embeddings of ordinary tokens, as HashFormers counts them (Appendix B).

    Positions do not count. Special tokens do not count either, except in a table that all tokens share: the word table
    of a stock model (equation 9), and the buckets of Emb, whose printed size has them in it.
    """
    if isinstance(model, VocablessModel):
        count = 0
        for name, parameter in model.front_end.named_parameters():
            if name != POSITIONS:
                special = NUM_SPECIAL * parameter.shape[-1] if name in TABLES_OF_SPECIAL_TOKENS else 0
                count += parameter.numel() - special
        return count
    tables = [weight for name, weight in model.named_parameters() if "HashBucket" in name]  # CANINE, equation 10
    if tables:
        return sum(table.numel() for table in tables)
    words = model.get_input_embeddings()
    assert isinstance(words, nn.Embedding)
    return words.weight.numel()


def sizes(tables: Iterable[PaperTable]) -> str:
    """Returns the printed numbers of parameters of the tables beside ours, without training; a model once."""
    lines: dict[tuple[str, ...], None] = {}
    for table in tables:
        columns = [column for column in table.columns if column[1] in ("parameters", "embedding_parameters")]
        for row in table.rows if columns else ():
            counted = parameter_figures(config_of(row.model), row.has_mlm_head)
            for column in columns:
                printed = row.published(table.columns)[column[0]]
                figures = (format_figure(each) for each in (printed, our_figure(column, {}, counted, "mean")))
                paper = table.title.partition(",")[0]
                lines[(paper, row.label, row.model, column[0], *figures)] = None
    return aligned_table([("paper", "row", "model", "figure", "printed", "ours"), *lines], 4)
