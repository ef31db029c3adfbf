import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from datasets import Dataset
from torch.utils.data import DataLoader

from vocabless import load_tokenizer
from vocabless.stock_shapes import load_shape_tokenizer
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.packing import Packing, part_of_process
from vocabless.training.pretraining.shuffle_random import ShuffleRandom
from vocabless.training.pretraining.token_objective import IGNORED, PretrainingDataset, PretrainingStream
from vocabless.training.texts.subword import train_subword

TEXTS = [f"document number {i} has words of its own{i}." for i in range(200)]
DOCUMENTS = Dataset.from_dict({"text": TEXTS})
NOTHING = ShuffleRandom(1e-300, 0.0)  # so seldom that no draw is below it


@pytest.fixture(scope="module")
def packing():
    return Packing(load_tokenizer("ewe-bert-tiny"), False, 10)


@pytest.fixture(scope="module")
def subword(tmp_path_factory):
    file = tmp_path_factory.mktemp("subword") / "tokenizer.json"
    train_subword(DOCUMENTS, "wordpiece", 150).save(str(file))
    return load_shape_tokenizer("bert-tiny", file)


def stream_of(packing, objective=NOTHING, seed=3, rank=0, world_size=1, shards=8):
    documents = DOCUMENTS.to_iterable_dataset(num_shards=shards)
    sequences = part_of_process(packing.prepare(documents), seed, rank, world_size)
    return PretrainingStream(sequences, packing, objective, seed, rank)


def texts(items):
    return [item["input_ids"][1:-1].tobytes() for item in items]


def test_an_epoch_of_a_stream_has_every_sequence_once_in_an_order_of_its_own(packing):
    stream = stream_of(packing)
    first, second = texts(stream.epoch(0)), texts(stream.epoch(1))
    assert len(set(first)) == len(first) == len(TEXTS)
    assert sorted(first) == sorted(second)
    assert first != second
    assert texts(stream_of(packing).epoch(0)) == first
    assert texts(itertools.islice(stream, len(first) + 5)) == first + second[:5]


@pytest.mark.parametrize(("world_size", "workers"), [(1, 2), (2, 0), (2, 2), (3, 2)])
def test_processes_and_workers_share_an_epoch_without_repeating_anything(packing, world_size, workers):
    """Shards are dealt out where they are enough for all; where they are not, documents are."""
    seen = []
    for rank in range(world_size):
        stream = stream_of(packing, rank=rank, world_size=world_size)
        loader = DataLoader(_FirstEpoch(stream), batch_size=None, num_workers=workers, collate_fn=_same)
        seen += texts(loader if workers else stream.epoch(0))
    assert len(set(seen)) == len(seen) == len(TEXTS)


class _FirstEpoch(PretrainingStream):
    """A stream of one epoch."""

    def __init__(self, stream):
        self.__dict__.update(stream.__dict__)

    def __iter__(self):
        return self.epoch(0)


def _same(item):
    return item


def test_more_workers_than_shards_is_no_endless_loop(packing):
    loader = DataLoader(stream_of(packing, shards=1), batch_size=None, num_workers=2, collate_fn=_same)
    assert len(texts(itertools.islice(loader, 250))) == 250


def test_a_stream_corrupts_like_the_objective_says(packing):
    stream = stream_of(packing, ShuffleRandom(0.2, 0.2))
    items = list(stream.epoch(0))
    labels = np.concatenate([item["labels"][1:-1] for item in items])
    assert 0.05 < (labels == 2).mean() < 0.25
    again = list(stream_of(packing, ShuffleRandom(0.2, 0.2)).epoch(0))
    assert all(
        (a["input_ids"] == b["input_ids"]).all() and a["labels"] == b["labels"]
        for a, b in zip(items, again, strict=True)
    )
    assert all(item["labels"][0] == item["labels"][-1] == IGNORED for item in items)


@pytest.mark.parametrize("is_stream", [False, True])
def test_replacements_come_from_other_sequences(packing, is_stream):
    donors = {}

    def corrupt(blocks, targets, donor, mask, rng):
        donors[blocks.tobytes()] = donor.tobytes()
        return blocks, np.zeros(len(blocks))

    objective = SimpleNamespace(corrupt=corrupt, draws_from_vocabulary=False)
    if is_stream:
        assert len(list(stream_of(packing, objective).epoch(0))) == len(TEXTS)
    else:
        PretrainingDataset(packing.prepare(DOCUMENTS), packing, objective, seed=3).__getitems__(range(len(TEXTS)))
    assert len(donors) == len(TEXTS)
    assert {*donors.values()} <= {*donors} and len({*donors.values()}) > len(TEXTS) / 4
    assert sum(donor == blocks for blocks, donor in donors.items()) < 5


def test_a_stock_model_is_asked_for_what_was_masked(subword):
    packing = Packing(subword, True, 64)
    dataset = PretrainingDataset(packing.prepare(DOCUMENTS), packing, MaskedLM(0.5), seed=0)
    plain = PretrainingDataset(dataset.sequences, packing, MaskedLM(1e-300), seed=0)
    masked = 0
    for item, whole in zip(dataset.__getitems__(range(5)), plain.__getitems__(range(5)), strict=True):
        ids, labels, before = item["input_ids"], np.array(item["labels"]), whole["input_ids"]
        assert (before[labels != IGNORED] == labels[labels != IGNORED]).all()
        assert (ids[labels == IGNORED] == before[labels == IGNORED]).all()
        masked += (ids == subword.mask_token_id).sum()
    assert masked > 20


@pytest.mark.parametrize("is_ours", [False, True])
def test_random_tokens_of_masked_lm_are_uniform_over_the_vocabulary(is_ours, subword, tmp_path):
    """Devlin et al., A.1, which EELBERT 4.1 follows: 10 % of the chosen tokens become "a random word"."""
    tokenizer = subword
    if is_ours:
        subword.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
        tokenizer = load_tokenizer("eelbert-tiny", tmp_path / "tokenizer.json")
    packing = Packing(tokenizer, True, 64)
    dataset = PretrainingDataset(packing.prepare(DOCUMENTS), packing, MaskedLM(1.0), seed=0)
    plain = PretrainingDataset(dataset.sequences, packing, MaskedLM(1e-300), seed=0)
    rows = {row.tobytes(): index for index, row in enumerate(packing.vocabulary)}
    seen = set()
    for epoch in range(20):
        dataset.set_epoch(epoch)
        for item, whole in zip(dataset.__getitems__(range(30)), plain.__getitems__(range(30)), strict=True):
            tokens, before = (each["input_ids"][1:-1].reshape(-1, len(packing.mask)) for each in (item, whole))
            replaced = (tokens != before).any(axis=1) & (tokens != packing.mask).any(axis=1)
            seen |= {rows[row.tobytes()] for row in tokens[replaced]}
    assert len(packing.vocabulary) == 150 and len(seen) > 140  # DOCUMENTS have a fraction of these tokens
