"""The verb onnx: the graph gives the model's outputs, and the program beside it needs no torch and no transformers."""

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refusal

import vocabless
from vocabless import load_config, load_tokenizer
from vocabless.conversion import onnx as verb
from vocabless.conversion.__main__ import main
from vocabless.conversion.onnx_export import graph as onnx_graph
from vocabless.conversion.onnx_export import parity as onnx_parity
from vocabless.conversion.onnx_export.settings import inference_settings
from vocabless.joined_code import PROGRAM
from vocabless.modeling.ngram_front_ends import Ngram, RandomNormal, UnitHash
from vocabless.onnx_model import OnnxClassifier
from vocabless.saving.checkpoint import load_checkpoint

onnx = pytest.importorskip("onnx", reason="the extra [onnx] is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra [onnx] is not installed")
pytest.importorskip("onnxscript", reason="the extra [onnx] is not installed")

TEXTS = ["The film is a quiet wonder.", "naïve 日本語 हिन्दी 👩‍💻, zxqv", " ", "a" * 40, "x " * 200]
CLASSIFIER = "VocablessForSequenceClassification"
# Each front end, and together all heads. The fixture `exported` adds the front end `ngram`.
EXPORTS = {
    "eelbert-random-mini": "VocablessForMaskedLM",
    "hashformer-lsh-pool-mini": "VocablessForPreTraining",
    "hashformer-md5-add-mini": "VocablessForTokenClassification",
    "hashformer-lsh-proj-mini": "VocablessModel",
    "hashformer-md5-emb1k-base": "VocablessForMultipleChoice",
    "ewe-bert-tiny": "VocablessForQuestionAnswering",
    "ewe-bert-gradient-base": "VocablessModel",
    "proformer": CLASSIFIER,
}

# Runs where neither torch nor transformers can be imported; prints the probabilities that the classifier gives.
BARE = """
import importlib.util, json, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers", "tokenizers", "vocabless"):
            raise ModuleNotFoundError(name + " is absent on purpose")
sys.meta_path.insert(0, Absent())
program, file, texts = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
spec = importlib.util.spec_from_file_location("program", program)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(json.dumps(module.OnnxClassifier(file)(texts)))
"""


@pytest.fixture(scope="module")
def exported(random_checkpoint, tmp_path_factory):
    """A small classifier, its tokenizer, the folder of its export with --int8, and what the command printed."""
    source = random_checkpoint("eelbert-word-uno", CLASSIFIER)
    target = tmp_path_factory.mktemp("exports") / "onnx"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main(["onnx", str(source), str(target), "--int8"])
    return *load_checkpoint(str(source)), target, printed.getvalue()


def export_and_compare(model: torch.nn.Module, tokenizer: vocabless.VocablessTokenizer, folder: Path) -> None:
    """Exports a model and checks that the graph gives its outputs on all kinds of inputs."""
    (file,) = verb.write_graphs(model, tokenizer, folder, int8=False)
    session = onnx_graph.session_of(file, 1)
    differences = onnx_parity.differences(model, session, onnx_parity.probes(model, tokenizer))
    kinds = ["sentences", "pairs of sentences", "unknown words", "random blocks"]
    assert [each.inputs for each in differences] == kinds
    assert all(each.largest_output > 0.01 for each in differences)
    assert all(each.maximum <= 2e-5 * max(1, each.largest_output) for each in differences)
    assert [entry.name for entry in session.get_inputs()] == ["input_ids"]
    assert [entry.name for entry in session.get_outputs()] == onnx_graph.output_names(model)


@pytest.mark.parametrize(
    ("pooling", "options"),
    [
        ("mean", {"num_rows": 97, "min_ngram": 1, "max_ngram": 3, "mlp_size": 16, "characters": True}),
        ("siamese", {}),
    ],
)
@pytest.mark.slow  # by default graphs with such a table are compared in `test_four_bits.py` and in the tests of pages
def test_a_learned_table_and_means_of_states_are_exported(pooling: str, options: dict, shrink, tmp_path) -> None:
    torch.manual_seed(2)
    config = load_config(
        "eelbert-word-tiny", front_end="hash_embedding", front_end_options=options, classifier_pooling=pooling
    )
    model = vocabless.VocablessForSequenceClassification(shrink(config))
    tokenizer = load_tokenizer("eelbert-word-tiny")
    model = model.apply(lambda module: torch.nn.init.normal_(module.weight) if hasattr(module, "weight") else None)
    export_and_compare(model.eval(), tokenizer, tmp_path)


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.quick("ewe-bert-tiny")
def test_every_front_end_and_head_gives_the_models_outputs_at_any_batch_and_length(
    name: str, random_checkpoint, tmp_path
) -> None:
    model, tokenizer = load_checkpoint(str(random_checkpoint(name, EXPORTS[name])))
    export_and_compare(model, tokenizer, tmp_path)


def test_the_command_writes_both_files_and_reports_differences_and_sizes(exported) -> None:
    _, _, target, printed = exported
    names = {"model.onnx", "model_int8.onnx", "inference.json", "onnx_model.py", "target.json"}
    assert {file.name for file in target.iterdir()} == names
    for row in (
        r"model\.onnx \| random blocks \|",
        r"model_int8\.onnx \| sentences \|.* 100\.0 % ",
        r"torch \| [\d.]+ MB",
    ):
        assert re.search(rf"^\| {row} ?\|$" if "MB" in row else rf"^\| {row}", printed, re.M)
    assert (target / "model_int8.onnx").stat().st_size < (target / "model.onnx").stat().st_size


def test_8_bit_weights_change_the_logits_little(exported) -> None:
    model, tokenizer, target, _ = exported
    inputs = tokenizer(TEXTS, padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        expected = model(**inputs).logits.numpy()
    session = onnx_graph.session_of(target / "model_int8.onnx", 1)
    (got,) = session.run(None, {"input_ids": inputs["input_ids"].numpy()})
    assert 0 < np.abs(got - expected).max() < 0.1 * np.abs(expected).max()


def test_each_column_of_an_8_bit_matrix_has_a_scale(exported) -> None:
    graph = onnx.load(exported[2] / "model_int8.onnx").graph
    sizes = {weight.name: list(weight.dims) for weight in graph.initializer}
    matrices = [node.input[1] for node in graph.node if node.op_type == "MatMulInteger"]
    assert len(matrices) >= 6
    for name in matrices:
        assert sizes[name.replace("_quantized", "_scale")] == sizes[name][1:]


@pytest.mark.parametrize("front_end", [Ngram(12, 31), Ngram(6, 31, ngram_sizes=7), RandomNormal(12, 31)])
def test_hashing_each_distinct_unit_once_changes_no_bit(front_end: UnitHash) -> None:
    generator = torch.Generator().manual_seed(0)
    blocks = torch.randint(5, 8, (3, 5, 4, front_end.block_size), generator=generator)
    blocks *= torch.arange(front_end.block_size) < torch.randint(1, 5, (3, 5, 4, 1), generator=generator)
    blocks[0, 0, :, 0] = torch.tensor([2, 3, 0, 4])
    blocks[0, 0, :, 1:] = 0
    expected = front_end.embed_units(front_end.replace_special_tokens(blocks))
    assert torch.equal(onnx_graph.embed_distinct(front_end, blocks), expected)


def test_the_program_needs_neither_torch_nor_transformers(exported) -> None:
    model, tokenizer, target, _ = exported
    command = [sys.executable, "-c", BARE, str(target / PROGRAM), str(target / "model.onnx"), json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for text, probabilities in zip(TEXTS, json.loads(done.stdout), strict=True):
        with torch.no_grad():
            logits = model(**tokenizer(text, truncation=True, return_tensors="pt")).logits[0]
        assert list(probabilities) == ["LABEL_0", "LABEL_1"]
        assert list(probabilities.values()) == pytest.approx(logits.softmax(dim=-1).tolist(), abs=1e-4)


def test_a_folder_with_the_8_bit_file_alone_is_classified_with_it(exported, tmp_path) -> None:
    _, _, target, _ = exported
    for name in ("model_int8.onnx", "inference.json"):
        shutil.copy(target / name, tmp_path)
    eight_bits = OnnxClassifier(target / "model_int8.onnx")(TEXTS)
    assert OnnxClassifier(tmp_path)(TEXTS) == eight_bits != OnnxClassifier(target)(TEXTS)
    assert OnnxClassifier(tmp_path)(TEXTS[0]) == OnnxClassifier(tmp_path)(TEXTS[:1])


def test_the_settings_name_the_side_at_which_the_tokenizer_cuts(exported) -> None:
    model, _, target, _ = exported
    assert json.loads((target / "inference.json").read_text())["truncation_side"] == "right"
    tokenizer = load_tokenizer("eelbert-word-uno", truncation_side="left")
    assert inference_settings(model, tokenizer)["truncation_side"] == "left"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "pad"), [("modernbert", 0), ("mpnet", 1)])  # attention windows; own layers
def test_an_encoder_keeps_its_attention_implementation(kind, pad) -> None:
    shape = {"model_type": kind, "num_hidden_layers": 2, "local_attention": 8, "global_attn_every_n_layers": 2}
    shape |= {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 24}
    shape |= {f"{name}_token_id": None for name in ("bos", "eos", "cls", "sep")} | {"pad_token_id": pad}
    torch.manual_seed(0)
    model = vocabless.VocablessForTokenClassification(load_config("hashformer-lsh-pool-tiny", encoder_config=shape))
    model.eval()
    before = model.vocabless.encoder.config._attn_implementation
    proto = onnx_graph.export(model, has_pairs=False)
    assert model.vocabless.encoder.config._attn_implementation == before
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    texts = ["a bc " * 20, "de"]
    inputs = load_tokenizer("hashformer-lsh-pool-tiny")(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits.numpy()
    tokens = inputs["attention_mask"].bool().numpy()
    output = session.run(None, {"input_ids": inputs["input_ids"].numpy()})[0]
    assert output[tokens] == pytest.approx(logits[tokens], abs=1e-6)


def test_an_encoder_whose_graph_depends_on_the_length_is_refused(random_checkpoint, tmp_path) -> None:
    source = random_checkpoint("ewe-canine-base")
    assert "'canine' depends on the batch size" in refusal(main, "onnx", source, tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()


def test_a_graph_that_differs_from_the_model_is_not_written(exported, monkeypatch) -> None:
    model, tokenizer, folder, _ = exported
    run_session = onnx_parity.run_session
    monkeypatch.setattr(onnx_parity, "run_session", lambda *args: [out + 1e-2 for out in run_session(*args)])
    with pytest.raises(ValueError, match=r"differs from the model by 1\.0e-02.*nothing was written"):
        verb.check(model, tokenizer, [folder / "model.onnx"])


def test_missing_requirements_are_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(verb, "REQUIRED", ("onnx", "of_no_package"))
    assert "'onnx' needs of_no_package; run pip install -e \".[onnx]\"" in refusal(
        main, "onnx", "any", tmp_path / "onnx"
    )
