"""Self-contained checkpoint folders: weights, code and tokenizer, and the proof that they load without this package."""
# mypy: allow-untyped-calls

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.tokenization_utils_base import TOKENIZER_CONFIG_FILE
from transformers.utils.hub import cached_file

import vocabless
from vocabless.modeling.configuration_vocabless import AUTO_MAP, VocablessConfig
from vocabless.saving.sources import check_names, read_checkpoint
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.variants import VARIANTS

HEADS = tuple(path.split(".")[1] for name, path in AUTO_MAP.items() if name != "AutoConfig")
SECONDS = 600  # that loading in another process may take
PROBE = "A folder that loads anywhere needs no package beside it."

# The first lines of a program that cannot import `vocabless`.
WITHOUT_PACKAGE = """
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "vocabless":
            raise ModuleNotFoundError("vocabless is absent on purpose")

sys.meta_path.insert(0, Absent())
"""

# Prints what the probe gives, as numbers that survive the way.
_BARE = (
    WITHOUT_PACKAGE
    + """
import torch, transformers
folder, auto_class, probe = sys.argv[1:]
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = getattr(transformers, auto_class).from_pretrained(folder, trust_remote_code=True).eval()
with torch.no_grad():
    print(json.dumps(model(**tokenizer(probe, return_tensors="pt"))[0].double().tolist()))
"""
)


def save_checkpoint(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    folder: str | os.PathLike[str],
    state_dict: dict[str, Any] | None = None,
) -> None:
    """Writes weights (safetensors), code and tokenizer into `folder`; files are replaced whole, weights last.

    Args:
        model: of the family, or a stock one.
        tokenizer: its own.
        folder: exists.
        state_dict: the weights, if the model itself does not hold them whole (FSDP, DeepSpeed).
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as temporary:
        model.save_pretrained(temporary, state_dict=state_dict)
        tokenizer.save_pretrained(temporary)
        for file in sorted(Path(temporary).iterdir(), key=lambda file: file.suffix == ".safetensors"):
            os.replace(file, Path(folder) / file.name)


def load_checkpoint(source: str) -> tuple[PreTrainedModel, VocablessTokenizer]:
    """Returns the model of a checkpoint under its own head, with the very tensors of the file, and its tokenizer.

    Args:
        source: a folder or a Hub id. No code of its own is run.

    Raises:
        ValueError: it is no whole checkpoint of this family, or its tokenizer is another model's.
    """
    config, tensors = read_checkpoint(source)
    head = next(iter(config.get("architectures") or ["none"]))
    if config.get("model_type") != VocablessConfig.model_type or head not in HEADS:
        raise ValueError(
            f"the checkpoint {source!r} holds {head} of the type {config.get('model_type')!r}; "
            f"give a checkpoint of this family, with one of {', '.join(HEADS)}."
        )
    model = getattr(vocabless, head)(VocablessConfig.from_dict(config)).eval()
    try:
        check_names(source, *model.load_state_dict(tensors, strict=False, assign=True))
    except RuntimeError as error:
        raise ValueError(
            f"the tensors of {source!r} do not have the shapes that its config.json says; fetch it again."
        ) from error
    try:
        cached_file(source, TOKENIZER_CONFIG_FILE)  # without it the library makes up a tokenizer of the defaults
        tokenizer = VocablessTokenizer.from_pretrained(source)
    except OSError as error:
        raise ValueError(f"{source!r} holds no {TOKENIZER_CONFIG_FILE}; save the model's tokenizer there.") from error
    _check_tokenizer(source, model.config, tokenizer)
    return model, tokenizer


def _check_tokenizer(source: str, config: Any, tokenizer: VocablessTokenizer) -> None:
    """Refuses a tokenizer whose blocks the model does not read: of another size, or of another variant."""
    if tokenizer.block_size != config.block_size:
        raise ValueError(
            f"the tokenizer of {source!r} writes blocks of {tokenizer.block_size} elements, but the model reads "
            f"{config.block_size}; save the model's own tokenizer there."
        )
    row = VARIANTS.get(str(getattr(config, "variant", None)))
    if row is None:
        return
    written = (tokenizer.splitter, tokenizer.coder)
    read = ("subword" if row.reads_subwords else row.splitter, row.coder[0])
    if written != read:
        raise ValueError(
            f"the tokenizer of {source!r} writes {written[1]} blocks of {written[0]} units, but {row.name} reads "
            f"{read[1]} blocks of {read[0]} units; save the model's own tokenizer there, or take the variant out of "
            "config.json if the model was trained with this one."
        )


def loads_without_package(
    model: PreTrainedModel, tokenizer: VocablessTokenizer, folder: str | os.PathLike[str]
) -> bool:
    """Returns whether a folder, loaded offline where this package is absent, gives the numbers that it gives here.

    Raises:
        RuntimeError: it does not load; with the last line of what went wrong.
    """
    model = type(model).from_pretrained(folder).eval()  # what was read: kernels round by how tensors lie in memory
    with torch.no_grad():
        expected = model(**tokenizer(PROBE, return_tensors="pt"))[0].double().tolist()
    auto_class = str(model._auto_class)
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "HF_MODULES_CACHE": cache,
            "TRANSFORMERS_VERBOSITY": "error",
        }
        environment["OMP_NUM_THREADS"] = str(torch.get_num_threads())
        done: Any = subprocess.run(
            [sys.executable, "-I", "-c", _BARE, os.path.abspath(folder), auto_class, PROBE],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
            timeout=SECONDS,
        )
    if done.returncode:
        raise RuntimeError(f"{folder} does not load without the package: {done.stderr.strip().splitlines()[-1]}")
    return bool(json.loads(done.stdout.splitlines()[-1]) == expected)
