from types import SimpleNamespace

import numpy as np

from vocabless.training.length_groups import LengthGroups


def test_batches_hold_examples_of_like_length_in_random_order() -> None:
    lengths = np.random.default_rng(0).integers(1, 500, size=1003)
    groups = LengthGroups(SimpleNamespace(lengths=lengths), 10, seed=1)
    order = list(groups)
    assert sorted(order) == list(range(1003)) and len(groups) == 1003
    batches = [lengths[order[start : start + 10]] for start in range(0, 1000, 10)]
    assert np.mean([np.ptp(batch) for batch in batches]) < 10 < np.ptp(lengths[:10])
    means = [batch.mean() for batch in batches]
    assert means != sorted(means)


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    lengths = list(range(57))
    groups, same = (LengthGroups(SimpleNamespace(lengths=lengths), 8, seed=1) for _ in range(2))
    assert list(groups) == list(groups) == list(same) != list(LengthGroups(SimpleNamespace(lengths=lengths), 8, seed=2))
    first = list(groups)
    groups.set_epoch(1)
    assert list(groups) != first
    assert list(LengthGroups(SimpleNamespace(lengths=[5, 6]), 8, seed=0)) in ([0, 1], [1, 0])


def test_the_examples_learn_the_epoch_from_the_sampler() -> None:
    epochs: list[int] = []
    LengthGroups(SimpleNamespace(lengths=[1, 2], set_epoch=epochs.append), 1, seed=0).set_epoch(3)
    assert epochs == [3]
