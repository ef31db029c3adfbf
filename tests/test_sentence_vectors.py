"""Vectors of texts: sentence-transformers loads a saved folder; the program without torch gives the same."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from strings import random_strings

from vocabless.conversion.__main__ import main as convert
from vocabless.conversion.onnx import write_graphs, write_settings
from vocabless.conversion.onnx_export.sentence_encoder import sentence_encoder_of, with_vectors
from vocabless.conversion.onnx_program.onnx_model import OnnxClassifier, OnnxEncoder, as_int8, main
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.sentence_modules import (
    SENTENCE_FILES,
    SentenceModules,
    read_sentence_modules,
    write_sentence_modules,
)
from vocabless.saving.uploads import _uploaded_files

st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
pytest.importorskip("onnxruntime", reason="the extra [onnx] is not installed")
pytest.importorskip("onnxscript", reason="the extra [onnx] is not installed")

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ["", " ", "\t\n", "word " * 600, "a" * 5000, "No.", "Zoë  met 李小龍 in São Paulo 😀.", "[MASK] it"]

WITHOUT_PACKAGE = """
from sentence_transformers import CrossEncoder, SentenceTransformer
encoder = SentenceTransformer(folders[0], trust_remote_code=True, device="cpu")
ranker = CrossEncoder(folders[1], trust_remote_code=True, device="cpu")
pairs = [[texts[0], text] for text in texts]
result = [encoder.encode(texts, prompt=prompt).tolist(), ranker.predict(pairs, prompt=prompt).tolist()]
"""
# Prints vectors, in a process where neither torch nor transformers can be imported.
WITHOUT_TORCH = """
import json, sys
sys.modules |= dict.fromkeys(("torch", "transformers", "tokenizers", "vocabless", "sentence_transformers"))
sys.path.insert(0, sys.argv[1])
from onnx_model import OnnxEncoder
print(json.dumps(OnnxEncoder(sys.argv[1]).encode(json.loads(sys.argv[2])).tolist()))
"""


def encoder_of(folder: str | Path):
    return st.SentenceTransformer(str(folder), trust_remote_code=True, device="cpu")


def dense_of(folder: Path) -> dict[str, torch.Tensor]:
    """The weights of a dense layer with 12 outputs."""
    width = json.loads((folder / "config.json").read_text())["encoder_config"]["hidden_size"]
    return {"weight": torch.randn(12, width, generator=torch.Generator().manual_seed(0)), "bias": torch.ones(12)}


@pytest.mark.parametrize("name", ["hashformer-lsh-proj-tiny", "eelbert-word-tiny", "eelbert-tiny", "ewe-bert-tiny"])
def test_the_vector_of_a_text_is_the_mean_of_its_token_states(name: str, random_checkpoint) -> None:
    encoder = encoder_of(random_checkpoint(name))
    tokenizer, model = encoder.tokenizer, encoder[0].auto_model
    longest = 512 if name.startswith("hashformer") else 128
    assert encoder.max_seq_length == tokenizer.model_max_length == longest
    for text, vector in zip(TEXTS, encoder.encode(TEXTS, batch_size=3), strict=True):
        with torch.no_grad():
            states = model(**tokenizer(text, truncation=True, return_tensors="pt")).last_hidden_state
        assert np.allclose(vector, states[0].mean(dim=0).numpy(), atol=1e-5)
    encoder.max_seq_length = 3
    assert np.allclose(encoder.encode("short of breath"), encoder.encode("short"), atol=1e-5)


def test_what_sentence_transformers_saved_loads_without_the_package(random_checkpoint, run_bare, tmp_path) -> None:
    encoder = encoder_of(random_checkpoint("eelbert-tiny"))
    folder = random_checkpoint("eelbert-word-tiny", "VocablessForSequenceClassification", num_labels=1)
    ranker = st.CrossEncoder(str(folder), trust_remote_code=True, device="cpu")
    encoder.save_pretrained(str(tmp_path / "encoder"))
    ranker.save_pretrained(str(tmp_path / "ranker"))
    folders = [tmp_path / "encoder", tmp_path / "ranker"]
    for prompt in (None, "query: ", "all " * 600):
        start = prompt or ""
        vectors, scores = run_bare(WITHOUT_PACKAGE, folders=folders, texts=TEXTS, prompt=prompt)
        assert np.allclose(vectors, encoder.encode([start + text for text in TEXTS]), atol=1e-5)
        assert np.allclose(scores, ranker.predict([(start + TEXTS[0], text) for text in TEXTS]), atol=1e-5)


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_prompt_is_left_out_of_the_mean_where_the_pooling_says_so(side: str, random_checkpoint, stock_folder) -> None:
    encoder, prompt, texts = encoder_of(random_checkpoint("eelbert-tiny")), "Find it: ", ["one", "a fox, or two"]
    encoder.tokenizer.padding_side, encoder[1].include_prompt = side, False
    inputs = encoder.tokenizer([prompt + text for text in texts], padding=True, return_tensors="pt")
    with torch.no_grad():
        states = encoder[0].model(**inputs).last_hidden_state
    for row, (vector, encoding) in enumerate(zip(encoder.encode(texts, prompt=prompt), inputs.encodings, strict=True)):
        tokens = zip(encoding.tokens, encoding.offsets, strict=True)
        kept = [token == "[SEP]" or start >= len(prompt) for token, (start, _) in tokens]
        assert np.allclose(vector, states[row, kept].mean(dim=0).numpy(), atol=1e-5)
    stock = st.SentenceTransformer(stock_folder("bert"), device="cpu")
    assert stock.preprocess(texts, prompt="the fox ")["prompt_length"] == 3  # [CLS] the fox


def test_what_was_trained_with_prompts_is_loaded_with_them(small, tmp_path) -> None:
    encoder, folder = encoder_of(small), str(tmp_path / "trained")
    rows = Dataset.from_dict({"anchor": ["a pump", "the sea"], "positive": ["pumps", "water"]})
    prompts = encoder.prompts = {"anchor": "query: ", "positive": "text: "}
    options = {"max_steps": 1, "use_cpu": True, "report_to": "none", "save_strategy": "no", "prompts": prompts}
    arguments = st.SentenceTransformerTrainingArguments(str(tmp_path / "run"), **options)
    loss = losses.MultipleNegativesRankingLoss(encoder)
    st.SentenceTransformerTrainer(encoder, arguments, rows, loss=loss).train()
    encoder.save_pretrained(folder)
    expected = encoder.encode(["query: " + text for text in TEXTS])
    assert np.allclose(encoder_of(folder).encode(TEXTS, prompt_name="anchor"), expected, atol=1e-5)
    assert not np.allclose(encoder_of(small).encode(TEXTS, prompt="query: "), expected, atol=1e-5)


def test_the_dense_layer_is_that_of_the_modules_and_travels_with_a_repository(random_checkpoint, tmp_path) -> None:
    folder, repository = tmp_path / "own", tmp_path / "repository"
    shutil.copytree(random_checkpoint("hashgram-tiny"), folder)
    dense = dense_of(folder)
    write_sentence_modules(folder, **dense, teacher_mean=torch.zeros(12))
    (folder / "run.json").write_text("{}")
    convert(["hub", str(folder), str(repository)])
    for place in (folder, repository):
        encoder = encoder_of(place)
        with torch.no_grad():
            states = encoder[0].auto_model(**encoder.tokenizer(["some words"], return_tensors="pt")).last_hidden_state
            vector = torch.nn.functional.linear(states[0].mean(dim=0), **dense)
        assert np.allclose(encoder.encode("some words"), vector / vector.norm(), rtol=1e-4, atol=1e-6)
    assert {*SENTENCE_FILES} <= {*_uploaded_files(repository)}
    assert "run.json" not in _uploaded_files(folder) and not (repository / "run.json").exists()
    assert json.loads((repository / "modules.json").read_text())[2]["path"] == "2_Dense"


@pytest.mark.parametrize(("file", "change", "sentence"), [
    ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "has the pooling .*cls_token"),
    ("2_Dense/config.json", {"activation_function": "torch.nn.Tanh"}, "a dense layer with torch.nn.Tanh"),
    ("modules.json", {"type": "st.models.LayerNorm"}, "has the modules Transformer, .*, Normalize, LayerNorm"),
])  # fmt: skip
def test_modules_that_the_graph_lacks_are_refused(file: str, change: dict, sentence: str, tmp_path) -> None:
    assert read_sentence_modules(str(tmp_path)) is None
    write_sentence_modules(tmp_path, weight=torch.ones(12, 8), bias=torch.ones(12))
    old = json.loads((tmp_path / file).read_text())
    (tmp_path / file).write_text(json.dumps([*old, old[-1] | change] if isinstance(old, list) else old | change))
    with pytest.raises(ValueError, match=sentence):
        read_sentence_modules(str(tmp_path))


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Callable[[Path], Path]:
    """Exports a sentence encoder; returns the folder with its graph and the program."""

    @cache
    def export(source: Path) -> Path:
        model, tokenizer = load_checkpoint(str(source))
        folder = tmp_path_factory.mktemp(source.name)
        encoder = sentence_encoder_of(model, str(source))
        write_graphs(encoder, tokenizer, folder, int8=False)
        write_settings(encoder, tokenizer, folder)
        return folder

    return export


@pytest.fixture(scope="module")
def small(random_checkpoint, tmp_path_factory) -> Path:
    """A small encoder with random weights and vectors of 12 numbers, in a folder that sentence-transformers saved."""
    folder = shutil.copytree(random_checkpoint("ewe-bert-tiny"), tmp_path_factory.mktemp("small") / "ours")
    write_sentence_modules(folder, **dense_of(folder))
    encoder_of(folder).save_pretrained(str(folder.parent / "saved"))
    return folder.parent / "saved"


def test_the_programs_vectors_are_those_of_sentence_transformers(small, exported) -> None:
    """A slow test of `tests/browser/test_javascript.py` compares those of all trained encoders."""
    texts = [*TEXTS, *random_strings(200, seed=200)]
    model, encoder = encoder_of(small), OnnxEncoder(exported(small))
    expected, vectors = model.encode(texts), encoder.encode(texts)
    assert vectors.dtype == np.float32 and vectors.shape == (len(texts), encoder.dimensions) == expected.shape
    assert np.abs(vectors - expected).max() <= 1e-5
    model.truncate_dim = 5
    short = model.encode(texts[:40])
    short /= np.linalg.norm(short, axis=1, keepdims=True)
    assert np.abs(encoder.encode(texts[:40], dimensions=5) - short).max() <= 1e-5


def test_without_a_dense_layer_and_division_the_vector_is_the_mean_of_the_states(small) -> None:
    model, tokenizer = load_checkpoint(str(small))
    inputs = tokenizer(TEXTS, padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        states, vectors = with_vectors(model, SentenceModules(normalizes=False))(**inputs).values()
    for row, mask, vector in zip(states, inputs["attention_mask"], vectors, strict=True):
        assert torch.allclose(vector, row[mask.bool()].mean(dim=0), atol=1e-5)


def test_the_program_needs_neither_torch_nor_transformers(small, exported, capsys) -> None:
    folder = exported(small)
    command = [sys.executable, "-c", WITHOUT_TORCH, str(folder), json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    main([str(folder), *TEXTS])
    for vectors in (json.loads(done.stdout), [json.loads(line) for line in capsys.readouterr().out.splitlines()]):
        assert np.abs(np.array(vectors) - encoder_of(small).encode(TEXTS)).max() <= 1e-5


def test_pairs_one_string_no_text_and_int8_are_encoded(small, exported) -> None:
    encoder = OnnxEncoder(exported(small))
    pairs = [("Is it open?", "It closes at six."), ("a", "")]
    model, tokenizer = load_checkpoint(str(small))
    inputs = tokenizer(*map(list, zip(*pairs, strict=True)), padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = sentence_encoder_of(model, str(small))(**inputs)["sentence_embedding"].numpy()
    assert np.abs(encoder.encode(pairs) - expected).max() <= 1e-5
    assert encoder.encode("No.").shape == (1, 12) and encoder.encode([]).shape == (0, 12)
    assert np.array_equal(encoder.encode("No."), encoder.encode(["No."]))

    whole, numbers = encoder.encode(TEXTS), encoder.encode(TEXTS, int8=True)
    assert numbers.dtype == np.int8 and (np.abs(numbers).max(axis=1) == 127).all()
    cosines = (whole * numbers).sum(axis=1) / np.linalg.norm(numbers.astype(np.float32), axis=1)
    assert cosines.min() > 0.9999
    assert encoder.encode(TEXTS, dimensions=5, int8=True).shape == (len(TEXTS), 5)
    assert as_int8(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_dimensions_that_a_vector_lacks_and_a_model_of_the_other_kind_are_refused(small, exported, tmp_path) -> None:
    for dimensions in (0, 13):
        with pytest.raises(ValueError, match=rf"dimensions={dimensions} is not within 1 and 12; give a number between"):
            OnnxEncoder(exported(small)).encode("No.", dimensions=dimensions)
    with pytest.raises(ValueError, match="is a SentenceEncoder; give a VocablessForSequenceClassification"):
        OnnxClassifier(exported(small))
    settings = json.loads((exported(small) / "inference.json").read_text())
    assert settings["outputs"] == ["last_hidden_state", "sentence_embedding"]
    (tmp_path / "inference.json").write_text(json.dumps(settings | {"outputs": ["logits"]}))
    (tmp_path / "model.onnx").touch()
    with pytest.raises(ValueError, match=r"gives logits and no sentence_embedding; export a sentence encoder"):
        OnnxEncoder(tmp_path)
