"""The JavaScript package, in Chromium and in Node, gives what torch, sentence-transformers and onnx_model.py give."""

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal
from strings import random_strings

import vocabless
from vocabless import load_config, load_tokenizer
from vocabless.onnx_model import OnnxClassifier, OnnxEncoder
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.record import CardFacts
from vocabless.saving.sentence_modules import write_sentence_modules

st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
for package in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(package, reason="the extra [onnx] is not installed")

from vocabless.conversion import javascript  # noqa: E402
from vocabless.conversion.__main__ import main  # noqa: E402
from vocabless.conversion.onnx import MODEL, write_settings  # noqa: E402
from vocabless.conversion.onnx_export.graph import export  # noqa: E402
from vocabless.conversion.onnx_export.sentence_encoder import sentence_encoder_of  # noqa: E402

CHECKPOINTS = Path(__file__).resolve().parent.parent.parent / "checkpoints"
ENCODERS = [folder.parent for folder in sorted(CHECKPOINTS.glob("*/modules.json"))]
CLASSIFIERS = [CHECKPOINTS / "hashgram-uno-sst2"]
CLASSIFIER = "VocablessForSequenceClassification"
SINGLE, MULTI = "single_label_classification", "multi_label_classification"
NODE_IS_ABSENT = "there is no Node; install it (Debian: apt-get install nodejs)"
ENGINES = ["chromium", pytest.param("node", marks=pytest.mark.skipif(not shutil.which("node"), reason=NODE_IS_ABSENT))]
TEXTS = ["", "A film as bright as a summer morning.", "word " * 600, *random_strings(40)]
PAIRS = [["Is it open?", "It closes at six."], ["a", ""], ["one two " * 300, "three"]]
ENCODE = """async ({ Encoder }, texts, ...optionsOfEach) => {
  const encoder = await Encoder.load();
  const encode = (options) => encoder.encode(texts, options).map((vector) => Array.from(vector));
  return optionsOfEach.length ? optionsOfEach.map(encode) : encode();
}"""
CLASSIFY = "async ({ Classifier }, texts) => (await Classifier.load()).classify(texts)"
Run = Callable[..., Any]


def node(folder: Path, function: str, *arguments: Any) -> Any:
    """Calls a function of the module in the folder of a package, in Node; returns its result."""
    program = 'import * as vocabless from "./vocabless.js";\nimport { readFileSync } from "node:fs";\n'
    program += 'const given = JSON.parse(readFileSync("arguments.json"));\n'
    program += f"console.log(JSON.stringify(await ({function})(vocabless, ...given)));\n"
    (folder / "arguments.json").write_text(json.dumps(arguments))
    (folder / "call.mjs").write_text(program, encoding="utf-8")
    done = subprocess.run(["node", "call.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def run_in(request, tmp_path_factory) -> Iterator[Run]:
    """Calls a function with the module of a package, in an engine: `run_in(engine, folder, function, …)`."""
    root = tmp_path_factory.getbasetemp()
    (root / "empty.html").write_text("<!doctype html>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"

    def run(engine: str, folder: Path, function: str, *arguments: Any) -> Any:
        if engine == "node":
            return node(folder, function, *arguments)
        tab = request.getfixturevalue("chromium")
        tab.open(f"{address}/empty.html")
        module = f"{address}/{folder.relative_to(root)}/vocabless.js"
        call = f'async (...given) => ({function})(await import("{module}"), ...given)'
        return tab.call_function(call, *arguments)

    yield run
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def graphs() -> dict[Path, Any]:
    """The graph of each checkpoint that was packaged."""
    return {}


@pytest.fixture(scope="module")
def packaged(graphs, tmp_path_factory) -> Callable[..., Path]:
    """Makes the package of a checkpoint, once; returns its folder. Packages of 32 and of 8 bits share the export."""

    @cache
    def make(source: Path, *options: str) -> Path:
        def export_once(*given: Any) -> Any:
            if source not in graphs:
                graphs[source] = export(*given)
            return graphs[source]

        folder = tmp_path_factory.mktemp(source.name) / "package"
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(javascript, "export", export_once)
            main(["javascript", str(source), str(folder), *options])
        return folder

    return make


@pytest.fixture(scope="module")
def small(shrink, tmp_path_factory) -> Callable[..., Path]:
    """Saves a small model with random weights: an encoder with vectors of 12 numbers, or a classifier."""

    @cache
    def save(head: str, problem: str | None = None) -> Path:
        folder = tmp_path_factory.mktemp("small")
        torch.manual_seed(0)
        num_labels = 1 if problem == "regression" else 3
        config = shrink(load_config("ewe-bert-tiny", problem_type=problem, num_labels=num_labels))
        model = getattr(vocabless, head)(config)
        for parameter in model.parameters():
            parameter.data.normal_(std=0.3)
        model.save_pretrained(folder)
        load_tokenizer("ewe-bert-tiny").save_pretrained(folder)
        if head == "VocablessModel":
            write_sentence_modules(folder, weight=torch.randn(12, config.hidden_size), bias=torch.ones(12))
        return folder

    return save


def sentence_vectors(folder: Path, texts: list[str]) -> np.ndarray:
    return st.SentenceTransformer(str(folder), trust_remote_code=True, device="cpu").encode(texts)


@pytest.fixture(scope="module")
def in_onnxruntime(graphs, tmp_path_factory) -> Callable[[Path], Path]:
    """Writes the graph of a checkpoint that was packaged as the verb onnx does; returns the folder."""

    @cache
    def write(source: Path) -> Path:
        folder = tmp_path_factory.mktemp("onnx")
        (folder / MODEL).write_bytes(graphs[source].SerializeToString())
        model, tokenizer = load_checkpoint(str(source))
        write_settings(sentence_encoder_of(model, str(source)), tokenizer, folder)
        return folder

    return write


def near(found: Any, expected: np.ndarray) -> bool:
    return np.shape(found) == expected.shape and bool(np.abs(np.array(found) - expected).max() <= 1e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_vectors_are_those_of_sentence_transformers_and_of_onnx_model(
    engine: str, small, packaged, in_onnxruntime, run_in
):
    source = small("VocablessModel")
    folder, encoder = packaged(source, "--fp32"), OnnxEncoder(in_onnxruntime(source))
    options = [{}, {"dimensions": 5}, {"dimensions": 5, "int8": True}]
    vectors, short, numbers = run_in(engine, folder, ENCODE, TEXTS, *options)
    assert near(vectors, sentence_vectors(source, TEXTS))
    assert near(short, encoder.encode(TEXTS, dimensions=5))
    assert np.abs(np.array(numbers) - encoder.encode(TEXTS, dimensions=5, int8=True)).max() <= 1
    assert np.abs(numbers).max(axis=1).tolist() == [127] * len(TEXTS)
    assert run_in(engine, folder, ENCODE, []) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("problem", "takes_pairs"), [(SINGLE, False), (MULTI, True), ("regression", False)])
@pytest.mark.quick(
    *(f"{kind}-{engine}" for kind in (f"{SINGLE}-False", f"{MULTI}-True") for engine in ("chromium", "node"))
)
def test_labels_and_probabilities_are_those_of_onnx_model_and_torch(
    problem: str, takes_pairs: bool, engine: str, small, packaged, in_onnxruntime, run_in
) -> None:
    source = small(CLASSIFIER, problem)
    texts: list[Any] = PAIRS if takes_pairs else TEXTS
    found = run_in(engine, packaged(source, "--fp32", *(["--pairs"] if takes_pairs else [])), CLASSIFY, texts)
    logits = torch_logits(source, texts)
    assert near([each["logits"] for each in found], logits)
    answers = OnnxClassifier(in_onnxruntime(source))(list(map(tuple, texts)) if takes_pairs else texts)
    for each, row, answer in zip(found, logits, answers, strict=True):
        if problem == "regression":
            assert each["probabilities"] == [] and float(each["label"]) == each["logits"][0]
            continue
        assert near(each["probabilities"], np.array(list(answer.values())))
        likely = [label for label, probability in answer.items() if probability >= 0.5]
        assert each["label"] == (likely if takes_pairs else list(answer)[row.argmax()])
    assert [each["truncated"] for each in found] == [len(str(text)) > 2000 for text in texts]


def torch_logits(source: Path, texts: list[Any]) -> np.ndarray:
    model, tokenizer = load_checkpoint(str(source))
    settings = {"truncation": True, "max_length": model.base_model.max_tokens, "return_tensors": "pt"}
    parts = [text if isinstance(text, list) else [text] for text in texts]
    with torch.no_grad():
        return np.stack([model(**tokenizer(*each, **settings)).logits[0].numpy() for each in parts])


@pytest.mark.slow
@pytest.mark.skipif(not ENCODERS, reason="this archive has no trained weights; clone the repository")
@pytest.mark.parametrize("source", [*ENCODERS, *CLASSIFIERS], ids=lambda folder: folder.name)
def test_2000_strings_of_all_scripts(source: Path, packaged, in_onnxruntime, run_in) -> None:
    texts = ["", "word " * 600, *random_strings(2000, seed=2000)]
    folder = packaged(source, "--fp32")
    if source in ENCODERS:
        found = np.array(run_in("chromium", folder, ENCODE, texts))
        torchs, onnxs = sentence_vectors(source, texts), OnnxEncoder(in_onnxruntime(source)).encode(texts)
    else:
        found = np.array([each["logits"] for each in run_in("chromium", folder, CLASSIFY, texts)])
        model = OnnxClassifier(in_onnxruntime(source))
        torchs, onnxs = torch_logits(source, texts), np.concatenate([model.logits(text) for text in texts])
    assert near(found, torchs) and near(found, onnxs)


LOAD_FROM_ALL = """async ({ Encoder }, model) => {
  const isNode = globalThis.process !== undefined;
  const url = isNode ? (await import("node:url")).pathToFileURL(model) : new URL(model, location.href);
  const bytes = isNode ? (await import("node:fs")).readFileSync(model) : await (await fetch(model)).arrayBuffer();
  const vectors = [];
  for (const source of [undefined, model, url, String(url), bytes, new Uint8Array(bytes), new Blob([bytes])]) {
    vectors.push(Array.from((await Encoder.load(source)).encode(["No."])[0]));
  }
  return vectors;
}"""
FAIL = "(module, name, source) => module[name].load(source).then(() => 'loaded', (error) => error.message)"


def place(engine: str, file: Path, temporary: pytest.TempPathFactory) -> str:
    """The path of a file in Node; its address, relative to the page, in Chromium."""
    return str(file if engine == "node" else file.relative_to(temporary.getbasetemp()))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_is_loaded_from_an_address_a_path_a_file_and_bytes(engine, small, packaged, run_in, tmp_path_factory):
    source = small("VocablessModel")
    folder = packaged(source, "--fp32")
    model = place(engine, folder / "model.bin", tmp_path_factory)
    assert near(run_in(engine, folder, LOAD_FROM_ALL, model), np.repeat(sentence_vectors(source, ["No."]), 7, axis=0))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_no_model_of_the_kind_is_refused(engine: str, small, packaged, run_in, tmp_path_factory) -> None:
    encoder = packaged(small("VocablessModel"), "--fp32")
    classifier = packaged(small(CLASSIFIER, SINGLE), "--fp32")
    other = place(engine, classifier / "model.bin", tmp_path_factory)
    module = place(engine, encoder / "vocabless.js", tmp_path_factory)
    fail = partial(run_in, engine, encoder, FAIL)
    assert fail("Classifier") == "this model is a sentence encoder; load it with Encoder.load."
    assert fail("Encoder", other) == "this model is a classifier; load it with Classifier.load."
    assert fail("Encoder", module).startswith("this is no model; give a model.bin")
    absent = "ENOENT" if engine == "node" else "vocabless.jsx cannot be loaded: the server answers 404"
    assert absent in fail("Encoder", module + "x")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wrong_argument_is_refused(engine: str, small, packaged, run_in) -> None:
    encoder = packaged(small("VocablessModel"), "--fp32")
    classifiers = packaged(small(CLASSIFIER, SINGLE), "--fp32"), packaged(small(CLASSIFIER, MULTI), "--fp32", "--pairs")
    said = "RangeError: dimensions=%s is not within 1 and 12; give a number between."
    for folder, call, sentence, *given in (
        *((encoder, ENCODE, said % wrong, ["No."], {"dimensions": wrong}) for wrong in (0, 13, 2.5)),
        (classifiers[0], CLASSIFY, 'TypeError: ["a","b"] is not a text.', [["a", "b"]]),
        (classifiers[1], CLASSIFY, 'TypeError: "a" is not a list of two texts.', ["a"]),
    ):
        assert run_in(engine, folder, f"(...given) => ({call})(...given).catch(String)", *given) == sentence


MEMBERS = """async (module, name) => {
  const instance = await module[name].load();
  const names = (object) => Object.getOwnPropertyNames(object);
  return {
    exported: names(module),
    statics: names(module[name]),
    members: [instance, Object.getPrototypeOf(instance), Object.getPrototypeOf(module[name].prototype)].flatMap(names),
    prediction: name === "Classifier" ? (await instance.classify(["No."]))[0] : null,
  };
}"""


@pytest.mark.parametrize(("name", "head"), [("Encoder", "VocablessModel"), ("Classifier", CLASSIFIER)])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_types_name_what_the_module_has(name: str, head: str, engine: str, small, packaged, run_in) -> None:
    folder = packaged(small(head, *([SINGLE] if name == "Classifier" else [])), "--fp32")
    types = (folder / "vocabless.d.ts").read_text(encoding="utf-8")
    bodies = dict(re.findall(r"^export (?:class|interface) (\w+) \{\n(.*?)^\}", types, re.M | re.S))
    found = run_in(engine, folder, MEMBERS, name)
    assert sorted(found["exported"]) == sorted(re.findall(r"^export class (\w+)", types, re.M))
    statics = {*found["statics"]} - {"length", "name", "prototype"}
    assert set(re.findall(r"^  static (\w+)", bodies[name], re.M)) == statics
    declared = set(re.findall(r"^  (?:readonly )?(?!static|private)(\w+)", bodies[name], re.M))
    assert declared and declared <= set(found["members"])
    if found["prediction"]:
        for kind, value in (("Prediction", found["prediction"]), ("Unit", found["prediction"]["units"][0])):
            assert set(re.findall(r"^  (\w+): ", bodies[kind], re.M)) == set(value)


@pytest.mark.skipif(not shutil.which("node"), reason=NODE_IS_ABSENT)
@pytest.mark.parametrize(
    ("head", "options", "printed"),
    [
        ("VocablessModel", [], r"\[ -?0\.\d+, -?0\.\d+ \]\n"),
        (CLASSIFIER, ["--pairs", "--name", "@me/pairs"], r"(LABEL_\d \[( -?\d\.\d+,?){3} \]\n){3}"),
    ],
)
def test_the_example_of_the_readme_runs(head: str, options: list[str], printed: str, small, packaged) -> None:
    folder = packaged(small(head, *([SINGLE] if options else [])), "--fp32", *options)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```js\n(.*?)^```", readme, re.M | re.S)
    (folder / "example.mjs").write_text(example, encoding="utf-8")
    done = subprocess.run(["node", "example.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert re.fullmatch(printed, done.stdout), done.stdout + done.stderr


def test_the_folder_is_a_package(small, tmp_path, monkeypatch, capsys) -> None:
    source = small("VocablessModel")
    target = tmp_path / "package"
    (target / "old").mkdir(parents=True)
    assert "is not an empty folder" in refusal(main, "javascript", source, target)
    assert "--name 'No Name' is no name of a package" in refusal(
        main, "javascript", source, target, "--overwrite", "--name", "No Name"
    )
    main(["javascript", str(source), str(target), "--overwrite", "--name", "@me/vectors", "--model_id", "me/mine"])
    files = {file.name for file in target.iterdir()} - {"old"}
    assert files == {"vocabless.js", "vocabless.d.ts", "model.bin", "package.json", "README.md"}
    about = json.loads((target / "package.json").read_text(encoding="utf-8"))
    assert (about["name"], about["type"], about["license"]) == ("@me/vectors", "module", "SEE LICENSE IN README.md")
    assert set(about["files"]) == files - {"package.json", "README.md"}
    assert list(about["exports"]["."].items()) == [("types", "./vocabless.d.ts"), ("default", "./vocabless.js")]
    readme = (target / "README.md").read_text(encoding="utf-8")
    assert "(https://huggingface.co/me/mine)" in readme and 'from "@me/vectors"' in readme
    assert not re.search(r"^import|https?://", (target / "vocabless.js").read_text(encoding="utf-8"), re.M)
    assert f"The package is in {target}." in capsys.readouterr().out
    monkeypatch.setattr(javascript, "read_card_facts", lambda _: CardFacts(kind="pre-trained", license="apache-2.0"))
    main(["javascript", str(source), str(target), "--overwrite"])
    about = json.loads((target / "package.json").read_text(encoding="utf-8"))
    assert (about["name"], about["license"]) == (source.name, "Apache-2.0")
    assert (target / "old").is_dir()
