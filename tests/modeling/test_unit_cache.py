"""The cache of hashes never changes a result, whatever happens to the weights."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from vocabless import VocablessModel, load_config, load_tokenizer
from vocabless.modeling import unit_front_end
from vocabless.modeling.front_ends import FRONT_ENDS, build_front_end
from vocabless.modeling.unit_front_end import UnitFrontEnd

TEXTS = [f"word{i % 37} number {i} naïve 文字{i % 5}" for i in range(160)]
LIMIT = 40 * (2 * 32 + 24 * 4)  # bytes


@pytest.fixture(scope="module")
def batches():
    tokenizer = load_tokenizer("eelbert-word-tiny")
    return [tokenizer(TEXTS[i : i + 8], padding=True, return_tensors="pt")["input_ids"] for i in range(0, 160, 8)]


@pytest.fixture(params=[name for name, kind in FRONT_ENDS.items() if issubclass(kind, UnitFrontEnd)])
def front_end(request):
    front_end = build_front_end(request.param, 32, 24, {})
    with torch.no_grad():
        yield front_end


def without_cache(front_end, blocks):
    """Embeds each block of a batch, also one that comes twice, with a fresh computation of its hashes."""
    units = blocks.flatten(0, -2)
    hashes = front_end.hash_units(front_end.replace_special_tokens(units))
    return front_end.embed_hashes(*hashes, units).unflatten(0, blocks.shape[:-1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("mib", ["64", "0"])
def test_a_warm_a_cold_and_no_cache_agree_bit_for_bit(batches, front_end, mib, dtype, monkeypatch):
    monkeypatch.setenv("VOCABLESS_CACHED_MIB", mib)
    front_end._cache = type(front_end._cache)(front_end.hash_dtype)
    front_end.to(dtype)
    for blocks in batches[:3] * 2:
        cached, fresh = front_end(blocks), without_cache(front_end, blocks)
        assert cached.dtype == fresh.dtype and torch.equal(cached, fresh)
    assert (len(front_end._cache) > 20) == (mib == "64")


def test_each_distinct_unit_is_hashed_once(batches, front_end, monkeypatch):
    hashed, hash_units = [], front_end.hash_units
    monkeypatch.setattr(front_end, "hash_units", lambda units: hashed.append(len(units)) or hash_units(units))
    for blocks in batches * 2:
        front_end(blocks)
    assert sum(hashed) == len(torch.unique(torch.cat([blocks.flatten(0, 1) for blocks in batches]), dim=0))


def test_its_size_is_limited_between_calls_and_threads_share_it(batches, front_end, monkeypatch):
    monkeypatch.setattr(front_end._cache, "max_bytes", LIMIT)
    expected = [without_cache(front_end, blocks) for blocks in batches]
    for blocks, one in zip(batches, expected, strict=True):
        assert torch.equal(front_end(blocks), one)
        held = front_end._cache._hashes
        assert sum(len(key) + len(value) + unit_front_end.ENTRY_BYTES for key, value in held.items()) <= LIMIT
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(front_end, batches * 5))
    assert all(map(torch.equal, results, expected * 5))


def test_it_is_neither_copied_nor_pickled_nor_saved_and_serves_training_after_inference(batches):
    model = VocablessModel(load_config("eelbert-word-tiny"))
    empty = len(pickle.dumps(model)), list(model.state_dict())
    with torch.inference_mode():
        model(batches[0])
    assert len(model.front_end._cache) > 20
    assert len(copy.deepcopy(model).front_end._cache) == 0
    assert (len(pickle.dumps(model)), list(model.state_dict())) == empty
    hidden = model(batches[0]).last_hidden_state
    (hidden * torch.randn_like(hidden)).sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


WEIGHT_CHANGES = {
    "in place": lambda front_end: front_end.table.weight.data.mul_(3),
    "another type": lambda front_end: front_end.bfloat16(),
    "a hook": lambda front_end: front_end.table.register_forward_hook(lambda module, inputs, output: output + 1),
}


@pytest.mark.parametrize("name", WEIGHT_CHANGES)
@torch.no_grad()
def test_weights_that_change_in_any_way_count_at_once(name, batches):
    front_end = build_front_end("hash_embedding", 32, 24, {}).eval()
    blocks = batches[0]
    before = front_end(blocks).float()
    WEIGHT_CHANGES[name](front_end)
    after, fresh = front_end(blocks), without_cache(front_end, blocks)
    assert not torch.equal(before, after.float())
    torch.testing.assert_close(after, fresh)
    tolerance = 1e-2 if name == "another type" else 1e-5
    torch.testing.assert_close(after, front_end.embed_units(blocks), atol=tolerance, rtol=tolerance)
