"""Sizes as the papers count them: HashFormers, Appendix B; EELBERT, Tables 1 to 4; Elementwise, Table 2."""

from typing import Any

import torch
from torch import nn
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, PreTrainedModel

from papers.table import PaperRow
from vocabless import VocablessForMaskedLM, VocablessModel, load_config
from vocabless.overrides import parse_overrides, with_overrides
from vocabless.stock_shapes import StockShape, find_shape, load_shape_config

# Of bert-base-uncased and roberta-base, and that of ALBERT by its Hub id.
VOCABULARY_SIZES = {"wordpiece": 30_522, "bpe": 50_265, "albert/albert-base-v2": 30_000}
NUM_SPECIAL = 5  # rows for special tokens, the first of the tables that have them
TABLES_OF_SPECIAL_TOKENS = ("token_kinds.weight", "special.weight", "elements.weight")
POSITIONS = "focus.weight"
BYTES = 4  # of a float32
NUM_TOKENS = 128  # of a text, where a row has no length of its own


def size_figures(row: PaperRow, baseline: PaperRow, num_labels: int = 2) -> dict[str, float | None]:
    """Returns the sizes of a row's model by name: counts, shares from 0 to 1, and the letters of Elementwise, Table 2.

    PoEP is equation 7 of HashFormers. M are tokens, N bytes of a token, D and C the widths of both, A heads.
    """
    parameters, embeddings, positions = parameter_figures(row, num_labels)
    all_of_baseline, *of_baseline = parameter_figures(baseline, num_labels)
    config = config_of(row)
    encoder = getattr(config, "encoder_config", config)
    num_bytes, width = getattr(config, "block_size", 1), getattr(config, "embedding_size", encoder.hidden_size)
    return {
        "parameters": parameters,
        "parameters_ratio": ratio(parameters, all_of_baseline),
        "embedding_parameters": embeddings,
        "elementwise_embeddings": embeddings + positions,
        "elementwise_embeddings_ratio": ratio(embeddings + positions, sum(of_baseline)),
        "exported_bytes": BYTES * _num_parameters(row, num_labels, exported=True),
        "pcr_all": compression(parameters, all_of_baseline),
        "pcr_embeddings": compression(embeddings, of_baseline[0]),
        "poep": ratio(embeddings, parameters),
        "M": (row.length or NUM_TOKENS) // getattr(encoder, "downsampling_rate", 1),  # CANINE's
        **{"N": num_bytes, "D": width, "C": width / num_bytes, "A": encoder.num_attention_heads},
    }


def ratio(parameters: int, baseline: int) -> float | None:
    """Returns parameters / baseline; None if the baseline has none."""
    return parameters / baseline if baseline else None


def compression(parameters: int, baseline: int) -> float | None:
    """Returns PCR (HashFormers, equations 5 and 6), 1 − parameters / baseline; None if the baseline has none."""
    return 1 - parameters / baseline if baseline else None


def parameter_figures(row: PaperRow, num_labels: int = 2) -> tuple[int, int, int]:
    """Returns the parameters of a row's model: of all, of the embeddings, and of CANINE's positions.

    All are those of a classifier, in HashFormers (Appendix B) of a binary one. With `has_mlm_head` they are those of a
    masked LM without the matrix over a vocabulary that a variant drops afterwards, as in some rows of EELBERT. CANINE's
    positions, 0 for other encoders, have the global focus in them; they are in the 25M and 1M of Elementwise.
    """
    model = _model_of(row, num_labels, row.has_mlm_head)
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    positions = sum(size for name, size in sizes.items() if "char_position_embeddings" in name)
    focus = sum(size for name, size in sizes.items() if name.endswith(POSITIONS)) if positions else 0
    return _num_parameters(row, num_labels), embedding_parameters(model.base_model), positions + focus


def _num_parameters(row: PaperRow, num_labels: int, exported: bool = False) -> int:
    """Returns the parameters of a row's model, or of what is exported of it."""
    has_mlm_head = row.exports_mlm_head if exported and row.exports_mlm_head is not None else row.has_mlm_head
    model = _model_of(row, num_labels, has_mlm_head)
    dropped = model.get_parameter("decoder.weight").numel() if isinstance(model, VocablessForMaskedLM) else 0
    return int(model.num_parameters()) - dropped


def _model_of(row: PaperRow, num_labels: int, has_mlm_head: bool) -> Any:
    head: Any = AutoModelForMaskedLM if has_mlm_head else AutoModelForSequenceClassification
    with torch.device("meta"):
        return head.from_config(config_of(row, num_labels))


def config_of(row: PaperRow, num_labels: int = 2) -> Any:
    """Returns the configuration of a row's model: a variant or a stock shape."""
    shape = with_overrides(find_shape(row.model), parse_overrides(row.overrides))
    if isinstance(shape, StockShape):
        vocabulary = VOCABULARY_SIZES[row.vocabulary or shape.subwords or "wordpiece"]
        return load_shape_config(shape, vocabulary, num_labels=num_labels)
    return load_config(shape, num_labels=num_labels)


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
