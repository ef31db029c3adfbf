"""Writes a stock model with fresh weights whose word embeddings are n-gram hashes. Train the model afterwards.

    python -m papers hash-init bert-tiny hashed/ --subword google-bert/bert-base-uncased
    vocabless pretrain --model_name_or_path hashed/ --corpus "texts/*.txt"

The row of a token becomes the embedding that the front end of `eelbert` computes for the token's text, in the spelling
of the vocabulary ("##ing" with its signs). One factor scales the whole table to the standard deviation
`initializer_range` of the configuration. The padding row is zero, as in a new model. The output layer shares the table.

Source: EELBERT 5.4.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerBase

from vocabless import VocablessModel, load_config
from vocabless.stock_shapes import STOCK_SHAPES, load_shape_config, load_shape_tokenizer

NUM_SPECIAL = 5  # element of a block = byte + number of special tokens; 0 after the end of the token


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `python -m papers hash-init`."""
    shapes = [name for name, shape in STOCK_SHAPES.items() if shape.reads_subwords]
    parser.add_argument("shape", metavar="SHAPE", choices=shapes, help=f"a stock shape: {', '.join(shapes)}")
    parser.add_argument("target", metavar="TARGET", help="new or empty folder")
    parser.add_argument("--subword", required=True, help="its tokenizer: a tokenizer.json, a folder or a Hub id")


def run(arguments: Namespace) -> str:
    """Writes the model, with its head of masked LM, and its tokenizer to TARGET; returns a sentence on the rows.

    Raises:
        ValueError: TARGET holds files, or the tokenizer cannot be loaded.
    """
    target = Path(arguments.target)
    if target.is_dir() and any(target.iterdir()):
        raise ValueError(f"the folder {str(target)!r} holds files; give a new or an empty one.")
    tokenizer = load_shape_tokenizer(arguments.shape, arguments.subword)
    config = load_shape_config(arguments.shape, len(tokenizer), pad_token_id=tokenizer.pad_token_id)
    model = AutoModelForMaskedLM.from_config(config)
    hash_table(model, tokenizer)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    return f"{len(tokenizer):,} word embeddings are n-gram hashes: {target}"


@torch.no_grad()
def hash_table(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Replaces the word embeddings of a model in place; it has one for each token of the tokenizer."""
    table = model.get_input_embeddings()
    assert isinstance(table, nn.Embedding)
    hashes = embed([*tokenizer.convert_ids_to_tokens(list(range(table.num_embeddings)))], table.embedding_dim)
    table.weight.copy_(hashes * (model.config.initializer_range / hashes.std()))
    table.weight[table.padding_idx] = 0.0


@torch.no_grad()
def embed(tokens: list[str], width: int) -> Tensor:
    """Returns what the front end of `eelbert` computes for each token, (n, width) float32."""
    one_layer = {"hidden_size": width, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 1}
    config = load_config("eelbert-base", **one_layer)
    blocks = torch.zeros(len(tokens), config.block_size, dtype=torch.int64)
    for row, token in zip(blocks, tokens, strict=True):
        data = token.encode()[: config.block_size]
        row[: len(data)] = torch.tensor(list(data)) + NUM_SPECIAL
    front_end = VocablessModel(config).eval().front_end
    return torch.cat([front_end(part[None])[0] for part in blocks.split(4096)])
