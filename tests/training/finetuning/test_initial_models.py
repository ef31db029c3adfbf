"""A damaged checkpoint is never fine-tuned: transformers would make the tensors that it lacks up."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import run_glue
from vocabless import VocablessModel, load_config, load_tokenizer

WEIGHTS, VARIANT = "model.safetensors", "eelbert-word-uno"
TENSOR = "encoder.encoder.layer.0.output.dense.weight"


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    folder = tmp_path / "checkpoint"
    VocablessModel(load_config(VARIANT)).save_pretrained(folder)
    load_tokenizer(VARIANT).save_pretrained(folder)
    return folder


def lose_a_tensor(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    save_file({name: tensor for name, tensor in tensors.items() if name != TENSOR}, folder / WEIGHTS, {"format": "pt"})


def misshape_a_tensor(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    save_file(tensors | {TENSOR: tensors[TENSOR][:-1].contiguous()}, folder / WEIGHTS, {"format": "pt"})


def truncate(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:1000])


def pickle_a_program(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    torch.save({"model": Path("a whole program")}, folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lose_a_tensor, f"lacks the tensors vocabless.{TENSOR}; give a complete one"),
        (misshape_a_tensor, f"lacks the tensors vocabless.{TENSOR}; give a complete one"),
        (truncate, "cannot be loaded (Error while deserializing header"),
        (pickle_a_program, "cannot be loaded (Weights only load failed"),
    ],
)
def test_a_damaged_checkpoint_is_refused_and_blocks_no_other_run(damage, sentence, checkpoint, tmp_path) -> None:
    whole = tmp_path / "whole"
    VocablessModel(load_config(VARIANT)).save_pretrained(whole)
    load_tokenizer(VARIANT).save_pretrained(whole)
    damage(checkpoint)
    (tmp_path / "texts.csv").write_text("\n".join(["text,label", *(f"word {i},{i % 2}" for i in range(40))]))
    command = ["--train_file", str(tmp_path / "texts.csv"), "--output_dir", str(tmp_path / "run"), "--max_steps", "1"]
    with pytest.raises(SystemExit) as stopped:
        run_glue.main(["--model_name_or_path", str(checkpoint), *command])
    assert sentence in str(stopped.value.code) and "\n" not in str(stopped.value.code)
    run_glue.main(["--model_name_or_path", str(whole), *command])
    assert (tmp_path / "run" / "results.json").is_file()
