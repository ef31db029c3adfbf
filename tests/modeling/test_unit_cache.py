"""The cache of hashed embeddings never changes a result."""

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.modeling import unit_cache
from vocabless.modeling.front_ends import FRONT_ENDS, build_front_end
from vocabless.modeling.unit_cache import distinct_blocks
from vocabless.modeling.unit_front_end import UnitFrontEnd

BATCHES = [
    [f"word{i % 37} number {i} naïve 文字{i % 5}" for i in range(start, start + 8)] for start in range(0, 160, 8)
]


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("eelbert-word-tiny")


@pytest.fixture(params=[name for name, row in FRONT_ENDS.items() if issubclass(row.front_end, UnitFrontEnd)])
def front_end(request):
    front_end = build_front_end(request.param, 32, 24, {})
    with torch.no_grad():
        yield front_end


def blocks_of(tokenizer, texts):
    return tokenizer(texts, padding=True, return_tensors="pt")["input_ids"]


def without_cache(front_end, blocks):
    return front_end.embed_units(front_end.spell_special_tokens(blocks))


def test_a_warm_a_cold_and_no_cache_agree_bit_for_bit(tokenizer, front_end, monkeypatch):
    blocks = [blocks_of(tokenizer, texts) for texts in BATCHES]
    expected = [without_cache(front_end, each) for each in blocks]
    for limit in (unit_cache.MAX_CACHED_BYTES, 0):
        monkeypatch.setattr(unit_cache, "MAX_CACHED_BYTES", limit)
        for _ in range(2):
            assert all(torch.equal(front_end(each), one) for each, one in zip(blocks, expected, strict=True))
        assert (len(front_end._cache) > 0) == (limit > 0)


def test_its_size_is_limited_between_calls(tokenizer, front_end, monkeypatch):
    monkeypatch.setattr(unit_cache, "MAX_CACHED_BYTES", 40 * 24 * 4)
    for texts in BATCHES:
        blocks = blocks_of(tokenizer, texts)
        assert torch.equal(front_end(blocks), without_cache(front_end, blocks))
        assert len(front_end._cache) <= 40


def test_it_is_neither_copied_nor_pickled_nor_saved(tokenizer):
    model = VocablessModel(load_config("eelbert-word-tiny"))
    empty = len(pickle.dumps(model)), list(model.state_dict())
    model(blocks_of(tokenizer, BATCHES[0]))
    assert len(model.front_end._cache) > 20
    assert len(copy.deepcopy(model).front_end._cache) == 0
    assert (len(pickle.dumps(model)), list(model.state_dict())) == empty


def test_threads_share_it_and_agree(tokenizer, front_end, monkeypatch):
    monkeypatch.setattr(unit_cache, "MAX_CACHED_BYTES", 60 * 24 * 4)
    blocks = [blocks_of(tokenizer, texts) for texts in BATCHES * 5]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(front_end, blocks))
    assert all(torch.equal(one, without_cache(front_end, each)) for one, each in zip(results, blocks, strict=True))


def test_embeddings_cached_in_inference_mode_can_be_used_in_training(tokenizer):
    model = VocablessModel(load_config("eelbert-word-tiny"))
    blocks = blocks_of(tokenizer, BATCHES[0])
    with torch.inference_mode():
        model(blocks)
    hidden = model(blocks).last_hidden_state
    (hidden * torch.randn_like(hidden)).sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


@pytest.mark.parametrize(("mib", "kept"), [("0", False), ("0.5", True)])
def test_the_environment_variable_limits_it(mib, kept):
    code = (
        "from vocabless import VocablessModel, load_config, load_tokenizer;"
        "model, tokenizer = VocablessModel(load_config('eelbert-word-uno')), load_tokenizer('eelbert-word-uno');"
        "model(**tokenizer('some words', return_tensors='pt')); print(len(model.front_end._cache))"
    )
    environment = {**os.environ, "VOCABLESS_CACHED_MIB": mib}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, env=environment, timeout=120
    )
    assert (int(done.stdout) > 0) == kept


def test_an_interrupted_call_leaves_no_wrong_entry(tokenizer, front_end, monkeypatch):
    front_end(blocks_of(tokenizer, BATCHES[0]))
    blocks = blocks_of(tokenizer, BATCHES[1])

    class Interrupted(list):
        def append(self, block):
            super().append(block)
            raise KeyboardInterrupt

    front_end._cache._index.new_blocks = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        front_end(blocks)
    assert torch.equal(front_end(blocks), without_cache(front_end, blocks))


@pytest.fixture
def learned(tokenizer):
    """A front end with weights, and blocks whose embeddings it has cached."""
    front_end, blocks = build_front_end("hash_embedding", 32, 24, {}).eval(), blocks_of(tokenizer, BATCHES[0])
    with torch.no_grad():
        front_end(blocks)
    assert len(front_end._cache) > 20
    return front_end, blocks


def test_weights_that_changed_empty_it(learned):
    front_end, blocks = learned
    changes = {
        "an optimizer": lambda: front_end.table.weight.add_(1.0),
        "loading": lambda: front_end.load_state_dict(build_front_end("hash_embedding", 32, 24, {}).state_dict()),
        "data, which counts no version": lambda: setattr(front_end.table.weight, "data", front_end.table.weight + 1.0),
        "another type": lambda: front_end.bfloat16(),
        "another parameter": lambda: setattr(front_end, "norm", torch.nn.LayerNorm(24, elementwise_affine=False)),
    }
    for name, change in changes.items():
        with torch.no_grad():
            change()
            torch.testing.assert_close(front_end(blocks), without_cache(front_end, blocks), msg=name)


def test_weights_that_take_the_place_of_others_empty_it(learned):
    """A new tensor may get the address of one that is gone."""
    front_end, blocks = learned
    with torch.no_grad():
        for _ in range(50):
            for _ in range(2):
                front_end.table.weight = torch.nn.Parameter(torch.randn_like(front_end.table.weight))
            torch.testing.assert_close(front_end(blocks), without_cache(front_end, blocks))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("name", ["hash_embedding", "ngram", "random_normal"])
def test_each_floating_point_type_is_cached_exactly(name, dtype, tokenizer):
    front_end = build_front_end(name, 32, 24, {}).eval().to(dtype)
    with torch.no_grad():
        for text in (BATCHES[0], BATCHES[1], BATCHES[0]):
            blocks = blocks_of(tokenizer, text)
            cached, fresh = front_end(blocks), without_cache(front_end, blocks)
            assert cached.dtype == fresh.dtype and torch.equal(cached, fresh)
    assert len(front_end._cache) > 20


def test_it_is_not_used_where_a_gradient_is_needed(learned):
    front_end, blocks = learned
    front_end(blocks).sum().backward()
    assert front_end.norm.bias.grad.abs().sum() > 0


def test_training_empties_it_even_if_weights_change_unseen(learned):
    front_end, blocks = learned
    front_end.train()
    front_end.norm.bias.data += 1.0  # changes no version
    front_end.eval()
    with torch.no_grad():
        torch.testing.assert_close(front_end(blocks), without_cache(front_end, blocks))


def test_weights_made_in_inference_mode_are_embedded_without_it(tokenizer):
    with torch.inference_mode():
        front_end, blocks = build_front_end("hash_embedding", 32, 24, {}), blocks_of(tokenizer, BATCHES[0])
        torch.testing.assert_close(front_end(blocks), without_cache(front_end, blocks))
        assert len(front_end._cache) == 0


@pytest.mark.parametrize("shape", [(3, 5, 4), (7, 2), (0, 4), (2, 0, 4)])
def test_distinct_blocks_are_those_of_torch_in_the_order_of_the_text(shape):
    blocks = torch.randint(0, 3, shape, generator=torch.Generator().manual_seed(0))
    units, places = distinct_blocks(blocks)
    assert torch.equal(units[places] if blocks.numel() else blocks, blocks) and places.shape == blocks.shape[:-1]
    rows = [tuple(row) for row in blocks.flatten(0, -2).tolist()]
    assert [tuple(row) for row in units.tolist()] == list(dict.fromkeys(rows))
    assert len(units) == len(torch.unique(blocks.flatten(0, -2), dim=0) if rows else [])
