"""vocabless finetune --reject: the model, its card and predictions, and what reads the folder later."""

import json

import pytest
from refusals import refusal
from script_runs import coloured, predictions_of, write_csv

import run_glue
from vocabless import VocablessClassifier
from vocabless.training.prediction import predict

ROWS = coloured(60)
NEW = [("red house river 5", "red"), ("👍", "blue"), ("Der Zug fährt um neun Uhr.", "green"), ("1234567", "red")]


@pytest.mark.parametrize("flags", [[], ["--validation_split_percentage", "40"]])
def test_a_run_names_the_texts_that_it_turns_away_and_every_reader_of_its_folder_does(flags, tune, tmp_path, capsys):
    """The limit is that of folds, or of rows that are held out for good."""
    train, test = write_csv(tmp_path / "mine.csv", ROWS), write_csv(tmp_path / "new.csv", NEW)
    flags = [*flags, "--num_train_epochs", "0", "--reject", "0.2", "--reject_label", "other", "--max_seq_length", "32"]
    folder, results = tune(tmp_path / "runs", "--train_file", train, "--test_file", test, *flags)
    rows = 24 if len(flags) > 8 else 60
    assert f"that of 20 % of {rows} rows that were not learned." in capsys.readouterr().out
    assert results["reject"] == {"share": 0.2, "label": "other"}
    classifier = VocablessClassifier.from_pretrained(folder)
    labels = classifier.predict([text for text, _ in NEW]).tolist()
    assert "other" in labels and classifier.classes_.tolist() == ["blue", "green", "red"]
    predictions = predictions_of(folder)
    assert [each["label"] for each in predictions] == labels and predictions[0]["probabilities"].keys() >= {"other"}
    shares = [{name: p for name, p in each["probabilities"].items() if name != "other"} for each in predictions]
    known = [max(each, key=each.__getitem__) for each in shares]
    right = sum(given == true for given, (_, true) in zip(known, NEW, strict=True))
    assert results["measures"]["test_accuracy"] == right / 4
    card = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    assert "A text gets the last label, `other`, if it is too unlike the training texts" in card
    assert "as that of 20 % of training rows that were held out" in card
    predict.main([str(folder), str(test), "--output", str(tmp_path / "out.jsonl")])
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["predicted_label"] for row in found] == labels


def test_a_model_that_turned_texts_away_is_fine_tuned_without(tune, tmp_path):
    train = write_csv(tmp_path / "mine.csv", ROWS)
    flags = ["--train_file", train, "--max_seq_length", "32"]
    first, _ = tune(tmp_path / "first", *flags, "--num_train_epochs", "0", "--reject", "0.2")
    again, results = tune(tmp_path / "again", *flags, "--model_name_or_path", str(first), "--num_train_epochs", "1")
    config = json.loads((again / "config.json").read_text())
    assert config["classifier_reject_score"] is None and len(config["id2label"]) == 3 and "reject" not in results


@pytest.mark.parametrize(("flags", "sentence"), [
    (["--reject", "0.6"], "--reject 0.6 is out of range; give a number above 0 and at most 0.5."),
    (["--reject", "0.001"], "reject is 0.001, which 60 training rows cannot hold; give at least 999 rows"),
    (["--reject", "0.1", "--reject_label", "red"], "reject_label is 'red', which is a label of the training rows;"),
])  # fmt: skip
def test_a_share_or_a_label_that_does_not_fit_is_named(flags, sentence, encoder, tmp_path):
    train = write_csv(tmp_path / "mine.csv", ROWS)
    argv = ["--train_file", str(train), "--model_name_or_path", str(encoder), "--output_dir", str(tmp_path / "runs")]
    assert sentence in refusal(run_glue.main, *argv, "--num_train_epochs", "0", *flags)
