"""Runs that begin from a checkpoint: the first evaluation is that of its weights, and its name is no path."""

import json
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard, constants
from pretraining_runs import pretrain, refused_run, write_corpus

import run_pretraining
from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.saving.checkpoint import load_checkpoint, save_checkpoint
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.objective import load_model, objective_of_checkpoint
from vocabless.training.pretraining.shuffle_random import ShuffleRandom

BPE = ["--subword", "train", "--subword_vocab_size", "300"]


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> list[str]:
    """The flags of a corpus and of held-out text."""
    folder = tmp_path_factory.mktemp("corpus")
    corpus, held_out = write_corpus(folder / "text.txt"), write_corpus(folder / "held_out.txt", start=81)
    return ["--corpus", corpus, "--validation_corpus", held_out, "--warmup_steps", "0"]


@pytest.fixture(scope="module")
def first(given, tmp_path_factory):
    """Pre-trains a variant or a stock shape from fresh weights, once; returns its folder."""
    folders: dict[str, Path] = {}

    def run(variant: str, *flags: str) -> Path:
        if variant not in folders:
            folders[variant] = tmp_path_factory.mktemp("runs") / f"first-{variant}"
            pretrain(folders[variant], "--variant", variant, *flags, *given)
        return folders[variant]

    return run


def begin(source: object, objective: object, subword: str | None = None) -> tuple:
    """The model of a checkpoint with the head of an objective, and its tokenizer."""
    return load_model(PretrainingArguments(model_name_or_path=str(source), subword=subword), objective)


def results_of(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


@pytest.mark.parametrize("streaming", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_checkpoint_is_trained_further(first, given, tmp_path, streaming) -> None:
    start = first("hashformer-lsh-proj-tiny")
    flags = ["--model_name_or_path", start, *given]
    if streaming:
        flags += ["--streaming", "true"]
    before, results = results_of(start), pretrain(tmp_path / "whole", *flags)
    assert results["objective"] == "shuffle-random"  # the variant's own
    assert results["before"]["eval_loss"] == pytest.approx(before["after"]["eval_loss"], abs=1e-5)
    assert results["after"]["eval_loss"] != results["before"]["eval_loss"]

    card = ModelCard.load(tmp_path / "whole" / "README.md")
    assert f"beginning from the weights of `{start.name}`" in card.text and f"weights of `{start.name}`" in card.text
    assert card.data.get("base_model") is None and card.data.license == "apache-2.0"
    assert results["arguments"]["model_name_or_path"] == start.name
    for name in ("run.json", "results.json", "README.md"):
        assert str(start.parent) not in (tmp_path / "whole" / name).read_text()


@pytest.mark.parametrize(
    ("name", "flags"), [("bert-tiny", BPE), pytest.param("eelbert-tiny", BPE, marks=pytest.mark.slow)]
)
def test_masked_lm_goes_on_with_its_own_tokenizer_and_head(name, flags, first, given, tmp_path) -> None:
    start = first(name, *flags)
    results = pretrain(tmp_path / "run", "--model_name_or_path", start, *given)
    assert results["objective"] == "mlm"
    assert results["before"]["eval_loss"] == pytest.approx(results_of(start)["after"]["eval_loss"], abs=1e-4)
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"]


@pytest.mark.slow
def test_another_objective_keeps_the_encoder_and_gets_a_new_head(first, subwords) -> None:
    start = str(first("hashformer-lsh-proj-tiny"))
    own, _ = load_checkpoint(start)
    with pytest.raises(ValueError, match=r"mlm over the words of .* predicts a vocabulary; give --subword FILE"):
        begin(start, MaskedLM())
    model, tokenizer = begin(start, MaskedLM(), subwords["wordpiece"])
    assert type(model).__name__ == "VocablessForMaskedLM"
    assert model.config.target_vocab_size == tokenizer.target_tokenizer.get_vocab_size()
    for name, weight in own.base_model.state_dict().items():
        assert torch.equal(model.base_model.state_dict()[name], weight), name
    with pytest.raises(ValueError, match="has a tokenizer of its own and no use for --subword"):
        begin(start, ShuffleRandom(), subwords["wordpiece"])


@pytest.mark.slow
def test_a_fine_tuned_or_stock_classifier_is_begun_from_too(first, tmp_path) -> None:
    model = VocablessForSequenceClassification(load_config("eelbert-word-tiny", num_labels=7))
    save_checkpoint(model, load_tokenizer("eelbert-word-tiny"), tmp_path)
    begun, _ = begin(tmp_path, ShuffleRandom())
    for name, weight in model.vocabless.state_dict().items():
        assert torch.equal(begun.base_model.state_dict()[name], weight), name
    stock, _ = begin(first("bert-tiny", *BPE), ShuffleRandom())
    assert stock.config.num_labels == 3


def test_the_default_objective_is_that_of_the_checkpoint(first, tmp_path) -> None:
    assert objective_of_checkpoint(str(first("bert-tiny", *BPE))) == "mlm"
    assert objective_of_checkpoint(str(first("eelbert-tiny", *BPE))) == "mlm"
    assert objective_of_checkpoint(str(first("hashformer-lsh-proj-tiny"))) == "shuffle-random"
    load_config("eelbert-tiny", variant="mine").save_pretrained(tmp_path)
    assert objective_of_checkpoint(str(tmp_path)) is None


def test_a_checkpoint_that_does_not_exist_is_named(given, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    sentence = refused_run(tmp_path / "run", *given, "--model_name_or_path", "no/such")
    assert "'no/such' cannot be loaded" in sentence


def test_a_recipes_variant_gives_way_to_a_checkpoint(first) -> None:
    start = first("hashformer-lsh-proj-tiny")
    flags = ["--recipe", "hashformer", "--model_name_or_path", str(start)]
    objective = run_pretraining.parse_command_line(flags, None)
    assert objective.arguments.variant is None and isinstance(objective, ShuffleRandom)
    assert objective.training.learning_rate == 5e-5
    assert objective.training.output_dir == f"runs/{start.name}-continued"
