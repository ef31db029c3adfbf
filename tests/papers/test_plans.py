"""What a table executes: its commands have the papers' hyper-parameters, and each table runs from end to end."""

import json
import random
import shlex
import sys
from pathlib import Path

import pytest
from datasets import Dataset

import run_glue
from papers import __main__ as papers
from papers import comparison
from papers.comparison import FinishedRun
from papers.runs import Command, best_of
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.glue import GLUE
from vocabless.training.pretraining.arguments import PretrainingTrainingArguments
from vocabless.training.pretraining.command_line import parse_command_line
from vocabless.training.script_parser import ScriptParser

WORDS = "red blue green small large old new dog cat house river stone".split()
RATES = ["5e-5", "4e-5", "3e-5", "2e-5"]
HASHFORMERS = [name for name in papers.SCORES if name.startswith("hashformers")]
EELBERT = [name for name in papers.SCORES if name.startswith("eelbert")]
ELEMENTWISE = [name for name in papers.SCORES if name.startswith("elementwise")]


def commands(capsys, table, *argv):
    """The words of each printed command, behind `python`."""
    papers.main([table, "--dry_run", *argv])
    return [shlex.split(line)[1:] for line in capsys.readouterr().out.splitlines() if line]


def pretraining(words):
    assert words[0] == "run_pretraining.py"
    objective = parse_command_line(words[1:], None)
    return objective.arguments, objective, objective.training


def fine_tuning(words):
    assert words[0] == "run_glue.py"
    return ScriptParser((GlueArguments, GlueTrainingArguments)).parse(words[1:], run_glue.OWN_DATA)


def of_script(every, script):
    return [words for words in every if words[0] == script]


@pytest.mark.parametrize("processes", [1, 2, 8])
@pytest.mark.parametrize("name", HASHFORMERS)
def test_hashformers_is_pre_trained_as_in_table_4(name, processes, capsys, monkeypatch):
    monkeypatch.setattr(PretrainingTrainingArguments, "world_size", processes)
    for words in of_script(commands(capsys, name), "run_pretraining.py"):
        arguments, objective, training = pretraining(words)
        batch = training.per_device_train_batch_size * training.gradient_accumulation_steps * processes
        assert (batch, training.max_steps, arguments.max_seq_length) == (128, 500_000, 512)
        assert training.learning_rate == (1e-4 if objective.name == "mlm" else 5e-5)
        assert (training.adam_beta1, training.adam_beta2, training.adam_epsilon) == (0.9, 0.9999, 1e-8)
        assert (training.warmup_steps, training.weight_decay, arguments.dropout) == (10_000, 0.01, 0.1)
        reads_bpe = "roberta" in arguments.variant or "bpe" in arguments.variant  # 4.2: Liu et al.'s vocabulary
        assert arguments.subword == ("FacebookAI/roberta-base" if reads_bpe else None)


@pytest.mark.parametrize("name", HASHFORMERS)
def test_hashformers_is_fine_tuned_as_in_table_5(name, capsys):
    every = of_script(commands(capsys, name), "run_glue.py")
    assert len(every) == len(papers.SCORES[name].rows)
    for words in every:
        arguments, training = fine_tuning(words)
        assert (training.num_train_epochs, training.per_device_train_batch_size, arguments.seeds) == (5, 32, 3)
        assert (training.learning_rate, training.weight_decay, training.adam_epsilon) == (3e-5, 0, 1e-6)
        assert set(arguments.task_name) == set(GLUE) - {"wnli"} and arguments.eval_steps["rte"] == 48


def test_canine_is_the_published_one(capsys):
    """HashFormers, 4.1: "We use the off-the-shelf Canine-C"."""
    (words,) = commands(capsys, "hashformers-1", "--rows", "CANINE-C")
    assert fine_tuning(words)[0].model_name_or_path == "google/canine-c"


@pytest.mark.parametrize("processes", [1, 2, 8])
@pytest.mark.parametrize("name", EELBERT)
def test_eelbert_is_pre_trained_as_in_section_4_1(name, processes, capsys, monkeypatch):
    monkeypatch.setattr(PretrainingTrainingArguments, "world_size", processes)
    for words in of_script(commands(capsys, name), "run_pretraining.py"):
        arguments, objective, training = pretraining(words)
        batch = training.per_device_train_batch_size * training.gradient_accumulation_steps * processes
        assert (batch, training.max_steps, arguments.max_seq_length) == (256, 900_000, 128)
        assert (objective.name, training.learning_rate, training.warmup_steps) == ("mlm", 1e-4, 10_000)
        assert arguments.subword == "google-bert/bert-base-uncased" or arguments.model_name_or_path


@pytest.mark.parametrize("name", EELBERT)
def test_eelbert_is_fine_tuned_as_in_section_4_2(name, capsys):
    """All tasks with five seeds; of Devlin et al. batches of 32, 3 epochs and the best of four rates."""
    every = of_script(commands(capsys, name), "run_glue.py")
    assert len(every) == len(RATES) * len(papers.SCORES[name].rows)
    for number, words in enumerate(every):
        arguments, training = fine_tuning(words)
        assert (training.num_train_epochs, training.per_device_train_batch_size, arguments.seeds) == (3, 32, 5)
        no_task = {"stsb"} if name == "eelbert-2" else set()  # Table 2 does not print it
        assert set(arguments.task_name) == set(GLUE) - no_task
        assert training.learning_rate == float(RATES[number % len(RATES)])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_is_trained_as_in_section_4_2(name, capsys):
    data, *every = commands(capsys, name, "--patents", "a.parquet", "--codes", "cpc.txt")
    assert data[:4] == ["-m", "papers", "patents", "a.parquet"] and "2006-2014" in data and "2015" in data
    for words in every:
        arguments, training = fine_tuning(words)
        assert (training.num_train_epochs, training.per_device_train_batch_size, arguments.threshold) == (10, 32, 0.3)
        assert (training.learning_rate, training.warmup_steps, training.weight_decay) == (2e-5, 0, 0.01)
        model = arguments.model_name_or_path
        # Section 5: CANINE reads 512 and downsamples them to M = 128; 30k subwords, those of each original.
        assert arguments.max_seq_length == (512 if "canine" in model else 128)
        subwords = {"bert-base": "google-bert/bert-base-uncased", "albert-base": "albert/albert-base-v2"}
        assert arguments.tokenizer_name == subwords.get(model)


def test_flags_reach_their_script(capsys):
    flags = ["--subword", "train", "--seeds", "1", "--launcher", "accelerate launch --num_processes 8"]
    pre, tuned = commands(capsys, "hashformers-1", "--rows", "BERT-MLM", *flags, "--pretraining", "--bf16", "true")
    assert pre[:3] == ["launch", "--num_processes", "8"] and pre[-2:] == ["--bf16", "true"]
    assert pre[pre.index("--subword") :][:4] == ["--subword", "train", "--subword_vocab_size", "50265"]
    assert "--bf16" not in tuned and tuned[-2:] == ["--seeds", "1"] and "launch" not in tuned


def test_a_vocabulary_that_is_trained_is_that_of_the_first_row(capsys):
    every = commands(capsys, "eelbert-4", "--rows", "hash", "--size", "tiny", "--max_steps", "20")
    assert [words[0] for words in every] == ["run_pretraining.py", "-m", "run_pretraining.py", "run_glue.py"]
    assert every[1][2:4] == ["hash-init", "bert-base"] and every[1][-2:] == ["--size", "tiny"]
    assert "runs/papers/pre-trained/bert-base-tiny-mlm/subword.json" in every[1]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["eelbert-1", "--rows", "BERT"], "EELBERT, Table 1 has no row BERT; its rows are BERT-base, EELBERT-base"),
        (["elementwise-4"], "is fine-tuned on patents; give --patents FILE"),
    ],
)
def test_a_table_that_cannot_be_made_is_refused(flags, message):
    with pytest.raises(SystemExit, match=message):
        papers.main(flags)


def finished(rate, **scores):
    """A command with two seeds for each task."""
    runs = {task: {seed: {"rate": rate} for seed in ("42", "43")} for task in scores}
    values = {
        task: {seed: {"accuracy": score} for seed, score in (("42", score), ("43", 0))}
        for task, score in scores.items()
    }
    constants = {task: {"accuracy": 0.5} for task in scores}
    return FinishedRun({"scores": values, "runs": runs, "constant_baselines": constants}, None, rate)


def test_each_task_takes_its_best_learning_rate():
    best = best_of([finished("5e-5", sst2=0.8, rte=0.6), finished("2e-5", sst2=0.7, rte=0.9)], "median").content
    assert {task: runs["42"]["rate"] for task, runs in best["runs"].items()} == {"sst2": "5e-5", "rte": "2e-5"}
    assert best["scores"]["rte"]["42"]["accuracy"] == 0.9


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of two GLUE tasks, a corpus and patents, and the runs that the tables share. Times are of few texts."""
    folder, chance = tmp_path_factory.mktemp("papers"), random.Random(0)
    texts = [" ".join(chance.choices(WORDS, k=8)) + "." for _ in range(200)]
    for task, columns in (("sst2", ["sentence"]), ("rte", ["sentence1", "sentence2"])):
        (folder / task).mkdir()
        for split, count in (("train", 24), ("validation", 10)):
            rows = {column: texts[:count] for column in columns} | {"label": [row % 2 for row in range(count)]}
            Dataset.from_dict(rows).to_parquet(str(folder / task / f"{split}.parquet"))
    (folder / "corpus.txt").write_text("\n".join(texts))
    codes = [["A01B 1/00", "G06Q 1/00"], ["G06Q 1/00"]]
    rows = [
        {"claims": [text], "cpc_codes": codes[row % 2], "date": 20140101 + 10_000 * (row % 3 > 0) + 600 * (row % 3 > 1)}
        for row, text in enumerate(texts[:36])
    ]
    (folder / "patents.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(comparison, "SENTENCES", 4)
        patched.setattr(comparison, "ROUNDS", 1)
        yield folder


def cells_of(shown, title):
    """Row → title of a column → the paper's cell and ours, of the table under its title."""
    text = shown[shown.rindex(title) :]
    header, _, *lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    pairs = zip(lines[::2], lines[1::2], strict=False)  # the last line, of the constants, has no pair
    return {paper[0]: dict(zip(header, zip(paper, ours, strict=True), strict=True)) for paper, ours in pairs}


def score_flags(name, data):
    flags = [name, "--size", "uno", "--max_steps", "2", "--corpus", str(data / "corpus.txt"), "--use_cpu", "true"]
    is_patents = papers.SCORES[name].is_patents
    flags += ["--patents", str(data / "patents.jsonl")] if is_patents else ["--task_name", "sst2", "rte"]
    flags += ["--data_dir", str(data), "--output_dir", str(data / "runs"), "--num_train_epochs", "1"]
    flags += ["--learning_rates", "1e-3", "1e-4"] if name == "eelbert-2" else []
    return [*flags, "--max_seq_length", "16", "--pretraining", "--per_device_train_batch_size", "4"]


PRINTED = {  # a row, a column, the paper's figure
    "hashformers-1": ("MD Pool", "SD of Avg.", "0.2"), "hashformers-2": ("MD Pool", "PCR emb.", "97.9"),
    "hashformers-6": ("LSH Proj, subword", "Avg.", "78.3"), "eelbert-1": ("EELBERT-base", "Exported (MB)", "344.00"),
    "eelbert-2": ("UNO-EELBERT", "Exported (MB)", "1.24"), "eelbert-3": ("BERT-base, random", "GLUE score", "75.7"),
    "eelbert-4": ("hash", "GLUE score", "78.0"), "elementwise-3": ("CANINE, elementwise", "speed-up", "1.4"),
    "elementwise-4": ("Gradient", "A F1", "64.1"), "elementwise-5": ("none ablated", "B recall", "61.5"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", papers.SCORES)
def test_every_table_of_scores_is_made_by_one_command(name, data, capsys):
    papers.main(score_flags(name, data))
    shown, table = capsys.readouterr().out, papers.SCORES[name]
    cells = cells_of(shown, f"{table.title}:")
    assert list(cells) == [row.label for row in table.rows]
    row, column, figure = PRINTED[name]
    assert cells[row][column][0] == figure
    figures = [ours for own in cells.values() for _, ours in own.values()]
    assert sum(each != "–" for each in figures) >= 4 * len(table.rows)  # two of them are "ours" and the label
    assert "the models are uno at most" in shown
    assert ("pre-training has 2 steps" in shown) == any(each.objective for each in table.rows)


@pytest.mark.slow
def test_a_table_is_printed_again_without_training(data, capsys):
    papers.main(score_flags("eelbert-3", data))
    shown = capsys.readouterr().out
    scores = json.loads((data / "runs" / "fine-tuned" / "eelbert-random-mini-uno-mlm" / "results.json").read_text())
    own = cells_of(shown, "EELBERT, Table 3:")["BERT-mini, random"]
    assert own["SST-2"] == ("82.3", f"{100 * scores['scores']['sst2']['42']['accuracy']:.1f}")
    papers.main(score_flags("eelbert-3", data))
    again = capsys.readouterr().out
    assert "is finished" in again
    assert cells_of(again, "EELBERT, Table 3:") == cells_of(shown, "EELBERT, Table 3:")


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "is_good"), [("1", True), ("one", False)])
def test_a_launcher_starts_pre_training(steps, is_good, data, tmp_path, capfd):
    flags = ["--variant", "eelbert-word-uno", "--corpus", str(data / "corpus.txt"), "--max_steps", steps]
    words = ["run_pretraining.py", *flags, "--use_cpu", "true", "--output_dir", str(tmp_path / "run")]
    command = Command(words, tmp_path / "run", shlex.quote(sys.executable))
    if is_good:
        command.run()
        assert Path(tmp_path / "run" / "results.json").is_file()
    else:
        with pytest.raises(ValueError, match=r"run_pretraining.py .* failed; its message is above"):
            command.run()
        assert "invalid int value: 'one'" in capfd.readouterr().err


@pytest.mark.slow
def test_times_are_measured_anew_and_remembered(data, capsys):
    options = ["--corpus", str(data / "corpus.txt"), "--rounds", "1"]
    papers.main(["hashformers-3", "--size", "uno", "--length", "16", "--batch", "2", *options])
    own = cells_of(capsys.readouterr().out, "HashFormers, Table 3")["Pool"]
    assert own["PT ms"][0] == "12.0" and float(own["hashed anew ms"][1]) > 0
    papers.main(["eelbert-5", "--size", "tiny", *options])
    own = cells_of(capsys.readouterr().out, "EELBERT, Table 5")["EELBERT-tiny"]
    assert own["MB"][0] == "2.04" and float(own["MB"][1]) == pytest.approx(1.92, abs=0.01)
