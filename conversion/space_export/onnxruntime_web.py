"""What a page needs to run its model with onnxruntime-web: the model as ONNX, and the runtime's files."""
# mypy: allow-untyped-calls, no-warn-return-any

import shutil
from pathlib import Path
from urllib.parse import urlsplit

from vocabless.conversion.space_export.graph_json import Proto, int8_axes
from vocabless.conversion.space_export.weights import quantize

FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
FOLDER = "onnxruntime/"  # beside the page
MODULES = {"classifier.js": "onnxruntime_classifier.js"}


def install(runtime: str, folder: Path) -> tuple[str, str]:
    """Copies onnxruntime-web beside a page, unless it has an address; returns where the page finds it.

    Args:
        runtime: the folder `dist` of the npm package onnxruntime-web, or its https address.
        folder: where the page is written.

    Returns:
        The address, which can be relative to the page, and the source that the page must be allowed to connect to.

    Raises:
        ValueError: the folder lacks a file.
    """
    if runtime.startswith(("https://", "http://")):
        address = urlsplit(runtime)
        return f"{runtime.rstrip('/')}/", f"{address.scheme}://{address.netloc}"
    missing = [name for name in FILES if not (Path(runtime) / name).is_file()]
    if missing:
        raise ValueError(
            f"the folder {runtime!r} holds no {', '.join(missing)}; give the folder `dist` of the npm package "
            "onnxruntime-web, or its https address."
        )
    (folder / FOLDER).mkdir()
    for name in FILES:
        shutil.copyfile(Path(runtime) / name, folder / FOLDER / name)
    return FOLDER, "'self'"


def onnx_bytes(proto: Proto, int8: bool) -> bytes:
    """Returns the model as an ONNX file.

    Args:
        proto: the graph.
        int8: whether large matrices are stored as int8 and multiplied by their factors when they are read.
    """
    from onnx import ModelProto, helper, numpy_helper

    copy = ModelProto()
    copy.CopyFrom(proto)
    axes = int8_axes(proto) if int8 else {}
    for tensor in list(copy.graph.initializer):
        if tensor.name not in axes:
            continue
        name, axis = tensor.name, axes[tensor.name]
        numbers, factors = quantize(numpy_helper.to_array(tensor), axis)
        copy.graph.initializer.remove(tensor)
        inputs = [f"{name}/int8", f"{name}/factors"]
        copy.graph.initializer.append(numpy_helper.from_array(numbers, inputs[0]))
        copy.graph.initializer.append(numpy_helper.from_array(factors, inputs[1]))
        copy.graph.node.insert(0, helper.make_node("DequantizeLinear", inputs, [name], axis=axis))
    return copy.SerializeToString()
