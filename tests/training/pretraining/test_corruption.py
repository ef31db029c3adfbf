import numpy as np
import pytest
from datasets import Dataset

from vocabless import load_tokenizer
from vocabless.tokenization.tokenization_vocabless import CLS, MASK, SEP
from vocabless.training.pretraining.codecs import BlockCodec, special_block
from vocabless.training.pretraining.corruption import IGNORED, INTACT, REPLACED, SHUFFLED, MaskedTokens, ShuffleRandom
from vocabless.training.pretraining.packing import prepare
from vocabless.training.pretraining.sequences import PretrainingDataset
from vocabless.training.texts.pydocs import topics

MASKED = special_block(MASK, 3)
TEXTS = [text for text in topics.values() if len(text) > 2000]


@pytest.fixture(scope="module")
def codec():
    return BlockCodec(load_tokenizer("hashformer-lsh-proj-tiny"))


@pytest.fixture(scope="module")
def sequences(codec):
    return prepare(Dataset.from_dict({"text": TEXTS}), codec, 64, num_proc=None)


def blocks(*values):
    return np.array([[value, 5, 5] for value in values], dtype=np.int64)


def oracle_labels(before, after, shuffled, replaced):
    labels = []
    for position in range(len(before)):
        if list(before[position]) == list(after[position]):
            labels.append(INTACT)
        else:
            labels.append(SHUFFLED if position in shuffled else REPLACED)
            assert (position in shuffled) != (position in replaced)
    return labels


def test_labels_say_what_was_done_to_each_token():
    tokens = blocks(*range(10, 210))
    donors = blocks(*range(220, 260))
    corrupted, labels = ShuffleRandom(0.2, 0.2)(tokens, None, donors, MASKED, np.random.default_rng(0))
    replaced = {i for i, block in enumerate(corrupted) if block[0] >= 220}
    shuffled = {i for i in range(200) if i not in replaced and corrupted[i][0] != tokens[i][0]}
    assert labels.tolist() == oracle_labels(tokens, corrupted, shuffled, replaced)
    assert 20 < len(replaced) < 60
    assert 20 < len(shuffled) < 60


def test_shuffled_tokens_are_the_same_tokens_elsewhere():
    tokens = blocks(*range(10, 210))
    corrupted, labels = ShuffleRandom(0.3, 0.0)(tokens, None, tokens[:1], MASKED, np.random.default_rng(1))
    assert sorted(corrupted[:, 0]) == sorted(tokens[:, 0])
    assert set(labels) == {INTACT, SHUFFLED}


def test_a_token_that_comes_back_to_its_place_is_intact():
    same = blocks(*[7] * 50)
    corrupted, labels = ShuffleRandom(0.5, 0.5)(same, None, same, MASKED, np.random.default_rng(2))
    assert (corrupted == same).all()
    assert (labels == INTACT).all()


def test_the_sequence_itself_is_not_changed():
    tokens = blocks(*range(10, 60))
    kept = tokens.copy()
    ShuffleRandom(0.5, 0.5)(tokens, None, tokens, MASKED, np.random.default_rng(3))
    assert (tokens == kept).all()


def test_masked_tokens_ask_for_the_chosen_ones_alone():
    tokens, targets = blocks(*[10] * 4000), np.arange(4000)
    corrupted, labels = MaskedTokens(0.15)(tokens, targets, blocks(99), MASKED, np.random.default_rng(4))
    asked = labels != IGNORED
    assert (labels[asked] == targets[asked]).all()
    assert (corrupted[~asked] == tokens[~asked]).all()
    masked = (corrupted[asked] == MASKED).all(axis=1).mean()
    replaced = (corrupted[asked][:, 0] == 99).mean()
    assert 0.12 < asked.mean() < 0.18
    assert 0.75 < masked < 0.85
    assert 0.06 < replaced < 0.14


def test_replaced_tokens_cannot_be_told_by_their_own_statistics(sequences, codec):
    """A classifier that sees the number of ones, the first byte and the zero bytes of a hash alone is at chance."""
    dataset = PretrainingDataset(sequences, codec, ShuffleRandom(0.15, 0.15), seed=0)
    features, kinds = [], []
    for epoch in range(3):
        dataset.set_epoch(epoch)
        for item in dataset.__getitems__(range(len(dataset))):
            raw = (item["input_ids"][1:-1] - 5).astype(np.uint8)
            ones = np.unpackbits(raw, axis=1).sum(axis=1)
            features.append(np.stack([ones, raw[:, 0], (raw == 0).sum(axis=1)], axis=1))
            kinds.append(np.array(item["labels"][1:-1]))
    x, y = np.concatenate(features).astype(float), np.concatenate(kinds)
    chosen = np.isin(y, [INTACT, REPLACED])
    x, y = x[chosen], y[chosen] == REPLACED
    half = len(x) // 2
    accuracies = []
    for column in range(x.shape[1]):
        # the best threshold or set of values on one half, judged on the other
        values = x[:half, column]
        share = {v: y[:half][values == v].mean() for v in np.unique(values)}
        guess = np.array([share.get(v, 0) > y[:half].mean() for v in x[half:, column]])
        truth = y[half:]
        accuracies.append((guess[truth].mean() + (~guess[~truth]).mean()) / 2)
    assert len(x) > 20_000
    assert max(accuracies) < 0.54


def test_random_bits_in_place_of_words_would_be_told_by_the_same_classifier(sequences, codec):
    """The check above can fail: bits drawn with p ~ U(0, 1) give themselves away by their number of ones."""
    rng = np.random.default_rng(0)
    real = np.concatenate([np.frombuffer(row, np.uint8).reshape(-1, 16) for row in sequences["blocks"]])[:5000]
    drawn = np.packbits(rng.random((5000, 128)) < rng.random((5000, 1)), axis=1)
    deviation = [np.abs(np.unpackbits(kind, axis=1).sum(axis=1).astype(int) - 64) for kind in (real, drawn)]
    assert ((deviation[0] < 25).mean() + (deviation[1] >= 25).mean()) / 2 > 0.75


def test_what_happens_to_a_sequence_depends_on_seed_epoch_and_number_alone(sequences, codec):
    first = PretrainingDataset(sequences, codec, ShuffleRandom(), seed=1)
    second = PretrainingDataset(sequences, codec, ShuffleRandom(), seed=1)
    batch = first.__getitems__([5, 3, 9])
    alone = second[3]
    assert (batch[1]["input_ids"] == alone["input_ids"]).all()
    assert batch[1]["labels"] == alone["labels"]
    second.set_epoch(1)
    assert second[3]["labels"] != alone["labels"]
    assert PretrainingDataset(sequences, codec, ShuffleRandom(), seed=2)[3]["labels"] != alone["labels"]


def test_special_tokens_stand_around_a_sequence_and_are_not_judged(sequences, codec):
    item = PretrainingDataset(sequences, codec, ShuffleRandom(), seed=0)[0]
    assert item["input_ids"][0].tolist() == special_block(CLS, 16).tolist()
    assert item["input_ids"][-1].tolist() == special_block(SEP, 16).tolist()
    assert item["labels"][0] == item["labels"][-1] == IGNORED
    assert len(item["labels"]) == len(item["input_ids"]) == len(item["attention_mask"])
