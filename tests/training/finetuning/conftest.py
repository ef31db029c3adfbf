"""A small encoder without a head, and quiet fine-tuning of it on own data."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import run_glue
from vocabless import VocablessModel, load_config, load_tokenizer

QUICK = ["--use_cpu", "true", "--disable_tqdm", "true", "--report_to", "none", "--num_train_epochs", "2"]


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a small encoder without a head, as pre-training leaves it."""
    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    VocablessModel(load_config("hashgram-nano")).save_pretrained(folder)
    load_tokenizer("hashgram-nano").save_pretrained(folder)
    return str(folder)


@pytest.fixture
def tune(encoder: str) -> Callable[..., tuple[Path, dict[str, Any]]]:
    """Fine-tunes the encoder; returns the folder of the run and its results."""

    def run(folder: Path, *flags: object) -> tuple[Path, dict[str, Any]]:
        run_glue.main(["--model_name_or_path", encoder, *QUICK, "--output_dir", str(folder), *map(str, flags)])
        (run_folder,) = folder.glob("*/seed-42")
        return run_folder, json.loads((run_folder / "results.json").read_text())

    return run
