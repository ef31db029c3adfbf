"""Self-contained checkpoint folders: weights, code and tokenizer. Checks that a folder loads without this package."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.tokenization_utils_base import TOKENIZER_CONFIG_FILE
from transformers.utils.hub import cached_file

import vocabless
from vocabless.loading import find_model
from vocabless.modeling.configuration_vocabless import VocablessConfig
from vocabless.saving.card_heads import HEADS
from vocabless.saving.checkpoint_files import (
    LOADING_ERRORS,
    check_tensor_names,
    first_line,
    read_config_and_tensors,
    shortened,
)
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.variants import VARIANTS
from vocabless.whole_folders import atomic_folder

LOAD_TIMEOUT_SECONDS = 600  # for loading in another process
EXAMPLE_TEXT = "A folder that loads anywhere needs no package beside it."

# The first lines of a program that cannot import `vocabless`.
WITHOUT_PACKAGE = """
import json, sys
sys.modules["vocabless"] = None
"""

# Prints the model's first output on a text as JSON. The numbers are doubles, which JSON keeps exactly.
_PRINT_OUTPUT = f"""{WITHOUT_PACKAGE}
import torch, transformers
folder, auto_class, text = sys.argv[1:]
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = getattr(transformers, auto_class).from_pretrained(folder, trust_remote_code=True).eval()
with torch.no_grad():
    print(json.dumps(model(**tokenizer(text, return_tensors="pt"))[0].double().tolist()))
"""


def save_checkpoint(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    folder: str | os.PathLike[str],
    state_dict: dict[str, Any] | None = None,
    write_more: Callable[[Path], None] | None = None,
) -> None:
    """Writes weights (safetensors), code and tokenizer into a folder, whole, see `atomic_folder`.

    Files of the same names are replaced. `state_dict` has all weights, if the model, of this family or stock, itself
    holds only a part of them (FSDP, DeepSpeed). `write_more` writes further files into the temporary folder.
    """
    with atomic_folder(Path(folder)) as temporary:
        model.save_pretrained(temporary, state_dict=state_dict)  # ties the weights to their settings
        tokenizer.save_pretrained(temporary)
        if write_more is not None:
            write_more(temporary)


def load_checkpoint(source: str) -> tuple[PreTrainedModel, VocablessTokenizer]:
    """Returns the model of a checkpoint, a folder or a Hub id, with the head that it was saved with, and its tokenizer.

    The model holds the tensors of the file, in the precision that the configuration names. No code of the checkpoint
    runs.

    Raises:
        ValueError: the checkpoint is not complete or not of this family, or the tokenizer does not fit the model.
    """
    source = find_model(source)
    config, tensors = read_config_and_tensors(source)
    class_name = str(next(iter(config.get("architectures") or ["none"])))
    if config.get("model_type") != VocablessConfig.model_type or class_name not in HEADS:
        raise ValueError(
            f"the checkpoint {source!r} holds {shortened(class_name)} of the model type "
            f"{shortened(repr(config.get('model_type')))}; give a checkpoint of this family, one of {', '.join(HEADS)}."
        )
    try:
        model = getattr(vocabless, class_name)(VocablessConfig.from_dict(config)).eval()
        names = model.load_state_dict(tensors, strict=False, assign=True)
        cached_file(source, TOKENIZER_CONFIG_FILE)  # without this file transformers builds a tokenizer of the defaults
        tokenizer: VocablessTokenizer = VocablessTokenizer.from_pretrained(source)
    except LOADING_ERRORS as error:
        raise ValueError(
            f"{source!r} cannot be loaded ({first_line(error)}); give a complete checkpoint with its own tokenizer."
        ) from error
    check_tensor_names(source, *names)
    check_tokenizer(source, model.config, tokenizer)
    dtype = getattr(torch, str(config.get("dtype")), None)
    return model.to(dtype) if isinstance(dtype, torch.dtype) else model, tokenizer


def check_tokenizer(source: str, config: Any, tokenizer: VocablessTokenizer) -> None:
    """Checks that the tokenizer writes the blocks that the model reads: the block size, and the variant's coder."""
    if tokenizer.block_size != config.block_size:
        raise ValueError(
            f"the tokenizer of {source!r} writes blocks of {tokenizer.block_size} elements, but the model reads "
            f"{config.block_size}; save the model's own tokenizer there."
        )
    variant = VARIANTS.get(str(getattr(config, "variant", None)))
    if variant is None:
        return
    splitter, coder = "subword" if variant.reads_subwords else variant.splitter, variant.coder[0]
    if (tokenizer.splitter, tokenizer.coder) != (splitter, coder):
        raise ValueError(
            f"the tokenizer of {source!r} writes {tokenizer.coder} blocks of {tokenizer.splitter} units, but "
            f"{variant.name} reads {coder} blocks of {splitter} units; save the model's own tokenizer there, or remove "
            '"variant" from config.json if the model was trained with this tokenizer.'
        )


def loads_without_package(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: str | os.PathLike[str]
) -> bool:
    """Returns whether a checkpoint gives the same numbers in a process that is offline and cannot import this package.

    `model` tells the class; its weights are read from the folder of the checkpoint.

    Raises:
        ValueError: the checkpoint does not load there; the message holds the last line of the error.
    """
    # Kernels round differently for tensors at other memory alignments, so compare with weights that were loaded too.
    model = type(model).from_pretrained(folder).eval()
    with torch.no_grad():
        expected = model(**tokenizer(EXAMPLE_TEXT, return_tensors="pt"))[0].double().tolist()
    auto_class = HEADS[type(model).__name__].auto_class
    command = [sys.executable, "-I", "-c", _PRINT_OUTPUT, os.path.abspath(folder), auto_class, EXAMPLE_TEXT]
    as_text: Any = {"capture_output": True, "encoding": "utf-8", "errors": "replace"}
    with tempfile.TemporaryDirectory() as modules:
        environment = {"HF_HUB_OFFLINE": "1", "HF_MODULES_CACHE": modules, "TRANSFORMERS_VERBOSITY": "error"}
        environment = {**os.environ, **environment, "OMP_NUM_THREADS": str(torch.get_num_threads())}
        process = subprocess.run(command, **as_text, env=environment, check=False, timeout=LOAD_TIMEOUT_SECONDS)
    if process.returncode:
        lines = process.stderr.strip().splitlines() or [f"exit status {process.returncode}"]
        raise ValueError(f"{folder} does not load without the package: {lines[-1]}")
    return bool(json.loads(process.stdout.splitlines()[-1]) == expected)
