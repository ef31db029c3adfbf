"""Classifies texts with an exported model, onnxruntime and numpy only: text → words → blocks → label.

    python examples/onnx_inference.py onnx/model.onnx "It is worth the money." "Two hours that felt like five!"

The tokenizer of the model must have the `word` splitter and the `utf8` coder (eelbert-word-*, ewe-*-word-*). This
script makes the same words and blocks as that tokenizer, for every writing system.
"""
# ruff: noqa: T201

import json
import sys
from pathlib import Path
from unicodedata import category, normalize

import numpy as np
import onnxruntime


def words(text: str) -> list[str]:
    """Returns the runs of letters, digits, marks and `_`, and the runs of other characters except spaces."""
    runs, kind = [], "space"
    for character in text:
        group = category(character)[0]
        if kind == "space" or (group != "M" and character not in "\u200c\u200d"):  # marks and joiners continue a run
            previous, kind = kind, "word" if group in "LNM" or character == "_" else "other"
            kind = "space" if character.isspace() or character in "\u200b\ufeff" else kind
            runs += [""] if kind != previous else []
        if kind != "space":
            runs[-1] += character
    return [run for run in runs if run]


def logits_of(session: onnxruntime.InferenceSession, settings: dict, text: str) -> dict[str, float]:
    """Returns the logit of each label."""
    size, lowercase = settings["block_size"], settings["splitter_options"].get("lowercase")
    units = [normalize("NFC", normalize("NFC", word).lower() if lowercase else word) for word in words(text)]
    ordinary = [[byte + 5 for byte in unit.encode("utf-8", "surrogatepass")[:size]] for unit in units]
    tokens = [[2], *ordinary[: settings["max_tokens"] - 2], [3]]  # [CLS] … [SEP]
    blocks = np.array([[token + [0] * (size - len(token)) for token in tokens]], dtype=np.int64)
    return dict(zip(settings["labels"], session.run(None, {"input_ids": blocks})[0][0].tolist(), strict=True))


if __name__ == "__main__":
    session = onnxruntime.InferenceSession(sys.argv[1])
    settings = json.loads(Path(sys.argv[1]).with_name("inference.json").read_text(encoding="utf-8"))
    for text in sys.argv[2:]:
        logits = logits_of(session, settings, text)
        print(max(logits, key=logits.__getitem__), logits)
