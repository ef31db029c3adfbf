import numpy as np
import pytest
import torch
from line_trainer import stop_at, training_on

from vocabless.training.trainer import LengthGroups


def test_batches_hold_examples_of_like_length_in_random_order() -> None:
    lengths = np.random.default_rng(0).integers(1, 500, size=1003)
    groups = LengthGroups(lengths, 10, seed=1)
    order = list(groups)
    assert sorted(order) == list(range(1003)) and len(groups) == 1003
    batches = [lengths[order[start : start + 10]] for start in range(0, 1000, 10)]
    assert np.mean([np.ptp(batch) for batch in batches]) < 10 < np.ptp(lengths[:10])
    means = [batch.mean() for batch in batches]
    assert means != sorted(means)


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    lengths = list(range(57))
    groups, same = (LengthGroups(lengths, 8, seed=1) for _ in range(2))
    assert list(groups) == list(groups) == list(same) != list(LengthGroups(lengths, 8, seed=2))
    first = list(groups)
    groups.set_epoch(1)
    assert list(groups) != first
    assert list(LengthGroups([5, 6], 8, seed=0)) in ([0, 1], [1, 0])


@pytest.mark.parametrize("killed_at", [5, 8])  # in the first epoch and in the second one
def test_a_run_that_groups_by_length_continues_exactly(tmp_path, killed_at) -> None:
    def trainer(name: str):
        grouped = training_on(
            tmp_path / name, [], max_steps=12, per_device_train_batch_size=2,
            train_sampling_strategy="group_by_length", remove_unused_columns=False,
        )  # fmt: skip
        rng = np.random.default_rng(0)
        grouped.train_dataset = [
            {"x": x, "labels": y, "input_ids": [0] * n}
            for x, y, n in zip(*rng.normal(size=(2, 11)).tolist(), rng.integers(1, 9, 11), strict=True)
        ]
        grouped.data_collator = lambda rows: {k: torch.tensor([row[k] for row in rows]) for k in ("x", "labels")}
        return grouped

    whole, again = trainer("whole"), trainer("killed")
    whole.resume()
    stop_at(trainer("killed"), killed_at)
    again.resume()
    assert torch.equal(again.model.weight, whole.model.weight)
