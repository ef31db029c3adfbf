"""Local files: literal names, other encodings and delimiters, a cache by content, and what is refused."""

import bz2
import gzip
import json
import lzma
import os
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vocabless.texts.corpora import find_files, first_texts, load_text
from vocabless.texts.tables import read_files
from vocabless.texts.text_format import TextFormat

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


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_name_is_no_pattern_and_no_server_hears_of_it(suffix, tmp_path, monkeypatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(datasets.config, "HF_UPDATE_DOWNLOAD_COUNTS", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.load, "get_session", lambda: asked.append(1))
    for other in ("data1", "data", "ab"):
        write(tmp_path / f"{other}{suffix}", "of another file")
    names = ("data[1]", "da*a", "a?", *([] if suffix == ".parquet" else ["a::b"]))
    for name in names:
        file = write(tmp_path / f"{name}{suffix}", "mine")
        for streaming in (True, False):  # the library knows the columns of a file that it has read
            assert [row["text"] for row in load_text(file, streaming=streaming)] == ["mine"]
    assert not asked and datasets.config.HF_UPDATE_DOWNLOAD_COUNTS


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_changed_is_read_again_also_with_its_old_time_and_size(suffix, tmp_path) -> None:
    file, link, copy = (tmp_path / f"{name}{suffix}" for name in ("data", "link", "copy"))
    link.symlink_to(file)
    write(file, "old words")
    os.utime(file, (1, 1))
    first, size = load_text(str(link)), file.stat().st_size
    copy.write_bytes(file.read_bytes())
    assert load_text(str(link)).cache_files == load_text(str(copy)).cache_files == first.cache_files != []
    write(file, "new words")
    os.utime(file, (1, 1))
    assert file.stat().st_size == size
    assert first["text"][:] == ["old words"] and load_text(str(link))["text"][:] == ["new words"]
    assert load_text(str(copy))["text"][:] == ["old words"]


def test_a_file_in_another_format_comes_not_from_the_cache_of_the_first(tmp_path) -> None:
    (tmp_path / "a.csv").write_bytes("text;label\nfrüh,a;b\n".encode("latin-1"))
    for encoding, text in (("latin-1", "früh,a"), ("cp437", "frⁿh,a")):
        assert read_files([str(tmp_path / "a.csv")], TextFormat(encoding, ";"))["text"][:] == [text]


def test_all_rows_of_long_csv_files_are_read(tmp_path) -> None:
    rows = [(f"text {number}", *(["x", ""][number % 2 :])) for number in range(2500)]
    for name, part in (("a.csv", rows[:1000]), ("b.csv", rows[1000:])):
        (tmp_path / name).write_text("text,label,more\n" + "".join(f"{','.join(row)}\n" for row in part))
    table = read_files([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    assert table["text"][:] == [text for text, *_ in rows] and set(table["more"]) == {None}
    assert table["label"][:] == [(row[1:] or ("",))[0] or None for row in rows]


@pytest.mark.parametrize(("name", "content", "sentence"), [
    ("rows.csv", "text,label\na,b,x\nc,d\n", "line 2 of .*rows.csv' has 3 fields, and its header 2; put texts"),
    ("rows.csv", 'text,label\n"a\nb",c\nd,e,f\n', "line 4 of .*rows.csv' has 3 fields"),
    ("rows.csv", "text,label\na,b,c\nd,e\nf,g,h\ntext,label\ni,j,k,l\n",
     r"^each of the 2 lines 2, 4 of '.*' has 3 fields, .* line 5 of .* is the header .* line 6 of .* has 4 fields"),
    ("rows.csv", "text,label\n" + "a,b,c\n" * 12, r"^each of the 12 lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … of '"),
    ("rows.csv", "\tlabel\na,b\n", r"is one column, '\\tlabel'; give --delimiter '\\t', or"),
    ("rows.csv", "text\n" + "a\n" * 2000 + '"b', r"line 2002 of .*rows.csv' has a cell that begins with a quote"),
    ("rows.csv", "\n\n", "rows.csv' is empty; give "),
    ("rows.csv", "text,label\n", "rows.csv' is empty; give "),
    ("rows.csv", "", "rows.csv' is empty; give "),
    ("rows.jsonl", "\n \n", "rows.jsonl' is empty; give "),
    ("rows.json", "[]", "rows.json' is empty; give "),
    ("a.csv", "text;label\na;b\n", "line 1 of .* is one column, 'text;label'; give --delimiter ';', or write it"),
    ("a.tsv", "text,label\na,b\n", "is one column, 'text,label'; give --delimiter ',', or write it with commas"),
    ("a.csv", "sep=;\ntext;label\na;b\n", "line 1 of .* is 'sep=;', not the header; drop the first line and give"),
    ("a.csv", "text,label,text\na,b,c\n", "line 1 of .* has the column 'text' twice; give each column its own"),
    ("a.csv", "text,label\na,b\n\ufefftext,label\nc,d\n",
     "line 3 of .* is the header again; drop the line, or write names above line 1"),
    ("a.csv", 'text,label\na,b\n"c,d\ne,f\n', "line 3 of .* has a cell that begins with a quote and does not end"),
    ("a.tsv", 'text\tlabel\n"a\tb\nc\td\n"e\tf\n', "line 2 of .* has a cell that begins with a quote"),
    ("a.csv", 'text,label\n"a \\"b\\" c",d\n', "line 2 of .* has a cell that begins with a quote"),
    ("a.csv", 'text,label\n"a,b\nc,d\ne",b\n', "line 2 of .* has a cell that begins with a quote"),
    ("a.csv", 'label,text\nb,"a\nd,c\nb,e"\nd,a\n', "line 2 of .* has a cell that begins with a quote"),
    ("a.tsv", 'id\ttext\n7\t"a\n8\tc\n9\te"\n', "line 2 of .* has a cell that begins with a quote"),
    ("a.jsonl", '{"text": "a"}\n{"text": "b', "line 2 of .*a.jsonl' is no whole JSON .*; check that it is complete"),
    ("a.json", '[{"text": "a"},\n{"text": "b', "line 2 of .*a.json' is no whole JSON"),
    ("a.jsonl", '{"text": "a"}\n5\n', "line 2 of .* is no object such as"),
    ("a.jsonl", '{"text": "\\ud83d\\ude00"}\n{"text": "\\ud83d a"}\n', "line 2 of .* has half of a surrogate pair"),
    ("a.json", '[{"text": "a"},\n{"text": "\\ude00"}]', "from line 1 of .* has half of a surrogate pair, .*; replace"),
    ("mine.jsonl", '{"text": ["a"]}\n' * 2, "the column 'text' of .*mine.jsonl holds lists, not text; name a"),
    ("mine.jsonl", '{"text": {"a": 1}}\n' * 2, "the column 'text' of .*mine.jsonl holds objects, not text"),
    ("mine.jsonl", '{"text": 1}\n' * 2, "the column 'text' of .*mine.jsonl holds int64, not text"),
    ("a.jsonl", '{"body": "a"}', "no column 'text'.*body"),
    ("a.jsonl", "text,label\na,b\n", "line 1 of .* is no whole JSON .*; name a file after what it is, such as .csv"),
    ("a.json", '[["a", "b"], ["c", "d"]]', "holds no list of objects, or several; write an object for each row"),
    ("a.json", '{"train": [{"text": "a"}], "test": [{"text": "b"}]}', "holds no list of objects, or several"),
    ("a.jsonl", '{"text": "a", "id": 3}\n{"text": "b", "id": 18446744073709551616}', "'id' has a number above 64"),
    ("a.csv", "<!DOCTYPE html>\n<p>Sign in</p>", "a.csv' is a web page, no table; save the table itself as csv"),
    ("a.parquet", "PAR1 and not the rest", "cannot be read"),
])  # fmt: skip
@pytest.mark.parametrize("streaming", [False, True])
def test_files_that_would_be_misread_are_refused(name, content, sentence, streaming, tmp_path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence) as refused:
        list(load_text(str(tmp_path / name), streaming=streaming))
    cause = refused.value.__cause__
    assert cause is None or refused.value not in (cause, cause.__cause__)  # a ring of causes has no end


@pytest.mark.parametrize("name", ["rows.csv", "rows.CSV"])
def test_rows_and_all_their_lines_are_read(name, tmp_path) -> None:
    rows = '\n\ntext,label,,\n"a, ""b""",c,,\n  \n"d, 5,007\ne",f,,\n5" pipe,007\n"Dear, c,,\n\ntwo",\n'
    file = tmp_path / name
    file.write_text(rows)
    texts = ['a, "b"', "d, 5,007\ne", '5" pipe', "Dear, c,,\n\ntwo"]
    assert read_files([str(file)])["text"][:] == texts == [row["text"] for row in load_text(str(file), streaming=True)]
    assert read_files([str(file)])["label"][:] == ["c", "f", "007", None]


def test_files_of_a_corpus_have_the_same_columns(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,b\n")
    (tmp_path / "b.csv").write_text("label,text\nc,d\n")
    assert load_text(str(tmp_path / "*.csv"))["text"][:] == ["a", "d"]
    (tmp_path / "b.csv").write_text("id,text\nc,d\n")
    with pytest.raises(ValueError, match=r"b.csv' has other columns than .*a.csv'; give files with the same header"):
        load_text(str(tmp_path / "*.csv"))


def test_the_first_texts_of_a_corpus_are_not_blank_and_its_file_is_named(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("\n\n".join("abcd") + "\n\n")
    assert first_texts(str(tmp_path / "a.txt"), "text", TextFormat(), 3)["text"][:] == ["a", "b", "c"]
    (tmp_path / "a.txt").write_text("\n \n")
    with pytest.raises(ValueError, match=r"a.txt' holds no text; give files with text"):
        first_texts(str(tmp_path / "a.txt"), "text", TextFormat(), 3)
    (tmp_path / "a.txt").write_bytes(b"a\n" * 20_000 + "früh\n".encode("latin-1"))  # beyond what is read at first
    with pytest.raises(ValueError, match=r"file .*a.txt' is not utf-8"):
        first_texts(str(tmp_path / "a.txt"), "text", TextFormat(), 30_000)


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
    lines = [delimiter.join(f'"{field}"' for field in row) + "\n" for row in [("text", "label"), *ROWS]]
    file = str(tmp_path / f"mine.{suffix}")
    Path(file).write_bytes("".join(lines).encode(encoding))
    text_format = TextFormat(encoding, None if delimiter in ",\t" else delimiter)
    assert [(row["text"], row["label"]) for row in read_files([file], text_format)] == ROWS
    assert load_text(file, text_format=text_format)["text"][:] == [text for text, _ in ROWS]
    for written in ("\t", r"\t", "tab") if delimiter == "\t" else ():
        assert read_files([file], TextFormat(encoding, written)).column_names == ["text", "label"]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "txt", "jsonl", "html"])
def test_a_byte_of_another_encoding_is_named_with_its_file_and_the_flag(suffix, streaming, tmp_path) -> None:
    plain, old = ("text\n", "früh\n") if suffix == "csv" else ('{"text": "plain"}\n', '{"text": "früh"}\n')
    (tmp_path / f"1.{suffix}").write_text(plain)
    file = tmp_path / f"2.{suffix}"
    file.write_bytes((plain + "plain\n" * 100 if suffix == "csv" else plain * 100).encode() + old.encode("latin-1"))
    for source in (file, tmp_path):
        with pytest.raises(ValueError, match=rf"{file.name}' is not utf-8 \(.*\); .* --encoding cp1252 .*, or convert"):
            list(load_text(str(source), streaming=streaming))
    if suffix in ("txt", "html"):
        assert "früh" in load_text(str(file), text_format=TextFormat("latin-1"))["text"][-1]


@pytest.mark.parametrize("name", ["latin-1", "ISO-8859-1", "l1", "cp1252"])
def test_latin_1_is_read_as_windows_1252(name, tmp_path) -> None:
    file = tmp_path / "mine.csv"
    file.write_bytes("text,label\n“5 €” – früh,a\n".encode("cp1252"))
    assert load_text(str(file), text_format=TextFormat(name))["text"][:] == ["“5 €” – früh"]


def test_rows_are_numbered_by_their_lines(tmp_path) -> None:
    for name, text in (("a.csv", f'text;label\n"a\nb";c\n{"d " * 70_000};e\n'), ("a.jsonl", '\n{"text": "a"}\n\n{}\n')):
        (tmp_path / name).write_text(text)
        assert TextFormat(delimiter=";").row_lines(str(tmp_path / name)) == [2, 4]
    write(tmp_path / "mine.parquet", "words")
    assert TextFormat().row_lines(str(tmp_path / "mine.parquet")) == []


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".txt"])
def test_a_packed_file_is_read_whatever_its_name(suffix, pack, tmp_path) -> None:
    packed = pack(Path(write(tmp_path / f"plain{suffix}", "mine")).read_bytes())
    for name in (f"a{suffix}", f"a{suffix}.gz", f"a{suffix.upper()}.XZ"):
        (tmp_path / name).write_bytes(packed)
        for streaming in (True, False):
            assert [row["text"] for row in load_text(str(tmp_path / name), streaming=streaming)] == ["mine"]
    (tmp_path / f"a{suffix}").write_bytes(pack(b"text\n" + b"mine\n" * 9000)[:-16])
    with pytest.raises(ValueError, match=rf"a{suffix}' is packed and damaged \(.*\); pack it again"):
        load_text(str(tmp_path / f"a{suffix}"))


def test_a_file_is_read_as_what_it_holds_whatever_its_name(tmp_path) -> None:
    for name in ("mine.parquet", "mine.jsonl"):
        write(tmp_path / name, "mine")
        (tmp_path / name).rename(tmp_path / "mine.csv")
        assert read_files([str(tmp_path / "mine.csv")])["text"][:] == ["mine"]
    (tmp_path / "mine.tsv").write_text("text\tlabel\nmine\ta\n", encoding="utf-16")  # as Excel saves it
    assert read_files([str(tmp_path / "mine.tsv")])["text"][:] == ["mine"]


@pytest.mark.parametrize(("start", "kind"), [
    (b"PK\x03\x04", "an Excel workbook or a zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1", "an Excel workbook"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd"),
    (b"%PDF-1.7", "a PDF document"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["mine.csv", "mine.xlsx"])
def test_a_file_of_another_program_is_named(name, start, kind, tmp_path) -> None:
    (tmp_path / name).write_bytes(start + bytes(range(256)))
    with pytest.raises(ValueError, match=rf"{name}' is {kind}, not text; unpack it, or save it as csv in UTF-8"):
        read_files([str(tmp_path / name)])


def test_a_format_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="--encoding 'latin-99' is unknown; give one that Python has"):
        TextFormat(encoding="latin-99")
    with pytest.raises(ValueError, match="--delimiter ', ' is not one character"):
        TextFormat(delimiter=", ")
