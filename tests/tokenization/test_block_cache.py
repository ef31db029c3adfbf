"""The caches change neither results nor pickles, keep their bound, and work with threads, forks and processes."""

import multiprocessing
import os
import pickle
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from datasets.fingerprint import Hasher

from vocabless import VocablessTokenizer, load_tokenizer
from vocabless.tokenization import block_cache

TEXTS = [f"word{i % 97} naïve {i} 文字{i % 13} !" for i in range(200)]


def encode(tokenizer):
    return tokenizer(TEXTS)["input_ids"]


LIMIT = 4000  # bytes; about ten units


@pytest.mark.parametrize("splitter", ["word", "bytes"])
def test_small_caches_keep_their_bound_and_return_the_same(splitter, monkeypatch):
    unbounded = VocablessTokenizer(splitter, "utf8")
    rows, (raw, lengths) = encode(unbounded), unbounded.raw_blocks(TEXTS)
    monkeypatch.setenv("VOCABLESS_CACHED_MIB", str(LIMIT / 2**20))
    tokenizer = VocablessTokenizer(splitter, "utf8")
    raw_of_text = np.split(raw, np.cumsum(lengths)[:-1])
    for text, row, blocks in zip(TEXTS, rows, raw_of_text, strict=True):
        assert tokenizer(text)["input_ids"] == row
        assert np.array_equal(tokenizer.raw_blocks([text])[0], blocks)
        assert max(tokenizer._cache.num_bytes, tokenizer._raw_cache.num_bytes) <= LIMIT
    assert encode(tokenizer) == rows
    assert np.array_equal(tokenizer.raw_blocks(TEXTS)[0], raw)


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
    texts = [f"{n:x}{n * 7919:x}-naïve{n}" for n in range(20_000)]
    tokenizer = VocablessTokenizer()
    tracemalloc.start()
    tokenizer(texts, add_special_tokens=False)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.6 < tokenizer._cache.num_bytes / taken < 1.7


@pytest.mark.parametrize("splitter", ["word", "bytes", "characters"])
def test_a_text_that_is_looked_up_in_slices_has_the_same_blocks(splitter, monkeypatch):
    text = " ".join(TEXTS) + "/".join(TEXTS[:20]).replace(" ", "-") + "ä" * 500
    raw, _ = VocablessTokenizer(splitter, "utf8").raw_blocks([text])
    for name, value in (("SLICE", 7), ("LONG", 9), ("MAX_CHARACTERS", 50)):
        monkeypatch.setattr(block_cache, name, value)
    assert np.array_equal(VocablessTokenizer(splitter, "utf8").raw_blocks([text])[0], raw)


def test_a_long_word_of_one_thread_does_not_stop_another():
    tokenizer, encoding, go = VocablessTokenizer(), threading.Event(), threading.Event()
    real = tokenizer._coder.elements

    def elements(units):
        if len(units[0]) > 1000:
            encoding.set()
            assert go.wait(60)
        return real(units)

    tokenizer._coder.elements = elements
    tokenizer._cache = tokenizer._new_cache(tokenizer._mask_splitter)
    long = "a" * 100_000
    with ThreadPoolExecutor(1) as pool:
        ids = pool.submit(lambda: tokenizer(long)["input_ids"])
        assert encoding.wait(60)
        short = tokenizer("a few new words")["input_ids"]
        go.set()
    assert ids.result() == VocablessTokenizer()(long)["input_ids"]
    assert short == VocablessTokenizer()("a few new words")["input_ids"]


@pytest.mark.parametrize("coder", ["md5", "lsh", "utf8"])
def test_a_filled_cache_returns_the_same_as_an_empty_one(coder):
    tokenizer = VocablessTokenizer(coder=coder)
    first, (first_raw, lengths) = encode(tokenizer), tokenizer.raw_blocks(TEXTS)
    assert len(tokenizer._cache) == len(tokenizer._raw_cache) > 300
    assert encode(tokenizer) == first
    raw, again = tokenizer.raw_blocks(TEXTS)
    assert (raw.tolist(), again) == (first_raw.tolist(), lengths)


def test_a_table_that_a_caller_holds_stays_unchanged_when_the_cache_is_emptied(monkeypatch):
    monkeypatch.setenv("VOCABLESS_CACHED_MIB", "0")
    cache = VocablessTokenizer(coder="utf8")._cache
    indices, table = cache.look_up_units(["a", "b", "c"])
    before = table[indices].tolist()
    cache.look_up_units(["d", "e", "f"])
    assert table[indices].tolist() == before
    assert [block[0] for block in before] == [byte + 5 for byte in b"abc"]


def test_calls_fill_only_the_cache_of_elements_and_corpora_only_the_cache_of_stored_bytes():
    tokenizer = VocablessTokenizer(coder="utf8")
    tokenizer("a b c")
    assert (len(tokenizer._cache), len(tokenizer._raw_cache)) == (3, 0)
    tokenizer.raw_blocks(["d"])
    tokenizer.raw_units(["d", "e"])
    assert (len(tokenizer._cache), len(tokenizer._raw_cache)) == (3, 2)


def test_a_pickle_contains_no_cached_blocks():
    tokenizer = VocablessTokenizer()
    fresh = pickle.dumps(tokenizer)
    ids, (raw, _) = encode(tokenizer), tokenizer.raw_blocks(TEXTS)
    assert pickle.dumps(tokenizer) == fresh
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert len(copy._cache) == len(copy._raw_cache) == 0
    assert encode(copy) == ids
    assert np.array_equal(copy.raw_blocks(TEXTS)[0], raw)


def test_threads_that_share_a_cache_get_the_same_blocks(monkeypatch):
    monkeypatch.setenv("VOCABLESS_CACHED_MIB", str(5 * LIMIT / 2**20))
    tokenizer, alone = VocablessTokenizer(), VocablessTokenizer()
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: tokenizer(text)["input_ids"], TEXTS * 5))
    assert rows == [alone(text)["input_ids"] for text in TEXTS] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_a_thread_and_leaves_the_lock_free():
    tokenizer = VocablessTokenizer()
    ids = tokenizer("warm")["input_ids"]
    held, go = threading.Event(), threading.Event()

    def hold():
        with block_cache._LOCK:
            held.set()
            go.wait(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        free = block_cache._LOCK.acquire(timeout=5)
        os._exit(0 if free else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert tokenizer("warm")["input_ids"] == ids


def test_a_spawned_worker_with_another_hash_seed_of_python_gives_the_same_blocks(monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2")
    tokenizers = [VocablessTokenizer(coder=coder) for coder in ("md5", "lsh", "utf8")]
    tokenizers.append(VocablessTokenizer(splitter_options={"lowercase": True}))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(encode, tokenizers) == [*map(encode, tokenizers)]


def test_datasets_map_in_two_processes_gives_the_same_blocks():
    datasets = pytest.importorskip("datasets")
    tokenizer = VocablessTokenizer()
    rows = datasets.Dataset.from_dict({"text": TEXTS[:20]}).map(lambda row: tokenizer(row["text"]), num_proc=2)
    assert rows["input_ids"][:] == encode(tokenizer)[:20]


def test_cached_units_change_neither_the_pickle_nor_the_fingerprint():
    tokenizer = load_tokenizer("hashformer-md5-pool-tiny")
    before = pickle.dumps(tokenizer), Hasher.hash(tokenizer)
    tokenizer(["some words"])
    tokenizer.raw_blocks(["more words"])
    assert (pickle.dumps(tokenizer), Hasher.hash(tokenizer)) == before


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
    indices, table = cache.look_up_units(["d", "a", "c", "b"])
    assert table[indices][:, 0].tolist() == [byte + 5 for byte in b"dacb"]


def test_a_unit_without_an_index_moves_no_other():
    """As after Ctrl-C between the two changes that add a unit."""
    cache = VocablessTokenizer(coder="utf8")._cache
    cache.look_up_units(["a"])
    cache._entries.of_unit.order.append("b")
    indices, table = cache.look_up_units(["c", "b", "a"])
    assert table[indices][:, 0].tolist() == [byte + 5 for byte in b"cba"]


def test_a_limit_that_is_no_number_is_named(monkeypatch):
    for text in ("abc", "-1", "nan", "inf"):
        monkeypatch.setenv("VOCABLESS_CACHED_MIB", text)
        with pytest.raises(ValueError, match=rf"VOCABLESS_CACHED_MIB is '{text}'; give a number of MiB from 0 up"):
            VocablessTokenizer()
