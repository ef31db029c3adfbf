"""Objectives: what they do to each token, what they say about themselves, and how a command chooses one."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForMaskedLM, EvalPrediction

from vocabless.stock_shapes import find_stock_shape, load_shape_config
from vocabless.tokenization.block_coders import MASK, special_blocks
from vocabless.training.pretraining import distill, shuffle_random, tokens
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.command_line import OBJECTIVES, parse_command_line
from vocabless.training.pretraining.distill import Distill
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.objective import Examples, load_model
from vocabless.training.pretraining.packing import Packing
from vocabless.training.pretraining.shuffle_random import INTACT, REPLACED, SHUFFLED, ShuffleRandom
from vocabless.training.pretraining.tokens import IGNORE_INDEX, Draws, PretrainingDataset, TokenCollator, TokenObjective
from vocabless.training.trainer import EXACT_LOSS

MASKED = special_blocks(3)[MASK].astype(np.int64)


def blocks(*values):
    return np.array([[value, 5, 5] for value in values], dtype=np.int64)


def corrupt(objective, tokens, donors, seed=0, targets=None):
    rng = np.random.default_rng(seed) if isinstance(seed, int) else seed
    draws = Draws([rng], np.array([len(tokens)]), donors.__getitem__, np.array([len(donors)]))
    return objective.corrupt(tokens, targets, MASKED, draws)


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


@pytest.mark.parametrize("shape", ["bert-base", "roberta-base", "albert-base"])
def test_a_stock_masked_lm_predicts_the_labelled_tokens_alone_with_the_same_loss_and_gradients(shape, monkeypatch):
    torch.manual_seed(0)
    config = load_shape_config(dataclasses.replace(find_stock_shape(shape), size="uno"), 40, pad_token_id=1)
    model = AutoModelForMaskedLM.from_config(config).eval()
    inputs = torch.randint(5, 40, (2, 9))
    labels = torch.where(torch.arange(9) % 4 == 0, inputs, IGNORE_INDEX)
    monkeypatch.setattr(tokens, "ResumableTrainer", SimpleNamespace)
    objective, outputs, gradients = MaskedLM(), [], []
    objective.set_arguments(None, None)
    for is_in_training in (False, True):
        if is_in_training:
            objective.build_trainer(model, SimpleNamespace(), Examples(None, None))
        model.zero_grad()
        output = model(input_ids=inputs, attention_mask=torch.ones_like(inputs), labels=labels)
        output.loss.backward()
        outputs.append(output)
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    torch.testing.assert_close(outputs[1].loss, outputs[0].loss)
    torch.testing.assert_close(outputs[1].logits, outputs[0].logits[labels != IGNORE_INDEX])
    torch.testing.assert_close(gradients[1], gradients[0])
    nothing = model(input_ids=inputs, labels=torch.full_like(inputs, IGNORE_INDEX))
    assert nothing.loss.item() == 0 and nothing.logits.shape == (0, 40)


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
    batch = TokenCollator(tokenizer)(examples.__getitems__(range(8)))
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


@pytest.mark.parametrize(("arguments", "expected"), [
    (["--variant", "eelbert-tiny"], MaskedLM()),
    (["--variant", "roberta-base"], MaskedLM()),
    (["--variant", "proformer"], ShuffleRandom()),  # published without pre-training
    (["--variant", "eelbert-tiny", "--teacher", "a/b"], Distill(teacher="a/b", max_texts=64_000)),
    (["--objective", "shuffle-random", "--mlm_probability", "0.4"], ShuffleRandom()),
    (["--objective", "mlm", "--mlm_probability", "0.4"], MaskedLM(0.4)),
])  # fmt: skip
def test_an_objective_is_chosen_by_name_or_by_the_variant_and_has_its_own_flags(arguments, expected):
    assert parse_command_line([*arguments, "--use_cpu", "true"], None) == expected


@pytest.mark.parametrize(("flags", "texts"), [
    ([], 2_000 * 32),
    (["--gradient_accumulation_steps", "2", "--max_texts", "0"], 2_000 * 2 * 32),
    (["--max_texts", "9"], 9),
    (["--max_steps", "-1"], 400_000),
    (["--corpus", "a.txt", "b.txt", "--mix", "1", "2"], 400_000),  # which the shares divide
])  # fmt: skip
def test_a_teacher_embeds_no_more_texts_than_the_steps_read(flags, texts):
    assert parse_command_line([*flags, "--use_cpu", "true"]).max_texts == texts


def test_a_teacher_that_is_the_student_is_refused_and_a_better_one_is_named(
    encoder, make_teacher, tmp_path, monkeypatch
):
    monkeypatch.setattr(distill, "default_encoder", lambda: encoder)
    (tmp_path / "link").symlink_to(encoder)
    for source, teacher in ((encoder, []), (f"{encoder}/", ["--teacher", encoder]), (str(tmp_path / "link"), [])):
        with pytest.raises(
            ValueError, match=r"is --model_name_or_path .* itself, .*; give a larger model as --teacher"
        ):
            parse_command_line(["--model_name_or_path", source, "--objective", "distill", *teacher])
    parse_command_line(["--model_name_or_path", encoder, "--teacher", make_teacher(tmp_path / "larger")])
