import json
import random
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset, load_dataset
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer, TrainingArguments

import run_glue
from vocabless.saving.record import GLUE_TITLES
from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.glue import GLUE, GlueTask
from vocabless.training.finetuning.problems import PROBLEMS, Regression
from vocabless.training.finetuning.sources import load_own_data
from vocabless.training.texts.corpora import load_text
from vocabless.training.trainer import ResumableTrainer

MODEL = "hashformer-lsh-proj-tiny"
QUICK = ["--num_train_epochs", "1", "--per_device_train_batch_size", "8", "--max_seq_length", "16",
         "--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none"]  # fmt: skip
WORDS = "red blue green small large old new dog cat house river stone".split()


def sentence(chance):
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(3, 7)))


def texts(count, seed=0):
    chance = random.Random(seed)
    return [sentence(chance) for _ in range(count)]


def run(*arguments):
    run_glue.main([*QUICK, *map(str, arguments)])


def results(folder):
    return json.loads((Path(folder) / "results.json").read_text())


@pytest.fixture(scope="module")
def glue(tmp_path_factory):
    """A tiny data folder of all nine tasks. The file of one split, MNLI mismatched, does not have the standard name."""
    folder = tmp_path_factory.mktemp("glue")
    for row in GLUE.values():
        (folder / row.name).mkdir()
        for number, split in enumerate((*row.splits, *row.test_splits)):
            count, chance = 24 if split == "train" else 10, random.Random(number)
            columns = {name: texts(count, seed=number + place) for place, name in enumerate(row.texts)}
            labels = [chance.randrange(len(row.labels)) if row.labels else 5 * chance.random() for _ in range(count)]
            columns["label"] = [-1] * count if split.startswith("test") else labels
            name = {"validation_mismatched": "validation_mismatched_partial"}.get(split, split)
            Dataset.from_dict(columns).to_parquet(str(folder / row.name / f"{name}.parquet"))
    return folder


@pytest.fixture(scope="module")
def finished(glue, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "all"
    run("--model_name_or_path", MODEL, "--task_name", "all", "--data_dir", glue, "--output_dir", folder)
    return folder


def test_all_tasks_give_a_table_with_three_averages_and_constant_baselines(finished, glue):
    table = (finished / "table.md").read_text()
    assert all(f"| average | {name}" in table for name in ("HashFormers", "EELBERT base", "EELBERT small"))
    assert "validation_mismatched_partial.parquet has 10 rows, the official one 9,832" in table
    top = results(finished)
    assert set(top["scores"]) == set(GLUE)
    labels = load_dataset("parquet", data_files=str(glue / "sst2" / "validation.parquet"), split="train")["label"]
    share = max(np.mean(labels), 1 - np.mean(labels))
    assert top["constant_baselines"]["sst2"]["accuracy"] == pytest.approx(share)
    assert f"{100 * share:.1f}" in table
    assert set(top["scores"]["mnli"]["42"]) == {"accuracy", "accuracy_mm"}
    assert set(top["scores"]["stsb"]["42"]) == {"pearson", "spearman"}
    assert {"torch", "evaluate", "scipy", "scikit-learn"} <= set(top["versions"])
    assert top["arguments"]["learning_rate"] == 4.4e-4  # chosen for 128 wide


def test_a_run_leaves_a_checkpoint_that_every_auto_class_loads(finished):
    folder = finished / "sst2" / "seed-42"
    assert not list(folder.glob("checkpoint-*"))
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    assert model.config.id2label == {0: "negative", 1: "positive"}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert model(**tokenizer("a word", return_tensors="pt")).logits.shape == (1, 2)
    assert AutoModel.from_pretrained(folder).config.variant == MODEL
    assert {"loss", "accuracy"} <= set(results(folder)["measures"])


def test_the_same_command_reads_what_is_finished_and_seeds_may_be_added(finished, glue, monkeypatch):
    started = []
    resume = ResumableTrainer.resume
    monkeypatch.setattr(ResumableTrainer, "resume", lambda self: started.append(self.args.output_dir) or resume(self))
    command = ["--model_name_or_path", MODEL, "--data_dir", glue, "--output_dir", finished]
    run(*command, "--task_name", "all")
    assert started == []
    run(*command, "--task_name", "rte", "sst2", "--seeds", "2")
    assert [Path(folder).parts[-2:] for folder in started] == [("rte", "seed-43"), ("sst2", "seed-43")]
    top = results(finished)
    assert list(top["scores"]["rte"]) == ["42", "43"]


def test_a_task_is_evaluated_after_its_own_number_of_steps(glue, tmp_path):
    """24 rows in batches of 8 are three steps: RTE is evaluated after two of them, SST-2 after the epoch."""
    command = ["--model_name_or_path", MODEL, "--data_dir", glue, "--task_name", "rte", "sst2"]
    run(*command, "--task_eval_steps", '{"rte": 2}', "--output_dir", tmp_path / "run")
    for task, steps in (("rte", 2), ("sst2", 3)):
        log = results(tmp_path / "run" / task / "seed-42")["log"]
        assert next(line["step"] for line in log if "eval_loss" in line) == steps


def test_another_number_of_processes_is_another_run(finished, glue, monkeypatch):
    monkeypatch.setattr(TrainingArguments, "world_size", 2)
    monkeypatch.setattr(TrainingArguments, "main_process_first", lambda *_, **__: nullcontext())
    with pytest.raises(SystemExit, match=r"differs in world_size \(1 in the folder, 2 now\)"):
        run("--model_name_or_path", MODEL, "--task_name", "all", "--data_dir", glue, "--output_dir", finished)


def test_a_stock_shape_trains_its_own_subwords_and_its_checkpoint_is_fine_tuned_further(glue, tmp_path):
    command = ["--task_name", "rte", "--data_dir", glue]
    run(*command, "--model_name_or_path", "bert-tiny", "--tokenizer_name", "train",
        "--output_dir", tmp_path / "stock", "--train_sampling_strategy", "group_by_length")  # fmt: skip
    checkpoint = tmp_path / "stock" / "rte" / "seed-42"
    assert AutoModel.from_pretrained(checkpoint).config.model_type == "bert"
    # MNLI has three labels and RTE two: the head is created anew
    command[1] = "mnli"
    run(*command, "--model_name_or_path", checkpoint, "--output_dir", tmp_path / "next", "--do_predict")
    written = [tmp_path / "next" / "mnli" / "seed-42" / f"predictions{suffix}.jsonl" for suffix in ("", "_mm")]
    rows = [json.loads(line) for line in written[0].read_text().splitlines()]
    assert len(rows) == 10 and set(rows[0]["probabilities"]) == {"entailment", "neutral", "contradiction"}
    assert written[1].is_file()


def test_subword_variants_train_their_own_subwords(glue, tmp_path):
    run("--task_name", "sst2", "--data_dir", glue, "--model_name_or_path", "eelbert-tiny", "--tokenizer_name", "train",
        "--output_dir", tmp_path / "run")  # fmt: skip
    assert AutoTokenizer.from_pretrained(tmp_path / "run" / "sst2" / "seed-42").tokenize("red") != []


def write(folder, name, columns):
    table = Dataset.from_dict(columns)
    file = folder / name
    if file.suffix == ".parquet":
        table.to_parquet(str(file))
    elif file.suffix == ".csv":
        table.to_csv(str(file), index=False)
    else:
        table.to_json(str(file))
    return file


def test_strings_are_a_single_label_and_are_learned(tmp_path):
    chance = random.Random(1)
    colours = [chance.choice(["red", "blue"]) for _ in range(64)]
    data = write(tmp_path, "colours.csv", {"sentence": [f"{c} {c} stone" for c in colours], "label": colours})
    run("--model_name_or_path", MODEL, "--train_file", data, "--validation_file", data, "--test_file", data,
        "--do_predict", "--learning_rate", "3e-3", "--num_train_epochs", "3",
        "--output_dir", tmp_path / "run")  # fmt: skip
    folder = tmp_path / "run" / "colours" / "seed-42"
    assert results(folder)["measures"]["accuracy"] == 1
    rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert [row["label"] for row in rows] == colours
    assert all(sum(row["probabilities"].values()) == pytest.approx(1, abs=1e-4) for row in rows)


def test_numbers_are_a_regression_over_pairs_with_a_held_out_part(tmp_path):
    columns = {"a": texts(30), "b": texts(30, 1), "label": [index / 7 for index in range(30)], "who": [0, 1, 2] * 10}
    data = write(tmp_path, "pairs.parquet", columns)
    run("--model_name_or_path", MODEL, "--train_file", data, "--text_column", "a", "b",
        "--group_column", "who", "--test_file", data, "--do_predict", "--output_dir", tmp_path / "run")  # fmt: skip
    folder = tmp_path / "run" / "pairs" / "seed-42"
    assert {"pearson", "spearman", "test_pearson"} <= set(results(folder)["measures"])
    assert json.loads((folder / "predictions.jsonl").read_text().splitlines()[0]).keys() == {"value"}
    assert "evaluated on 10 rows held out" in (tmp_path / "run" / "table.md").read_text()


def test_lists_are_several_labels(tmp_path):
    codes = [["A01B"], ["A01B", "C07D"], ["C07D", "A01B"], []] * 8
    data = write(tmp_path, "claims.jsonl", {"text": texts(32), "labels": codes})
    run("--model_name_or_path", MODEL, "--train_file", data, "--validation_file", data, "--test_file", data,
        "--do_predict", "--output_dir", tmp_path / "run", "--recipe", "elementwise-patents")  # fmt: skip
    folder = tmp_path / "run" / "claims" / "seed-42"
    assert {"micro_recall", "test_micro_f1"} <= set(results(folder)["measures"])
    row = json.loads((folder / "predictions.jsonl").read_text().splitlines()[0])
    assert row["labels"] == [label for label, value in row["probabilities"].items() if value > 0.3]


def test_a_task_is_added_by_one_row(tmp_path, monkeypatch):
    splits = {"train": 16, "validation": 16}
    row = GlueTask("colours", ("sentence",), ("red", "blue"), metrics=("f1",), best_metric="f1", splits=splits)
    monkeypatch.setitem(GLUE, "colours", row)
    monkeypatch.setitem(GLUE_TITLES, "colours", "Colours")
    (tmp_path / "colours").mkdir()
    for split in splits:
        write(tmp_path / "colours", f"{split}.parquet", {"sentence": texts(16), "label": [0, 1] * 8})
    flags = ["--task_name", "colours", "--data_dir", tmp_path, "--output_dir", tmp_path / "run"]
    run("--model_name_or_path", MODEL, *flags)
    assert set(results(tmp_path / "run")["scores"]["colours"]["42"]) == {"f1"}
    assert "| Colours | f1" in (tmp_path / "run" / "table.md").read_text()


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
    data = write(tmp_path, "films.parquet", {"text": texts(16), "label": [0, 1, 2, 3] * 4})
    run("--model_name_or_path", MODEL, "--train_file", data, "--validation_file", data, "--test_file", data,
        "--problem_type", "stars", "--do_predict", "--output_dir", tmp_path / "run")  # fmt: skip
    folder = tmp_path / "run" / "films" / "seed-42"
    assert {"pearson", "spearman"} <= set(results(folder)["measures"])
    records = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert len(records) == 16 and all(isinstance(record["stars"], int) for record in records)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_words_for_nothing_are_texts_and_labels(tmp_path, kind):
    words = ["NA", "None", "null", "nan", "N/A", "NULL", "x"]
    file = write(tmp_path, f"words.{kind}", {"text": words * 2, "label": words * 2})
    arguments = GlueArguments(model_name_or_path=MODEL, train_file=str(file), validation_file=str(file))
    task = load_own_data(arguments)
    assert task.train.texts == words * 2 == task.train.labels
    assert load_text(str(file))["text"][:] == words * 2
