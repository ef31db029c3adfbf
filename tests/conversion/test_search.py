"""The verb search: documents of each format, passages, short vectors, and what it refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from refusals import refusal

from vocabless.conversion import search
from vocabless.conversion.__main__ import main
from vocabless.conversion.search import cut
from vocabless.conversion.search_export import passage_index
from vocabless.conversion.search_export.documents import Document, read_documents
from vocabless.conversion.search_export.passages import (
    MOST_TITLES,
    OVERLAP_UNITS,
    PASSAGE_UNITS,
    _units,
    contents_of,
    passages_of,
)
from vocabless.conversion.search_export.vectors import (
    USUAL_FIT,
    in_own_space,
    least_fit,
    meaningless_queries,
    principal_axes,
    recall,
    rotated,
)
from vocabless.loading import ENCODERS, default_encoder
from vocabless.saving.sentence_modules import SentenceModules
from vocabless.texts.documents import MOST_HEADING, Section
from vocabless.texts.text_format import TextFormat


def read(source: Path, base_url: str | None = None, **options: object) -> list[Document]:
    return read_documents([str(source)], base_url, **options)[0]


@pytest.mark.parametrize(("name", "content", "documents"), [
    ("a.txt", "One.\r\nTwo.", [("a", "", "One.\nTwo.")]),
    ("b.MD", "# A *b*\n\nOne", [("A b", "A b", "One")]),
    ("d.html", "<title>T</title><h1>S</h1>1 &lt; 2", [("T", "S", "1 < 2")]),
    ("e.htm", "text", [("e", "", "text")]),
    ("rows.csv", "\ufeffTitle,body,url\r\nOne,First text.,https://a.b/1\r\n,Second text.,\r\n",
     [("One", "One", "First text.", "https://a.b/1"), ("rows", "", "Second text.")]),
    ("rows.jsonl", '{"Title": "One", "body": "One text.", "url": "https://a.b/1"}\n{"body": "Sec\u00adond text."}\n',
     [("One", "", "One text.", "https://a.b/1"), ("rows", "", "Second text.")]),
])  # fmt: skip
def test_a_text_file_is_a_document_and_a_row_of_a_table_is_one(name, content, documents, tmp_path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    expected = [
        Document(title, [Section(heading, text)], *link or [None], file=name)
        for title, heading, text, *link in documents
    ]
    assert read(tmp_path / name) == expected
    if len(documents) == 1:
        (linked,) = read(tmp_path, base_url="https://a.b/c/")
        assert linked.link == f"https://a.b/c/{name}"


@pytest.mark.parametrize(("name", "content", "text_format", "column"), [
    ("a.csv", "Id;Body;Title\n1;Grüße;Ä\n", TextFormat("latin-1", ";"), None),
    ("a.csv", "Id;Note;Title\n1;Grüße;Ä\n", TextFormat("latin-1", ";"), "Note"),
    ("a.tsv", "text\tBody\tTitle\nx\tGrüße\tÄ\n", TextFormat("latin-1"), "Body"),
    ("a.json", '[{"Title": "Ä", "Note": "Grüße"}]', TextFormat(), "Note"),
    ("Ä.txt", "Grüße", TextFormat("latin-1"), "Note"),
    ("Ä.md", "Grüße", TextFormat("utf-16"), None),
])  # fmt: skip
def test_files_have_the_delimiter_the_encoding_and_the_column_of_texts_that_are_given(
    name, content, text_format, column, tmp_path
) -> None:
    (tmp_path / name).write_text(content, encoding=text_format.encoding)
    (document,) = read(tmp_path / name, text_format=text_format, text_column=column)
    assert document.title == "Ä" and document.sections[0].text == "Grüße"


def test_a_title_that_is_the_column_of_texts_is_no_heading(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("question,answer\nWhy?,So.\n")
    (document,) = read(tmp_path / "a.csv", text_column="question")
    assert document.sections == [Section("", "Why?")]
    with pytest.raises(ValueError, match=r"and no texts in 'reply'; give the column of its texts with --text_column"):
        read(tmp_path / "a.csv", text_column="reply")


def test_parquet_is_a_table_and_json_in_a_folder_is_none(tmp_path) -> None:
    parquet.write_table(pa.table({"text": ["One."]}), tmp_path / "a.parquet")
    (tmp_path / "package.json").write_text('[{"name": "x", "description": "y"}]')
    assert [document.sections for document in read(tmp_path)] == [[Section("", "One.")]]


def test_the_flags_of_tables_reach_the_files(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("text,b\n1,2\n")
    said = refusal(main, "search", tmp_path / "a.csv", tmp_path / "page", "--text_column", "c")
    assert "no texts in 'c'" in said
    said = refusal(main, "search", tmp_path / "a.csv", tmp_path / "page", "--delimiter", ";;")
    assert "--delimiter ';;' is not one character" in said
    assert "--encoding 'x' is unknown" in refusal(
        main, "search", tmp_path / "a.csv", tmp_path / "page", "--encoding", "x"
    )


def test_an_empty_page_knows_its_documents_and_has_examples_from_places_far_apart() -> None:
    documents = [
        Document(f"T{number}", [Section(f"T{number}\nHow to {number}", "One two three.")]) for number in range(20)
    ]
    documents += [Document("Empty", [])]
    contents = contents_of(documents, cut(documents)[0])
    assert contents["documents"] == 20 and contents["titles"] == [f"T{number}" for number in range(MOST_TITLES)]
    assert contents["examples"] == ["How to 0", "How to 10"]
    plain = [Document("long " * 30, [Section("", "Seven small boats came home in the evening. Two.")])]
    contents = contents_of(plain, cut(plain)[0])
    assert contents["examples"] == ["Seven small boats came home in"] and len(contents["titles"][0]) == 61
    assert contents_of([], []) == {"documents": 0, "titles": [], "examples": []}


def test_a_fit_is_more_than_what_words_without_a_meaning_reach() -> None:
    nearest = {query: place % 100 / 100 for place, query in enumerate(meaningless_queries(200))}

    def encode(texts):
        return np.array([[nearest[text], (1 - nearest[text] ** 2) ** 0.5] for text in texts], np.float32)

    numbers = np.array([[127, 0], [-5, 0], [0, 0]], np.int8)
    assert least_fit(encode, numbers) == pytest.approx(0.98 / 2, abs=0.005)
    assert least_fit(encode, -numbers[:1]) == USUAL_FIT
    assert len({*nearest}) == 200 and all(1 <= len(query.split()) <= 2 for query in nearest)


def test_a_folder_is_read_with_all_in_it_and_files_that_cannot_be_read_are_named(tmp_path) -> None:
    (tmp_path / "in" / ".hidden").mkdir(parents=True)
    for name in ("b.txt", "in/a.md", "in/.hidden/c.txt", "in/d.png", "in/.e.txt"):
        (tmp_path / name).write_text("text")
    (tmp_path / "empty.txt").write_text(" \n\ufeff")
    (tmp_path / "binary.txt").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "deep.html").write_text("<b>" * 3000 + "a")
    (tmp_path / "latin.md").write_bytes("été".encode("latin-1"))
    (tmp_path / "numbers.csv").write_text("a,b\n1,2\n")
    documents, left_out = read_documents([str(tmp_path)])
    assert [(document.title, document.file) for document in documents] == [("b", "b.txt"), ("in/a", "in/a.md")]
    reasons = [
        "1 .png, which are not read; convert",
        "binary.txt' cannot be read: it has a NUL at position 4, so it is no text",
        "deep.html' cannot be read",
        "empty.txt' holds",
        "latin.md' cannot",
    ]
    for sentence, reason in zip(left_out, [*reasons, "numbers.csv' has the columns"], strict=True):
        assert reason in sentence and sentence.endswith(".")


def test_drafts_packages_and_other_formats_are_left_out_and_counted(tmp_path) -> None:
    for name in (
        "in/a.md",
        "in/node_modules/x/R.md",
        "env/lib/b.txt",
        "env/c.md",
        "build/d.html",
        ".git/e.md",
        "dist/f.js",
        "_drafts/g.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "draft.md").write_text("---\ndraft: true\n---\nA secret.")
    (tmp_path / "no.html").write_text('<meta name="robots" content="noindex"><p>A secret.')
    for name in ("a.rst", "b.RST", "c.ipynb", "LICENSE", ".hidden"):
        (tmp_path / name).write_text("text")
    documents, left_out = read_documents([str(tmp_path)])
    assert [document.file for document in documents] == ["in/a.md"]
    expected = [
        r"the folder '.*_drafts' with 1 document, .*",
        r"the folder '.*build' with 1 document, of packages, a build or drafts; name it beside the other to read it\.",
        r"the folder '.*env' with 2 documents, .*", r"the folder '.*node_modules' with 1 document, .*",
        r"2 \.rst, 1 (\.ipynb|without an ending), 1 .*, which are not read; convert texts to \.txt, \.md or \.html\.",
        r"the file '.*draft\.md' says 'draft: true'; take that out of it to have it in the page\.",
        r"the file '.*no\.html' says 'robots: noindex'; .*",
    ]  # fmt: skip
    assert all(re.fullmatch(pattern, found) for pattern, found in zip(expected, left_out, strict=True)), left_out
    assert [document.file for document in read(tmp_path / "build")] == ["d.html"]
    with pytest.raises(ValueError, match="says 'draft: true'; take that out"):
        read(tmp_path / "draft.md")


def test_links_are_percent_encoded(tmp_path) -> None:
    names = ["a b.md", "c #1.md", "d?.md", "100% e.md", "küche/ö.md", "f\udce9.md"]
    (tmp_path / "küche").mkdir()
    for name in names:
        (tmp_path / name).write_text("text")
    links = [document.link for document in read(tmp_path, base_url="https://a.b/c")]
    encoded = ["a%20b", "c%20%231", "d%3F", "100%25%20e", "k%C3%BCche/%C3%B6", "f%E9"]
    assert sorted(links) == sorted(f"https://a.b/c/{name}.md" for name in encoded)
    (tmp_path / "rows.csv").write_text("text,link\nOne, https://a.b/é f?x=%20&y#z \n")
    (row,) = read(tmp_path / "rows.csv")
    assert row.link == "https://a.b/%C3%A9%20f?x=%20&y#z"


@pytest.mark.parametrize(("name", "content", "sentence"), [
    ("latin.txt", "été".encode("latin-1"), r"latin\.txt' cannot be read: .*; give a whole text in utf-8"),
    ("elf.csv", b"\x7fELF\0\0\xff\xfe", r"elf\.csv' is not utf-8 .*; give its own encoding, such as --encoding"),
    ("t.csv", b"a,b\n1,2\n", r"the columns a, b and none of texts; give .* with --text_column, or name one text"),
    ("semicolons.csv", b"id;text\n1;One.\n", r"delimiter"),
    ("long.csv", b"text\none,two\n", r"long\.csv' has 2 fields, and its header 1; put texts"),
    ("half.jsonl", b'{"text": "a"}\n{"text": "b', r"half\.jsonl' is no whole JSON .*; check that it is complete"),
    ("list.jsonl", b"[1, 2]", r"list\.jsonl' holds no list of objects"),
    ("number.jsonl", b'{"text": 5}', r"has the columns text and none of texts"),
    ("x.pdf", b"", r"x\.pdf' holds no document; give files or folders of \.txt, \.md, .*\.jsonl"),
    ("a.txt", b" ", r"holds no text to search \(the file .* holds no text\); give files with text in them"),
    ("deep.html", b"<b>" * 3000, r"deep\.html' cannot be read: its elements are nested too deep"),
    (".", None, r"holds no document; give files"),
    ("nowhere", None, r"nowhere' does not exist; give files or folders of \.txt"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_is_refused_with_one_sentence(name, content, sentence, tmp_path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as refused:
        read(tmp_path / name)
    assert "\n" not in str(refused.value)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab  .\n。日ไ\u0301x1!"), max_size=600), st.integers(1, 12), st.integers(0, 8))
def test_passages_hold_the_whole_text_within_their_limit(text: str, limit: int, overlap: int) -> None:
    passages = passages_of([Section("", text)], limit, overlap)
    assert "".join(passages.sentences) == text
    costs = [_units(sentence) for sentence in passages.sentences]
    read = set()
    for place, (start, end, _) in enumerate(passages.ranges):
        assert start < end and (sum(costs[start:end]) <= limit or end == start + 1)
        read |= {*range(start, end)}
        shared = range(start, passages.ranges[place - 1][1]) if place else range(0)
        assert sum(costs[index] for index in shared) <= overlap
        assert not place or start > passages.ranges[place - 1][0]
    assert all(cost == 0 for index, cost in enumerate(costs) if index not in read)
    assert all(text.strip() for text in passages.texts())


def test_passages_begin_with_the_last_sentences_of_the_one_before() -> None:
    text = "".join(f"Sentence number {index} has seven words here. " for index in range(40))
    passages = passages_of([Section("", text)])
    assert len(passages.ranges) == 5 and passages.ranges[:2] == [(0, 10, 0), (8, 18, 0)]
    assert OVERLAP_UNITS < PASSAGE_UNITS


def test_a_passage_has_the_heading_of_its_section_above_it() -> None:
    long = "w " * MOST_HEADING
    sections = [("", "Start."), ("A\nB", "One two. Three four. "), ("Empty", ""), (long, "x")]
    passages = passages_of([Section(*section) for section in sections], limit=3, overlap=0)
    assert passages.texts()[:4] == ["Start.", "A\nB\nOne two.", "A\nB\nThree four.", "Empty"]
    assert passages.texts()[-1] == "w w \nx" and passages.headings == ["", "A\nB", "", ""]


def test_the_same_passage_is_indexed_once() -> None:
    footer, other = Section("", "All  rights reserved."), Section("Terms", "All rights reserved.")
    documents = [Document("a", [Section("A", "One."), footer]), Document("b", [footer]), Document("c", [other, footer])]
    passages, repeated = cut(documents)
    texts = [of_document.texts() for of_document in passages]
    assert texts == [["A\nOne.", "All  rights reserved."], [], ["Terms\nAll rights reserved."]] and repeated == 2


@pytest.mark.parametrize("text", ["x" * 1_000_000, "word " * 200_000, "日本" * 100_000, "a. " * 50_000])
@pytest.mark.timeout(60)
def test_a_long_line_is_cut_in_linear_time(text: str) -> None:
    assert max(map(len, passages_of([Section("", text)]).texts())) <= 1_000


def test_vectors_in_their_own_space_have_the_same_cosines_and_fewer_numbers() -> None:
    generator = torch.Generator().manual_seed(0)
    modules = SentenceModules(torch.randn(48, 16, generator=generator), torch.randn(48, generator=generator))
    own = in_own_space(modules, 16)
    states = torch.randn(9, 16, generator=generator)
    whole, short = (states @ each.weight.T + each.bias for each in (modules, own))
    assert short.shape == (9, 17) and torch.allclose(whole @ whole.T, short @ short.T, atol=1e-3)
    assert in_own_space(SentenceModules(), 16).weight.shape == (16, 16)
    turned = rotated(own, principal_axes(short, 5))
    assert turned.weight.shape == (5, 16) and turned.bias.shape == (5,)
    kept = ((states @ turned.weight.T + turned.bias) ** 2).sum()
    assert kept > (short[:, :5] ** 2).sum()


def test_recall_counts_the_nearest_passages() -> None:
    generator = np.random.default_rng(0)
    vectors = generator.standard_normal((40, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    numbers = np.rint(vectors * 127).astype(np.int8)
    assert recall(vectors, vectors, vectors, numbers) > 0.95
    assert recall(vectors, vectors, vectors, -numbers) < 0.05


@pytest.mark.parametrize(("flags", "vectors"), [
    ([], f"{passage_index.USUAL_DIMENSIONS} 8-bit numbers"),
    pytest.param(["--dimensions", "7"], "7 8-bit numbers", marks=pytest.mark.slow),
    pytest.param(["--fp32"], "257 32-bit numbers", marks=pytest.mark.slow),
])  # fmt: skip
def test_a_space_that_searches_is_made_on_the_hub(flags, vectors, convert, hub, tmp_path, capsys) -> None:
    """By default, `test_near_words.py` exports the same graph."""
    pytest.importorskip("onnxscript", reason="the extra [onnx] is not installed")
    if not Path(default_encoder()).is_dir():
        pytest.skip("this archive has no trained weights; clone the repository")
    (tmp_path / "pets").mkdir()
    (tmp_path / "pets" / "a.txt").write_text("Cats sleep. Dogs bark.")
    (tmp_path / "pets" / "b.txt").write_text("Cats sleep. Dogs bark.")
    (tmp_path / "pets" / "c.jsonl").write_text('{"config": {"lang": ["en"]}, "docs": []}')
    title = ["--title", "Pets", "--model", default_encoder()]
    convert(["search", str(tmp_path / "pets"), "my-search", "--push", *title, *flags])
    space = hub.repositories["spaces/you/my-search"]
    assert set(space.files) == {"index.html", "README.md"}
    readme = space.files["README.md"].decode()
    assert "- sentence-similarity" in readme and "sdk: static" in readme and "`index.html#q=…`" in readme
    text = space.files["index.html"].decode()
    manifest = json.loads(re.search(r'id="manifest">(.*?)</script>', text, re.S)[1])
    assert [manifest["dimensions"], manifest["passages"], manifest["title"]] == [int(vectors.split()[0]), 1, "Pets"]
    printed = capsys.readouterr().out
    assert "left out: " in printed and "c.jsonl' has the columns config, docs and none of" in printed
    assert "2 documents, 1 passages; 1 repeated ones were left out" in printed and f"vectors of {vectors}" in printed


@pytest.mark.parametrize("weights", ["model.safetensors", "pytorch_model.bin"])
def test_a_checkpoint_among_the_documents_is_named(weights, tmp_path) -> None:
    (tmp_path / weights).touch()
    (tmp_path / "README.md").write_text("A card.")
    said = refusal(main, "search", tmp_path, tmp_path / "page")
    assert said.endswith(f"{str(tmp_path)!r} is a checkpoint and no folder of documents; give it with --model.")


@pytest.mark.parametrize(("texts", "language"), [
    (["The keys are in the box by the door.", "It is not far from here to the station."], "english"),
    (["Die Schlüssel liegen in der Kiste neben der Tür.", "Der Bahnhof ist nicht weit von hier."], "multilingual"),
    (["鍵はドアのそばの箱にあります。"], "multilingual"),
    (["Keys", "Box"], "english"),
])  # fmt: skip
def test_the_language_of_the_documents_chooses_the_encoder(texts, language, tmp_path, monkeypatch) -> None:
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    tried = []

    def load(source: str) -> None:
        tried.append(Path(source).name)
        raise ValueError("stop")

    monkeypatch.setattr(search, "load_encoder", load)
    assert "stop" in refusal(main, "search", tmp_path / "notes.jsonl", tmp_path / "page")
    assert tried == [ENCODERS[language]]
