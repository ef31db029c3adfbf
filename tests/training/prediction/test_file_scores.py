"""A saved model reads a test file alone: its scores are those of its predictions, and nothing is trained."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal
from script_runs import predictions_of, write_csv
from sklearn.metrics import accuracy_score, f1_score

import run_glue
from vocabless import (
    VocablessClassifier,
    VocablessForSequenceClassification,
    VocablessModel,
    VocablessRegressor,
    load_config,
    load_tokenizer,
)
from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.run_folder import write_json

LABELS = ["cold", "warm"]
TEXTS = [f"{colour} stone number {number}" for number in range(6) for colour in ("blue", "red")]
ROWS = [(text, LABELS[place % 2]) for place, text in enumerate(TEXTS)]


def save(folder: Path, record: dict[str, Any] | None = None, **options: Any) -> Path:
    """Writes a model with random weights; returns its folder."""
    torch.manual_seed(0)
    names = {} if options.get("num_labels") == 1 else {"id2label": dict(enumerate(LABELS))}
    model = VocablessForSequenceClassification(load_config("hashgram-nano", **names, **options))
    save_checkpoint(model, load_tokenizer("hashgram-nano"), folder)
    write_json(folder / "results.json", record or {})
    return folder


def score(model: Path, file: Path, *flags: str) -> list[dict[str, Any]]:
    """Runs the command beside the file; returns the predictions."""
    folder = file.parent / "out"
    main = ["--use_cpu", "true", "--model_name_or_path", model, "--test_file", file, "--output_dir", folder, *flags]
    run_glue.main([*map(str, main)])
    return predictions_of(folder)


def test_a_labelled_file_is_predicted_and_scored_by_a_saved_classifier(tmp_path, capsys) -> None:
    model = save(tmp_path / "model")
    predicted = score(model, write_csv(tmp_path / "new.csv", ROWS))
    estimator = VocablessClassifier.from_pretrained(model)
    assert [row["label"] for row in predicted] == estimator.predict(TEXTS).tolist()
    probabilities = np.array([[*row["probabilities"].values()] for row in predicted])
    assert probabilities == pytest.approx(estimator.predict_proba(TEXTS), abs=1e-5)
    accuracy = 100 * accuracy_score([label for _, label in ROWS], [row["label"] for row in predicted])
    printed = capsys.readouterr().out
    assert f"{model}: accuracy {accuracy:.1f} (constant 50.0), macro f1 " in printed
    assert f"  {tmp_path / 'out' / 'predictions.jsonl'}\n" in printed
    assert "cold" in (tmp_path / "out" / "test.md").read_text()


def test_a_file_without_labels_is_predicted_alone(tmp_path, capsys) -> None:
    file = write_csv(tmp_path / "new.csv", [(text,) for text in TEXTS], ("text",))
    assert len(score(save(tmp_path / "model"), file)) == len(TEXTS)
    printed = capsys.readouterr().out
    assert "Data new: 12 rows without labels, text in 'text'." in printed and "accuracy" not in printed


def test_columns_and_separator_are_those_of_the_training_rows(tmp_path, capsys) -> None:
    columns = {"text_column": ["said"], "label_column": ["meant"], "label_separator": ";"}
    model = save(tmp_path / "model", {"arguments": columns}, problem_type="multi_label_classification")
    cells = ["cold;warm" if place % 3 else "warm" for place in range(len(TEXTS))]
    file = write_csv(tmp_path / "new.csv", [*zip(TEXTS, cells, strict=True)], ("said", "meant"))
    given = [[label in row["labels"] for label in LABELS] for row in score(model, file)]
    f1 = f1_score([[label in cell for label in LABELS] for cell in cells], given, average="micro", zero_division=0)
    assert f": micro f1 {100 * f1:.1f} (constant " in capsys.readouterr().out


def test_a_regressor_gives_numbers(tmp_path, capsys) -> None:
    model = save(tmp_path / "model", num_labels=1, problem_type="regression")
    rows = [(text, place / 10 + 0.05) for place, text in enumerate(TEXTS)]
    predicted = score(model, write_csv(tmp_path / "new.csv", rows))
    assert [row["value"] for row in predicted] == pytest.approx(
        VocablessRegressor.from_pretrained(model).predict(TEXTS)
    )
    assert ": pearson " in capsys.readouterr().out


def test_labels_that_the_model_lacks_are_mistakes(tmp_path, capsys) -> None:
    score(save(tmp_path / "model"), write_csv(tmp_path / "new.csv", [(text, "mild") for text in TEXTS]))
    printed = capsys.readouterr().out
    assert "12 of 12 test rows have labels of no training row, mild, which count as mistakes." in printed
    assert ": accuracy 0.0, macro f1 0.0." in printed


def test_the_folder_of_a_run_stands_for_its_only_model(tmp_path, capsys) -> None:
    save(tmp_path / "runs" / "tickets" / "seed-42")
    file = write_csv(tmp_path / "new.csv", ROWS)
    score(tmp_path / "runs", file)
    assert f"{tmp_path}/runs/tickets/seed-42: accuracy " in capsys.readouterr().out
    save(tmp_path / "runs" / "tickets" / "seed-43")
    flags = ["--use_cpu", "true", "--test_file", file, "--model_name_or_path", tmp_path / "runs"]
    assert "has 2 models; give one of" in refusal(run_glue.main, *flags)


def test_a_model_that_cannot_read_the_rows_is_refused(tmp_path) -> None:
    encoder = tmp_path / "encoder"
    save_checkpoint(VocablessModel(load_config("hashgram-nano")), load_tokenizer("hashgram-nano"), encoder)
    pairs, odd = save(tmp_path / "pairs", {"is_pair": True}), save(tmp_path / "odd", problem_type="regression")
    text = (odd / "config.json").read_text().replace('"regression"', '"sorting"')
    (odd / "config.json").write_text(text)
    headless = shutil.copytree(encoder, tmp_path / "headless")
    text = (headless / "config.json").read_text().replace('"VocablessModel"', '"VocablessForSequenceClassification"')
    (headless / "config.json").write_text(text)
    flags = ["--use_cpu", "true", "--test_file", write_csv(tmp_path / "new.csv", ROWS), "--model_name_or_path"]
    for model, sentence in (
        (
            encoder,
            "is no classifier of texts: with --test_file alone, give --model_name_or_path one that was fine-tuned",
        ),
        ("hashgram-nano", "is no classifier of texts"),
        (headless, "lacks weights of its head"),
        (pairs, "reads pairs of texts, but new has single texts"),
        (odd, "problem_type is 'sorting'; give one of single_label_classification"),
    ):
        assert sentence in refusal(run_glue.main, *flags, model)
