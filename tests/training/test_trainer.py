import pytest
import torch
from accelerate.data_loader import BatchSamplerShard, DataLoaderShard, SeedableRandomSampler
from line_trainer import stop_at, training_on
from torch.utils.data import BatchSampler, Dataset
from transformers import EarlyStoppingCallback

from vocabless.training.trainer import LengthGroups


@pytest.mark.parametrize("has_bar", [True, False])
@pytest.mark.parametrize("steps", [6, 9])  # at the end of an epoch and inside one
def test_a_run_killed_after_its_last_checkpoint_trains_no_further(tmp_path, steps, has_bar):
    first = training_on(tmp_path, range(1, 7), max_steps=steps)
    metrics = first.resume()
    for _ in range(2):
        again = training_on(tmp_path, range(1, 7), max_steps=steps, disable_tqdm=not has_bar)
        assert without_times(again.resume()) == without_times(metrics)
        assert again.state.global_step == steps
        assert torch.equal(again.model.weight, first.model.weight)
        assert without_times(again.state.log_history[-1]) == without_times(first.state.log_history[-1])
        again.evaluate()


def without_times(line):
    return {name: value for name, value in line.items() if not name.endswith(("_runtime", "_per_second"))}


@pytest.mark.parametrize("killed_at", [3, 5])
def test_a_continued_run_has_the_log_and_the_loss_of_an_uninterrupted_one(tmp_path, killed_at):
    arguments = {"logging_steps": 3, "logging_first_step": True}  # not the steps of the checkpoints
    whole = training_on(tmp_path / "whole", range(1, 7), **arguments)
    metrics = whole.resume()
    stop_at(training_on(tmp_path / "killed", range(1, 7), **arguments), killed_at)
    again = training_on(tmp_path / "killed", range(1, 7), **arguments)
    assert without_times(again.resume()) == without_times(metrics)
    assert [*map(without_times, again.state.log_history)] == [*map(without_times, whole.state.log_history)]
    losses = [line for line in whole.state.log_history if "loss" in line]
    mean = sum(line["loss"] * (line["step"] - before) for line, before in zip(losses, [0, 1, 2, 3, 4], strict=True)) / 6
    assert metrics["train_loss"] == pytest.approx(mean)


class Epochs(Dataset):
    """Nine examples that differ in each epoch."""

    def __init__(self):
        self.epoch, self.told = 0, []

    def set_epoch(self, epoch):
        self.epoch = epoch
        self.told.append(epoch)

    def __len__(self):
        return 9

    def __getitem__(self, index):
        return {"x": index + 1.0, "labels": 2.0 * index + self.epoch}


@pytest.mark.parametrize("is_by_length", [False, True])
def test_one_of_two_processes_continues_in_its_second_epoch_as_if_never_interrupted(tmp_path, is_by_length):
    """Accelerate tells the epoch to the sampler or the data set, and to neither through all wrappers."""

    def first_of_two(folder):
        trainer, data = training_on(tmp_path / folder, [1], max_steps=9, max_grad_norm=0), Epochs()
        sampler = LengthGroups(range(9), 1, 0) if is_by_length else SeedableRandomSampler(data, data_seed=0)
        shard = BatchSamplerShard(BatchSampler(sampler, 1, False), 2, 0)
        trainer.get_train_dataloader = lambda: DataLoaderShard(data, batch_sampler=shard)
        return trainer, data

    whole, data = first_of_two("whole")
    whole.resume()
    assert sorted({*data.told}) == [0, 1]  # five steps each
    stop_at(first_of_two("killed")[0], 7)  # the last checkpoint is that of step 6
    again, _ = first_of_two("killed")
    again.resume()
    assert torch.equal(again.model.weight, whole.model.weight)


def with_patience(folder):
    """The accuracy of the evaluations is 0, 1, 2, 2, 1, 0, …: with patience 3 the run ends after the sixth."""
    accuracies = [0.0, 1.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0]
    trainer = training_on(
        folder,
        range(1, 7),
        max_steps=16,
        eval_strategy="steps",
        eval_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        greater_is_better=True,
        save_total_limit=1,
    )
    trainer.compute_metrics = lambda _: {"accuracy": accuracies[trainer.state.global_step // 2 - 1]}
    trainer.add_callback(EarlyStoppingCallback(3))
    return trainer


@pytest.mark.parametrize("killed_at", [9, 11, None])  # None: after the last checkpoint
def test_a_continued_run_stops_early_where_an_uninterrupted_one_does(tmp_path, killed_at):
    whole = with_patience(tmp_path / "whole")
    whole.resume()
    assert (whole.state.global_step, whole.state.best_global_step) == (12, 6)
    if killed_at is None:
        with_patience(tmp_path / "killed").resume()
    else:
        stop_at(with_patience(tmp_path / "killed"), killed_at)
    (tmp_path / "killed").rename(tmp_path / "moved")  # the best checkpoint is found there, too
    again = with_patience(tmp_path / "moved")
    again.resume()
    assert again.state.global_step == 12
    assert torch.equal(again.model.weight, whole.model.weight)
    assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == ["checkpoint-12", "checkpoint-6"]


def test_data_without_an_example_is_an_error(tmp_path):
    class Empty(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(())

    trainer = training_on(tmp_path, range(1, 7))
    trainer.train_dataset = Empty()
    with pytest.raises(ValueError, match="not one example"):
        trainer.resume()


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path):
    with pytest.raises(ValueError, match=r"nan at step 4; .*checkpoint-2.*--learning_rate"):
        training_on(tmp_path, [1, 2, 3, 99, 5, 6]).resume()
    with pytest.raises(ValueError, match="the last good checkpoint is None"):
        training_on(tmp_path / "other", [99]).resume()


@pytest.mark.parametrize(("step", "remedy"), [(0, "Begin from other weights"), (6, "Try a lower --learning_rate")])
def test_an_evaluation_that_is_not_finite_stops_the_run(tmp_path, step, remedy):
    trainer = training_on(tmp_path, range(1, 7))
    trainer.compute_metrics = lambda prediction: {"exact_loss": 42.0, "cosine": float("nan")}
    trainer.state.global_step = step
    with pytest.raises(ValueError, match=f"the cosine of the evaluation is nan. {remedy}"):
        trainer.evaluate()


def test_an_exact_loss_replaces_the_mean_over_batches(tmp_path):
    trainer = training_on(tmp_path, range(1, 7))
    trainer.compute_metrics = lambda prediction: {"exact_loss": 42.0, "accuracy": 1.0}
    measures = trainer.evaluate()
    assert measures["eval_loss"] == 42.0
    assert "eval_exact_loss" not in measures


@pytest.mark.parametrize("is_quiet", [False, True])
def test_a_training_shows_its_figures_in_one_line_and_keeps_its_log(is_quiet, tmp_path, capsys):
    settings = {"logging_steps": 2, "eval_strategy": "steps", "eval_steps": 3, "disable_tqdm": is_quiet}
    trainer = training_on(tmp_path, range(1, 7), **settings)
    trainer.resume()
    printed = "".join(capsys.readouterr())
    assert "{'" not in printed and ("held-out loss=" in printed) == (not is_quiet)
    losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    assert len(losses) >= 3 and (f"loss={losses[-1]:.4g}" in printed) == (not is_quiet)
