"""The first head: its logits are those of scikit-learn, and the model's head has the same."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vocabless import load_config
from vocabless.modeling.head_layers import PooledHead
from vocabless.training.finetuning.data import folds_of
from vocabless.training.finetuning.first_head import FirstHead, cross_validate_head
from vocabless.training.finetuning.problems import ABSENT, MultiLabel, Regression, SingleLabel

chance = np.random.default_rng(0)
VECTORS = chance.normal(3.0, 2.0, (90, 8)) * np.arange(1, 9)
CLASSES = (VECTORS @ chance.normal(size=(8, 3))).argmax(1)


LOGISTIC = LogisticRegression(C=0.3, tol=1e-8, max_iter=1000)


@pytest.mark.parametrize(("problem", "targets", "model", "tolerance"), [
    (SingleLabel(["a", "b", "c"]), CLASSES, LOGISTIC, 5e-3),
    (SingleLabel(["a", "b"]), np.minimum(CLASSES, 1), LOGISTIC, 5e-3),
    (MultiLabel(["a", "b"]), np.stack([CLASSES == 0, CLASSES != 2], 1) * 1.0, OneVsRestClassifier(LOGISTIC), 5e-3),
    (Regression(), VECTORS[:, 0] + 1.0, Ridge(alpha=1 / 0.3), 1e-6),
])  # fmt: skip
def test_a_head_predicts_like_scikit_learns_model_of_its_problem(problem, targets, model, tolerance):
    logits = torch.from_numpy(FirstHead.fit(problem, VECTORS, list(targets), 0.3).logits(VECTORS))
    ours = {SingleLabel: logits.softmax(-1), MultiLabel: logits.sigmoid(), Regression: logits[:, 0]}[type(problem)]
    model = make_pipeline(StandardScaler(), model).fit(VECTORS, targets)
    expected = model.predict(VECTORS) if isinstance(problem, Regression) else model.predict_proba(VECTORS)
    np.testing.assert_allclose(ours, expected, atol=tolerance)


def test_a_label_without_rows_is_never_predicted():
    head = FirstHead.fit(SingleLabel(["a", "b", "c"]), VECTORS, np.minimum(CLASSES, 1).tolist(), 0.3)
    assert (head.logits(VECTORS)[:, 2] == ABSENT).all() and (head.logits(VECTORS).argmax(1) < 2).all()
    alone = FirstHead.fit(SingleLabel(["a", "b"]), VECTORS, [1] * 90, 0.3)
    assert (alone.logits(VECTORS).argmax(1) == 1).all()


@pytest.mark.parametrize(("pooling", "size"), [("mean", 1), ("siamese", 4)])
def test_the_head_of_a_model_has_nearly_the_same_logits(pooling, size):
    config = load_config("hashgram-nano", classifier_pooling=pooling)
    module = PooledHead(config, 3).eval()
    vectors = chance.normal(size=(200, size * config.hidden_size))
    targets = vectors[:, :3].argmax(1)
    head = FirstHead.fit(SingleLabel(["a", "b", "c"]), vectors, targets.tolist(), 0.003)
    head.write_into(module)
    with torch.no_grad():
        ours = module.out_proj(torch.tanh(module.dense(torch.from_numpy(vectors).float()))).numpy()
    expected = head.logits(vectors)
    assert (ours.argmax(1) == expected.argmax(1)).mean() > 0.95
    assert np.corrcoef(ours.ravel(), expected.ravel())[0, 1] > 0.99
    assert ours.std() / expected.std() == pytest.approx(1, abs=0.1)
    if pooling == "siamese":
        wide = FirstHead(np.zeros((65, vectors.shape[1])), np.zeros(65), np.zeros(1), np.ones(1))
        with pytest.raises(ValueError, match="a head with 64 units has no place for 65 outputs; fine-tune without it"):
            wide.write_into(PooledHead(config, 65))


def test_the_strength_is_that_of_the_best_held_out_loss_and_each_row_is_scored_without_itself():
    problem, targets = SingleLabel(["a", "b", "c"]), CLASSES.tolist()
    folds = folds_of(targets)
    strength, logits = cross_validate_head(problem, VECTORS, targets, folds)
    losses = {}
    for candidate in (0.003, 0.03, 0.3):
        slow = np.empty((90, 3))
        for fold in folds:
            rest = [row for row in range(90) if row not in fold]
            head = FirstHead.fit(problem, VECTORS[rest], [targets[row] for row in rest], candidate)
            slow[fold] = head.logits(VECTORS[fold])
        losses[candidate] = problem.score(slow, targets)["loss"]
        if candidate == strength:
            np.testing.assert_allclose(logits, slow)
    assert strength == min(losses, key=losses.get)
