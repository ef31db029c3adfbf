"""Balanced class weights: those of scikit-learn, in the loss and in the first head; scores are not weighted."""

from functools import partial

import numpy as np
import pytest
import torch
from coloured_texts import fine_tune, predictions_of, write_csv
from sklearn.linear_model import LogisticRegression
from sklearn.utils.class_weight import compute_class_weight

from vocabless.training.finetuning.base_problem import balanced_weights, weighted_loss
from vocabless.training.finetuning.first_head import FirstHead, cross_validate_head
from vocabless.training.finetuning.problems import SingleLabel
from vocabless.training.finetuning.tasks import folds_of

chance = np.random.default_rng(0)
TARGETS = (chance.random(60) ** 3 * 3).astype(int)  # many zeros, few twos


def test_weights_are_those_of_scikit_learn_and_a_label_without_rows_has_none():
    expected = compute_class_weight("balanced", classes=np.arange(3), y=TARGETS)
    np.testing.assert_allclose(balanced_weights(TARGETS, 3), expected)
    np.testing.assert_allclose(balanced_weights(TARGETS, 4), [*expected, 0])
    assert balanced_weights(TARGETS, 3)[TARGETS].mean() == pytest.approx(1)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_of_a_step_is_a_weighted_sum_over_all_its_batches(smoothing):
    logits, targets, weights = torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 0, 1]), np.array([0.5, 1.0, 3.0])
    slow = 0.0
    for row, target in zip(logits, targets, strict=True):
        log = row.log_softmax(-1)
        slow -= float(weights[target] * ((1 - smoothing) * log[target] + smoothing * log.mean())) / 6
    loss = partial(weighted_loss, weights=weights, smoothing=smoothing)
    assert float(loss({"logits": logits}, targets)) == pytest.approx(slow, rel=1e-5)
    halves = [loss({"logits": logits[part]}, targets[part], num_items_in_batch=6) for part in (slice(3), slice(3, 6))]
    assert float(sum(halves)) == pytest.approx(slow, rel=1e-5)


def test_the_first_head_is_a_balanced_regression_chosen_by_the_balanced_loss():
    vectors = chance.normal(size=(60, 5)) + 0.4 * TARGETS[:, None]
    problem = SingleLabel(["a", "b", "c"])
    problem.is_balanced = True
    head = FirstHead.fit(problem, vectors, TARGETS.tolist(), 0.3)
    standard = (vectors - vectors.mean(0)) / vectors.std(0)
    model = LogisticRegression(C=0.3, tol=1e-8, max_iter=1000, class_weight="balanced").fit(standard, TARGETS)
    ours = torch.from_numpy(head.logits(vectors)).softmax(-1).numpy()
    np.testing.assert_allclose(ours, model.predict_proba(standard), atol=5e-3)
    folds = folds_of(TARGETS.tolist())
    strength, _ = cross_validate_head(problem, vectors, TARGETS.tolist(), folds)
    losses = {}
    for candidate in (0.003, 0.03, 0.3):
        total, weights = 0.0, compute_class_weight("balanced", classes=np.arange(3), y=TARGETS)
        for fold in folds:
            rest = np.setdiff1d(np.arange(60), fold)
            held_out = FirstHead.fit(problem, vectors[rest], TARGETS[rest].tolist(), candidate).logits(vectors[fold])
            log = torch.from_numpy(held_out).log_softmax(-1).numpy()
            total -= sum(weights[TARGETS[row]] * values[TARGETS[row]] for row, values in zip(fold, log, strict=True))
        losses[candidate] = total
    assert strength == min(losses, key=losses.get)


LEARN = ["--num_train_epochs", "8", "--max_seq_length", "16", "--per_device_train_batch_size", "8"]
LEARN += ["--learning_rate", "3e-3", "--early_stopping_patience", "0", "--eval_strategy", "no",
          "--load_best_model_at_end", "false"]  # fmt: skip


def test_a_rare_label_is_predicted_and_the_reported_loss_is_not_weighted(tmp_path):
    """Of the texts with "red" 8 are rare and 14 usual; of the others 4 are rare and 70 usual."""
    kinds = [("red", "rare")] * 8 + [("red", "usual")] * 14 + [("blue", "rare")] * 4 + [("blue", "usual")] * 70
    rows = [(f"{colour} {colour} stone", label) for colour, label in kinds]
    data = write_csv(tmp_path / "stones.csv", rows)
    found = {}
    for name, flags in {"plain": [], "balanced": ["--class_weights", "balanced"]}.items():
        files = ["--train_file", data, "--validation_file", data, "--test_file", data]
        folder, results = fine_tune(tmp_path / name, *LEARN, *files, *flags)
        predicted = predictions_of(folder)
        found[name] = sum(row["label"] == "rare" for row in predicted)
        log = [-np.log(row["probabilities"][label]) for row, (_, label) in zip(predicted, rows, strict=True)]
        assert results["measures"]["loss"] == pytest.approx(np.mean(log), abs=1e-3)
        assert results["arguments"]["class_weights"] == (flags[1] if flags else None)
    assert found == {"plain": 0, "balanced": 22}


@pytest.mark.parametrize(
    ("labels", "flags", "sentence"),
    [
        ([0.5, 1.5], [], "stones is a regression; leave it out"),
        (["a;b", "b"], ["--label_separator", ";"], "stones is a multi_label_classification; leave it out"),
        (["a", "b"], ["--teacher", "you/any"], "--teacher has no such weights; leave it out"),
    ],
)
def test_other_kinds_of_labels_and_teachers_are_refused(labels, flags, sentence, tmp_path):
    data = write_csv(tmp_path / "stones.csv", [(f"text {row}", label) for row, label in enumerate(labels * 4)])
    with pytest.raises(SystemExit, match=f"--class_weights balanced is for single labels, but {sentence}") as raised:
        fine_tune(tmp_path / "run", "--train_file", data, "--class_weights", "balanced", *flags)
    assert "\n" not in str(raised.value)
