"""Lets the word table of a stock model begin as n-gram pooling hashes, to be trained from there.

    python -m vocabless.conversion hash-init google/bert_uncased_L-2_H-128_A-2 hashed/

Row by row the table becomes what the `ngram` front end gives for the token as the vocabulary spells it ("##ing" with
its signs), all of it times one number, so that its standard deviation is the configuration's `initializer_range`:
directions and relative lengths of rows stay the hash's own. The padding row is zero, as in a fresh model. All other
weights stay, in float32; an output layer that shares the table goes on sharing it.

Source: EELBERT 5.4.
"""
# mypy: allow-untyped-calls

from argparse import ArgumentParser, Namespace
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from vocabless.modeling.ngram_front_ends import Ngram
from vocabless.saving.stock_models import load_stock_config, load_stock_model, load_stock_tokenizer
from vocabless.saving.targets import free_folder, write_checkpoint
from vocabless.tokenization.block_coders import Utf8Coder, widen

NGRAM_BLOCK = 32  # bytes of a block; those of the eelbert variants
TOKENS_AT_A_TIME = 4096


def add_arguments(parser: ArgumentParser) -> None:
    """Declares what the verb takes."""
    parser.add_argument("source", metavar="SOURCE", help="folder or Hub id of a stock model with a table of words")
    parser.add_argument("target", metavar="TARGET", help="new or empty folder")
    parser.add_argument("--seed", type=int, default=0, help="of the hash; default 0, that of the eelbert variants")


def run(arguments: Namespace) -> str:
    """Converts; returns what was replaced."""
    folder = free_folder(arguments.target)
    config = load_stock_config(arguments.source)
    model, unexpected = load_stock_model(arguments.source, _class_of(config))
    tokenizer = load_stock_tokenizer(arguments.source)
    replaced, std = hash_table(model, tokenizer, arguments.seed)
    rows = len(model.get_input_embeddings().weight)  # type: ignore[arg-type]
    report = f"{replaced:,} of {rows:,} rows of the word table are n-gram hashes now, standard deviation {std:g}."
    if unexpected:
        report += f" Dropped: {', '.join(unexpected)}."
    made = f"`{arguments.source}` with a word table that begins as EELBERT's n-gram hashes; everything else is its own."
    write_checkpoint(folder, model, tokenizer, arguments.source, [made, report])
    return report


def hash_table(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, seed: int = 0) -> tuple[int, float]:
    """Replaces the word table of a model in place; rows that belong to no token stay.

    Returns:
        How many rows were replaced, and their standard deviation.

    Raises:
        ValueError: the model has no word table, or fewer rows than the tokenizer has tokens.
    """
    table = None if model.config.model_type == "canine" else model.get_input_embeddings()
    if not isinstance(table, nn.Embedding):
        raise ValueError(f"a {model.config.model_type!r} has no table of words; give a model that has one.")
    tokens = {index: token for token, index in tokenizer.get_vocab().items()}
    if max(tokens) >= table.num_embeddings:
        raise ValueError(
            f"the tokenizer has the id {max(tokens)} but the table {table.num_embeddings} rows; give a model whose "
            "tokenizer is its own."
        )
    indices = sorted(tokens)
    hashes = embed([tokens[index] for index in indices], table.embedding_dim, seed)
    std = getattr(model.config, "initializer_range", 0.02)
    with torch.no_grad():
        table.weight[indices] = (hashes * (std / hashes.std())).to(table.weight)
        if table.padding_idx is not None:
            table.weight[table.padding_idx] = 0.0
    return len(indices), std


def embed(tokens: list[str], width: int, seed: int = 0) -> Tensor:
    """Returns what the `ngram` front end gives for each token, (n, width) float32."""
    coder, front_end = Utf8Coder(block_size=NGRAM_BLOCK), Ngram(NGRAM_BLOCK, width, seed=seed)
    parts = []
    for start in range(0, len(tokens), TOKENS_AT_A_TIME):
        blocks, lengths = coder.encode(tokens[start : start + TOKENS_AT_A_TIME])
        is_byte = torch.arange(NGRAM_BLOCK) < torch.from_numpy(lengths)[:, None]
        parts.append(front_end.hash_units(torch.from_numpy(widen(blocks, pads=False)) * is_byte))
    return torch.cat(parts)


def _class_of(config: PreTrainedConfig) -> Any:
    """Returns the class that the checkpoint was saved from, so that its head stays."""
    name = next(iter(config.architectures or []), "")
    return getattr(transformers, name, AutoModel)
