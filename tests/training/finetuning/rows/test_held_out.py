"""The rows that are held out: the same shares of each label, and groups that stay together."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vocabless.training.finetuning.rows.held_out import (
    FOLDS,
    choose_validation,
    folds_of,
    hold_out,
    limited,
    training_folds,
    with_folds,
)
from vocabless.training.finetuning.tasks.arguments import DataArguments
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.problems import SingleLabel

labels = st.lists(st.integers(0, 3), min_size=10, max_size=60)


@given(labels)
def test_each_row_is_in_one_fold_and_folds_have_the_same_labels(strata):
    folds = folds_of(strata)
    assert sorted(row for fold in folds for row in fold) == list(range(len(strata)))
    for label in set(strata):
        sizes = [sum(strata[row] == label for row in fold) for fold in folds]
        assert max(sizes) - min(sizes) <= 1


@given(labels, st.floats(0.02, 0.5))
def test_a_held_out_part_has_its_share_of_each_label(strata, share):
    held_out = hold_out(strata, share)
    assert len(held_out) == max(1, int(len(strata) * share + 1e-9))
    counts = Counter(strata[row] for row in held_out)
    for label, count in Counter(strata).items():
        assert abs(counts[label] - share * count) <= max(1, 1 / len(strata) * count)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.lists(st.sampled_from("abcdef"), max_size=3)), min_size=2, max_size=40),
    st.floats(0.02, 0.5),
)
def test_no_label_loses_its_last_training_row_and_something_is_held_out_where_that_is_possible(rows, share):
    groups, labels = [group for group, _ in rows], [names for _, names in rows]
    held_out = set(hold_out([tuple(sorted(names)) for names in labels], share, groups, labels).tolist())
    learned = {name for row, names in enumerate(labels) if row not in held_out for name in names}
    assert learned == {name for names in labels for name in names}
    assert {groups[row] for row in held_out}.isdisjoint(groups[row] for row in range(len(rows)) if row not in held_out)
    if not held_out:
        for each in set(groups):
            others = {name for group, names in rows if group != each for name in names}
            assert not learned <= others


@given(labels, st.floats(0.02, 0.5))
def test_rows_are_held_out_as_before_where_no_label_would_lose_its_last_row(strata, share):
    expected = hold_out(strata, share)
    if set(strata) == {strata[row] for row in range(len(strata)) if row not in expected}:
        assert np.array_equal(hold_out(strata, share, None, [[str(label)] for label in strata]), expected)


def test_rows_of_a_group_are_never_divided():
    groups = [row // 3 for row in range(30)]
    for fold in folds_of([0] * 30, groups):
        assert len(fold) == 6 and len({groups[row] for row in fold}) == 2
    held_out = hold_out([0] * 30, 0.2, groups)
    assert len(held_out) == 6 and len({groups[row] for row in held_out}) == 2


@pytest.mark.parametrize("strata", [[0.1 * row for row in range(50)], [(row % 2, row % 3) for row in range(50)]])
def test_numbers_and_sets_of_labels_are_divided_evenly(strata):
    means = [np.mean([np.sum(strata[row]) for row in fold]) for fold in folds_of(strata)]
    assert np.ptp(means) < 0.5 * np.std([np.sum(each) for each in strata])


def test_each_of_fewer_texts_than_folds_is_held_out_once():
    texts = ["red", "Red!", "blue", "green", "ice"] * 3  # four different ones
    data = TaskData("t", "t", SingleLabel(["a", "b"]), Examples(texts, labels=["a", "a", "b", "b", "b"] * 3))
    found = choose_validation(data, DataArguments(), scores_folds=True)
    assert found.scored_folds == 4 and len(found.validation[""]) == 15
    assert sorted(map(len, training_folds(found))) == [3, 3, 3, 6]
    one = replace(data, train=Examples(["red", "Red!"], labels=["a", "b"]))
    with pytest.raises(ValueError, match="none of the 1 different training texts or groups can be held out"):
        choose_validation(one, DataArguments(), scores_folds=True)


def test_the_validation_rows_are_those_of_the_scored_folds_also_of_fewer_rows_and_the_data_stay():
    examples = Examples([str(row) for row in range(40)], labels=["a", "b"] * 20)
    data = TaskData("t", "t", SingleLabel(["a", "b"]), examples)
    for count in (1, FOLDS):
        scored = with_folds(data, training_folds(data)[:count])
        rows = sorted(np.concatenate(training_folds(data)[:count]).tolist())
        assert len(rows) == 8 * count and scored.scored_folds == count
        assert scored.validation[""].texts == [str(row) for row in rows]
        fewer = limited(scored, 20)
        assert len(fewer.train) == 20 and len(fewer.validation[""]) == 4 * count
        assert set(fewer.validation[""].texts) <= set(fewer.train.texts)
        assert fewer.footnotes == ("t: trained on 20 of 40 rows",) and limited(scored, 40) is limited(scored, None)
    assert data.validation == {} and not data.is_cross_validated and not data.footnotes
