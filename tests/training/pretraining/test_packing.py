import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from vocabless import load_tokenizer
from vocabless.training.pretraining import packing
from vocabless.training.pretraining.codecs import BlockCodec, IdCodec, build_codec
from vocabless.training.pretraining.packing import mix, pack_records, prepare
from vocabless.training.texts import corpora
from vocabless.training.texts.corpora import load_text
from vocabless.training.texts.sentences import sentences
from vocabless.training.texts.subword import train_subword

TEXTS = ["One two three.", "", "naïve words, and more of them", "x" * 100]


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("ewe-bert-word-tiny")


@pytest.mark.parametrize("name", ["lines.txt", "lines.csv", "lines.jsonl"])
def test_a_file_that_was_never_read_before_is_streamed(name, tmp_path):
    """The library remembers the columns of a file that it has read; it does not know those of another one."""
    text = f"a document of {tmp_path}"
    lines = {".txt": [text], ".csv": ["text", text], ".jsonl": [json.dumps({"text": text})]}[name.removeprefix("lines")]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    assert [row["text"] for row in load_text(str(tmp_path / name), streaming=True)] == [text]


@pytest.mark.parametrize("streaming", [False, True])
def test_corpora_of_long_and_short_strings_are_joined(streaming, tmp_path):
    """pandas and polars write text as Arrow's large_string, other programs as string."""
    corpora = []
    for kind in (pa.string(), pa.large_string()):
        file = tmp_path / f"{kind}.parquet"
        pq.write_table(pa.table({"text": pa.array([f"a {kind}"], kind)}), file)
        corpora.append(load_text(str(file), streaming=streaming))
    assert {row["text"] for row in mix(corpora, None, 0)} == {"a string", "a large_string"}


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
    for source in (file, tmp_path, tmp_path / "corp*"):
        assert load_text(str(source))["text"] == lines
        assert [row["text"] for row in load_text(str(source), streaming=True)] == lines


@pytest.mark.parametrize(
    ("content", "column", "sentence"),
    [
        (None, "text", "does not exist"),
        ({"body": ["a"]}, "text", "no column 'text'.*body"),
        ({"text": [1]}, "text", "int64, not text"),
        ({"text": [""] * 0}, "text", "no document|cannot be read"),
    ],
)
def test_a_bad_corpus_is_refused_in_one_sentence(tmp_path, content, column, sentence):
    file = tmp_path / "corpus.parquet"
    if content is not None:
        pq.write_table(pa.table(content), file)
    with pytest.raises(ValueError, match=sentence):
        load_text(str(file), column)


def test_a_data_set_that_is_a_script_is_refused_with_its_parquet_revision(monkeypatch):
    def load_dataset(path, name, revision, **options):
        raise RuntimeError("Dataset scripts are no longer supported, but found openwebtext.py")

    monkeypatch.setattr(corpora, "load_dataset", load_dataset)
    with pytest.raises(ValueError, match=r"is a script, .*give .* owner/name@refs/convert/parquet, if it is complete"):
        load_text("owner/name@main")


def test_a_truncated_file_is_refused(tmp_path):
    file = tmp_path / "corpus.parquet"
    pq.write_table(pa.table({"text": ["some text"] * 100}), file)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ValueError, match="cannot be read"):
        load_text(str(file))


def test_a_file_without_rows_is_refused(tmp_path):
    (tmp_path / "corpus.csv").write_text("text\n")
    with pytest.raises(ValueError, match=r"cannot be read.*no data"):
        load_text(str(tmp_path))


def test_files_of_unlike_formats_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.jsonl").write_text('{"text": "b"}')
    with pytest.raises(ValueError, match="json, text"):
        load_text(str(tmp_path))


def test_a_corpus_without_a_token_is_refused(tokenizer):
    with pytest.raises(ValueError, match="not one token"):
        prepare(Dataset.from_dict({"text": ["", "  "]}), BlockCodec(tokenizer), 16)


def test_packing_keeps_every_token_in_order(tokenizer):
    packed = pack_records({"text": TEXTS}, BlockCodec(tokenizer), max_tokens=5)
    blocks = np.frombuffer(b"".join(packed["blocks"]), np.uint8).reshape(-1, tokenizer.packed_block_size)
    expected = [block for text in TEXTS if text for block in tokenizer(text, add_special_tokens=False)["input_ids"]]
    assert tokenizer.unpack(blocks).tolist() == expected
    # All are full but the last one, as in the pipeline that EELBERT used (4.1).
    assert [len(row) // tokenizer.packed_block_size for row in packed["blocks"]] == [5, 5, 2]


def test_a_subword_is_stored_as_its_id_which_is_its_target_too(tmp_path):
    documents = Dataset.from_dict({"text": ["the cat sat on the mat. A mat", "a naïve cat", "§ unknown"]})
    subword = train_subword(documents.select(range(1)), "wordpiece", 60)
    subword.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer("eelbert-tiny", tmp_path / "tokenizer.json")
    codec = build_codec(tokenizer, needs_targets=True)
    assert isinstance(codec, IdCodec)
    texts = [*documents["text"], "a lone \ufffd"]
    packed = pack_records({"text": [*documents["text"], "a lone \ud800"]}, codec, 100)
    blocks, targets = codec.unpack({name: column[0] for name, column in packed.items()})
    assert targets.tolist() == [i for text in texts for i in subword.encode(text, add_special_tokens=False).ids]
    expected = [block for text in texts for block in tokenizer(text, add_special_tokens=False)["input_ids"]]
    assert blocks.tolist() == expected
    assert len(packed["blocks"][0]) == len(expected)  # one byte a token: less than 256 subwords


def test_targets_of_words_are_their_first_pieces(tokenizer):
    documents = Dataset.from_dict({"text": ["the cat sat on the mat"]})
    subword = train_subword(documents, "wordpiece", 60)
    packed = pack_records({"text": ["the mats"]}, BlockCodec(tokenizer, subword), 100)
    expected = [subword.encode(word, add_special_tokens=False).ids[0] for word in ("the", "mats")]
    assert np.frombuffer(packed["targets"][0], np.uint8).tolist() == expected  # the smallest type for 60 ids


def test_sentences_are_the_text_and_have_its_tokens(tokenizer):
    text = "Dr. Who? (Yes!) “So.” He left… at 3.14 p.m.\n\nA list:\n- one\n- two 我来了。你呢？好 no end"
    parts = sentences(text)
    assert "".join(parts) == text
    assert len(parts) == 11
    assert sentences("") == []
    apart, lengths = tokenizer.packed_blocks(parts)
    assert (apart == tokenizer.packed_blocks([text])[0]).all()
    assert lengths == [len(tokenizer.tokenize(part)) for part in parts]


class Stumbling(BlockCodec):
    """Fails at a document as long as a file is there; notes how many texts it was given."""

    def __init__(self, tokenizer, folder):
        super().__init__(tokenizer)
        self.folder = folder

    def pack(self, texts):
        if (self.folder / "stumble").exists() and any("number 25" in text for text in texts):
            raise KeyboardInterrupt
        with open(self.folder / "log", "a") as log:
            log.write(f"{len(texts)}\n")
        return super().pack(texts)


def test_a_killed_preparation_goes_on_with_what_is_cached(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "DOCUMENTS_PER_PART", 10)
    (tmp_path / "text.txt").write_text("\n".join(f"document number {i}." for i in range(35)))
    codec = Stumbling(tokenizer, tmp_path)
    (tmp_path / "stumble").touch()
    with pytest.raises(KeyboardInterrupt):
        prepare(load_text(str(tmp_path / "text.txt")), codec, 8)
    (tmp_path / "stumble").unlink()
    sequences = prepare(load_text(str(tmp_path / "text.txt")), codec, 8)
    blocks = np.frombuffer(b"".join(sequences["blocks"]), np.uint8).reshape(-1, tokenizer.packed_block_size)
    assert len(blocks) == 35 * 4
    assert [int(line) for line in (tmp_path / "log").read_text().split()] == [10, 10, 10, 5]


def test_a_mixture_takes_its_shares_and_ends_with_the_first(tokenizer):
    codec = BlockCodec(tokenizer)
    one = prepare(Dataset.from_dict({"text": ["alpha beta gamma."] * 400}), codec, 6)
    other = prepare(Dataset.from_dict({"text": ["delta epsilon zeta."] * 400}), codec, 6)
    mixed = mix([one, other], [3.0, 1.0], seed=0)
    first = sum(row == one[0]["blocks"] for row in mixed["blocks"])
    assert first == 400
    assert 0.70 < first / len(mixed) < 0.80
    assert mix([one, other], [3.0, 1.0], seed=0)["blocks"] == mixed["blocks"]
    assert len(mix([one, other], None, seed=0)) == 800
    streams = [dataset.to_iterable_dataset() for dataset in (one, other)]
    assert [row["blocks"] for row in mix(streams, [3.0, 1.0], seed=0)] == list(mixed["blocks"])
