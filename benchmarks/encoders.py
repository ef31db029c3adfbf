"""Sentence encoders by name: `wordllama`, a package with the folder `model`, a folder, or a Hub id."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from vocabless.training.pretraining.measures import unit_vectors

Vectors = NDArray[np.float32]
Encoder = Callable[[Sequence[str]], Vectors]  # texts → vectors, one row each


def embedder(source: str) -> Encoder:
    """Returns what turns texts into vectors; each text is embedded once."""
    if source == "wordllama":
        import wordllama  # its weights lie in the package

        folder = Path(wordllama.__file__).parent
        embed: Callable[[list[str]], Any] = wordllama.WordLlama.load(cache_dir=folder, disable_download=True).embed
    else:
        in_float32 = {"dtype": "float32"}  # also where the folder says another type, which is slow on processors
        model = SentenceTransformer(model_folder(source), trust_remote_code=True, device="cpu", model_kwargs=in_float32)
        embed = model.encode
    vectors: dict[str, Any] = {}

    def lookup(texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in vectors]
        if new:
            vectors.update(zip(new, embed(new), strict=True))
        return np.stack([vectors[text] for text in texts])

    return lookup


def unit_embedder(source: str) -> Encoder:
    """Returns what turns texts into vectors of length 1."""
    embed = embedder(source)
    return lambda texts: unit_vectors(embed(texts))


def model_folder(source: str) -> str:
    """Returns the folder `model` of an installed package of this name; else the name itself."""
    found = importlib.util.find_spec(source) if source.isidentifier() else None
    return source if found is None or found.origin is None else str(Path(found.origin).parent / "model")
