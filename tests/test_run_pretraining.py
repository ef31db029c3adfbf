import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from pretraining_runs import QUICK, interrupted_runs, pretrain, refused_run, write_corpus
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer

import run_pretraining
from vocabless.training import run as driver
from vocabless.training.script import ScriptTrainingArguments

ROOT = Path(__file__).parent.parent
VARIANT = ["--variant", "hashformer-lsh-proj-tiny"]  # unless another one is given after it


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """The flags of a variant and of a corpus."""
    return [*VARIANT, "--corpus", write_corpus(tmp_path_factory.mktemp("corpus") / "text.txt")]


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
    before = {
        file: file.read_bytes() for file in folder.iterdir() if file.is_file() and not file.name.startswith(".lock")
    }
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


@pytest.mark.parametrize("streaming", [[], ["--streaming", "true"]])
def test_a_run_whose_text_changed_is_neither_continued_nor_printed(tmp_path, capsys, streaming):
    files = {part: tmp_path / f"{part}.txt" for part in ("corpus", "validation_corpus")}
    flags = [*VARIANT, *(flag for part in files for flag in (f"--{part}", write_corpus(files[part]))), *streaming]
    text = files["corpus"].read_text()

    def refused():
        for part, file in files.items():
            file.write_text(text + "\nOne more sentence.")
            sentence = refused_run(tmp_path / "run", *flags)
            assert re.search(rf"differs in the text of --{part} .* with hash .*; give another", sentence)
            file.write_text(text)

    with interrupted_runs():
        pretrain(tmp_path / "run", *flags)
    assert capsys.readouterr().err.splitlines()[-1].endswith("give the same command again to continue.")
    assert not (tmp_path / "run" / "model.safetensors").exists()
    for _ in range(2):
        refused()
        pretrain(tmp_path / "run", *flags)


LAUNCH_TIMEOUT_SECONDS = 240
LAUNCHER = ["-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]


def run_to_its_end(command, folder):
    """Runs a command that writes `folder`. If it does not end in time, kills it and shows where its processes stood."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1", "GLOO_SOCKET_IFNAME": "lo"}
    log = folder.with_suffix(".log")  # a file: a pipe would stay open as long as any child lives
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL
        )
        try:
            exit_status = process.wait(LAUNCH_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            for each in reversed([process.pid, *descendants(process.pid)]):
                os.kill(each, signal.SIGABRT)  # faulthandler prints the stacks of all threads
            process.wait()
            pytest.fail(f"not ended after {LAUNCH_TIMEOUT_SECONDS} s:\n{log.read_text()}")
    assert exit_status == 0, log.read_text()


def descendants(pid):
    children = [child for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()]
    return [each for child in map(int, children) for each in (child, *descendants(child))]


@pytest.mark.slow
@pytest.mark.timeout(2 * LAUNCH_TIMEOUT_SECONDS + 60)
def test_two_processes_train_like_one_with_the_double_batch(given, tmp_path):
    flags = [*given, *QUICK, "--logging_steps", "1", "--warmup_steps", "0"]
    for folder, size, command in (("one", "4", []), ("two", "2", LAUNCHER)):
        command = [sys.executable, *command, "run_pretraining.py", *flags, "--per_device_train_batch_size", size]
        run_to_its_end([*command, "--output_dir", str(tmp_path / folder)], tmp_path / folder)
    one, two = (json.loads((tmp_path / folder / "results.json").read_text()) for folder in ("one", "two"))
    losses = [[line["loss"] for line in results["log"] if "loss" in line] for results in (one, two)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert len(losses[0]) == 6
    assert one["tokens_seen"] == two["tokens_seen"]
    assert one["after"]["eval_loss"] == pytest.approx(two["after"]["eval_loss"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(LAUNCH_TIMEOUT_SECONDS + 60)
def test_two_processes_make_a_dry_run(given, tmp_path):
    run_to_its_end([sys.executable, *LAUNCHER, "run_pretraining.py", *given, *QUICK, "--dry_run"], tmp_path / "run")
    assert "It works; nothing was kept." in (tmp_path / "run.log").read_text() and not (tmp_path / "run").exists()


@pytest.mark.parametrize(("name", "learned"), [("bert-tiny", "mlm"), ("roberta-tiny", "shuffle-random")])
def test_stock_shapes_train_by_the_same_script(given, tmp_path, name, learned):
    flags = ["--variant", name, "--objective", learned, "--subword", "train", "--subword_vocab_size", "300"]
    flags += ["--warmup_steps", "0", "--validation_split_percentage", "50", "--max_steps", "12"]
    results = pretrain(tmp_path, *given, *flags)
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"]
    inputs = AutoTokenizer.from_pretrained(tmp_path)("the fox", return_tensors="pt")
    assert AutoModel.from_pretrained(tmp_path)(**inputs).last_hidden_state.shape[2] == 128


def test_masked_lm_trains_its_own_subwords_and_its_loss_falls(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path("runs") / "eelbert-tiny"  # where a run goes that is not told where
    run_pretraining.main(
        [*QUICK, *given, "--variant", "eelbert-tiny", "--subword", "train", "--subword_vocab_size", "300"]
    )
    results = json.loads((folder / "results.json").read_text())
    assert results["after"]["eval_loss"] < results["before"]["eval_loss"]
    assert (folder / "subword.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--max_seq_length", "4096"], "at most 512"),
        (["--objective", "mlm"], "--subword"),
        (["--validation_split_percentage", "0"], "cannot be held out"),
        (["--streaming", "true"], "--validation_corpus"),
        (["--report_to", "dvclive"], "dvclive to be installed.*--report_to"),
        (["--variant", "eelbert-tiny", "--subword", "/no/such/tokenizer.json"], "subword"),
    ],
)
def test_a_mistake_ends_with_one_sentence(given, tmp_path, arguments, sentence, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert re.search(sentence, refused_run(tmp_path / "run", *given, *arguments))


@pytest.mark.parametrize("streaming", [[], ["--streaming", "true"]])
def test_a_dry_run_checks_a_checkpoint_and_leaves_nothing(given, tmp_path, monkeypatch, capsys, streaming):
    checked = []
    monkeypatch.setattr(driver, "loads_without_package", lambda *values: checked.append(values[2]) or True)
    monkeypatch.chdir(tmp_path)
    flags = [*given, "--dry_run", "--validation_corpus", given[-1], *streaming]
    run_pretraining.main([*QUICK, *flags, "--output_dir", str(tmp_path / "run")])
    assert capsys.readouterr().out.endswith("It works; nothing was kept.\n")
    assert len(checked) == 1 and not checked[0].exists() and not list(tmp_path.iterdir())


def test_a_held_out_row_without_text_is_left_out(given, tmp_path):
    held_out = tmp_path / "held_out.jsonl"
    held_out.write_text('{"text": null}\n{"text": "The seven small cats sleep near the old walls."}\n')
    assert "eval_loss" in pretrain(tmp_path / "run", *given, "--validation_corpus", held_out)["after"]
