"""The search page finds what Python finds, documents cannot do anything to it, and the code of docs/search.md runs."""

import importlib.util
import json
import math
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import regex
from found_notes import ask
from near_words_oracle import all_words_of, near_words, words_of

for package in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(package, reason="the extra [onnx] is not installed")

from vocabless.conversion import search  # noqa: E402
from vocabless.conversion.__main__ import main  # noqa: E402
from vocabless.conversion.search_export.documents import read_documents  # noqa: E402
from vocabless.conversion.search_export.passage_index import PassageIndex  # noqa: E402
from vocabless.texts import pydocs  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
ENCODER = ROOT / "checkpoints" / "hashgram-tiny-sentence"
DOCS = ROOT / "docs" / "search.md"
pytestmark = pytest.mark.skipif(
    not (ENCODER.is_dir() and DOCS.is_file()), reason="this archive has no trained weights; clone the repository"
)
EVIL = "<img src=x onerror=alert(1)></script><script>globalThis.hacked=1</script><!--<script>"
QUERIES = [
    "how do I train a model?",
    "MD5",
    "sentence-transformers 1.2.3",
    "vocabulry of the tokeniser",
    "expor",
    "Wie groß ist ein Token?",
    "ما معنى هذا؟",
    "zxqv",
    "?",
    EVIL,
    "a\ud800b",
]
Row = tuple[int, tuple[int, int, int], str, str]  # of a passage: document, its place in it, title and text
MUDDY = "The river bank is muddy after the rain."
ARABIC = "هذا نص عربي قصير عن القطط. القطة تنام على السجادة."


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> list[str]:
    """The DOCUMENTS of a page: this project's own and hostile ones."""
    documents = tmp_path_factory.mktemp("documents")
    (documents / "evil.html").write_text(f"<title>&lt;b&gt;{EVIL}</title><p>Cats &amp; dogs &lt;script&gt; {EVIL}")
    (documents / "line.txt").write_text("word " * 40_000)
    (documents / "long.txt").write_text("x" * 200_000)
    (documents / "empty.txt").write_text("")
    (documents / "binary.txt").write_bytes(bytes(range(256)) * 9)
    (documents / "عربي.md").write_text(f"# عنوان\n\n{ARABIC}")
    (documents / "guide.html").write_text(
        "<h1>Guide</h1><h2>Bay</h2><pre>An un&shy;be&shy;liev&shy;able view\n  over it.</pre>"
    )
    rows = [
        {"title": EVIL, "text": f"A bank holds our money. {EVIL}\u2028", "link": "javascript:alert(1)"},
        {"title": "Rivers", "text": MUDDY, "link": "https://example.org/rivers#top"},
        {"title": "Fruit", "text": "Bananas are yellow and sweet."},
        {"title": "Script", "text": "Scripts in addresses do not run.", "link": " java\nscript:alert(1)"},
    ]
    (documents / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return [str(documents), *(str(ROOT / "docs" / name) for name in ("onnx.md", "browser.md", "papers.md"))]


@pytest.fixture(scope="module")
def made(sources, convert, tmp_path_factory) -> Callable[..., tuple[Path, PassageIndex]]:
    """Makes a page over these documents, once; returns its file and its index."""

    @cache
    def make(*flags: str) -> tuple[Path, PassageIndex]:
        target, build, found = tmp_path_factory.mktemp("pages") / "page", search.build_index, []
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(search, "build_index", lambda *args: found.append(build(*args)) or found[0])
            options = ["--title", EVIL, "--base_url", "https://example.org/d/", *flags]
            convert(["search", *sources, str(target), *options])
        return target / "index.html", found[0]

    return make


@pytest.fixture(scope="module")
def find(made, chromium) -> Callable[..., list[dict[str, Any]]]:
    """Writes a query into a page; returns the results."""

    def write(query: str, *flags: str) -> list[dict[str, Any]]:
        page = made(*flags)[0].as_uri()
        if chromium.evaluate("location.href.split('#')[0]") != page:  # another test opened another page
            chromium.open(f"{page}#q=warm")
            chromium.wait("document.documentElement.dataset.query === 'warm'", seconds=60)
        return ask(chromium, query)

    return write


@pytest.fixture(scope="module")
def rows(sources) -> list[Row]:
    """Document, sentences, title and text of each passage."""
    documents, _ = read_documents(sources)
    return [
        (number, place, documents[number].title, text)
        for number, cut in enumerate(search.cut(documents)[0])
        for place, text in zip(cut.ranges, cut.texts(), strict=True)
    ]


def bm25(terms: list[tuple[list[str], float]], texts: list[list[str]]) -> np.ndarray:
    """BM25 as its formula reads; the units of a term count as one, with its share."""
    counts, mean = [Counter(text) for text in texts], np.mean([len(text) for text in texts])
    scores = np.zeros(len(texts))
    for units, share in terms:
        of_term = [sum(count[unit] for unit in units) for count in counts]
        weight = share * weight_of(sum(map(bool, of_term)), len(texts))
        for place, count in enumerate(of_term):
            discount = 0.6 * (1 - 0.75 + 0.75 * len(texts[place]) / mean)
            scores[place] += weight * count * 1.6 / (count + discount)
    return scores


def weight_of(having: int, count: int) -> float:
    return math.log(1 + (count - having + 0.5) / (having + 0.5))


def coverage(terms: list[tuple[list[str], float]], texts: list[list[str]]) -> np.ndarray:
    """The share of the query's weight that each passage has."""
    total, having = 0.0, np.zeros(len(texts))
    for units, share in terms:
        found = np.array([any(unit in text for unit in units) for text in texts])
        weight = weight_of(int(found.sum()), len(texts))
        total, having = total + weight, having + share * weight * found
    return having / total if total else having


def standardised(numbers: np.ndarray) -> np.ndarray:
    return (numbers - numbers.mean()) / numbers.std() if numbers.std() > 0 else 0 * numbers


def terms_of(query: str, texts: list[list[str]]) -> tuple[list[tuple[list[str], float]], str]:
    """The terms of a query, and the query with the likeliest words."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({*text})
    terms, corrected, words = [], query, words_of(query)
    for place, (unit, word) in enumerate(words):
        is_last = place == len(words) - 1 and query.endswith(unit)
        near = [] if counts[word] else near_words(word, counts, len(texts), is_last)
        terms.append((near or [word], 0.8 if near else 1.0))
        corrected = re.sub(rf"(?<!\w){re.escape(unit)}(?!\w)", near[0], corrected) if near else corrected
    joined = [word for word in all_words_of(query)[len(words) :] if counts[word]]
    terms += [([word], 1.0) for word in joined for _ in range(3 if regex.search(r"\p{N}", word) else 1)]
    return terms, corrected


def ranked(query: str, rows: list[Row], index: PassageIndex) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Score, fit and similarity of each passage, and the places of the best ones, best first, as a page orders them."""
    texts = [all_words_of(text) for *_, text in rows]
    terms, corrected = terms_of(query, texts)
    vectors = index.vectors.astype(np.float64)
    reading = index.encode(list(dict.fromkeys([query, corrected]))).sum(axis=0)
    similarities = vectors @ reading / np.linalg.norm(vectors, axis=1) / np.linalg.norm(reading)
    scores = 0.75 * standardised(similarities) + 0.25 * standardised(bm25(terms, texts))
    best: list[int] = []
    for place in np.argsort(-scores, kind="stable"):
        number, (start, end, _) = rows[place][:2]
        others = [rows[other][:2] for other in best]
        if not any(number == other and start < last and first < end for other, (first, last, _) in others):
            best.append(int(place))
    return scores, (similarities + coverage(terms, texts)) / 2, similarities, best


@pytest.mark.parametrize("flags", [[], pytest.param(["--fp32"], marks=pytest.mark.slow)])
@pytest.mark.parametrize("query", QUERIES)
def test_the_results_are_those_of_python(query: str, flags: list[str], rows, made, find) -> None:
    _, index = made(*flags)
    scores, fits, similarities, best = ranked(query, rows, index)
    found = find(query, *flags)
    assert len(found) == 20
    assert [each["score"] for each in found] == pytest.approx([scores[place] for place in best[:20]], abs=1e-4)
    for place, each in zip(best[:3], found, strict=False):
        assert (each["document"], each["passage"]) == rows[place][2:]
        assert abs(each["similarity"] - similarities[place]) <= 1e-5 and abs(each["fit"] - fits[place]) <= 1e-5
    assert set(found[0]) == {"document", "passage", "score", "fit", "similarity"}


def test_documents_do_nothing_to_the_page(made, find, chromium) -> None:
    find(EVIL)
    assert chromium.evaluate("globalThis.hacked") is None
    assert chromium.evaluate("document.querySelectorAll('img, iframe, script[src], #results script').length") == 0
    assert chromium.evaluate("document.title") == EVIL
    shown = chromium.evaluate("[...document.querySelectorAll('.passage')].map((each) => each.textContent)")
    assert any("<img src=x onerror=alert(1)>" in each for each in shown)
    links = chromium.evaluate("[...document.querySelectorAll('.result a')].map((each) => each.protocol)")
    assert set(links) == {"https:"}
    assert all(address.startswith(("file:", "blob:")) for address in chromium.requests)
    assert EVIL not in made()[0].read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_line_of_10_mb_is_searched(chromium, tmp_path) -> None:
    (tmp_path / "line.txt").write_text(f"{'x' * 10_000_000} a needle {'y' * 1000}")
    main(["search", str(tmp_path / "line.txt"), str(tmp_path / "page")])
    chromium.open((tmp_path / "page" / "index.html").as_uri() + "#q=warm")
    chromium.wait("document.documentElement.dataset.query === 'warm'", seconds=120)
    assert "needle" in ask(chromium, "needle")[0]["passage"]


def test_links_lead_to_the_passage_and_nothing_is_wider_than_the_window(find, chromium) -> None:
    first = "document.querySelector('.result a').getAttribute('href')"
    find("mud at the river after rain")
    words = "The%20river%20bank%20is%20muddy%20after%20the%20rain."
    link = chromium.evaluate(first)
    assert link.startswith("https://example.org/rivers#top:~:text=") and link.endswith(words.split("is%20")[1])
    assert find("القطط")[0]["document"] == "عنوان"
    assert chromium.evaluate(first).startswith(f"https://example.org/d/{quote('عربي')}.md#:~:text=")
    for part in (".passage", ".result h2", "#query"):  # from right to left
        assert chromium.evaluate(f"getComputedStyle(document.querySelector('{part}')).direction") == "rtl"
    find("Scripts in addresses")
    assert chromium.evaluate("document.querySelector('.result h2 span').textContent") == "Script"
    assert chromium.evaluate("document.querySelector('.result a, .result').tagName") == "LI"
    for width in (320, 1100):
        chromium.look(width, 700)
        for query in ("x" * 20, "x" * 3900, "muddy" + "y" * 3900):
            find(query)
            assert chromium.evaluate("document.documentElement.scrollWidth") <= width


def test_a_passage_stands_below_its_title_its_heading_and_without_a_link_its_file(find, chromium) -> None:
    name, shown = (f"document.querySelector('{part}').textContent" for part in (".result h2 span", ".passage"))
    passage = "An unbelievable view\n  over it."  # written with soft hyphens
    assert find("unbelievable")[0]["passage"] == f"Guide\nBay\n{passage}"
    assert chromium.evaluate(name) == "Guide › Bay" and chromium.evaluate(shown) == passage
    find("yellow bananas")
    assert chromium.evaluate(name) == "Fruit rows.jsonl"


def test_the_words_of_a_query_and_words_near_in_meaning_are_marked(find, chromium) -> None:
    find("a muddy stream")
    chromium.wait("document.querySelectorAll('mark.near').length > 0")
    marked = "[...document.querySelector('.passage').querySelectorAll('%s')].map((each) => each.textContent)"
    assert chromium.evaluate(marked % "mark:not(.near)") == ["muddy"]
    assert "river" in chromium.evaluate(marked % "mark.near")
    shown = chromium.evaluate("document.querySelector('.passage').textContent")
    assert shown == MUDDY  # its title stands above it


def test_the_address_holds_the_query_and_an_empty_one_has_no_results(made, find, chromium) -> None:
    find("river bank")
    chromium.wait("location.hash === '#q=river+bank'")
    chromium.evaluate("location.hash = '#q=md5%20digest'")
    chromium.wait("document.documentElement.dataset.query === 'md5 digest'")
    assert chromium.evaluate("document.getElementById('query').value") == "md5 digest"
    assert find("  ") == []
    assert chromium.evaluate("document.getElementById('results').children.length") == 0


def test_the_keyboard_reaches_every_result_and_a_screen_reader_hears_them(find, chromium) -> None:
    find("river bank")
    focused = "[...document.querySelectorAll('.result')].indexOf(document.activeElement)"
    chromium.evaluate("document.getElementById('query').focus()")
    for key, expected in [("ArrowDown", 0), ("ArrowDown", 1), ("End", 19), ("ArrowUp", 18), ("Home", 0)]:
        chromium.press(key)
        assert chromium.evaluate(focused) == expected, key
    chromium.press("Escape")
    assert chromium.evaluate("document.activeElement.id") == "query"
    chromium.wait("document.getElementById('spoken').textContent.startsWith('20 passages. The first is from Rivers')")
    assert chromium.evaluate("document.getElementById('spoken').ariaLive") == "polite"


def test_the_passages_that_are_shown_can_be_copied_as_lines(find, chromium) -> None:
    find("muddy river")
    chromium.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }")
    chromium.evaluate("document.getElementById('copy').click()")
    shown = chromium.evaluate("[...document.querySelectorAll('.passage')].map((text) => text.textContent)")
    assert chromium.evaluate("globalThis.copied").split("\n") == [" ".join(text.split()) for text in shown]
    assert find("") == [] and chromium.evaluate("document.getElementById('copy').hidden")


def test_a_misspelt_word_counts_for_its_nearest_word_and_the_page_says_so(find, chromium) -> None:
    note, marks = "document.getElementById('note').textContent", "document.querySelector('.passage mark').textContent"
    assert find("bananaz yelow")[0]["document"] == "Fruit"
    assert chromium.evaluate(note) == "Results for bananas yellow; search for bananaz yelow. "
    assert chromium.evaluate(marks) == "Bananas"
    wrote = "document.getElementById('query').dispatchEvent(new Event('input'))"  # and at once follows the link
    chromium.evaluate(f"{wrote}; document.querySelector('#note a').click()")
    chromium.wait("document.getElementById('note').textContent[0] !== 'R'")
    address = "new Promise((done) => setTimeout(() => done(location.hash), 600))"  # once a query that waits is written
    assert chromium.evaluate(address) == "#q=bananaz+yelow&exact=1"
    assert chromium.evaluate("document.documentElement.dataset.corrected") == "bananaz yelow"
    assert find("bananaz")[0]["document"] == "Fruit"  # a new query is forgiven again
    assert find("bananas")[0]["document"] == "Fruit" and chromium.evaluate(note) == ""
    find("what is a bana")
    assert chromium.evaluate(note).startswith("Results for what is a bananas; ")
    find("ri")
    assert not chromium.evaluate(note).startswith("Results for ")


def test_the_page_says_when_no_passage_fits(find, chromium) -> None:
    note, fit = "document.getElementById('note').textContent", "document.querySelector('.fit').textContent"
    assert len(find("zxqv kjwx")) == 20
    assert chromium.evaluate(note) == "No passage fits. These are the nearest. "
    assert chromium.evaluate("document.documentElement.dataset.fits") == "false"
    marked = "document.querySelectorAll('mark').length"
    assert chromium.evaluate(f"new Promise((done) => setTimeout(() => done({marked}), 300))") == 0
    found = find("muddy river bank after rain")
    assert chromium.evaluate(note) == "" and chromium.evaluate("document.documentElement.dataset.fits") == "true"
    assert chromium.evaluate(fit) == f"fit {round(100 * found[0]['fit'])} %"


def test_an_empty_page_shows_what_is_inside_and_two_queries_that_can_be_tried(find, chromium) -> None:
    find("")
    shown = chromium.evaluate("document.getElementById('contents').textContent")
    assert re.match(r"\d+ passages of 12 documents: ", shown) and " · Guide · " in shown
    examples = "[...document.querySelectorAll('#examples button')]"
    texts = chromium.evaluate(f"{examples}.map((button) => button.textContent)")
    assert len(texts) == 2
    chromium.evaluate(f"{examples}[1].click()")
    chromium.wait(f"document.documentElement.dataset.query === {json.dumps(texts[1])}")
    assert chromium.evaluate("document.getElementById('inside').hidden")
    find("")
    assert not chromium.evaluate("document.getElementById('inside').hidden")


SENTENCES = [
    "Block until another thread sets the event.",
    "Return the sum of all numbers in the list.",
    "Return the sum of all the numbers in the list.",
    *(f"Split the string number {number} at white space." for number in range(60)),
]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working folder of the examples."""
    (tmp_path / "encoder").symlink_to(ROOT / "checkpoints" / ENCODER.name / "onnx")  # what the page's command writes
    (tmp_path / "docs").mkdir()
    shutil.copy(DOCS, tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def code(section: str, language: str) -> list[str]:
    """The blocks of code of a section of docs/search.md."""
    text = f"\n{DOCS.read_text(encoding='utf-8')}".split(f"\n{section}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def test_the_example_finds_neighbours_duplicates_groups_and_makes_a_page(folder, convert, monkeypatch, capsys) -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    monkeypatch.setattr(pydocs, "read_pydocs", lambda: [("python", " ".join(SENTENCES))])
    section = "## An example: 20 000 sentences"
    (program,), (commands,) = code(section, "python"), code(section, "bash")
    names: dict[str, object] = {}
    exec(program.replace("20_000", str(len(SENTENCES))), names)
    printed = capsys.readouterr().out
    for expected in (rf"^0\.\d\d {SENTENCES[0]}$", r"^60 Split the string number \d+ at white space\.$"):
        assert re.search(expected, printed, re.M), printed
    assert {*SENTENCES[1:3]} <= {names["texts"][place] for pair in names["pairs"][:2000] for place in pair[1:]}
    for line in commands.splitlines():
        if line.startswith("vocabless "):
            convert(shlex.split(line)[1:])
    assert f"{len(SENTENCES)} passages" in capsys.readouterr().out
    assert SENTENCES[0] in (folder / "sentences" / "index.html").read_text(encoding="utf-8")


def test_vectors_are_found_without_the_page_misspelt_too_and_in_databases_that_are_installed(
    folder, monkeypatch, capsys
) -> None:
    monkeypatch.delitem(sys.modules, "onnx_model", raising=False)  # onnxruntime's own tools have a module of this name
    monkeypatch.syspath_prepend(str(folder / "encoder"))
    first, forgiving, *databases = code("## Without the page", "python")
    assert len(databases) == 3
    names: dict[str, object] = {}
    exec(first, names)
    assert capsys.readouterr().out == "A bank holds our money.\n"
    if importlib.util.find_spec("rapidfuzz"):
        exec(forgiving, names)
        assert capsys.readouterr().out == "a muddy river\nThe river bank is muddy.\n"
    for block in databases:
        packages = re.findall(r"\w+", re.search(r"^import ([\w, ]+)", block, re.M)[1])
        if all(map(importlib.util.find_spec, packages)):
            exec(block, names)
            assert re.search(r"\b1\b", capsys.readouterr().out or str(names["places"]))
