"""The outputs of a teacher on disk: computed once, read from there, and never taken for those of another teacher.

The name of a cached file is a hash of all that its content depends on, and a hash of the content. A file whose content
has another hash is damaged; it is deleted, and the outputs are computed again.
"""

import hashlib
import json
import logging
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from datasets import Dataset, Features
from numpy.typing import NDArray
from torch import nn
from transformers import PreTrainedConfig, PreTrainedTokenizerBase

CACHE = "vocabless-teachers"  # folder in the cache of `datasets`
CHANGES_FROM_CALL_TO_CALL = {"padding": None, "truncation": None}  # in a tokenizer.json
MAX_QUOTE = 60  # characters of a text in a message
NOT_CONTENT = ("_name_or_path", "transformers_version")  # of a configuration
_LOGGER = logging.getLogger(__name__)


def cached_outputs(
    table: Dataset, compute: Callable[..., Any], features: Features, batch_size: int, key: str, title: str
) -> Dataset:
    """Returns a data set of the outputs, memory-mapped; computes them only if they are not cached.

    `compute` maps `batch_size` rows of the table to outputs with these features, without the columns of the table. The
    key is a hash of all that the outputs depend on, see `digest` and `fingerprint`.
    """
    folder = Path(datasets.config.HF_DATASETS_CACHE) / CACHE
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob(f"{key}-*.arrow"):
        if file.stem == f"{key}-{digest(file.read_bytes())}":
            return Dataset.from_file(str(file))
        _LOGGER.warning("The cached outputs %s are damaged; the teacher computes them again.", file)
        file.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        new = Path(scratch) / "outputs.arrow"
        table.map(
            compute,
            batched=True,
            batch_size=batch_size,
            remove_columns=table.column_names,
            features=features,
            new_fingerprint=key,
            cache_file_name=str(new),
            desc=title,
        )
        file = new.replace(folder / f"{key}-{digest(new.read_bytes())}.arrow")
    return Dataset.from_file(str(file))


def check_outputs(outputs: Iterable[NDArray[np.float32]], texts: Sequence[Any], teacher: str, limit: float) -> None:
    """Checks that a teacher gives each text numbers up to `limit`, the largest that can be stored.

    Raises:
        ValueError: an output is NaN, infinite or beyond the limit.
    """
    for values, text in zip(outputs, texts, strict=True):
        unfit = values[~(np.abs(values) <= limit)]
        if unfit.size:
            quote = (text if isinstance(text, str) else " ".join(text))[:MAX_QUOTE]
            raise ValueError(
                f"the teacher {teacher!r} gives the text that begins {quote!r} the output {unfit[0]:g}, but a student "
                f"learns from numbers up to {limit:g} alone; give another teacher or leave the text out."
            )


def fingerprint(model: nn.Module, tokenizer: PreTrainedTokenizerBase, settings: Any = None) -> str:
    """Returns a hash of a model: modules with their classes and configurations, weights, files of the tokenizer.

    The name of a class of remote code contains a hash of the code. `settings` are all else that the outputs depend on,
    as JSON holds it.
    """
    parts: list[bytes | memoryview] = [_as_json([settings, *map(_describe, model.modules())])]
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


def _describe(module: nn.Module) -> list[Any]:
    """Returns class and settings of a module, of transformers, of sentence-transformers or of torch."""
    config = getattr(module, "config", None)
    values = config.to_dict() if isinstance(config, PreTrainedConfig) else {}
    settings: dict[str, Any] = getattr(module, "get_config_dict", dict)()
    content = {name: value for name, value in values.items() if name not in NOT_CONTENT}
    return [f"{type(module).__module__}.{type(module).__qualname__}", module.extra_repr(), content, settings]


def _content(file: Path) -> bytes:
    """Returns the content of a tokenizer's file, without what a call changes."""
    if file.name != "tokenizer.json":
        return file.read_bytes()
    settings = json.loads(file.read_text(encoding="utf-8")) | CHANGES_FROM_CALL_TO_CALL
    return _as_json(settings)


def _as_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()
