"""ONNX → the graph of a page: JSON that `browser/graph.js` runs, and a binary of weights."""
# mypy: allow-untyped-calls, no-warn-return-any

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from vocabless.conversion.space_export.weights import MIN_INT8_NUMBERS, Weights, quantize

Proto = Any  # onnx.ModelProto; onnx is an optional requirement, so the functions that use it import it
BROWSER = Path(__file__).resolve().parent.parent.parent / "browser"
OPERATOR_FILES = ("elementwise.js", "layout.js", "reductions.js")
TYPES = {"FLOAT": "float", "INT64": "int", "INT32": "int", "UINT8": "int", "BOOL": "bool"}
LEFT_OUT = -1
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
    tables = [re.search(r"^export const [A-Z]+ = \{\n(.*?)^\};", _read(name), re.M | re.S) for name in OPERATOR_FILES]
    return frozenset(name for table in tables if table for name in re.findall(r"^  (\w+):", table[1], re.M))


def check_operators(proto: Proto) -> None:
    """Checks that a page can run the graph.

    Raises:
        ValueError: an operator or an attribute is missing in `browser/`; it is named.
    """
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
    arrays = {tensor.name: tensor for tensor in proto.graph.initializer}
    axes = {}
    for node in proto.graph.node:
        for place, name in enumerate(node.input):
            axis = INT8_AXES.get((node.op_type, place))
            if node.op_type == "Gemm" and place == 1:
                axis = 0 if _attributes(node).get("transB") else 1
            if axis is not None and name in arrays and _is_large_matrix(arrays[name]):
                axes[name] = axis
    return axes


def to_json(proto: Proto, int8: bool) -> tuple[dict[str, Any], bytes]:
    """Returns the graph as JSON, see `browser/graph.js`, and the binary of its weights.

    Args:
        proto: a graph with one input, that `check_operators` accepts.
        int8: whether the matrices of `int8_axes` become int8.
    """
    weights, axes = Weights(), int8_axes(proto) if int8 else {}
    constants = [_constant(tensor, weights, axes.get(tensor.name)) for tensor in proto.graph.initializer]
    ids = {tensor.name: index for index, tensor in enumerate(proto.graph.initializer)} | {"": LEFT_OUT}
    (graph_input,) = proto.graph.input
    ids[graph_input.name] = len(constants)
    nodes = []
    for op, inputs, outputs, attributes in _fused_nodes(proto):
        for name in outputs:
            ids.setdefault(name, len(ids) - 1)  # "" has no place among them
        node = {"op": op, "inputs": [ids[name] for name in inputs], "outputs": [ids[name] for name in outputs]}
        nodes.append(node | ({"attributes": attributes} if attributes else {}))
    binary = weights.finish()
    named = {output.name: ids[output.name] for output in proto.graph.output}
    return {"constants": constants, "input": len(constants), "nodes": nodes, "outputs": named}, binary


Node = tuple[str, list[str], list[str], dict[str, Any]]  # operator, inputs, outputs, attributes


def onnx_bytes(proto: Proto, int8: bool) -> bytes:
    """Returns the model as an ONNX file, to compare a page with.

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


def _constant(tensor: Any, weights: Weights, axis: int | None) -> dict[str, Any]:
    from onnx import TensorProto, numpy_helper

    array = numpy_helper.to_array(tensor)
    kind = _type(TensorProto.DataType.Name(tensor.data_type))
    constant: dict[str, Any] = {"type": kind, "dims": list(array.shape)}
    if kind != "float":
        return constant | {"values": array.astype(np.int64).ravel().tolist()}
    return constant | (weights.add(array) if axis is None else weights.add_int8(array, axis))


def _attributes(node: Any) -> dict[str, Any]:
    """Returns the attributes of a node as JSON values, with the names of the page's types."""
    from onnx import TensorProto, helper, numpy_helper

    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if isinstance(value, TensorProto):  # the value of ConstantOfShape
            attributes["type"] = _type(TensorProto.DataType.Name(value.data_type))
            attributes["value"] = numpy_helper.to_array(value).ravel()[0].item()
        elif attribute.name == "to":
            attributes["to"] = _type(TensorProto.DataType.Name(value))
        else:
            attributes[attribute.name] = value.decode() if isinstance(value, bytes) else value
    return attributes


def _type(name: str) -> str:
    """Returns the page's name of an ONNX type.

    Raises:
        ValueError: the page has no numbers of this type.
    """
    if name not in TYPES:
        raise ValueError(
            f"the page has no numbers of the type {name}, which the model's graph needs; use the verb onnx."
        )
    return TYPES[name]


def _is_large_matrix(tensor: Any) -> bool:
    from onnx import TensorProto

    is_float = tensor.data_type == TensorProto.FLOAT
    return is_float and len(tensor.dims) == 2 and int(np.prod(tensor.dims)) >= MIN_INT8_NUMBERS


def _read(name: str) -> str:
    return (BROWSER / name).read_text(encoding="utf-8")
