"""`run_glue.py --teacher` from the files to the card, with tiny teachers."""

import json
import random

import datasets
import huggingface_hub
import numpy as np
import pytest
from datasets import Dataset
from pretraining_runs import assert_same_weights, interrupted_runs
from test_run_glue import results, run
from transformers import AutoModelForTokenClassification, AutoTokenizer

from vocabless import load_config, load_tokenizer
from vocabless.modeling.modeling_vocabless import VocablessForSequenceClassification
from vocabless.training.finetuning.problems import Tagging
from vocabless.training.finetuning.task_files import EncodedExamples, Examples
from vocabless.training.finetuning.task_teacher import TaskTeacher, load_teacher

STUDENT, TEACHER = "eelbert-word-uno", "hashformer-lsh-proj-tiny"
COLOURS = ["red", "blue"]
THINGS = "dog cat house river stone small large old new".split()


def write(file, columns):
    Dataset.from_dict(columns).to_parquet(str(file))
    return file


def coloured(count, seed):
    """Texts with one word of colour, and the colours."""
    chance = random.Random(seed)
    colours = [chance.choice(COLOURS) for _ in range(count)]
    return [" ".join([chance.choice(THINGS), c, c, chance.choice(THINGS)]) for c in colours], colours


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache" / "vocabless-teachers"


@pytest.fixture(scope="module")
def colours(tmp_path_factory):
    """Training and validation files, and a teacher of them that knows every answer."""
    folder = tmp_path_factory.mktemp("colours")
    texts, labels = coloured(96, seed=1)
    train = write(folder / "colours.parquet", {"text": texts, "label": labels})
    texts, labels = coloured(24, seed=2)
    validation = write(folder / "validation.parquet", {"text": texts, "label": labels})
    run("--model_name_or_path", TEACHER, "--train_file", train, "--validation_file", validation, "--learning_rate",
        "3e-3", "--num_train_epochs", "3", "--output_dir", folder / "run")  # fmt: skip
    teacher = folder / "run" / "colours" / "seed-42"
    assert results(teacher)["measures"]["accuracy"] == 1
    return {"train": train, "validation": validation, "teacher": teacher}


@pytest.fixture
def command(colours, tmp_path):
    return ["--model_name_or_path", STUDENT, "--train_file", colours["train"], "--validation_file",
            colours["validation"], "--teacher", colours["teacher"], "--output_dir", tmp_path / "student"]  # fmt: skip


@pytest.fixture
def batches(monkeypatch):
    """The sizes of the batches that teachers have labelled."""
    sizes = []
    label = TaskTeacher._label
    monkeypatch.setattr(
        TaskTeacher, "_label", lambda self, batch: sizes.append(len(batch["text"])) or label(self, batch)
    )
    return sizes


def test_a_student_learns_a_teachers_outputs_alone(colours, command, tmp_path):
    """The labels of the training rows are wrong; the teacher's are right."""
    texts, labels = coloured(96, seed=1)
    wrong = write(tmp_path / "wrong.parquet", {"text": texts, "label": [COLOURS[label == "red"] for label in labels]})
    run(*command, "--train_file", wrong, "--gold_weight", "0", "--learning_rate", "3e-3", "--num_train_epochs", "6",
        "--early_stopping_patience", "0")  # fmt: skip
    assert results(tmp_path / "student" / "wrong" / "seed-42")["measures"]["accuracy"] > 0.9


def test_table_results_and_card_name_the_teacher_without_its_place(colours, command, batches, tmp_path):
    more = tmp_path / "more.txt"
    more.write_text("a red house\n\na blue stone\n")
    run(*command, "--unlabelled", more, "--augment", "2", "--seeds", "2")
    assert sum(batches) == 96 + 2 + 2 * 96 + 24  # once for both seeds
    table = (tmp_path / "student" / "table.md").read_text()
    assert "| mean | interval | rows | constant | teacher |" in " ".join(table.split())
    note = f"learned from seed-42 (vocabless, {results(colours['teacher'])['parameters']:,} parameters), which labelled"
    assert f"colours: {note} 96 training rows, 2 unlabelled rows and 192 corrupted copies." in table
    top, one = results(tmp_path / "student"), results(tmp_path / "student" / "colours" / "seed-43")
    assert top["teacher"]["colours"]["accuracy"] == one["teacher"]["measures"]["accuracy"] == 1
    assert one["teacher"]["rows"] == {"training rows": 96, "unlabelled rows": 2, "corrupted copies": 192}
    assert top["arguments"]["teacher"] == one["arguments"]["teacher"] == one["teacher"]["name"] == "seed-42"
    card = (tmp_path / "student" / "colours" / "seed-43" / "README.md").read_text()
    assert (
        "| measure | this model | 95 % interval | texts | constant baseline | teacher |\n|---|--:|--:|--:|--:|--:|\n"
        in card
    )
    assert "- Teacher: the model learned the outputs of `seed-42 (vocabless, " in card
    assert "parameters)` for 96 training rows, 2 unlabelled rows and 192 corrupted copies\n" in card
    for text in (table, json.dumps(top["teacher"]), json.dumps(one["teacher"]), card):
        assert str(colours["teacher"]) not in text
    # the folder belongs to this teacher and its settings
    with pytest.raises(SystemExit, match="differs in augment"):
        run(*command, "--unlabelled", more, "--augment", "1")


def test_the_cache_of_a_first_command_serves_a_second_one(command, batches, tmp_path):
    run(*command, "--augment", "1")
    labelled = sum(batches)
    run(*command, "--augment", "2", "--gold_weight", "0.1", "--output_dir", tmp_path / "second")
    assert sum(batches) == labelled + 96  # only the second copies are new


def test_an_interrupted_run_ends_with_the_same_weights(command, tmp_path):
    command += ["--augment", "1", "--num_train_epochs", "2", "--early_stopping_patience", "0"]
    run(*command)
    command[command.index("--output_dir") + 1] = tmp_path / "interrupted"
    with interrupted_runs(30):
        run(*command)
    assert list((tmp_path / "interrupted" / "colours" / "seed-42").glob("checkpoint-24"))
    run(*command)
    assert_same_weights(*(tmp_path / name / "colours" / "seed-42" for name in ("student", "interrupted")))


def test_a_stock_teacher_of_pairs_and_numbers_scores_itself(tmp_path):
    columns = {"a": coloured(24, 1)[0], "b": coloured(24, 2)[0], "label": [index / 7 for index in range(24)]}
    data = write(tmp_path / "pairs.parquet", columns)
    run("--model_name_or_path", "bert-tiny", "--tokenizer_name", "train", "--subword_vocab_size", "60", "--train_file",
        data, "--text_column", "a", "--text_pair_column", "b", "--validation_file", data,
        "--max_seq_length", "128", "--learning_rate", "1e-3", "--output_dir", tmp_path / "stock")  # fmt: skip
    teacher = tmp_path / "stock" / "pairs" / "seed-42"
    unlabelled = write(tmp_path / "more.parquet", {"b": ["a red dog"], "a": ["old stone"]})
    run("--model_name_or_path", STUDENT, "--train_file", data, "--text_column", "a", "--text_pair_column", "b",
        "--teacher", tmp_path / "stock" / "{task}" / "seed-42", "--unlabelled", unlabelled, "--augment", "1",
        "--validation_file", data, "--output_dir", tmp_path / "run")  # fmt: skip
    facts = results(tmp_path / "run" / "pairs" / "seed-42")["teacher"]
    own = results(teacher)["measures"]
    assert facts["measures"] == pytest.approx({name: own[name] for name in ("pearson", "spearman")}, abs=1e-3)
    assert facts["description"].startswith("bert, ") and facts["name"] == "seed-42"


def test_several_labels_are_learned_from_their_probabilities(tmp_path):
    texts, labels = coloured(32, 1)
    data = write(tmp_path / "many.parquet", {"text": texts, "labels": [[label, "any"] for label in labels]})
    command = ["--train_file", data, "--validation_file", data]
    run("--model_name_or_path", TEACHER, *command, "--output_dir", tmp_path / "teacher")
    teacher = tmp_path / "teacher" / "many" / "seed-42"
    run("--model_name_or_path", STUDENT, *command, "--teacher", teacher, "--augment", "1", "--gold_weight", "0",
        "--output_dir", tmp_path / "run")  # fmt: skip
    facts = results(tmp_path / "run" / "many" / "seed-42")["teacher"]
    assert facts["measures"]["micro_f1"] == results(teacher)["measures"]["micro_f1"]


def test_tags_are_learned_word_by_word_from_a_teacher_of_subwords(tmp_path):
    chance = random.Random(3)
    words = [[chance.choice([*COLOURS, *THINGS]) for _ in range(chance.randint(1, 20))] for _ in range(60)]
    tags = [["B-colour" if word in COLOURS else "O" for word in row] for row in words]
    data = write(tmp_path / "tags.parquet", {"tokens": words, "ner_tags": tags})
    command = ["--train_file", data, "--validation_file", data]
    command += ["--eval_strategy", "no", "--load_best_model_at_end", "false"]
    run("--model_name_or_path", "bert-tiny", "--tokenizer_name", "train", *command, "--learning_rate",
        "3e-3", "--num_train_epochs", "8", "--max_seq_length", "64", "--output_dir", tmp_path / "teacher")  # fmt: skip
    folder = tmp_path / "teacher" / "tags" / "seed-42"
    own = results(folder)["measures"]["entity_f1"]
    assert own > 0.9
    unlabelled = write(tmp_path / "more.parquet", {"tokens": words[:5]})
    run("--model_name_or_path", STUDENT, *command, "--teacher", folder, "--gold_weight", "0", "--learning_rate", "3e-3",
        "--num_train_epochs", "10", "--augment", "1", "--unlabelled", unlabelled, "--early_stopping_patience", "0",
        "--output_dir", tmp_path / "run")  # fmt: skip
    measures = results(tmp_path / "run" / "tags" / "seed-42")
    assert measures["teacher"]["measures"]["entity_f1"] == own  # with the words of the whole text
    assert measures["measures"]["entity_f1"] > 0.6
    # the teacher's outputs for a text are those of its model at the first token of each word
    model, tokenizer = (c.from_pretrained(folder) for c in (AutoModelForTokenClassification, AutoTokenizer))
    encoded = EncodedExamples(Examples(words[:1], None, tags[:1]), Tagging(["O", "B-colour"]), tokenizer, 64)
    inputs = tokenizer(words[0], is_split_into_words=True, return_tensors="pt")
    logits = model.eval()(**inputs).logits[0][np.array(encoded[0]["labels"]) != -100]
    teacher = load_teacher(str(folder), Tagging(["O", "B-colour"]), model.device, 4, False)
    taught = teacher.logits(words[:1], None, "a row")[0]
    order = [model.config.label2id[name] for name in ("O", "B-colour")]
    np.testing.assert_allclose(taught, logits.detach().numpy()[:, order], atol=1e-5)


@pytest.fixture(scope="module")
def other_teachers(tmp_path_factory):
    """Teachers with heads or labels that do not fit."""
    folder = tmp_path_factory.mktemp("others")
    tokenizer = load_tokenizer(STUDENT)
    for name, labels in {"moods": ["good", "bad"], "three": ["red", "blue", "green"]}.items():
        config = load_config(STUDENT, id2label=dict(enumerate(labels)), num_labels=len(labels))
        VocablessForSequenceClassification(config).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--teacher", "moods"], "'.*moods' knows the labels good, bad, but the task has blue, red; give a teacher"),
        (["--teacher", "three"], "has 3 outputs .red, blue, green., but the task has 2 .blue, red."),
        (["--teacher", "none"], "the teacher '.*none' cannot be loaded"),
        (["--augment", "1"], "--augment needs a model that labels texts; give --teacher"),
        (["--unlabelled", "more.txt"], "--unlabelled needs a model that labels texts"),
        (["--gold_weight", "0.2"], "--gold_weight needs a model"),
        (["--teacher", "moods", "--augment", "-1"], "--augment -1 is out of range; give a number of at least 0"),
        (["--teacher", "moods", "--gold_weight", "1.5"], r"--gold_weight 1\.5 is out of range; give a number"),
        (["--teacher", "moods", "--teacher_temperature", "0"], "is out of range; give a number above 0"),
        (["--teacher", "moods", "--label_smoothing_factor", "0.1"], "does not work with --teacher"),
    ],
)
def test_a_mistake_ends_with_one_sentence(colours, other_teachers, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    if arguments[0] == "--teacher":
        arguments = ["--teacher", other_teachers / arguments[1], *arguments[2:]]
    command = ["--model_name_or_path", STUDENT, "--train_file", colours["train"], "--output_dir", tmp_path / "run"]
    with pytest.raises(SystemExit, match=sentence) as raised:
        run(*command, *arguments)
    assert "\n" not in str(raised.value) and not (tmp_path / "run").exists()


def test_an_unlabelled_file_without_the_tasks_column_is_refused_before_training(command, tmp_path):
    file = write(tmp_path / "other.parquet", {"body": ["a"]})
    with pytest.raises(SystemExit, match=r"no column 'text' in .*; its columns are body"):
        run(*command, "--unlabelled", file)
    assert not (tmp_path / "student").exists()
