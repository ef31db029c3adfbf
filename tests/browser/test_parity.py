"""One table of models. onnxruntime and the classifier in a browser give what torch gives, in fp32 and int8."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from vocabless import VocablessTokenizer
from vocabless.overrides import with_overrides
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.variants import find_variant

onnx = pytest.importorskip("onnx", reason="the extra [onnx] is not installed")
pytest.importorskip("onnxscript", reason="the extra [onnx] is not installed")
pytest.importorskip("onnxruntime", reason="the extra [onnx] is not installed")

from vocabless.conversion.onnx import write_graphs  # noqa: E402
from vocabless.conversion.onnx_export.graph import ATTENTION, output_names, session_of  # noqa: E402
from vocabless.conversion.onnx_export.parity import differences, probes  # noqa: E402
from vocabless.conversion.space import make_manifest  # noqa: E402
from vocabless.conversion.space_export.graph_json import page_session, to_json  # noqa: E402

CLASSIFIER, TAGGER = "VocablessForSequenceClassification", "VocablessForTokenClassification"
EVERY_SCRIPT = {
    "splitter": "scripts",
    "coder_options": {"block_size": 64},
    "front_end_options": {"characters": True, "max_ngram": 3},
}
LEARNED = {"num_rows": 97, "min_ngram": 1, "max_ngram": 3, "characters": True}
WIDE = {"classifier_wide_rows": 512}
ALL_PARTS = "hashgram-nano of every script"
# Together every front end, every head, every problem and every way to pool: variant, and more → head, options.
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    ALL_PARTS: (CLASSIFIER, {"num_labels": 2, "classifier_pooling": "siamese"}),
    "hashgram-uno": (CLASSIFIER, {"num_labels": 2, **WIDE}),
    "eelbert-word-tiny with a learned table": (
        CLASSIFIER,
        {"front_end": "hash_embedding", "front_end_options": LEARNED, "classifier_pooling": "mean", **WIDE},
    ),
    "hashformer-lsh-proj-tiny": (CLASSIFIER, {"num_labels": 3}),
    "hashformer-md5-pool-tiny": (CLASSIFIER, {"num_labels": 3, **WIDE}),
    "eelbert-word-uno": (TAGGER, {"num_labels": 5}),
    "hashformer-md5-add-tiny": (CLASSIFIER, {"num_labels": 4, "problem_type": "multi_label_classification"}),
    "ewe-bert-tiny": (CLASSIFIER, {"num_labels": 1, **WIDE}),
    "hashformer-lsh-emb1k-base": (TAGGER, {"num_labels": 3}),
    "proformer": (CLASSIFIER, {"num_labels": 2}),
    "ewe-bert-gradient-base": (TAGGER, {"num_labels": 2}),
}  # fmt: skip
# Heads and units that no page shows.
GRAPHS = PAGES | {
    "eelbert-random-mini": ("VocablessForMaskedLM", {}),
    "hashformer-md5-emb1k-base": ("VocablessForPreTraining", {}),
    "hashformer-lsh-pool-mini": ("VocablessModel", {}),
}  # fmt: skip
PAIRS = (ALL_PARTS, "ewe-bert-tiny", "proformer")  # siamese, with token types, and without
TEXTS = [
    "The film is a quiet wonder, and its last scene stays with you.",
    "Two hours that felt like five, and teh endign is awfull!",
    "What a splendiferish, wonderflummoxing little book",
    "Die Züge fahren heute nicht, пожалуйста подождите. 日本語 😀 हिन्दी ΑΣ İ",
    "こんにちは、世界！ ２０２４年のﾃﾞｰﾀ ภาษาไทย مُحَمَّدٌ 한국어 ខ្មែរ",
    "No.",
    "",
    "word " * 600,
]
INPUTS = [{"text": text, "pair": TEXTS[index - 2]} for index, text in enumerate(TEXTS)]
LOAD = """async (manifest, weights) => {
  globalThis.classifier = await modules["classifier.js"].loadClassifier(manifest, weights);
}"""
Exported = tuple[PreTrainedModel, VocablessTokenizer, Path]


@pytest.fixture(scope="module")
def exported(random_checkpoint, tmp_path_factory) -> Callable[[str], Exported]:
    """Returns a model of the table, its tokenizer, and the file of its graph, which the true `export` gives."""

    @cache
    def make(name: str) -> Exported:
        row = with_overrides(find_variant(name.partition(" ")[0]), EVERY_SCRIPT if name == ALL_PARTS else {})
        head, options = GRAPHS[name]
        model, tokenizer = load_checkpoint(str(random_checkpoint(row, head, **options)))
        return model, tokenizer, write_graphs(model, tokenizer, tmp_path_factory.mktemp("graph"), int8=False)[0]

    return make


@pytest.fixture
def load(exported, call) -> Callable[..., tuple[Any, dict[str, Any], bytes]]:
    """Makes a model the page's `classifier`; returns its graph, its manifest and its weights."""

    def write(name: str, bits: int = 32) -> tuple[Any, dict[str, Any], bytes]:
        model, tokenizer, file = exported(name)
        proto, manifest = onnx.load(file), make_manifest(model, tokenizer, name in PAIRS)
        graph, weights = to_json(proto, bits)
        call(LOAD, {**manifest, "graph": graph}, weights)
        return proto, manifest, weights

    return write


def encode(tokenizer: VocablessTokenizer, manifest: dict[str, Any], text: str, pair: str) -> Any:
    limit = manifest["tokenizer"]["max_tokens"]
    parts = (text, pair) if manifest["is_pair"] else (text,)
    return tokenizer(*parts, truncation=True, max_length=limit, return_tensors="pt")


def near(found: np.ndarray, expected: np.ndarray) -> bool:
    largest = np.abs(expected).max(initial=1)
    return found.shape == expected.shape and bool(np.abs(found - expected).max(initial=0) <= 1e-5 * largest)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.quick(ALL_PARTS)  # test_javascript.py has a graph with a wide part
def test_a_graph_gives_the_outputs_of_torch_at_any_batch_and_length(name: str, exported) -> None:
    model, tokenizer, file = exported(name)
    session = session_of(file, 1)
    assert model.base_model.encoder.config._attn_implementation != ATTENTION  # it has its own again
    found = differences(model, session, probes(model, tokenizer))
    assert [each.inputs for each in found] == ["sentences", "pairs of sentences", "unknown words"]
    assert all(each.largest_output > 0.01 for each in found)
    assert all(each.maximum <= 2e-5 * max(1, each.largest_output) for each in found)
    assert [entry.name for entry in session.get_inputs()] == ["input_ids"]
    assert [entry.name for entry in session.get_outputs()] == output_names(model)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.quick(ALL_PARTS)
def test_the_logits_of_the_page_are_those_of_torch(name: str, exported, load, call) -> None:
    (model, tokenizer, _), (_, manifest, _) = exported(name), load(name)
    results = call("async (inputs) => classifier.classify(inputs)", INPUTS)
    for given, result in zip(INPUTS, results, strict=True):
        encoding = encode(tokenizer, manifest, **given)
        is_unit = encoding["input_ids"][0, :, 0].numpy() >= 5
        with torch.no_grad():
            expected = model(**encoding).logits[0].double().numpy()
        if expected.ndim == 2:  # of each token: special tokens are left out
            expected = expected[is_unit]
        assert near(np.array(result["logits"]).reshape(expected.shape), expected)
        assert len(result["units"]) == is_unit.sum()


@pytest.mark.parametrize("name", [ALL_PARTS, "hashgram-uno", "hashformer-lsh-proj-tiny", "hashformer-md5-pool-tiny"])
@pytest.mark.quick(ALL_PARTS)
def test_a_page_with_8_bit_weights_gives_what_onnxruntime_gives_with_them(name, exported, load, call) -> None:
    proto, manifest, weights = load(name, bits=8)
    full = sum(np.prod(tensor.dims) * 4 for tensor in proto.graph.initializer if tensor.data_type == 1)
    assert len(weights) < full / 2
    results = call("async (inputs) => classifier.classify(inputs)", INPUTS)
    session = page_session(proto, bits=8)
    for given, result in zip(INPUTS, results, strict=True):
        blocks = encode(exported(name)[1], manifest, **given)["input_ids"].numpy()
        assert near(np.array(result["logits"]), session.run(None, {"input_ids": blocks})[0][0])


def test_products_of_matrices_are_the_same_with_and_without_webassembly(call) -> None:
    generator = np.random.default_rng(0)
    for rows, inner, columns in [(1, 1, 1), (3, 5, 7), (4, 8, 8), (5, 9, 17), (13, 64, 33)]:
        left = generator.standard_normal((rows, inner), dtype=np.float32)
        right = generator.standard_normal((inner, columns), dtype=np.float32)
        for is_transposed in (False, True):
            has_simd, *products = call(
                """(left, right, rows, shape) => {
                  const { MatrixProducts } = modules["matmul.js"];
                  const matrix = { data: Float32Array.from(right), offset: 0, ...shape };
                  const multiply = (products, isConstant) => {
                    const out = new Float32Array(rows * shape.columns);
                    products.multiply(Float32Array.from(left), 0, rows, matrix, out, 0, isConstant);
                    return Array.from(out);
                  };
                  const [simd, plain] = [new MatrixProducts(), new MatrixProducts(true)];
                  return [simd.memory !== null, multiply(simd, true), multiply(simd, false), multiply(plain, true)];
                }""",
                left.ravel().tolist(), (right.T if is_transposed else right).ravel().tolist(), rows,
                {"inner": inner, "columns": columns, "isTransposed": is_transposed},
            )  # fmt: skip
            assert has_simd
            for product in products:
                assert np.allclose(np.array(product).reshape(rows, columns), left @ right, atol=1e-5)
