"""The flags of both scripts that change an axis of a row. This file imports no torch: `--help` reads it."""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

EXAMPLES = {
    "splitter_options": '{"lowercase": false}',
    "coder_options": '{"num_bits": 256}',
    "front_end_options": '{"codeword_bits": 8}',
    "encoder_options": '{"num_hidden_layers": 3}',
}
OPTIONS = "JSON object of options, added to the row's own if the {0} stays, such as "
AXES = {
    "size": "Size of the encoder: nano, uno, tiny, mini, small or base.",
    "splitter": "Splitter into units: word, whitespace, characters, bytes, wordpiece or bpe.",
    "splitter_options": OPTIONS.format("splitter") + EXAMPLES["splitter_options"] + ".",
    "coder": "Block coder: md5, lsh, lsh-index or utf8.",
    "coder_options": OPTIONS.format("coder") + EXAMPLES["coder_options"] + ".",
    "front_end": "Front end: bucket, pool, add, projection, linear, ngram, random_normal, hash_embedding or "
    "elementwise.",
    "front_end_options": OPTIONS.format("front end") + EXAMPLES["front_end_options"] + ".",
    "encoder_options": "JSON object of arguments of the encoder's configuration, such as "
    f"{EXAMPLES['encoder_options']}.",
}
NGRAMS_HELP = (
    "N-grams that have a feature, for the coders lsh and lsh-index: a JSON list, most frequent first, or 'train' for "
    "the 50 000 most frequent ones of the training text (HashFormers, 3.3). None hashes all n-grams."
)
GROUP = "other axes of a variant, for ablations"


def axis_flag(axis: str) -> Any:
    """Returns the field of the flag of an axis; None keeps the row's own value."""
    group = {"group": GROUP} if axis == next(iter(AXES)) else {}
    return field(default=None, metadata={"help": AXES[axis]} | group)


def read_design(arguments: Any) -> dict[str, Any]:
    """Returns axis → value for the axes that the arguments change; options are dicts.

    Raises:
        ValueError: options are not a JSON object.
    """
    values = {axis: getattr(arguments, axis) for axis in AXES}
    return {
        axis: _json_object(axis, value) if axis.endswith("_options") else value
        for axis, value in values.items()
        if value is not None
    }


def design_text(row: str, arguments: Mapping[str, Any]) -> str:
    """Returns the row and those of its axes that a run changed, to print; "" if it changed none.

    >>> design_text("eelbert-tiny", {"size": "mini", "coder": None, "front_end": "random_normal"})
    'eelbert-tiny with size mini, front_end random_normal'

    Args:
        row: name of the variant or stock shape.
        arguments: those in the `results.json` of the run.
    """
    changed = [f"{axis} {arguments[axis]}" for axis in (*AXES, "ngrams") if arguments.get(axis) is not None]
    return f"{row} with {', '.join(changed)}" if changed else ""


def _json_object(axis: str, text: str) -> dict[str, Any]:
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise ValueError(f"--{axis} is {text!r}; give a JSON object, such as {EXAMPLES[axis]}.")
    return options
