"""Measures search pages in headless Chromium, and what they find beside the words and the meaning alone.

    python -m benchmarks.search
    python -m benchmarks.search --passages 1000 10000 100000
    python -m benchmarks.search --answers
    python -m benchmarks.search --qnli glue/qnli/validation.parquet --qqp glue/qqp/*.parquet --peers wordllama MiniLM/

- The pages hold the first passages of the embedded corpus, documentation of Python and its packages. Where it ends, its
  documents come once more, with their sentences in another order.
- The first result is the time from opening the page, whose address holds a query, to the results.
- A query is the time from the field to the results in the page, the median of 20.
- The memory is that of the page's process: after the queries, and at its peak, when the page reads its documents.
- With --answers, ten queries are asked of a page. Its first results stand beside those of BM25, and of exact search in
  Python with the 32-bit vectors of sentence-transformers.
- With --qnli, 1 000 questions look for the sentences that answer them; with --qqp, for questions that mean the same.
"""

import gzip
import json
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
from sentence_transformers import SentenceTransformer

from benchmarks import retrieval
from benchmarks.measure import convert, parser
from tests.chromium import Chromium, record_first
from vocabless.conversion.search import cut, load_encoder
from vocabless.conversion.search_export.documents import Document, read_documents
from vocabless.conversion.search_export.passages import passages_of
from vocabless.saving.tables import markdown_table
from vocabless.training.texts.pydocs import read_pydocs
from vocabless.training.texts.sentences import sentences

ENCODER = "checkpoints/hashgram-tiny-sentence"
QUERIES = [
    "open a file and read its lines", "sort a list by a key", "how do I catch an error?", "run code at the same time",
    "multiply two matrices", "save a model", "the difference of two dates", "remove duplicates",
    "parse the command line",
    "a number that is not a number", "load a data set from the internet", "learning rate that grows first",
    "random numbers that repeat", "copy an object with all in it", "write text in another language", "join threads",
    "missing values in a table", "send data over the network", "split a string", "memory of a graphics card",
]  # fmt: skip
ASK = """async (query) => {
  const root = document.documentElement;
  const start = performance.now();
  document.getElementById("query").value = query;
  document.getElementById("query").dispatchEvent(new Event("input"));
  const changed = () => new Promise((resolve) => new MutationObserver(resolve).observe(root, { attributes: true }));
  while (root.dataset.query !== query) await changed();
  return performance.now() - start;
}"""
SHOWN = 3  # first results of a query that are printed
corpus = cache(read_pydocs)


def documents(most: int) -> Iterator[tuple[str, str]]:
    """Yields package and text of documents that together have at most `most` passages."""
    order, found = random.Random(0), 0
    for turn in count():
        for package, text in corpus():
            if turn:
                parts = [sentence.strip() for sentence in sentences(text)]
                text = " ".join(order.sample(parts, len(parts)))
            found += len(passages_of(f"{package}\n{text}").ranges)
            if found > most:
                return
            yield package, text


def make_page(encoder: str, most: int, folder: Path) -> Path:
    """Writes a page with at most `most` passages and its documents into a folder; returns the page."""
    folder.mkdir()
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as stream:
        for package, text in documents(most):
            stream.write(json.dumps({"title": package, "text": text}) + "\n")
    convert("search", encoder, folder / "documents.jsonl", folder / "page")
    return folder / "page" / "index.html"


def measure_page(page: Path) -> list[str]:
    """Returns a row of the table: passages, size, gzipped, first result, query, memory, its peak."""
    content = page.read_bytes()
    with Chromium() as tab:  # afresh, so that the peak of the memory is this page's
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=record_first("results"))
        tab.open(f"{page.as_uri()}#q=sort%20a%20list")
        tab.wait("globalThis.first !== undefined", seconds=240)
        first = tab.evaluate("globalThis.first")
        times = [tab.call_function(ASK, query) for query in QUERIES]
        shown = tab.evaluate("document.getElementById('figure-passages').textContent")
        memory = [f"{number / 1e6:.0f} MB" for number in memory_of(tab)]
    megabytes = (f"{len(content) / 1e6:.1f} MB", f"{len(gzip.compress(content, 6)) / 1e6:.1f} MB")
    return [shown, *megabytes, f"{first:.0f}", f"{statistics.median(times):.0f}", *memory]


def memory_of(tab: Chromium) -> tuple[int, int]:
    """Returns the bytes of the process of the tab that no other process shares, and its largest resident set."""
    processes = psutil.Process(tab.process_id).children(recursive=True)
    pages = [each for each in processes if "--type=renderer" in each.cmdline()]
    largest = max(pages, key=lambda process: process.memory_info().rss)
    status = Path(f"/proc/{largest.pid}/status").read_text()
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return largest.memory_full_info().uss, int(peak) * 1024


class Passage(NamedTuple):
    """A passage: its document, its first sentence and the one behind its last, and its text."""

    document: int
    start: int
    end: int
    text: str


def passages_in(found: Sequence[Document]) -> list[Passage]:
    """Returns the passages of documents, in the order of a page."""
    return [
        Passage(number, *limits, text)
        for number, passages in enumerate(cut(found))
        for limits, text in zip(passages.ranges, passages.texts(), strict=True)
    ]


def best(scores: retrieval.Scores, passages: Sequence[Passage]) -> list[str]:
    """Returns the texts of the ten best passages, of those with a common sentence the better one."""
    chosen: list[Passage] = []
    for place in np.argsort(-scores, kind="stable"):
        own = passages[place]
        if not any(own.document == one.document and own.start < one.end and one.start < own.end for one in chosen):
            chosen.append(own)
        if len(chosen) == retrieval.NEAREST:
            break
    return [passage.text for passage in chosen]


def answers(encoder: str, most: int, folder: Path) -> str:
    """Returns a list of ten queries with what the page, exact search and BM25 find first, and how many they share."""
    page = make_page(encoder, most, folder)
    passages = passages_in(read_documents([str(folder / "documents.jsonl")])[0])
    texts, queries = [passage.text for passage in passages], QUERIES[: retrieval.NEAREST]
    exact = SentenceTransformer(encoder, trust_remote_code=True, device="cpu")
    words = retrieval.bm25(load_encoder(encoder)[1], queries, texts)
    whole = retrieval.both(exact.encode(queries) @ exact.encode(texts).T, words)
    lines, shares = [], {"exact search": 0, "BM25": 0}
    with Chromium() as tab:
        tab.open(f"{page.as_uri()}#q=warm")
        tab.wait("document.documentElement.dataset.query === 'warm'", seconds=240)
        for query, exact_scores, word_scores in zip(queries, whole, words, strict=True):
            tab.call_function(ASK, query)
            found = [each["passage"] for each in json.loads(tab.evaluate("document.documentElement.dataset.results"))]
            others = {"exact search": best(exact_scores, passages), "BM25": best(word_scores, passages)}
            lines += ["", query]
            for name, list_of in {"the page": found, **others}.items():
                lines += [f"  {name}:", *(f"    {' '.join(text.split())[:110]}" for text in list_of[:SHOWN])]
            for name in shares:
                shares[name] += len({*found[: retrieval.NEAREST]} & {*others[name]})
    summary = ", ".join(f"{share} with {name}" for name, share in shares.items())
    return "\n".join([*lines, "", f"Of {len(queries) * retrieval.NEAREST} results the page shares {summary}."])


def main(argv: list[str] | None = None) -> None:
    """Prints the tables."""
    command_line = parser(__doc__)
    command_line.add_argument("--encoder", default=ENCODER, help="sentence encoder; default %(default)s")
    command_line.add_argument(
        "--passages", nargs="+", type=int, default=[1000, 10_000], help="of the pages; of the last with --answers"
    )
    command_line.add_argument("--answers", action="store_true", help="print what ten queries find, and measure no page")
    command_line.add_argument("--qnli", metavar="FILE", nargs="+", help="parquet files of QNLI; default: no questions")
    command_line.add_argument("--qqp", metavar="FILE", nargs="+", help="parquet files of QQP; default: no questions")
    command_line.add_argument(
        "--peers", nargs="+", default=[], help="encoders beside ours, for --qnli and --qqp, see benchmarks.encoders"
    )
    arguments = command_line.parse_args(argv)
    tasks = {"qnli": arguments.qnli, "qqp": arguments.qqp}
    for name, files in tasks.items():
        if files:
            print(retrieval.table(arguments.encoder, name, files, arguments.peers), end="\n\n")
    if any(tasks.values()):
        return
    with tempfile.TemporaryDirectory() as temporary:
        if arguments.answers:
            print(answers(arguments.encoder, arguments.passages[-1], Path(temporary) / "answers"))
            return
        folders = {most: Path(temporary) / str(most) for most in arguments.passages}
        rows = [measure_page(make_page(arguments.encoder, most, folder)) for most, folder in folders.items()]
    header = ["passages", "size", "gzipped", "first result, ms", "query, ms", "memory", "at its peak"]
    print(markdown_table(header, rows))


if __name__ == "__main__":
    main()
