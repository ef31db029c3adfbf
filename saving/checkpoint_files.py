"""Reads and checks the configuration and the tensors of a checkpoint, from a folder or from the Hub."""

import os
import pickle
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformers import PreTrainedModel
from transformers.utils.hub import cached_file

from vocabless.hub_connection import offline_without_hub
from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.modeling.pretrained_model import OTHER_WEIGHTS, WEIGHTS_ID, check_finite
from vocabless.public_names import has_path_shape
from vocabless.saving.run_folder import read_json

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
MAX_LETTERS = 300  # of a value, of names, or of the error of another library, in a message

# Parts of the names of tensors that a checkpoint may lack: heads, poolers and position numbers.
OPTIONAL = ("pooler", "classifier", "cls.", "lm_head", "qa_outputs", "predictions", "position_ids")

LAST_WEIGHTS = ("classifier.out_proj.weight", "classifier.weight")  # of the head of a classifier; one for each output

# What `from_pretrained` raises for a missing or damaged checkpoint. The library checks few types in configurations.
LOADING_ERRORS = (
    *(OSError, ValueError, RuntimeError, MemoryError, SafetensorError, pickle.UnpicklingError, StrictDataclassError),
    *(TypeError, AttributeError, LookupError, ArithmeticError, AssertionError),
)


def first_line(error: Exception) -> str:
    """Returns the first line of an error's message without its full stop, or the name of its class if it has none.

    A line that announces the next one is not the first: torch lists below it which tensors do not fit.
    """
    lines = (line.strip() for line in str(error).splitlines() if not line.endswith(":"))
    return shortened(next(lines, type(error).__name__).rstrip("."))


def shortened(text: str) -> str:
    """Returns a text for a message; a long one, such as all model types of transformers, is cut between words."""
    return text if len(text) <= MAX_LETTERS else text[:MAX_LETTERS].rpartition(" ")[0].rstrip(",") + " …"


def check_source(source: str) -> None:
    """Raises ValueError if a source, a folder or a Hub id, is a file, or a path where nothing is: no Hub has it."""
    if os.path.isfile(source):
        raise ValueError(f"{source!r} is a file; give the folder of a checkpoint, or a Hub id.")
    if has_path_shape(source) and not os.path.isdir(source):
        near = get_close_matches(source, [str(path) for path in Path(source).parent.glob("*") if path.is_dir()])
        remedy = f"did you mean {' or '.join(near)}? Else give" if near else "give"
        raise ValueError(f"the folder {source!r} does not exist; {remedy} the folder of a checkpoint, or a Hub id.")


def read_config_and_tensors(source: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns the `config.json` of a checkpoint, a folder or a Hub id, and its tensors by name.

    A pickle file is read with `weights_only=True`, so that no code in it runs.

    Raises:
        ValueError: a file is missing or damaged, a pickle file holds other objects than tensors, or the tensors are
            not those of the configuration or not finite.
    """
    config_file, weights_file = _find(source, (CONFIG,)), _find(source, WEIGHTS)
    config = read_json(Path(config_file), "give a complete checkpoint")
    tensors, identity = _read_tensors(weights_file)
    if identity not in (None, config.get(WEIGHTS_ID)):
        raise ValueError(OTHER_WEIGHTS.format(file=weights_file, settings=CONFIG))
    check_finite(source, tensors)
    # transformers 5.0.0 saved LayerNorms with the names of its first versions.
    names = {"gamma": "weight", "beta": "bias"}
    renamed = re.compile(r"(?<=LayerNorm\.)(?:gamma|beta)")
    return config, {renamed.sub(lambda old: names[old[0]], name): tensor for name, tensor in tensors.items()}


def check_has_config(source: str) -> None:
    """Raises ValueError if the source is a folder without a configuration, such as that of a run of several tasks."""
    if os.path.isdir(source) and not os.path.isfile(os.path.join(source, CONFIG)):
        raise _lacks(source, (CONFIG,))


def check_tensor_names(source: str, missing: Iterable[str], unexpected: Iterable[str]) -> None:
    """Raises ValueError, which names them, if tensors that a checkpoint's model needs are missing or unexpected."""
    kinds = (("lacks the tensors", missing), ("has the unexpected tensors", unexpected))
    problems = [f"{problem} {shortened(', '.join(names))}" for problem, names in kinds if names]
    if problems:
        raise ValueError(f"the checkpoint {source!r} {' and '.join(problems)}; give a complete one of the right kind.")


def check_encoder_tensors(source: str, model: PreTrainedModel, loading_info: dict[str, Any]) -> None:
    """Raises ValueError if a tensor of a loaded model's encoder is random, or one of ours was left out.

    Heads and poolers may be. `loading_info` is what `from_pretrained` returns with `output_loading_info=True`.
    """
    encoder = f"{model.base_model_prefix}." if model is not model.base_model else ""
    needed = [*loading_info["missing_keys"], *(name for name, *_ in loading_info["mismatched_keys"])]
    # A stock encoder may have tensors that another version of the library needs.
    found = loading_info["unexpected_keys"] if encoder and isinstance(model.config, VocablessConfig) else ()
    names = (
        [n for n in names if n.startswith(encoder) and not any(p in n for p in OPTIONAL)] for names in (needed, found)
    )
    check_tensor_names(source, *map(sorted, names))


def check_head(source: str, config: Any, model: PreTrainedModel, loading_info: dict[str, Any]) -> None:
    """Raises ValueError if a classifier of texts was saved with another number of outputs than of labels.

    `config` is that of the checkpoint; the model, and what `from_pretrained` returns with it, may have other labels.
    """
    sizes = {name: len(weight) for name, weight in model.named_parameters() if name not in loading_info["missing_keys"]}
    sizes |= {name: shape[0] for name, shape, *_ in loading_info["mismatched_keys"]}
    outputs = next((sizes[name] for name in LAST_WEIGHTS if name in sizes), None)
    rejects = getattr(config, "classifier_reject_score", None) is not None  # by a last label without weights
    is_classifier = any(str(name).endswith("ForSequenceClassification") for name in config.architectures or ())
    if is_classifier and outputs not in (None, config.num_labels - rejects):
        raise ValueError(
            f"the head of {source!r} has {outputs} outputs, but its {CONFIG} has {config.num_labels} labels; save or "
            "download the model again."
        )


def _find(source: str, names: tuple[str, ...]) -> str:
    """Returns the path of the first file of `names` that the folder or the Hub repository holds."""
    check_source(source)
    if os.path.isdir(source):
        if file := next(filter(os.path.isfile, (os.path.join(source, name) for name in names)), None):
            return file
        raise _lacks(source, names)
    reasons = []
    for name in names:
        try:
            with offline_without_hub(source):
                return str(cached_file(source, name))
        except OSError as error:
            reasons.append(first_line(error))
    raise ValueError(
        f"{source!r} is neither a folder nor a reachable Hub repository with {' or '.join(names)} ({reasons[0]}); "
        "check the id and the network, or give a folder."
    )


def _lacks(folder: str, names: tuple[str, ...]) -> ValueError:
    return ValueError(f"the folder {folder!r} holds no {' and no '.join(names)}; give the folder of a checkpoint.")


def _read_tensors(file: str) -> tuple[dict[str, Tensor], str | None]:
    """Returns the tensors of a file, and the id that they share with their configuration, or None."""
    try:
        if file.endswith(".safetensors"):
            with safe_open(file, "pt") as weights:
                tensors = {name: weights.get_tensor(name) for name in weights.keys()}
                return tensors, (weights.metadata() or {}).get(WEIGHTS_ID)
        tensors = torch.load(file, map_location="cpu", weights_only=True)
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, EOFError, OSError) as error:
        reason = "" if isinstance(error, pickle.UnpicklingError) else f" ({first_line(error)})"  # advice
        raise ValueError(
            f"{file!r} cannot be read{reason}; it is truncated or holds other objects than tensors: download it again."
        ) from error
    if not isinstance(tensors, dict) or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise ValueError(f"{file!r} is not a dictionary of tensors; give a file that holds a state dict.")
    return tensors, None
