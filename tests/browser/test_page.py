"""The page in a real Chromium, opened from a file: what a person, a screen reader and a test find in it."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
import torch
from chromium import Chromium

from vocabless import VocablessForSequenceClassification, VocablessForTokenClassification, load_config, load_tokenizer
from vocabless.conversion.onnx import reads_token_types
from vocabless.conversion.onnx_export.graph import export
from vocabless.conversion.space import make_manifest
from vocabless.conversion.space_export import page as space_page
from vocabless.conversion.space_export.graph_json import to_json

VARIANT = "ewe-bert-word-tiny"  # the one that is exported in the shortest time
EVIL = "<img src=x onerror=\"document.title='bad'\">"
LABELS = [EVIL, "b & c</script>", "positive"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC"]
TEXT, PAIR = "Ada  met a borring, wonderflummoxing cat.", "She likes cats."
DATA = "document.documentElement.dataset"


class Made:
    """The pages of two small models with random weights, by task."""

    def __init__(self, folder: Path, shrink: Callable) -> None:
        torch.manual_seed(0)
        self.folder = folder
        self.tokenizer = load_tokenizer(VARIANT)
        self.texts = self._model(VocablessForSequenceClassification, LABELS, shrink)
        self.words = self._model(VocablessForTokenClassification, TAGS, shrink)
        for model, tasks in (
            (self.texts, ("single_label", "multi_label", "regression", "pairs")),
            (self.words, ("tags", "odd_word")),
        ):
            graph, weights = to_json(export(model, reads_token_types(model, self.tokenizer)), bits=32)
            manifest = make_manifest(model, self.tokenizer, False) | {"graph": graph, "model_card": "javascript:1"}
            for task in tasks:
                of_task = {"task": task, "examples": [TEXT, f"{EVIL} </script>"]}
                if task == "pairs":
                    of_task = {"takes_pairs": True, "examples": [[TEXT, PAIR]]}
                (folder / task).mkdir()
                space_page.write_page(folder / task, {**manifest, "title": f"{EVIL} {task}", **of_task}, weights)

    def _model(self, head: type, labels: list[str], shrink: Callable) -> torch.nn.Module:
        config = shrink(load_config(VARIANT, id2label=dict(enumerate(labels))))
        model = head(config).eval()
        with torch.no_grad():
            for parameter in model.classifier.parameters():
                parameter.mul_(20)  # so that labels differ between texts
        return model

    def address(self, name: str, text: str, pair: str | None = None) -> str:
        second = "" if pair is None else f"&pair={quote(pair)}"
        return f"{(self.folder / name / 'index.html').as_uri()}#text={quote(text)}{second}"

    def logits(self, model: torch.nn.Module, text: str, pair: str | None = None) -> torch.Tensor:
        inputs = self.tokenizer(text, pair, return_tensors="pt")
        with torch.no_grad():
            return model(**inputs).logits[0]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, shrink: Callable) -> Made:
    pytest.importorskip("onnxscript")
    return Made(tmp_path_factory.mktemp("pages"), shrink)


@pytest.fixture
def browser(chromium: Chromium) -> Chromium:
    chromium.look(1280, 900)
    return chromium


def show(browser: Chromium, address: str) -> None:
    """Opens a page and waits for its answer and its word map."""
    browser.open(address)
    browser.wait(f"{DATA}.failure || {DATA}.probabilities && document.querySelector('#map').ariaBusy === 'false'")
    assert browser.evaluate(f"{DATA}.failure") is None


def text_of(browser: Chromium, selector: str) -> str:
    return browser.evaluate(f"document.querySelector('{selector}').textContent")


def each(browser: Chromium, selector: str, what: str) -> list:
    """Returns a property, or the result of a method, of each element."""
    return browser.evaluate(f"[...document.querySelectorAll('{selector}')].map((one) => one.{what})")


def probabilities(browser: Chromium) -> torch.Tensor:
    return torch.tensor(json.loads(browser.evaluate(f"{DATA}.probabilities")))


def close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    return torch.allclose(found, expected, atol=2e-4)


@pytest.mark.parametrize(
    ("task", "pair", "of_logits"),
    [
        ("single_label", None, lambda logits: logits.softmax(-1)),
        ("multi_label", None, torch.sigmoid),
        ("regression", None, lambda logits: logits),
        ("pairs", PAIR, lambda logits: logits.softmax(-1)),
    ],
)
def test_the_page_answers_the_texts_of_its_address_as_the_model_does(task, pair, of_logits, made, browser) -> None:
    show(browser, made.address(task, TEXT, pair))
    expected = of_logits(made.logits(made.texts, TEXT, pair))
    assert close(probabilities(browser), expected)
    assert each(browser, "#map p", "textContent") == ([TEXT, PAIR] if pair else [TEXT])
    assert browser.evaluate("document.querySelector('#text').value") == TEXT
    assert browser.evaluate("document.querySelector('#pair').checkVisibility()") == (task == "pairs")
    assert text_of(browser, "#figure-tokens") == f"{made.tokenizer.model_max_length} tokens"
    if task == "single_label":
        assert browser.evaluate(f"{DATA}.label") == LABELS[int(expected.argmax())]


@pytest.mark.parametrize("task", ["tags", "odd_word"])
def test_words_have_answers_of_their_own(made: Made, browser: Chromium, task: str) -> None:
    show(browser, made.address(task, TEXT))
    expected = made.logits(made.words, TEXT)[1:-1].softmax(-1)  # without [CLS] and [SEP]
    assert close(probabilities(browser), expected)
    labels = [TAGS[index] for index in expected.argmax(-1)]
    assert json.loads(browser.evaluate(f"{DATA}.label")) == labels
    assert text_of(browser, "#map") == TEXT
    marked = each(browser, "#map button", "className")
    if task == "tags":
        assert ["tag" in name for name in marked] == [label != "O" for label in labels]
        assert text_of(browser, "#legend") == "PERLOC"
    else:
        assert ["flips" in name for name in marked] == (expected[:, 0] <= 0.5).tolist()


def test_the_word_map_leaves_each_word_out_once(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", TEXT))
    whole = made.logits(made.texts, TEXT).softmax(-1)
    target = int(whole.argmax())
    words = each(browser, "#map button", "textContent")
    assert words == re.findall(r"\w+|[^\w\s]", TEXT)
    said = each(browser, "#map button", "getAttribute('aria-label')")
    flipped = each(browser, "#map button", "matches('.flips')")
    for place, (word, sentence, flips) in enumerate(zip(words, said, flipped, strict=True)):
        without = made.logits(made.texts, " ".join(words[:place] + words[place + 1 :])).softmax(-1)
        assert sentence.startswith(f"Without “{word}”: {LABELS[target]}")
        shown = float(re.search(r"([\d.]+) %(?!.*→)", sentence)[1]) / 100
        assert abs(shown - float(without[target])) < 1.1e-3
        assert flips == (int(without.argmax()) != target)


def test_labels_titles_and_examples_are_text(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", EVIL))
    assert browser.evaluate("document.title") == f"{EVIL} single_label"
    assert text_of(browser, "h1") == f"{EVIL} single_label"
    assert text_of(browser, ".bar .name") == EVIL
    assert each(browser, "#examples button", "textContent")[1] == f"{EVIL} </script>"
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("document.querySelector('#model-card').checkVisibility()") is False  # not a web address


def test_no_handler_in_markup_and_no_request_can_run(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", TEXT))
    assert all(address.startswith(("file:", "blob:")) for address in browser.requests)
    browser.evaluate(
        "window.refused = []; addEventListener('securitypolicyviolation', (e) => refused.push(e.effectiveDirective));"
        f"document.body.insertAdjacentHTML('beforeend', {json.dumps(EVIL)}); fetch('http://127.0.0.1:9').catch(() => 0)"
    )
    browser.wait("refused.includes('img-src') && refused.includes('connect-src')", seconds=5)
    assert browser.evaluate("document.title") != "bad"


def test_writing_moves_the_answer_and_the_address_but_not_the_history(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", TEXT))
    pages = browser.evaluate("history.length")
    for text in ("Räuber & co + #1", "sun"):
        browser.write("#text", text)
        browser.wait(f"new URLSearchParams(location.hash.slice(1)).get('text') === {json.dumps(text)}")
        assert close(probabilities(browser), made.logits(made.texts, text).softmax(-1))
    assert browser.evaluate("history.length") == pages
    browser.evaluate("document.querySelector('#examples button').click()")
    browser.wait(f"document.querySelector('#map').textContent === {json.dumps(TEXT)}")


def test_a_choice_of_a_label_explains_that_label(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", TEXT))
    for label in (2, 1):
        browser.evaluate(f"document.querySelectorAll('.bar')[{label}].click()")
        said = browser.evaluate("document.querySelector('#map button').getAttribute('aria-label')")
        assert said.startswith(f"Without “Ada”: {LABELS[label]} ")
        assert text_of(browser, ".bar[aria-pressed=true] .name") == LABELS[label]


def test_a_text_of_20_000_words_does_not_stop_the_page(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", TEXT))
    browser.write("#text", "so many words " * 6667)
    browser.wait("document.querySelector('#note').textContent.includes('too long')")
    browser.write("#text", "short")  # the map of the long text is under way
    browser.wait("document.querySelector('#map').textContent === 'short'", seconds=5)
    assert close(probabilities(browser), made.logits(made.texts, "short").softmax(-1))


@pytest.mark.parametrize("task", ["single_label", "tags", "odd_word"])
def test_a_long_word_is_shown_by_its_beginning(made: Made, browser: Chromium, task: str) -> None:
    show(browser, made.address(task, f"{'ab' * 5000} cat"))
    assert text_of(browser, "#map") == f"{'ab' * 150}… cat"
    said = [each(browser, place, what)[0] for place, what in (("#map button", "ariaLabel"), ("#detail", "textContent"))]
    assert all(len(sentence) < 500 for sentence in [*said, text_of(browser, "#verdict")])


def test_the_keyboard_reaches_the_words_and_a_screen_reader_hears_the_label(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", TEXT))
    browser.evaluate("document.querySelector('#text').focus()")
    order = []
    for _ in range(7):
        browser.press("Tab")
        order.append(browser.evaluate("document.activeElement.id || document.activeElement.className || 'example'"))
    assert order[0] == "link" and order[1:3] == ["example"] * 2 and all(name.startswith("bar") for name in order[3:6])
    assert browser.evaluate("document.activeElement.textContent") == "Ada"
    browser.press("End")
    browser.press("ArrowLeft")
    assert text_of(browser, "#detail").startswith("Without “cat”")
    browser.wait("document.querySelector('#spoken').textContent.includes('%')")
    for name in ("text", "pair"):
        assert browser.evaluate(f"document.querySelector('#{name}').labels.length") == 1


@pytest.mark.parametrize("task", ["single_label", "tags", "pairs"])
def test_a_phone_needs_no_sideways_scrolling(made: Made, browser: Chromium, task: str) -> None:
    for width in (320, 390):
        browser.look(width, 700)
        show(browser, made.address(task, f"{TEXT} {'x' * 300} https://example.org/{'y' * 90}", "z" * 200))
        assert browser.evaluate("document.documentElement.scrollWidth") == width


def test_dark_colours_follow_the_person(made: Made, browser: Chromium) -> None:
    brightness = "getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)[0]"
    found = []
    for dark in (False, True):
        browser.look(800, 600, dark)
        show(browser, made.address("single_label", TEXT))
        found.append(browser.evaluate(brightness))
    assert found[0] > 200 and found[1] < 50


def test_nothing_moves_when_the_answer_comes(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", ""))
    before = each(browser, "#answer, #words-title, #map, #legend", "getBoundingClientRect().y")
    browser.write("#text", "A short text.")
    browser.wait("document.querySelector('#map').textContent === 'A short text.'")
    assert each(browser, "#answer, #words-title, #map, #legend", "getBoundingClientRect().y") == before


def test_a_browser_without_workers_answers_too(made: Made, browser: Chromium) -> None:
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.Worker")
    try:
        show(browser, made.address("single_label", TEXT))
        assert browser.evaluate("typeof Worker") == "undefined"
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", **script)
    assert close(probabilities(browser), made.logits(made.texts, TEXT).softmax(-1))


def test_weights_beside_the_page_are_read_and_missed(made: Made, browser: Chromium, monkeypatch) -> None:
    page = made.folder / "single_label" / "index.html"
    manifest, weights = (
        re.search(rf'id="{name}">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)[1]
        for name in ("manifest", "weights")
    )
    folder = made.folder / "beside"
    folder.mkdir()
    monkeypatch.setattr(space_page, "MAX_PAGE_BYTES", 1000)
    space_page.write_page(folder, json.loads(manifest), base64.b64decode(weights))
    assert (folder / "weights.js").is_file()
    show(browser, made.address("beside", TEXT))
    assert close(probabilities(browser), made.logits(made.texts, TEXT).softmax(-1))
    (folder / "weights.js").unlink()
    browser.open((folder / "index.html").as_uri())
    browser.wait("document.querySelector('#note').textContent.includes('weights.js is not beside this page')")
