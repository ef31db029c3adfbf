"""The outputs of a teacher on disk: computed once, read from there, and never taken for those of another teacher.

The name of a cached file is a hash of all that its content depends on. A file is whole or does not exist.
"""
# mypy: allow-untyped-calls

import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import torch
from datasets import Dataset, Features
from torch import nn
from transformers import PreTrainedTokenizerBase

CACHE = "vocabless-teachers"  # folder in the cache of `datasets`
CHANGES_FROM_CALL_TO_CALL = {"padding": None, "truncation": None}  # in a tokenizer.json


def cached_outputs(
    table: Dataset, compute: Callable[..., Any], features: Features, batch_size: int, key: str, title: str
) -> Dataset:
    """Returns a data set of the outputs, memory-mapped; computes them only if they are not cached.

    Args:
        table: the inputs. Its columns are left out of the outputs.
        compute: maps a batch of the table to outputs.
        features: of the outputs.
        batch_size: rows in a batch.
        key: hash of all that the outputs depend on, see `digest` and `fingerprint`.
        title: of the progress bar.
    """
    folder = Path(datasets.config.HF_DATASETS_CACHE) / CACHE
    folder.mkdir(parents=True, exist_ok=True)
    return table.map(
        compute,
        batched=True,
        batch_size=batch_size,
        remove_columns=table.column_names,
        features=features,
        new_fingerprint=key,
        cache_file_name=str(folder / f"{key}.arrow"),
        load_from_cache_file=True,
        desc=title,
    )


def fingerprint(model: nn.Module, tokenizer: PreTrainedTokenizerBase, description: str) -> str:
    """Returns a hash of the weights, the files of the tokenizer, and the description of all else."""
    parts: list[bytes | memoryview] = [description.encode()]
    for name, weight in sorted(model.state_dict().items()):
        parts.append(f"{name} {weight.dtype} {tuple(weight.shape)}".encode())
        parts.append(weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            parts += [file.name.encode(), _content(file)]
    return digest(*parts)


def digest(*parts: bytes | memoryview) -> str:
    """Returns a hash of the parts and of where each begins, as hexadecimal digits."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def _content(file: Path) -> bytes:
    """Returns the content of a tokenizer's file, without what a call changes."""
    if file.name != "tokenizer.json":
        return file.read_bytes()
    settings = json.loads(file.read_text(encoding="utf-8")) | CHANGES_FROM_CALL_TO_CALL
    return json.dumps(settings, sort_keys=True).encode()
