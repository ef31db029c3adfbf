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

from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

PROBE = "A folder that loads anywhere needs no package beside it."

# Runs where `vocabless` cannot be imported; prints what the probe gives, as numbers that survive the way.
_BARE = """
import json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "vocabless":
            raise ImportError("the package is absent on purpose")
sys.meta_path.insert(0, Absent())
import torch, transformers
folder, auto_class, probe = sys.argv[1:]
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = getattr(transformers, auto_class).from_pretrained(folder, trust_remote_code=True).eval()
with torch.no_grad():
    print(json.dumps(model(**tokenizer(probe, return_tensors="pt"))[0].double().tolist()))
"""


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
        )
    if done.returncode:
        raise RuntimeError(f"{folder} does not load without the package: {done.stderr.strip().splitlines()[-1]}")
    return bool(json.loads(done.stdout.splitlines()[-1]) == expected)
