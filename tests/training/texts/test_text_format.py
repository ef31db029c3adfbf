"""Files of other encodings and delimiters: read with the flags; a wrong byte is named in one sentence."""

from pathlib import Path

import pytest

from vocabless.training.finetuning.columns import read_files
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


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "txt", "jsonl"])
def test_a_byte_of_another_encoding_is_named_with_its_file_and_the_flag(
    suffix, streaming, tmp_path, empty_cache
) -> None:
    (tmp_path / f"1.{suffix}").write_bytes(b'{"text": "plain"}\n')
    file = tmp_path / f"2.{suffix}"
    file.write_bytes(b'{"text": "plain"}\n' * 100 + '{"text": "früh"}\n'.encode("latin-1"))
    sentence = rf"{file.name}' is not utf-8 \(byte 1812 is 0xfc\); give its own, such as --encoding latin-1, or"
    if not streaming:
        with pytest.raises(ValueError, match=sentence):
            load_text(str(tmp_path))
    with pytest.raises(ValueError, match=sentence):
        load_text(str(file), streaming=streaming)
    if suffix == "txt":
        assert load_text(str(file), text_format=TextFormat("latin-1"))["text"][-1] == '{"text": "früh"}'


def test_a_letter_far_from_the_start_is_found(tmp_path, empty_cache) -> None:
    (tmp_path / "long.csv").write_bytes(b"text,label\n" + b"plain,a\n" * 200_000 + "früh,b\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"long.csv' is not utf-8 \(byte 1600013 is 0xfc\)"):
        read_files([str(tmp_path / "long.csv")])


def test_rows_are_numbered_by_their_lines(tmp_path) -> None:
    rows = [("a\nb", "c"), ("d " * 70_000, "e")]
    assert TextFormat(delimiter=";").row_lines(write(tmp_path, delimiter=";", rows=rows)) == [2, 4]
    (tmp_path / "mine.jsonl").write_text('\n{"text": "a"}\n\n{"text": "b"}\n')
    assert TextFormat().row_lines(str(tmp_path / "mine.jsonl")) == [2, 4]
    assert TextFormat().row_lines(str(tmp_path / "mine.parquet")) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"encoding": "latin-99"}, "--encoding 'latin-99' is unknown; give one that Python has"),
        ({"delimiter": ", "}, "--delimiter ', ' is not one character"),
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
