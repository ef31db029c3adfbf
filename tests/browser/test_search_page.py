"""The search page finds what Python finds, and documents cannot do anything to it."""

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from chromium import Chromium

for package in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(package, reason="the extra [onnx] is not installed")

from vocabless.conversion import search  # noqa: E402
from vocabless.conversion.__main__ import main  # noqa: E402
from vocabless.conversion.search_export.documents import read_documents  # noqa: E402
from vocabless.conversion.search_export.passage_index import PassageIndex  # noqa: E402
from vocabless.tokenization.splitters import SPLITTERS  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
ENCODER = ROOT / "checkpoints" / "hashgram-tiny-sentence"
pytestmark = pytest.mark.skipif(
    not ENCODER.is_dir(), reason="this archive has no trained weights; clone the repository"
)
EVIL = "<img src=x onerror=alert(1)></script><script>globalThis.hacked=1</script><!--<script>"
QUERIES = ["how do I train a model?", "MD5", "Wie groß ist ein Token?", "ما معنى هذا؟", "zxqv", "?", EVIL, "a\ud800b"]
Row = tuple[int, tuple[int, int], str, str]  # of a passage: document, sentences, title and text
MUDDY = "The river bank is muddy after the rain."
ARABIC = "هذا نص عربي قصير عن القطط. القطة تنام على السجادة."


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, list[str], PassageIndex]:
    """A page over this project's own documents and hostile ones: its folder, its DOCUMENTS and its index."""
    documents, target = tmp_path_factory.mktemp("documents"), tmp_path_factory.mktemp("pages") / "page"
    (documents / "evil.html").write_text(f"<title>&lt;b&gt;{EVIL}</title><p>Cats &amp; dogs &lt;script&gt; {EVIL}")
    (documents / "line.txt").write_text("word " * 40_000)
    (documents / "long.txt").write_text("x" * 200_000)
    (documents / "empty.txt").write_text("")
    (documents / "binary.txt").write_bytes(bytes(range(256)) * 9)
    (documents / "عربي.md").write_text(f"# عنوان\n\n{ARABIC}")
    rows = [
        {"title": EVIL, "text": f"A bank holds our money. {EVIL}\u2028", "link": "javascript:alert(1)"},
        {"title": "Rivers", "text": MUDDY, "link": "https://example.org/rivers#top"},
        {"title": "Script", "text": "Scripts in addresses do not run.", "link": " java\nscript:alert(1)"},
    ]
    (documents / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found: list[PassageIndex] = []
    sources = [str(documents), *(str(ROOT / "docs" / name) for name in ("onnx.md", "browser.md", "papers.md"))]
    with pytest.MonkeyPatch.context() as patched:
        build = search.build_index
        patched.setattr(search, "build_index", lambda *args: found.append(build(*args)) or found[0])
        main(["search", str(ENCODER), *sources, str(target), "--title", EVIL, "--base_url", "https://example.org/d/"])
    return target, sources, found[0]


@pytest.fixture(scope="module")
def find(made, chromium) -> Callable[[str], list[dict[str, Any]]]:
    """Writes a query into the page; returns the results."""

    def write(query: str) -> list[dict[str, Any]]:
        page = (made[0] / "index.html").as_uri()
        if chromium.evaluate("location.href.split('#')[0]") != page:  # another test opened another page
            chromium.open(f"{page}#q=warm")
            chromium.wait("document.documentElement.dataset.query === 'warm'", seconds=60)
        return ask(chromium, query)

    return write


def ask(chromium: Chromium, query: str) -> list[dict[str, Any]]:
    """Writes a query into the open page; returns the results."""
    chromium.evaluate("delete document.documentElement.dataset.results; undefined")
    chromium.call_function(
        """(query) => {
          document.getElementById("query").value = query;
          document.getElementById("query").dispatchEvent(new Event("input"));
        }""",
        query,
    )
    chromium.wait("document.documentElement.dataset.results !== undefined")
    return json.loads(chromium.evaluate("document.documentElement.dataset.results"))


def passages(sources: list[str]) -> list[Row]:
    """Document, sentences, title and text of each passage."""
    documents, _ = read_documents(sources)
    return [
        (number, place, documents[number].title, text)
        for number, cut in enumerate(search.cut(documents))
        for place, text in zip(cut.ranges, cut.texts(), strict=True)
    ]


def bm25(query: list[str], texts: list[list[str]]) -> np.ndarray:
    """BM25 as its formula reads."""
    counts, mean = [Counter(text) for text in texts], np.mean([len(text) for text in texts])
    scores = np.zeros(len(texts))
    for unit in query:
        having = sum(unit in count for count in counts)
        weight = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for place, count in enumerate(counts):
            discount = 0.6 * (1 - 0.75 + 0.75 * len(texts[place]) / mean)
            scores[place] += weight * count[unit] * 1.6 / (count[unit] + discount) if having else 0
    return scores


def standardised(numbers: np.ndarray) -> np.ndarray:
    return (numbers - numbers.mean()) / numbers.std() if numbers.std() > 0 else 0 * numbers


def ranked(query: str, rows: list[Row], similarities: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The score of each passage and the places of the best ones, best first, as a page orders them."""
    splitter = SPLITTERS["word"](lowercase=True)
    units = [splitter.normalize_all(splitter.units(text)) for text in [query, *(row[3] for row in rows)]]
    wanted, *of_passages = [[unit for unit in each if regex.search(r"[\p{L}\p{N}]", unit)] for each in units]
    scores = 0.75 * standardised(similarities) + 0.25 * standardised(bm25(wanted, of_passages))
    best: list[int] = []
    for place in np.argsort(-scores, kind="stable"):
        number, (start, end) = rows[place][:2]
        others = [rows[other][:2] for other in best]
        if not any(number == other and start < last and first < end for other, (first, last) in others):
            best.append(int(place))
    return scores, best


@pytest.mark.parametrize("query", QUERIES)
def test_the_results_are_those_of_python(query: str, made, find) -> None:
    _, sources, index = made
    rows = passages(sources)
    vectors = index.vectors.astype(np.float64)
    similarities = (vectors @ index.encode([query])[0]) / np.linalg.norm(vectors, axis=1)
    scores, best = ranked(query, rows, similarities)
    found = find(query)
    assert len(found) == 20
    assert [each["score"] for each in found] == pytest.approx([scores[place] for place in best[:20]], abs=1e-4)
    for place, each in zip(best[:3], found, strict=False):
        assert (each["document"], each["passage"]) == rows[place][2:]
        assert abs(each["similarity"] - similarities[place]) <= 1e-5
    assert set(found[0]) == {"document", "passage", "score", "similarity"}


@pytest.mark.slow
def test_a_page_in_fp32_finds_what_exact_search_finds_to_the_last_place(made, chromium, tmp_path) -> None:
    st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    rows = passages(made[1])
    main(["search", str(ENCODER), *made[1], str(tmp_path / "page"), "--fp32", "--base_url", "https://example.org/d/"])
    encoder = st.SentenceTransformer(str(ENCODER), trust_remote_code=True, device="cpu")
    vectors = encoder.encode([row[3] for row in rows])
    places_of = {row[2:]: place for place, row in enumerate(rows)}
    chromium.open((tmp_path / "page" / "index.html").as_uri() + "#q=warm")
    chromium.wait("document.documentElement.dataset.query === 'warm'", seconds=60)
    for query in QUERIES:
        similarities = vectors @ encoder.encode(query)
        scores, best = ranked(query, rows, similarities)
        found = ask(chromium, query)
        # Passages of line.txt have the same score or nearly so: rounding decides their order.
        places = [places_of[each["document"], each["passage"]] for each in found]
        assert Counter(rows[place][2:] for place in places) <= Counter(row[2:] for row in rows)
        assert scores[places] == pytest.approx(scores[best[:20]], abs=1e-5)
        assert [each["score"] for each in found] == pytest.approx(scores[places], abs=1e-5)
        assert [each["similarity"] for each in found] == pytest.approx(similarities[places], abs=1e-6)


def test_vectors_of_8_bits_are_near_those_of_sentence_transformers(made, find) -> None:
    st = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    encoder = st.SentenceTransformer(str(ENCODER), trust_remote_code=True, device="cpu")
    found = find("how do I train a model?")
    whole = encoder.encode(["how do I train a model?", *(each["passage"] for each in found)])
    assert [each["similarity"] for each in found] == pytest.approx((whole[1:] @ whole[0]).tolist(), abs=0.03)


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
    assert EVIL not in (made[0] / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_line_of_10_mb_is_searched(chromium, tmp_path) -> None:
    (tmp_path / "line.txt").write_text(f"{'x' * 10_000_000} a needle {'y' * 1000}")
    main(["search", str(ENCODER), str(tmp_path / "line.txt"), str(tmp_path / "page")])
    chromium.open((tmp_path / "page" / "index.html").as_uri() + "#q=warm")
    chromium.wait("document.documentElement.dataset.query === 'warm'", seconds=120)
    assert "needle" in ask(chromium, "needle")[0]["passage"]


def test_links_lead_to_the_passage(find, chromium) -> None:
    first = "document.querySelector('.result a').getAttribute('href')"
    find("mud at the river after rain")
    words = "The%20river%20bank%20is%20muddy%20after%20the%20rain."
    link = chromium.evaluate(first)
    assert link.startswith("https://example.org/rivers#top:~:text=") and link.endswith(words.split("is%20")[1])
    find("القطط")
    assert chromium.evaluate(first).startswith("https://example.org/d/عربي.md#:~:text=")
    find("Scripts in addresses")
    assert chromium.evaluate("document.querySelector('.result h2 span').textContent") == "Script"
    assert chromium.evaluate("document.querySelector('.result a, .result').tagName") == "LI"


def test_the_words_of_a_query_and_words_near_in_meaning_are_marked(find, chromium) -> None:
    find("a muddy stream")
    chromium.wait("document.querySelectorAll('mark.near').length > 0")
    marked = "[...document.querySelector('.passage').querySelectorAll('%s')].map((each) => each.textContent)"
    assert chromium.evaluate(marked % "mark:not(.near)") == ["muddy"]
    assert "river" in chromium.evaluate(marked % "mark.near")
    shown = chromium.evaluate("document.querySelector('.passage').textContent")
    assert shown == MUDDY  # its title stands above it


def test_text_from_right_to_left_is_shown_so(find, chromium) -> None:
    assert find("القطط")[0]["document"] == "عنوان"
    for part in (".passage", ".result h2"):
        assert chromium.evaluate(f"getComputedStyle(document.querySelector('{part}')).direction") == "rtl"
    assert chromium.evaluate("getComputedStyle(document.getElementById('query')).direction") == "rtl"


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


@pytest.mark.parametrize("width", [320, 1100])
def test_nothing_is_wider_than_the_window(width: int, find, chromium) -> None:
    chromium.look(width, 700)
    find("xxxxxxxxxxxxxxxxxxxx")
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width


def test_the_passages_that_are_shown_can_be_copied_as_lines(find, chromium) -> None:
    find("muddy river")
    chromium.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }")
    chromium.evaluate("document.getElementById('copy').click()")
    shown = chromium.evaluate("[...document.querySelectorAll('.passage')].map((text) => text.textContent)")
    assert chromium.evaluate("globalThis.copied").split("\n") == [" ".join(text.split()) for text in shown]
    assert find("") == [] and chromium.evaluate("document.getElementById('copy').hidden")
