"""The classifier in the browser gives the outputs of the model: each front end, each head, fp32 and int8."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

import vocabless
from vocabless import VocablessTokenizer, load_config, load_tokenizer
from vocabless.overrides import with_overrides
from vocabless.variants import find_variant

onnx = pytest.importorskip("onnx", reason="the extra [onnx] is not installed")
pytest.importorskip("onnxscript", reason="the extra [onnx] is not installed")
pytest.importorskip("onnxruntime", reason="the extra [onnx] is not installed")

from vocabless.conversion.onnx import reads_token_types  # noqa: E402
from vocabless.conversion.onnx_export.graph import export  # noqa: E402
from vocabless.conversion.space import make_manifest  # noqa: E402
from vocabless.conversion.space_export.graph_json import page_session, to_json  # noqa: E402

LOAD = """async (manifest, weights) => {
  globalThis.classifier = await modules["classifier.js"].loadClassifier(manifest, weights);
}"""
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
CLASSIFIER, TAGGER = "VocablessForSequenceClassification", "VocablessForTokenClassification"
# Each front end of units that are no subwords, and together all heads and problems: variant → head, options.
EXPORTS: dict[str, tuple[str, dict[str, Any]]] = {
    "hashgram-nano": (CLASSIFIER, {"num_labels": 2}),
    "hashgram-nano of every script": (CLASSIFIER, {"num_labels": 2, "classifier_pooling": "siamese"}),
    "hashgram-uno": (CLASSIFIER, {"num_labels": 2}),
    "hashformer-lsh-proj-tiny": (CLASSIFIER, {"num_labels": 3}),
    "hashformer-md5-pool-tiny": (CLASSIFIER, {"num_labels": 3}),
    "eelbert-word-uno": (TAGGER, {"num_labels": 5}),
    "hashformer-md5-add-tiny": (CLASSIFIER, {"num_labels": 4, "problem_type": "multi_label_classification"}),
    "ewe-bert-tiny": (CLASSIFIER, {"num_labels": 1}),
    "hashformer-lsh-emb1k-base": ("VocablessForPreTraining", {}),
    "proformer": (CLASSIFIER, {"num_labels": 2}),
    "ewe-bert-gradient-base": (TAGGER, {"num_labels": 2}),
}
EVERY_SCRIPT = {"splitter": "scripts", "coder_options": {"block_size": 64}, "front_end_options": {"characters": True}}
ALL_PARTS = "hashgram-nano of every script"
PAIRS = (ALL_PARTS, "ewe-bert-tiny", "proformer")  # siamese, with token types, and without


@pytest.fixture(scope="module")
def exported(shrink) -> Callable[[str], tuple[PreTrainedModel, VocablessTokenizer, dict[str, Any], Any]]:
    """Returns the model of a variant, its tokenizer, its manifest and its graph."""

    @cache
    def make(name: str) -> tuple[PreTrainedModel, VocablessTokenizer, dict[str, Any], Any]:
        head, options = EXPORTS[name]
        variant, _, change = name.partition(" ")
        row = with_overrides(find_variant(variant), EVERY_SCRIPT if change else {})
        config = load_config(row, **options)
        torch.manual_seed(1)
        model = getattr(vocabless, head)(config if name == "hashgram-nano" else shrink(config)).eval()
        with torch.no_grad():
            for parameter in model.parameters():  # weights of a size that training gives
                parameter.add_(torch.randn_like(parameter) * 0.05)
        tokenizer = load_tokenizer(row)
        proto = export(model, reads_token_types(model, tokenizer))
        return model, tokenizer, make_manifest(model, tokenizer, name in PAIRS), proto

    return make


def load(call: Callable[..., Any], manifest: dict[str, Any], proto: Any, bits: int = 32) -> bytes:
    """Makes the model the page's `classifier`; returns its weights."""
    graph, weights = to_json(proto, bits)
    call(LOAD, {**manifest, "graph": graph}, weights)
    return weights


def encode(tokenizer: VocablessTokenizer, manifest: dict[str, Any], text: str, pair: str) -> Any:
    limit = manifest["tokenizer"]["max_tokens"]
    parts = (text, pair) if manifest["takes_pairs"] else (text,)
    return tokenizer(*parts, truncation=True, max_length=limit, return_tensors="pt")


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.quick(ALL_PARTS)
def test_logits_in_fp32_are_those_of_the_model(name: str, exported, call) -> None:
    model, tokenizer, manifest, proto = exported(name)
    load(call, manifest, proto)
    results = call("async (inputs) => classifier.classify(inputs)", INPUTS)
    for given, result in zip(INPUTS, results, strict=True):
        encoding = encode(tokenizer, manifest, **given)
        with torch.no_grad():
            expected = model(**encoding).logits[0].double().numpy()
        if expected.ndim == 2:  # of each token: special tokens are left out
            expected = expected[encoding["input_ids"][0, :, 0].numpy() >= 5]
        logits = np.array(result["logits"]).reshape(expected.shape)
        assert np.abs(logits - expected).max(initial=0) <= 1e-5
        assert len(result["units"]) == int((encoding["input_ids"][0, :, 0] >= 5).sum())


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        *((name, bits) for name in ("hashgram-nano", ALL_PARTS) for bits in (8, 4)),
        ("hashformer-lsh-proj-tiny", 8),
        ("hashformer-md5-pool-tiny", 8),
    ],
)
@pytest.mark.quick(f"{ALL_PARTS}-8", f"{ALL_PARTS}-4")
def test_small_weights_give_the_outputs_of_the_same_weights_in_onnxruntime(
    name: str, bits: int, exported, call
) -> None:
    _, tokenizer, manifest, proto = exported(name)
    full = sum(np.prod(tensor.dims) * 4 for tensor in proto.graph.initializer if tensor.data_type == 1)
    assert len(load(call, manifest, proto, bits)) < 0.5 * full
    results = call("async (inputs) => classifier.classify(inputs)", INPUTS)
    session = page_session(proto, bits)
    for given, result in zip(INPUTS, results, strict=True):
        (expected,) = session.run(None, {"input_ids": encode(tokenizer, manifest, **given)["input_ids"].numpy()})
        assert np.abs(np.array(result["logits"]) - expected[0]).max() <= 1e-5


@pytest.mark.parametrize("name", ["hashgram-nano", ALL_PARTS, "hashformer-lsh-proj-tiny", "ewe-bert-tiny"])
@pytest.mark.quick(ALL_PARTS)
def test_each_unit_is_left_out_once(name: str, exported, call) -> None:
    _, _, manifest, proto = exported(name)
    load(call, manifest, proto)
    given = {"text": "A good film", "pair": "or a bad one"}
    whole, *copies = call(
        """async (input) => {
          const [whole] = await classifier.classify([input]);
          const copies = await classifier.withoutEachUnit(input);
          const some = await classifier.withoutEachUnit(input, 1, 3);
          return [whole, ...copies, ...some];
        }""",
        given,
    )
    texts = [unit["text"] for unit in whole["units"]]
    assert texts == "A good film or a bad one".split()[: 7 if manifest["takes_pairs"] else 3]
    assert len(copies) == len(texts) + 2
    rest = [[text for index, text in enumerate(texts) if index != left] for left in range(len(texts))]
    assert [[unit["text"] for unit in copy["units"]] for copy in copies] == [*rest, *rest[1:3]]
    for left, copy in enumerate(copies[: len(texts)]):
        kept = [unit for index, unit in enumerate(whole["units"]) if index != left]
        (again,) = call("async (units) => classifier.classify([units])", kept)
        assert np.allclose(copy["logits"], again["logits"], atol=1e-5)
    assert not np.allclose(whole["logits"], copies[1]["logits"], atol=1e-5)


def test_a_batch_is_the_same_as_its_texts_alone_and_a_long_text_is_read_in_batches(exported, call) -> None:
    _, _, manifest, proto = exported(ALL_PARTS)
    load(call, manifest, proto)
    batch, alone, left_out = call(
        """async (inputs) => [
          (await classifier.classify(inputs)).map(({ logits }) => logits),
          (await Promise.all(inputs.map((input) => classifier.classify([input])))).map(([{ logits }]) => logits),
          (await classifier.withoutEachUnit({ text: "one two three ".repeat(20) })).length,
        ]""",
        INPUTS,
    )
    assert np.allclose(batch, alone, atol=1e-5)
    assert left_out == 60


def test_products_of_matrices_are_the_same_with_and_without_webassembly(call) -> None:
    generator = np.random.default_rng(0)
    for rows, inner, columns in [(1, 1, 1), (3, 5, 7), (4, 8, 8), (5, 9, 17), (13, 64, 33)]:
        left = generator.standard_normal((rows, inner), dtype=np.float32)
        right = generator.standard_normal((inner, columns), dtype=np.float32)
        for is_transposed in (False, True):
            has_simd, *products = call(
                """(left, right, rows, inner, columns, isTransposed) => {
                  const { MatrixProducts } = modules["matmul.js"];
                  const simd = new MatrixProducts();
                  const matrix = { data: Float32Array.from(right), offset: 0, inner, columns, isTransposed };
                  const multiply = (products, isConstant) => {
                    const out = new Float32Array(rows * columns);
                    products.multiply(Float32Array.from(left), 0, rows, matrix, out, 0, isConstant);
                    return Array.from(out);
                  };
                  const plain = multiply(new MatrixProducts(true), true);
                  return [simd.memory !== null, multiply(simd, true), multiply(simd, false), plain];
                }""",
                left.ravel().tolist(), (right.T if is_transposed else right).ravel().tolist(),
                rows, inner, columns, is_transposed,
            )  # fmt: skip
            assert has_simd
            for product in products:
                assert np.allclose(np.array(product).reshape(rows, columns), left @ right, atol=1e-5)
