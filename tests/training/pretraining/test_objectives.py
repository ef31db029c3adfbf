"""Objectives: what they do to each token, what they say about themselves, and how a command chooses one."""

import dataclasses
from pydoc_data.topics import topics

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import DataCollatorForTokenClassification, EvalPrediction

from vocabless import load_tokenizer
from vocabless.tokenization.block_coders import MASK, special_blocks
from vocabless.training.pretraining import distill, shuffle_random
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.command_line import OBJECTIVES, parse_command_line
from vocabless.training.pretraining.distill import Distill
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.objective import TokenObjective, load_model
from vocabless.training.pretraining.packing import Packing
from vocabless.training.pretraining.sequences import IGNORE_INDEX, PretrainingDataset
from vocabless.training.pretraining.shuffle_random import INTACT, REPLACED, SHUFFLED, ShuffleRandom
from vocabless.training.trainer import EXACT_LOSS

MASKED = special_blocks(3)[MASK].astype(np.int64)


def blocks(*values):
    return np.array([[value, 5, 5] for value in values], dtype=np.int64)


def corrupt(objective, tokens, donors, seed=0, targets=None):
    rng = np.random.default_rng(seed) if isinstance(seed, int) else seed
    return objective.corrupt(tokens, targets, donors, MASKED, rng)


def test_labels_say_what_was_done_to_each_token_in_the_shares_of_the_source(monkeypatch):
    """HashFormers 3.6 takes S+R from Yamaguchi et al. (2021): a tenth is shuffled, then a tenth of the rest random."""
    tokens, donors = blocks(*range(5, 100_005)), blocks(*range(200_000, 300_000))  # all different
    kept = tokens.copy()
    corrupted, labels = corrupt(ShuffleRandom(), tokens, donors)
    assert (tokens == kept).all()
    is_donor, is_same = corrupted[:, 0] >= 200_000, corrupted[:, 0] == tokens[:, 0]
    assert (labels == np.where(is_same, INTACT, np.where(is_donor, REPLACED, SHUFFLED))).all()
    assert (labels == SHUFFLED).mean() == pytest.approx(0.10, abs=0.005)
    assert (labels == REPLACED).mean() == pytest.approx(0.09, abs=0.005)
    shuffled = labels == SHUFFLED
    assert sorted(corrupted[shuffled, 0]) != sorted(tokens[shuffled, 0])  # not shuffled among themselves
    same = blocks(*[7] * 50)  # a token that comes back to its place is intact
    monkeypatch.setattr(shuffle_random, "SHUFFLED_SHARE", 0.5)
    corrupted, labels = corrupt(ShuffleRandom(), same, same)
    assert (corrupted == same).all() and (labels == INTACT).all()


def test_masked_tokens_ask_for_the_chosen_ones_alone():
    tokens, targets = blocks(*[10] * 4000), np.arange(4000)
    corrupted, labels = corrupt(MaskedLM(0.15), tokens, blocks(99), 4, targets)
    asked = labels != IGNORE_INDEX
    assert (labels[asked] == targets[asked]).all() and (corrupted[~asked] == tokens[~asked]).all()
    assert asked.mean() == pytest.approx(0.15, abs=0.03)
    assert (corrupted[asked] == MASKED).all(axis=1).mean() == pytest.approx(0.8, abs=0.05)
    assert (corrupted[asked][:, 0] == 99).mean() == pytest.approx(0.1, abs=0.04)


def test_replaced_tokens_cannot_be_told_by_their_number_of_ones(monkeypatch):
    """Bits drawn with p ~ U(0, 1), as in the authors' code, can: most have more or fewer ones than a hash."""
    monkeypatch.setattr(shuffle_random, "REPLACED_SHARE", 0.15)
    packing = Packing(load_tokenizer("hashformer-lsh-proj-tiny"), False, 64)
    sequences = packing.prepare(Dataset.from_dict({"text": [text for text in topics.values() if len(text) > 2000]}))
    dataset = PretrainingDataset(sequences, packing, ShuffleRandom(), seed=0)
    examples = dataset.__getitems__(range(len(dataset)))
    hashes = np.concatenate([example["input_ids"][1:-1] - 5 for example in examples]).astype(np.uint8)
    labels = np.concatenate([example["labels"][1:-1] for example in examples])
    rng = np.random.default_rng(0)
    drawn = np.packbits(rng.random((5000, 128)) < rng.random((5000, 1)), axis=1)
    kinds = hashes[labels == INTACT], hashes[labels == REPLACED], drawn
    intact, replaced, drawn = (np.abs(np.unpackbits(kind, axis=1).sum(axis=1).astype(int) - 64) for kind in kinds)
    assert len(replaced) > 3000
    best = max(((intact < limit).mean() + (replaced >= limit).mean()) / 2 for limit in range(64))
    assert best < 0.54
    assert ((intact < 25).mean() + (drawn >= 25).mean()) / 2 > 0.75


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_row_of_the_table_is_complete(name):
    """What the script, its help, the card and the printed table read."""
    objective = OBJECTIVES[name]()
    assert objective.name == name
    assert f"{name}: " in PretrainingArguments.__dataclass_fields__["objective"].metadata["help"]
    assert objective.card_text and objective.measures[0] == "loss"
    assert objective.model_class.__name__.startswith("Vocabless")
    assert all(flag.metadata["help"] for flag in dataclasses.fields(objective))


@pytest.mark.parametrize("name", [name for name, row in OBJECTIVES.items() if issubclass(row, TokenObjective)])
@pytest.mark.parametrize("shape", ["hashformer-lsh-proj-tiny", "bert-tiny"])
def test_an_objective_gives_every_labelled_token_a_loss_and_measures_it(name, shape, subwords):
    objective = OBJECTIVES[name]()
    arguments = PretrainingArguments(variant=shape, max_seq_length=16, subword=subwords["wordpiece"])
    model, tokenizer = load_model(arguments, objective)
    packing = Packing(tokenizer, objective.needs_targets, 16)
    documents = Dataset.from_dict({"text": ["the quick brown fox jumps over the lazy dog. " * 9] * 4})
    examples = PretrainingDataset(packing.prepare(documents), packing, objective, seed=0)
    batch = DataCollatorForTokenClassification(tokenizer)(examples.__getitems__(range(8)))
    with torch.no_grad():
        output = model.eval()(**batch)
        predictions, losses = objective.reduce_outputs(output.logits, batch["labels"])
    is_labelled = batch["labels"] != IGNORE_INDEX
    assert is_labelled.any() and (losses[is_labelled] > 0).all() and (losses[~is_labelled] == 0).all()
    assert losses[is_labelled].mean().item() == pytest.approx(output.loss.item(), rel=1e-5)
    metrics = objective.compute_metrics(EvalPrediction((predictions.numpy(), losses.numpy()), batch["labels"].numpy()))
    assert metrics.pop(EXACT_LOSS) == pytest.approx(output.loss.item(), rel=1e-5)
    assert set(metrics) <= set(objective.measures)
    right = (predictions == batch["labels"])[is_labelled]
    assert metrics["accuracy"] == pytest.approx(right.float().mean().item())


@pytest.mark.parametrize(
    ("name", "shape", "flags"),
    [
        ("shuffle-random", "hashformer-lsh-proj-tiny", []),
        ("shuffle-random", "bert-tiny", []),
        ("mlm", "bert-tiny", ["--mlm_probability", "1"]),  # all tokens are labelled, so batches have the same weight
        ("distill", "hashgram-nano", []),  # without the similarities, which are those within a batch
    ],
)
def test_accumulated_batches_give_the_loss_and_the_gradient_of_one(
    name, shape, flags, subwords, make_teacher, tmp_path, empty_cache, monkeypatch
):
    """An epoch has eight texts of fourteen tokens, and is one step."""
    words = "the quick brown fox jumps over lazy dog".split()
    lines = [" ".join([words[row], *words[:6], *words[row:], *words])[:400].split()[:14] for row in range(8)]
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, lines)))
    flags = ["--objective", name, "--variant", shape, "--teacher", make_teacher(tmp_path / "teacher"), *flags]
    if shape == "bert-tiny":
        flags += ["--subword", subwords["wordpiece"]]
    flags += ["--corpus", str(tmp_path / "text.txt"), "--validation_corpus", str(tmp_path / "text.txt")]
    flags += ["--max_seq_length", "16", "--use_cpu", "true", "--warmup_steps", "0"]
    flags += ["--max_steps", "1", "--logging_steps", "1", "--eval_on_start", "false", "--save_strategy", "no"]
    monkeypatch.setattr(distill, "SIMILARITY_WEIGHT", 0)
    steps = []
    for batches in (1, 2, 4):
        sizes = ["--per_device_train_batch_size", f"{8 // batches}", "--gradient_accumulation_steps", f"{batches}"]
        folder = ["--output_dir", str(tmp_path / f"run-{batches}"), "--disable_tqdm", "true"]
        trained = parse_command_line([*flags, *sizes, *folder], None).train()
        assert trained.log[0]["epoch"] == 1
        steps.append([trained.log[0][figure] for figure in ("loss", "grad_norm")])
    assert steps[1] == pytest.approx(steps[0], rel=1e-4) and steps[2] == pytest.approx(steps[0], rel=1e-4)


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
