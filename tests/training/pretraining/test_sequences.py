"""Documents → examples: what is held out, the order of the text, and that seed, epoch and number decide the rest."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from vocabless import load_tokenizer
from vocabless.stock_shapes import load_shape_tokenizer
from vocabless.texts.subwords_and_ngrams import train_subword
from vocabless.tokenization.block_coders import CLS, SEP, special_blocks
from vocabless.training.pretraining import shuffle_random
from vocabless.training.pretraining import tokens as tokens_file
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.packing import Packing, part_of_process
from vocabless.training.pretraining.run_text import HELD_OUT_STRETCHES, _hold_out, load_documents
from vocabless.training.pretraining.shuffle_random import REPLACED, ShuffleRandom
from vocabless.training.pretraining.tokens import IGNORE_INDEX, PretrainingDataset, PretrainingStream, TokenCollator

TEXTS = [f"document number {i} has words of its own{i}." for i in range(200)]
DOCUMENTS = Dataset.from_dict({"text": TEXTS})


class Intact(ShuffleRandom):
    def corrupt(self, blocks, *_):
        return blocks, np.zeros(len(blocks), np.int64)


NOTHING = Intact()


@pytest.fixture(scope="module")
def packing():
    return Packing(load_tokenizer("ewe-bert-tiny"), False, 10)


@pytest.fixture(scope="module")
def subword(tmp_path_factory):
    file = tmp_path_factory.mktemp("subword") / "tokenizer.json"
    train_subword(DOCUMENTS, "wordpiece", 150).save(str(file))
    return str(file)


def numbered(count):
    return Dataset.from_dict({"text": [f"{number}." for number in range(count)]})


def rows_of(documents):
    return [int(text.removesuffix(".")) for text in documents["text"]]


@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 300), share=st.floats(0.001, 0.5))
def test_every_row_is_trained_on_or_held_out_and_keeps_its_place(count, share):
    train, held_out = map(rows_of, _hold_out(numbered(count), share))
    assert sorted([*train, *held_out]) == list(range(count))
    assert train == sorted(train) and held_out == sorted(held_out)
    assert len(held_out) == max(1, round(share * count)) and train


def test_neighbouring_rows_stay_neighbours():
    """A row of BookCorpus is a sentence: two percent of 2 000 rows are held out, in stretches from all over them."""
    for part, size in zip(_hold_out(numbered(2000), 0.02), (1960, 40), strict=True):
        rows = rows_of(part)
        breaks = sum(after != before + 1 for before, after in itertools.pairwise(rows))
        assert len(rows) == size and breaks == HELD_OUT_STRETCHES - 1
        assert min(rows) < 100 and max(rows) > 1900


def numbers_of(sequence, packing):
    blocks, _ = packing.read(sequence)
    text = "".join(chr(element - 5) if element else " " for element in blocks.flatten())
    return [int(number) for number in text.replace(".", " ").split()]


@pytest.mark.parametrize("world_size", [None, 1, 2, 3])
def test_a_sequence_has_consecutive_lines(world_size):
    """Also of a stream whose files are fewer than the processes, or no multiple of them."""
    packing, documents = Packing(load_tokenizer("ewe-bert-tiny"), False, 34), numbered(1000)
    if world_size is None:
        parts = [packing.prepare(documents)]
    else:
        stream = packing.prepare(documents.to_iterable_dataset(num_shards=4))
        parts = [part_of_process(stream, 0, rank, world_size) for rank in range(world_size)]
    sequences = [numbers_of(sequence, packing) for part in parts for sequence in part]
    assert sorted(itertools.chain.from_iterable(sequences)) == list(range(1000))
    assert all(numbers == list(range(numbers[0], numbers[0] + len(numbers))) for numbers in sequences)
    assert sum(len(numbers) == 32 for numbers in sequences) >= len(sequences) - 4  # full, but the last of each file


def test_the_evaluated_sequences_are_of_all_corpora(tmp_path, monkeypatch):
    flags = ["--max_seq_length", "12", "--validation_split_percentage", "25"]
    flags += ["--objective", "shuffle-random"]
    monkeypatch.setattr(tokens_file, "MAX_EVALUATED", 8)
    for name in ("SHUFFLED_SHARE", "REPLACED_SHARE"):
        monkeypatch.setattr(shuffle_random, name, 0)
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text("\n".join([f"{name} " * 30] * 200))
        flags += ["--corpus", str(tmp_path / f"{name}.txt")]
    objective = parse_command_line([*flags, "--use_cpu", "true"], None)
    examples = objective.build_examples(load_documents(objective.arguments), load_tokenizer("ewe-bert-tiny"))
    firsts = np.stack([item["input_ids"][1] for item in examples.evaluated.__getitems__(range(8))])
    assert [chr(block[0] - 5) for block in firsts] == ["o"] * 4 + ["t"] * 4


def stream_of(packing, objective=NOTHING, seed=3, rank=0, world_size=1, shards=8):
    documents = DOCUMENTS.to_iterable_dataset(num_shards=shards)
    sequences = part_of_process(packing.prepare(documents), seed, rank, world_size)
    return PretrainingStream(sequences, packing, objective, seed, rank)


def labels(items):
    return [item["labels"].tolist() for item in items]


def texts(items):
    return [item["input_ids"][1:-1].tobytes() for item in items]


def test_an_epoch_of_a_stream_has_every_sequence_once_in_an_order_of_its_own(packing):
    stream = stream_of(packing)
    first, second = texts(stream.epoch(0)), texts(stream.epoch(1))
    assert len(set(first)) == len(first) == len(TEXTS)
    assert sorted(first) == sorted(second) and first != second
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


def test_what_happens_to_a_sequence_depends_on_seed_epoch_and_number_alone(packing):
    items, again = (list(stream_of(packing, ShuffleRandom()).epoch(0)) for _ in range(2))
    assert 0.05 < (np.concatenate([item["labels"][1:-1] for item in items]) == REPLACED).mean() < 0.25
    assert texts(items) == texts(again) and labels(items) == labels(again)
    first, second, other = (
        PretrainingDataset(packing.prepare(DOCUMENTS), packing, ShuffleRandom(), seed) for seed in (1, 1, 2)
    )
    batch, alone = first.__getitems__([5, 3, 9]), second[3]
    assert (batch[1]["input_ids"] == alone["input_ids"]).all() and labels(batch[1:2]) == labels([alone])
    second.set_epoch(1)
    assert labels([second[3]]) != labels([alone]) != labels([other[3]])


def plain_corruption(objective, blocks, targets, donors, mask, rng):
    """What happens to the tokens of one sequence, one after the other, as HashFormers 3.6 and EELBERT 4.1 say it."""
    corrupted, size = [*blocks], len(blocks)
    first, second = rng.random(size), rng.random(size)
    if objective.name == "mlm":
        labels = [target if number < 0.15 else IGNORE_INDEX for target, number in zip(targets, first, strict=True)]
        chosen = [place for place in range(size) if labels[place] != IGNORE_INDEX]
        corrupted = [mask if place in chosen and second[place] < 0.8 else blocks[place] for place in range(size)]
        replaced = [place for place in chosen if second[place] >= 0.9]
    else:
        order, labels = rng.permutation(size), [0] * size
        for place in range(size):
            if first[place] < 0.1:
                corrupted[place], labels[place] = blocks[order[place]], 1
        replaced = [place for place in range(size) if second[place] < 0.1 <= first[place]]
    for place, donor in zip(replaced, rng.integers(len(donors), size=len(replaced)), strict=True):
        corrupted[place] = donors[donor]
        labels[place] = targets[place] if objective.name == "mlm" else 2
    if objective.name != "mlm":
        labels = [label * (new != old) for label, new, old in zip(labels, corrupted, blocks, strict=True)]
    return corrupted, labels


@pytest.mark.parametrize("objective", [ShuffleRandom(), MaskedLM()], ids=["shuffle-random", "mlm"])
@pytest.mark.parametrize("variant", ["eelbert-tiny", "ewe-bert-word-tiny", "bert-tiny"])
def test_a_batch_is_what_plain_python_makes_of_each_sequence_alone(variant, objective, subword):
    load = load_shape_tokenizer if variant == "bert-tiny" else load_tokenizer
    files = (subword,) if "word" not in variant else ()
    tokenizer = load(variant, *files) if files or objective.name != "mlm" else load(variant, target=subword)
    packing = Packing(tokenizer, objective.needs_targets, 40)
    data = PretrainingDataset(packing.prepare(DOCUMENTS), packing, objective, seed=5)
    data.set_epoch(3)
    indices = [len(data) - 1, 0, 7, 3]  # the last one is short
    batch = TokenCollator(tokenizer)(data.__getitems__(indices))
    sequences = data.sequences.with_format(None)
    for row, index in enumerate(indices):
        rng = np.random.default_rng((5, 3, index))
        donor = int(rng.integers(len(data)))
        blocks, targets = packing.read(sequences[index])
        donors = packing.vocabulary if objective.needs_targets and files else packing.read(sequences[donor])[0]
        arguments = blocks.tolist(), targets, donors.tolist(), packing.mask.tolist(), rng
        corrupted, labels = plain_corruption(objective, *arguments)
        size = len(blocks) + 2
        ends = tokenizer("")["input_ids"]
        expected = corrupted if packing.is_ours else [token for (token,) in corrupted]
        assert batch["input_ids"][row, :size].tolist() == [ends[0], *expected, ends[1]]
        assert batch["labels"][row, :size].tolist() == [IGNORE_INDEX, *labels, IGNORE_INDEX]
        assert batch["attention_mask"][row].tolist() == [1] * size + [0] * (batch["labels"].shape[1] - size)
        assert (batch["input_ids"][row, size:] == 0).all() and (batch["labels"][row, size:] == IGNORE_INDEX).all()
    assert {values.dtype for values in batch.values()} == {torch.int64} and size <= 40


@pytest.mark.parametrize("is_stream", [False, True])
def test_replacements_come_from_other_sequences_and_special_tokens_are_around_and_are_not_judged(packing, is_stream):
    donors = {}

    def corrupt(blocks, targets, mask, draws):
        donors[blocks.tobytes()] = draws.donors(np.arange(draws.sizes[0])).tobytes()
        return blocks, np.zeros(len(blocks))

    objective = SimpleNamespace(corrupt=corrupt, needs_targets=False)
    if is_stream:
        items = list(stream_of(packing, objective).epoch(0))
    else:
        data = PretrainingDataset(packing.prepare(DOCUMENTS), packing, objective, seed=3)
        items = [data[index] for index in range(len(TEXTS))]
    assert len(items) == len(donors) == len(TEXTS)
    assert {*donors.values()} <= {*donors} and len({*donors.values()}) > len(TEXTS) / 4
    assert sum(donor == blocks for blocks, donor in donors.items()) < 5
    item, special = items[0], special_blocks(packing.tokenizer.block_size)
    assert [item["input_ids"][end].tolist() for end in (0, -1)] == [special[CLS].tolist(), special[SEP].tolist()]
    assert item["labels"][0] == item["labels"][-1] == IGNORE_INDEX
    assert len(item["labels"]) == len(item["input_ids"]) == len(item["attention_mask"])


@pytest.mark.parametrize("is_ours", [False, True])
def test_masked_lm_knows_each_token_and_draws_from_the_whole_vocabulary(is_ours, subword):
    """Devlin et al., A.1, which EELBERT 4.1 follows: 10 % of the chosen tokens become "a random word"."""
    tokenizer = load_tokenizer("eelbert-tiny", subword) if is_ours else load_shape_tokenizer("bert-tiny", subword)
    packing, given = Packing(tokenizer, True, 64), []
    objective = SimpleNamespace(needs_targets=True, corrupt=lambda *values: given.append(values) or values[:2])
    data = PretrainingDataset(packing.prepare(DOCUMENTS), packing, objective, seed=0)
    items = [data[index] for index in range(30)]
    for item, (blocks, targets, mask, draws) in zip(items, given, strict=True):
        donors = draws.donors(np.arange(draws.sizes[0]))
        assert len(np.unique(donors, axis=0)) == 150  # DOCUMENTS have a fraction of these tokens
        assert (donors[targets] == blocks).all() and (mask == packing.mask).all()
        assert item["labels"][1:-1].tolist() == targets.tolist()
