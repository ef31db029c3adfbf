import dataclasses

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import DataCollatorForTokenClassification, EvalPrediction

from vocabless import load_tokenizer
from vocabless.tokenization.block_coders import CLS, MASK, SEP, special_blocks
from vocabless.training.pretraining import shuffle_random
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.pretraining.distill import Distill
from vocabless.training.pretraining.load_model import load_model
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.objectives import OBJECTIVES
from vocabless.training.pretraining.packing import Packing
from vocabless.training.pretraining.shuffle_random import INTACT, REPLACED, SHUFFLED, ShuffleRandom
from vocabless.training.pretraining.token_objective import IGNORED, PretrainingDataset, TokenObjective
from vocabless.training.texts.pydocs import topics
from vocabless.training.trainer import EXACT_LOSS

MASKED = special_blocks(3)[MASK].astype(np.int64)
TEXTS = [text for text in topics.values() if len(text) > 2000]


@pytest.fixture(scope="module")
def packing():
    return Packing(load_tokenizer("hashformer-lsh-proj-tiny"), False, 64)


@pytest.fixture(scope="module")
def sequences(packing):
    return packing.prepare(Dataset.from_dict({"text": TEXTS}))


def blocks(*values):
    return np.array([[value, 5, 5] for value in values], dtype=np.int64)


@pytest.fixture
def shares(monkeypatch):
    """Sets the shares of shuffled tokens and, of the others, of replaced ones."""

    def change(shuffled, replaced):
        monkeypatch.setattr(shuffle_random, "SHUFFLED_SHARE", shuffled)
        monkeypatch.setattr(shuffle_random, "REPLACED_SHARE", replaced)

    return change


def test_labels_say_what_was_done_to_each_token(shares):
    shares(0.2, 0.2)
    tokens = blocks(*range(10, 210))  # all different, and none of them a donor
    kept, donors = tokens.copy(), blocks(*range(220, 260))
    corrupted, labels = ShuffleRandom().corrupt(tokens, None, donors, MASKED, np.random.default_rng(0))
    assert (tokens == kept).all()
    for before, after, label in zip(tokens[:, 0], corrupted[:, 0], labels, strict=True):
        assert label == (INTACT if after == before else REPLACED if after >= 220 else SHUFFLED)
    assert 20 < (labels == SHUFFLED).sum() < 60
    assert 15 < (labels == REPLACED).sum() < 50
    shuffled = labels == SHUFFLED
    assert sorted(corrupted[shuffled, 0]) != sorted(tokens[shuffled, 0])  # not shuffled among themselves


def test_a_copy_and_a_replacement_are_labelled_as_worked_out_by_hand(shares):
    """Positions 0 and 1 are shuffled: the permuted copy is 12 13 10 11. Of 1 and 3, 1 is shuffled, so 3 is replaced."""

    shares(0.2, 0.2)

    class Scripted:
        def __init__(self):
            self.draws = iter([[0.0, 0.1, 0.5, 0.9], [0.5, 0.0, 0.9, 0.1]])

        def random(self, size):
            return np.array(next(self.draws))

        def permutation(self, length):
            assert length == 4  # of the whole sequence
            return np.array([2, 3, 0, 1])

        def integers(self, high, size):
            assert (high, size) == (2, 1)
            return np.array([1])

    corrupted, labels = ShuffleRandom().corrupt(blocks(10, 11, 12, 13), None, blocks(20, 21), MASKED, Scripted())
    assert corrupted[:, 0].tolist() == [12, 13, 12, 21]
    assert labels.tolist() == [SHUFFLED, SHUFFLED, INTACT, REPLACED]


def test_the_shares_are_those_of_the_source_that_the_paper_cites():
    """HashFormers 3.6 takes S+R from Yamaguchi et al. (2021): a tenth is shuffled, then a tenth of the rest random."""
    tokens, donors = blocks(*range(5, 100_005)), blocks(*range(200_000, 300_000))
    corrupted, labels = ShuffleRandom().corrupt(tokens, None, donors, MASKED, np.random.default_rng(1))
    assert (labels == SHUFFLED).mean() == pytest.approx(0.10, abs=0.005)
    assert (labels == REPLACED).mean() == pytest.approx(0.09, abs=0.005)
    assert (corrupted[labels == REPLACED, 0] >= 200_000).all() and (corrupted[labels != REPLACED, 0] < 200_000).all()


def test_a_token_that_comes_back_to_its_place_is_intact(shares):
    shares(0.5, 0.5)
    same = blocks(*[7] * 50)
    corrupted, labels = ShuffleRandom().corrupt(same, None, same, MASKED, np.random.default_rng(2))
    assert (corrupted == same).all()
    assert (labels == INTACT).all()


def test_masked_tokens_ask_for_the_chosen_ones_alone():
    tokens, targets = blocks(*[10] * 4000), np.arange(4000)
    corrupted, labels = MaskedLM(0.15).corrupt(tokens, targets, blocks(99), MASKED, np.random.default_rng(4))
    asked = labels != IGNORED
    assert (labels[asked] == targets[asked]).all()
    assert (corrupted[~asked] == tokens[~asked]).all()
    masked = (corrupted[asked] == MASKED).all(axis=1).mean()
    replaced = (corrupted[asked][:, 0] == 99).mean()
    assert 0.12 < asked.mean() < 0.18
    assert 0.75 < masked < 0.85
    assert 0.06 < replaced < 0.14


def test_replaced_tokens_cannot_be_told_by_their_number_of_ones(sequences, packing, shares):
    """Bits drawn with p ~ U(0, 1), as in the authors' code, can: most have more or fewer ones than a hash."""
    shares(0.15, 0.15)
    dataset = PretrainingDataset(sequences, packing, ShuffleRandom(), seed=0)
    examples = dataset.__getitems__(range(len(dataset)))
    blocks = np.concatenate([each["input_ids"][1:-1] - 5 for each in examples]).astype(np.uint8)
    labels = np.concatenate([each["labels"][1:-1] for each in examples])
    rng = np.random.default_rng(0)
    drawn = np.packbits(rng.random((5000, 128)) < rng.random((5000, 1)), axis=1)
    kinds = blocks[labels == INTACT], blocks[labels == REPLACED], drawn
    intact, replaced, drawn = (np.abs(np.unpackbits(kind, axis=1).sum(axis=1).astype(int) - 64) for kind in kinds)
    assert len(replaced) > 3000
    best = max(((intact < limit).mean() + (replaced >= limit).mean()) / 2 for limit in range(64))
    assert best < 0.54
    assert ((intact < 25).mean() + (drawn >= 25).mean()) / 2 > 0.75


def test_what_happens_to_a_sequence_depends_on_seed_epoch_and_number_alone(sequences, packing):
    first = PretrainingDataset(sequences, packing, ShuffleRandom(), seed=1)
    second = PretrainingDataset(sequences, packing, ShuffleRandom(), seed=1)
    batch = first.__getitems__([5, 3, 9])
    alone = second[3]
    assert (batch[1]["input_ids"] == alone["input_ids"]).all()
    assert batch[1]["labels"] == alone["labels"]
    second.set_epoch(1)
    assert second[3]["labels"] != alone["labels"]
    assert PretrainingDataset(sequences, packing, ShuffleRandom(), seed=2)[3]["labels"] != alone["labels"]


def test_special_tokens_stand_around_a_sequence_and_are_not_judged(sequences, packing):
    item = PretrainingDataset(sequences, packing, ShuffleRandom(), seed=0)[0]
    assert item["input_ids"][0].tolist() == special_blocks(16)[CLS].tolist()
    assert item["input_ids"][-1].tolist() == special_blocks(16)[SEP].tolist()
    assert item["labels"][0] == item["labels"][-1] == IGNORED
    assert len(item["labels"]) == len(item["input_ids"]) == len(item["attention_mask"])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_row_of_the_table_is_complete(name):
    """What the script, its help, the card and the printed table read."""
    objective = OBJECTIVES[name]()
    assert objective.name == name
    assert f"{name}: " in PretrainingArguments.__dataclass_fields__["objective"].metadata["help"]
    assert objective.card_text
    assert objective.measures[0] == "loss"
    assert objective.model_class.__name__.startswith("Vocabless")
    assert all(flag.metadata["help"] for flag in dataclasses.fields(objective))


@pytest.mark.parametrize("name", [name for name, row in OBJECTIVES.items() if issubclass(row, TokenObjective)])
@pytest.mark.parametrize("shape", ["hashformer-lsh-proj-tiny", "bert-tiny"])
def test_an_objective_gives_every_labelled_token_a_loss_and_measures_it(name, shape, subwords):
    objective = OBJECTIVES[name]()
    arguments = PretrainingArguments(variant=shape, max_seq_length=16)
    if objective.needs_targets or shape == "bert-tiny":
        arguments.subword = subwords["wordpiece"]
    model, tokenizer = load_model(arguments, objective)
    packing = Packing(tokenizer, objective.needs_targets, 16)
    documents = Dataset.from_dict({"text": ["the quick brown fox jumps over the lazy dog. " * 9] * 4})
    examples = PretrainingDataset(packing.prepare(documents), packing, objective, seed=0)
    batch = DataCollatorForTokenClassification(tokenizer)(examples.__getitems__(range(8)))
    with torch.no_grad():
        output = model.eval()(**batch)
        predictions, losses = objective.reduce_outputs(output.logits, batch["labels"])
    is_labelled = batch["labels"] != IGNORED
    assert is_labelled.any() and (losses[is_labelled] > 0).all() and (losses[~is_labelled] == 0).all()
    assert losses[is_labelled].mean().item() == pytest.approx(output.loss.item(), rel=1e-5)
    metrics = objective.compute_metrics(EvalPrediction((predictions.numpy(), losses.numpy()), batch["labels"].numpy()))
    assert metrics.pop(EXACT_LOSS) == pytest.approx(output.loss.item(), rel=1e-5)
    assert set(metrics) <= set(objective.measures)
    right = (predictions == batch["labels"])[is_labelled]
    assert metrics["accuracy"] == pytest.approx(right.float().mean().item())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--variant", "eelbert-tiny"], MaskedLM()),
        (["--variant", "roberta-base"], MaskedLM()),
        (["--variant", "proformer"], ShuffleRandom()),  # published without pre-training
        (["--variant", "eelbert-tiny", "--teacher", "a/b"], Distill(teacher="a/b")),
        (["--objective", "shuffle-random", "--mlm_probability", "0.4"], ShuffleRandom()),
        (["--objective", "mlm", "--mlm_probability", "0.4"], MaskedLM(0.4)),
    ],
)
def test_an_objective_is_chosen_by_name_or_by_the_variant_and_has_its_own_flags(arguments, expected):
    assert parse_command_line([*arguments, "--use_cpu", "true"], None) == expected
