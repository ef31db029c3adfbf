"""Makes a web page that searches documents by meaning and by words: one HTML file with documents, vectors and model.

    vocabless search docs/ page/
    vocabless search faq.csv manual.md page/ --model me/my-encoder --title "Help"
    vocabless search site/ me/my-search --push --base_url https://example.org/

    vocabless search tickets.csv page/ --delimiter ";" --encoding latin-1 --text_column body

DOCUMENTS are files, or folders of them: txt, md, html (a document each), csv, tsv, jsonl,
parquet (a document in each row; columns named text, title and link, or alike). They are read as a reader sees them and
cut into passages of a few sentences below a heading. Drafts and files of a folder that cannot be read are left out and
named.
TARGET gets index.html, which opens offline. A page holds at most 100 000 passages.
"""

import argparse
import base64
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from vocabless.conversion.onnx import check_packages
from vocabless.conversion.search_export.documents import Document, read_documents
from vocabless.conversion.search_export.passage_index import build_index
from vocabless.conversion.search_export.passages import Passages, contents_of, passages_of
from vocabless.conversion.search_export.vectors import least_fit
from vocabless.conversion.space_export.page import (
    PAGE,
    add_page_arguments,
    heading,
    join_page,
    json_for_html,
    model_id_of,
    size_report,
    write_readme,
)
from vocabless.loading import ENCODERS, default_encoder
from vocabless.modeling.modeling_vocabless import VocablessModel
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.checkpoint_files import WEIGHTS
from vocabless.saving.record import read_card_facts
from vocabless.saving.sentence_modules import SentenceModules, read_sentence_modules
from vocabless.texts.english import are_english
from vocabless.texts.text_format import TextFormat
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

MOST_PASSAGES = 100_000
MOST_NAMED = 10  # files that are left out and named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of the verb."""
    parser.add_argument(
        "documents", metavar="DOCUMENTS", nargs="+", help="files, or folders that are read with all in them"
    )
    parser.add_argument(
        "--model",
        dest="source",
        metavar="MODEL",
        help=f"sentence encoder: folder or Hub id; default: one of this package, {ENCODERS['english']}, or "
        f"{ENCODERS['multilingual']} if the documents are not English",
    )
    parser.add_argument("--title", help="title of the page; default: the name of the first of DOCUMENTS")
    parser.add_argument(
        "--base_url",
        metavar="ADDRESS",
        help="address in front of the path of a txt, md or html file, for the links; default: no links to files",
    )
    parser.add_argument("--delimiter", help="of csv files, a character or tab; default: comma, in tsv tab")
    parser.add_argument(
        "--encoding", default="utf-8", help="of files that are not UTF-8 and declare no encoding, for instance latin-1"
    )
    parser.add_argument("--text_column", metavar="NAME", help="column of the texts in tables; default: text, or alike")
    parser.add_argument(
        "--dimensions",
        type=int,
        help="numbers of a vector; fewer make the page smaller and lose a little; default: as many as lose nothing, "
        "at most 256 without --fp32",
    )
    add_page_arguments(parser, pairs=False)


def write(arguments: argparse.Namespace, folder: Path) -> str:
    """Writes all files of the page into an existing, empty folder; returns a report on passages, recall and size."""
    check_packages("search")
    for name in arguments.documents:
        if any((Path(name) / weights).is_file() for weights in WEIGHTS):
            raise ValueError(f"{name!r} is a checkpoint and no folder of documents; give it with --model.")
    is_chosen, arguments = arguments.source is not None, argparse.Namespace(**vars(arguments))
    loaded = load_encoder(arguments.source) if is_chosen else None  # a mistake in its name is told before reading
    text_format = TextFormat(arguments.encoding, arguments.delimiter)
    documents, left_out = read_documents(arguments.documents, arguments.base_url, text_format, arguments.text_column)
    passages, repeated = cut(documents)
    texts = [text for of_document in passages for text in of_document.texts()]
    if loaded is None:
        arguments.source = default_encoder("multilingual" if are_english(texts) is False else "english")
        loaded = load_encoder(arguments.source)
    model, tokenizer, modules = loaded
    index = build_index(model, tokenizer, modules, texts, arguments.dimensions, arguments.bits)
    manifest = index.manifest | heading(arguments, Path(arguments.documents[0]).resolve().name)
    manifest |= {"passages": len(texts), "contents": contents_of(documents, passages)}
    manifest["least_fit"] = least_fit(index.encode, index.vectors)
    data = {
        "documents": json_for_html(
            [_as_json(*both) for both in zip(documents, passages, strict=True) if both[1].ranges]
        ),
        "weights": base64.b64encode(index.weights).decode("ascii"),
        "vectors": base64.b64encode(index.vectors.tobytes()).decode("ascii"),
    }
    (folder / PAGE).write_text(join_page("search", manifest, data), encoding="utf-8")
    write_readme(
        folder, manifest["title"], model_id_of(arguments), read_card_facts(arguments.source).license, "search", "search"
    )
    chosen = [] if is_chosen else [f"encoder: {Path(arguments.source).name}, by the language of the documents"]
    counts = f"{len(documents)} documents, {len(texts)} passages"
    counts += f"; {repeated} repeated ones were left out" if repeated else ""
    more = [f"… and {len(left_out) - MOST_NAMED} other files."] if len(left_out) > MOST_NAMED else []
    notes = [f"left out: {sentence}" for sentence in left_out[:MOST_NAMED] + more]
    return "\n".join([*notes, *chosen, counts, index.report, size_report(folder)])


def load_encoder(source: str) -> tuple[PreTrainedModel, VocablessTokenizer, SentenceModules]:
    """Returns a sentence encoder, its tokenizer and what follows it. Raises ValueError if it is another model."""
    model, tokenizer = load_checkpoint(source)
    if type(model) is not VocablessModel:
        raise ValueError(
            f"{source!r} is a {type(model).__name__} and gives no vectors of texts; give a sentence encoder, such as "
            f"{ENCODERS['english']}."
        )
    return model.float(), tokenizer, read_sentence_modules(source) or SentenceModules()


def cut(documents: Sequence[Document]) -> tuple[list[Passages], int]:
    """Returns the passages of each document, each text once, and the number of those that were left out.

    Raises:
        ValueError: there are more than a page may hold.
    """
    found: list[Passages] = []
    seen: set[str] = set()
    count = 0
    for document in documents:
        passages = passages_of(document.sections)
        ranges = []
        for place, text in zip(passages.ranges, passages.texts(), strict=True):
            words = " ".join(text.split())
            ranges += [] if words in seen else [place]
            seen.add(words)
        count += len(passages.ranges)
        found.append(replace(passages, ranges=ranges))
    if len(seen) > MOST_PASSAGES:
        raise ValueError(
            f"the documents have {len(seen)} passages and a page may have {MOST_PASSAGES}; give fewer, or keep the "
            "vectors in a database: docs/search.md shows hnswlib, sqlite and faiss."
        )
    return found, count - len(seen)


def _as_json(document: Document, passages: Passages) -> dict[str, Any]:
    """Returns what `browser/searcher.js` calls `Document`."""
    place = {"link": document.link} if document.link else {"file": document.file}
    parts = {"headings": passages.headings, "sentences": passages.sentences, "passages": passages.ranges}
    return {"title": document.title, **place, **parts}
