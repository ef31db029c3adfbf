"""Folders that are written whole: a process that is killed leaves no partial file, and a reader never sees a mixture.

A reader opens the files of a folder one after the other. So settings and weights that belong together have the same
id, a hash of both: `config.json` and `model.safetensors`, `inference.json` and the graphs. Weights are moved before
settings. Loading weights that have another id than the settings is an error. `inference.json` also has the id of the
weights that its graphs were exported from, since these may be trained again.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from transformers.utils import CONFIG_NAME, SAFE_WEIGHTS_NAME

from vocabless.conversion.onnx_program.onnx_settings import SETTINGS
from vocabless.disk_errors import UNFINISHED
from vocabless.modeling.pretrained_model import WEIGHTS_ID

_LAST = {CONFIG_NAME, SETTINGS}  # files of settings


@contextmanager
def atomic_folder(folder: Path, removes_left_over: bool = True) -> Iterator[Path]:
    """Yields a temporary folder in `folder`, which it creates if needed, and moves the files when the block ends.

    Weights are moved last but for their settings; other files of `folder` stay. So an interrupted block leaves no
    partial file, and a folder with new settings has all other files. A process that is killed leaves the temporary
    folder, whose name begins with `UNFINISHED`. The next call removes it, unless `removes_left_over` is false because
    another process may write at the same time.

    Raises:
        ValueError: `folder` has a folder where a file is to be written, or the reverse; nothing was moved.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for left_over in folder.glob(f"{UNFINISHED}*") if removes_left_over else ():
        shutil.rmtree(left_over)
    with tempfile.TemporaryDirectory(dir=folder, prefix=UNFINISHED) as name:
        temporary = Path(name)
        mode = _usual_mode(temporary)
        yield temporary
        files = [file for file in temporary.rglob("*") if file.is_file()]
        for file in files:  # safetensors makes files that their owner alone can read
            file.chmod(mode)
        files.sort(key=lambda file: (file.name in _LAST, file.suffix in (".safetensors", ".onnx"), file.parent))
        targets = [folder / file.relative_to(temporary) for file in files]
        for target in targets:
            parent = target.parent
            if target.is_dir() or (os.path.lexists(parent) and not parent.is_dir()):
                path, kind, other = (target, "folder", "file") if target.is_dir() else (parent, "file", "folder")
                raise ValueError(
                    f"{str(path)!r} is a {kind}, but a {other} of this name is to be written; move it, or give another "
                    "folder."
                )
        for file, target in zip(files, targets, strict=True):
            target.parent.mkdir(exist_ok=True)
            os.replace(file, target)


def tie_weights(folder: Path) -> str | None:
    """Writes the same id into config.json and model.safetensors, and returns it; None if the folder lacks one of them.

    The bytes depend on the settings and the tensors alone.
    """
    config_file, weights_file = folder / CONFIG_NAME, folder / SAFE_WEIGHTS_NAME
    if not (config_file.is_file() and weights_file.is_file()):  # an adapter, or several files of weights
        return None
    config, weights = json.loads(config_file.read_text(encoding="utf-8")), weights_file.read_bytes()
    config.pop(WEIGHTS_ID, None)
    start = 8 + int.from_bytes(weights[:8], "little")  # of the tensors; their names are before them, as JSON
    header = json.loads(weights[8:start])
    config[WEIGHTS_ID] = weights_id(config, weights)
    header.setdefault("__metadata__", {})[WEIGHTS_ID] = config[WEIGHTS_ID]
    names = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    names += b" " * (-len(names) % 8)
    weights_file.write_bytes(len(names).to_bytes(8, "little") + names + weights[start:])
    config_file.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return str(config[WEIGHTS_ID])


def weights_id(settings: dict[str, Any], *weights: bytes) -> str:
    """Returns the id of settings and of the weights that belong to them."""
    state = blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=8)
    for part in weights:
        state.update(part)
    return state.hexdigest()


def _usual_mode(folder: Path) -> int:
    """Returns the mode that a new file in a folder gets from this process."""
    file = folder / "new"
    file.touch()
    mode = file.stat().st_mode
    file.unlink()
    return mode
