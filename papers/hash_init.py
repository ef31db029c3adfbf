"""Initialises the word embeddings of a stock model with n-gram hashes. Train the model afterwards.

    python -m papers hash-init google/bert_uncased_L-2_H-128_A-2 hashed/
    python -m papers hash-init bert-tiny hashed/ --subword google-bert/bert-base-uncased    # fresh weights
    python run_pretraining.py --model_name_or_path hashed/ --corpus "texts/*.txt"

The row of a token becomes the embedding that the front end of `eelbert` computes for the token's text, in the spelling
of the vocabulary ("##ing" with its signs). One factor scales the whole table to the standard deviation
`initializer_range` of the configuration. The padding row is zero, as in a new model. All other weights stay, in
float32. An output layer that shares the table still shares it.

Source: EELBERT 5.4.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from vocabless import VocablessModel, load_config
from vocabless.overrides import with_overrides
from vocabless.stock_shapes import STOCK_SHAPES, StockShape, load_shape_config, load_shape_tokenizer

NUM_SPECIAL = 5  # element of a block = byte + number of special tokens; 0 behind the end of the token


def add_arguments(parser: ArgumentParser) -> None:
    """Declares the arguments of `python -m papers hash-init`."""
    parser.add_argument("source", metavar="SOURCE", help="folder or Hub id of a stock model with word embeddings; or a "
                        "stock shape such as bert-tiny, with fresh weights for masked LM")  # fmt: skip
    parser.add_argument("target", metavar="TARGET", help="new or empty folder")
    parser.add_argument("--subword", help="tokenizer of a stock shape: a tokenizer.json, a folder or a Hub id")
    parser.add_argument("--size", help="size of a stock shape; None is its own")
    parser.add_argument("--seed", type=int, default=0, help="seed of the hash; default 0, as in the eelbert variants")


def run(arguments: Namespace) -> str:
    """Writes the model and its tokenizer to TARGET; returns a sentence on the replaced rows.

    Raises:
        ValueError: TARGET holds files, SOURCE has no tokenizer of its own, or see `hash_table`.
    """
    target = Path(arguments.target)
    if target.is_dir() and any(target.iterdir()):
        raise ValueError(f"the folder {str(target)!r} holds files; give a new or an empty one.")
    model, tokenizer = _fresh(arguments) if arguments.source in STOCK_SHAPES else _trained(arguments.source)
    replaced, std = hash_table(model, tokenizer, arguments.seed)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    table: Any = model.get_input_embeddings()
    return f"{replaced:,} of {len(table.weight):,} rows are n-gram hashes, standard deviation {std:g}: {target}"


def _fresh(arguments: Namespace) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    shape = with_overrides(STOCK_SHAPES[arguments.source], {"size": arguments.size} if arguments.size else {})
    assert isinstance(shape, StockShape)
    tokenizer = load_shape_tokenizer(shape, arguments.subword)
    config = load_shape_config(shape, len(tokenizer), pad_token_id=tokenizer.pad_token_id)
    return AutoModelForMaskedLM.from_config(config), tokenizer


def _trained(source: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    tokenizer = AutoTokenizer.from_pretrained(source)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):  # transformers makes one up where the files are missing
        raise ValueError(f"{source!r} has no tokenizer; save the model's own tokenizer beside it.")
    config = AutoConfig.from_pretrained(source)
    model_class: Any = getattr(transformers, next(iter(config.architectures or []), ""), AutoModel)  # keeps the head
    return model_class.from_pretrained(source, dtype=torch.float32), tokenizer


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


@torch.no_grad()
def embed(tokens: list[str], width: int, seed: int = 0) -> Tensor:
    """Returns what the front end of `eelbert` computes for each token, (n, width) float32."""
    one_layer = {"hidden_size": width, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 1}
    config = load_config("eelbert-base", front_end_options={"seed": seed}, **one_layer)
    blocks = torch.zeros(len(tokens), config.block_size, dtype=torch.int64)
    for row, token in zip(blocks, tokens, strict=True):
        data = token.encode()[: config.block_size]
        row[: len(data)] = torch.tensor(list(data)) + NUM_SPECIAL
    front_end = VocablessModel(config).eval().front_end
    return torch.cat([front_end(part[None])[0] for part in blocks.split(4096)])
