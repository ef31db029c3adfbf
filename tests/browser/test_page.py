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

from vocabless.conversion.onnx import reads_token_types
from vocabless.conversion.space import make_manifest
from vocabless.conversion.space_export import page as space_page
from vocabless.conversion.space_export.graph_json import to_json
from vocabless.conversion.space_export.script import join_modules
from vocabless.saving.checkpoint import load_checkpoint

VARIANT = "ewe-bert-word-tiny"  # the one that is exported in the shortest time; other files export its classifier, too
EVIL = "<img src=x onerror=\"document.title='bad'\">"
LABELS = [EVIL, "b & c</script>", "positive"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC"]
TEXT, PAIR = "Ada  met a borring, wonderflummoxing cat.", "She likes cats."
DATA = "document.documentElement.dataset"
TASKS = {
    "VocablessForSequenceClassification": ("single_label", "multi_label", "regression", "pairs"),
    "VocablessForTokenClassification": ("tags",),
}


class Made:
    """The pages of two small models with random weights, by task."""

    def __init__(self, folder: Path, random_checkpoint: Callable, export_once: Callable) -> None:
        self.folder, self.models = folder, {}
        for (head, tasks), labels in zip(TASKS.items(), (LABELS, TAGS), strict=True):
            source = random_checkpoint(VARIANT, head, id2label=dict(enumerate(labels)))
            model, self.tokenizer = load_checkpoint(str(source))
            graph, weights = to_json(export_once(model, reads_token_types(model, self.tokenizer)), bits=32)
            manifest = make_manifest(model, self.tokenizer, False) | {"graph": graph, "model_card": "javascript:1"}
            for task in tasks:
                of_task = {"task": task, "examples": [TEXT, f"{EVIL} </script>"]}
                if task == "multi_label":  # a limit that some of the labels reach
                    limits = sorted(model(**self.tokenizer(TEXT, return_tensors="pt")).logits[0].sigmoid().tolist())
                    of_task["threshold"] = self.threshold = sum(limits[:2]) / 2
                if task == "pairs":
                    of_task = {"is_pair": True, "examples": [[TEXT, PAIR]]}
                (folder / task).mkdir()
                space_page.write_page(folder / task, {**manifest, "title": f"{EVIL} {task}", **of_task}, weights)
                self.models[task] = model

    def address(self, name: str, text: str, pair: str | None = None) -> str:
        second = "" if pair is None else f"&pair={quote(pair)}"
        return f"{(self.folder / name / 'index.html').as_uri()}#text={quote(text)}{second}"

    def logits(self, task: str, text: str, pair: str | None = None) -> torch.Tensor:
        with torch.no_grad():
            return self.models[task](**self.tokenizer(text, pair, return_tensors="pt")).logits[0]

    def probabilities(self, text: str) -> torch.Tensor:
        return self.logits("single_label", text).softmax(-1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, random_checkpoint: Callable, export_once: Callable) -> Made:
    pytest.importorskip("onnxscript")
    return Made(tmp_path_factory.mktemp("pages"), random_checkpoint, export_once)


@pytest.fixture
def browser(chromium: Chromium) -> Chromium:
    chromium.look(1280, 900)
    return chromium


def show(browser: Chromium, address: str) -> None:
    """Opens a page and waits for its answer and its word map."""
    browser.open(address)
    browser.wait(f"{DATA}.failure || {DATA}.probabilities && document.querySelector('#map').ariaBusy === 'false'")
    assert browser.evaluate(f"{DATA}.failure") is None


def one(browser: Chromium, selector: str, what: str = "textContent") -> object:
    """Returns a property, or the result of a method, of the first element."""
    return browser.evaluate(f"document.querySelector('{selector}').{what}")


def each(browser: Chromium, selector: str, what: str = "textContent") -> list:
    """Returns a property, or the result of a method, of each element."""
    return browser.evaluate(f"[...document.querySelectorAll('{selector}')].map((one) => one.{what})")


def answers(browser: Chromium, expected: torch.Tensor) -> bool:
    """Returns whether the page's probabilities are these."""
    found = torch.tensor(json.loads(browser.evaluate(f"{DATA}.probabilities")))
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
    expected = of_logits(made.logits(task, TEXT, pair))
    assert answers(browser, expected)
    assert each(browser, "#map p") == ([TEXT, PAIR] if pair else [TEXT])
    assert one(browser, "#text", "value") == TEXT
    assert one(browser, "#pair", "checkVisibility()") == (task == "pairs")
    assert one(browser, "#figure-tokens") == f"{made.tokenizer.model_max_length} tokens"
    if task == "multi_label":
        given = [label for label, value in zip(LABELS, expected.tolist(), strict=True) if value >= made.threshold]
        assert len(given) == 2 and json.loads(browser.evaluate(f"{DATA}.label")) == given
        assert one(browser, "#verdict") == f"{', '.join(given)}2 of 3 labels"
        assert [name.endswith("wins") for name in each(browser, "#bars .bar", "className")] == [
            label in given for label in LABELS
        ]
    if task == "single_label":
        assert browser.evaluate(f"{DATA}.label") == LABELS[int(expected.argmax())]


def test_words_have_tags_of_their_own(made: Made, browser: Chromium) -> None:
    show(browser, made.address("tags", TEXT))
    expected = made.logits("tags", TEXT)[1:-1].softmax(-1)  # without [CLS] and [SEP]
    assert answers(browser, expected)
    labels = [TAGS[index] for index in expected.argmax(-1)]
    assert json.loads(browser.evaluate(f"{DATA}.label")) == labels
    assert one(browser, "#map") == TEXT
    marked = each(browser, "#map button", "className")
    assert ["tag" in name for name in marked] == [label != "O" for label in labels]
    assert one(browser, "#legend") == "PERLOC"


@pytest.mark.parametrize(("task", "pair"), [("single_label", None), ("pairs", PAIR)])
def test_the_word_map_leaves_each_word_out_once(task: str, pair: str | None, made: Made, browser: Chromium) -> None:
    show(browser, made.address(task, TEXT, pair))
    target = int(made.logits(task, TEXT, pair).argmax())
    words = [re.findall(r"\w+|[^\w\s]", text) for text in (TEXT, pair) if text]
    assert each(browser, "#map button") == [word for own in words for word in own]
    said = each(browser, "#map button", "getAttribute('aria-label')")
    flipped = each(browser, "#map button", "matches('.flips')")
    places = [(part, place) for part, own in enumerate(words) for place in range(len(own))]
    for (part, place), sentence, flips in zip(places, said, flipped, strict=True):
        left = [own[:place] + own[place + 1 :] if part == index else own for index, own in enumerate(words)]
        without = made.logits(task, *map(" ".join, left)).softmax(-1)
        assert sentence.startswith(f"Without “{words[part][place]}”: {LABELS[target]}")
        shown = float(re.search(r"([\d.]+) %(?!.*→)", sentence)[1]) / 100
        assert abs(shown - float(without[target])) < 1.1e-3
        assert flips == (int(without.argmax()) != target)


def test_labels_titles_and_examples_are_text_and_nothing_in_markup_can_run(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", EVIL))
    assert browser.evaluate("document.title") == one(browser, "h1") == f"{EVIL} single_label"
    assert one(browser, ".bar .name") == EVIL
    assert each(browser, "#examples button")[1] == f"{EVIL} </script>"
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert one(browser, "#model-card", "checkVisibility()") is False  # not a web address
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
        assert answers(browser, made.probabilities(text))
    assert browser.evaluate("history.length") == pages
    browser.evaluate("document.querySelector('#examples button').click()")
    browser.wait(f"document.querySelector('#map').textContent === {json.dumps(TEXT)}")
    for label in (2, 1):  # the label that the words explain
        browser.evaluate(f"document.querySelectorAll('.bar')[{label}].click()")
        said = one(browser, "#map button", "getAttribute('aria-label')")
        assert said.startswith(f"Without “Ada”: {LABELS[label]} ")
        assert one(browser, ".bar[aria-pressed=true] .name") == LABELS[label]


def test_a_text_of_20_000_words_does_not_stop_the_page(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", TEXT))
    browser.write("#text", "so many words " * 6667)
    browser.wait("document.querySelector('#note').textContent.includes('too long')")
    browser.write("#text", "short")  # the map of the long text is under way
    browser.wait("document.querySelector('#map').textContent === 'short'", seconds=5)
    assert answers(browser, made.probabilities("short"))


@pytest.mark.parametrize("task", ["single_label", "tags"])
def test_a_long_word_is_shown_by_its_beginning(made: Made, browser: Chromium, task: str) -> None:
    show(browser, made.address(task, f"{'ab' * 5000} cat"))
    assert one(browser, "#map") == f"{'ab' * 150}… cat"
    said = [one(browser, "#map button", "ariaLabel"), one(browser, "#detail"), one(browser, "#verdict")]
    assert all(len(sentence) < 500 for sentence in said)


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
    assert one(browser, "#detail").startswith("Without “cat”")
    browser.wait("document.querySelector('#spoken').textContent.includes('%')")
    assert each(browser, "#text, #pair", "labels.length") == [1, 1]


@pytest.mark.parametrize("task", ["single_label", "tags", "pairs"])
def test_a_phone_needs_no_sideways_scrolling_and_dark_colours_follow_the_person(
    made: Made, browser: Chromium, task: str
) -> None:
    for width, dark in ((320, False), (390, True)):
        browser.look(width, 700, dark)
        show(browser, made.address(task, f"{TEXT} {'x' * 300} https://example.org/{'y' * 90}", "z" * 200))
        assert browser.evaluate("document.documentElement.scrollWidth") == width
        colour = browser.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert int(re.search(r"\d+", colour)[0]) < 50 if dark else int(re.search(r"\d+", colour)[0]) > 200


def test_nothing_moves_when_the_answer_comes(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", ""))
    before = each(browser, "#answer, #words-title, #map, #legend", "getBoundingClientRect().y")
    browser.write("#text", "A short text.")
    browser.wait("document.querySelector('#map').textContent === 'A short text.'")
    assert each(browser, "#answer, #words-title, #map, #legend", "getBoundingClientRect().y") == before


def test_the_legend_names_a_label_only_while_there_is_a_text(made: Made, browser: Chromium) -> None:
    show(browser, made.address("single_label", ""))
    legend = "document.querySelector('#legend').textContent"
    assert browser.evaluate(legend).startswith("wordpulls towards the labelwordpulls away from the label")
    browser.write("#text", TEXT)
    browser.wait(f"{DATA}.label !== undefined && !{legend}.includes('the labelword')")
    assert any(f"pulls towards {label}" in browser.evaluate(legend) for label in LABELS)
    browser.write("#text", " ")
    browser.wait(f"{legend}.includes('towards the label')")


def test_a_browser_without_workers_answers_too(made: Made, browser: Chromium) -> None:
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.Worker")
    try:
        show(browser, made.address("single_label", TEXT))
        assert browser.evaluate("typeof Worker") == "undefined"
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", **script)
    assert answers(browser, made.probabilities(TEXT))


def test_weights_beside_the_page_are_read_and_missed(made: Made, browser: Chromium, monkeypatch) -> None:
    text = (made.folder / "single_label" / "index.html").read_text(encoding="utf-8")
    manifest, weights = (re.search(rf'id="{name}">(.*?)</script>', text, re.S)[1] for name in ("manifest", "weights"))
    folder = made.folder / "beside"
    folder.mkdir()
    monkeypatch.setattr(space_page, "MAX_PAGE_BYTES", 1000)
    space_page.write_page(folder, json.loads(manifest), base64.b64decode(weights))
    assert (folder / "weights.js").is_file()
    show(browser, made.address("beside", TEXT))
    assert answers(browser, made.probabilities(TEXT))
    (folder / "weights.js").unlink()
    browser.open((folder / "index.html").as_uri())
    browser.wait("document.querySelector('#note').textContent.includes('weights.js is not beside this page')")


@pytest.mark.parametrize(("number", "note"), [(8, []), (77, ["The 8 likeliest of 77 labels"])])
def test_a_page_says_that_it_shows_some_of_many_labels(number, note, browser, tmp_path) -> None:
    script = join_modules(space_page.BROWSER, "answers.js")
    page = f"<!doctype html><div id=bars></div><script>{script}</script>"
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    browser.open((tmp_path / "page.html").as_uri())
    drawn = """(number) => {
      const manifest = { task: "single_label", labels: Array.from({ length: number }, (_, label) => `${label}`) };
      const answer = { probabilities: manifest.labels.map((_, label) => (label === 5 ? 0.9 : 0.1 / (number - 1))) };
      const bars = document.getElementById("bars");
      for (const each of [null, answer, answer]) modules["answers.js"].drawBars(bars, manifest, each, null, () => {});
      return [bars.querySelectorAll("button").length, [...bars.querySelectorAll("p")].map((each) => each.textContent)];
    }"""
    assert browser.call_function(drawn, number) == [8, note]


def test_a_text_that_is_turned_away_has_its_reason_and_others_a_probability(browser, tmp_path) -> None:
    script = join_modules(space_page.BROWSER, "answers.js")
    (tmp_path / "page.html").write_text(f"<!doctype html><script>{script}</script>", encoding="utf-8")
    browser.open((tmp_path / "page.html").as_uri())
    said = """(rejects, probabilities) => modules["answers.js"].sayVerdict(
      { task: "single_label", labels: ["a", "none of these"], rejects }, { units: [1], probabilities })"""
    given = """(rejects, label) => modules["answers.js"].sayVerdict(
      { task: "multi_label", labels: ["a", "b", "none of these"], rejects }, { units: [1], label })"""
    assert browser.call_function(said, True, [0.2, 0.8]) == "none of these, unlike the training texts"
    assert browser.call_function(said, True, [0.8, 0.2]) == "a, 80.0 %"
    assert browser.call_function(said, False, [0.2, 0.8]) == "none of these, 80.0 %"
    assert browser.call_function(given, True, ["none of these"]) == "none of these, unlike the training texts"
    assert browser.call_function(given, True, ["a"]) == "a, 1 of 2 labels"
    assert browser.call_function(given, False, ["a"]) == "a, 1 of 3 labels"
