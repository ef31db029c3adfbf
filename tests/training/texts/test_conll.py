"""Files with a word and its tag in each line."""

import pytest

from vocabless.training.finetuning.task_files import read_files
from vocabless.training.texts.text_format import TextFormat

SENTENCES = [(["Ada", "lived", "in", "London"], ["B-PER", "O", "O", "B-LOC"]), (["#1", "Noël"], ["O", "B-PER"])]


def read(tmp_path, text, encoding="utf-8"):
    (tmp_path / "mine.conll").write_text(text, encoding=encoding)
    return read_files([str(tmp_path / "mine.conll")], TextFormat(encoding.removesuffix("-sig")))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("separator", ["\t", " ", "\tNNP\t_\t", " NNP _ "])
def test_words_and_tags_are_read(separator, encoding, tmp_path):
    sentences = ["\n".join(map(separator.join, zip(*each, strict=True))) for each in SENTENCES]
    table = read(tmp_path, f"-DOCSTART-{separator}O\n\n" + "\n\n\n".join(sentences), encoding)
    assert [(row["tokens"], row["ner_tags"]) for row in table] == SENTENCES


def test_a_word_may_hold_a_space_and_comments_are_left_out(tmp_path):
    table = read(tmp_path, "# id 7 domain=en\nNew York\tB-LOC\n# a comment\n\n#\tO\nhashes\tO\n")
    assert table["tokens"][:] == [["New York"], ["#", "hashes"]]


def test_words_alone_have_no_tags(tmp_path):
    table = read(tmp_path, "Ada\nlived\n\nhere\n")
    assert table.column_names == ["tokens"] and table["tokens"][:] == [["Ada", "lived"], ["here"]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Ada\tO\nlived\n", "line 2 of .*mine.conll' has no word or no tag; write the word first and its tag last"),
        ("Ada\nlived O\n", "line 2 of .* has no word or no tag"),
        ("Ada\t\n", "line 1 of .* has no word or no tag"),
        ("\tO\n", "line 1 of .* has no word or no tag"),
        ("-DOCSTART- O\n", "mine.conll has no rows"),
    ],
)
def test_a_line_without_a_tag_is_named(text, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path, text)


def test_another_encoding_is_named_far_from_the_start(tmp_path):
    (tmp_path / "mine.conll").write_bytes(b"word\tO\n" * 20_000 + "Noël\tO\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"mine.conll' is not utf-8 \(byte"):
        read_files([str(tmp_path / "mine.conll")])
