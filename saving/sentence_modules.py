"""The files that make a checkpoint a sentence-transformers model: the mean of the states, then a dense layer.

A checkpoint without these files is one, too: sentence-transformers takes the mean of its states.
"""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.utils.hub import cached_file

MODULES = "modules.json"
TEACHER_MEAN = "teacher_mean.safetensors"
POOLING, DENSE, NORMALIZE = "1_Pooling", "2_Dense", "3_Normalize"
SENTENCE_FILES = (
    MODULES,
    *("config_sentence_transformers.json", "sentence_bert_config.json", TEACHER_MEAN),
    *(f"{POOLING}/config.json", f"{DENSE}/config.json", f"{DENSE}/model.safetensors"),
)


def write_sentence_modules(folder: Path, *, weight: Tensor, bias: Tensor, teacher_mean: Tensor | None = None) -> None:
    """Writes the modules that follow the encoder into its folder: pooling, a dense layer, division by the length.

    Args:
        folder: of the checkpoint.
        weight: of the dense layer, (vector size, hidden size).
        bias: of the dense layer, (vector size,).
        teacher_mean: (vector size,) what was taken from the teacher's vectors of length 1 before the student learned
            them. Take it from others of the teacher's vectors, to compare them with the student's. None writes none.
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


def read_dense(source: str) -> dict[str, Tensor]:
    """Returns `weight` and `bias` of the dense layer of a checkpoint, a folder or a Hub id; empty if it has none."""
    try:
        tensors = load_file(str(cached_file(source, f"{DENSE}/model.safetensors")))
    except OSError:
        return {}
    return {name.removeprefix("linear."): tensor for name, tensor in tensors.items()}


def _write(file: Path, content: Any) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
