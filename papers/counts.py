"""Numbers of parameters as the papers count them: HashFormers, Appendix B, and EELBERT, Tables 1 to 4."""

from typing import Any

import torch
from torch import nn
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, PreTrainedModel

from papers.table import PaperRow
from vocabless import VocablessForMaskedLM, VocablessModel, load_config
from vocabless.stock_shapes import StockShape, find_shape, load_shape_config

VOCABULARY_SIZES = {"wordpiece": 30_522, "bpe": 50_265}  # of bert-base-uncased and roberta-base
NUM_SPECIAL = 5  # rows for special tokens, the first of the tables that have them
TABLES_OF_SPECIAL_TOKENS = ("token_kinds.weight", "special.weight", "elements.weight")
POSITIONS = "focus.weight"
BYTES = 4  # of a float32


def size_figures(row: PaperRow, baseline: PaperRow) -> dict[str, float | None]:
    """Returns the sizes of a row's model, and its measures of efficiency (HashFormers, 4.4): shares are 0–1."""
    parameters, embeddings = parameter_figures(row)
    all_of_baseline, embeddings_of_baseline = parameter_figures(baseline)
    return {
        "parameters": parameters,
        "embedding_parameters": embeddings,
        "exported_bytes": BYTES * parameters,
        "pcr_all": compression(parameters, all_of_baseline),
        "pcr_embeddings": compression(embeddings, embeddings_of_baseline),
        "poep": embedding_share(embeddings, parameters),
    }


def compression(parameters: int, baseline: int) -> float | None:
    """Returns PCR (equations 5 and 6), 1 − parameters / baseline; None if the baseline has none."""
    return 1 - parameters / baseline if baseline else None


def embedding_share(embeddings: int, parameters: int) -> float:
    """Returns PoEP (equation 7)."""
    return embeddings / parameters


def parameter_figures(row: PaperRow) -> tuple[int, int]:
    """Returns the parameters of a row's model: of all, and of the embeddings.

    All are those of a binary classifier (HashFormers, Appendix B). With `has_mlm_head` they are those of a masked LM
    without the matrix over a vocabulary that a variant drops afterwards, as in some rows of EELBERT.
    """
    head: Any = AutoModelForMaskedLM if row.has_mlm_head else AutoModelForSequenceClassification
    with torch.device("meta"):
        model = head.from_config(config_of(row.model))
    dropped = model.get_parameter("decoder.weight").numel() if isinstance(model, VocablessForMaskedLM) else 0
    return int(model.num_parameters()) - dropped, embedding_parameters(model.base_model)


def config_of(model: str) -> Any:
    """Returns the configuration of a variant or a stock shape, with two labels."""
    shape = find_shape(model)
    if isinstance(shape, StockShape):
        return load_shape_config(shape, VOCABULARY_SIZES[shape.subwords or "wordpiece"], num_labels=2)
    return load_config(shape, num_labels=2)


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
