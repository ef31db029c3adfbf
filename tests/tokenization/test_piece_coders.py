"""The coders of the HashFormers authors' weights against their code's steps in plain Python, and frozen values."""

import copy
import pickle
import time

import numpy as np
import pytest
from authors_lsh import slow_bits, slow_index, words_of, write_roberta
from strings import random_strings
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from vocabless import VocablessTokenizer
from vocabless.tokenization.piece_coders import MAX_CHARACTERS, PIECE_CODERS

# Computed by the steps of the authors' code with RoBERTa's whole vocabulary.
FROZEN = {
    "play": ("39a3b0757a6df19e0bf56a842342132f", 26756),
    "plays": ("0ce9705d3e393c760c9d3ce53e18358f", 35404),
    "-": ("aa5a9f00923176add1b01946920ae4e4", 15831),
    "---": ("4d355ad650f554cb9007ada6e53b8019", 43251),
    "naïve": ("293c2e41f29ade2c8a4da3ce966486f8", 14503),
}


@pytest.fixture(scope="module")
def roberta_file(tmp_path_factory):
    return write_roberta(tmp_path_factory.mktemp("roberta") / "tokenizer.json")


@pytest.fixture
def roberta(roberta_file):
    return Tokenizer.from_file(roberta_file)


@pytest.fixture(params=PIECE_CODERS)
def coder(request, roberta):
    return PIECE_CODERS[request.param](roberta)


def test_the_blocks_of_roberta_s_pieces_never_change(roberta):
    bits = PIECE_CODERS["lsh-pieces"](roberta).encode([*FROZEN])
    indices = PIECE_CODERS["lsh-index-pieces"](roberta).encode([*FROZEN])
    assert [block.tobytes().hex() for block in bits] == [frozen for frozen, _ in FROZEN.values()]
    assert [int.from_bytes(block.tobytes(), "big") for block in indices] == [index for _, index in FROZEN.values()]


def test_bits_and_indices_are_those_of_the_authors_steps(roberta):
    words = list(dict.fromkeys(word for text in random_strings(300) for word in words_of(text)))
    words = [word for word in words if len(word) <= MAX_CHARACTERS and word.isprintable()]
    assert len(words) > 300
    blocks = PIECE_CODERS["lsh-pieces"](roberta).encode(words)
    assert [int.from_bytes(block.tobytes(), "big") for block in blocks] == [slow_bits(word, roberta) for word in words]
    words = ["play", "wordplay", "日本", "don't", words[7]]
    blocks = PIECE_CODERS["lsh-index-pieces"](roberta).encode(words)
    assert [int.from_bytes(block.tobytes(), "big") for block in blocks] == [slow_index(word, roberta) for word in words]


def test_a_block_depends_on_its_unit_alone_and_any_unit_has_one(coder):
    units = ["play", "", "\ud800", "naïve", b"\xff\x00", "x" * 300, "play", "\0"]
    together = coder.encode(units)
    assert together.dtype == np.uint8 and together.shape == (len(units), coder.block_size)
    assert [coder.encode([unit])[0].tolist() for unit in units] == together.tolist()
    assert coder.encode([]).shape == (0, coder.block_size) and not coder.pads


def test_a_word_of_a_million_characters_is_read_up_to_the_limit(coder):
    start = time.process_time()
    long, cut = coder.encode(["ab" * 500_000, ("ab" * 500_000)[:MAX_CHARACTERS]])
    assert long.tolist() == cut.tolist() and time.process_time() - start < 30


def test_the_generator_of_numpy_is_left_alone_and_copies_are_equal(coder):
    np.random.seed(3)  # noqa: NPY002
    expected = np.random.RandomState(3).normal()
    before, blocks = pickle.dumps(coder), coder.encode(["play", "fox"])
    assert np.random.normal() == expected  # noqa: NPY002
    assert pickle.dumps(coder) == before  # `datasets.map` names its cache by this
    for again in (pickle.loads(before), copy.deepcopy(coder)):
        assert again.encode(["play", "fox"]).tolist() == blocks.tolist()


@pytest.mark.parametrize("name", PIECE_CODERS)
def test_a_saved_tokenizer_carries_the_pieces_and_has_no_targets(name, roberta_file, tmp_path):
    tokenizer = VocablessTokenizer(coder=name, splitter_options={"lowercase": True}, subword_file=roberta_file)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "vocabless"}')
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert (tmp_path / "subword.json").is_file() and again.coder == name
    assert again("Plays [MASK] naïve")["input_ids"] == tokenizer("Plays [MASK] naïve")["input_ids"]
    assert again("Plays")["input_ids"] == again("plays")["input_ids"] != again("play")["input_ids"]
    assert again.target_tokenizer is None
    assert again.decode(again("")["input_ids"]) == "[CLS] [SEP]"
    with pytest.raises(NotImplementedError, match="hashes each unit"):
        again.decode(again("play")["input_ids"])
    (tmp_path / "subword.json").unlink()
    with pytest.raises(ValueError, match=f"the coder {name} got no subword_file; give the tokenizer.json"):
        VocablessTokenizer.from_pretrained(tmp_path)
