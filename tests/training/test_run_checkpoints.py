"""Checkpoints get their name when they are whole."""

import os
import signal

import pytest
import torch
from line_trainer import training_on

from vocabless.training import trainer as trainer_module
from vocabless.training.trainer import UNFINISHED, list_checkpoints

FILES = {
    *("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth"),
    *("trainer_state.json", "training_args.bin"),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "step", ["_save_scaler", "finish_checkpoint", "remove_old_checkpoints"]
)  # before some files, after all
def test_a_run_that_is_killed_while_it_saves_ends_as_one_that_is_not(step, tmp_path) -> None:
    whole, half = (training_on(tmp_path / name, range(1, 7), save_total_limit=1) for name in ("whole", "half"))
    child = os.fork()
    if child == 0:
        owner = half if hasattr(half, step) else trainer_module
        original = getattr(owner, step)

        def killed_at_4(*given):
            if half.state.global_step == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            original(*given)

        setattr(owner, step, killed_at_4)
        half.resume()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert (tmp_path / "half" / UNFINISHED).exists() == (step != "remove_old_checkpoints")
    last = list_checkpoints(tmp_path / "half")[-1]
    assert last.name == ("checkpoint-4" if step == "remove_old_checkpoints" else "checkpoint-2")
    whole.resume()
    again = training_on(tmp_path / "half", range(1, 7), save_total_limit=1)
    again.resume()
    assert again.state.global_step == 6 and torch.equal(again.model.weight, whole.model.weight)
    assert [path.name for path in (tmp_path / "half").iterdir()] == ["checkpoint-6"]
    assert {path.name for path in (tmp_path / "half" / "checkpoint-6").iterdir()} == FILES


def test_the_best_checkpoint_stays_and_is_named_by_its_place(tmp_path) -> None:
    (tmp_path / "checkpoint-mine").mkdir()
    trainer = training_on(
        tmp_path, range(1, 7), save_total_limit=2, eval_strategy="steps", eval_steps=2, max_steps=8,
        metric_for_best_model="accuracy", greater_is_better=True, load_best_model_at_end=True,
    )  # fmt: skip
    trainer.compute_metrics = lambda _: {"accuracy": float(trainer.state.global_step == 2)}
    trainer.resume()
    best, last = list_checkpoints(tmp_path)
    assert (best.name, last.name) == ("checkpoint-2", "checkpoint-8")
    assert trainer.state.best_model_checkpoint == str(best)
    assert f'"best_model_checkpoint": "{best}"' in (last / "trainer_state.json").read_text()
    assert (tmp_path / "checkpoint-mine").is_dir()
