"""A row of the tables with other axes, for ablations: another size, splitter, coder, front end or encoder option."""
# mypy: allow-untyped-calls

import difflib
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from transformers import AutoConfig

from vocabless.encoder_shapes import SIZES
from vocabless.modeling.front_ends import FRONT_ENDS
from vocabless.stock_shapes import StockShape
from vocabless.tokenization.block_coders import CODERS
from vocabless.tokenization.splitters import SPLITTERS
from vocabless.variants import SUBWORD_TOKENIZERS, Component, Options, Variant

# The `subword` splitter is chosen by the kind of its tokenizer.
SPLITTER_NAMES = (*(name for name in SPLITTERS if name != "subword"), *SUBWORD_TOKENIZERS)
STOCK_AXES = ("size", "encoder_options")  # what a stock shape has
FILES = ("ngrams",)  # options of coders that are read from files


def redesign(shape: Variant | StockShape, design: Mapping[str, Any]) -> Variant | StockShape:
    """Returns the row with other axes; a row of no table, whose name says what differs.

    Args:
        shape: a row.
        design: axis → value: `size`, `splitter`, `coder` and `front_end` are names; `splitter_options`,
            `coder_options`, `front_end_options` and `encoder_options` are added to the row's own options. A coder or a
            front end of another name begins with none.

    Raises:
        ValueError: an unknown name, option or type of a value; similar names are listed. Or an axis that stock shapes
            do not have.

    Example:
        >>> from vocabless.variants import find_variant
        >>> row = redesign(find_variant("eelbert-tiny"), {"front_end": "random_normal", "size": "mini"})
        >>> row.name, row.front_end, row.size
        ('eelbert-tiny with front_end random_normal, size mini', ('random_normal', {}), 'mini')
    """
    if not design:
        return shape
    size, encoder_options = design.get("size", shape.size), design.get("encoder_options", {})
    _check_known("size", [size], SIZES)
    _check_known("encoder_options", encoder_options, AutoConfig.for_model(shape.encoder).to_dict())
    changes: dict[str, Any] = {"size": size, "encoder_options": shape.encoder_options | encoder_options}
    if isinstance(shape, StockShape):
        _check_known(f"axis of {shape.name}", design, STOCK_AXES)
    else:
        changes |= _tokens(shape, design)
        changes["front_end"] = _component("front_end", shape.front_end, design)
        _check_options("front_end_options", design, default_options(FRONT_ENDS[changes["front_end"][0]]))
    return replace(shape, name=f"{shape.name} with {describe_design(design)}", **changes)


def describe_design(design: Mapping[str, Any]) -> str:
    """Returns the axes and their values as one text, in the order of their names."""
    texts = {axis: value if isinstance(value, str) else json.dumps(value) for axis, value in design.items()}
    return ", ".join(f"{axis} {texts[axis]}" for axis in sorted(texts))


def _tokens(variant: Variant, design: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the splitter and the coder of a new row."""
    splitter = design.get("splitter", variant.splitter)
    _check_known("splitter", [splitter], SPLITTER_NAMES)
    of_splitter = default_options(SPLITTERS["subword" if splitter in SUBWORD_TOKENIZERS else splitter])
    _check_options("splitter_options", design, of_splitter)
    coder = _component("coder", variant.coder, design)
    _check_options("coder_options", design, default_options(CODERS[coder[0]]))
    own = variant.splitter_options if splitter == variant.splitter else {}
    return {"splitter": splitter, "splitter_options": own | design.get("splitter_options", {}), "coder": coder}


def _component(axis: str, own: Component, design: Mapping[str, Any]) -> Component:
    name = design.get(axis, own[0])
    _check_known(axis, [name], CODERS if axis == "coder" else FRONT_ENDS)
    options: Options = own[1] if name == own[0] else {}
    return name, options | design.get(f"{axis}_options", {})


def default_options(component: type) -> Options:
    """Returns the options of a coder, splitter or front end with their defaults, without those read from files.

    >>> default_options(CODERS["lsh"])
    {'num_bits': 128, 'num_features': 50000, 'seed': 42}
    """
    parameters = inspect.signature(component).parameters.values()
    options = [parameter for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    return {parameter.name: parameter.default for parameter in options if parameter.name not in FILES}


def _check_options(axis: str, design: Mapping[str, Any], defaults: Options) -> None:
    """Refuses unknown options, and values of another type than the default's."""
    options = design.get(axis, {})
    _check_known(axis, options, defaults)
    for name, value in options.items():
        kind = type(defaults[name])
        if defaults[name] is not None and type(value) is not kind and not (kind is float and type(value) is int):
            raise ValueError(f"{axis} has {name}={value!r}; its default is {defaults[name]!r}: give the same type.")


def _check_known(axis: str, names: Iterable[str], legal: Iterable[str]) -> None:
    known = list(legal)
    for name in names:
        if name not in known:
            similar = difflib.get_close_matches(name, known, 3, 0.6)
            remedy = f"did you mean {' or '.join(similar)}?" if similar else f"choose one of {', '.join(known)}."
            raise ValueError(f"unknown {axis} {name!r}; {remedy if known else 'there are none.'}")
