"""Runs that begin from a checkpoint: the first evaluation is that of its weights, and its name is no path."""

import json
from functools import partial
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard, constants
from transformers import AutoModel, TrainerCallback

import run_pretraining
from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.saving.checkpoint import load_checkpoint, save_checkpoint
from vocabless.training import task
from vocabless.training.pretraining.load_model import load_checkpoint_with_head, objective_of_checkpoint
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.shuffle_random import ShuffleRandom
from vocabless.training.trainer import ResumableTrainer

QUICK = ["--max_steps", "6", "--save_steps", "2", "--logging_steps", "2", "--per_device_train_batch_size", "4",
         "--max_seq_length", "16", "--max_eval_samples", "8", "--preprocessing_num_workers", "1", "--use_cpu", "true",
         "--disable_tqdm", "true", "--warmup_steps", "0"]  # fmt: skip
BPE = ["--subword", "train", "--subword_vocab_size", "300"]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> list[str]:
    """The flags of a corpus and of held-out text."""
    folder = tmp_path_factory.mktemp("corpus")
    words = "the quick brown fox jumps over lazy dogs while seven small cats sleep near old walls".split()
    for name, start in (("text", 1), ("held_out", 81)):
        lines = [" ".join(words[(i * k) % len(words)] for k in range(1, 30)) + "." for i in range(start, start + 80)]
        (folder / f"{name}.txt").write_text("\n".join(lines))
    return ["--corpus", str(folder / "text.txt"), "--validation_corpus", str(folder / "held_out.txt")]


@pytest.fixture(scope="module")
def first(corpora, tmp_path_factory):
    """Pre-trains a variant or a stock shape from fresh weights, once; returns its folder."""
    folders: dict[str, Path] = {}

    def run(variant: str, *flags: str) -> Path:
        if variant not in folders:
            folders[variant] = tmp_path_factory.mktemp("runs") / f"first-{variant}"
            run_pretraining.main(
                ["--variant", variant, *flags, *corpora, *QUICK, "--output_dir", str(folders[variant])]
            )
        return folders[variant]

    return run


def results_of(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def same_weights(one: Path, other: Path) -> bool:
    a, b = (AutoModel.from_pretrained(folder).state_dict() for folder in (one, other))
    return all(torch.equal(a[name], b[name]) for name in a)


class Interrupt(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 5:
            raise KeyboardInterrupt


@pytest.mark.parametrize("streaming", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_checkpoint_is_trained_further_and_an_interrupted_run_resumes(
    first, corpora, tmp_path, monkeypatch, streaming
) -> None:
    start = first("hashformer-lsh-proj-tiny")
    given = ["--model_name_or_path", str(start), *corpora, *QUICK]
    if streaming:
        given += ["--streaming", "true", "--shuffle_buffer_size", "10"]
    run_pretraining.main([*given, "--output_dir", str(tmp_path / "whole")])
    before, results = results_of(start), results_of(tmp_path / "whole")
    assert results["objective"] == "shuffle-random"  # the variant's own
    assert results["before"]["eval_loss"] == pytest.approx(before["after"]["eval_loss"], abs=1e-5)
    assert results["after"]["eval_loss"] != results["before"]["eval_loss"]

    with monkeypatch.context() as patched:
        patched.setattr(task, "ResumableTrainer", partial(ResumableTrainer, callbacks=[Interrupt()]))
        with pytest.raises(SystemExit, match="130"):
            run_pretraining.main([*given, "--output_dir", str(tmp_path / "broken")])
    run_pretraining.main([*given, "--output_dir", str(tmp_path / "broken")])
    assert same_weights(tmp_path / "whole", tmp_path / "broken")
    assert not same_weights(tmp_path / "whole", start)

    card = ModelCard.load(tmp_path / "whole" / "README.md")
    assert f"beginning from the weights of `{start.name}`" in card.text and f"weights of `{start.name}`" in card.text
    assert card.data.get("base_model") is None and card.data.license == "apache-2.0"
    assert results["arguments"]["model_name_or_path"] == start.name
    for name in ("run.json", "results.json", "README.md"):
        assert str(start.parent) not in (tmp_path / "whole" / name).read_text()


@pytest.mark.parametrize(
    ("name", "flags"), [("bert-tiny", BPE), pytest.param("eelbert-tiny", BPE, marks=pytest.mark.slow)]
)
def test_masked_lm_goes_on_with_its_own_tokenizer_and_head(name, flags, first, corpora, tmp_path) -> None:
    start = first(name, *flags)
    run_pretraining.main(["--model_name_or_path", str(start), *corpora, *QUICK, "--output_dir", str(tmp_path / "run")])
    results = results_of(tmp_path / "run")
    assert results["objective"] == "mlm"
    assert results["before"]["eval_loss"] == pytest.approx(results_of(start)["after"]["eval_loss"], abs=1e-4)
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"]


@pytest.mark.slow
def test_another_objective_keeps_the_encoder_and_gets_a_new_head(first, subwords, tmp_path) -> None:
    start = str(first("hashformer-lsh-proj-tiny"))
    own, _ = load_checkpoint(start)
    with pytest.raises(ValueError, match=r"mlm over the words of .* predicts a vocabulary; give --subword FILE"):
        load_checkpoint_with_head(start, MaskedLM())
    model, tokenizer = load_checkpoint_with_head(start, MaskedLM(), subwords["wordpiece"])
    assert type(model).__name__ == "VocablessForMaskedLM"
    assert model.config.target_vocab_size == tokenizer.target_tokenizer.get_vocab_size()
    for name, weight in own.base_model.state_dict().items():
        assert torch.equal(model.base_model.state_dict()[name], weight), name
    with pytest.raises(ValueError, match="has a tokenizer of its own and no use for --subword"):
        load_checkpoint_with_head(start, ShuffleRandom(), subwords["wordpiece"])


@pytest.mark.slow
def test_a_fine_tuned_or_stock_classifier_is_begun_from_too(first, tmp_path) -> None:
    model = VocablessForSequenceClassification(load_config("eelbert-word-tiny", num_labels=7))
    save_checkpoint(model, load_tokenizer("eelbert-word-tiny"), tmp_path)
    begun, _ = load_checkpoint_with_head(str(tmp_path), ShuffleRandom())
    for name, weight in model.vocabless.state_dict().items():
        assert torch.equal(begun.base_model.state_dict()[name], weight), name
    stock, _ = load_checkpoint_with_head(str(first("bert-tiny", *BPE)), ShuffleRandom())
    assert stock.config.num_labels == 3


def test_the_default_objective_is_that_of_the_checkpoint(first, tmp_path) -> None:
    assert objective_of_checkpoint(str(first("bert-tiny", *BPE))) == "mlm"
    assert objective_of_checkpoint(str(first("eelbert-tiny", *BPE))) == "mlm"
    assert objective_of_checkpoint(str(first("hashformer-lsh-proj-tiny"))) == "shuffle-random"
    load_config("eelbert-tiny", variant="mine").save_pretrained(tmp_path)
    assert objective_of_checkpoint(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            ["--variant", "bert-tiny", "--model_name_or_path", "START"],
            "--variant bert-tiny has fresh weights and .*one of",
        ),
        (["--model_name_or_path", "bert-tiny"], "bert-tiny has no weights to begin from; give --variant bert-tiny"),
        (["--model_name_or_path", "no/such"], "'no/such' cannot be loaded"),
        (["--model_name_or_path", "START", "--max_seq_length", "4096"], "at most 512"),
        (["--model_name_or_path", "START", "--subword", "x.json"], "no use for --subword x.json; leave it out"),
    ],
)
def test_a_mistake_ends_with_one_sentence(flags, sentence, first, corpora, tmp_path, monkeypatch) -> None:
    start = str(first("hashformer-lsh-proj-tiny"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    flags = [start if flag == "START" else flag for flag in flags]
    with pytest.raises(SystemExit, match=sentence) as raised:
        run_pretraining.main([*corpora, *QUICK, "--output_dir", str(tmp_path / "run"), *flags])
    assert "\n" not in str(raised.value)


def test_a_recipes_variant_gives_way_to_a_checkpoint(first, monkeypatch) -> None:
    start = first("hashformer-lsh-proj-tiny")
    arguments, chosen, training = run_pretraining.parse_command_line(
        ["--recipe", "hashformer", "--model_name_or_path", str(start)], None
    )
    assert arguments.variant is None and isinstance(chosen, ShuffleRandom)
    assert training.learning_rate == 5e-5 and training.output_dir == f"runs/{start.name}-continued"
