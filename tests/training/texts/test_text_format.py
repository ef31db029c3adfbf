"""Files of other encodings and delimiters: read with the flags, and named in one sentence without them."""

from pathlib import Path

import pytest

from vocabless.training.finetuning.task_files import read_files
from vocabless.training.texts.corpora import find_files, load_text
from vocabless.training.texts.text_format import TextFormat

ROWS = [("Das Café schließt früh.", "ja"), ("Nein, nie.", "nein")]


def write(
    folder: Path, name: str = "mine.csv", delimiter: str = ",", encoding: str = "utf-8", rows: list = ROWS
) -> str:
    lines = [delimiter.join(f'"{field}"' for field in row) for row in [("text", "label"), *rows]]
    (folder / name).write_bytes("".join(line + "\n" for line in lines).encode(encoding))
    return str(folder / name)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
@pytest.mark.parametrize(
    ("name", "delimiter"), [("mine.csv", ","), ("mine.csv", ";"), ("mine.tsv", "\t"), ("mine.tsv", "|")]
)
def test_a_file_is_read_in_its_own_format(name, delimiter, encoding, tmp_path, empty_cache) -> None:
    file = write(tmp_path, name, delimiter, encoding)
    text_format = TextFormat(encoding, None if delimiter in ",\t" else delimiter)
    table = read_files([file], text_format)
    assert [(row["text"], row["label"]) for row in table] == ROWS
    assert load_text(file, text_format=text_format)["text"][:] == [text for text, _ in ROWS]


def test_a_tab_can_be_written_in_three_ways(tmp_path, empty_cache) -> None:
    file = write(tmp_path, delimiter="\t")
    for delimiter in ("\t", r"\t", "tab"):
        assert read_files([file], TextFormat(delimiter=delimiter)).column_names == ["text", "label"]


def test_lines_of_a_txt_file_have_an_encoding_too(tmp_path, empty_cache) -> None:
    (tmp_path / "a.txt").write_bytes("früh\nspät\n".encode("latin-1"))
    assert load_text(str(tmp_path / "a.txt"), text_format=TextFormat("latin-1"))["text"][:] == ["früh", "spät"]
    with pytest.raises(
        ValueError,
        match=r"a.txt' is not utf-8 \('utf-8' codec can't decode .*\); give its encoding, perhaps --encoding lat",
    ):
        load_text(str(tmp_path / "a.txt"))


@pytest.mark.parametrize(
    ("file", "options", "sentence"),
    [
        (
            {"encoding": "latin-1"},
            {},
            r"is not utf-8 \(.*0xe9 in position .*\); .* perhaps --encoding latin-1 or cp1252, or",
        ),
        ({"encoding": "utf-16"}, {}, "is not utf-8 .* perhaps --encoding utf-16, or convert it"),
        ({}, {"encoding": "utf-16"}, "is not utf-16 .* perhaps --encoding utf-8, or"),
        ({"delimiter": ";"}, {}, "header of .* has no ',' but ';' between its columns; give --delimiter ';'"),
        ({"delimiter": "\t"}, {}, "has no ',' but tab between its columns; give --delimiter tab"),
        ({"name": "a.tsv", "delimiter": ","}, {}, r"has no '\\t' but ',' between .* give --delimiter ','"),
        ({"rows": []}, {}, "mine.csv' is empty, with a header and no rows; give a file with rows"),
    ],
)
def test_a_wrong_format_is_named_with_its_remedy(file, options, sentence, tmp_path, empty_cache) -> None:
    with pytest.raises(ValueError, match=sentence) as raised:
        read_files([write(tmp_path, **file)], TextFormat(**options))
    assert "\n" not in str(raised.value)


def test_a_letter_far_from_the_start_is_found(tmp_path, empty_cache) -> None:
    (tmp_path / "long.csv").write_bytes(b"text,label\n" + b"plain,a\n" * 20_000 + "früh,b\n".encode("latin-1"))
    for read in (lambda file: read_files([file]), load_text):
        with pytest.raises(ValueError, match=r"long.csv' is not utf-8 \(.* can't decode byte 0xfc"):
            read(str(tmp_path / "long.csv"))


@pytest.mark.parametrize("content", ["", "\n\n", " \n"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json"])
def test_an_empty_file_is_called_empty(suffix, content, tmp_path, empty_cache) -> None:
    (tmp_path / f"none.{suffix}").write_text(content)
    with pytest.raises(ValueError, match=rf"none.{suffix}' is empty; give a file with rows"):
        read_files([str(tmp_path / f"none.{suffix}")])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"encoding": "latin-99"}, "--encoding 'latin-99' is unknown; give utf-8"),
        ({"encoding": "hex"}, "--encoding 'hex' is unknown"),
        ({"delimiter": ", "}, "--delimiter ', ' is not one character"),
        ({"delimiter": ""}, "--delimiter '' is not one character"),
    ],
)
def test_a_format_that_does_not_exist_is_refused(options, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        TextFormat(**options)


def test_a_missing_file_is_not_taken_for_a_data_set_of_the_hub(tmp_path) -> None:
    assert find_files("owner/name") == find_files("owner/name:config@main") == find_files("pydocs") == []
    for source in ("texts/mine.txt", str(tmp_path / "none")):
        with pytest.raises(ValueError, match="does not exist; give pydocs, a file"):
            find_files(source)


@pytest.mark.parametrize("suffix", ["csv", "txt"])
def test_an_empty_corpus_is_called_empty_but_one_empty_file_may_be_in_it(suffix, tmp_path, empty_cache) -> None:
    (tmp_path / f"1.{suffix}").touch()
    with pytest.raises(ValueError, match="is empty; give files with text in them"):
        load_text(str(tmp_path))
