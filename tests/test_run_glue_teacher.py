"""`run_glue.py --teacher` from the files to the card, with tiny teachers."""

import json
import random

import datasets
import huggingface_hub
import pytest
from pretraining_runs import assert_same_weights, interrupted_runs
from test_run_glue import results, run, write

from vocabless import load_config, load_tokenizer
from vocabless.modeling.modeling_vocabless import VocablessForSequenceClassification
from vocabless.training.finetuning import teacher
from vocabless.training.finetuning.teacher import TaskTeacher

STUDENT, TEACHER = "eelbert-word-uno", "hashformer-lsh-proj-tiny"
COLOURS = ["red", "blue"]
THINGS = "dog cat house river stone small large old new".split()


def coloured(count, seed):
    """Texts with one word of colour, and the colours."""
    chance = random.Random(seed)
    colours = [chance.choice(COLOURS) for _ in range(count)]
    return [" ".join([chance.choice(THINGS), c, c, chance.choice(THINGS)]) for c in colours], colours


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """The flags of a student, whose teacher knows every answer."""
    folder = tmp_path_factory.mktemp("private")
    for name, count, seed in (("colours", 96, 1), ("validation", 24, 2)):
        write(folder, f"{name}.parquet", dict(zip(("text", "label"), coloured(count, seed), strict=True)))
    data = ["--train_file", folder / "colours.parquet", "--validation_file", folder / "validation.parquet"]
    run("--model_name_or_path", TEACHER, *data, "--learning_rate", "3e-3", "--num_train_epochs", "3", "--output_dir",
        folder / "run")  # fmt: skip
    assert results(folder / "run" / "colours" / "seed-42")["measures"]["accuracy"] == 1
    return ["--model_name_or_path", STUDENT, *data, "--teacher", folder / "run" / "{task}" / "seed-42"]


def test_a_student_learns_a_teachers_outputs_alone_and_the_card_names_it(command, monkeypatch, tmp_path):
    """The labels of the training rows are wrong; the teacher's are right."""
    monkeypatch.setattr(teacher, "GOLD_WEIGHT", 0)
    sizes, compute = [], TaskTeacher._compute
    monkeypatch.setattr(TaskTeacher, "_compute", lambda *a: sizes.append(len(a[1]["text"])) or compute(*a))
    texts, labels = coloured(96, seed=1)
    wrong = {"text": texts, "label": [COLOURS[label == "red"] for label in labels]}
    (tmp_path / "wrong").mkdir()
    (tmp_path / "more.txt").write_text("a red house\n\na blue stone\n")
    flags = ["--train_file", write(tmp_path / "wrong", "colours.parquet", wrong),
             "--unlabelled", tmp_path / "more.txt", "--augment", "2"]  # fmt: skip
    flags += ["--learning_rate", "3e-3", "--num_train_epochs", "3", "--output_dir", tmp_path / "student"]
    run(*command, *flags, "--seeds", "2")
    assert sum(sizes) == 96 + 2 + 2 * 96 + 24  # once for both seeds
    top, one = results(tmp_path / "student"), results(tmp_path / "student" / "colours" / "seed-43")
    assert one["measures"]["accuracy"] > 0.9
    assert one["teacher"]["measures"]["accuracy"] == 1
    assert top["arguments"]["teacher"] == one["arguments"]["teacher"] == one["teacher"]["name"] == "seed-42"
    table = (tmp_path / "student" / "table.md").read_text()
    card = (tmp_path / "student" / "colours" / "seed-43" / "README.md").read_text()
    parameters = results(str(command[-1]).replace("{task}", "colours"))["parameters"]
    rows = "96 training rows, 2 unlabelled rows and 192 corrupted copies"
    assert f"learned from seed-42 (vocabless, {parameters:,} parameters), which labelled {rows}." in table
    assert f"the model learned the outputs of `seed-42 (vocabless, {parameters:,} parameters)` for {rows}\n" in card
    assert not any("private" in text for text in (table, json.dumps(top["runs"]), json.dumps(one["teacher"]), card))
    with pytest.raises(SystemExit, match="differs in augment"):  # the folder belongs to these settings
        run(*command, *flags, "--augment", "1")


def save_teacher(folder, **options):
    VocablessForSequenceClassification(load_config(STUDENT, **options)).save_pretrained(folder)
    load_tokenizer(STUDENT).save_pretrained(folder)
    return folder


def test_an_interrupted_run_on_pairs_and_numbers_ends_with_the_same_weights(tmp_path):
    columns = {"a": coloured(96, 1)[0], "b": coloured(96, 2)[0], "label": [index / 7 for index in range(96)]}
    data = write(tmp_path, "pairs.parquet", columns)
    teacher = save_teacher(tmp_path / "teacher", num_labels=1, problem_type="regression")
    command = ["--model_name_or_path", STUDENT, "--train_file", data, "--validation_file", data, "--text_column", "a",
               "b", "--teacher", teacher, "--augment", "1", "--num_train_epochs", "2",
               "--early_stopping_patience", "0", "--output_dir"]  # fmt: skip
    run(*command, tmp_path / "whole")
    with interrupted_runs(30):
        run(*command, tmp_path / "interrupted")
    assert list((tmp_path / "interrupted" / "pairs" / "seed-42").glob("checkpoint-24"))
    run(*command, tmp_path / "interrupted")
    assert_same_weights(*(tmp_path / name / "pairs" / "seed-42" for name in ("whole", "interrupted")))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--teacher", "moods"], "'.*moods' has the labels good, bad, but the task blue, red; give a teacher"),
        (["--teacher", "none"], "the teacher '.*none' cannot be loaded"),
        (["--augment", "1"], "--augment needs a model that labels texts; give --teacher"),
    ],
)
def test_a_mistake_ends_with_one_sentence(command, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    save_teacher(tmp_path / "moods", id2label={0: "good", 1: "bad"}, num_labels=2)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=sentence) as raised:
        run(*command[:-2], *arguments, "--output_dir", "student")
    assert "\n" not in str(raised.value) and not (tmp_path / "student").exists()
