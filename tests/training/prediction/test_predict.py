"""vocabless predict: a file of rows gets the answers of a saved model, a chunk after the other."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import weakref
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pandas as pd
import pytest
import torch
from refusals import refusal
from script_runs import write_csv

import run_glue
from vocabless import VocablessClassifier, VocablessForSequenceClassification, VocablessRegressor
from vocabless.public_names import model_of_run
from vocabless.training.prediction import predict
from vocabless.training.prediction.row_files import output_format, row_writer

TEXTS = [f"{colour} {thing}" for colour in ("red", "blue") for thing in "house river stone cat dog tree hill".split()]
LABELS = ["warm"] * 7 + ["cold"] * 7
PAIRS = [*zip(TEXTS, LABELS, strict=True)]
NEW = ["red hill", "a blue road", "blue, red and green", "red " * 40, "red\ncat"]


@pytest.fixture(scope="module")
def model(encoder, tmp_path_factory):
    """The folder of a classifier."""
    folder = tmp_path_factory.mktemp("classifier")
    VocablessClassifier(encoder).fit(TEXTS, LABELS).save_pretrained(folder)
    return folder


def run(*words: object) -> None:
    predict.main([*map(str, words)])


def rows_of(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_test_file_alone_is_predicted_and_scored_by_finetune(model, tmp_path, capsys):
    write_csv(tmp_path / "new.csv", [("red hill", "warm"), ("a blue road", "warm")], ("body", "label"))
    run(model, tmp_path / "new.csv", "--text_column", "body")
    expected = capsys.readouterr()
    assert "Accuracy" in expected.err and "body,label," in expected.out
    files = ["--test_file", str(tmp_path / "new.csv"), "--text_column", "body"]
    run_glue.main(["--model_name_or_path", str(model), *files])
    assert capsys.readouterr() == expected


@pytest.mark.parametrize("kind", ["one label", "several labels", "numbers"])
def test_the_answers_are_those_of_the_estimator(kind, encoder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(predict, "CHUNK", 2)
    if kind == "numbers":
        estimator = VocablessRegressor(encoder).fit(TEXTS, np.arange(14.0))
    else:
        marks = pd.DataFrame({"warm": [1] * 7 + [0] * 7, "still": [1, 0] * 7, "wet": [0, 1] * 7})
        estimator = VocablessClassifier(encoder).fit(TEXTS, LABELS if kind == "one label" else marks)
    estimator.save_pretrained(tmp_path / "model")
    pd.DataFrame({"text": NEW, "number": range(5)}).to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    run(tmp_path / "model", tmp_path / "new.csv", "--output", tmp_path / "out.jsonl", "--probabilities")
    rows = rows_of(tmp_path / "out.jsonl")
    assert [(row["text"], row["number"]) for row in rows] == [(text, str(i)) for i, text in enumerate(NEW)]
    if kind == "numbers":
        assert [row["value"] for row in rows] == pytest.approx(estimator.predict(NEW).tolist(), abs=1e-5)
        return
    names, given, expected = estimator.classes_.tolist(), estimator.predict(NEW), estimator.predict_proba(NEW)
    found = np.array([[row[f"probability_{name}"] for name in names] for row in rows])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    if kind == "one label":
        assert [row["label"] for row in rows] == given.tolist()
        assert [row["probability"] for row in rows] == found.max(1).tolist()
    else:
        assert [row["label"] for row in rows] == [[names[i] for i in np.flatnonzero(marked)] for marked in given]
        assert [row["probability"] for row in rows] == [found[i][given[i] == 1].tolist() for i in range(5)]
    assert capsys.readouterr().err == ""


def test_labels_of_the_file_stay_and_are_scored_and_a_row_without_a_text_stays_with_an_empty_label(
    model, tmp_path, capsys
):
    rows = [("red cat", "warm"), ("", "warm"), ("blue hill", "warm"), ("blue dog", "lukewarm"), ("blue cat", "")]
    pd.DataFrame(rows, columns=["Text ", "label"]).to_csv(tmp_path / "new.csv", index=False, sep=";")
    run(model, tmp_path / "new.csv", "--delimiter", ";")
    printed = capsys.readouterr()
    table = [*csv.reader(io.StringIO(printed.out))]
    assert table[0] == ["Text ", "label", "predicted_label", "predicted_probability"]
    assert [tuple(row[:2]) for row in table[1:]] == rows
    assert [row[2] for row in table[1:]] == ["warm", "", "cold", "cold", "cold"] and table[2][3] == ""
    assert printed.err == (
        "Rows without a text, which get no label: 1.\n"
        "Accuracy 33.3, of 3 rows with labels; 1 have labels that the model lacks, such as 'lukewarm'.\n"
    )


def test_rows_are_written_before_all_are_read_and_few_are_in_memory(model, tmp_path, monkeypatch):
    class Row(dict):
        __hash__ = object.__hash__

    alive, counts = weakref.WeakSet(), []

    def rows(*_):
        for number in range(200):
            alive.add(row := Row(text=f"red cat {number}"))
            counts.append(len(alive))
            yield row

    monkeypatch.setattr(predict, "CHUNK", 10)
    monkeypatch.setattr(predict, "read_rows", lambda *_: rows())
    run(model, "endless", "--output", tmp_path / "out.jsonl")
    assert len(rows_of(tmp_path / "out.jsonl")) == 200 and max(counts) <= 3 * 10 + 1


def test_a_run_says_little_and_its_folder_and_columns_are_those_of_predict(tune, tmp_path, capsys):
    rows = [(f"{text} {row}", label) for row in range(4) for text, label in PAIRS]
    write_csv(tmp_path / "mine.csv", rows, ("message", "kind"))
    tune(tmp_path / "run", "--train_file", tmp_path / "mine.csv", "--num_train_epochs", "0")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 12 and "Learning rate" not in "".join(lines)
    assert lines[-1] == f"Next: vocabless predict {tmp_path}/run ROWS, or vocabless space {tmp_path}/run page/"
    assert any(re.match(r"mine, seed 42: accuracy \d+\.\d \(constant 50\.0\)", line) for line in lines)
    (tmp_path / "new.csv").write_text("who,message\nme,red cat\n")
    run(tmp_path / "run", tmp_path / "new.csv")
    assert capsys.readouterr().out.splitlines()[1].startswith("me,red cat,warm,")
    run(tmp_path / "run", tmp_path / "mine.csv")  # whose column of labels no name tells
    assert capsys.readouterr().err == "Accuracy 100.0, of 56 rows with labels.\n"


def test_several_columns_of_labels_are_scored_as_in_training(tune, tmp_path, capsys):
    rows = [(f"{text} {row}", label == "warm", label == "cold") for row in range(4) for text, label in PAIRS]
    pd.DataFrame(rows, columns=["text", "warm", "cold"]).astype({"warm": int, "cold": int}).to_csv(
        tmp_path / "mine.csv", index=False
    )
    words = ["--train_file", tmp_path / "mine.csv", "--label_column", "warm", "cold", "--num_train_epochs", "0"]
    tune(tmp_path / "run", *words)
    capsys.readouterr()
    run(tmp_path / "run", tmp_path / "mine.csv")
    assert capsys.readouterr().err == "Micro F1 100.0, of 56 rows with labels.\n"


def test_small_numbers_keep_their_digits(encoder, tmp_path, capsys):
    regressor = VocablessRegressor(encoder).fit(TEXTS, np.arange(14) * 1e-7)
    regressor.save_pretrained(tmp_path / "model")
    (tmp_path / "new.csv").write_text("text\nred cat\n")
    run(tmp_path / "model", tmp_path / "new.csv", "--format", "jsonl")
    assert json.loads(capsys.readouterr().out)["value"] == pytest.approx(regressor.predict(["red cat"])[0], rel=1e-5)


def test_csv_keeps_each_character_of_a_cell(tmp_path):
    texts = ["a\rb", "a\nb", "a\r\nb", 'a,"b"', " a "]
    with row_writer(str(tmp_path / "out.csv"), "csv", ["text", "number"]) as write:
        write([{"text": text, "number": 1} for text in texts])
    with (tmp_path / "out.csv").open(newline="") as file:
        assert [*csv.reader(file)] == [["text", "number"], *([text, "1"] for text in texts)]
    assert (tmp_path / "out.csv").read_bytes().startswith(b"text,number\n")


def test_pairs_are_read_from_the_columns_of_the_training(random_checkpoint, tmp_path):
    folder = tmp_path / "runs" / "pairs" / "pairs" / "seed-42"
    shutil.copytree(random_checkpoint("hashgram-nano", "VocablessForSequenceClassification", num_labels=3), folder)
    record = {"is_pair": True, "text_columns": ["one", "two"]}
    (folder / "results.json").write_text(json.dumps(record))
    rows = [{"two": "a dog", "data": {"id": 7}, "one": "a cat", "text": "no"}, {"one": "alone", "two": None}]
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name in ("out.jsonl", "out.tsv"):
        run(tmp_path / "runs" / "pairs", tmp_path / "new.jsonl", "--output", tmp_path / name)
    first, last = rows_of(tmp_path / "out.jsonl")
    assert first["data"] == {"id": 7} and last == rows[1] | {"label": None, "probability": None}
    header, *table = csv.reader((tmp_path / "out.tsv").open(), delimiter="\t")
    assert header == ["two", "data.id", "one", "text", "label", "probability"] and table[0][1] == "7"
    model, tokenizer = VocablessForSequenceClassification.from_pretrained(folder).eval(), predict._TorchClassifier
    with torch.no_grad():
        blocks = tokenizer(str(folder))._tokenizer("a cat", "a dog", return_tensors="pt")
        assert first["probability"] == pytest.approx(float(model(**blocks).logits.softmax(-1).max()), abs=1e-5)
    assert "2 texts" in refusal(run_refused, folder, tmp_path / "new.jsonl", "--text_column", "text")


def run_refused(words: list[str]) -> None:
    predict.main(words)


@pytest.fixture(scope="module")
def with_graph(random_checkpoint, convert, tmp_path_factory):
    """The folder of another classifier, with its graph."""
    pytest.importorskip("onnxruntime")
    source = random_checkpoint("ewe-bert-word-tiny", "VocablessForSequenceClassification", num_labels=3)
    folder = shutil.copytree(source, tmp_path_factory.mktemp("graph") / "model")
    convert(["onnx", str(folder), str(folder / "onnx")])
    return folder


def test_lines_of_standard_input_are_read(with_graph, monkeypatch, capsys):
    lines = io.BufferedReader(io.BytesIO("a red cat, Zoë\n\nblue, green\n".encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(lines))
    predict.main([str(with_graph), "-", "--lines", "--format", "jsonl"])
    printed = capsys.readouterr()
    assert [json.loads(row)["text"] for row in printed.out.splitlines()] == ["a red cat, Zoë", "", "blue, green"]
    assert printed.err.endswith("Rows without a text, which get no label: 1.\n")


@pytest.mark.slow  # imports all of transformers; test_registration.py has other ways
def test_standard_input_is_read_by_a_process_that_says_no_more_than_it_must(model):
    """In this process our classes are registered in the middle of an import; `test_registration.py` has other ways."""
    code = """
import sys
from vocabless.__main__ import main
from transformers import pipeline
from transformers import AutoModelForSequenceClassification
main(["predict", sys.argv[1], "-", "--lines", "--format", "jsonl"])
print(type(AutoModelForSequenceClassification.from_pretrained(sys.argv[1])).__module__)
"""
    lines, command = "a red cat, Zoë\n\nblue, green\n", [sys.executable, "-c", code, str(model)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    *rows, module = done.stdout.splitlines()
    assert [json.loads(row)["text"] for row in rows] == ["a red cat, Zoë", "", "blue, green"]
    assert module == VocablessForSequenceClassification.__module__ == "vocabless.modeling.modeling_vocabless"
    assert done.stderr == "Rows without a text, which get no label: 1.\n"


def test_a_reader_that_has_enough_ends_the_command_quietly(with_graph):
    command = [sys.executable, "-m", "vocabless", "predict", str(with_graph), "-"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as closed:
        closed.stdout.close()
        told = closed.communicate(b"text\n" + b"red cat\n" * 9000)[1]
    assert (closed.returncode, told) == (0, b"")


def test_a_graph_in_the_folder_is_read_without_torch(with_graph, tmp_path):
    (tmp_path / "new.csv").write_text("text,label\nred cat,LABEL_1\nblue house and hill,LABEL_0\n")
    folder = shutil.copytree(with_graph, tmp_path / "model", ignore=shutil.ignore_patterns("onnx"))
    run(folder, tmp_path / "new.csv", "--output", tmp_path / "torch.csv")
    code = "import sys; from vocabless.__main__ import main; main(sys.argv[1:]); "
    code += "print(*{'torch', 'transformers', 'datasets', 'sklearn', 'pandas'} & {*sys.modules})"
    words = ["predict", with_graph, tmp_path / "new.csv", "--output", tmp_path / "onnx.csv"]
    printed = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=True)
    assert printed.stdout == "\n" and printed.stderr.startswith("Accuracy ")
    both = [pd.read_csv(tmp_path / f"{name}.csv") for name in ("torch", "onnx")]
    pd.testing.assert_frame_equal(*both, atol=1e-4)
    shutil.copytree(with_graph / "onnx", folder / "onnx")
    model = VocablessForSequenceClassification.from_pretrained(folder)
    next(model.parameters()).data += 1
    model.save_pretrained(folder)
    told = refusal(run_refused, folder, tmp_path / "new.csv", "--output", tmp_path / "late.csv")
    assert "the graph in" in told and "is of older weights; remove it, or export it again" in told


def test_a_model_of_the_hub_is_read(model, hub, tmp_path):
    from hub_stand_in import Repository

    repository = hub.repositories["you/mine"] = Repository()
    repository.commits[repository.head] |= {file.name: file.read_bytes() for file in model.iterdir() if file.is_file()}
    (tmp_path / "new.txt").write_text("red cat\nblue hill\n")
    run("you/mine", tmp_path / "new.txt", "--output", tmp_path / "out.jsonl")
    assert [row["label"] for row in rows_of(tmp_path / "out.jsonl")] == ["warm", "cold"]


@pytest.mark.parametrize(("content", "words", "sentence"), [
    ("text\n", "", "'new.csv' has no rows; give some"),
    ("message,who\nred,me\n", "", "'new.csv' has no column text or sentence; its columns are message, who: give one"),
    ("message,who\nred,me\n", "--text_column who --label_column kind", "'new.csv' has no column kind; its columns"),
    ("text,x,x\nred,1,2\n", "", "has the column 'x' twice; give each column its own name"),
    ('{"text": 5}\n', "", "the column text has 5, which is no text; name another by --text_column"),
    ('{"text": "a"}\n' * 3 + '{"text": "b", "more": 1}', "", "a row has the column 'more', which the first rows lack"),
    ('{"text": "a"}\n' * 3 + '{"text": "b", "label": 1}', "--output o.jsonl", "a row has the column 'label', which"),
    ("text\nred\n", "--output out.xlsx", "--output 'out.xlsx' names no format; call it .csv, .tsv or .jsonl"),
    ("text\nred\n", "--output new.csv", "--output 'new.csv' exists; give another name"),
    ("text\nred\n", "--output no/out.csv", "the folder of --output 'no/out.csv' does not exist; create it"),
    ("text\nred\n", "--encoding utf-9", "--encoding 'utf-9' is unknown"),
    (b"text\nr\xe9d\n", "", "the file 'new.csv' is not utf-8"),
])  # fmt: skip
def test_a_mistake_is_named_and_leaves_no_file(content, words, sentence, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(predict, "CHUNK", 3)
    Path("new.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    words = words.split() or ["--output", "out.csv"]
    assert sentence in refusal(run_refused, model, "new.csv", *words)
    assert [file.name for file in tmp_path.iterdir()] == ["new.csv"]


@pytest.mark.parametrize(("name", "sentence"), [
    ("mine", "the model 'mine' does not exist; give a folder, or a Hub id"),
    ("runs/mine", "the model 'runs/mine' does not exist"),
    ("several", "'several' has 2 models; give one of several/a/seed-42, several/a/seed-43"),
])  # fmt: skip
def test_a_model_that_does_not_exist_is_named_at_once(name, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in (42, 43):
        (tmp_path / "several" / "a" / f"seed-{seed}").mkdir(parents=True)
        (tmp_path / "several" / "a" / f"seed-{seed}" / "config.json").write_text("{}")
    Path("new.csv").write_text("text\nred\n")
    assert sentence in refusal(run_refused, name, "new.csv")


def test_the_only_model_of_a_run_is_found_from_each_of_its_folders(tmp_path):
    folder = tmp_path / "run" / "tickets" / "seed-42"
    folder.mkdir(parents=True)
    assert model_of_run(str(tmp_path)) == str(tmp_path) and model_of_run("you/mine") == "you/mine"
    (folder / "config.json").write_text("{}")
    assert {model_of_run(str(place)) for place in (folder, folder.parent, tmp_path / "run")} == {str(folder)}


def test_the_format_goes_by_the_name_and_a_file_has_its_name_only_when_it_is_whole(tmp_path):
    assert [output_format(*names) for names in ((None, None), ("a.TSV", None), ("a.txt", "jsonl"))] == [
        "csv",
        "tsv",
        "jsonl",
    ]
    with pytest.raises(KeyError), row_writer(str(tmp_path / "out.csv"), "csv", ["a"]) as write:
        write([{"a": ["é", None]}])
        raise KeyError
    assert not [*tmp_path.iterdir()]
