"""Classifies texts by an exported model with onnxruntime and numpy alone: text → words → blocks → label.

    python examples/onnx_inference.py onnx/model.onnx "It is worth the money." "Two hours that felt like five!"

For units that are whole words, written as their own bytes (the `word` splitter, the `utf8` coder: eelbert-word-*,
ewe-*). Words and blocks are exactly the tokenizer's, in any script.
"""
# ruff: noqa: T201

import json
import sys
from pathlib import Path
from unicodedata import category, normalize

import numpy as np
import onnxruntime


def words(text: str) -> list[str]:
    """Returns the runs of letters, digits, marks and `_`, and the runs of other characters that are no space."""
    found, kind = [], "space"
    for character in text:
        group = category(character)[0]
        if kind == "space" or (group != "M" and character not in "\u200c\u200d"):  # marks, joiners: the run goes on
            before, kind = kind, "word" if group in "LNM" or character == "_" else "other"
            kind = "space" if character.isspace() or character in "\u200b\ufeff" else kind
            found += [""] if kind != before else []
        if kind != "space":
            found[-1] += character
    return [run for run in found if run]


def logits_of(session: onnxruntime.InferenceSession, settings: dict, text: str) -> dict[str, float]:
    """Returns the logit of each label."""
    size, lowers = settings["block_size"], settings["splitter_options"].get("lowercase")
    units = [normalize("NFC", normalize("NFC", word).lower() if lowers else word) for word in words(text)]
    ordinary = [[byte + 5 for byte in unit.encode("utf-8", "surrogatepass")[:size]] for unit in units]
    rows = [[2], *ordinary[: settings["max_tokens"] - 2], [3]]  # [CLS] … [SEP]
    blocks = np.array([[row + [0] * (size - len(row)) for row in rows]], dtype=np.int64)
    return dict(zip(settings["labels"], session.run(None, {"input_ids": blocks})[0][0].tolist(), strict=True))


if __name__ == "__main__":
    session = onnxruntime.InferenceSession(sys.argv[1])
    settings = json.loads(Path(sys.argv[1]).with_name("inference.json").read_text(encoding="utf-8"))
    for text in sys.argv[2:]:
        logits = logits_of(session, settings, text)
        print(max(logits, key=logits.__getitem__), logits)
