"""The files that make a checkpoint a sentence-transformers model: the mean of the states, then a dense layer.

A checkpoint without these files is one, too: sentence-transformers takes the mean of its states.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.utils.hub import cached_file

MODULES = "modules.json"
TEACHER_MEAN = "teacher_mean.safetensors"
POOLING, DENSE, NORMALIZE = "1_Pooling", "2_Dense", "3_Normalize"
KNOWN = ("Transformer", "Pooling", "Dense", "Normalize")  # modules in their order; the last two may be left out
SENTENCE_FILES = (
    MODULES,
    *("config_sentence_transformers.json", "sentence_bert_config.json", TEACHER_MEAN),
    *(f"{POOLING}/config.json", f"{DENSE}/config.json", f"{DENSE}/model.safetensors"),
)


def write_sentence_modules(folder: Path, *, weight: Tensor, bias: Tensor, teacher_mean: Tensor | None = None) -> None:
    """Writes the modules that follow the encoder into its folder: pooling, a dense layer, division by the length.

    The weight of the dense layer is (vector size, hidden size), its bias (vector size,). `teacher_mean`, (vector
    size,), was taken from the teacher's vectors of length 1 before the student learned them. Take it from others of the
    teacher's vectors, to compare them with the student's. None writes none.
    """
    vector_size, hidden_size = weight.shape
    types = {"": "Transformer", POOLING: "Pooling", DENSE: "Dense", NORMALIZE: "Normalize"}
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"}
        for index, (path, name) in enumerate(types.items())
    ]
    _write(folder / MODULES, modules)
    _write(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})
    _write(folder / "sentence_bert_config.json", {"do_lower_case": False})
    _write(
        folder / POOLING / "config.json", {"word_embedding_dimension": hidden_size, "pooling_mode_mean_tokens": True}
    )
    dense = {"in_features": hidden_size, "out_features": vector_size, "bias": True}
    _write(folder / DENSE / "config.json", dense | {"activation_function": "torch.nn.modules.linear.Identity"})
    tensors = {"linear.weight": weight.detach().cpu().contiguous(), "linear.bias": bias.detach().cpu()}
    save_file(tensors, folder / DENSE / "model.safetensors", metadata={"format": "pt"})
    if teacher_mean is not None:
        save_file({"mean": teacher_mean.detach().cpu()}, folder / TEACHER_MEAN)


@dataclass(frozen=True)
class SentenceModules:
    """What follows the encoder: the mean of the states of all tokens, a dense layer, and division by the length."""

    weight: Tensor | None = None  # of the dense layer, (vector size, hidden size); None: there is no dense layer
    bias: Tensor | None = None  # of the dense layer, (vector size,); None: it has none
    normalizes: bool = True  # whether vectors are divided by their length


def read_sentence_modules(source: str, revision: str | None = None) -> SentenceModules | None:
    """Returns what follows the encoder of a checkpoint, a folder or a Hub id; None if it has no modules.json.

    `revision` is that of a Hub id; None is the newest.

    Raises:
        ValueError: other modules follow than those that `SentenceModules` describes, or in another order.
    """
    rows = _read(source, MODULES, revision)
    if rows is None:
        return None
    names = [str(row["type"]).rpartition(".")[2] for row in rows]
    paths = dict(zip(names, (row["path"] for row in rows), strict=True))
    if names[:2] != list(KNOWN[:2]) or names != [name for name in KNOWN if name in paths]:
        raise _unknown(source, f"the modules {', '.join(names)}")
    pooling = _read(source, f"{paths['Pooling']}/config.json", revision) or {}
    modes = [name for name, value in pooling.items() if name.startswith("pooling_mode_") and value]
    if pooling.get("pooling_mode", "mean") != "mean" or modes not in ([], ["pooling_mode_mean_tokens"]):
        raise _unknown(source, f"the pooling {pooling.get('pooling_mode') or modes}")
    dense = {}
    if "Dense" in paths:
        config = _read(source, f"{paths['Dense']}/config.json", revision) or {}
        activation = config.get("activation_function", "none")
        if not activation.endswith(".Identity"):
            raise _unknown(source, f"a dense layer with {activation}")
        dense = read_dense(source, paths["Dense"], revision)
    return SentenceModules(dense.get("weight"), dense.get("bias"), "Normalize" in paths)


def read_dense(source: str, path: str = DENSE, revision: str | None = None) -> dict[str, Tensor]:
    """Returns `weight` and `bias` of the dense layer of a checkpoint, a folder or a Hub id; empty if it has none."""
    try:
        tensors = load_file(str(cached_file(source, f"{path}/model.safetensors", revision=revision)))
    except OSError:
        return {}
    return {name.removeprefix("linear."): tensor for name, tensor in tensors.items()}


def _unknown(source: str, what: str) -> ValueError:
    return ValueError(
        f"the sentence encoder {source!r} has {what}; give one with the mean of the states, at most one dense "
        "layer without an activation, and division by the length."
    )


def _read(source: str, name: str, revision: str | None) -> Any:
    """Returns the content of a JSON file of a checkpoint; None if it is not there."""
    try:
        return json.loads(Path(str(cached_file(source, name, revision=revision))).read_text(encoding="utf-8"))
    except OSError:
        return None


def _write(file: Path, content: Any) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
