"""The authors' HashFormers in plain torch, written from their conventions alone: text or bits → logits."""

import hashlib
import hmac
import json
import math
import re
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F

SHAPE = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "hidden_act": "gelu",
    "max_position_embeddings": 26, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1,
    "vocab_size": 2, "model_type": "roberta",
}  # fmt: skip
KINDS = ("emb", "pool", "add", "proj")
NUM_BUCKETS = 97
BOS, PAD, EOS, UNK, MASK, ORDINARY = range(6)


def random_weights(kind: str, labels: int = 0, buckets: int = NUM_BUCKETS) -> dict[str, Tensor]:
    """A state dict in the authors' names; nothing in it is zero, the padding rows neither.

    With `labels`, it is fine-tuned: RoBERTa's classification head is in place of the head for shuffle-random. The table
    of `emb` has rows for so many buckets, and for five special tokens.
    """
    width, inner = SHAPE["hidden_size"], SHAPE["intermediate_size"]
    own = {
        "emb": {"word_embeddings.weight": (buckets + 5, width)},
        "pool": {"component_embeddings.weight": (1025, width), "adaptive_weights": (13, width)},
        "add": {"proj_mat_1.weight": (width, 128), "proj_mat_2.weight": (width, 128)},
        "proj": {"proj_mat.weight": (width, 128)},
    }[kind]
    own |= {} if kind == "emb" else {"special_token_embeddings.weight": (6, width)}
    own |= {"position_embeddings.weight": (26, width), "token_type_embeddings.weight": (1, width)}
    shapes = {f"roberta.embeddings.{name}": shape for name, shape in own.items()}
    dense, norms = {"roberta.pooler.dense": (width, width)}, ["roberta.embeddings.LayerNorm"]
    for layer in range(SHAPE["num_hidden_layers"]):
        start = f"roberta.encoder.layer.{layer}."
        parts = [f"attention.self.{name}" for name in ("query", "key", "value")] + ["attention.output.dense"]
        dense |= {f"{start}{part}": (width, width) for part in parts}
        dense |= {f"{start}intermediate.dense": (inner, width), f"{start}output.dense": (width, inner)}
        norms += [f"{start}attention.output.LayerNorm", f"{start}output.LayerNorm"]
    head = {"classifier.dense": (width, width), "classifier.out_proj": (labels, width)}
    dense |= head if labels else {"dense": (3, width)}
    for name, shape in (dense | dict.fromkeys(norms, (width,))).items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    generator = torch.Generator().manual_seed(len(kind))
    weights = {name: torch.randn(shape, generator=generator) * 0.3 for name, shape in shapes.items()}
    return weights | {"roberta.embeddings.position_ids": torch.arange(26)[None]}


def write_published(folder: Path, weights: dict[str, Tensor] | None = None, pickled: bool = True) -> Path:
    """Writes a folder of the authors, such as hashformer-md5-pool, whose name ends with the kind; returns it."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SHAPE))
    weights = random_weights(folder.name.rpartition("-")[2]) if weights is None else weights
    if pickled:
        torch.save(weights, folder / "pytorch_model.bin")
    else:
        save_file(weights, folder / "model.safetensors")
    return folder


def md5_digests(text: str) -> list[int]:
    """The words of a text as 128-bit integers."""
    words = re.findall(r"\w+|[^\w\s]+", text.lower())
    return [int(hmac.new(b"en", word.encode(), hashlib.md5).hexdigest(), 16) for word in words]


def logits(kind: str, weights: dict[str, Tensor], sequences: list[list[tuple[int, int]]]) -> Tensor:
    """Returns (B, S, 3), or (B, labels) with a classifier.

    Args:
        sequences: of tokens, each (special id or 5, the word's integer: 128 bits, or for `emb` its bucket).
    """
    mask = torch.tensor([[float(special != PAD) for special, _ in row] for row in sequences])
    embeddings = torch.stack([torch.stack([_embed(kind, weights, *token) for token in row]) for row in sequences])
    positions = (mask.cumsum(dim=1) * mask).long() + PAD
    part = {name.removeprefix("roberta.embeddings."): value for name, value in weights.items()}
    hidden = embeddings + part["position_embeddings.weight"][positions] + part["token_type_embeddings.weight"][0]
    hidden = _norm(hidden, weights, "roberta.embeddings.LayerNorm")
    for layer in range(SHAPE["num_hidden_layers"]):
        start = f"roberta.encoder.layer.{layer}."
        attended = _linear(_attend(hidden, mask, weights, start), weights, f"{start}attention.output.dense")
        hidden = _norm(attended + hidden, weights, f"{start}attention.output.LayerNorm")
        inner = F.gelu(_linear(hidden, weights, f"{start}intermediate.dense"))
        hidden = _norm(_linear(inner, weights, f"{start}output.dense") + hidden, weights, f"{start}output.LayerNorm")
    if "classifier.out_proj.weight" in weights:  # (B, labels), from the first token
        return _linear(torch.tanh(_linear(hidden[:, 0], weights, "classifier.dense")), weights, "classifier.out_proj")
    return _linear(hidden, weights, "dense")


def _embed(kind: str, weights: dict[str, Tensor], special: int, word: int) -> Tensor:
    part = {name.removeprefix("roberta.embeddings."): value for name, value in weights.items()}
    is_word = special == ORDINARY
    if kind == "emb":
        table = part["word_embeddings.weight"]
        return table[word % (len(table) - 5) + 5 if is_word else special]
    row = part["special_token_embeddings.weight"][special]
    text = format(word, "0>128b")
    bits = torch.tensor([float(bit) for bit in text]) if is_word else torch.zeros(128)
    if kind == "pool":
        indices = [int(text[i : i + 10], 2) + 1 for i in range(0, 128, 10)] if is_word else [0] * 13
        return row + (part["component_embeddings.weight"][indices] * part["adaptive_weights"].softmax(dim=0)).sum(dim=0)
    if kind == "add":
        summed = part["proj_mat_1.weight"] @ bits + part["proj_mat_2.weight"] @ (1 - bits)
        return row + summed / math.sqrt(128)
    centred = part["proj_mat.weight"] - part["proj_mat.weight"].mean(dim=1, keepdim=True)
    bits = bits - bits.mean()
    return row + (centred / centred.norm(dim=1, keepdim=True).clamp(min=1e-8)) @ (bits / bits.norm().clamp(min=1e-8))


def _attend(hidden: Tensor, mask: Tensor, weights: dict[str, Tensor], start: str) -> Tensor:
    heads = SHAPE["num_attention_heads"]
    query, key, value = (
        _linear(hidden, weights, f"{start}attention.self.{name}").unflatten(-1, (heads, -1)).transpose(1, 2)
        for name in ("query", "key", "value")
    )
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]) - 10_000.0 * (1 - mask[:, None, None, :])
    return (scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2)


def _linear(values: Tensor, weights: dict[str, Tensor], name: str) -> Tensor:
    return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _norm(values: Tensor, weights: dict[str, Tensor], name: str) -> Tensor:
    centred = values - values.mean(dim=-1, keepdim=True)
    scale = (centred.square().mean(dim=-1, keepdim=True) + SHAPE["layer_norm_eps"]).sqrt()
    return centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]
