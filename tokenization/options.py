"""Makes splitters and coders from the names and options in a configuration."""

from collections.abc import Mapping
from inspect import signature
from typing import Any


def build(kind: str, classes: Mapping[str, type[Any]], name: str, options: Mapping[str, Any]) -> Any:
    """Returns an instance of the class called `name`, a splitter or a coder as `kind` says.

    `options` are its keyword arguments; None is the default of each.

    Raises:
        ValueError: unknown name or options, or wrong values.
    """
    if not isinstance(name, str) or name not in classes:
        raise ValueError(f"unknown {kind} {name!r}; choose one of {', '.join(classes)}.")
    legal = signature(classes[name]).parameters
    options = {option: value for option, value in options.items() if value is not None}
    if not options.keys() <= legal.keys():
        raise ValueError(f"{kind} {name!r} got options {sorted(options)}; it takes {', '.join(legal)}.")
    try:
        return classes[name](**options)
    except (TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{kind} {name!r} got {options} ({error}); give values as in its class.") from error


def check_integer(name: str, value: int, limit: int = 1 << 24) -> int:
    """Returns the option `name` of a splitter or coder. Raises ValueError if it is no integer from 1 to `limit`."""
    if type(value) is not int or not 1 <= value <= limit:
        raise ValueError(f"the tokenizer got {name}={value!r}; give a whole number from 1 to {limit}.")
    return value
