"""Runs that are killed and continued give the files and figures of runs that were not, times excepted."""

import gc
import json
import multiprocessing
import os
import random
import sys
import time

import pytest

import run_glue
import run_pretraining
from vocabless.training import run as driver

VARIANT = "hashformer-lsh-proj-tiny"
COMMON = ["--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none", "--max_seq_length", "16"]
PRETRAINING = ["--variant", VARIANT, "--max_steps", "30", "--save_steps", "7", "--logging_steps", "4",
               "--per_device_train_batch_size", "4", *COMMON]  # fmt: skip
STREAMING = ["--streaming", "true", "--gradient_accumulation_steps", "2"]
SCRIPTS = {"pre-training": run_pretraining, "GLUE": run_glue}
WORDS = "red blue green small large old new dog cat house river stone".split()


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """Kind of run → its script, its arguments, and the checkpoint after which it is killed; None is the last one."""
    folder, chance = tmp_path_factory.mktemp("data"), random.Random(0)
    lines = [" ".join(chance.choices(WORDS, k=12)) + "." for _ in range(120)]
    (folder / "text.txt").write_text("\n".join(lines))
    rows = [f"{line},{'dog' in line}" for line in lines]
    (folder / "rows.csv").write_text("\n".join(["text,label", *rows]))
    corpus = ["--corpus", str(folder / "text.txt")]
    glue = ["--model_name_or_path", VARIANT, "--train_file", str(folder / "rows.csv"), "--num_train_epochs", "12",
            "--learning_rate", "3e-3",
            "--early_stopping_patience", "2", "--per_device_train_batch_size", "8", "--do_predict", "--test_file",
            str(folder / "rows.csv"), *COMMON]  # fmt: skip
    return {
        "pre-training": ("pre-training", [*corpus, *PRETRAINING], "checkpoint-14"),
        "streaming": (
            "pre-training",
            [*corpus, "--validation_corpus", str(folder / "text.txt"), *PRETRAINING, *STREAMING],
            "checkpoint-30",
        ),
        "GLUE": ("GLUE", glue, None),
    }


def run(script, arguments, folder):
    sys.stdout = open(os.devnull, "w")
    gc.freeze()  # what the server has imported: each end of a training collects garbage
    driver.loads_without_package = lambda *_: True  # it takes seconds
    SCRIPTS[script].main([*arguments, "--output_dir", str(folder)])


def start(script, arguments, folder):
    """Starts a script in a process of its own, which need not import anything.

    It is a fork of a server that has imported all. A fork of this process, which may have many threads, could crash.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["run_pretraining", "run_glue"])
    process = context.Process(target=run, args=(script, arguments, folder))
    process.start()
    return process


def finish(script, arguments, folder):
    process = start(script, arguments, folder)
    process.join()
    assert process.exitcode == 0


def outcome(folder):
    """File → content, without times. The table of GLUE holds none."""
    files = {str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file()}
    kept = {
        name: file for name, file in files.items() if "checkpoint-" not in name and not file.name.startswith(".lock")
    }
    return {
        name: without_times(json.loads(file.read_text())) if file.suffix == ".json" else file.read_bytes()
        for name, file in kept.items()
        if file.name != "training_args.bin"
    }


def without_times(value):
    if isinstance(value, dict):
        is_time = ("runtime", "per_second")
        return {name: without_times(content) for name, content in value.items() if not name.endswith(is_time)}
    return [*map(without_times, value)] if isinstance(value, list) else value


@pytest.mark.skipif(sys.platform != "linux", reason="needs a fork server")
@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", ["pre-training", "streaming", "GLUE"])
@pytest.mark.quick("pre-training", "GLUE")
def test_a_killed_run_that_is_continued_equals_one_that_was_not_killed(commands, tmp_path, kind):
    script, arguments, last = commands[kind]
    finish(script, arguments, tmp_path / "whole")
    expected, folder = outcome(tmp_path / "whole"), tmp_path / "killed"
    if last is None:  # GLUE removes its checkpoints at the end
        results = expected["rows/seed-42/results.json"]
        last = f"rows/seed-42/checkpoint-{max(line['step'] for line in results['log'])}"
        assert results["epochs"] < 12  # it stopped early, and the weights are those of the best epoch
        scores = [line["eval_accuracy"] for line in results["log"] if "eval_accuracy" in line]
        assert results["measures"]["accuracy"] == max(scores)
    process = start(script, arguments, folder)
    while process.is_alive() and not (folder / last).is_dir():
        time.sleep(0.002)
    process.kill()
    process.join()
    finish(script, arguments, folder)
    finish(script, arguments, folder)  # which changes nothing
    actual = outcome(folder)
    assert actual.keys() == expected.keys()
    assert [name for name in expected if actual[name] != expected[name]] == []
