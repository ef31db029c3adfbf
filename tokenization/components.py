"""A tokenizer's splitter and block coder, built from the names and options that its configuration holds."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from .block_coders import CODERS, BlockCoder
from .splitters import SPLITTERS, Splitter

File = str | os.PathLike[str] | None


def build_splitter(name: str, options: dict[str, Any], subword_file: File) -> Splitter:
    """Returns the splitter of that name.

    Raises:
        ValueError: unknown name or options, or no readable `subword_file` for `subword`.
    """
    given = {"tokenizer": read_subword(subword_file)} if name == "subword" else {}
    splitter: Splitter = _build("splitter", SPLITTERS, name, options, given)
    return splitter


def build_coder(name: str, options: dict[str, Any], ngrams: list[str] | None) -> BlockCoder:
    """Returns the block coder of that name.

    Raises:
        ValueError: unknown name or options.
    """
    coder: BlockCoder = _build("coder", CODERS, name, options, {} if ngrams is None else {"ngrams": ngrams})
    return coder


def read_ngrams(file: File) -> list[str] | None:
    """Returns the n-grams of a JSON list, or None for no file.

    Raises:
        ValueError: the file holds something else.
    """
    if file is None:
        return None
    ngrams = json.loads(Path(file).read_text(encoding="utf-8"))
    if not isinstance(ngrams, list) or not all(isinstance(ngram, str) for ngram in ngrams):
        raise ValueError(f"ngrams_file={os.fspath(file)!r} holds no list of str; give a JSON list of n-grams.")
    return ngrams


def _build(
    axis: str, classes: Mapping[str, type[Any]], name: str, options: dict[str, Any], given: dict[str, Any]
) -> Any:
    if name not in classes:
        raise ValueError(f"unknown {axis} {name!r}; choose one of {', '.join(classes)}.")
    code = classes[name].__init__.__code__
    legal = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    if not {*options, *given} <= set(legal):
        raise ValueError(f"{axis} {name!r} got options {sorted({*options, *given})}; it takes {', '.join(legal)}.")
    return classes[name](**options, **given)


def read_subword(file: File) -> Tokenizer:
    """Returns the tokenizer of a `tokenizer.json`.

    Raises:
        ValueError: no file, or none that the `tokenizers` library can read.
    """
    if file is None:
        raise ValueError(
            "the subword splitter got no subword_file; give the tokenizer.json whose tokens are to be units."
        )
    try:
        return Tokenizer.from_file(os.fspath(file))
    except Exception as error:  # the Rust library raises nothing narrower
        raise ValueError(
            f"{os.fspath(file)!r} is no tokenizer.json of the tokenizers library ({error}); give its path."
        ) from error
