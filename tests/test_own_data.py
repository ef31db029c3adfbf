"""A newcomer's own csv file, from the command line to the card; a corpus that is not there."""

import csv
import json
import random

import pytest
from pretraining_runs import interrupted_runs
from test_run_glue import QUICK, WORDS

import run_glue
import run_pretraining


def test_a_file_with_semicolons_in_latin_1_becomes_a_model_whose_card_shows_no_row_of_it(tmp_path, capsys):
    chance = random.Random(0)
    (tmp_path / "beasts" / "all").mkdir(parents=True)
    file = tmp_path / "beasts" / "all" / "train.csv"
    with file.open("w", encoding="latin-1", newline="") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow(["text", "label"])
        writer.writerows([f"Ein Käfer: {' '.join(chance.choices(WORDS, k=4))}", f"{row % 2}"] for row in range(40))
    command = ["--model_name_or_path", "hashformer-lsh-proj-tiny", "--train_file", str(file)]
    output = ["--output_dir", str(tmp_path / "run")]
    run_glue.main([*command, "--encoding", "latin-1", "--delimiter", ";", *QUICK, *output])
    printed = capsys.readouterr().out
    assert (
        "Data beasts: 36 training rows and 4 validation rows, text in 'text'; single_label_classification with 2 "
        "labels (0, 1), inferred from the labels; --problem_type changes it.\n"
    ) in printed
    assert "hashformer-lsh-proj-tiny from random weights, " in (tmp_path / "run" / "table.md").read_text()
    folder = tmp_path / "run" / "beasts" / "seed-42"
    assert f"Models with their cards:\n  {folder}\n" in printed
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "# hashformer-lsh-proj-tiny trained from random weights on beasts\n" in card
    assert 'tokenizer("Write a text of your own here.", ' in card and "id2label" in card
    assert not any("Käfer" in file.read_text(encoding="utf-8") for file in folder.glob("*.[jm][sd]*"))
    weights = (folder / "model.safetensors").read_bytes()
    # An example can be added to a finished run.
    run_glue.main([*command, "--encoding", "latin-1", "--delimiter", ";", *QUICK, *output, "--example", "Ein Falter."])
    assert "Nothing was trained" in capsys.readouterr().out and (folder / "model.safetensors").read_bytes() == weights
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "widget:\n- text: Ein Falter.\n" in card and 'tokenizer("Ein Falter.", ' in card
    assert json.loads((folder / "results.json").read_text())["example"] == ["Ein Falter."]
    with pytest.raises(SystemExit, match=r"run_glue.py: the file .* is not utf-8"):
        run_glue.main([*command, *QUICK, *output])


def test_a_run_whose_data_changed_is_neither_continued_nor_printed(tmp_path, capsys):
    chance = random.Random(0)
    rows = [(" ".join(chance.choices(WORDS, k=4)), row % 2) for row in range(40)]
    files = {part: tmp_path / f"{part}.csv" for part in ("train", "validation", "test")}

    def write(part, rows):
        files[part].write_text("\n".join(["text,label", *(f"{text},{label}" for text, label in rows)]))

    command = ["--model_name_or_path", "hashformer-lsh-proj-tiny", *QUICK, "--num_train_epochs", "2", "--do_predict"]
    command += [word for part in files for word in (f"--{part}_file", str(files[part]))]
    command += ["--output_dir", str(tmp_path / "run")]

    def refused(part, changed):
        write(part, changed)
        kind = "training" if part == "train" else part
        old, new = len(rows), len(changed)
        with pytest.raises(SystemExit, match=rf"differs in {kind} rows \('{old} .*{new} with .*; give another --"):
            run_glue.main(command)
        write(part, rows)

    for part in files:
        write(part, rows)
    with interrupted_runs(7):  # after the checkpoint of the first epoch
        run_glue.main(command)
    flipped = [(text, 1 - label) for text, label in rows]
    refused("train", flipped)
    run_glue.main(command)
    assert "Nothing was trained" not in capsys.readouterr().out
    refused("train", [*rows, *flipped])
    refused("validation", flipped)
    refused("test", rows[:7])


def test_a_missing_corpus_is_found_before_the_folder_is_judged(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").touch()  # no folder of a run
    command = ["--use_cpu", "true", "--output_dir", str(tmp_path / "run")]
    for flag in ("--corpus", "--validation_corpus"):
        with pytest.raises(SystemExit, match=r"the corpus .*none\.txt' does not exist"):
            run_pretraining.main([*command, flag, str(tmp_path / "none.txt")])
    (tmp_path / "old.txt").write_bytes("früh\n".encode("latin-1"))
    with pytest.raises(SystemExit, match=r"old.txt' is not utf-8 .*--encoding latin-1"):
        run_pretraining.main([*command, "--corpus", str(tmp_path / "old.txt")])
    with pytest.raises(SystemExit, match="holds other files"):
        run_pretraining.main(command)
