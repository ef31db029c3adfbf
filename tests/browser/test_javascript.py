"""The JavaScript package, in Chromium and in Node, gives what onnx_model.py gives over the same graph."""

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
from transformers import AutoTokenizer, pipeline

from vocabless.conversion.onnx_program.onnx_model import OnnxClassifier, OnnxEncoder
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.record import CardFacts
from vocabless.saving.sentence_modules import write_sentence_modules
from vocabless.training.finetuning.scikit.estimators import VocablessClassifier
from vocabless.training.finetuning.tasks.problems import SingleLabel

for package in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(package, reason="the extra [onnx] is not installed")

from vocabless.conversion import javascript  # noqa: E402
from vocabless.conversion.onnx import MODEL, write_settings  # noqa: E402
from vocabless.conversion.onnx_export.sentence_encoder import sentence_encoder_of  # noqa: E402

CHECKPOINTS = Path(__file__).resolve().parent.parent.parent / "checkpoints"
SHIPPED = [*(file.parent for file in sorted(CHECKPOINTS.glob("*/modules.json"))), CHECKPOINTS / "hashgram-uno-sst2"]
CLASSIFIER = "VocablessForSequenceClassification"
SINGLE, MULTI = "single_label_classification", "multi_label_classification"
needs_node = pytest.mark.skipif(
    not shutil.which("node"), reason="there is no Node; install it (Debian: apt-get install nodejs)"
)
in_each_engine = pytest.mark.parametrize("engine", ["chromium", pytest.param("node", marks=needs_node)])
TEXTS = ["", "A film as bright as a summer morning.", "word " * 600, *random_strings(40)]
MANY_SENTENCES = np.random.default_rng(0).choice(["a", "bc", "Größe", "3", ".", "?!", "।", "word,", "[x]"], (200, 18))
PAIRS = [["Is it open?", "It closes at six."], ["a", ""], ["one two " * 300, "three"]]
ENCODE = """async ({ Encoder }, texts, ...optionsOfEach) => {
  const encoder = await Encoder.load();
  const encode = (options) => encoder.encode(texts, options).map((vector) => Array.from(vector));
  return optionsOfEach.length ? optionsOfEach.map(encode) : encode();
}"""
CLASSIFY = "async ({ Classifier }, texts) => (await Classifier.load()).classify(texts)"
NO_LIST = [f"TypeError: {each} is not a list of texts." for each in ('"No."', "null", "5", '{"text":"No."}')]
NO_TEXT = [f"TypeError: {each} is not a text." for each in ("null", "5", '["a","b"]', "{}")]
NO_PAIR = [f"TypeError: {each} is not a list of two texts." for each in ('"No."', '["a"]', '["a",null]', "null")]
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


def node(folder: Path, program: str) -> str:
    """Runs a program beside a package, in Node; returns what it prints."""
    (folder / "program.mjs").write_text(program, encoding="utf-8")
    done = subprocess.run(["node", "program.mjs"], cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def run_in(request, tmp_path_factory) -> Iterator[Callable[..., Any]]:
    """Calls a function with the module of a package, in an engine: `run_in(engine, folder, function, …)`."""
    root = tmp_path_factory.getbasetemp()
    (root / "empty.html").write_text("<!doctype html>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"

    def run(engine: str, folder: Path, function: str, *arguments: Any) -> Any:
        if engine == "node":
            (folder / "arguments.json").write_text(json.dumps(arguments))
            program = 'import * as vocabless from "./vocabless.js";\nimport { readFileSync } from "node:fs";\n'
            program += 'const given = JSON.parse(readFileSync("arguments.json"));\n'
            return json.loads(
                node(folder, f"{program}console.log(JSON.stringify(await ({function})(vocabless, ...given)));")
            )
        tab = request.getfixturevalue("chromium")
        tab.open(f"{address}/empty.html")
        module = f"{address}/{folder.relative_to(root)}/vocabless.js"
        return tab.call_function(f'async (...given) => ({function})(await import("{module}"), ...given)', *arguments)

    yield run
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def packaged(convert, tmp_path_factory) -> Callable[..., Path]:
    """Makes the package of a checkpoint in fp32, once; returns its folder."""

    @cache
    def make(source: Path, *flags: str) -> Path:
        folder = tmp_path_factory.mktemp("packages") / "package"
        convert(["javascript", str(source), str(folder), "--fp32", *flags])
        return folder

    return make


@pytest.fixture(scope="module")
def small(random_checkpoint, tmp_path_factory) -> Callable[..., Path]:
    """Returns a small encoder with vectors of 12 numbers, or a classifier of three labels."""

    @cache
    def save(problem: str | None, rule: bool | str = "odds") -> Path:
        if problem:
            num_labels = 1 if problem == "regression" else 3
            options = {"problem_type": problem, "num_labels": num_labels}
            if problem == SINGLE:  # every part that a classifier may have
                options |= {"classifier_wide_rows": 512, "classifier_reads_sentences": rule}
                options |= {"classifier_activation": "rms_norm", "classifier_reject_score": 1.0}
                return random_checkpoint("hashgram-uno", CLASSIFIER, **options)
            return random_checkpoint("ewe-bert-word-tiny", CLASSIFIER, **options)
        folder = Path(shutil.copytree(random_checkpoint("ewe-bert-tiny"), tmp_path_factory.mktemp("small") / "encoder"))
        width = json.loads((folder / "config.json").read_text())["encoder_config"]["hidden_size"]
        write_sentence_modules(folder, weight=torch.randn(12, width), bias=torch.ones(12))
        return folder

    return save


@pytest.fixture(scope="module")
def in_onnxruntime(graphs, tmp_path_factory) -> Callable[[Path], OnnxEncoder | OnnxClassifier]:
    """Returns the program beside the graph of a checkpoint that was packaged."""

    @cache
    def load(source: Path) -> OnnxEncoder | OnnxClassifier:
        folder = tmp_path_factory.mktemp("onnx")
        (folder / MODEL).write_bytes(graphs["javascript", str(source)].SerializeToString())
        model, tokenizer = load_checkpoint(str(source))
        write_settings(sentence_encoder_of(model, str(source)), tokenizer, folder)
        return (OnnxEncoder if (source / "modules.json").is_file() else OnnxClassifier)(folder)

    return load


def near(found: Any, expected: np.ndarray) -> bool:
    return np.shape(found) == expected.shape and bool(np.abs(np.array(found) - expected).max() <= 1e-5)


@in_each_engine
@pytest.mark.quick("chromium")  # the other tests run in Node
def test_vectors_are_those_of_onnx_model(engine: str, small, packaged, in_onnxruntime, run_in) -> None:
    folder, encoder = packaged(small(None)), in_onnxruntime(small(None))
    vectors, short, numbers = run_in(
        engine, folder, ENCODE, TEXTS, {}, {"dimensions": 5}, {"dimensions": 5, "int8": True}
    )
    assert near(vectors, encoder.encode(TEXTS))
    assert near(short, encoder.encode(TEXTS, dimensions=5))
    assert np.abs(np.array(numbers) - encoder.encode(TEXTS, dimensions=5, int8=True)).max() <= 1
    assert np.abs(numbers).max(axis=1).tolist() == [127] * len(TEXTS)
    assert run_in(engine, folder, ENCODE, []) == []
    model = folder / "model.bin"  # its path in Node; its address, relative to the page, in Chromium
    place = str(model if engine == "node" else model.relative_to(folder.parent.parent))
    assert near(run_in(engine, folder, LOAD_FROM_ALL, place), np.repeat(encoder.encode(["No."]), 7, axis=0))


@in_each_engine
@pytest.mark.parametrize(("problem", "is_pair"), [(SINGLE, False), (MULTI, True), ("regression", False)])
@pytest.mark.quick(f"{SINGLE}-False-node")  # test_page.py has pairs and several labels
def test_labels_and_probabilities_are_those_of_onnx_model(
    problem: str, is_pair: bool, engine: str, small, packaged, in_onnxruntime, run_in
) -> None:
    folder = packaged(small(problem), *(["--pairs"] if is_pair else []))
    texts: list[Any] = PAIRS if is_pair else TEXTS
    found, program = run_in(engine, folder, CLASSIFY, texts), in_onnxruntime(small(problem))
    given = list(map(tuple, texts)) if is_pair else texts
    assert near([each["logits"] for each in found], np.concatenate([program.logits([each]) for each in given]))
    for each, answer in zip(found, program(given), strict=True):
        if problem == "regression":
            assert each["probabilities"] == [] and float(each["label"]) == each["logits"][0]
            continue
        assert near(each["probabilities"], np.array(list(answer.values())))
        likely = [label for label, probability in answer.items() if probability >= 0.5]
        assert each["label"] == (likely if is_pair else max(answer, key=answer.get))
    assert [each["truncated"] for each in found] == [len(str(text)) > 2000 for text in texts]


def test_every_reader_of_a_classifier_cuts_a_text_at_the_length_of_its_head(
    small, packaged, in_onnxruntime, run_in, tmp_path
) -> None:
    folder, text = shutil.copytree(small(SINGLE), tmp_path / "short"), "a quiet wonder " * 8 + "not at all " * 8
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 30}))
    model, tokenizer = load_checkpoint(str(folder))
    classifier = VocablessClassifier()
    classifier.model_, classifier.tokenizer_, classifier.classes_ = model, tokenizer, np.arange(3)
    classifier.problem_, classifier._has_warned = SingleLabel(["0", "1", "2"]), True
    expected = classifier.predict_proba([text])[0]
    (found,) = run_in("node" if shutil.which("node") else "chromium", packaged(folder), CLASSIFY, [text])
    assert near(found["probabilities"], expected)
    assert near(list(in_onnxruntime(folder)(text)[0].values()), expected)
    loaded = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    for options in ({"model": str(folder)}, *({"model": model, "tokenizer": each} for each in (tokenizer, loaded))):
        pipe = pipeline("text-classification", **options, trust_remote_code=True, device="cpu")
        answers = pipe(text, top_k=None), pipe(text, top_k=None, truncation=False)
        scores, whole = ({one["label"]: one["score"] for one in answer} for answer in answers)
        assert near([scores[f"LABEL_{index}"] for index in range(3)], expected)
        assert abs(whole["LABEL_0"] - expected[0]) > 1e-4
        pair = {"text": text, "text_pair": text}
        assert pipe(pair) == pipe(pair, truncation=True)


@in_each_engine
@pytest.mark.parametrize("rule", [True, "odds"])
@pytest.mark.quick("odds-node")
def test_every_reader_of_a_classifier_reads_the_sentences_of_a_text(
    engine: str, rule: bool | str, small, packaged, in_onnxruntime, run_in
) -> None:
    source = small(SINGLE, rule)
    package = packaged(source)
    model, tokenizer = load_checkpoint(str(source))
    texts = ["Good morning to all of you. My card is lost!", "No.", *(" ".join([*each]) for each in MANY_SENTENCES)]
    texts.append("Dear Sir or Madam, my card, which I lost, is not here")
    encoding = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        expected = model(**encoding).logits
        model.config.classifier_reads_sentences = False
        of_whole_texts = model(**encoding).logits
    assert (expected - of_whole_texts).abs().amax(dim=1)[0] > 1e-3 and torch.equal(expected[1], of_whole_texts[1])
    assert torch.equal(expected[-1], of_whole_texts[-1]) == (rule != "odds")
    assert near(in_onnxruntime(source).logits(texts), expected.numpy())
    assert near([each["logits"] for each in run_in(engine, package, CLASSIFY, texts)], expected.numpy())
    pipe = pipeline("text-classification", str(source), trust_remote_code=True, device="cpu")
    for text, probabilities in zip(texts[:3], expected.softmax(dim=-1).tolist(), strict=False):
        scores = {one["label"]: one["score"] for one in pipe(text, top_k=None)}
        assert near([scores[f"LABEL_{index}"] for index in range(3)], np.array(probabilities))


@in_each_engine
@pytest.mark.slow
def test_every_reader_of_several_labels_gives_those_that_reach_the_limit_of_the_model(
    engine, random_checkpoint, packaged, in_onnxruntime, run_in, tmp_path
) -> None:
    """The limit is between two near probabilities. Without one it is 0.5, as in the test of probabilities."""
    source = random_checkpoint("ewe-bert-word-tiny", CLASSIFIER, problem_type=MULTI, num_labels=3)
    folder, texts = shutil.copytree(source, tmp_path / "limited"), [text for text in TEXTS if text.strip()]
    found = np.sort(VocablessClassifier.from_pretrained(folder).predict_proba(texts).ravel())
    wide = np.flatnonzero(np.diff(found) > 2e-5)
    place = wide[np.abs(wide - len(found) // 4).argmin()]
    threshold = float(found[place : place + 2].mean())
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"classifier_threshold": threshold}))
    package, classifier = packaged(folder), VocablessClassifier.from_pretrained(folder)
    program, rows = in_onnxruntime(folder), classifier.predict(texts)
    assert classifier.problem_.threshold == program.threshold == threshold and 0 < rows.sum() < rows.size
    expected = [[name for name, has in zip(classifier.classes_, row, strict=True) if has] for row in rows]
    assert [program.label_of(answer) for answer in program(texts)] == expected
    assert [each["label"] for each in run_in(engine, package, CLASSIFY, texts)] == expected


@pytest.mark.slow
@pytest.mark.skipif(not CHECKPOINTS.is_dir(), reason="this archive has no trained weights; clone the repository")
@pytest.mark.parametrize("source", SHIPPED, ids=lambda folder: folder.name)
def test_strings_of_all_scripts(source: Path, packaged, in_onnxruntime, run_in) -> None:
    """Vectors are those of sentence-transformers, of the program beside a graph, and of a page.

    Most encoders read fewer strings: they have the readers of the smallest one, and take up to a minute for 2 000.
    """
    count = 2000 if source.name == "hashgram-nano-sentence" else 150
    texts = ["", " ", "\t\n", "word " * 600, "a" * 5000, "[MASK] it", *random_strings(count, seed=2000)]
    folder = packaged(source)
    program = in_onnxruntime(source)
    if isinstance(program, OnnxEncoder):
        transformers = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
        original = transformers.SentenceTransformer(str(source), trust_remote_code=True, device="cpu")
        vectors = program.encode(texts)
        assert near(vectors, original.encode(texts))
        assert near(run_in("chromium", folder, ENCODE, texts), vectors)
    else:
        found = [each["logits"] for each in run_in("chromium", folder, CLASSIFY, texts)]
        assert near(found, np.concatenate([program.logits([text]) for text in texts]))


@in_each_engine
@pytest.mark.quick("node")
def test_what_is_no_model_of_the_kind_and_a_wrong_argument_are_refused(engine: str, small, packaged, run_in) -> None:
    encoder, single, pairs = packaged(small(None)), packaged(small(SINGLE)), packaged(small(MULTI), "--pairs")
    other, module = (
        str(file if engine == "node" else file.relative_to(encoder.parent.parent))
        for file in (single / "model.bin", encoder / "vocabless.js")
    )
    fail = partial(run_in, engine, encoder, FAIL)
    assert fail("Classifier") == "this model is a sentence encoder; load it with Encoder.load."
    assert fail("Encoder", other) == "this model is a classifier; load it with Classifier.load."
    assert fail("Encoder", module).startswith("this is no model; give a model.bin")
    absent = "ENOENT" if engine == "node" else "vocabless.jsx cannot be loaded: the server answers 404"
    assert absent in fail("Encoder", module + "x")
    said = "RangeError: dimensions=%s is not within 1 and 12; give a number between."
    no_list = [[texts] for texts in ("No.", None, 5, {"text": "No."})]
    no_text = [[["No.", text]] for text in (None, 5, ["a", "b"], {})]
    no_pair = [[["No."]], [[["a"]]], [[["a", None]]], [[None]]]
    for folder, call, given, sentences in (
        (
            encoder,
            ENCODE,
            [[["No."], {"dimensions": wrong}] for wrong in (0, 13, 2.5)],
            [said % 0, said % 13, said % 2.5],
        ),
        (encoder, ENCODE, no_list + no_text, NO_LIST + NO_TEXT),
        (single, CLASSIFY, no_list + no_text, NO_LIST + NO_TEXT),
        (
            pairs,
            CLASSIFY,
            no_list + no_pair,
            [line.replace("of texts", "of pairs of texts") for line in NO_LIST] + NO_PAIR,
        ),
    ):
        program = f"(module, ...given) => Promise.all(given.map((each) => ({call})(module, ...each).catch(String)))"
        assert run_in(engine, folder, program, *given) == sentences


@pytest.mark.parametrize(("name", "problem"), [("Encoder", None), ("Classifier", SINGLE)])
def test_the_types_name_what_the_module_has(name: str, problem: str | None, small, packaged, run_in) -> None:
    folder = packaged(small(problem))
    types = (folder / "vocabless.d.ts").read_text(encoding="utf-8")
    bodies = dict(re.findall(r"^export (?:class|interface) (\w+) \{\n(.*?)^\}", types, re.M | re.S))
    found = run_in("chromium", folder, MEMBERS, name)
    assert sorted(found["exported"]) == sorted(re.findall(r"^export class (\w+)", types, re.M))
    statics = {*found["statics"]} - {"length", "name", "prototype"}
    assert set(re.findall(r"^  static (\w+)", bodies[name], re.M)) == statics
    declared = set(re.findall(r"^  (?:readonly )?(?!static|private)(\w+)", bodies[name], re.M))
    assert declared and declared <= set(found["members"])
    if found["prediction"]:
        for kind, value in (("Prediction", found["prediction"]), ("Unit", found["prediction"]["units"][0])):
            assert set(re.findall(r"^  (\w+): ", bodies[kind], re.M)) == set(value)


@needs_node
@pytest.mark.parametrize(
    ("problem", "flags", "printed"),
    [
        (None, [], r"\[ -?0\.\d+, -?0\.\d+ \]\n"),
        (SINGLE, ["--pairs", "--name", "@me/pairs"], r"(LABEL_\d \[( -?\d\.\d+(e-\d+)?,?){3} \]\n){3}"),
    ],
)
def test_the_example_of_the_readme_runs(problem, flags, printed, small, packaged) -> None:
    folder = packaged(small(problem), *flags)
    (example,) = re.findall(r"^```js\n(.*?)^```", (folder / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert re.fullmatch(printed, node(folder, example))


@pytest.mark.parametrize(("flags", "text"), [([], "Write a text of your own here."), (["--pairs"], "He left early.")])
def test_the_readme_of_own_data_has_a_neutral_example(flags, text, small, convert, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(javascript, "read_card_facts", lambda _: CardFacts(kind="fine-tuned", is_own_data=True))
    convert(["javascript", str(small(SINGLE)), str(tmp_path / "package"), *flags])
    assert text in (tmp_path / "package" / "README.md").read_text(encoding="utf-8")


def test_the_folder_is_a_package(small, convert, tmp_path, monkeypatch, capsys) -> None:
    source, target = str(small(None)), tmp_path / "package"
    (target / "old").mkdir(parents=True)
    assert "is not an empty folder" in refusal(convert, "javascript", source, target)
    convert(["javascript", source, str(target), "--overwrite", "--name", "@me/vectors", "--model_id", "me/mine"])
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
    convert(["javascript", source, str(target), "--overwrite"])
    about = json.loads((target / "package.json").read_text(encoding="utf-8"))
    assert (about["name"], about["license"]) == ("encoder", "Apache-2.0")
    assert (target / "old").is_dir()
