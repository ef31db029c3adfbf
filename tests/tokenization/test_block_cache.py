"""The caches change neither results nor pickles, keep their bound, and work with threads, forks and processes."""

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from datasets.fingerprint import Hasher

from vocabless import VocablessTokenizer

TEXTS = [f"word{i % 97} naïve {i} 文字{i % 13} !" for i in range(200)]


def encode(tokenizer):
    return tokenizer(TEXTS)["input_ids"]


LIMIT = 4000  # bytes; about ten units


@pytest.mark.parametrize("splitter", ["word", "bytes"])
def test_small_caches_keep_their_bound_and_return_the_same(splitter, monkeypatch):
    unbounded = VocablessTokenizer(splitter, "utf8")
    rows, (packed, lengths) = encode(unbounded), unbounded.packed_blocks(TEXTS)
    monkeypatch.setenv("VOCABLESS_CACHED_MIB", str(LIMIT / 2**20))
    tokenizer = VocablessTokenizer(splitter, "utf8")
    packed_of_text = np.split(packed, np.cumsum(lengths)[:-1])
    for text, row, blocks in zip(TEXTS, rows, packed_of_text, strict=True):
        assert tokenizer(text)["input_ids"] == row
        assert np.array_equal(tokenizer.packed_blocks([text])[0], blocks)
        assert max(tokenizer._cache.num_bytes, tokenizer._packed_cache.num_bytes) <= LIMIT
    assert encode(tokenizer) == rows
    assert np.array_equal(tokenizer.packed_blocks(TEXTS)[0], packed)


def test_the_bound_holds_for_pieces_too_when_they_have_the_same_few_units(monkeypatch):
    monkeypatch.setenv("VOCABLESS_CACHED_MIB", str(LIMIT / 2**20))
    tokenizer = VocablessTokenizer("characters", splitter_options={"window": 1})
    a, b = tokenizer("a b", add_special_tokens=False)["input_ids"]
    for number in range(40):
        piece = f"{number:06b}"
        ids = tokenizer(piece.replace("0", "a").replace("1", "b"), add_special_tokens=False)["input_ids"]
        assert ids == [b if digit == "1" else a for digit in piece]
        assert tokenizer._cache.num_bytes <= LIMIT


@pytest.mark.parametrize("text", ["{}" + "a" * 300_000, "{}/" * 100_000], ids=["one long unit", "one long piece"])
def test_long_texts_do_not_fill_the_memory(text, monkeypatch):
    monkeypatch.setenv("VOCABLESS_CACHED_MIB", "1")
    tokenizer = VocablessTokenizer()
    for number in range(4):
        tokenizer(text.format(*[number] * 100_000))
        assert tokenizer._cache.num_bytes <= 1 << 20


def test_the_bytes_that_it_counts_are_those_that_it_takes():
    texts = [f"{n * 7919:x}-naïve{n}" if n % 2 else f"{n:x}" for n in range(5_000)]
    tokenizer = VocablessTokenizer()
    tracemalloc.start()
    tokenizer(texts, add_special_tokens=False)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.6 < tokenizer._cache.num_bytes / taken < 1.7


def test_calls_fill_only_the_cache_of_elements_and_corpora_only_the_cache_of_stored_bytes():
    tokenizer = VocablessTokenizer(coder="utf8")
    tokenizer("a b c")
    assert (len(tokenizer._cache), len(tokenizer._packed_cache)) == (3, 0)
    tokenizer.packed_blocks(["d"])
    tokenizer.packed_units(["d", "e"])
    assert (len(tokenizer._cache), len(tokenizer._packed_cache)) == (3, 2)


@pytest.mark.parametrize("coder", ["md5", "lsh", "utf8"])
def test_a_filled_cache_changes_neither_results_nor_the_pickle_nor_the_fingerprint(coder):
    tokenizer = VocablessTokenizer(coder=coder)
    fresh = pickle.dumps(tokenizer), Hasher.hash(tokenizer)
    ids, (packed, lengths) = encode(tokenizer), tokenizer.packed_blocks(TEXTS)
    assert len(tokenizer._cache) == len(tokenizer._packed_cache) > 300
    assert (pickle.dumps(tokenizer), Hasher.hash(tokenizer)) == fresh
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert len(copy._cache) == len(copy._packed_cache) == 0
    for each in (tokenizer, copy):
        assert encode(each) == ids
        again = each.packed_blocks(TEXTS)
        assert np.array_equal(again[0], packed) and again[1] == lengths


def test_threads_that_share_a_cache_get_the_same_blocks(monkeypatch):
    monkeypatch.setenv("VOCABLESS_CACHED_MIB", str(5 * LIMIT / 2**20))
    tokenizer, alone = VocablessTokenizer(), VocablessTokenizer()
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: tokenizer(text)["input_ids"], TEXTS * 5))
    assert rows == [alone(text)["input_ids"] for text in TEXTS] * 5


def test_datasets_map_in_two_processes_gives_the_same_blocks():
    datasets = pytest.importorskip("datasets")
    tokenizer = VocablessTokenizer()
    rows = datasets.Dataset.from_dict({"text": TEXTS[:20]}).map(lambda row: tokenizer(row["text"]), num_proc=2)
    assert rows["input_ids"][:] == encode(tokenizer)[:20]


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


def test_a_limit_that_is_no_number_is_named(monkeypatch):
    for text in ("abc", "-1", "nan", "inf"):
        monkeypatch.setenv("VOCABLESS_CACHED_MIB", text)
        with pytest.raises(ValueError, match=rf"VOCABLESS_CACHED_MIB is '{text}'; give a number of MiB from 0 up"):
            VocablessTokenizer()
