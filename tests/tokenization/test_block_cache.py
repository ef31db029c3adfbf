"""The cache: what it may never change."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from datasets.fingerprint import Hasher

from vocabless import VocablessTokenizer, load_tokenizer
from vocabless.tokenization import block_cache

TEXTS = [f"word{i % 97} naïve {i} 文字{i % 13} !" for i in range(200)]


def encode(tokenizer):
    return tokenizer(TEXTS)["input_ids"]


def test_a_small_bound_holds_and_changes_nothing(monkeypatch):
    free = encode(VocablessTokenizer())
    monkeypatch.setattr(block_cache, "MAX_CACHED_UNITS", 7)
    tokenizer = VocablessTokenizer()
    for text, row in zip(TEXTS, free, strict=True):
        assert tokenizer(text)["input_ids"] == row
        assert len(tokenizer._cache) <= 7
    assert encode(tokenizer) == free


@pytest.mark.parametrize("coder", ["md5", "lsh", "utf8"])
def test_a_warm_cache_answers_as_a_cold_one(coder):
    tokenizer = VocablessTokenizer(coder=coder)
    cold = encode(tokenizer)
    assert len(tokenizer._cache) > 300
    assert encode(tokenizer) == cold


def test_the_pickle_holds_no_cache():
    tokenizer = VocablessTokenizer()
    fresh = len(pickle.dumps(tokenizer))
    ids = encode(tokenizer)
    assert len(pickle.dumps(tokenizer)) < fresh + 500
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert len(copy._cache) == 0
    assert encode(copy) == ids


def test_threads_share_a_cache_and_agree(monkeypatch):
    monkeypatch.setattr(block_cache, "MAX_CACHED_UNITS", 50)
    tokenizer, alone = VocablessTokenizer(), VocablessTokenizer()
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: tokenizer(text)["input_ids"], TEXTS * 5))
    assert rows == [alone(text)["input_ids"] for text in TEXTS] * 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_a_thread_and_leaves_the_lock_free():
    tokenizer = VocablessTokenizer()
    tokenizer("warm")
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
    assert tokenizer("warm")["input_ids"]


def test_a_spawned_worker_gives_the_same_blocks():
    tokenizer = VocablessTokenizer(splitter_options={"lowercase": True})
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(encode, (tokenizer,)) == encode(tokenizer)


def test_the_hash_seed_of_python_plays_no_part():
    code = (
        "from vocabless import VocablessTokenizer as T;"
        "print([T(coder=c)('naive words, naïve 文字')['input_ids'] for c in ('md5', 'lsh', 'utf8')])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1")
    }
    here = [VocablessTokenizer(coder=c)("naive words, naïve 文字")["input_ids"] for c in ("md5", "lsh", "utf8")]
    assert outputs == {f"{here}\n".encode()}


def test_datasets_map_in_two_processes_gives_the_same_blocks():
    datasets = pytest.importorskip("datasets")
    tokenizer = VocablessTokenizer()
    rows = datasets.Dataset.from_dict({"text": TEXTS[:20]}).map(lambda row: tokenizer(row["text"]), num_proc=2)
    assert rows["input_ids"][:] == encode(tokenizer)[:20]


def test_what_was_cached_changes_no_pickle_and_no_fingerprint():
    tokenizer = load_tokenizer("hashformer-md5-pool-tiny")
    before = pickle.dumps(tokenizer), Hasher.hash(tokenizer)
    tokenizer(["some words"])
    assert (pickle.dumps(tokenizer), Hasher.hash(tokenizer)) == before
