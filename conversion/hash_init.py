"""Initialises the word embeddings of a stock model with n-gram hashes. Train the model afterwards.

    python -m vocabless.conversion hash-init google/bert_uncased_L-2_H-128_A-2 hashed/

The row of a token becomes the embedding that the `ngram` front end computes for the token's text, in the spelling of
the vocabulary ("##ing" with its signs). One factor scales the whole table to the standard deviation `initializer_range`
of the configuration. The padding row is zero, as in a new model. All other weights stay, in float32. An output layer
that shares the table still shares it.

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
from vocabless.saving.public_names import public_name
from vocabless.saving.stock_models import load_stock_config, load_stock_model, load_stock_tokenizer
from vocabless.saving.targets import check_target, write_converted
from vocabless.tokenization.block_coders import Utf8Coder, unpack
from vocabless.variants import find_variant

BLOCK_SIZE = find_variant("eelbert-base").block_size
TOKENS_AT_A_TIME = 4096


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument("source", metavar="SOURCE", help="folder or Hub id of a stock model with word embeddings")
    parser.add_argument("target", metavar="TARGET", help="new or empty folder")
    parser.add_argument("--seed", type=int, default=0, help="seed of the hash; default 0, as in the eelbert variants")


def run(arguments: Namespace) -> str:
    """Converts; returns a report on the replaced rows and the dropped tensors."""
    folder = check_target(arguments.target)
    config = load_stock_config(arguments.source)
    model, dropped = load_stock_model(arguments.source, _class_of(config))
    tokenizer = load_stock_tokenizer(arguments.source)
    num_replaced, std = hash_table(model, tokenizer, arguments.seed)
    num_rows = len(model.get_input_embeddings().weight)  # type: ignore[arg-type]
    report = f"{num_replaced:,} of {num_rows:,} rows are n-gram hashes, with the standard deviation {std:g}."
    if dropped:
        report += f" Dropped: {', '.join(dropped)}."
    source = public_name(arguments.source)
    description = f"`{source}` with word embeddings that are initialised with the n-gram hashes of EELBERT."
    write_converted(folder, model, tokenizer, arguments.source, [description, report])
    return report


def hash_table(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, seed: int = 0) -> tuple[int, float]:
    """Replaces the word embeddings of a model in place. Rows without a token stay.

    Returns:
        The number of replaced rows, and their standard deviation before the padding row is set to zero.

    Raises:
        ValueError: the model has no word embeddings, or fewer rows than the tokenizer has tokens.
    """
    table = None if model.config.model_type == "canine" else model.get_input_embeddings()
    if not isinstance(table, nn.Embedding):
        raise ValueError(f"{model.config.model_type!r} has no word embeddings; give a model that has them.")
    tokens = {token_id: token for token, token_id in tokenizer.get_vocab().items()}
    if max(tokens) >= table.num_embeddings:
        raise ValueError(
            f"the tokenizer has the token id {max(tokens)}, but the word embeddings have {table.num_embeddings} rows; "
            "give a model with its own tokenizer."
        )
    token_ids = sorted(tokens)
    hashes = embed([tokens[token_id] for token_id in token_ids], table.embedding_dim, seed)
    std = getattr(model.config, "initializer_range", 0.02)
    with torch.no_grad():
        table.weight[token_ids] = (hashes * (std / hashes.std())).to(table.weight)
        if table.padding_idx is not None:
            table.weight[table.padding_idx] = 0.0
    return len(token_ids), std


def embed(tokens: list[str], width: int, seed: int = 0) -> Tensor:
    """Returns what the `ngram` front end computes for each token, (n, width) float32."""
    coder, front_end = Utf8Coder(block_size=BLOCK_SIZE), Ngram(BLOCK_SIZE, width, seed=seed)
    embeddings = []
    for start in range(0, len(tokens), TOKENS_AT_A_TIME):
        blocks, lengths = coder.encode(tokens[start : start + TOKENS_AT_A_TIME])
        is_byte = torch.arange(BLOCK_SIZE) < torch.from_numpy(lengths)[:, None]
        elements = torch.from_numpy(unpack(blocks, pads=False)) * is_byte  # 0 behind the end of the token
        embeddings.append(front_end.embed_units(elements))
    return torch.cat(embeddings)


def _class_of(config: PreTrainedConfig) -> Any:
    """Returns the class that the checkpoint was saved from, so that its head is kept."""
    name = next(iter(config.architectures or []), "")
    return getattr(transformers, name, AutoModel)
