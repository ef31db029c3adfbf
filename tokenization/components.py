"""Reads the files of a tokenizer, and checks its arguments."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from .piece_coders import PIECE_CODERS

File = str | os.PathLike[str] | None


def read_ngrams(file: File) -> list[str] | None:
    """Returns the n-grams of a JSON file; None without a file. Raises ValueError if it is not a JSON list of str."""
    if file is None:
        return None
    ngrams = json.loads(Path(file).read_text(encoding="utf-8"))
    if not isinstance(ngrams, list) or not all(isinstance(ngram, str) for ngram in ngrams):
        raise ValueError(f"ngrams_file={os.fspath(file)!r} is not a list of str; give a JSON list of n-grams.")
    return ngrams


def read_subword(file: File, reader: str = "the subword splitter") -> Tokenizer:
    """Returns the tokenizer that a `tokenizer.json` describes; `reader` is what needs it, in the message.

    Raises:
        ValueError: `file` is None, or the `tokenizers` library cannot read it.
    """
    if file is None:
        raise ValueError(f"{reader} got no subword_file; give the tokenizer.json that cuts the texts.")
    try:
        return Tokenizer.from_file(os.fspath(file))
    except Exception as error:  # the Rust library raises Exception itself
        raise ValueError(
            f"the tokenizers library cannot read {os.fspath(file)!r} ({error}); give the path of a tokenizer.json."
        ) from error


def subword_of(splitter: Any, coder: Any, file: File) -> Tokenizer | None:
    """Returns the tokenizer that the splitter or the coder reads, see `read_subword`; None if neither reads one."""
    if splitter == "subword":
        return read_subword(file)
    return read_subword(file, f"the coder {coder}") if coder in (*PIECE_CODERS,) else None


def check_types(splitter_options: Any, coder_options: Any, model_max_length: Any) -> None:
    """Raises ValueError if options are no dict, or the length is no number; None is the default of each."""
    for name, value in (("splitter_options", splitter_options), ("coder_options", coder_options)):
        if not isinstance(value or {}, dict):
            raise ValueError(f"{name} is {value!r}; give a dict of keyword arguments.")
    if not isinstance(model_max_length, (int, float, type(None))):
        raise ValueError(f"model_max_length is {model_max_length!r}; give a number of tokens.")


def check_special_tokens(tokens: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raises ValueError if a special token is none of the five `names`, because a new one would need an id.

    `tokens` is what a caller gives, by the names that the library has for special tokens. Others are ignored.
    """
    for key in ("tokens", "additional_special_tokens", "extra_special_tokens", "bos_token", "eos_token"):
        value = tokens.get(key) or []
        new = [str(token) for token in (value if isinstance(value, (list, tuple, dict)) else [value])]
        if not set(new) <= {*names}:
            raise ValueError(
                f"there is no vocabulary to add {', '.join(new)} to ({key}); every text has blocks already, and the "
                "five special tokens can only be renamed."
            )
