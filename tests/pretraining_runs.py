"""Short runs of run_pretraining.py, whole ones, and interrupted ones of any script."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import run_pretraining
from vocabless.training.trainer import ResumableTrainer

QUICK = ["--max_steps", "6", "--save_steps", "2", "--logging_steps", "2", "--per_device_train_batch_size", "4",
         "--max_seq_length", "16", "--use_cpu", "true",
         "--disable_tqdm", "true"]  # fmt: skip
WORDS = "the quick brown fox jumps over lazy dogs while seven small cats sleep near old walls".split()


def write_corpus(file: Path, start: int = 1) -> str:
    """Writes 80 sentences of few words; those of another start differ. Returns the file's name."""
    sentences = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 30)) + "." for i in range(start, start + 80)]
    file.write_text("\n".join(sentences))
    return str(file)


def pretrain(folder: Path, *flags: object) -> dict[str, Any]:
    """Runs the script into a folder; returns the results. Flags go before those of `QUICK`."""
    run_pretraining.main([*QUICK, "--output_dir", str(folder), *map(str, flags)])
    return json.loads((folder / "results.json").read_text())


def refused_run(folder: Path, *flags: object) -> str:
    """Returns the one sentence with which the script ends."""
    with pytest.raises(SystemExit) as stopped:
        run_pretraining.main([*QUICK, "--output_dir", str(folder), *map(str, flags)])
    assert "\n" not in str(stopped.value)
    return str(stopped.value)


@contextmanager
def interrupted_runs(steps: int = 5) -> Iterator[None]:
    """Within it, a run ends after some steps as if by Ctrl-C."""
    step = ResumableTrainer.training_step

    def interrupted(self: ResumableTrainer, *arguments: Any, **keywords: Any) -> torch.Tensor:
        if self.state.global_step == steps:
            raise KeyboardInterrupt
        return step(self, *arguments, **keywords)

    with pytest.MonkeyPatch.context() as patched, pytest.raises(SystemExit) as stopped:
        patched.setattr(ResumableTrainer, "training_step", interrupted)
        yield
    assert stopped.value.code == 130


def assert_same_weights(one: Path, other: Path) -> None:
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (one, other))
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in ours)
