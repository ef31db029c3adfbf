"""The first head: its logits are those of scikit-learn, and the model's head has the same."""

import copy
import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix, random
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits
from transformers import DataCollatorWithPadding
from transformers.utils import logging as transformers_logging

from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.modeling.wide_layer import WideLayer
from vocabless.training.finetuning.head import frozen_features, head_choice, linear_problem
from vocabless.training.finetuning.head.first_head import are_harmful
from vocabless.training.finetuning.head.frozen_features import Features, read_features, relevance, wide_features
from vocabless.training.finetuning.head.head_choice import choose, held_out_heads
from vocabless.training.finetuning.head.head_writing import wide_rows, write_head
from vocabless.training.finetuning.head.linear_head import LabelledFeatures, LinearHead, Settings
from vocabless.training.finetuning.head.linear_problem import LinearProblem
from vocabless.training.finetuning.rows.held_out import folds_of
from vocabless.training.finetuning.tasks import logits, problems
from vocabless.training.finetuning.tasks import logits as logits_file
from vocabless.training.finetuning.tasks.logits import logits_of
from vocabless.training.finetuning.tasks.problems import ABSENT, MultiLabel, Regression, SingleLabel

chance = np.random.default_rng(0)
VECTORS = chance.normal(3.0, 2.0, (90, 8)) * np.arange(1, 9)
WIDE = random(90, 40, 0.2, format="csr", random_state=0)
CLASSES = (VECTORS @ chance.normal(size=(8, 3))).argmax(1)


@pytest.fixture(scope="module")
def few_settings() -> None:
    """The head tries all settings."""


SETTINGS = Settings(0.3)
ONCE = np.ones(90)
LOGISTIC = LogisticRegression(C=0.3, tol=1e-8, max_iter=1000)


@pytest.mark.parametrize(("seconds", "shows_bars"), [(0, True), (0, False), (2, True)])
def test_fits_and_texts_that_take_long_show_a_bar_unless_bars_are_off(seconds, shows_bars, monkeypatch, capsys):
    for module in (head_choice, logits_file):
        monkeypatch.setattr(module, "SILENT_SECONDS", seconds)
    monkeypatch.setattr(transformers_logging, "_tqdm_active", shows_bars)
    targets = CLASSES
    labelled = LabelledFeatures(SingleLabel(["a", "b", "c"]), Features(VECTORS), targets)
    held_out_heads(labelled, folds_of(targets), SETTINGS)
    list(logits_file.batches([{"input_ids": [1, 2]}] * 100, list))
    shown = capsys.readouterr().err
    assert ("Head: " in shown, "Texts: " in shown) == (seconds == 0 and shows_bars,) * 2


@pytest.mark.parametrize(("problem", "targets", "model", "tolerance"), [
    (SingleLabel(["a", "b", "c"]), CLASSES, LOGISTIC, 5e-3),
    (SingleLabel(["a", "b"]), np.minimum(CLASSES, 1), LOGISTIC, 5e-3),
    (MultiLabel(["a", "b"]), np.stack([CLASSES == 0, CLASSES != 2], 1) * 1.0, OneVsRestClassifier(LOGISTIC), 5e-3),
    (Regression(), VECTORS[:, 0] + 1.0, Ridge(alpha=1 / 0.3), 1e-6),
])  # fmt: skip
def test_a_head_predicts_like_scikit_learns_model_of_its_problem(problem, targets, model, tolerance):
    logits = torch.from_numpy(
        LinearProblem(LabelledFeatures(problem, Features(VECTORS), targets)).fit(SETTINGS).logits(Features(VECTORS))
    )
    ours = {SingleLabel: logits.softmax(-1), MultiLabel: logits.sigmoid(), Regression: logits[:, 0]}[type(problem)]
    model = make_pipeline(StandardScaler(), model).fit(VECTORS, targets)
    expected = model.predict(VECTORS) if isinstance(problem, Regression) else model.predict_proba(VECTORS)
    np.testing.assert_allclose(ours, expected, atol=tolerance)


def test_a_label_without_rows_is_never_predicted():
    features = Features(VECTORS, WIDE)
    for settings in (SETTINGS, Settings(0.3, 1.0)):
        three = LabelledFeatures(SingleLabel(["a", "b", "c"]), features, np.minimum(CLASSES, 1))
        head = LinearProblem(three).fit(settings)
        logits = head.logits(features)
        assert np.allclose(logits[:, 2], ABSENT) and (logits.argmax(1) < 2).all()
        alone = LinearProblem(LabelledFeatures(SingleLabel(["a", "b"]), features, np.ones(90, int))).fit(settings)
        assert (alone.logits(features).argmax(1) == 1).all()


@pytest.mark.parametrize("features", [Features(VECTORS), Features(VECTORS, WIDE)], ids=["vectors", "kernel"])
def test_blas_has_one_thread_while_a_head_is_fitted(features):
    threads = []

    class Recording(SingleLabel):
        def fit_linear(self, *args):
            threads.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
            return super().fit_linear(*args)

    with threadpool_limits(2, "blas"):
        LinearProblem(LabelledFeatures(Recording(["a", "b", "c"]), features, CLASSES)).fit(Settings(0.3, 1.0))
        after = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    assert set(threads) == {1} and after == {2}


def slow_relevance(problem, targets, counts=ONCE):
    """How much the class of a text with a row differs from that of any text; of several labels, that of each label."""
    if isinstance(problem, Regression):
        return np.ones(40)
    labels = targets.T if isinstance(problem, MultiLabel) else [targets]
    result = []
    for row in WIDE.toarray().T:
        divergence = 0.0
        for label in labels:
            for value in set(label):
                of_all = sum(counts[label == value]) / sum(counts)
                of_row = (sum(counts[(label == value) & (row > 0)]) + of_all) / (sum(counts[row > 0]) + 1)
                divergence += of_row * math.log(of_row / of_all)
        result.append(divergence**0.5)
    return np.array(result)


@pytest.mark.parametrize(("problem", "targets"), [
    (SingleLabel(["a", "b", "c", "without a row"]), CLASSES),
    (MultiLabel(["a", "b"]), np.stack([CLASSES == 0, CLASSES != 2], 1) * 1.0),
])  # fmt: skip
def test_the_relevance_of_a_row_is_a_divergence_of_classes(problem, targets):
    counts = chance.integers(1, 4, 90).astype(float)
    for weights in (None, counts):
        found = relevance(Features(VECTORS, WIDE, weights), problem.memberships(targets))
        shares = np.ones(90) if weights is None else counts / counts.mean()
        np.testing.assert_allclose(found, slow_relevance(problem, targets, shares), atol=1e-7)
    nowhere = Features(VECTORS, csr_matrix((90, 3)))
    assert not relevance(nowhere, problem.memberships(targets)).any()
    head = LinearProblem(LabelledFeatures(problem, nowhere, targets)).fit(Settings(0.3, 1.0))
    assert np.isfinite(head.logits(nowhere)).all() and not head.wide.any()


@pytest.mark.parametrize("most_kernel_rows", [1000, 10], ids=["kernel", "sparse"])
@pytest.mark.parametrize(("problem", "targets", "model"), [
    (SingleLabel(["a", "b", "c"]), CLASSES, LOGISTIC),
    (MultiLabel(["a", "b"]), np.stack([CLASSES == 0, CLASSES != 2], 1) * 1.0, OneVsRestClassifier(LOGISTIC)),
    (Regression(), VECTORS[:, 0] + 1.0, Ridge(alpha=1 / 0.3)),
])  # fmt: skip
def test_vector_and_wide_features_are_one_problem(problem, targets, model, most_kernel_rows, monkeypatch):
    monkeypatch.setattr(linear_problem, "MAX_KERNEL_ROWS", most_kernel_rows)
    monkeypatch.setattr("vocabless.training.finetuning.tasks.problems.TOLERANCE", 1e-6)
    head = LinearProblem(LabelledFeatures(problem, Features(VECTORS, WIDE), targets)).fit(Settings(0.3, 2.0))
    logits = torch.from_numpy(head.logits(Features(VECTORS, WIDE)))
    ours = {SingleLabel: logits.softmax(-1), MultiLabel: logits.sigmoid(), Regression: logits[:, 0]}[type(problem)]
    wide = WIDE.toarray() * slow_relevance(problem, targets)
    wide /= np.mean((wide**2).sum(axis=1)) ** 0.5
    joined = np.hstack([StandardScaler().fit_transform(VECTORS), 2 * 8**0.5 * wide])
    model = model.fit(joined, targets)
    expected = model.predict(joined) if isinstance(problem, Regression) else model.predict_proba(joined)
    np.testing.assert_allclose(ours, expected, atol=5e-3)


@pytest.mark.parametrize(("problem", "targets"), [
    (SingleLabel(["a", "b", "c", "without a row"]), CLASSES),
    (SingleLabel(["a", "b", "without a row"]), np.minimum(CLASSES, 1)),
    (MultiLabel(["a", "always", "never"]), np.stack([CLASSES == 0, CLASSES < 3, CLASSES > 2], 1) * 1.0),
    (Regression(), VECTORS[:, 0] * 1e-3),
    (Regression(), VECTORS[:, 0] * 100 + 2000),
])  # fmt: skip
def test_the_model_of_many_rows_is_that_of_few(problem, targets, monkeypatch):
    labelled = LabelledFeatures(problem, Features(VECTORS, WIDE, np.linspace(0.5, 2, 90)), targets)
    monkeypatch.setattr(problems, "TOLERANCE", 1e-6)
    few = LinearProblem(labelled).fit(Settings(0.3, 2.0)).logits(labelled.features)
    monkeypatch.setattr(linear_problem, "MAX_KERNEL_ROWS", 10)
    many = LinearProblem(labelled).fit(Settings(0.3, 2.0)).logits(labelled.features)
    if not isinstance(problem, Regression):
        few, many = (torch.from_numpy(logits) for logits in (few, many))
        activate = torch.sigmoid if isinstance(problem, MultiLabel) else torch.nn.Softmax(dim=-1)
        few, many = activate(few), activate(many)
    np.testing.assert_allclose(many, few, atol=1e-3 * targets.std())


def test_the_fit_of_many_rows_copies_no_features(monkeypatch):
    monkeypatch.setattr(linear_problem, "MAX_KERNEL_ROWS", 10)
    monkeypatch.setattr(frozen_features, "BLOCK_ROWS", 100)
    wide = random(3000, 500, 0.3, "csr", np.float32, random_state=0)
    labelled = LabelledFeatures(SingleLabel(["a", "b"]), Features(np.eye(3000, 4), wide), np.tile([0, 0, 1], 1000))
    tracemalloc.start()
    LinearProblem(labelled).fit(Settings(0.3, 1.0))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < wide.data.nbytes


UNIT = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)


@pytest.mark.parametrize("wide", [None, WIDE], ids=["vectors", "kernel"])
def test_a_head_of_sentence_vectors_is_scikit_learns_model_of_them_with_one_scale(wide, monkeypatch):
    monkeypatch.setattr("vocabless.training.finetuning.tasks.problems.TOLERANCE", 1e-6)
    features, problem = Features(UNIT, wide, are_taught=True), SingleLabel(["a", "b", "c"])
    head = LinearProblem(LabelledFeatures(problem, features, CLASSES)).fit(Settings(0.3, 2.0))
    centred = UNIT - UNIT.mean(0)
    inputs = centred * math.sqrt(8 / np.mean([row @ row for row in centred]))
    if wide is not None:
        relevant = wide.toarray() * slow_relevance(problem, CLASSES)
        inputs = np.hstack([inputs, 2 * 8**0.5 * relevant / np.mean((relevant**2).sum(axis=1)) ** 0.5])
    expected = LOGISTIC.fit(inputs, CLASSES).predict_proba(inputs)
    found = torch.from_numpy(head.logits(features)).softmax(-1)
    np.testing.assert_allclose(found, expected, atol=5e-3)


@pytest.mark.parametrize("wide", [None, WIDE])
def test_the_mean_of_the_logits_is_the_log_odds_against_everyday_lines(wide):
    """Probabilities stay as they are, also where a label has no rows."""
    classes, lines = np.minimum(CLASSES, 1), VECTORS[:20] - 4.0
    alone = LabelledFeatures(SingleLabel(["a", "b", "c"]), Features(VECTORS, wide), classes)
    settings = Settings(0.3, 1.0)
    plain, found = (
        LinearProblem(each).fit(settings).logits(alone.features) for each in (alone, replace(alone, everyday=lines))
    )
    np.testing.assert_allclose(softmax(found, axis=1), softmax(plain, axis=1), atol=1e-9)
    scaler = StandardScaler().fit(VECTORS)
    inputs, targets = scaler.transform(np.concatenate([VECTORS, lines])), [1] * 90 + [0] * 20
    model = LogisticRegression(C=linear_problem.ODDS_STRENGTH, class_weight="balanced", tol=1e-8).fit(inputs, targets)
    np.testing.assert_allclose(found.mean(1), model.decision_function(inputs[:90]), atol=0.05)


def test_sentence_vectors_that_are_all_the_same_leave_the_bias_alone():
    features = Features(np.full((90, 8), 8**-0.5), are_taught=True)
    same = LabelledFeatures(SingleLabel(["a", "b", "c"]), features, CLASSES)
    logits = torch.from_numpy(LinearProblem(same).fit(Settings(30.0)).logits(features))
    np.testing.assert_allclose(logits.softmax(-1)[0], np.bincount(CLASSES) / 90, atol=1e-3)


def test_the_head_of_a_model_has_the_logits_of_sentence_vectors_and_keeps_the_layer_that_makes_them():
    config = load_config("hashgram-nano", classifier_pooling="mean", num_labels=3, classifier_activation="rms_norm")
    model, tokenizer = VocablessForSequenceClassification(config).eval(), load_tokenizer("hashgram-nano")
    before = copy.deepcopy(model.classifier.dense.state_dict())
    rows = [{"input_ids": tokenizer(text)["input_ids"]} for text in "one|two threes|four|a five or six|no".split("|")]
    features = read_features(model, DataCollatorWithPadding(tokenizer), 0, False, rows)
    np.testing.assert_allclose(np.square(features.vectors).mean(axis=1), 1, atol=1e-6)
    labelled = LabelledFeatures(SingleLabel(["a", "b", "c"]), features, np.array([0, 1, 2, 0, 1]))
    head = LinearProblem(labelled).fit(Settings(3.0))
    write_head(head, model)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.classifier.dense.state_dict().items())
    np.testing.assert_allclose(
        logits_of(model, rows, DataCollatorWithPadding(tokenizer)), head.logits(features), atol=1e-5
    )


@pytest.mark.parametrize(("pooling", "size"), [("mean", 1), ("siamese", 4)])
def test_the_head_of_a_model_has_nearly_the_same_logits(pooling, size):
    config = load_config("hashgram-nano", classifier_pooling=pooling, num_labels=3)
    model = VocablessForSequenceClassification(config).eval()
    module = model.classifier
    vectors = chance.normal(size=(200, size * config.hidden_size))
    targets = vectors[:, :3].argmax(1)
    labelled = LabelledFeatures(SingleLabel(["a", "b", "c"]), Features(vectors), targets)
    head = LinearProblem(labelled).fit(Settings(0.003))
    write_head(head, model)
    with torch.no_grad():
        ours = module.out_proj(torch.tanh(module.dense(torch.from_numpy(vectors).float()))).numpy()
    expected = head.logits(Features(vectors))
    assert (ours.argmax(1) == expected.argmax(1)).mean() > 0.95
    assert np.corrcoef(ours.ravel(), expected.ravel())[0, 1] > 0.99
    assert ours.std() / expected.std() == pytest.approx(1, abs=0.1)
    if pooling == "siamese":
        large = LinearHead(np.zeros((65, vectors.shape[1])), np.zeros(65), np.zeros(1), np.ones(1))
        with pytest.raises(ValueError, match="a head with 64 units has no place for 65 outputs; fine-tune without it"):
            write_head(
                large,
                VocablessForSequenceClassification(
                    load_config("hashgram-nano", classifier_pooling=pooling, num_labels=65)
                ),
            )


def test_the_wide_part_of_a_head_is_written_and_taken_away():
    model = VocablessForSequenceClassification(load_config("hashgram-nano", classifier_pooling="mean", num_labels=3))
    wide = chance.normal(size=(32, 3))
    options = np.zeros((3, 64)), np.zeros(3), np.zeros(64), np.ones(64)
    write_head(LinearHead(*options, wide), model)
    np.testing.assert_allclose(model.classifier.wide.weight.detach(), wide, rtol=1e-6)
    assert model.config.classifier_wide_rows == 32
    write_head(LinearHead(*options), model)
    assert model.classifier.wide is None and model.config.classifier_wide_rows == 0


@pytest.mark.parametrize("wide", [None, WIDE, csr_matrix(np.eye(3)[CLASSES])], ids=["none", "noise", "telling"])
def test_the_settings_have_the_best_held_out_loss_and_each_row_is_scored_without_itself(wide):
    problem, targets, features = SingleLabel(["a", "b", "c"]), CLASSES, Features(VECTORS, wide)
    folds = folds_of(targets)
    settings, held_out = choose(LabelledFeatures(problem, features, targets), folds)
    slow, losses = {}, {}
    strengths, weights = (0.003, 0.03, 0.3, 3.0), (0.0,) if wide is None else (0.0, 1.0, 2.0, 4.0)
    for candidate in (Settings(strength, weight) for weight in weights for strength in strengths):
        raw = np.empty((90, 3))
        for fold in folds:
            rest = np.array([row for row in range(90) if row not in fold])
            head = LinearProblem(LabelledFeatures(problem, features.select(rest), targets[rest])).fit(candidate)
            raw[fold] = head.logits(features.select(fold))
        divided = {by: torch.from_numpy(raw / by) for by in problem.temperatures}
        of_rows = {by: problem.losses(logits, torch.tensor(targets)).numpy() for by, logits in divided.items()}
        temperature = min(of_rows, key=lambda by: of_rows[by].sum() + 4 * math.log(by / 1.2) ** 2)
        candidate = replace(candidate, temperature=temperature)
        slow[candidate], losses[candidate] = raw / temperature, of_rows[temperature]
    again = held_out_heads(LabelledFeatures(problem, features, targets), folds, settings)
    for found in (held_out, again):
        np.testing.assert_allclose(found.logits, slow[settings])
        for fold, (rows, head) in zip(folds, found.heads, strict=True):
            np.testing.assert_array_equal(rows, fold)
            np.testing.assert_allclose(head.logits(features.select(fold)), slow[settings][fold])

    def cost(settings):
        return losses[settings].sum() + math.log10(settings.strength) ** 2

    alone, *_ = best = sorted(losses, key=lambda each: (each.wide_weight > 0, cost(each)))
    wides = [each for each in best if each.wide_weight > 0]
    gains = losses[alone] - losses[wides[0] if wides else alone]
    is_wide = bool(gains.mean() > 2.0 * gains.std() / 90**0.5)
    assert settings == (wides[0] if is_wide else alone)
    assert is_wide == (wide is not None and wide is not WIDE)


def test_few_rows_without_a_right_answer_do_not_choose_the_weakest_model():
    """Of two rows, each is wrong without itself, so that the smallest strength has the smallest loss."""
    labelled = LabelledFeatures(
        SingleLabel(["a", "b"]), Features(np.array([[1.0, 0.5], [-1.0, 0.5]])), np.array([0, 1])
    )
    assert choose(labelled, folds_of([0, 1]))[0].strength in (0.3, 3.0)


def test_settings_of_many_rows_and_labels_are_chosen_on_one_fold(monkeypatch):
    monkeypatch.setattr("vocabless.training.finetuning.head.head_choice.MAX_CHOICE_CELLS", 90 * 3 - 1)
    problem, targets, features = SingleLabel(["a", "b", "c"]), CLASSES, Features(VECTORS, WIDE)
    folds = folds_of(targets)
    settings, found = choose(LabelledFeatures(problem, features, targets), folds)
    expected = held_out_heads(LabelledFeatures(problem, features, targets), folds, settings)
    np.testing.assert_allclose(found.logits[folds[0]], expected.logits[folds[0]])
    assert np.isnan(found.logits[np.concatenate(folds[1:])]).all() and len(found.heads) == 1


def test_the_temperature_divides_the_logits_of_both_parts():
    problem, features = SingleLabel(["a", "b", "c"]), Features(VECTORS, WIDE)
    alone, divided = (
        LinearProblem(LabelledFeatures(problem, features, CLASSES)).fit(Settings(0.3, 1.0, temperature))
        for temperature in (1.0, 2.5)
    )
    np.testing.assert_allclose(divided.logits(features), alone.logits(features) / 2.5)


def test_the_rows_of_a_wide_part_fit_their_bytes():
    for labels in (1, 2, 4, 77, 150, 1000, 1300):
        rows = wide_rows(labels)
        assert 1_350_000 < rows * (labels + 4) <= 1_400_000 or rows == 32_749  # the largest prime below 2¹⁵
        assert not any(rows % factor == 0 for factor in range(2, rows))
    assert wide_rows(4) * 8 <= 300_000 and wide_rows(77) * 81 <= 1_500_000 and wide_rows(100_000) == 0


def test_wide_features_of_batches_are_those_of_each_text(monkeypatch):
    monkeypatch.setattr(logits, "BATCH_SIZE", 2)
    tokenizer = load_tokenizer("hashgram-nano")
    texts = ["a red house, a red house", "no", "the long river in the valley below the hill", "yes, no", "no"]
    rows = [{"input_ids": tokenizer(text)["input_ids"]} for text in texts]
    config = load_config("hashgram-nano")
    found = wide_features(config, rows, DataCollatorWithPadding(tokenizer), 97).toarray()
    layer = WideLayer(config, 97, 1)
    for row, of_text in zip(rows, found, strict=True):
        expected = np.zeros(97, np.float32)
        columns, shares = layer.features(torch.tensor([row["input_ids"]]))
        np.add.at(expected, columns.flatten().numpy(), shares.flatten().numpy())
        np.testing.assert_allclose(of_text, expected, rtol=1e-5)
        assert of_text.any()


@pytest.mark.parametrize(("wrong", "rows", "expected"), [(9, 1000, False), (40, 1000, True), (3, 60, False)])
def test_sentences_may_cost_a_point_of_accuracy_and_what_few_rows_cannot_tell(wrong, rows, expected):
    assert are_harmful(np.array([1.0] * wrong + [0.0] * (rows - wrong))) is expected
