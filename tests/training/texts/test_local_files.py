"""Local files: literal names, a cache that follows their time, and what is refused."""

import json
import os
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vocabless.training.finetuning.columns import read_files
from vocabless.training.texts.corpora import find_files, load_text

SUFFIXES = [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".txt"]


def write(file: Path, text: str) -> str:
    if file.suffix == ".parquet":
        pq.write_table(pa.table({"text": [text]}), file)
    elif file.suffix in (".csv", ".tsv"):
        file.write_text(f"text\n{text}\n")
    else:
        file.write_text(text + "\n" if file.suffix == ".txt" else json.dumps({"text": text}) + "\n")
    return str(file)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_server_hears_of_a_local_file(suffix, tmp_path, empty_cache, monkeypatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.load, "get_session", lambda: asked.append(1))
    load_text(write(tmp_path / f"mine{suffix}", "mine"))
    assert not asked and datasets.config.HF_UPDATE_DOWNLOAD_COUNTS


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["data[1]", "da*a", "a?"])
def test_a_name_is_no_pattern(name, suffix, tmp_path, empty_cache) -> None:
    file = tmp_path / f"{name}{suffix}"
    for other in ("data1", "data", "ab"):
        write(tmp_path / f"{other}{suffix}", "of another file")
    write(file, "mine")
    for streaming in (False, True):
        assert [row["text"] for row in load_text(str(file), streaming=streaming)] == ["mine"]


def test_a_name_that_is_a_chain_of_places_is_refused_with_one_sentence(tmp_path, empty_cache) -> None:
    with pytest.raises(ValueError, match=r"a::b.csv' cannot be read: Unable to find"):
        load_text(write(tmp_path / "a::b.csv", "mine"))


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_that_changed_is_read_again_and_another_one_comes_from_the_cache(is_link, tmp_path, empty_cache) -> None:
    file = source = tmp_path / "data.csv"
    write(file, "old words")
    os.utime(file, (1, 1))
    if is_link:
        source = tmp_path / "link.csv"
        source.symlink_to(file)
    first = load_text(str(source))
    assert load_text(str(source)).cache_files == first.cache_files
    write(file, "new words")
    assert first["text"][:] == ["old words"] and load_text(str(source))["text"][:] == ["new words"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("text,label\na,b,x\nc,d\n", "rows.csv' has rows with more fields than its header; put texts"),
        ('text,label\n"a\nb",c\nd,e,f\n', "rows.csv' cannot be read: .*Expected 2 fields in line 3, saw 3"),
        ("\n\n", "rows.csv' cannot be read: No columns"),
        ("", "rows.csv' is empty; give "),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
def test_rows_that_would_shift_and_empty_files_are_refused(content, sentence, streaming, tmp_path, empty_cache) -> None:
    (tmp_path / "rows.csv").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence):
        load_text(str(tmp_path / "rows.csv"), streaming=streaming)


def test_rows_as_long_as_the_header_are_read(tmp_path, empty_cache) -> None:
    (tmp_path / "rows.csv").write_text('\n\ntext,label,,\n"a, ""b""",c,,\n\n"d\ne",f,,\n')
    table = read_files([str(tmp_path / "rows.csv")])
    assert table["text"][:] == ['a, "b"', "d\ne"]
    assert table["label"][:] == ["c", "f"]


def test_pipes_and_broken_links_of_a_corpus_are_named_and_folders_are_entered(tmp_path, empty_cache) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "x.txt").mkdir(parents=True)
    write(corpus / "x.txt" / "mine.txt", "words")
    assert load_text(str(corpus))["text"][:] == load_text(str(corpus / "*"))["text"][:] == ["words"]
    (corpus / "broken.txt").symlink_to(tmp_path / "none.txt")
    for source in (corpus, corpus / "broken.txt"):
        with pytest.raises(ValueError, match=r"holds '.*broken.txt', a broken link or a pipe; remove it"):
            find_files(str(source))
    (corpus / "broken.txt").unlink()
    os.mkfifo(corpus / "pipe.txt")
    with pytest.raises(ValueError, match=r"holds '.*pipe.txt', a broken link or a pipe"):
        find_files(str(corpus))


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("texts", "kind"), [([["a"], ["b"]], "lists"), ([{"a": 1}] * 2, "objects"), ([1, 2], "int64")])
def test_a_column_of_another_type_is_named(texts, kind, streaming, tmp_path, empty_cache) -> None:
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with pytest.raises(ValueError, match=f"the column 'text' of .*mine.jsonl holds {kind}, not text; name a"):
        load_text(str(tmp_path / "mine.jsonl"), streaming=streaming)
