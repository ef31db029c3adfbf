"""Runs that are killed and continued, with the progress bar shown, give the files and figures of runs that were not.

The mean losses in their logs are of other steps: a checkpoint does not hold the losses since the last log line.
"""

import gc
import json
import multiprocessing
import os
import signal
import socket
import sys
from typing import NamedTuple

import datasets
import pytest
from script_runs import PRETRAINING, VARIANT, coloured, write_corpus, write_csv

import run_glue
import run_pretraining
from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.training import run as driver
from vocabless.training.trainer import ResumableTrainer

WORDY = "eelbert-word-uno"
SAVING = -1  # after the last checkpoint, before a file of the result is written


class Kind(NamedTuple):
    """A run, and what it reads: file → other content, and what is said of that."""

    script: object
    arguments: list
    changes: dict


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def kinds(folder, make_teacher, subwords):
    corpus, held_out = (write_corpus(folder / f"{name}.txt", start) for name, start in (("text", 1), ("held_out", 81)))
    pretraining = [*PRETRAINING, "--corpus", corpus, "--validation_corpus", held_out, "--logging_steps", "4"]
    ours = [*pretraining, "--variant", VARIANT, "--max_steps", "11"]
    both = {
        folder / f"{name}.txt": (b"another text", rf"the text of --{flag} .* with hash .*; give another --output_dir")
        for name, flag in (("text", "corpus"), ("held_out", "validation_corpus"))
    }
    pairs, words = folder / "pairs.csv", folder / "words.csv"
    pairs.write_text("sentence1,sentence2,score\nthe fox,the dog,1\nthe fox,the fox sleeps,4\na cat,walls,0\n")
    words.write_text("text,lang\n" + "".join(f"Wort{number},de\n" for number in range(30)))
    teacher, _ = (make_teacher(folder / f"teacher-{seed}", seed=seed) for seed in (0, 1))
    weights, others = (folder / f"teacher-{seed}" / "model.safetensors" for seed in (0, 1))
    taught = [*pretraining, "--variant", "hashgram-nano", "--teacher", teacher, "--sts_file", str(pairs)]
    from_teacher = {
        weights: (others.read_bytes(), "the teacher .*; give another --output_dir"),
        pairs: (b"sentence1,sentence2,score\nthe fox,the dog,2\n", "the pairs of --sts_file"),
        words: (b"text,lang\nWort,de\n", "the texts of --parallel"),
    }
    rows = [(text, colour == "blue") for text, colour in coloured(60)]
    files = {"train": "colours", "validation": "validation", "test": "test"}
    files = {part: write_csv(folder / f"{name}.csv", rows) for part, name in files.items()}
    turned = write_csv(folder / "turned.csv", [(text, not label) for text, label in rows]).read_bytes()
    changed = {
        file: (turned, rf"{'training' if part == 'train' else part} rows \('60 .*60 with .*; give another --")
        for part, file in files.items()
    }
    tuning = ["--use_cpu", "true", "--max_seq_length", "16", "--per_device_train_batch_size", "8", "--do_predict"]
    tuning += [word for part, file in files.items() for word in (f"--{part}_file", str(file))]
    glue = ["--model_name_or_path", VARIANT, "--num_train_epochs", "12", "--learning_rate", "3e-3",
            "--early_stopping_patience", "2"]  # fmt: skip
    numbered = [(text, text[::-1], row / 7) for row, (text, _) in enumerate(rows)]
    columns = write_csv(folder / "numbers.csv", numbered, ("a", "b", "c"))
    config = load_config(WORDY, num_labels=1, problem_type="regression")
    VocablessForSequenceClassification(config).save_pretrained(folder / "numbers")
    load_tokenizer(WORDY).save_pretrained(folder / "numbers")
    numbers = ["--use_cpu", "true", "--model_name_or_path", WORDY, "--train_file", str(columns), "--validation_file",
               str(columns), "--text_column", "a", "b", "--label_column", "c", "--teacher", str(folder / "numbers"),
               "--augment", "1", "--num_train_epochs", "2", "--early_stopping_patience", "0",
               "--per_device_train_batch_size", "8"]  # fmt: skip
    return {
        "shuffle-random": Kind(run_pretraining, ours, both),
        "streaming": Kind(
            run_pretraining, [*ours, "--streaming", "true", "--gradient_accumulation_steps", "2"], both
        ),
        "mlm": Kind(
            run_pretraining, [*pretraining, "--variant", "eelbert-tiny", "--subword", subwords["wordpiece"]], {}
        ),
        "distill": Kind(run_pretraining, [*taught, "--parallel", str(words)], from_teacher),
        "GLUE": Kind(run_glue, [*glue, *tuning], changed),
        "GLUE with a teacher": Kind(run_glue, numbers, {}),
    }  # fmt: skip


def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def run(script, arguments, cache, killed_at, launcher):
    """Runs a script in a process of its own, which may be killed at a training step or before it saves the model.

    `launcher` are the environment variables that a launcher gives to one of several processes.
    """
    os.environ.update(launcher)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    gc.freeze()  # what the server has imported: each end of a training collects garbage
    datasets.config.HF_DATASETS_CACHE = cache
    driver.loads_without_package = lambda *_: True  # it takes seconds
    step = ResumableTrainer.training_step

    def killed_step(self, *given, **options):
        return kill() if self.state.global_step == killed_at else step(self, *given, **options)

    ResumableTrainer.training_step = killed_step
    if killed_at == SAVING:
        driver._save = kill
    sys.modules[script].main(arguments)


def statuses_of(kind, output, killed_at=None, count=1):
    """Runs a script in forks of a server that has imported all, `count` processes; returns the exit status of each.

    A fork of this process, which may have many threads, could crash.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["run_pretraining", "run_glue"])
    launcher = {}
    if count > 1:
        with socket.create_server(("127.0.0.1", 0)) as free:
            launcher = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
        launcher |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "GLOO_SOCKET_IFNAME": "lo"}
    processes = []
    for rank in range(count):
        own = launcher | {"RANK": str(rank), "LOCAL_RANK": str(rank)} if launcher else {}
        arguments = [*kind.arguments, "--output_dir", str(output)]
        given = (kind.script.__name__, arguments, output.parent / "cache", killed_at, own)
        processes.append(context.Process(target=run, args=given))
        processes[-1].start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def outcome(folder):
    """File → content, without times and the mean losses of log lines."""
    files = {str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file()}
    return {
        name: without_means(json.loads(file.read_text())) if file.suffix == ".json" else file.read_bytes()
        for name, file in files.items()
        if "checkpoint-" not in name and file.name != "training_args.bin" and not file.name.startswith(".lock")
    }


def without_means(value):
    if isinstance(value, dict):
        left_out = ("runtime", "per_second", "seconds")
        names = [name for name in value if not name.endswith(left_out) and name != "loss"]
        return {name: without_means(value[name]) for name in names}
    return [*map(without_means, value)] if isinstance(value, list) else value


def assert_changes_are_refused(kind, output):
    for file, (content, sentence) in kind.changes.items():
        before = file.read_bytes()
        file.write_bytes(content)
        with pytest.raises(SystemExit, match=f"differs in {sentence}"):
            kind.script.main([*kind.arguments, "--output_dir", str(output)])
        file.write_bytes(before)


@pytest.fixture(scope="module")
def outcomes():
    """Kind → the outcome of the run that was not killed."""
    return {}


@pytest.mark.skipif(sys.platform != "linux", reason="needs a fork server")
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("name", "killed_at"),
    [
        *(("shuffle-random", 9), ("shuffle-random", SAVING), ("streaming", 9), ("streaming", SAVING)),
        *(("mlm", SAVING), ("distill", 5), ("GLUE", SAVING), ("GLUE with a teacher", 20)),
    ],
    ids=lambda value: str(value),
)
@pytest.mark.quick("distill-5", "GLUE--1")
def test_a_killed_run_continues_on_its_own_data_alone_and_equals_one_that_was_not_killed(
    kinds, folder, outcomes, name, killed_at, monkeypatch
):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
    kind, killed = kinds[name], folder / f"{name}-{killed_at}"
    if name not in outcomes:
        assert statuses_of(kind, folder / name) == [0]
        outcomes[name] = outcome(folder / name)
    expected = outcomes[name]
    if name == "GLUE":
        results = expected["colours/seed-42/results.json"]
        assert results["epochs"] < 12  # it stopped early, and the weights are those of the best epoch
        scores = [line["eval_accuracy"] for line in results["log"] if "eval_accuracy" in line]
        assert results["measures"]["accuracy"] == max(scores)
    assert statuses_of(kind, killed, killed_at) == [-signal.SIGKILL]
    assert [*killed.rglob("checkpoint-*")] and not [*killed.rglob("results.json")]
    assert_changes_are_refused(kind, killed)
    assert statuses_of(kind, killed) == [0]
    assert_changes_are_refused(kind, killed)
    actual = outcome(killed)
    assert actual.keys() == expected.keys()
    assert [name for name in expected if actual[name] != expected[name]] == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a fork server")
@pytest.mark.parametrize("name", ["shuffle-random", "distill"])
def test_two_processes_that_are_killed_and_continue_end_as_two_that_are_not_killed(kinds, folder, name):
    whole, killed = folder / f"{name}-two", folder / f"{name}-two-killed"
    assert statuses_of(kinds[name], whole, count=2) == [0, 0]
    assert statuses_of(kinds[name], killed, killed_at=5, count=2) == [-signal.SIGKILL] * 2
    assert (killed / "checkpoint-4").is_dir() and not (killed / "results.json").exists()
    assert statuses_of(kinds[name], killed, count=2) == [0, 0]
    expected, actual = outcome(whole), outcome(killed)
    assert actual.keys() == expected.keys() >= {"model.safetensors", "results.json"}
    assert expected["results.json"]["arguments"]["world_size"] == 2
    assert [file for file in expected if actual[file] != expected[file]] == []
