"""`--noise`: a run is also evaluated on misspelt validation texts, without training again."""

import json
import random
from pathlib import Path

import pytest
from datasets import Dataset
from huggingface_hub import ModelCard

import run_glue
from vocabless.training.finetuning.predictions import misspelt_examples
from vocabless.training.finetuning.task_files import Examples
from vocabless.training.trainer import ResumableTrainer

QUICK = ["--model_name_or_path", "hashformer-md5-pool-tiny", "--max_seq_length", "16", "--use_cpu", "true",
         "--per_device_train_batch_size", "8", "--num_train_epochs", "4", "--learning_rate", "2e-3",
         "--early_stopping_patience", "0", "--disable_tqdm", "true", "--report_to", "none"]  # fmt: skip


def run(*arguments: object) -> None:
    run_glue.main([*QUICK, *map(str, arguments)])


def results_of(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def colour_file(folder: Path) -> Path:
    """Texts whose label is the colour that they name."""
    chance = random.Random(0)
    colours = [chance.choice(["yellow", "purple"]) for _ in range(120)]
    texts = [f"the {colour} {chance.choice(['house', 'river', 'stone'])}" for colour in colours]
    Dataset.from_dict({"text": texts, "label": colours}).to_parquet(str(folder / "train.parquet"))
    return folder / "train.parquet"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A data file, and the output folder of a run that was made without `--noise`."""
    folder = tmp_path_factory.mktemp("colours")
    data = colour_file(folder)
    command = ["--train_file", data, "--validation_file", data, "--output_dir", folder / "run"]
    run(*command)
    return command


def test_a_finished_run_gets_noisy_measures_without_training_and_keeps_its_other_results(finished, monkeypatch, capsys):
    output = Path(finished[-1])
    (folder,) = output.glob("*/seed-42")
    before = results_of(folder)
    weights = (folder / "model.safetensors").read_bytes()
    monkeypatch.setattr(ResumableTrainer, "resume", None)  # training would fail
    run(*finished, "--noise", "0.6")
    after = results_of(folder)
    noisy = after.pop("noisy")
    assert after == before and (folder / "model.safetensors").read_bytes() == weights
    assert (noisy["probability"], noisy["seed"]) == (0.6, 42)
    assert set(noisy["measures"]) == {"loss", "accuracy", "macro_f1"}
    clean, misspelt = before["measures"]["accuracy"], noisy["measures"]["accuracy"]
    assert misspelt < clean and clean > 0.95
    lost = f"{100 * (clean - misspelt):.1f}"
    table = (output / "table.md").read_text()
    (row,) = [line for line in table.splitlines() if "| accuracy" in line]
    cells = [cell.strip() for cell in row.split("|")[3:-1]]
    assert (cells[0], cells[-2], cells[-1]) == (f"{100 * clean:.1f}", f"{100 * misspelt:.1f}", lost)
    assert "with 60 % of the words misspelt. Lost: the difference" in table
    top = results_of(output)["noisy"]
    (task,) = top["scores"]
    assert top["scores"][task]["42"]["accuracy"] == misspelt == top["summary"][task]["accuracy"]["center"]
    assert f", misspelt {100 * misspelt:.1f})" in capsys.readouterr().out
    card = (folder / "README.md").read_text()
    assert f" | {100 * misspelt:.1f} | {lost} |" in card and "60 % of the words" in card
    assert {r.metric_name: r.metric_value for r in ModelCard(card).data.eval_results}["accuracy"] == clean


def test_noisy_measures_are_read_again_until_the_probability_changes(finished, monkeypatch):
    (folder,) = Path(finished[-1]).glob("*/seed-42")
    run(*finished, "--noise", "1e-12")  # no word is misspelt
    results = results_of(folder)
    assert results["noisy"]["measures"] == pytest.approx(
        {n: results["measures"][n] for n in results["noisy"]["measures"]}
    )
    monkeypatch.setattr(ResumableTrainer, "predict", None)  # an evaluation would fail
    run(*finished, "--noise", "1e-12")
    run(*finished)
    assert results_of(folder) == results
    assert "misspelt" not in (Path(finished[-1]) / "table.md").read_text()


def test_both_validation_parts_of_mnli_are_misspelt(tmp_path):
    (tmp_path / "mnli").mkdir()
    rows = {"premise": ["the yellow house", "a stone"] * 8, "hypothesis": ["a house", "the river"] * 8}
    for split in ("train", "validation_matched", "validation_mismatched"):
        Dataset.from_dict(rows | {"label": [0, 1] * 8}).to_parquet(str(tmp_path / "mnli" / f"{split}.parquet"))
    run("--task_name", "mnli", "--data_dir", tmp_path, "--output_dir", tmp_path / "run", "--noise", "0.5")
    measures = results_of(tmp_path / "run" / "mnli" / "seed-42")["noisy"]["measures"]
    assert set(measures) == {"loss", "accuracy", "accuracy_mm"}


def test_both_texts_of_pairs_are_misspelt_and_labels_stay():
    texts = ["seven small boats came home before the storm"]
    examples = Examples(texts, list(texts), ["a"])
    noisy = misspelt_examples(examples, 0.5)
    assert noisy.labels == ["a"]
    assert len({*texts, *noisy.texts, *noisy.pairs}) == 3
    assert misspelt_examples(Examples(texts), 0.5).pairs is None
    assert examples.texts == texts


@pytest.mark.parametrize("noise", ["-0.1", "1.5", "nan"])
def test_a_noise_that_is_no_probability_ends_with_one_sentence(tmp_path, noise):
    with pytest.raises(
        SystemExit, match=rf"^run_glue\.py: --noise {noise} is out of range; give a number of at least 0"
    ):
        run("--train_file", "train.csv", "--output_dir", tmp_path / "run", f"--noise={noise}")
