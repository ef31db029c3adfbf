"""The encoder as a page runs it, and the vectors that it gives the passages."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from vocabless.conversion.onnx_export.graph import INPUT, export
from vocabless.conversion.onnx_export.sentence_encoder import with_vectors
from vocabless.conversion.onnx_program.onnx_model import VECTORS, as_int8
from vocabless.conversion.search_export.vectors import Encode, Vectors, in_own_space, principal_axes, recall, rotated
from vocabless.conversion.space_export.graph_json import page_session, to_json
from vocabless.conversion.space_export.manifest import page_tokenizer
from vocabless.conversion.space_export.page import check_size
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.saving.sentence_modules import SentenceModules
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

BATCH = 64  # texts that are encoded at once
USUAL_DIMENSIONS = 256  # at most, by default: on the passages' principal axes they lose less than 8 bits do
SAMPLE, QUERIES = 2_000, 200  # passages and queries of the measured recall
QUERY_WORDS = 8  # the first words of a passage are a query of the recall


@dataclass(frozen=True)
class PassageIndex:
    """What a page searches with."""

    manifest: dict[str, Any]  # tokenizer, graph and number of dimensions
    weights: bytes  # of the graph
    vectors: NDArray[np.int8] | Vectors  # (passages, dimensions), each with a factor of its own, or of length 1
    report: str  # a sentence on what fewer bits and dimensions lose
    encode: Encode  # texts → vectors, as the page computes those of queries


def build_index(
    model: PreTrainedModel,
    tokenizer: VocablessTokenizer,
    modules: SentenceModules,
    texts: Sequence[str],
    dimensions: int | None = None,
    bits: int = 8,
) -> PassageIndex:
    """Returns the encoder of a page, a `VocablessModel` and what follows it, and the vectors of at least one passage.

    A vector has `dimensions` numbers; None: as many as lose nothing, and with fewer than 32 bits at most
    `USUAL_DIMENSIONS`. `bits` are those of the weights, see `to_json`, and of the numbers of a vector.

    Raises:
        ValueError: the page cannot run the model, its weights are too large, or a vector has fewer dimensions.
    """
    settings = page_tokenizer(tokenizer, cast(VocablessModel, model).max_tokens)
    smaller = in_own_space(modules, model.config.hidden_size)
    most = len(cast(Tensor, smaller.weight))
    usual = most if bits == 32 else min(most, USUAL_DIMENSIONS)
    dimensions = usual if dimensions is None else dimensions
    if not 1 <= dimensions <= most:
        raise ValueError(f"--dimensions {dimensions} is not within 1 and {most}; leave it out for {usual}.")
    chosen = random.Random(0).sample(range(len(texts)), min(SAMPLE, len(texts)))
    sample = [texts[place] for place in chosen]
    queries = [" ".join(text.split()[:QUERY_WORDS]) for text in sample[:QUERIES]]
    exact_encoder = with_vectors(model, smaller)
    encode_exactly = _in_batches(lambda inputs: exact_encoder(**inputs)[VECTORS], tokenizer, settings["max_tokens"])
    exact = encode_exactly(sample)
    if dimensions < most:
        smaller = rotated(smaller, principal_axes(torch.from_numpy(exact), dimensions))
    encoder = with_vectors(model, smaller, gives_words=True)
    proto = export(encoder, is_pair=False)
    graph, weights = to_json(proto, bits)
    check_size(weights, "leave out --fp32")
    session = page_session(proto, bits)

    def run_page(inputs: dict[str, Tensor]) -> Any:
        return session.run([VECTORS], {INPUT: inputs[INPUT].numpy()})[0]

    encode = _in_batches(run_page, tokenizer, settings["max_tokens"])
    vectors = encode(texts) if bits == 32 else as_int8(encode(texts))
    share = recall(encode_exactly(queries), exact, encode(queries), vectors[chosen])
    report = (
        f"vectors of {vectors.shape[1]} {bits}-bit numbers; they and the weights find {100 * share:.1f} % "
        f"of the ten passages that are nearest with 32 bits ({len(queries)} queries, {len(sample)} passages)"
    )
    manifest = {"tokenizer": settings, "graph": graph, "dimensions": vectors.shape[1], "bits": bits}
    return PassageIndex(manifest, weights, vectors, report, encode)


def _in_batches(run: Callable[[dict[str, Tensor]], Any], tokenizer: VocablessTokenizer, max_tokens: int) -> Encode:
    """Returns a function that gives the vectors of texts, (n, D), which `run` computes in batches of similar length."""
    settings: dict[str, Any] = {"padding": True, "truncation": True, "max_length": max_tokens, "return_tensors": "pt"}

    @torch.no_grad()
    def encode(texts: Sequence[str]) -> Vectors:
        order = np.argsort([len(text) for text in texts], kind="stable")
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        parts = [run(dict(tokenizer([texts[place] for place in batch], **settings))) for batch in batches]
        vectors = np.empty((len(texts), parts[0].shape[1]), np.float32)
        vectors[order] = np.concatenate(parts)
        return vectors

    return encode
