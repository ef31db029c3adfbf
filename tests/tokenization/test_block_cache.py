"""The caches change neither results nor pickles, keep their bound, and work with threads, forks and processes."""

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from datasets import Dataset
from datasets.fingerprint import Hasher
from strings import packed_blocks

from vocabless import VocablessTokenizer
from vocabless.modeling.front_ends import build_front_end

TEXTS = [f"word{i % 97} naïve {i} 文字{i % 13} !" for i in range(200)]
LIMIT = 4000  # bytes; about ten units
VARIABLE = "VOCABLESS_CACHED_MIB"


def encode(tokenizer):
    return tokenizer(TEXTS)["input_ids"]


@pytest.mark.parametrize("splitter", ["word", "bytes"])
def test_small_caches_keep_their_bound_and_return_the_same(splitter, monkeypatch):
    unbounded = VocablessTokenizer(splitter, "utf8")
    rows, (packed, lengths) = encode(unbounded), packed_blocks(unbounded, TEXTS)
    monkeypatch.setenv(VARIABLE, str(LIMIT / 2**20))
    tokenizer = VocablessTokenizer(splitter, "utf8")
    for text, row, blocks in zip(TEXTS, rows, np.split(packed, np.cumsum(lengths)[:-1]), strict=True):
        assert tokenizer(text)["input_ids"] == row
        assert np.array_equal(packed_blocks(tokenizer, [text])[0], blocks)
        assert max(tokenizer._cache.num_bytes, tokenizer._packed_cache.num_bytes) <= LIMIT
    assert encode(tokenizer) == rows


def test_the_bound_holds_for_pieces_too_when_they_have_the_same_few_units(monkeypatch):
    monkeypatch.setenv(VARIABLE, str(LIMIT / 2**20))
    tokenizer = VocablessTokenizer("scripts", splitter_options={"window": 1})
    a, b = tokenizer("ก ข", add_special_tokens=False)["input_ids"]
    for piece in (f"{number:06b}" for number in range(40)):
        ids = tokenizer(piece.replace("0", "ก").replace("1", "ข"), add_special_tokens=False)["input_ids"]
        assert ids == [b if digit == "1" else a for digit in piece]
        assert tokenizer._cache.num_bytes <= LIMIT


@pytest.mark.parametrize(("texts", "least", "most"), [
    ([f"{n * 7919:x}-naïve{n}" if n % 2 else f"{n:x}" for n in range(5_000)], 0.6, 1.7),
    ([f"{n} {n}" + "a" * 30_000 for n in range(50)], 3, 5), ([f"{n} " + f"{n}/" * 1_000 for n in range(10)], 0.6, 1.7),
], ids=["short units", "long units, counted twice each as a piece and as a unit", "long pieces"])  # fmt: skip
def test_the_bytes_that_it_counts_are_those_that_it_takes(texts, least, most):
    tokenizer = VocablessTokenizer()
    tracemalloc.start()
    tokenizer(texts, add_special_tokens=False)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert least < tokenizer._cache.num_bytes / taken < most


def test_calls_fill_only_the_cache_of_elements_and_corpora_only_the_cache_of_stored_bytes():
    tokenizer = VocablessTokenizer(coder="utf8")
    tokenizer("a b c")
    assert (len(tokenizer._cache), len(tokenizer._packed_cache)) == (3, 0)
    packed_blocks(tokenizer, ["d"])
    tokenizer.packed_units(["d", "e"])
    assert (len(tokenizer._cache), len(tokenizer._packed_cache)) == (3, 2)


@pytest.mark.parametrize("coder", ["md5", "lsh", "utf8"])
def test_a_filled_cache_changes_neither_results_nor_the_pickle_nor_the_fingerprint(coder):
    tokenizer = VocablessTokenizer(coder=coder)
    fresh = pickle.dumps(tokenizer), Hasher.hash(tokenizer)
    ids, (packed, lengths) = encode(tokenizer), packed_blocks(tokenizer, TEXTS)
    assert len(tokenizer._cache) == len(tokenizer._packed_cache) > 300
    assert (pickle.dumps(tokenizer), Hasher.hash(tokenizer)) == fresh
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert len(copy._cache) == len(copy._packed_cache) == 0
    for each in (tokenizer, copy):
        assert encode(each) == ids
        again = packed_blocks(each, TEXTS)
        assert np.array_equal(again[0], packed) and again[1] == lengths


def test_threads_and_processes_get_the_same_blocks(monkeypatch):
    expected = encode(VocablessTokenizer())
    monkeypatch.setenv(VARIABLE, str(5 * LIMIT / 2**20))
    tokenizer = VocablessTokenizer()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: tokenizer(text)["input_ids"], TEXTS * 5)) == expected * 5
    rows = Dataset.from_dict({"text": TEXTS[:20]}).map(lambda row: tokenizer(row["text"]), num_proc=2)
    assert rows["input_ids"][:] == expected[:20]


@pytest.mark.parametrize("step", ["encode", "normalize_all"])
@pytest.mark.parametrize("look_up", ["look_up", "look_up_units"])
def test_an_interrupted_call_leaves_no_wrong_entry(step, look_up, monkeypatch):
    tokenizer = VocablessTokenizer(coder="utf8")
    cache = tokenizer._cache
    cache.look_up_units(["a", "b"])

    def interrupted(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as context, pytest.raises(KeyboardInterrupt):
        context.setattr(*((tokenizer._coder, step) if step == "encode" else (type(cache.splitter), step)), interrupted)
        getattr(cache, look_up)(["c"])
    blocks = cache.as_array(cache.look_up_units(["d", "a", "c", "b"]))
    assert blocks[:, 0].tolist() == [byte + 5 for byte in b"dacb"]


@pytest.mark.parametrize("text", ["abc", "-1", "nan", "inf"])
def test_a_limit_that_is_no_number_is_named(text, monkeypatch):
    monkeypatch.setenv(VARIABLE, text)
    for build in (VocablessTokenizer, lambda: build_front_end("ngram", 32, 24, {})):
        with pytest.raises(ValueError, match=rf"{VARIABLE} is '{text}'; give a number of MiB from 0 up"):
            build()
