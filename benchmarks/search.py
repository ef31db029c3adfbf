"""Measures search pages in headless Chromium, and what they find beside the words and the meaning alone.

    python -m benchmarks.search
    python -m benchmarks.search --passages 1000 10000 100000
    python -m benchmarks.search --qnli glue/qnli/validation.parquet

- The pages hold the first passages of the embedded corpus, documentation of Python and its packages.
- The first result is the time from opening the page, whose address holds a query, to the results.
- A query is the time from the field to the results in the page, the median of 20.
- With --qnli, 1 000 questions are asked of 4 000 sentences, one of which answers the question.
"""
# mypy: allow-untyped-calls

import argparse
import contextlib
import gzip
import json
import statistics
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import regex
from datasets import load_dataset
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.chromium import Chromium
from vocabless.conversion.__main__ import main as convert
from vocabless.conversion.search import load_encoder
from vocabless.conversion.search_export.passage_index import build_index
from vocabless.conversion.search_export.passages import passages_of
from vocabless.saving.tables import markdown_table
from vocabless.tokenization.splitters import SPLITTERS
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.texts.pydocs import read_pydocs

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
RECORD_FIRST = """
new MutationObserver(() => {
  if (document.documentElement?.dataset.results !== undefined) globalThis.firstResult ??= performance.now();
}).observe(document, { attributes: true, childList: true, subtree: true });
"""
Scores = NDArray[np.float64]


def write_documents(count: int, file: Path) -> None:
    """Writes the first documents of the embedded corpus, with at most `count` passages."""
    found = 0
    with file.open("w", encoding="utf-8") as stream:
        for package, text in read_pydocs():
            found += len(passages_of(f"{package}\n{text}").ranges)
            if found > count:
                break
            stream.write(json.dumps({"title": package, "text": text}) + "\n")


def measure_page(tab: Chromium, encoder: str, count: int, folder: Path) -> list[str]:
    """Returns a row of the table: passages, size, gzipped, first result, query."""
    write_documents(count, folder / "documents.jsonl")
    with contextlib.redirect_stdout(None):
        convert(["search", encoder, str(folder / "documents.jsonl"), str(folder / "page")])
    page = folder / "page" / "index.html"
    content = page.read_bytes()
    tab.open(f"{page.as_uri()}#q=sort%20a%20list")
    tab.wait("globalThis.firstResult !== undefined", seconds=120)
    first = tab.evaluate("globalThis.firstResult")
    times = [tab.call_function(ASK, query) for query in QUERIES]
    shown = tab.evaluate("document.getElementById('figure-passages').textContent")
    megabytes = (f"{len(content) / 1e6:.1f} MB", f"{len(gzip.compress(content, 6)) / 1e6:.1f} MB")
    return [shown, *megabytes, f"{first:.0f}", f"{statistics.median(times):.0f}"]


def bm25(tokenizer: VocablessTokenizer, queries: list[str], texts: list[str]) -> Scores:
    """Returns the scores of `browser/bm25.js`, (queries, texts)."""
    splitter = SPLITTERS[tokenizer.splitter](**tokenizer.splitter_options)
    ids: dict[str, int] = {}
    k1, b = 0.6, 0.75

    def units(text: str) -> list[str]:
        found = [splitter.normalize(unit).lower() for unit in splitter.units(text)]
        return [unit for unit in found if regex.search(r"[\p{L}\p{N}]", unit)]

    rows = [Counter(units(text)) for text in texts]
    for row in rows:
        for unit in row:
            ids.setdefault(unit, len(ids))
    lengths = np.array([row.total() for row in rows], float)
    having = Counter(unit for row in rows for unit in row)
    entries = [
        (ids[unit], place, count * (k1 + 1) / (count + k1 * (1 - b + b * lengths[place] / lengths.mean())))
        for place, row in enumerate(rows)
        for unit, count in row.items()
    ]
    weights = {unit: np.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for unit, n in having.items()}
    unit_places, places, values = zip(*entries, strict=True)
    table = csr_array((values, (unit_places, places)), shape=(len(ids), len(texts)))
    wanted = [(q, ids[unit], weights[unit]) for q, query in enumerate(queries) for unit in units(query) if unit in ids]
    query_places, unit_places, values = zip(*wanted, strict=True)
    return (csr_array((values, (query_places, unit_places)), shape=(len(queries), len(ids))) @ table).toarray()


def qnli_table(encoder: str, file: str) -> str:
    """Returns a table: how often the answering sentence is first, among the first ten, and its reciprocal rank."""
    rows = list(load_dataset("parquet", data_files=file, split="train"))
    asked = [row for row in rows if row["label"] == 0][:1000]  # 0: the sentence answers the question
    sentences = list(dict.fromkeys(row["sentence"] for row in [*asked, *rows]))[:4000]
    place_of = {sentence: place for place, sentence in enumerate(sentences)}
    questions, answers = [row["question"] for row in asked], np.array([place_of[row["sentence"]] for row in asked])
    model, tokenizer, modules = load_encoder(encoder)
    index = build_index(model, tokenizer, modules, sentences)
    vectors = index.vectors.astype(np.float64)
    cosine = index.encode(questions) @ (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).T
    words = bm25(tokenizer, questions, sentences)
    meaning, wording = ((each - each.mean(1, keepdims=True)) / each.std(1, keepdims=True) for each in (cosine, words))
    table = []
    for name, scores in (("meaning", cosine), ("words, BM25", words), ("both", 0.75 * meaning + 0.25 * wording)):
        ranks = 1 + (scores > scores[np.arange(len(asked)), answers][:, None]).sum(1)
        figures = ((ranks == 1).mean(), (ranks <= 10).mean(), (1 / ranks).mean())
        table.append([name, *(f"{100 * figure:.1f}" for figure in figures)])
    header = [f"{len(questions)} questions, {len(sentences)} sentences", "first", "among ten", "reciprocal rank"]
    return markdown_table(header, table)


def main(argv: list[str] | None = None) -> None:
    """Prints the tables."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.search", description=__doc__, formatter_class=as_written
    )
    parser.add_argument("--encoder", default=ENCODER, help="sentence encoder; default %(default)s")
    parser.add_argument("--passages", nargs="*", type=int, default=[1000, 10_000], help="of the pages")
    parser.add_argument("--qnli", metavar="FILE", help="a parquet file of QNLI; default: no questions")
    arguments = parser.parse_args(argv)
    if arguments.qnli:
        print(qnli_table(arguments.encoder, arguments.qnli))
        return
    with tempfile.TemporaryDirectory() as temporary, Chromium() as tab:
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=RECORD_FIRST)
        rows = []
        for count in arguments.passages:
            folder = Path(temporary) / str(count)
            folder.mkdir()
            rows.append(measure_page(tab, arguments.encoder, count, folder))
    print(markdown_table(["passages", "size", "gzipped", "first result, ms", "query, ms"], rows))


if __name__ == "__main__":
    main()
