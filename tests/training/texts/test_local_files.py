"""Local files: literal names, other encodings and delimiters, a cache that follows their time, and what is refused."""

import json
import os
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vocabless.training.finetuning.sources import read_files
from vocabless.training.texts.corpora import TextFormat, find_files, load_text

SUFFIXES = [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".txt"]
ROWS = [("Das Café schließt früh.", "ja"), ("Nein, nie.", "nein")]

pytestmark = pytest.mark.usefixtures("empty_cache")


def write(file: Path, text: str) -> str:
    if file.suffix == ".parquet":
        pq.write_table(pa.table({"text": [text]}), file)
    elif file.suffix in (".csv", ".tsv"):
        file.write_text(f"text\n{text}\n")
    else:
        file.write_text(text + "\n" if file.suffix == ".txt" else json.dumps({"text": text}) + "\n")
    return str(file)


def write_rows(file: Path, delimiter: str = ",", encoding: str = "utf-8", rows: list = ROWS) -> str:
    lines = [delimiter.join(f'"{field}"' for field in row) for row in [("text", "label"), *rows]]
    file.write_bytes("".join(line + "\n" for line in lines).encode(encoding))
    return str(file)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_name_is_no_pattern_and_no_server_hears_of_it(suffix, tmp_path, monkeypatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.load, "get_session", lambda: asked.append(1))
    for other in ("data1", "data", "ab"):
        write(tmp_path / f"{other}{suffix}", "of another file")
    for name in ("data[1]", "da*a", "a?"):
        file = write(tmp_path / f"{name}{suffix}", "mine")
        for streaming in (True, False):  # the library knows the columns of a file that it has read
            assert [row["text"] for row in load_text(file, streaming=streaming)] == ["mine"]
    assert not asked and datasets.config.HF_UPDATE_DOWNLOAD_COUNTS


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_that_changed_is_read_again_and_another_one_comes_from_the_cache(is_link, tmp_path) -> None:
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


@pytest.mark.parametrize(("name", "content", "sentence"), [
    ("rows.csv", "text,label\na,b,x\nc,d\n", "rows.csv' has rows with more fields than its header; put texts"),
    ("rows.csv", 'text,label\n"a\nb",c\nd,e,f\n', "rows.csv' cannot be read: .*Expected 2 fields in line 3, saw 3"),
    ("rows.csv", "\n\n", "rows.csv' cannot be read: No columns"),
    ("rows.csv", "", "rows.csv' is empty; give "),
    ("a::b.csv", "text\nmine\n", "a::b.csv' cannot be read: Unable to find"),  # no chain of places
    ("mine.jsonl", '{"text": ["a"]}\n' * 2, "the column 'text' of .*mine.jsonl holds lists, not text; name a"),
    ("mine.jsonl", '{"text": {"a": 1}}\n' * 2, "the column 'text' of .*mine.jsonl holds objects, not text"),
    ("mine.jsonl", '{"text": 1}\n' * 2, "the column 'text' of .*mine.jsonl holds int64, not text"),
    ("a.jsonl", '{"body": "a"}', "no column 'text'.*body"),
    ("a.parquet", "PAR1 and not the rest", "cannot be read"),
])  # fmt: skip
@pytest.mark.parametrize("streaming", [False, True])
def test_files_that_would_be_misread_are_refused(name, content, sentence, streaming, tmp_path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence):
        load_text(str(tmp_path / name), streaming=streaming)


def test_rows_as_long_as_the_header_are_read(tmp_path) -> None:
    (tmp_path / "rows.csv").write_text('\n\ntext,label,,\n"a, ""b""",c,,\n\n"d\ne",f,,\n')
    table = read_files([str(tmp_path / "rows.csv")])
    assert table["text"][:] == ['a, "b"', "d\ne"]
    assert table["label"][:] == ["c", "f"]


def test_pipes_and_broken_links_of_a_corpus_are_named_and_folders_are_entered(tmp_path) -> None:
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


def test_a_missing_file_is_not_taken_for_a_data_set_of_the_hub(tmp_path) -> None:
    assert find_files("owner/name") == find_files("owner/name:config@main") == find_files("pydocs") == []
    for source in ("texts/mine.txt", str(tmp_path / "none")):
        with pytest.raises(ValueError, match="does not exist; give pydocs, a file"):
            find_files(source)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("csv", ";"), ("tsv", "\t"), ("tsv", "|")])
def test_a_file_is_read_in_its_own_format(suffix, delimiter, encoding, tmp_path) -> None:
    file = write_rows(tmp_path / f"mine.{suffix}", delimiter, encoding)
    text_format = TextFormat(encoding, None if delimiter in ",\t" else delimiter)
    assert [(row["text"], row["label"]) for row in read_files([file], text_format)] == ROWS
    assert load_text(file, text_format=text_format)["text"][:] == [text for text, _ in ROWS]
    for written in ("\t", r"\t", "tab") if delimiter == "\t" else ():
        assert read_files([file], TextFormat(encoding, written)).column_names == ["text", "label"]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "txt", "jsonl"])
def test_a_byte_of_another_encoding_is_named_with_its_file_and_the_flag(suffix, streaming, tmp_path) -> None:
    (tmp_path / f"1.{suffix}").write_bytes(b'{"text": "plain"}\n')
    file = tmp_path / f"2.{suffix}"
    file.write_bytes(b'{"text": "plain"}\n' * 100 + '{"text": "früh"}\n'.encode("latin-1"))
    sentence = rf"{file.name}' is not utf-8 \(byte 1812 is 0xfc\); give its own, such as --encoding latin-1, or"
    for source in (file,) if streaming else (file, tmp_path):
        with pytest.raises(ValueError, match=sentence):
            load_text(str(source), streaming=streaming)
    if suffix == "txt":
        assert load_text(str(file), text_format=TextFormat("latin-1"))["text"][-1] == '{"text": "früh"}'
    if not streaming:  # far from the start
        file.write_bytes(b"text,label\n" + b"plain,a\n" * 200_000 + "früh,b\n".encode("latin-1"))
        with pytest.raises(ValueError, match=rf"{file.name}' is not utf-8 \(byte 1600013 is 0xfc\)"):
            load_text(str(file))


def test_rows_are_numbered_by_their_lines(tmp_path) -> None:
    file = write_rows(tmp_path / "mine.csv", ";", rows=[("a\nb", "c"), ("d " * 70_000, "e")])
    assert TextFormat(delimiter=";").row_lines(file) == [2, 4]
    (tmp_path / "mine.jsonl").write_text('\n{"text": "a"}\n\n{"text": "b"}\n')
    assert TextFormat().row_lines(str(tmp_path / "mine.jsonl")) == [2, 4]
    assert TextFormat().row_lines(str(tmp_path / "mine.parquet")) == []


def test_a_format_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="--encoding 'latin-99' is unknown; give one that Python has"):
        TextFormat(encoding="latin-99")
    with pytest.raises(ValueError, match="--delimiter ', ' is not one character"):
        TextFormat(delimiter=", ")
