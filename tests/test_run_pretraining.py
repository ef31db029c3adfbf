"""run_pretraining.py: from fresh weights or a checkpoint to a folder that loads anywhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file
from script_runs import PRETRAINING, VARIANT, pretrain, read_results, write_corpus
from transformers import AutoModel, AutoTokenizer

import run_pretraining
from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.saving.checkpoint import load_checkpoint, save_checkpoint
from vocabless.saving.model_card import card_for_repository
from vocabless.training import run as driver
from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.pretraining.masked_lm import MaskedLM
from vocabless.training.pretraining.objective import load_model, objective_of_checkpoint
from vocabless.training.pretraining.shuffle_random import ShuffleRandom
from vocabless.training.script import ScriptTrainingArguments

ROOT = Path(__file__).parent.parent
BPE = ["--subword", "train", "--subword_vocab_size", "300"]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """The flags of a variant, unless another one is given after it, and of a corpus."""
    return ["--variant", VARIANT, "--corpus", write_corpus(tmp_path_factory.mktemp("corpus") / "text.txt")]


@pytest.mark.loads_without_package
def test_a_run_leaves_a_checkpoint_that_loads_anywhere(given, tmp_path, capsys):
    folder = tmp_path / "run"
    results = pretrain(folder, *given)
    assert results["loads_without_package_bit_equal"]
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"]
    assert set(results["after"]) >= {"eval_majority", "eval_accuracy_intact", "eval_accuracy_replaced"}
    assert all(line["train_tokens_per_second"] > 0 for line in results["log"] if "loss" in line)
    printed = capsys.readouterr().out
    assert printed.startswith("Trains hashformer-lsh-proj-tiny from random weights, objective shuffle-random, text ")
    assert f", 6 steps, into {folder}." in printed.splitlines()[0]
    assert "bit-equal" in printed
    card = (folder / "README.md").read_text()
    assert "hashformer-lsh-proj-tiny" in card and "library_name: transformers" in card
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    hidden = AutoModel.from_pretrained(folder, trust_remote_code=True)(**tokenizer("a word", return_tensors="pt"))
    assert hidden.last_hidden_state.shape == (1, 4, 128)
    before = {file: file.read_bytes() for file in folder.glob("[!.]*") if file.is_file()}
    pretrain(folder, *given, "--logging_steps", "3")
    again = capsys.readouterr().out
    assert f"Nothing was trained: the run in {folder} is finished, and these are its results." in again
    assert f"{results['after']['eval_loss']:8.4f}" in again
    assert {file: file.read_bytes() for file in before} == before


def test_bf16_needs_no_other_flag_on_a_cpu(given, tmp_path):
    results = pretrain(tmp_path / "run", *given, "--use_cpu", "false", "--bf16", "true")
    assert results["arguments"]["bf16"] is True
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"]


@pytest.mark.parametrize(("capability", "warned"), [("AVX2", True), ("AVX512", False), ("DEFAULT", False)])
def test_bf16_is_warned_of_where_it_is_slow(monkeypatch, caplog, capability, warned):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    ScriptTrainingArguments(use_cpu=True, bf16=False)
    assert "AVX-512" not in caplog.text
    ScriptTrainingArguments(use_cpu=True, bf16=True)
    assert ("--bf16 is 4 to 14 times slower than float32 on this CPU" in caplog.text) == warned


@pytest.mark.slow
def test_a_compiled_model_leaves_the_same_checkpoint(given, tmp_path):
    eager = ["--torch_compile", "true", "--torch_compile_backend", "eager"]  # which needs no C++ compiler
    best = ["--load_best_model_at_end", "true", "--eval_strategy", "steps", "--eval_steps", "2"]
    pretrain(tmp_path / "whole", *given, *best)
    pretrain(tmp_path / "compiled", *given, *best, *eager)
    weights = [load_file(tmp_path / name / "model.safetensors") for name in ("whole", "compiled")]
    assert weights[0].keys() == weights[1].keys()
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight)


LAUNCH_TIMEOUT_SECONDS = 240
LAUNCHER = ["-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]


def run_to_its_end(command, folder):
    """Runs a command that writes `folder`, with a log beside it: a pipe would stay open as long as any child lives."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with folder.with_suffix(".log").open("w") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        try:
            status = process.wait(LAUNCH_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()  # a launcher ends its processes
            status = process.wait()
    assert status == 0, folder.with_suffix(".log").read_text()


@pytest.mark.slow
@pytest.mark.timeout(3 * LAUNCH_TIMEOUT_SECONDS + 60)
@pytest.mark.parametrize("variant", [VARIANT, "eelbert-tiny"])  # S+R and masked LM
def test_two_processes_train_like_one_with_the_double_batch_and_make_a_dry_run(given, tmp_path, subwords, variant):
    given = given if variant == VARIANT else [*given, "--variant", variant, "--subword", subwords["wordpiece"]]
    flags = [*given, *PRETRAINING, "--logging_steps", "1", "--warmup_steps", "0"]
    for folder, size, command in (("one", "4", []), ("two", "2", LAUNCHER)):
        command = [sys.executable, *command, "run_pretraining.py", *flags, "--per_device_train_batch_size", size]
        run_to_its_end([*command, "--output_dir", str(tmp_path / folder)], tmp_path / folder)
    one, two = (read_results(tmp_path / folder) for folder in ("one", "two"))
    losses = [[line["loss"] for line in results["log"] if "loss" in line] for results in (one, two)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert len(losses[0]) == 6
    assert one["tokens_seen"] == two["tokens_seen"]
    assert one["after"]["eval_loss"] == pytest.approx(two["after"]["eval_loss"], abs=1e-5)
    run_to_its_end([sys.executable, *LAUNCHER, "run_pretraining.py", *flags, "--dry_run"], tmp_path / "dry")
    assert "It works; nothing was kept." in (tmp_path / "dry.log").read_text() and not (tmp_path / "dry").exists()


@pytest.mark.parametrize("name", ["bert-tiny", "eelbert-tiny"])
@pytest.mark.quick("eelbert-tiny")
def test_masked_lm_in_accumulated_batches_is_that_in_one_whatever_their_numbers_of_labels(
    given, tmp_path, subwords, name
):
    flags = [
        *given,
        "--variant",
        name,
        "--objective",
        "mlm",
        "--subword",
        subwords["wordpiece"],
        "--logging_steps",
        "1",
    ]
    flags += ["--optim", "sgd", "--learning_rate", "0.1", "--warmup_steps", "0", "--max_grad_norm", "0"]
    flags += ["--mlm_probability", "0.5"]  # the loss of a stock model is NaN without a label
    runs = []
    for size in (4, 2, 1):
        folder = tmp_path / f"{size}"
        sizes = ["--per_device_train_batch_size", str(size), "--gradient_accumulation_steps", str(4 // size)]
        run_pretraining.main([*PRETRAINING, *flags, *sizes, "--output_dir", str(folder)])
        losses = [line["loss"] for line in read_results(folder)["log"] if "loss" in line]
        runs.append((losses, load_file(folder / "model.safetensors")))
    for losses, weights in runs[1:]:
        assert losses == pytest.approx(runs[0][0], abs=1e-5)
        for tensor, weight in weights.items():
            torch.testing.assert_close(weight, runs[0][1][tensor], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "learned"), [("bert-tiny", "mlm"), ("roberta-tiny", "shuffle-random"), ("eelbert-tiny", "mlm")]
)
def test_subwords_are_trained_by_the_same_script_and_the_loss_falls(given, tmp_path, monkeypatch, name, learned):
    monkeypatch.chdir(tmp_path)
    folder = Path("runs") / name  # where a run goes that is not told where
    flags = [*given, "--variant", name, "--objective", learned, *BPE, "--validation_split_percentage", "50"]
    run_pretraining.main([*PRETRAINING, *flags, "--warmup_steps", "0", "--max_steps", "12"])
    results = read_results(folder)
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"] and (folder / "subword.json").is_file()
    card = ModelCard.load(folder / "README.md")
    is_stock = not name.startswith("eelbert")
    assert ("trust_remote_code" in card.text, "vocabless family" in card.text) == (not is_stock, not is_stock)
    assert card.data.license == "apache-2.0" and f"`{name}` of " in card.text and card.data.widget
    names: dict = {}
    exec(card_for_repository(folder / "README.md", str(folder)).partition("```python\n")[2].partition("```")[0], names)
    assert names["outputs"].logits.isfinite().all()
    labels = ["intact", "shuffled", "replaced"] if learned == "shuffle-random" else ["LABEL_0", "LABEL_1"]
    assert list(names["model"].config.id2label.values()) == labels
    inputs = AutoTokenizer.from_pretrained(folder)("the fox", return_tensors="pt")
    assert AutoModel.from_pretrained(folder)(**inputs).last_hidden_state.shape[2] == 128


@pytest.mark.parametrize("streaming", [[], ["--streaming", "true"]])
def test_a_dry_run_checks_a_checkpoint_and_leaves_nothing(given, tmp_path, monkeypatch, capsys, streaming):
    checked = []
    monkeypatch.setattr(driver, "loads_without_package", lambda *values: checked.append(values[2]) or True)
    monkeypatch.chdir(tmp_path)
    flags = [*given, "--dry_run", "--validation_corpus", given[-1], *streaming]
    run_pretraining.main([*PRETRAINING, *flags, "--output_dir", str(tmp_path / "run")])
    assert capsys.readouterr().out.endswith("It works; nothing was kept.\n")
    assert len(checked) == 1 and not checked[0].exists() and not list(tmp_path.iterdir())


def test_a_held_out_row_without_text_is_left_out(given, tmp_path):
    held_out = tmp_path / "held_out.jsonl"
    held_out.write_text('{"text": null}\n{"text": "The seven small cats sleep near the old walls."}\n')
    assert "eval_loss" in pretrain(tmp_path / "run", *given, "--validation_corpus", held_out)["after"]


@pytest.fixture(scope="module")
def texts(given, tmp_path_factory):
    """The flags of a corpus and of held-out text."""
    held_out = write_corpus(tmp_path_factory.mktemp("corpus") / "held_out.txt", start=81)
    return [*given[2:], "--validation_corpus", held_out, "--warmup_steps", "0"]


@pytest.fixture(scope="module")
def first(texts, tmp_path_factory):
    """Pre-trains a variant or a stock shape from fresh weights, once; returns its folder."""
    folders = {}

    def run(variant, *flags):
        if variant not in folders:
            folders[variant] = tmp_path_factory.mktemp("runs") / f"first-{variant}"
            pretrain(folders[variant], "--variant", variant, *flags, *texts)
        return folders[variant]

    return run


def begin(source, objective, subword=None):
    """The model of a checkpoint with the head of an objective, and its tokenizer."""
    return load_model(PretrainingArguments(model_name_or_path=str(source), subword=subword), objective)


@pytest.mark.parametrize("streaming", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_checkpoint_is_trained_further(first, texts, tmp_path, streaming):
    start = first("hashformer-lsh-proj-tiny")
    flags = ["--model_name_or_path", start, *texts]
    if streaming:
        flags += ["--streaming", "true"]
    before, results = read_results(start), pretrain(tmp_path / "whole", *flags)
    assert results["objective"] == "shuffle-random"  # the variant's own
    assert results["before"]["eval_loss"] == pytest.approx(before["after"]["eval_loss"], abs=1e-5)
    assert results["after"]["eval_loss"] != results["before"]["eval_loss"]

    card = ModelCard.load(tmp_path / "whole" / "README.md")
    assert f"beginning from the weights of `{start.name}`" in card.text and f"weights of `{start.name}`" in card.text
    assert card.data.get("base_model") is None and card.data.license == "apache-2.0"
    assert results["arguments"]["model_name_or_path"] == start.name
    for name in ("run.json", "results.json", "README.md"):
        assert str(start.parent) not in (tmp_path / "whole" / name).read_text()


@pytest.mark.parametrize("name", ["bert-tiny", pytest.param("eelbert-tiny", marks=pytest.mark.slow)])
def test_masked_lm_goes_on_with_its_own_tokenizer_and_head(name, first, texts, tmp_path):
    start = first(name, *BPE)
    results = pretrain(tmp_path / "run", "--model_name_or_path", start, *texts)
    assert results["objective"] == "mlm"
    assert results["before"]["eval_loss"] == pytest.approx(read_results(start)["after"]["eval_loss"], abs=1e-4)
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"]


@pytest.mark.slow
def test_another_objective_keeps_the_encoder_and_gets_a_new_head(first, subwords):
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
def test_a_fine_tuned_or_stock_classifier_is_begun_from_too(first, tmp_path):
    model = VocablessForSequenceClassification(load_config("eelbert-word-tiny", num_labels=7))
    save_checkpoint(model, load_tokenizer("eelbert-word-tiny"), tmp_path)
    begun, _ = begin(tmp_path, ShuffleRandom())
    for name, weight in model.vocabless.state_dict().items():
        assert torch.equal(begun.base_model.state_dict()[name], weight), name
    stock, _ = begin(first("bert-tiny", *BPE), ShuffleRandom())
    assert stock.config.num_labels == 3


def test_the_default_objective_is_that_of_the_checkpoint(first, tmp_path):
    assert objective_of_checkpoint(str(first("bert-tiny", *BPE))) == "mlm"
    assert objective_of_checkpoint(str(first("eelbert-tiny", *BPE))) == "mlm"
    assert objective_of_checkpoint(str(first("hashformer-lsh-proj-tiny"))) == "shuffle-random"
    load_config("eelbert-tiny", variant="mine").save_pretrained(tmp_path)
    assert objective_of_checkpoint(str(tmp_path)) is None
