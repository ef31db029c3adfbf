"""What is converted: the configuration and the tensors of a checkpoint, from a folder or from the Hub, checked."""

import json
import os
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers.utils.hub import cached_file

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def read_checkpoint(source: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the `config.json` of a checkpoint and its tensors by name; a pickle is read as tensors alone.

    Args:
        source: a folder or a Hub id.

    Raises:
        ValueError: it is not there, a file is missing or damaged, or a pickle holds more than tensors.
    """
    config_file = _find(source, (CONFIG,))
    weights_file = _find(source, WEIGHTS)
    try:
        config = json.loads(Path(config_file).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{config_file!r} is no JSON ({error}); give a whole checkpoint.") from error
    return config, _read_tensors(weights_file)


def first_words(error: Exception) -> str:
    """Returns the first line of what an error says."""
    return next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")


def check_names(source: str, missing: Iterable[str], unexpected: Iterable[str]) -> None:
    """Refuses a checkpoint whose tensors are not those that are needed.

    Raises:
        ValueError: some are missing or unexpected; they are named.
    """
    found = [f"{kind} {_listed(names)}" for kind, names in (("lacks", missing), ("also has", unexpected)) if names]
    if found:
        raise ValueError(f"the checkpoint {source!r} {' and '.join(found)}; give one that is whole and of this kind.")


def _find(source: str, names: tuple[str, ...]) -> str:
    if os.path.isdir(source):
        for name in names:
            if os.path.isfile(os.path.join(source, name)):
                return os.path.join(source, name)
        raise ValueError(f"the folder {source!r} holds no {' and no '.join(names)}; give the folder of a checkpoint.")
    causes = []
    for name in names:
        try:
            return str(cached_file(source, name))
        except OSError as error:
            causes.append(first_words(error))
    raise ValueError(
        f"{source!r} is neither a folder nor a reachable Hub repository with {' or '.join(names)} ({causes[0]}); "
        "check the id and the network, or give a folder."
    )


def _read_tensors(file: str) -> dict[str, Tensor]:
    try:
        if file.endswith(".safetensors"):
            return load_file(file)
        tensors = torch.load(file, map_location="cpu", weights_only=True)
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError, OSError) as error:
        raise ValueError(
            f"{file!r} cannot be read ({first_words(error)}); it is cut off or holds more than tensors: fetch it again."
        ) from error
    if not isinstance(tensors, dict) or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise ValueError(f"{file!r} holds no tensors by name; give a file of weights, not of a whole program.")
    return tensors


def _listed(names: Iterable[str], limit: int = 8) -> str:
    names = list(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
