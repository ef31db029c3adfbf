"""The progress line of a training: figures in one line, whole log lines in the state."""

import pytest
from line_trainer import training_on


@pytest.mark.parametrize("is_quiet", [False, True])
def test_a_training_shows_its_figures_in_one_line_and_keeps_its_log(is_quiet, tmp_path, capsys):
    settings = {"logging_steps": 2, "eval_strategy": "steps", "eval_steps": 3, "disable_tqdm": is_quiet}
    trainer = training_on(tmp_path, range(1, 7), **settings)
    trainer.resume()
    printed = "".join(capsys.readouterr())
    assert "{'" not in printed and ("held-out loss=" in printed) == (not is_quiet)
    losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    assert len(losses) >= 3 and (f"loss={losses[-1]:.4g}" in printed) == (not is_quiet)
