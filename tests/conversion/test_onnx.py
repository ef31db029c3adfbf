"""The verb onnx: its files, 8-bit weights, and the program beside the graph, which needs no torch.

`tests/browser/test_parity.py` compares the graphs of all front ends and heads with their models.
"""

import contextlib
import io
import json
import re
import shutil

import numpy as np
import pytest
import torch

from vocabless import VocablessForTokenClassification, load_config, load_tokenizer
from vocabless.conversion import onnx as verb
from vocabless.conversion.onnx_export import parity
from vocabless.conversion.onnx_export.graph import INPUT, embed_distinct, export, session_of
from vocabless.conversion.onnx_export.settings import inference_settings
from vocabless.conversion.onnx_program.onnx_model import OnnxClassifier
from vocabless.conversion.space import make_manifest
from vocabless.joined_code import PROGRAM
from vocabless.modeling.ngram_front_ends import Ngram, RandomNormal, UnitHash
from vocabless.saving.checkpoint import load_checkpoint

for package in ("onnxruntime", "onnxscript"):
    pytest.importorskip(package, reason="the extra [onnx] is not installed")
onnx = pytest.importorskip("onnx", reason="the extra [onnx] is not installed")

TEXTS = ["The film is a quiet wonder.", "naïve 日本語 हिन्दी 👩‍💻, zxqv", " ", "a" * 40, "x " * 200]


@pytest.fixture(scope="module")
def exported(random_checkpoint, convert, tmp_path_factory):
    """A small classifier, its tokenizer, the folder of its export with --int8, and what the command printed."""
    source = random_checkpoint("ewe-bert-word-tiny", "VocablessForSequenceClassification", num_labels=3)
    target = tmp_path_factory.mktemp("exports") / "onnx"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        convert(["onnx", str(source), str(target), "--int8"])
    return *load_checkpoint(str(source)), target, printed.getvalue()


def test_no_other_head_reads_sentences_if_the_classifier_before_it_did():
    config = load_config("ewe-bert-word-tiny", num_labels=3, classifier_reads_sentences=True)
    model, tokenizer = VocablessForTokenClassification(config), load_tokenizer("ewe-bert-word-tiny")
    assert "reads_sentences" not in inference_settings(model, tokenizer)
    assert "reads_sentences" not in make_manifest(model, tokenizer, is_pair=False)


def test_the_command_writes_its_files_and_reports_differences_and_sizes(exported) -> None:
    model, _, target, printed = exported
    names = {"model.onnx", "model_int8.onnx", "inference.json", "onnx_model.py", "target.json"}
    assert {file.name for file in target.iterdir()} == names
    assert "choices" not in printed  # they would be those on sentences of ours
    for row in (r"model\.onnx \| unknown words \|", r"model_int8\.onnx \| sentences \|", r"torch \| [\d.]+ MB \|$"):
        assert re.search(rf"^\| {row}", printed, re.M)
    assert (target / "model_int8.onnx").stat().st_size < (target / "model.onnx").stat().st_size
    assert json.loads((target / "inference.json").read_text())["truncation_side"] == "right"
    tokenizer = load_tokenizer("ewe-bert-word-tiny", truncation_side="left")
    assert inference_settings(model, tokenizer)["truncation_side"] == "left"


def test_8_bit_weights_have_a_scale_for_each_column_and_change_the_logits_little(exported) -> None:
    model, tokenizer, target, _ = exported
    inputs = tokenizer(TEXTS, padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        expected = model(**inputs).logits.numpy()
    (got,) = session_of(target / "model_int8.onnx", 1).run(None, {INPUT: inputs["input_ids"].numpy()})
    assert 0 < np.abs(got - expected).max() < 0.1 * np.abs(expected).max()
    graph = onnx.load(target / "model_int8.onnx").graph
    sizes = {weight.name: list(weight.dims) for weight in graph.initializer}
    matrices = [node.input[1] for node in graph.node if node.op_type == "MatMulInteger"]
    assert len(matrices) >= 6
    assert all(sizes[name.replace("_quantized", "_scale")] == sizes[name][1:] for name in matrices)


@pytest.mark.parametrize("front_end", [Ngram(12, 31), Ngram(6, 31, ngram_sizes=7), RandomNormal(12, 31)])
def test_hashing_each_distinct_unit_once_changes_no_bit(front_end: UnitHash) -> None:
    generator = torch.Generator().manual_seed(0)
    blocks = torch.randint(5, 8, (3, 5, 4, front_end.block_size), generator=generator)
    blocks *= torch.arange(front_end.block_size) < torch.randint(1, 5, (3, 5, 4, 1), generator=generator)
    blocks[0, 0, :, 0] = torch.tensor([2, 3, 0, 4])
    blocks[0, 0, :, 1:] = 0
    expected = front_end.embed_units(front_end.replace_special_tokens(blocks))
    assert torch.equal(embed_distinct(front_end, blocks)[0], expected)


def test_the_program_gives_the_models_probabilities_and_imports_neither_torch_nor_transformers(exported) -> None:
    model, tokenizer, target, _ = exported
    others = r"^\s*(?:import|from) (?:torch|transformers|tokenizers|vocabless)\b"
    assert not re.search(others, (target / PROGRAM).read_text(encoding="utf-8"), re.M)
    for text, probabilities in zip(TEXTS, OnnxClassifier(target)(TEXTS), strict=True):
        with torch.no_grad():
            logits = model(**tokenizer(text, truncation=True, return_tensors="pt")).logits[0]
        assert list(probabilities) == ["LABEL_0", "LABEL_1", "LABEL_2"]
        assert list(probabilities.values()) == pytest.approx(logits.softmax(dim=-1).tolist(), abs=1e-4)


def test_a_folder_with_the_8_bit_file_alone_is_classified_with_it(exported, tmp_path) -> None:
    for name in ("model_int8.onnx", "inference.json"):
        shutil.copy(exported[2] / name, tmp_path)
    eight_bits = OnnxClassifier(tmp_path / "model_int8.onnx")(TEXTS)
    assert OnnxClassifier(tmp_path)(TEXTS) == eight_bits != OnnxClassifier(exported[2])(TEXTS)
    assert OnnxClassifier(tmp_path)(TEXTS[0]) == OnnxClassifier(tmp_path)(TEXTS[:1])


def test_a_graph_beside_the_settings_of_another_model_is_refused(exported, tmp_path) -> None:
    for file in exported[2].iterdir():
        shutil.copy(file, tmp_path)
    settings = json.loads((tmp_path / "inference.json").read_text())
    (tmp_path / "inference.json").write_text(json.dumps(settings | {"graph_id": "another"}))
    for file in (tmp_path, tmp_path / "model_int8.onnx"):
        with pytest.raises(ValueError, match=r"does not belong to the inference\.json beside it"):
            OnnxClassifier(file)
    for labels in (["a"], ["a", "b", "c", "d"], ["a", "b", "a"]):
        (tmp_path / "inference.json").write_text(json.dumps(settings | {"labels": labels}))
        with pytest.raises(ValueError, match=r"its labels, .*, are not 3 different names, one for each output"):
            OnnxClassifier(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "pad"), [("modernbert", 0), ("mpnet", 1)])  # attention windows; own layers
def test_an_encoder_with_windows_or_own_layers_is_exported(kind, pad) -> None:
    shape = {"model_type": kind, "num_hidden_layers": 2, "local_attention": 8, "global_attn_every_n_layers": 2}
    shape |= {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 24}
    shape |= {f"{name}_token_id": None for name in ("bos", "eos", "cls", "sep")} | {"pad_token_id": pad}
    torch.manual_seed(0)
    model = VocablessForTokenClassification(load_config("hashformer-lsh-pool-tiny", encoder_config=shape)).eval()
    proto = export(model, is_pair=False)
    session = pytest.importorskip("onnxruntime").InferenceSession(proto.SerializeToString())
    inputs = load_tokenizer("hashformer-lsh-pool-tiny")(["a bc " * 20, "de"], padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits.numpy()
    tokens = inputs["attention_mask"].bool().numpy()
    output = session.run(None, {INPUT: inputs["input_ids"].numpy()})[0]
    assert output[tokens] == pytest.approx(logits[tokens], abs=1e-6)


def test_a_graph_that_differs_from_the_model_is_not_written(exported, monkeypatch) -> None:
    model, tokenizer, folder, _ = exported
    run_session = parity.run_session
    monkeypatch.setattr(parity, "run_session", lambda *args: [out + 1e-2 for out in run_session(*args)])
    with pytest.raises(ValueError, match=r"differs from the model by 1\.0e-02.*nothing was written"):
        verb.check(model, tokenizer, [folder / "model.onnx"])
