"""The page that learns, in a real Chromium: what it learns, shows and gives to take away is what Python has."""

import ast
import csv
import json
import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import yaml

from benchmarks.chromium import Chromium

for package in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(package, reason="the extra [onnx] is not installed")

from vocabless import (  # noqa: E402
    VocablessClassifier,
    VocablessForSequenceClassification,
    VocablessModel,
    VocablessTokenizer,
    load_config,
)
from vocabless.conversion.__main__ import main  # noqa: E402
from vocabless.conversion.space_export.page import open_page  # noqa: E402
from vocabless.conversion.space_export.teaching import FIRST_WEIGHT, open_graph, with_open_head  # noqa: E402
from vocabless.training.finetuning import problems, stages  # noqa: E402
from vocabless.training.finetuning.metrics import interval  # noqa: E402

ENCODER = Path(__file__).resolve().parent.parent.parent / "checkpoints" / "hashgram-nano-sentence"
pytestmark = pytest.mark.skipif(
    not ENCODER.is_dir(), reason="this archive has no trained weights; clone the repository"
)
DATA = "document.documentElement.dataset"
EVIL = "<img src=x onerror=\"document.title='bad'\"></script><!--<script>"
TEXTS = {
    "food & <b>drink</b>": ["Fry the onions in butter.", "The soup needs more salt.", "Bake the bread slowly.", EVIL],
    "sport": ["She won the race.", "Our team lost the match.", "The coach was angry.", "He scored twice, again."],
    "الطقس": ["It will rain tomorrow.", "Snow in the mountains.", "الجو بارد اليوم.", "A storm is coming."],
}
ROWS = [(text, label) for label, texts in TEXTS.items() for text in texts]
ASKED = ["The players waited for the rain to stop.", "wonderflummoxing butter 😀 日本語", "word " * 600]
FOCUSED = "(({ ariaLabel, textContent, id }) => ariaLabel || textContent || id)(document.activeElement)"
PROBABILITIES = """
import contextlib, io
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True).eval()
with torch.no_grad():
    encoded = [tokenizer(text, truncation=True, return_tensors="pt") for text in texts]
    rows = [model(**each).logits[0].softmax(-1).tolist() for each in encoded]
card = open(folder + "/README.md", encoding="utf-8").read()
example = card.partition("```python")[2].partition("```")[0]
with contextlib.redirect_stdout(io.StringIO()) as printed:
    exec(example.replace("FOLDER", folder).replace("A text of your own.", texts[0]))
result = [model.config.id2label, rows, printed.getvalue()]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("pages") / "page"
    main(["space", str(ENCODER), str(target), "--teach", "--title", EVIL])
    return target


@pytest.fixture
def page(folder: Path, chromium: Chromium, tmp_path: Path) -> Iterator[Chromium]:
    """The page, newly opened; it downloads into `tmp_path`."""
    chromium.look(1000, 900)
    chromium.open((folder / "index.html").as_uri())
    chromium.wait(f"{DATA}.failure || document.querySelectorAll('.card').length === 2", seconds=60)
    assert chromium.evaluate(f"{DATA}.failure") is None
    chromium.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    yield chromium
    chromium.evaluate("onbeforeunload = null")  # it would ask before the next page opens
    chromium.call("Emulation.clearDeviceMetricsOverride")


def give(page: Chromium, texts: dict[str, list[str]], title: str = "") -> None:
    """Writes labels and texts into the cards, as a person does who pastes lines."""
    for _ in range(len(texts) - 2):
        page.evaluate("document.querySelector('#add').click()")
    for number, (label, lines) in enumerate(texts.items(), start=1):
        page.write(f".card:nth-child({number}) input", label)
        page.write(f".card:nth-child({number}) textarea", "\n".join(lines))
    wait_for(page, sum(bool(line.strip()) for lines in texts.values() for line in lines))
    page.write("#name", title)


def wait_for(page: Chromium, texts: int) -> None:
    page.wait(f"{DATA}.failure || {DATA}.texts === '{texts}'", seconds=60)
    assert page.evaluate(f"{DATA}.failure") is None


def ask(page: Chromium, text: str) -> list[float]:
    page.evaluate(f"delete {DATA}.probabilities; undefined")
    page.write("#text", text)
    page.wait(f"{DATA}.probabilities !== undefined", seconds=60)
    return json.loads(page.evaluate(f"{DATA}.probabilities"))


def take(page: Chromium, what: str, file: Path) -> Path:
    """Presses a button and waits for its file."""
    page.evaluate(f"document.querySelector('#take-{what}').click()")
    end = time.monotonic() + 20
    while not file.is_file() and time.monotonic() < end:
        time.sleep(0.05)
    return file


def texts_of(page: Chromium, selector: str) -> list[str]:
    return page.evaluate(f"[...document.querySelectorAll('{selector}')].map((one) => one.textContent)")


def test_page_checkpoint_and_python_agree(page: Chromium, run_bare, tmp_path: Path, monkeypatch) -> None:
    give(page, TEXTS, "My {{title}} 1")
    labels = json.loads(page.evaluate(f"{DATA}.labels"))
    assert labels == sorted(TEXTS)
    asked = [ask(page, text) for text in ASKED]

    with zipfile.ZipFile(take(page, "checkpoint", tmp_path / "My-title-1.zip")) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path)
    checkpoint = tmp_path / "My-title-1"
    assert {file.name for file in checkpoint.iterdir()} == {
        "README.md", "config.json", "configuration_vocabless.py", "model.safetensors", "modeling_vocabless.py",
        "tokenization_vocabless.py", "tokenizer_config.json",
    }  # fmt: skip
    names, found, example = run_bare(PROBABILITIES, folder=checkpoint, texts=ASKED)
    assert list(names.values()) == labels
    assert np.abs(np.array(found) - asked).max() <= 1e-4
    (answer,) = ast.literal_eval(example.splitlines()[-1])  # what the example in the card prints
    assert answer == {"label": labels[np.argmax(asked[0])], "score": pytest.approx(max(asked[0]), abs=1e-4)}

    _, metadata, card = (checkpoint / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert yaml.safe_load(metadata)["pipeline_tag"] == "text-classification"
    assert "# My {{title}} 1\n" in card and f"learned from {len(ROWS)} texts" in card and "| sport | 4 |" in card
    assert not any(text in (checkpoint / "README.md").read_text(encoding="utf-8") for text, _ in ROWS)

    # The same head from Python, on the encoder of the page, whose weights are 8-bit numbers.
    encoder = tmp_path / "encoder"
    VocablessModel.from_pretrained(checkpoint).save_pretrained(encoder)
    VocablessTokenizer.from_pretrained(checkpoint).save_pretrained(encoder)
    monkeypatch.setattr(problems, "TOLERANCE", 1e-10)
    monkeypatch.setattr(stages, "can_score", lambda *_: False)
    classifier = VocablessClassifier(str(encoder), max_seq_length=512).fit(*zip(*ROWS, strict=True))
    assert classifier.classes_.tolist() == labels
    assert np.abs(classifier.predict_proba(ASKED) - asked).max() <= 1e-4
    accuracy = classifier.cross_validated_["accuracy"]
    assert float(page.evaluate(f"{DATA}.accuracy")) == pytest.approx(accuracy)
    assert json.loads(page.evaluate(f"{DATA}.interval")) == pytest.approx(interval("accuracy", accuracy, len(ROWS), 5))
    state = VocablessForSequenceClassification.from_pretrained(checkpoint).state_dict()
    for name, tensor in classifier.model_.state_dict().items():
        assert np.allclose(state[name], tensor, atol=1e-3, rtol=1e-4), name


def test_the_page_to_take_classifies_alone(page: Chromium, folder: Path, tmp_path: Path) -> None:
    give(page, TEXTS, EVIL)
    asked = [ask(page, text) for text in ASKED[:2]]
    file = take(page, "page", tmp_path / "img-src-x-onerror-document-title-bad-script-script.html")
    content = file.read_text(encoding="utf-8")
    assert not any(text in content for text, _ in ROWS if text != EVIL)
    page.evaluate("onbeforeunload = null")
    for text, probabilities in zip(ASKED, asked, strict=False):
        page.open(f"{file.as_uri()}#text={quote(text)}")
        page.wait(f"{DATA}.failure || {DATA}.probabilities", seconds=60)
        assert json.loads(page.evaluate(f"{DATA}.probabilities")) == pytest.approx(probabilities, abs=1e-4)
    assert page.evaluate("document.title") == EVIL
    assert sorted(texts_of(page, ".bar .name")) == sorted(TEXTS)
    page.wait("document.querySelector('#map').ariaBusy === 'false'")  # which words did it
    assert page.evaluate("document.querySelectorAll('img').length") == 0


def test_the_texts_are_taken_as_csv_and_opened_again(page: Chromium, tmp_path: Path) -> None:
    give(page, TEXTS)
    with take(page, "texts", tmp_path / "My-classifier.csv").open(encoding="utf-8", newline="") as file:
        assert [(row["text"], row["label"]) for row in csv.DictReader(file)] == ROWS
    accuracy = page.evaluate(f"{DATA}.accuracy")
    page.open(page.evaluate("location.href"))
    page.wait("document.querySelectorAll('.card').length === 2", seconds=60)
    document = page.call("DOM.getDocument")["root"]["nodeId"]
    field = page.call("DOM.querySelector", nodeId=document, selector="#files")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=field, files=[str(tmp_path / "My-classifier.csv")])
    wait_for(page, len(ROWS))
    assert page.evaluate(f"{DATA}.accuracy") == accuracy


def test_nothing_runs_and_nothing_leaves(page: Chromium) -> None:
    give(page, TEXTS | {EVIL: [EVIL, "x"]})
    ask(page, EVIL)
    assert page.evaluate("document.title") == EVIL
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert all(address.startswith(("file:", "blob:")) for address in page.requests)


def test_the_least_sure_texts_are_those_whose_label_is_least_likely(page: Chromium) -> None:
    wrong = "The players lost the match in the last minute."
    food = [
        "Fry the onions in butter.",
        "The soup needs more salt.",
        "Bake the bread slowly.",
        "Serve the fish with rice.",
    ]
    sport = ["She won the race.", "Our team lost the match.", "The coach was angry.", "The players won the last match."]
    give(page, {"food": [*food, wrong], "sport": sport})
    assert texts_of(page, "#rows .text")[0] == wrong
    assert len(texts_of(page, "#rows .text")) == 5
    assert texts_of(page, "#rows .guess")[0].startswith("It says sport: ")
    page.evaluate("""(() => {
      const select = document.querySelector('#rows select');
      select.value = 'sport';
      select.dispatchEvent(new Event('change'));
    })()""")
    values = "[...document.querySelectorAll('.card textarea')].map((one) => one.value)"
    assert page.evaluate(values) == ["\n".join(food), "\n".join([*sport, wrong])]


def test_a_choice_of_a_label_teaches_the_text(page: Chromium) -> None:
    give(page, TEXTS)
    before = ask(page, ASKED[0])
    labels = json.loads(page.evaluate(f"{DATA}.labels"))
    page.evaluate(f"document.querySelectorAll('.bar')[{labels.index('sport')}].click()")
    wait_for(page, len(ROWS) + 1)
    assert page.evaluate("document.querySelectorAll('.card textarea')[1].value").endswith(ASKED[0])
    assert page.evaluate("document.activeElement.id") == "text" and page.evaluate("document.activeElement.value") == ""
    assert ask(page, ASKED[0])[labels.index("sport")] > before[labels.index("sport")]


def test_too_few_texts_are_asked_for(page: Chromium) -> None:
    shown = "['lesson', 'unsure', 'try', 'take'].map((id) => document.getElementById(id).checkVisibility())"
    for texts in ("", "one"):
        page.write(".card textarea", texts)
        assert page.evaluate(shown) == [False] * 4
        assert "two labels two texts each" in texts_of(page, "#note")[0]
    give(page, {"x": ["a", "b"], "": ["c", "d", "", "  ", "d"]})
    assert page.evaluate(shown) == [True] * 4
    assert json.loads(page.evaluate(f"{DATA}.labels")) == ["Label 2", "x"]
    page.evaluate("document.querySelector('.card .remove').click()")
    page.wait(f"JSON.stringify({shown}) === '[false,false,false,false]'")


def test_keyboard_and_screen_reader(page: Chromium) -> None:
    give(page, TEXTS)
    page.evaluate("document.querySelector('.card input').focus()")
    order = []
    for _ in range(13):
        order.append(page.evaluate(FOCUSED))
        page.press("Tab")
    card = ["Name of label 1", "Remove food & <b>drink</b>", "Texts of food & <b>drink</b>, one in each line"]
    assert order[:4] == [*card, "Name of label 2"]
    assert order[9:12] == ["Add a label", "files", "Show me an example"]
    assert order[12].startswith("Label of: ")
    for place in ("#text", "#name", "#files"):
        assert page.evaluate(f"document.querySelector('{place}').labels.length") == 1
    page.wait("document.querySelector('#spoken').textContent !== ''")
    spoken = texts_of(page, "#spoken")[0]
    assert re.fullmatch(r"\d+ % of 12 texts are right, \d+ % to \d+ % of others\.", spoken)
    assert page.evaluate("getComputedStyle(document.querySelectorAll('.card input')[2]).direction") == "rtl"


@pytest.mark.parametrize("width", [320, 360, 1100])
def test_nothing_is_wider_than_the_window(width: int, page: Chromium) -> None:
    page.look(width, 700)
    give(page, {"x" * 80: ["y" * 300, "two"], "other": ["z" * 90, "four " * 80]})
    ask(page, "word" * 90)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_that_would_lose_texts_asks(page: Chromium) -> None:
    leaves = "!dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    assert page.evaluate(leaves) is False
    give(page, TEXTS)
    assert page.evaluate(leaves) is True
    page.evaluate("document.querySelector('#take-texts').click()")
    assert page.evaluate(leaves) is False


def test_the_page_of_the_verb_and_the_page_to_take_are_one_program(folder: Path) -> None:
    text = (folder / "index.html").read_text(encoding="utf-8")
    template = json.loads(re.search(r'id="page">(.*?)</script>', text, re.S)[1])
    assert template == open_page()
    assert sorted(re.findall(r"\{\{(\w+)\}\}", template)) == ["manifest", "title", "title", "weights"]
    assert (folder / "README.md").read_text(encoding="utf-8").startswith("---\n")


@pytest.mark.parametrize("option", [["--pairs"], ["--example", "a text"]])
def test_options_of_classifiers_are_refused(option: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="leave --pairs and --example out"):
        main(["space", str(ENCODER), str(tmp_path / "page"), "--teach", *option])


def test_a_model_with_scores_of_its_labels_is_refused() -> None:
    config: Any = load_config("hashgram-nano", num_labels=2)
    config.front_end_options = {**config.front_end_options, "num_scores": 2}
    with pytest.raises(ValueError, match="scores of n-grams"):
        with_open_head(VocablessForSequenceClassification(config))


def test_a_tensor_that_the_graph_lacks_stands_behind_the_weights() -> None:
    """Folded, transposed and unread tensors: of this graph, only the head's first layer is known, transposed."""
    from onnx import helper, numpy_helper

    model = with_open_head(VocablessModel(load_config("hashgram-nano")))
    first = np.ascontiguousarray(model.classifier.dense.weight.detach().numpy().T)
    initializers = [numpy_helper.from_array(np.zeros(2, np.float32)), numpy_helper.from_array(first)]
    proto = helper.make_model(helper.make_graph([], "graph", [], [], initializers))
    graph: dict[str, Any] = {"nodes": [{"inputs": [7, 1, 4]}], "outputs": {}}
    places, weights = open_graph(model, proto, graph, b"12345")
    assert graph["outputs"] == {"sentence_embedding": 7}
    assert places[FIRST_WEIGHT] == {"constant": 1, "transposed": True}
    for name, tensor in model.state_dict().items():
        if name != FIRST_WEIGHT:
            constant = places[name]["constant"]
            assert constant["dims"] == list(tensor.shape) and constant["offset"] % 4 == 0 and weights[:5] == b"12345"
            found = np.frombuffer(weights, "<f4", tensor.numel(), constant["offset"])
            assert (found == tensor.numpy().ravel()).all()
