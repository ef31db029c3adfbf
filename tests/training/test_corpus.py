import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from vocabless import load_tokenizer
from vocabless.training.corpus import load_text, pack, prepare
from vocabless.training.subword import train_subword

TEXTS = ["One two three.", "", "naïve words, and more of them", "x" * 100]


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("ewe-bert-tiny")


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "txt"])
def test_every_format_gives_the_same_documents(tmp_path, suffix):
    lines = ["One two three.", "Four, five."]
    file = tmp_path / f"corpus.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({"text": lines}), file)
    elif suffix == "jsonl":
        file.write_text("\n".join(json.dumps({"text": line}) for line in lines))
    elif suffix == "csv":
        file.write_text("text\n" + "\n".join(f'"{line}"' for line in lines))
    else:
        file.write_text("\n".join(lines))
    assert load_text([str(file)])["text"] == lines
    assert load_text([str(tmp_path)])["text"] == lines
    assert load_text([str(tmp_path / "corp*")])["text"] == lines


@pytest.mark.parametrize(
    ("content", "column", "sentence"),
    [
        (None, "text", "does not exist"),
        ({"body": ["a"]}, "text", "no column 'text'.*body"),
        ({"text": [1]}, "text", "int64, not text"),
    ],
)
def test_a_bad_corpus_is_refused_in_one_sentence(tmp_path, content, column, sentence):
    file = tmp_path / "corpus.parquet"
    if content is not None:
        pq.write_table(pa.table(content), file)
    with pytest.raises(ValueError, match=sentence):
        load_text([str(file)], column)


def test_a_truncated_file_is_refused(tmp_path):
    file = tmp_path / "corpus.parquet"
    pq.write_table(pa.table({"text": ["some text"] * 100}), file)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ValueError, match="cannot be read"):
        load_text([str(file)])


def test_a_file_without_rows_is_refused(tmp_path):
    (tmp_path / "corpus.csv").write_text("text\n")
    with pytest.raises(ValueError, match=r"cannot be read.*no data"):
        load_text([str(tmp_path)])


def test_files_of_unlike_formats_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.jsonl").write_text('{"text": "b"}')
    with pytest.raises(ValueError, match="json, text"):
        load_text([str(tmp_path)])


def test_a_corpus_without_a_token_is_refused(tokenizer):
    with pytest.raises(ValueError, match="not one token"):
        prepare(Dataset.from_dict({"text": ["", "  "]}), tokenizer, 16)


def test_packing_keeps_every_token_in_order(tokenizer):
    packed = pack({"text": TEXTS}, tokenizer, room=5)
    raw = np.frombuffer(b"".join(packed["blocks"]), np.uint8).reshape(-1, tokenizer.raw_block_size)
    expected = [block for text in TEXTS if text for block in tokenizer(text, add_special_tokens=False)["input_ids"]]
    assert tokenizer.widen(raw).tolist() == expected
    assert [len(row) // tokenizer.raw_block_size for row in packed["blocks"]] == [5, 5, 2]


def test_targets_of_subwords_are_their_own_ids(tmp_path):
    documents = Dataset.from_dict({"text": ["the cat sat on the mat", "a naïve cat"]})
    subword = train_subword(documents, "wordpiece", 60)
    subword.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer("eelbert-tiny", tmp_path / "tokenizer.json")
    packed = pack({"text": documents["text"]}, tokenizer, 100, subword)
    expected = [i for text in documents["text"] for i in subword.encode(text, add_special_tokens=False).ids]
    assert np.frombuffer(packed["targets"][0], np.int32).tolist() == expected
    assert len(packed["blocks"][0]) == len(expected) * tokenizer.raw_block_size


def test_targets_of_words_are_their_first_pieces(tokenizer):
    documents = Dataset.from_dict({"text": ["the cat sat on the mat"]})
    subword = train_subword(documents, "wordpiece", 60)
    packed = pack({"text": ["the mats"]}, tokenizer, 100, subword)
    expected = [subword.encode(word, add_special_tokens=False).ids[0] for word in ("the", "mats")]
    assert np.frombuffer(packed["targets"][0], np.int32).tolist() == expected


@pytest.mark.parametrize("length", [0, 2])
def test_a_length_without_room_for_a_token_is_refused(tokenizer, length):
    with pytest.raises(ValueError, match=f"max_seq_length={length}"):
        prepare(Dataset.from_dict({"text": TEXTS}), tokenizer, length)
