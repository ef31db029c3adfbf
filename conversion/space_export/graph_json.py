"""ONNX → the graph of a page: JSON that `browser/graph.js` runs, and a binary of weights."""
# mypy: no-warn-return-any

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vocabless.conversion.onnx_export.graph import session_of

Proto = Any  # onnx.ModelProto; onnx is an optional requirement, so the functions that use it import it
BROWSER = Path(__file__).resolve().parent.parent.parent / "browser"
OPERATOR_FILES = ("elementwise.js", "layout.js", "reductions.js")
TYPES = {"FLOAT": "float", "INT64": "int", "INT32": "int", "UINT8": "int", "BOOL": "bool"}
Node = tuple[str, list[str], list[str], dict[str, Any]]  # operator, inputs, outputs, attributes
LEFT_OUT = -1
MIN_INT8_NUMBERS = 1024  # smaller matrices stay float32
LARGEST = 127
# The only values of these attributes that browser/*.js supports; a missing attribute has the default of ONNX.
SUPPORTED: dict[str, dict[str, Any]] = {
    "CumSum": {"exclusive": 0, "reverse": 0},
    "GatherND": {"batch_dims": 0},
    "Gemm": {"alpha": 1.0, "beta": 1.0, "transA": 0},
    "LayerNormalization": {"axis": -1},
    "Mod": {"fmod": 0},
    "Pad": {"mode": "constant"},
    "Unique": {"axis": 0},
}
# Which matrices become int8: operator, place of the matrix in its inputs → the axis that has one factor for each index.
# A column of a right matrix and a row of a table belong to one number or one unit each.
INT8_AXES = {("MatMul", 1): 1, ("Gather", 0): 0}


@cache
def operators() -> frozenset[str]:
    """Returns the operators that a page can run, from the tables in `browser/`."""
    text = "".join((BROWSER / name).read_text(encoding="utf-8") for name in OPERATOR_FILES)
    tables = re.findall(r"^export const [A-Z]+ = \{\n(.*?)^\};", text, re.M | re.S)
    return frozenset(name for table in tables for name in re.findall(r"^  (\w+):", table, re.M))


def check_operators(proto: Proto) -> None:
    """Raises ValueError if a page cannot run the graph, and names the operator or attribute that `browser/` lacks."""
    missing = sorted({node.op_type for node in proto.graph.node} - operators())
    if missing:
        raise ValueError(
            f"the page has no operator {', '.join(missing)}, which the model's graph needs; use the verb onnx."
        )
    for node in proto.graph.node:
        for name, value in _attributes(node).items():
            supported = SUPPORTED.get(node.op_type, {}).get(name, value)
            if value != supported:
                raise ValueError(
                    f"the page has the operator {node.op_type} only with {name}={supported!r}, but the model's graph "
                    f"has {value!r}; use the verb onnx."
                )


def int8_axes(proto: Proto) -> dict[str, int]:
    """Returns the matrices that become int8, name → axis with one factor for each index."""
    from onnx import TensorProto

    arrays = {tensor.name: tensor for tensor in proto.graph.initializer}
    axes = {}
    for node in proto.graph.node:
        for place, name in enumerate(node.input):
            axis = INT8_AXES.get((node.op_type, place))
            if node.op_type == "Gemm" and place == 1:
                axis = 0 if _attributes(node).get("transB") else 1
            if axis is not None and name in arrays and arrays[name].data_type == TensorProto.FLOAT:
                dims = arrays[name].dims
                if len(dims) == 2 and dims[0] * dims[1] >= MIN_INT8_NUMBERS:
                    axes[name] = axis
    return axes


def to_json(proto: Proto, bits: int) -> tuple[dict[str, Any], bytes]:
    """Returns a graph with one input as JSON, see `browser/graph.js`, and the binary of its weights.

    `bits` are those of the matrices of `int8_axes`, 32 or 8. Raises ValueError if a page cannot run the graph.
    """
    check_operators(proto)
    constants, binary = _constants(proto, {} if bits == 32 else int8_axes(proto))
    ids = {tensor.name: index for index, tensor in enumerate(proto.graph.initializer)} | {"": LEFT_OUT}
    (graph_input,) = proto.graph.input
    ids[graph_input.name] = len(constants)
    nodes = []
    for op, inputs, outputs, attributes in _fused_nodes(proto):
        for name in outputs:
            ids.setdefault(name, len(ids) - 1)  # "" has no place among them
        node = {"op": op, "inputs": [ids[name] for name in inputs], "outputs": [ids[name] for name in outputs]}
        nodes.append(node | ({"attributes": attributes} if attributes else {}))
    named = {output.name: ids[output.name] for output in proto.graph.output}
    return {"constants": constants, "input": len(constants), "nodes": nodes, "outputs": named}, binary


def quantize(array: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Returns a matrix as int8 numbers, −127 to 127, and the factor of each index of `axis`.

    >>> quantize(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32), axis=0)[0].tolist()
    [[64, -127], [0, 0]]
    """
    largest = np.abs(array).max(axis=1 - axis)
    factors = (np.where(largest > 0, largest, 1) / LARGEST).astype(np.float32)
    return np.rint(array / np.expand_dims(factors, 1 - axis)).astype(np.int8), factors


def page_session(proto: Proto, bits: int) -> Any:
    """Returns an onnxruntime session of a graph with the numbers that a page's weights of so many bits stand for."""
    from onnx import ModelProto, numpy_helper

    copy = ModelProto()
    copy.CopyFrom(proto)
    axes = {} if bits == 32 else int8_axes(proto)
    for tensor in [matrix for matrix in copy.graph.initializer if matrix.name in axes]:
        array, axis = numpy_helper.to_array(tensor), axes[tensor.name]
        numbers, factors = quantize(array, axis)
        restored = (numbers * np.expand_dims(factors, 1 - axis)).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(restored, tensor.name))
    return session_of(copy.SerializeToString(), torch.get_num_threads())


def _fused_nodes(proto: Proto) -> list[Node]:
    """Returns the nodes, with Mul → Add → Mod by constants as one MulAddMod.

    The front end `ngram` multiplies two integers below 2³⁰ so. The product is exact in 64-bit integers, but not in
    the numbers of JavaScript.
    """
    constants = {tensor.name for tensor in proto.graph.initializer}
    uses = Counter(name for node in proto.graph.node for name in node.input)
    makers = {name: node for node in proto.graph.node for name in node.output if uses[name] == 1}
    nodes: list[Node] = []
    absorbed = set()
    for node in proto.graph.node:
        inputs = list(node.input)
        total = makers.get(inputs[0]) if node.op_type == "Mod" else None
        product = makers.get(total.input[0]) if total is not None and total.op_type == "Add" else None
        if total is None or product is None or product.op_type != "Mul" or not {total.input[1], inputs[1]} <= constants:
            nodes.append((node.op_type, inputs, list(node.output), _attributes(node)))
            continue
        absorbed |= {product.output[0], total.output[0]}
        nodes.append(("MulAddMod", [*product.input, total.input[1], inputs[1]], list(node.output), {}))
    return [node for node in nodes if node[2][0] not in absorbed]


def _constants(proto: Proto, axes: dict[str, int]) -> tuple[list[dict[str, Any]], bytes]:
    """Returns the constants as the page reads them, and the binary of their numbers.

    float32 numbers come first, so that they are aligned to 4 bytes. The matrices in `axes` are int8.
    """
    from onnx import numpy_helper

    floats, integers, constants = bytearray(), bytearray(), []

    def add(array: NDArray[np.float32]) -> int:
        floats.extend(array.astype("<f4").tobytes())
        return len(floats) - 4 * array.size

    for tensor in proto.graph.initializer:
        array = numpy_helper.to_array(tensor)
        constant: dict[str, Any] = {"type": _type(tensor.data_type), "dims": list(array.shape)}
        if constant["type"] != "float":
            constant["values"] = array.astype(np.int64).ravel().tolist()
        elif tensor.name in axes:
            numbers, factors = quantize(array, axes[tensor.name])
            constant["int8"] = {"offset": len(integers), "scales": add(factors), "axis": axes[tensor.name]}
            integers.extend(numbers.tobytes())
        else:
            constant["offset"] = add(array)
        constants.append(constant)
    for int8 in (constant["int8"] for constant in constants if "int8" in constant):
        int8["offset"] += len(floats)
    return constants, bytes(floats + integers)


def _attributes(node: Any) -> dict[str, Any]:
    """Returns the attributes of a node as JSON values, with the names of the page's types."""
    from onnx import TensorProto, helper, numpy_helper

    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if isinstance(value, TensorProto):  # the value of ConstantOfShape
            attributes["type"] = _type(value.data_type)
            attributes["value"] = numpy_helper.to_array(value).ravel()[0].item()
        elif attribute.name == "to":
            attributes["to"] = _type(value)
        else:
            attributes[attribute.name] = value.decode() if isinstance(value, bytes) else value
    return attributes


def _type(data_type: int) -> str:
    """Returns the page's name of an ONNX type; raises ValueError if the page has no numbers of this type."""
    from onnx import TensorProto

    name = TensorProto.DataType.Name(data_type)
    if name not in TYPES:
        raise ValueError(
            f"the page has no numbers of the type {name}, which the model's graph needs; use the verb onnx."
        )
    return TYPES[name]
