"""Local files: literal names, a cache that follows their content, and what is refused."""

import json
import os
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vocabless.training.distillation.sentence_measures import read_scored_pairs
from vocabless.training.finetuning.task_files import read_files
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
@pytest.mark.parametrize("name", ["data[1]", "da*a", "a?", "a::b", "zip://a::b", "$HOME", "~", "file:a", "a b#c%20"])
def test_a_name_is_no_pattern(name, suffix, tmp_path, empty_cache) -> None:
    file = tmp_path / f"{name}{suffix}"
    file.parent.mkdir(parents=True, exist_ok=True)
    write(tmp_path / f"data1{suffix}", "of another file")
    write(file, "mine")
    for streaming in (False, True):
        assert [row["text"] for row in load_text(str(file), streaming=streaming)] == ["mine"]
    if suffix != ".txt":
        assert read_files([str(file)])["text"][:] == ["mine"]


def test_a_relative_name_is_no_pattern_either(tmp_path, monkeypatch, empty_cache) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a::b[1].csv", "mine")
    assert read_files(["a::b[1].csv"])["text"][:] == load_text("a::b[1].csv")["text"][:] == ["mine"]


def test_scored_pairs_are_read_by_their_literal_name(tmp_path, empty_cache) -> None:
    for name, score in (("sts1.csv", 1), ("sts[1].csv", 2)):
        (tmp_path / name).write_text(f"sentence1,sentence2,score\na,b,{score}\n")
    assert read_scored_pairs(str(tmp_path / "sts[1].csv")).scores == [2]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_changed_is_read_again_although_its_time_and_size_are_the_same(
    suffix, tmp_path, empty_cache
) -> None:
    file = tmp_path / f"data{suffix}"
    write(file, "old words")
    before = file.stat()
    assert load_text(str(file))["text"][:] == ["old words"]
    write(file, "new words")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert load_text(str(file))["text"][:] == ["new words"]
    assert [row["text"] for row in load_text(str(file), streaming=True)] == ["new words"]
    if suffix != ".txt":
        assert read_files([str(file)])["text"][:] == ["new words"]


def test_a_file_that_did_not_change_comes_from_the_cache(tmp_path, empty_cache) -> None:
    file = write(tmp_path / "data.csv", "words")
    first = load_text(file)
    os.utime(file, (0, 0))
    assert load_text(file).cache_files == first.cache_files


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("text,label\na,b,x\nc,d\n", "line 2 of .*rows.csv' has 3 fields, but the header has 2; put a text"),
        ("text,label\n\n,,\na,b,x\n", "line 3 of .* has 3 fields"),
        ('text,label\n"a\nb",c\nd,e,f\n', "rows.csv' cannot be read: .*Expected 2 fields in line 3, saw 3"),
        ("text,label\n" + "a,b\n" * 10_000 + "c,d,e,f\n", "Expected 2 fields in line 10002, saw 4"),
        (f"text,label\n{'long ' * 40_000},b,c\n", "line 2 of .* has 3 fields"),
        ("text,label,text\na,b,c\n", "the header of .*rows.csv' has the column 'text' twice; rename one"),
        ('\ufeff"text, mine",label\na,b,c\n', "line 2 of .* has 3 fields, but the header has 2"),
    ],
)
def test_rows_that_would_shift_and_doubled_columns_are_refused(content, sentence, tmp_path, empty_cache) -> None:
    (tmp_path / "rows.csv").write_text(content, encoding="utf-8")
    for read in (load_text, lambda file: read_files([file])):
        with pytest.raises(ValueError, match=sentence):
            read(str(tmp_path / "rows.csv"))


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
@pytest.mark.parametrize(
    ("texts", "kind"), [([["a"], ["b"]], "lists"), ([{"a": 1}] * 2, "objects"), ([1, 2], "int64"), (["a"], None)]
)
def test_a_column_of_another_type_is_named(texts, kind, streaming, tmp_path, empty_cache) -> None:
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    if kind is None:
        assert [row["text"] for row in load_text(str(tmp_path / "mine.jsonl"), streaming=streaming)] == texts
    else:
        with pytest.raises(ValueError, match=f"the column 'text' of .*mine.jsonl holds {kind}, not text; name a"):
            load_text(str(tmp_path / "mine.jsonl"), streaming=streaming)


def test_a_column_of_several_types_is_named(tmp_path, empty_cache) -> None:
    (tmp_path / "mine.jsonl").write_text('{"text": "a"}\n{"text": 1}\n')
    with pytest.raises(ValueError, match=r"the column 'text' of .*mine.jsonl holds values of several types, not text"):
        load_text(str(tmp_path / "mine.jsonl"))
