"""Which encoder of the package is taken where no model is named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from script_runs import read_results, write_csv

import run_glue
from vocabless import VocablessClassifier
from vocabless.loading import ENCODERS, default_encoder
from vocabless.training.finetuning import encoder_choice
from vocabless.training.finetuning.encoder_choice import MIN_ROWS, choose_encoder
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.problems import SingleLabel

TICKETS = json.loads(Path(__file__).with_name("tickets.json").read_text(encoding="utf-8"))
needs_weights = pytest.mark.skipif(not Path(default_encoder("multilingual")).is_dir(), reason="no trained weights")


def tickets(*languages: str) -> TaskData:
    rows = [row for row in TICKETS if row["lang"] in languages]
    labels = [row["label"] for row in rows]
    problem = SingleLabel(sorted({*labels}))
    return TaskData("tickets", "tickets", problem, Examples([row["text"] for row in rows], labels=labels), {})


def with_short_texts(data: TaskData) -> TaskData:
    return replace(data, train=replace(data.train, texts=["Refund"] * len(data.train)))


@needs_weights
@pytest.mark.parametrize("languages", [("ko",), ("de", "es", "ko", "en")])
@pytest.mark.quick("languages0")
def test_the_smaller_held_out_loss_chooses_for_texts_that_are_not_english(languages) -> None:
    choice = choose_encoder(tickets(*languages))
    assert choice.language == "multilingual" and choice.source == default_encoder("multilingual")
    assert choice.losses is not None
    assert choice.losses[ENCODERS["multilingual"]] < choice.losses[ENCODERS["english"]]
    assert "hashgram-multi-sentence, by the held-out loss" in choice.describe()


def test_english_texts_and_few_rows_are_not_measured(monkeypatch) -> None:
    monkeypatch.setattr(encoder_choice, "_held_out_loss", lambda *_: pytest.fail("measured"))
    assert choose_encoder(tickets("en")).language == "english"
    german = tickets("de")
    few = replace(german, train=german.train.select(range(MIN_ROWS - 1)))
    assert choose_encoder(few).describe() == "Encoder: hashgram-multi-sentence, by the language of the texts."
    assert choose_encoder(with_short_texts(few)).language == "english"


def test_short_texts_that_may_be_english_are_measured(monkeypatch) -> None:
    losses = {"english": 0.5, "multilingual": 0.5}
    monkeypatch.setattr(encoder_choice, "_held_out_loss", lambda source, _: losses[_language(source)])
    data = with_short_texts(tickets("de"))
    assert choose_encoder(data).language == "english"  # the smaller encoder, if both are equal
    losses["multilingual"] = 0.4
    assert choose_encoder(data).language == "multilingual"


@needs_weights
@pytest.mark.slow
def test_the_script_and_the_estimator_choose_keep_and_say_it(tmp_path, capsys) -> None:
    rows = [(row["text"], row["label"]) for row in TICKETS if row["lang"] == "de"]
    file = write_csv(tmp_path / "tickets.csv", rows)
    command = ["--train_file", str(file), "--num_train_epochs", "0", "--output_dir", str(tmp_path / "run")]
    run_glue.main([*command, "--use_cpu", "true"])
    assert "Encoder: hashgram-multi-sentence, by the held-out loss" in capsys.readouterr().out
    results = read_results(next((tmp_path / "run").glob("*/seed-*")))
    assert results["encoder_choice"]["language"] == "multilingual"
    assert results["arguments"]["model_name_or_path"] == ENCODERS["multilingual"]
    run_glue.main([*command, "--use_cpu", "true"])
    assert "Nothing was trained" in capsys.readouterr().out

    classifier = VocablessClassifier().fit(*zip(*rows, strict=True))
    assert capsys.readouterr().err.startswith("Encoder: hashgram-multi-sentence, by the held-out loss")
    assert classifier.results_["encoder_choice"] == results["encoder_choice"]
    assert "encoder_choice" not in VocablessClassifier(default_encoder()).fit(*zip(*rows, strict=True)).results_


def _language(source: str) -> str:
    return next(language for language, name in ENCODERS.items() if Path(source).name == name)
