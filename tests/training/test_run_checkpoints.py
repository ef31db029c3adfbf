import json
import os
import shutil

import pytest
import torch
from line_trainer import stop_at, training_on
from safetensors.torch import load_file, save_file

from vocabless.training import run_checkpoints

FILES = (
    *("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"),
    *("training_args.bin", run_checkpoints.COMPLETE),
)
DAMAGES = {
    "truncated": lambda file: os.truncate(file, file.stat().st_size // 2),
    "emptied": lambda file: os.truncate(file, 0),
    "filled with zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "deleted": lambda file: file.unlink(),
    "renamed": lambda file: file.rename(file.with_name("other.bin")),
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
        assert "continues from checkpoint-2" in caplog.text


def test_a_renamed_tensor_is_damage(whole, killed, tmp_path, caplog):
    folder = shutil.copytree(killed, tmp_path / "run")
    file = folder / "checkpoint-4" / "model.safetensors"
    save_file({"weights": load_file(file)["weight"]}, file, {"format": "pt"})
    again = training_on(folder, range(1, 7))
    again.resume()
    assert torch.equal(again.model.weight, whole.model.weight)
    assert "model.safetensors is damaged" in caplog.text


def test_without_a_whole_checkpoint_training_starts_again(whole, killed, tmp_path, caplog):
    folder = shutil.copytree(killed, tmp_path / "run")
    for steps in (2, 4):
        (folder / f"checkpoint-{steps}" / "optimizer.pt").unlink()
    again = training_on(folder, range(1, 7))
    again.resume()
    assert torch.equal(again.model.weight, whole.model.weight)
    assert caplog.text.count("training starts again") == 2


def test_a_damaged_best_checkpoint_is_not_used(killed, tmp_path):
    folder = shutil.copytree(killed, tmp_path / "run")
    state = folder / "checkpoint-4" / "trainer_state.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"best_global_step": 2}))
    run_checkpoints.complete(folder / "checkpoint-4")
    assert run_checkpoints.find_last(folder).checkpoint == folder / "checkpoint-4"
    (folder / "checkpoint-2" / "model.safetensors").unlink()
    found = run_checkpoints.find_last(folder)
    assert found.checkpoint is None
    assert "best checkpoint checkpoint-2, model.safetensors is missing" in found.damaged[folder / "checkpoint-4"]


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
    assert run_checkpoints.find_last(tmp_path).checkpoint == tmp_path / "checkpoint-2"


def test_an_interrupted_removal_leaves_an_incomplete_checkpoint(killed, tmp_path, monkeypatch):
    folder = shutil.copytree(killed, tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_checkpoints.remove(folder / "checkpoint-4")
    assert run_checkpoints.find_last(folder).checkpoint == folder / "checkpoint-2"
    run_checkpoints.remove_incomplete(folder)
    assert not (folder / "checkpoint-4").exists()
