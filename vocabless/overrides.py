"""Overrides of a row of the tables, for ablations: another size, splitter, coder, front end or encoder option."""

import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from transformers import AutoConfig

from vocabless.modeling.front_ends import FRONT_ENDS
from vocabless.stock_shapes import StockShape
from vocabless.tokenization.block_coders import CODERS
from vocabless.tokenization.splitters import SPLITTERS
from vocabless.variants import SIZES, SUBWORD_TOKENIZERS, Component, Options, Variant, check_known

# The `subword` splitter is chosen by the kind of its tokenizer.
SPLITTER_NAMES = (*(name for name in SPLITTERS if name != "subword"), *SUBWORD_TOKENIZERS)
OVERRIDES = (
    *("size", "splitter", "splitter_options", "coder", "coder_options", "front_end", "front_end_options"),
    *("encoder_options", "ngrams"),
)
STOCK_OVERRIDES = ("size", "encoder_options")  # what a stock shape has
FILES = ("ngrams",)  # options of coders that are read from files


def parse_overrides(items: Iterable[str]) -> dict[str, Any]:
    """Returns name → value of the items of `--set`; options are dicts.

    >>> parse_overrides(["coder=lsh", "coder_options.num_bits=256", 'encoder_options={"num_hidden_layers": 3}'])
    {'coder': 'lsh', 'coder_options': {'num_bits': 256}, 'encoder_options': {'num_hidden_layers': 3}}

    An item is `name=value`, or `name.option=value` for a name that ends in `_options`. The value of an option is JSON,
    or else a string.

    Raises:
        ValueError: an unknown name, similar ones are listed; or an item of another form.
    """
    overrides: dict[str, Any] = {}
    for item in items:
        path, _, text = item.partition("=")
        name, _, option = path.partition(".")
        check_known("name of --set", [name], OVERRIDES)
        if not name.endswith("_options"):
            if option or not text:
                raise ValueError(f"--set {item} gives {name} no value; write --set {name}=VALUE.")
            overrides[name] = text
            continue
        value = {option: _json_or_text(text)} if option and text else _json_or_text(text)
        if not isinstance(value, dict):
            raise ValueError(f"--set {item} names no option; write --set {name}.OPTION=VALUE.")
        overrides[name] = overrides.get(name, {}) | value
    return overrides


def with_overrides(shape: Variant | StockShape, overrides: Mapping[str, Any]) -> Variant | StockShape:
    """Returns the row with other values; a row of no table, whose name says what differs.

    Options are added to the row's own options. A coder or a front end of another name begins with none. `ngrams`
    belongs to a run and changes nothing here.

    Raises:
        ValueError: an unknown name, option or type of a value; similar names are listed. Or something that stock shapes
            do not have.

    Example:
        >>> from vocabless.variants import find_variant
        >>> row = with_overrides(find_variant("eelbert-tiny"), {"front_end": "random_normal", "size": "mini"})
        >>> row.name, row.front_end, row.size
        ('eelbert-tiny with front_end random_normal, size mini', ('random_normal', {}), 'mini')
    """
    overrides = {name: value for name, value in overrides.items() if name != "ngrams"}
    if not overrides:
        return shape
    size, encoder_options = overrides.get("size", shape.size), overrides.get("encoder_options", {})
    check_known("size", [size], SIZES)
    _check_options("encoder_options", overrides, AutoConfig.for_model(shape.encoder).to_dict())
    changes: dict[str, Any] = {"size": size, "encoder_options": shape.encoder_options | encoder_options}
    if isinstance(shape, StockShape):
        check_known(f"override of {shape.name}", overrides, STOCK_OVERRIDES)
    else:
        changes |= _tokens(shape, overrides)
        changes["front_end"] = _component("front_end", shape.front_end, overrides)
        _check_options("front_end_options", overrides, default_options(FRONT_ENDS[changes["front_end"][0]]))
    return replace(shape, name=describe_overrides(shape.name, overrides), **changes)


def describe_overrides(row: str, overrides: Mapping[str, Any] | None) -> str:
    """Returns the name of a row with its overrides in the order of their names; "" if there are none.

    >>> describe_overrides("eelbert-tiny", {"size": "mini", "encoder_options": {"num_hidden_layers": 3}})
    'eelbert-tiny with encoder_options {"num_hidden_layers": 3}, size mini'
    """
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in (overrides or {}).items()}
    return f"{row} with {', '.join(f'{name} {texts[name]}' for name in sorted(texts))}" if texts else ""


def _tokens(variant: Variant, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the splitter and the coder of a new row."""
    splitter = overrides.get("splitter", variant.splitter)
    check_known("splitter", [splitter], SPLITTER_NAMES)
    of_splitter = default_options(SPLITTERS["subword" if splitter in SUBWORD_TOKENIZERS else splitter])
    _check_options("splitter_options", overrides, of_splitter)
    coder = _component("coder", variant.coder, overrides)
    _check_options("coder_options", overrides, default_options(CODERS[coder[0]]))
    own = variant.splitter_options if splitter == variant.splitter else {}
    return {"splitter": splitter, "splitter_options": own | overrides.get("splitter_options", {}), "coder": coder}


def _component(kind: str, own: Component, overrides: Mapping[str, Any]) -> Component:
    name = overrides.get(kind, own[0])
    check_known(kind, [name], CODERS if kind == "coder" else FRONT_ENDS)
    options: Options = own[1] if name == own[0] else {}
    return name, options | overrides.get(f"{kind}_options", {})


def default_options(component: type) -> Options:
    """Returns the options of a coder, splitter or front end with their defaults, without those read from files.

    >>> default_options(CODERS["lsh"])
    {'num_bits': 128, 'num_features': 50000, 'seed': 42}
    """
    parameters = inspect.signature(component).parameters.values()
    options = [parameter for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    return {parameter.name: parameter.default for parameter in options if parameter.name not in FILES}


def _check_options(kind: str, overrides: Mapping[str, Any], defaults: Options) -> None:
    """Refuses unknown options, and values of another type than the default's."""
    options = overrides.get(kind, {})
    check_known(kind, options, defaults)
    for name, value in options.items():
        type_ = type(defaults[name])
        if defaults[name] is not None and type(value) is not type_ and not (type_ is float and type(value) is int):
            raise ValueError(f"{kind} has {name}={value!r}; its default is {defaults[name]!r}: give the same type.")


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
