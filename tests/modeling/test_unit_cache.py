"""The cache of hashes never changes a result, whatever happens to the weights."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.modeling import unit_front_end
from vocabless.modeling.front_ends import FRONT_ENDS, build_front_end
from vocabless.modeling.unit_front_end import UnitFrontEnd, distinct_blocks

BATCHES = [
    [f"word{i % 37} number {i} naïve 文字{i % 5}" for i in range(start, start + 8)] for start in range(0, 160, 8)
]


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer("eelbert-word-tiny")


@pytest.fixture(params=[name for name, kind in FRONT_ENDS.items() if issubclass(kind, UnitFrontEnd)])
def front_end(request):
    front_end = build_front_end(request.param, 32, 24, {})
    with torch.no_grad():
        yield front_end


def blocks_of(tokenizer, texts):
    return tokenizer(texts, padding=True, return_tensors="pt")["input_ids"]


def without_cache(front_end, blocks):
    """Embeds each block of a batch, also one that comes twice, with a fresh computation of its hashes."""
    units = blocks.flatten(0, -2)
    hashes = front_end.hash_units(front_end.replace_special_tokens(units))
    return front_end.embed_hashes(*hashes, units).unflatten(0, blocks.shape[:-1])


def test_a_warm_a_cold_and_no_cache_agree_bit_for_bit(tokenizer, front_end, monkeypatch):
    blocks = [blocks_of(tokenizer, texts) for texts in BATCHES]
    expected = [without_cache(front_end, each) for each in blocks]
    for limit in (front_end._cache.max_bytes, 0):
        monkeypatch.setattr(front_end._cache, "max_bytes", limit)
        for _ in range(2):
            assert all(torch.equal(front_end(each), one) for each, one in zip(blocks, expected, strict=True))
        assert (len(front_end._cache) > 0) == (limit > 0)


def test_its_size_is_limited_between_calls(tokenizer, front_end, monkeypatch):
    limit = 40 * (2 * 32 + 24 * 4)
    monkeypatch.setattr(front_end._cache, "max_bytes", limit)
    for texts in BATCHES:
        blocks = blocks_of(tokenizer, texts)
        assert torch.equal(front_end(blocks), without_cache(front_end, blocks))
        held = front_end._cache._hashes
        assert sum(len(key) + len(value) + unit_front_end.ENTRY_BYTES for key, value in held.items()) <= limit


def test_it_is_neither_copied_nor_pickled_nor_saved(tokenizer):
    model = VocablessModel(load_config("eelbert-word-tiny"))
    empty = len(pickle.dumps(model)), list(model.state_dict())
    model(blocks_of(tokenizer, BATCHES[0]))
    assert len(model.front_end._cache) > 20
    assert len(copy.deepcopy(model).front_end._cache) == 0
    assert (len(pickle.dumps(model)), list(model.state_dict())) == empty


def test_threads_share_it_and_agree(tokenizer, front_end, monkeypatch):
    monkeypatch.setattr(front_end._cache, "max_bytes", 60 * (2 * 32 + 24 * 4))
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


def test_the_environment_variable_limits_it(tokenizer, monkeypatch):
    for mib, kept in (("0", False), ("0.5", True)):
        monkeypatch.setenv("VOCABLESS_CACHED_MIB", mib)
        front_end = build_front_end("ngram", 32, 24, {})
        front_end(blocks_of(tokenizer, BATCHES[0]))
        assert (len(front_end._cache) > 0) == kept
    for text in ("abc", "-1", "nan", "inf"):
        monkeypatch.setenv("VOCABLESS_CACHED_MIB", text)
        with pytest.raises(ValueError, match=rf"VOCABLESS_CACHED_MIB is '{text}'; give a number of MiB from 0 up"):
            build_front_end("hash_embedding", 32, 24, {})


WEIGHT_CHANGES = {
    "in place": lambda front_end: front_end.table.weight.data.mul_(3),
    "another type": lambda front_end: front_end.bfloat16(),
    "a hook": lambda front_end: front_end.table.register_forward_hook(lambda module, inputs, output: output + 1),
}


@pytest.mark.parametrize("name", WEIGHT_CHANGES)
@torch.no_grad()
def test_weights_that_change_in_any_way_count_at_once(name, tokenizer):
    front_end = build_front_end("hash_embedding", 32, 24, {"mlp_size": 8}).eval()
    blocks = blocks_of(tokenizer, BATCHES[0])
    before = front_end(blocks).float()
    WEIGHT_CHANGES[name](front_end)
    after, fresh = front_end(blocks), without_cache(front_end, blocks)
    assert not torch.equal(before, after.float())
    torch.testing.assert_close(after, fresh)
    tolerance = 1e-2 if name == "another type" else 1e-5
    torch.testing.assert_close(after, front_end.embed_units(blocks), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_each_floating_point_type_is_exact(dtype, front_end, tokenizer):
    front_end.to(dtype)
    for text in (BATCHES[0], BATCHES[1], BATCHES[0]):
        blocks = blocks_of(tokenizer, text)
        cached, fresh = front_end(blocks), without_cache(front_end, blocks)
        assert cached.dtype == fresh.dtype and torch.equal(cached, fresh)
    assert len(front_end._cache) > 20


@pytest.mark.parametrize("shape", [(3, 5, 4), (7, 2), (0, 4), (2, 0, 4)])
def test_distinct_blocks_are_those_of_torch_in_the_order_of_the_text(shape):
    blocks = torch.randint(0, 3, shape, generator=torch.Generator().manual_seed(0))
    units, places = distinct_blocks(blocks)
    assert torch.equal(units[places] if blocks.numel() else blocks, blocks) and places.shape == blocks.shape[:-1]
    rows = [tuple(row) for row in blocks.flatten(0, -2).tolist()]
    assert [tuple(row) for row in units.tolist()] == list(dict.fromkeys(rows))
    assert len(units) == len(torch.unique(blocks.flatten(0, -2), dim=0) if rows else [])
