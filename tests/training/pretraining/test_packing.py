"""Text of any source → stored sequences, which hold every token in order."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from strings import packed_blocks

from vocabless import VocablessTokenizer, load_tokenizer
from vocabless.stock_shapes import load_shape_tokenizer
from vocabless.texts import corpora
from vocabless.texts.corpora import load_text
from vocabless.texts.sentences import sentences
from vocabless.texts.subwords_and_ngrams import train_subword
from vocabless.tokenization.splitters import to_bytes
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.packing import IGNORE_INDEX, Packing, mix
from vocabless.training.pretraining.tokens import PretrainingDataset

SPACES = ["", " ", "\n", "\u00a0", "\u2028", "\u3000", "\x1c", "\x85", "\u200b", "\ufeff", "\r\n "]
WORDS = ["e.g. ", "it's", "“No.” ", "a_1,b ", "naïve-x. ", "…) ", "我来了。", "？！」", "\u0301", "?!. "]
TEXTS = ["One two three.", "", "naïve words, and more of them", "x" * 100]


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("ewe-bert-word-tiny")


@pytest.mark.parametrize("streaming", [False, True])
def test_corpora_of_long_and_short_strings_are_joined(streaming, tmp_path):
    """pandas and polars write text as Arrow's large_string, other programs as string."""
    corpora = []
    for kind in (pa.string(), pa.large_string()):
        file = tmp_path / f"{kind}.parquet"
        pq.write_table(pa.table({"text": pa.array([f"a {kind}"], kind)}), file)
        corpora.append(load_text(str(file), streaming=streaming))
    assert {row["text"] for row in mix(corpora, None, 0)} == {"a string", "a large_string"}


def test_a_folder_of_several_formats_and_a_data_set_that_is_a_script_are_refused(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.jsonl").write_text('{"text": "b"}')
    with pytest.raises(ValueError, match="json, text"):
        load_text(str(tmp_path))
    (tmp_path / "a.csv").write_text("text\n")
    with pytest.raises(ValueError, match="is empty; give a file with rows"):
        load_text(str(tmp_path / "a.csv"))

    def load_dataset(path, name, revision, **options):
        raise RuntimeError("Dataset scripts are no longer supported, but found openwebtext.py")

    monkeypatch.setattr(corpora, "load_dataset", load_dataset)
    with pytest.raises(ValueError, match=r"is a script, .*give .* owner/name@refs/convert/parquet, if it is complete"):
        load_text("owner/name@main")


def with_ends(packing, blocks):
    return packing.with_ends(blocks, np.zeros(len(blocks), int), np.array([len(blocks)]))[0]


def test_packing_keeps_every_token_in_order(tokenizer):
    packing = Packing(tokenizer, False, 7)
    rows = packing.pack_rows({"text": TEXTS})["blocks"]
    assert {row.dtype for row in rows} == {np.dtype(np.uint8)}
    blocks = np.concatenate([packing.read({"blocks": row})[0] for row in rows])
    assert blocks.tolist() == [block for text in TEXTS for block in tokenizer(text)["input_ids"][1:-1]]
    # All are full but the last one.
    assert [len(row) // tokenizer.packed_block_size for row in rows] == [5, 5, 2]
    with pytest.raises(ValueError, match="not one token"):
        packing.prepare(Dataset.from_dict({"text": ["", "  "]}))


@pytest.mark.parametrize(
    "options",
    [{"splitter": "whitespace"}, {"splitter": "scripts"}, {"splitter": "bytes"}, {}],
)
@settings(max_examples=50, deadline=None)
@given(
    texts=st.lists(st.lists(st.text(max_size=6) | st.sampled_from(SPACES + WORDS), max_size=8).map("".join), max_size=5)
)
def test_what_is_stored_is_what_the_tokenizer_says(options, subwords, texts):
    tokenizer = VocablessTokenizer(**options, coder="utf8", target_file=subwords["wordpiece"])
    target, splitter = tokenizer.target_tokenizer, tokenizer.unit_splitter
    target.enable_padding(length=4)  # as a file may say; a unit without pieces is unknown, and no padding
    columns = Packing(tokenizer, True, 10)._tokens(texts)
    target.no_padding()
    assert (columns["blocks"] == packed_blocks(tokenizer, texts)[0]).all()
    units = [to_bytes(unit).decode("utf-8", "replace") for text in texts for unit in splitter.units(text)]
    pieces = [target.encode(unit, add_special_tokens=False).ids or [target.token_to_id("[UNK]")] for unit in units]
    assert columns["targets"].tolist() == [ids[0] for ids in pieces]
    assert columns["targets"].dtype == np.uint8  # the smallest type for 80 ids


def test_a_backtick_between_letters_is_stored_as_the_apostrophe_that_the_tokenizer_reads():
    tokenizer = load_tokenizer("hashgram-multi")
    stored = Packing(tokenizer, False, 10)._tokens(["l`eau, (it's) `so`"])["blocks"]
    assert (stored == packed_blocks(tokenizer, ["l`eau, (it's) `so`"])[0]).all()


@pytest.mark.parametrize("is_ours", [False, True])
def test_a_subword_is_stored_as_its_id_which_is_its_target_too(is_ours, tmp_path):
    texts = ["the cat sat on the mat. A mat", "a naïve cat", "§ unknown"]
    subword = train_subword(Dataset.from_dict({"text": texts[:1]}), "wordpiece", 60)
    subword.enable_truncation(3)  # as the file of all-MiniLM-L6-v2 says; a corpus is read whole
    subword.enable_padding(length=12)
    subword.save(str(tmp_path / "tokenizer.json"))
    subword.no_truncation()
    subword.no_padding()
    load = load_tokenizer if is_ours else load_shape_tokenizer
    tokenizer = load("eelbert-tiny" if is_ours else "bert-tiny", tmp_path / "tokenizer.json")
    packing = Packing(tokenizer, True, 100)
    record = {name: column[0] for name, column in packing.pack_rows({"text": texts}).items()}
    assert record["input_ids"].dtype == np.uint8  # less than 256 subwords
    blocks, targets = packing.read(record)
    assert targets.tolist() == [i for text in texts for i in subword.encode(text, add_special_tokens=False).ids]
    expected = [token for text in texts for token in tokenizer(text)["input_ids"][1:-1]]
    assert with_ends(packing, blocks)[1:-1].tolist() == expected
    ends = tokenizer("")["input_ids"]
    assert with_ends(packing, blocks)[[0, -1]].tolist() == ends


@pytest.mark.parametrize("name", ["eelbert-tiny", "bert-tiny", "hashformer-md5-proj-bpe-base"])
def test_marks_are_around_documents_and_not_around_sequences_and_the_rest_is_dropped(name, subwords):
    """run_mlm.py of transformers, the pipeline that EELBERT 4.1 names."""
    load = load_shape_tokenizer if name == "bert-tiny" else load_tokenizer
    tokenizer = load(name, subwords["bpe" if "bpe" in name else "wordpiece"])
    texts = ["the cat sat on the mat.", "", "a naïve cat", "the mat"]
    packing = Packing(tokenizer, True, 7, marks_documents=True)
    rows = [packing.read({"input_ids": row}) for row in packing.pack_rows({"text": texts})["input_ids"]]
    assert {len(blocks) for blocks, _ in rows} == {7}
    expected = [token for text in texts if text for token in tokenizer(text)["input_ids"]]
    given = [token for blocks, _ in rows for token in with_ends(packing, blocks).tolist()]
    assert given == expected[: len(expected) // 7 * 7] and len(expected) % 7
    ends = tokenizer("")["input_ids"]
    targets = [target for _, row in rows for target in row]
    assert [token in ends for token in given] == [target == IGNORE_INDEX for target in targets]
    plain = [id for row in Packing(tokenizer, True, 99).pack_rows({"text": texts})["input_ids"] for id in row]
    assert [target for target in targets if target != IGNORE_INDEX] == plain[: len(targets) - targets.count(-100)]
    few = packing.pack_rows({"text": ["a"]})["input_ids"]  # less than one sequence
    assert [len(row) for row in few] == [len(tokenizer("a")["input_ids"])]
    batch = PretrainingDataset(packing.prepare(Dataset.from_dict({"text": texts})), packing, MaskedLM(1.0), 0)
    for item, (_, row) in zip(batch.__getitems__(range(len(rows))), rows, strict=True):
        assert len(item["input_ids"]) == 7 and item["labels"].tolist() == row.tolist()
        assert all(item["input_ids"][place].tolist() in ends for place in np.flatnonzero(row == IGNORE_INDEX))


def test_documents_of_words_cannot_be_marked(tokenizer):
    with pytest.raises(ValueError, match=r"documents are marked in a vocabulary, .*; give --mark_documents false"):
        Packing(tokenizer, True, 9, marks_documents=True)


def test_sentences_are_the_text_and_have_its_tokens(tokenizer):
    text = "Dr. Who? (Yes!) “So.” He left… at 3.14 p.m.\n\nA list:\n- one\n- two 我来了。你呢？好 no end"
    parts = sentences(text)
    assert "".join(parts) == text
    assert len(parts) == 11
    assert sentences("") == []
    apart, lengths = packed_blocks(tokenizer, parts)
    assert (apart == packed_blocks(tokenizer, [text])[0]).all()
    assert lengths == [len(tokenizer.tokenize(part)) for part in parts]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_prepared_corpus_comes_from_the_cache(processes, tmp_path, empty_cache, monkeypatch):
    (tmp_path / "text.txt").write_text("\n".join(f"document number {i}." for i in range(35)))

    def prepare():
        packing = Packing(load_tokenizer("ewe-bert-word-tiny"), False, 8)
        packing.tokenizer("some words in its cache")
        return packing.prepare(load_text(str(tmp_path / "text.txt")), processes)

    blocks = prepare()["blocks"][:]
    assert sum(map(len, blocks)) == 35 * 4 * load_tokenizer("ewe-bert-word-tiny").packed_block_size
    monkeypatch.delattr(Packing, "_tokens")
    assert prepare()["blocks"][:] == blocks


def test_a_mixture_takes_its_shares_and_ends_with_the_first(tokenizer):
    packing = Packing(tokenizer, False, 6)
    one, other = (
        packing.prepare(Dataset.from_dict({"text": [text] * 400})) for text in ("alpha beta gamma.", "delta epsilon z.")
    )
    mixed = mix([one, other], [3.0, 1.0], seed=0)["blocks"][:]
    first = sum(row == one[0]["blocks"] for row in mixed)
    assert first == 400
    assert 0.70 < first / len(mixed) < 0.80
    assert mix([one, other], [3.0, 1.0], seed=0)["blocks"][:] == mixed
    assert len(mix([one, other], None, seed=0)) == 800
    streams = [dataset.to_iterable_dataset() for dataset in (one, other)]
    assert [row["blocks"] for row in mix(streams, [3.0, 1.0], seed=0)] == mixed
