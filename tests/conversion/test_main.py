"""The command vocabless: its help, and every mistake that its verbs refuse in one sentence."""

import inspect
import json
import os
import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from shutil import copytree

import pytest
import torch
from hashformer_oracle import write_published
from refusals import refusal
from safetensors.torch import load_file, save_file
from stock_folders import STOCK, save_stock
from transformers import AutoModel

from vocabless import __main__ as vocabless_command
from vocabless import load_tokenizer
from vocabless.conversion import __main__ as command
from vocabless.conversion import hub, onnx, search
from vocabless.conversion.__main__ import VERBS, main
from vocabless.saving.run_folder import RESULTS

CLASSIFIER = "VocablessForSequenceClassification"
WORDS = "eelbert-word-uno"
NGRAM, PROJ = ["--variant", "eelbert-word-tiny"], ["--variant", "hashformer-md5-proj-tiny"]


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_names_every_verb_and_that_of_a_verb_explains_it_and_its_arguments(verb: str, capsys) -> None:
    vocabless_command.main(["--help"])
    with pytest.raises(SystemExit) as error:
        main([verb, "--help"])
    assert error.value.code == 0
    whole, printed = capsys.readouterr().out.split(f"usage: vocabless {verb} ")
    assert all(re.search(rf"^  {name}\b", whole, re.M) for name in VERBS)
    assert f"vocabless {verb} " in printed.partition("TARGET")[2]  # an example to paste
    read = "DOCUMENTS" if verb == "search" else "SOURCE"
    assert all(re.search(rf"^  {name} +\w", printed, re.M) for name in (read, "TARGET"))


def test_a_verb_imports_no_other(monkeypatch) -> None:
    imported = []
    import_module = command.importlib.import_module
    monkeypatch.setattr(command.importlib, "import_module", lambda name: imported.append(name) or import_module(name))
    with pytest.raises(SystemExit):
        main(["hub"])
    assert imported == ["vocabless.conversion.hub"]
    assert not re.search(r"^from vocabless\.conversion", inspect.getsource(import_module(imported[0])), re.M)


def test_an_unknown_verb_is_named() -> None:
    assert f"unknown verb 'convert'; choose one of {', '.join(VERBS)}" in refusal(main, "convert", "a", "b")


@pytest.fixture
def source_of(random_checkpoint, subwords, tmp_path) -> Callable[[str], Path]:
    """Returns a folder that a test may change: a tiny checkpoint of a variant, a stock model, or the authors' own."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        if name in STOCK:
            save_stock(folder, subwords["wordpiece"], name, AutoModel)
        elif name.endswith("-add"):
            write_published(folder)
        else:
            copytree(random_checkpoint(*name.split()), folder)
        return folder

    return make


def change(name: str, edit: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(edit((folder / name).read_bytes()))


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def tensors(edit: Callable[[dict], object]) -> Callable[[Path], object]:
    """Changes the tensors of a pickle file, or else of a safetensors file."""

    def damage(folder: Path) -> None:
        if (folder / PICKLE).is_file():
            torch.save(edit(torch.load(folder / PICKLE)), folder / PICKLE)
        else:
            save_file(edit(load_file(folder / WEIGHTS)), folder / WEIGHTS, {"format": "pt"})

    return damage


def lose(name: str) -> Callable[[Path], object]:
    return tensors(lambda weights: {other: weight for other, weight in weights.items() if name not in other})


def add(name: str, *shape: int) -> Callable[[Path], object]:
    return tensors(lambda weights: weights | {name: torch.zeros(shape)})


def config(**values: object) -> Callable[[Path], object]:
    return change("config.json", lambda data: json.dumps(json.loads(data) | values).encode())


WEIGHTS, PICKLE = "model.safetensors", "pytorch_model.bin"
ADD, TEXTS = "hashformer-md5-add", f"{WORDS} {CLASSIFIER}"
# verb, source, damage of the source or None, flags, what is said
REFUSALS = [
    ("hub", TEXTS, lambda folder: os.truncate(folder / WEIGHTS, 5000), [], "it is truncated or holds other"),
    ("hub", TEXTS, load_tokenizer("ewe-bert-tiny").save_pretrained, [], "writes blocks of 16 elements, but .* 32"),
    ("hub", TEXTS, load_tokenizer(WORDS, splitter="whitespace").save_pretrained, [], f"but {WORDS} reads utf8 blocks"),
    ("hub", TEXTS, config(model_type="bert"), [], "give a checkpoint of this family"),
    ("hub", TEXTS, config(model_type=[*VERBS] * 99), [], r"^.{300,700} …; give a checkpoint of"),
    ("hub", TEXTS, without("tokenizer_config.json"), [], "no.* file named tokenizer_config.json.*; give a complete"),
    *(
        ("hub", TEXTS, lambda folder, text=text: (folder / RESULTS).write_text(text), [], "is not what a run writes")
        for text in ('{"constant_baselines": 5}', "[" * 10**5, "null", '{"objective": "mlm", "arguments": "x"}')
    ),
    ("encoder", "bert", None, ["--variant", "eelbert-word-tinny"], "unknown variant 'eelbert-word-tinny'"),
    ("encoder", "t5", None, NGRAM, "is not an encoder that accepts inputs_embeds"),
    ("encoder", "gpt2", None, PROJ, "is a decoder: its first token sees no other one, and heads read the first token;"),
    ("encoder", WORDS, None, NGRAM, "is already a model without a vocabulary"),
    ("encoder", "bert", lose("encoder.layer.1.output.dense.bias"), NGRAM, "lacks the tensors encoder.layer.1.output"),
    ("encoder", "bert", lambda folder: os.truncate(folder / WEIGHTS, 5000), NGRAM, "cannot be loaded"),
    ("encoder", "bert", without("config.json"), NGRAM, "cannot be loaded"),
    ("hashformer", ADD, tensors(lambda _: {"model": Path("a program")}), [], "truncated or holds other objects than"),
    ("hashformer", ADD, tensors(lambda weights: list(weights.values())), [], "is not a dictionary of tensors"),
    ("hashformer", ADD, lose("embeddings.LayerNorm.bias"), [], "lacks the tensors roberta.embeddings.LayerNorm.bias"),
    ("hashformer", ADD, lose("proj_mat"), [], "is not a HashFormer"),
    ("hashformer", ADD, add("lm_head.bias", 3), [], "has the unexpected tensors lm_head.bias"),
    ("hashformer", ADD, add("roberta.embeddings.proj_mat_2.weight", 32, 64), [], "do not match its config.json"),
    ("hashformer", ADD, change(PICKLE, lambda data: data[:20_000]), [], "cannot be read"),
    ("hashformer", ADD, without(PICKLE), [], "no model.safetensors and no pytorch_model.bin"),
    ("hashformer", ADD, without("config.json"), [], "no config.json"),
    ("hashformer", ADD, change("config.json", lambda data: b"{"), [], "is damaged"),
    ("hub", TEXTS, change("config.json", lambda data: b"[1]"), [], "holds no object; give a complete checkpoint"),
    ("hashformer", ADD, config(intermediate_size=40), [], r"\(size mismatch for .*; give the configuration of"),
    *(
        ("hashformer", kind, None, ["--coder", "md5"], f"is not a HashFormer but a model of the type '{kind}' with a")
        for kind in ("bert", "roberta", "electra")
    ),
    ("hashformer", "albert", None, ["--coder", "md5"], "has the unexpected tensors|is not a HashFormer"),
    ("hashformer", "mine-add", None, [], "--coder md5 or --coder lsh"),
    pytest.param(
        *("onnx", "ewe-canine-base", None, [], "'canine' depends on the batch size"), marks=pytest.mark.slow
    ),
    ("space", f"{WORDS} VocablessForPreTraining", None, [], "cannot show VocablessForPreTraining; give"),
    ("space", f"eelbert-uno {CLASSIFIER}", None, [], "cannot cut texts into subword units"),
    ("space", TEXTS, None, ["--pairs", "--example", "one"], "--example 'one' has 1 texts"),
    ("search", TEXTS, None, [], f"is a {CLASSIFIER} and gives no vectors of texts; give a sentence encoder"),
    ("search", WORDS, None, ["--dimensions", "999"], "--dimensions 999 is not within 1 and 32; leave it out for 32"),
]  # fmt: skip


def refused(verb: str, source: Path, target: Path, *flags: str) -> str:
    """Returns what a verb says when it refuses; a page of one document is to be made by `search`."""
    if verb != "search":
        return refusal(main, verb, source, target, *flags)
    (file := target.with_name("one.txt")).write_text(" ".join(f"This is sentence {number}." for number in range(400)))
    return refusal(main, verb, file, target, "--model", source, *flags)


@pytest.mark.parametrize(("verb", "source", "damage", "flags", "sentence"), REFUSALS)
def test_a_mistake_ends_with_one_sentence_and_nothing_is_written(
    verb, source, damage, flags, sentence, source_of, tmp_path
) -> None:
    folder, target = source_of(source), tmp_path / "target"
    if damage is not None:
        damage(folder)
    assert re.search(sentence, refused(verb, folder, target, *flags))
    assert not list(target.glob("*")) and (verb in ("onnx", "hashformer") or not target.exists())


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_as_source_is_named(verb, source_of, tmp_path) -> None:
    file, flags = source_of("bert") / WEIGHTS, NGRAM if verb == "encoder" else ["--coder", "md5"]
    said = refused(verb, file, tmp_path / "target", *(flags if verb in ("encoder", "hashformer") else []))
    assert said.endswith(f"{str(file)!r} is a file; give the folder of a checkpoint, or a Hub id.")


def test_a_checkpoint_with_the_first_names_of_layer_norms_is_read(source_of, tmp_path) -> None:
    folder, target = source_of(TEXTS), tmp_path / "target"
    weights = load_file(folder / WEIGHTS)
    names = (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta"))
    save_file({reduce(lambda a, b: a.replace(*b), names, name): t for name, t in weights.items()}, folder / WEIGHTS)
    assert load_file(folder / WEIGHTS).keys() != weights.keys()
    main(["hub", str(folder), str(target)])
    written = load_file(target / WEIGHTS)
    assert written.keys() == weights.keys() and all(torch.equal(written[name], weights[name]) for name in weights)


@pytest.mark.parametrize(("verb", "source", "module", "name", "value", "sentence"), [
    ("hub", TEXTS, hub, "loads_without_package", lambda *_: False, "gives other numbers without this package"),
    ("onnx", WORDS, onnx, "REQUIRED", ("onnx", "of_no_package"), r"needs of_no_package; run pip install .vocabless"),
    ("search", WORDS, search, "MOST_PASSAGES", 3, r"have \d+ passages and a page may have 3; give fewer, or keep"),
])  # fmt: skip
def test_what_cannot_run_or_is_too_large_is_refused(
    verb, source, module, name, value, sentence, source_of, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(module, name, value)
    assert re.search(sentence, refused(verb, source_of(source), tmp_path / "target"))
    assert not (tmp_path / "target").exists()
