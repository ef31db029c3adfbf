"""The outputs of a teacher in the cache of `datasets`, in files named by a hash of all that they depend on."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import torch
from datasets.fingerprint import Hasher
from transformers import PreTrainedTokenizerBase

CACHE = "vocabless-teachers"  # folder in the cache of `datasets`


def add_outputs(
    table: datasets.Dataset, column: str, compute: Callable[[Any], Any], batch_size: int, key: str, title: str
) -> datasets.Dataset:
    """Returns texts with one more column, memory-mapped: a teacher's outputs (n, width), from the cache if it has them.

    `compute` takes a batch of rows. The key is the teacher's, see `fingerprint`. An output must be finite (ValueError).
    """

    def add(batch: dict[str, list[Any]]) -> pa.Table:
        outputs = compute(batch)
        for row in np.flatnonzero(~np.isfinite(outputs).all(axis=1)):
            raise ValueError(f"the teacher's output for {batch['text'][row][:60]!r} is not finite; give another one.")
        lists = pa.FixedSizeListArray.from_arrays(pa.array(outputs.ravel()), outputs.shape[1])
        return pa.table({**batch, column: lists})

    key = Hasher.hash([key, column, table.to_dict()])
    file = str(Path(datasets.config.HF_DATASETS_CACHE) / CACHE / f"{key}.arrow")
    return table.map(add, batched=True, batch_size=batch_size, cache_file_name=file, new_fingerprint=key, desc=title)


def fingerprint(model: torch.nn.Module, tokenizer: PreTrainedTokenizerBase, *settings: Any) -> str:
    """Returns a hash of a model's classes, settings and weights, of its tokenizer's files, and of other settings."""
    modules = [repr((type(module), getattr(module, "config", None))) for module in model.modules()]
    weights = {name: Hasher.hash(weight) for name, weight in model.state_dict().items()}
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        files = [file.read_bytes() for file in sorted(Path(folder).glob("*.*"))]
    return str(Hasher.hash([repr(model), modules, weights, files, settings]))
