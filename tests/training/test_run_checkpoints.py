import os
import shutil
from pathlib import Path

import pytest
import torch
from line_trainer import stop_at, training_on

from vocabless.training import run_checkpoints

FILES = (
    *("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"),
    *("training_args.bin", run_checkpoints.COMPLETE),
)
DAMAGES = {
    "truncated": lambda file: os.truncate(file, file.stat().st_size // 2),
    "filled with zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "deleted": lambda file: file.unlink(),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    trainer = training_on(tmp_path_factory.mktemp("whole"), range(1, 7))
    trainer.resume()
    return trainer


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    stop_at(training_on(folder, range(1, 7)), 5)
    assert {path.name for path in (folder / "checkpoint-4").iterdir()} == set(FILES)
    return folder


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_not_used(whole, killed, tmp_path, file, damage, caplog):
    folder = shutil.copytree(killed, tmp_path / "run")
    DAMAGES[damage](folder / "checkpoint-4" / file)
    again = training_on(folder, range(1, 7))
    again.resume()
    assert torch.equal(again.model.weight, whole.model.weight)
    assert again.state.global_step == 6
    if file != run_checkpoints.COMPLETE:
        assert f"checkpoint-4 is damaged ({file} is" in caplog.text


def test_without_a_whole_checkpoint_training_starts_again(whole, killed, tmp_path, caplog):
    folder = shutil.copytree(killed, tmp_path / "run")
    for steps in (2, 4):
        (folder / f"checkpoint-{steps}" / "optimizer.pt").unlink()
    again = training_on(folder, range(1, 7))
    again.resume()
    assert torch.equal(again.model.weight, whole.model.weight)
    assert caplog.text.count("is damaged (optimizer.pt is missing") == 2


def test_folders_that_the_run_did_not_write_stay(tmp_path):
    trainer = training_on(tmp_path, range(1, 7), save_total_limit=1)
    for name in ("checkpoint-backup", "checkpoint-2b", "checkpoint-99"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").touch()
    (tmp_path / "checkpoint-3").write_text("a file")
    stop_at(trainer, 5)
    shutil.copytree(tmp_path / "checkpoint-4", tmp_path / "checkpoint-400")  # a copy of the user's
    again = training_on(tmp_path, range(1, 7), save_total_limit=1)
    again.resume()
    assert again.state.global_step == 6
    kept = ["checkpoint-2b", "checkpoint-3", "checkpoint-400", "checkpoint-99", "checkpoint-backup"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "checkpoint-6"])
    run_checkpoints.remove_all(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


def test_an_old_checkpoint_is_removed_after_the_new_one_is_complete(tmp_path, monkeypatch):
    def killed(checkpoint):
        if checkpoint.name == "checkpoint-4":
            raise KeyboardInterrupt
        complete(checkpoint)

    complete = run_checkpoints.complete
    monkeypatch.setattr(run_checkpoints, "complete", killed)
    with pytest.raises(KeyboardInterrupt):
        training_on(tmp_path, range(1, 7), save_total_limit=1).resume()
    assert run_checkpoints.find_last(tmp_path) == tmp_path / "checkpoint-2"


def test_an_interrupted_removal_is_continued(killed, tmp_path, monkeypatch):
    folder = shutil.copytree(killed, tmp_path / "run")

    def killed_at_the_mark(path):
        if path.name == run_checkpoints.COMPLETE:
            raise KeyboardInterrupt
        unlink(path)

    unlink = Path.unlink
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "unlink", killed_at_the_mark)
        run_checkpoints.remove_old(folder, 1, None)
    assert (folder / "checkpoint-2").exists()
    run_checkpoints.remove_old(folder, 1, None)
    assert [path.name for path in folder.glob("checkpoint-*")] == ["checkpoint-4"]
