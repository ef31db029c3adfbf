"""run_glue.py: from GLUE or own data to a table, predictions and a checkpoint with its card."""

import csv
import json
import random
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset, load_dataset
from script_runs import THINGS, VARIANT, coloured, fine_tune, predictions_of, read_results
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer, TrainingArguments

from vocabless.training.finetuning.rows.glue import GLUE
from vocabless.training.finetuning.tasks.problems import PROBLEMS, Regression
from vocabless.training.finetuning.trainers import task_trainer
from vocabless.training.finetuning.trainers.teacher import TaskTeacher
from vocabless.training.trainer import ResumableTrainer


def texts(count, seed=0):
    chance = random.Random(seed)
    return [" ".join(chance.choices(THINGS, k=chance.randint(3, 7))) for _ in range(count)]


def run(folder, *flags):
    """Fine-tunes random weights for one epoch, if the flags say nothing else."""
    quick = ["--model_name_or_path", VARIANT, "--num_train_epochs", "1", "--per_device_train_batch_size", "8"]
    return fine_tune(folder, *quick, "--max_seq_length", "16", *flags)


def write(file, columns):
    table = Dataset.from_dict(columns)
    if file.suffix == ".parquet":
        table.to_parquet(str(file))
    else:
        table.to_json(str(file))
    return file


@pytest.fixture(scope="module")
def glue(tmp_path_factory):
    """A tiny data folder of all nine tasks; MNLI also has a file with a name that is not official."""
    folder = tmp_path_factory.mktemp("glue")
    for row in GLUE.values():
        (folder / row.name).mkdir()
        for number, split in enumerate((*row.splits, *row.test_splits)):
            count, chance = 24 if split == "train" else 10, random.Random(number)
            columns = {name: texts(count, seed=number + place) for place, name in enumerate(row.texts)}
            labels = [chance.randrange(len(row.labels)) if row.labels else 5 * chance.random() for _ in range(count)]
            columns["label"] = [-1] * count if split.startswith("test") else labels
            write(folder / row.name / f"{split}.parquet", columns)
    write(folder / "mnli" / "validation_mismatched_partial.parquet", columns)
    return folder


@pytest.fixture(scope="module")
def finished(glue, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "all"
    run(folder, "--task_name", "all", "--data_dir", glue)
    return folder


def test_all_tasks_give_checkpoints_and_a_table_with_three_averages_and_constant_baselines(finished, glue):
    table = (finished / "table.md").read_text()
    assert all(f"| average | {name}" in table for name in ("HashFormers", "EELBERT base", "EELBERT small"))
    assert "MNLI: validation_mismatched has 10 rows, the official one 9,832" in table
    top = read_results(finished)
    assert set(top["runs"]) == set(GLUE)
    labels = load_dataset("parquet", data_files=str(glue / "sst2" / "validation.parquet"), split="train")["label"]
    share = max(np.mean(labels), 1 - np.mean(labels))
    assert top["constant_baselines"]["sst2"]["accuracy"] == pytest.approx(share)
    assert f"{100 * share:.1f}" in table
    assert {"accuracy", "accuracy_mm"} <= set(top["runs"]["mnli"]["42"]["measures"])
    assert [row["metric"] for row in top["table"] if row["task"] == "stsb"] == ["pearson", "spearman"]
    assert {"torch", "evaluate", "scipy", "scikit-learn"} <= set(top["versions"])
    folder = finished / "sst2" / "seed-42"
    assert read_results(folder)["arguments"]["learning_rate"] == 4.4e-4  # chosen for 128 wide
    assert not list(folder.glob("checkpoint-*"))
    model, tokenizer = (auto.from_pretrained(folder) for auto in (AutoModelForSequenceClassification, AutoTokenizer))
    assert model.config.id2label == {0: "negative", 1: "positive"}
    assert model(**tokenizer("a word", return_tensors="pt")).logits.shape == (1, 2)
    assert AutoModel.from_pretrained(folder).config.variant == VARIANT
    assert {"loss", "accuracy"} <= set(read_results(folder)["measures"])


def test_the_same_command_reads_what_is_finished_and_seeds_but_no_processes_may_be_added(finished, glue, monkeypatch):
    started = []
    resume = ResumableTrainer.resume
    monkeypatch.setattr(ResumableTrainer, "resume", lambda self: started.append(self.args.output_dir) or resume(self))
    run(finished, "--data_dir", glue, "--task_name", "all")
    assert started == []
    run(finished, "--data_dir", glue, "--task_name", "rte", "sst2", "--seeds", "2")
    assert [Path(folder).parts[-2:] for folder in started] == [("rte", "seed-43"), ("sst2", "seed-43")]
    assert list(read_results(finished)["runs"]["rte"]) == ["42", "43"]
    monkeypatch.setattr(TrainingArguments, "world_size", 2)
    monkeypatch.setattr(TrainingArguments, "main_process_first", lambda *_, **__: nullcontext())
    with pytest.raises(SystemExit, match=r"differs in world_size \(1 in the folder, 2 now\)"):
        run(finished, "--task_name", "all", "--data_dir", glue)


def test_a_task_is_evaluated_after_its_own_number_of_steps(glue, tmp_path):
    """24 rows in batches of 8 are three steps: RTE is evaluated after two of them, SST-2 after the epoch."""
    run(tmp_path, "--data_dir", glue, "--task_name", "rte", "sst2", "--task_eval_steps", '{"rte": 2}')
    for task, steps in (("rte", 2), ("sst2", 3)):
        log = read_results(tmp_path / task / "seed-42")["log"]
        assert next(line["step"] for line in log if "eval_loss" in line) == steps


@pytest.mark.parametrize(("name", "kind"), [("bert-tiny", "bert"), ("eelbert-tiny", "vocabless")])
def test_subwords_are_trained_and_the_checkpoint_is_fine_tuned_further(name, kind, glue, tmp_path):
    flags = ["--model_name_or_path", name, "--tokenizer_name", "train", "--train_sampling_strategy", "group_by_length"]
    checkpoint, _ = run(tmp_path / "stock", "--task_name", "rte", "--data_dir", glue, *flags)
    assert AutoModel.from_pretrained(checkpoint).config.model_type == kind
    assert AutoTokenizer.from_pretrained(checkpoint).tokenize("house") != []
    if kind == "bert":  # MNLI has three labels and RTE two: the head is created anew
        flags = ["--model_name_or_path", checkpoint, "--do_predict"]
        folder, _ = run(tmp_path / "next", "--task_name", "mnli", "--data_dir", glue, *flags)
        rows = predictions_of(folder)
        assert len(rows) == 10 and set(rows[0]["probabilities"]) == {"entailment", "neutral", "contradiction"}
        assert (folder / "predictions_mm.jsonl").is_file()


class Stars(Regression):
    """A new problem: whole numbers."""

    name = "stars"

    @property
    def config(self):
        return {"num_labels": 1, "problem_type": "regression"}

    def prediction_records(self, logits):
        return ({"stars": round(float(value))} for value in logits.reshape(-1))


def test_a_problem_is_added_by_one_class_and_one_row(tmp_path, monkeypatch):
    monkeypatch.setitem(PROBLEMS, "stars", Stars)
    data = write(tmp_path / "films.parquet", {"text": texts(16), "label": [0, 1, 2, 3] * 4})
    files = ["--train_file", data, "--validation_file", data, "--test_file", data]
    folder, results = run(tmp_path / "stars", *files, "--problem_type", "stars", "--do_predict")
    records = predictions_of(folder)
    assert {"pearson", "spearman"} <= set(results["measures"])
    assert len(records) == 16 and all(isinstance(record["stars"], int) for record in records)


def test_a_file_with_semicolons_in_latin_1_becomes_a_model_whose_card_shows_no_row_of_it(tmp_path, capsys):
    (tmp_path / "beasts" / "all").mkdir(parents=True)
    file = tmp_path / "beasts" / "all" / "train.csv"
    with file.open("w", encoding="latin-1", newline="") as stream:
        rows = [(f"Ein Käfer: {text}", f"{row % 2}") for row, text in enumerate(texts(40))]
        csv.writer(stream, delimiter=";").writerows([("text", "label"), *rows])
    flags, output = ["--train_file", file, "--encoding", "latin-1", "--delimiter", ";"], tmp_path / "run"
    folder, _ = run(output, *flags)
    printed = capsys.readouterr().out
    assert (
        "Data beasts: 36 training rows and 4 validation rows, text in 'text'; single_label_classification with 2 "
        "labels (0 and 1), inferred from the labels; --problem_type changes it.\n"
    ) in printed
    assert "hashformer-lsh-proj-tiny from random weights, " in (output / "table.md").read_text()
    assert folder == output / "beasts" / "seed-42" and f"Model: {folder}\n" in printed
    assert "'loss'" not in printed and len(printed.splitlines()) <= 12
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "# hashformer-lsh-proj-tiny trained from random weights on beasts\n" in card
    assert 'tokenizer("Write a text of your own here.", ' in card and "id2label" in card
    assert not any("Käfer" in file.read_text(encoding="utf-8") for file in folder.glob("*.[jm][sd]*"))
    weights = (folder / "model.safetensors").read_bytes()
    _, results = run(output, *flags, "--example", "Ein Falter.")  # it can be added to a finished run
    assert "Nothing was trained" in capsys.readouterr().out and (folder / "model.safetensors").read_bytes() == weights
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "widget:\n- text: Ein Falter.\n" in card and 'tokenizer("Ein Falter.", ' in card
    assert results["example"] == ["Ein Falter."]


COLOURS = ["red", "blue"]


def test_a_student_learns_a_teachers_outputs_alone_and_the_card_names_it(tmp_path, monkeypatch):
    """The labels of its training rows are wrong; the teacher's, which knows every answer, are right."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    rows = [(text, colour) for text, colour in coloured(180) if colour in COLOURS]
    right, held_out = ({"text": [t for t, _ in part], "label": [c for _, c in part]} for part in (rows[:96], rows[96:]))
    wrong = {**right, "label": [COLOURS[label == "red"] for label in right["label"]]}
    private, public = tmp_path / "private", tmp_path / "public"
    for folder, columns in ((private, right), (public, wrong)):
        folder.mkdir()
        write(folder / "colours.parquet", columns)
    validation = ["--validation_file", write(private / "validation.parquet", held_out)]
    learning = ["--learning_rate", "3e-3", "--num_train_epochs", "3"]
    taught, results = run(private / "run", "--train_file", private / "colours.parquet", *validation, *learning,
                          "--test_file", validation[1], "--do_predict")  # fmt: skip
    assert results["measures"]["accuracy"] == 1
    assert [row["label"] for row in predictions_of(taught)] == held_out["label"]

    monkeypatch.setattr(task_trainer, "GOLD_WEIGHT", 0)
    sizes, compute = [], TaskTeacher._compute
    monkeypatch.setattr(TaskTeacher, "_compute", lambda *a: sizes.append(len(a[1]["text"])) or compute(*a))
    (tmp_path / "more.txt").write_text("a red house\n\na blue stone\n")
    flags = ["--model_name_or_path", "eelbert-word-uno", "--train_file", public / "colours.parquet", *validation]
    flags += ["--teacher", private / "run" / "{task}" / "seed-42", "--unlabelled", tmp_path / "more.txt"]
    flags += ["--augment", "1", *learning, "--seeds", "2", "--per_device_train_batch_size", "16"]
    folder, one = run(tmp_path / "student", *flags)
    assert folder.name == "seed-43" and sum(sizes) == 96 + 2 + 96 + 24  # once for both seeds
    top = read_results(tmp_path / "student")
    assert one["measures"]["accuracy"] > 0.9 and one["teacher"]["measures"]["accuracy"] == 1
    assert top["arguments"]["teacher"] == one["arguments"]["teacher"] == one["teacher"]["name"] == "seed-42"
    table, card = (tmp_path / "student" / "table.md").read_text(), (folder / "README.md").read_text()
    parameters = results["parameters"]
    counts = "96 training rows, 2 unlabelled rows and 96 corrupted copies"
    assert f"learned from seed-42 (vocabless, {parameters:,} parameters), which labelled {counts}." in table
    assert f"the model learned the outputs of `seed-42 (vocabless, {parameters:,} parameters)` for {counts}\n" in card
    assert not any("private" in text for text in (table, json.dumps(top["runs"]), json.dumps(one["teacher"]), card))
    with pytest.raises(SystemExit, match="differs in augment"):  # the folder belongs to these settings
        run(tmp_path / "student", *flags, "--augment", "2")
