"""The steps of `fit`: the head on frozen vectors, folds, fine-tuning, and which of them is saved."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from script_runs import coloured, fine_tune, predictions_of, write_csv
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from vocabless import VocablessClassifier
from vocabless.training.finetuning import candidates, prepared, tuning
from vocabless.training.finetuning import fit as fitting
from vocabless.training.finetuning.candidates import HEAD, MEAN, TRAINED, Candidate
from vocabless.training.finetuning.head import first_head, head_choice
from vocabless.training.finetuning.head.everyday_lines import EVERYDAY_LINES
from vocabless.training.finetuning.rows import held_out
from vocabless.training.finetuning.rows.held_out import FOLDS, training_folds
from vocabless.training.finetuning.rows.sources import load_own_data
from vocabless.training.finetuning.tasks.arguments import DataArguments
from vocabless.training.finetuning.tasks.logits import TextLogits
from vocabless.training.finetuning.tasks.problems import SingleLabel

ROWS = coloured(60)


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "mine.csv", ROWS)


@pytest.mark.parametrize(("flags", "folds"), [(["--random_head", "true"], 5), ([], 5), ([], 1)])
@pytest.mark.quick("flags1-5", "flags2-1")
def test_scores_of_folds_are_those_of_a_slow_loop_over_the_folds(flags, folds, tune, tmp_path, monkeypatch, keep):
    """From some number of rows on, one fold is scored. Each fold is a command of its own: its rows are the validation
    and the test file. With one strength of the regularisation and no wide part, the first head of a fold depends on
    the others alone. All texts have sentences, which a fitted head reads, too."""
    rows = [(f"This is a sentence. {text} is another one.", label) for text, label in ROWS]
    data = write_csv(tmp_path / "mine.csv", rows)
    settings = ["--max_seq_length", "32", "--learning_rate", "1e-3", "--load_best_model_at_end", "false", *flags]
    settings += ["--eval_strategy", "no"]
    monkeypatch.setattr(head_choice, "STRENGTHS", (0.03,))
    monkeypatch.setattr(first_head, "wide_rows", lambda _: 0)
    monkeypatch.setattr(TextLogits, "sentence_errors", lambda _, targets: -np.ones(len(targets)))
    monkeypatch.setattr(candidates, "_temperature", lambda *_: 1.0)  # that of a fold would suit it alone
    monkeypatch.setattr(held_out, "FEW_ROWS", 60 if folds == FOLDS else 59)
    keep(MEAN)
    _, results = tune(tmp_path / "whole", "--train_file", data, *settings)
    task = load_own_data(DataArguments(train_file=str(data)), scores_folds=True)
    assert task.is_cross_validated and results["scored_folds"] == folds
    assert results["rows"]["accuracy"] == 12 * folds
    losses, right = [], []
    for number, fold in enumerate(training_folds(task)[:folds]):
        of_fold = [rows[row] for row in fold]
        train = write_csv(tmp_path / "rest.csv", [row for row in rows if row not in of_fold])
        test = write_csv(tmp_path / "fold.csv", of_fold)
        files = ["--train_file", train, "--validation_file", test, "--test_file", test]
        folder, _ = tune(tmp_path / f"fold {number}", *files, *settings)
        for record, (_, label) in zip(predictions_of(folder), of_fold, strict=True):
            found = record["probabilities"]
            losses.append(-np.log(found[label]))
            right.append(max(found, key=found.get) == label)
    assert results["measures"]["accuracy"] == np.mean(right)
    assert results["measures"]["loss"] == pytest.approx(np.mean(losses), abs=1e-3)
    assert ("head" in results) == (not flags)


def test_a_killed_run_loses_one_fold_and_ends_alike(tune, data, tmp_path, monkeypatch, keep):
    keep(MEAN)
    command = ["--train_file", data]
    folder, whole = tune(tmp_path / "whole", *command)
    assert not list((tmp_path / "whole").rglob("*.npz"))
    calls, trainer = [], tuning.TaskTrainer

    def killed(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return trainer(*arguments, **options)

    monkeypatch.setattr(tuning, "TaskTrainer", killed)
    with pytest.raises(SystemExit, match="130"):
        tune(tmp_path / "killed", *command)
    again, resumed = tune(tmp_path / "killed", *command)
    assert len(calls) == 3 + 3 + 1  # two of the five folds are kept; then all rows
    assert resumed["measures"]["loss"] == whole["measures"]["loss"]
    first, second = (load_file(each / "model.safetensors") for each in (folder, again))
    assert all((first[name] == second[name]).all() for name in first)
    assert not list((tmp_path / "killed").rglob("*.npz"))


def test_rows_that_are_sorted_by_length_for_training_are_scored_as_themselves(tune, tmp_path):
    """Without training, an accuracy of one shows that each row has its own logits."""
    rows = [(" ".join([colour] * length), colour) for length in range(1, 9) for colour in ("red", "blue", "green")]
    data = write_csv(tmp_path / "mine.csv", rows)
    command = ["--train_file", data, "--train_sampling_strategy", "group_by_length", "--learning_rate", "0"]
    _, results = tune(tmp_path / "run", *command, "--num_train_epochs", "1")
    assert results["head"]["measures"]["accuracy"] == results["measures"]["accuracy"] == 1


@pytest.fixture
def always_wide(monkeypatch):
    monkeypatch.setattr(head_choice, "WIDE_GAIN", -1e9)


@pytest.mark.usefixtures("always_wide")
@pytest.mark.parametrize("is_cross_validated", [True, False])
def test_the_head_alone_is_fitted_printed_and_saved(is_cross_validated, tune, data, tmp_path, encoder, capsys):
    flags = [] if is_cross_validated else ["--validation_file", data]
    folder, results = tune(tmp_path / "run", "--train_file", data, "--num_train_epochs", "0", *flags)
    share = 100 * results["head"]["measures"]["accuracy"]
    way = "cross-validated" if is_cross_validated else "on 60 held-out rows"
    sentence = "mine, head alone (a linear model of the frozen encoder's vectors and of the words): accuracy"
    printed = capsys.readouterr().out
    assert f"{sentence} {share:.1f}, {way}.\n" in printed and "Now fine-tuning" not in printed
    assert results["epochs"] == 0 and results["head"]["is_kept"]
    if is_cross_validated:
        assert results["measures"]["accuracy"] == results["head"]["measures"]["accuracy"]
    before, after = load_file(f"{encoder}/model.safetensors"), load_file(folder / "model.safetensors")
    for name, weight in before.items():
        assert (weight == after[f"vocabless.{name}"]).all()
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    assert model.config.num_labels == 3 and model.config.classifier_wide_rows == len(after["classifier.wide.weight"])


@pytest.mark.parametrize("epochs", [0, 1])
@pytest.mark.parametrize("are_harmless", [True, False], ids=["harmless", "harmful"])
@pytest.mark.quick("harmless-1", "harmful-0")
def test_the_saved_classifier_reads_sentences_unless_held_out_rows_lose_by_it(
    are_harmless, epochs, tune, tmp_path, monkeypatch, keep
):
    errors = np.full(60, -1.0 if are_harmless else 1.0)
    monkeypatch.setattr(TextLogits, "sentence_errors", lambda _, targets: errors[: len(targets)])
    keep(HEAD if epochs == 0 else MEAN)
    rows = [(f"This is a sentence. {text} is another one.", label) for text, label in ROWS]
    data = write_csv(tmp_path / "mine.csv", rows)
    folder, _ = tune(tmp_path / "run", "--train_file", data, "--num_train_epochs", str(epochs))
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    assert model.config.classifier_reads_sentences == ("odds" if are_harmless else False)
    model.config.classifier_reads_sentences, tokenizer = False, AutoTokenizer.from_pretrained(folder)
    of_task, everyday = (
        model(**tokenizer([*texts], padding=True, return_tensors="pt")).logits.mean(dim=1)
        for texts in ([text for text, _ in rows], EVERYDAY_LINES)
    )
    assert of_task.mean() > 0.1 and everyday.mean() < -0.1
    assert ("sentences of a text" in (folder / "README.md").read_text()) == are_harmless


@pytest.mark.usefixtures("always_wide")
def test_fine_tuning_keeps_the_wide_part_that_was_fitted(tune, data, tmp_path, monkeypatch, keep):
    alone, _ = tune(tmp_path / "alone", "--train_file", data, "--num_train_epochs", "0")
    keep(MEAN)
    monkeypatch.setattr(candidates, "_temperature", lambda *_: 1.0)
    tuned, _ = tune(tmp_path / "tuned", "--train_file", data, "--num_train_epochs", "1")
    head, weights = (load_file(folder / "model.safetensors") for folder in (alone, tuned))
    assert (head["classifier.wide.weight"] == weights["classifier.wide.weight"]).all()
    assert (head["classifier.dense.weight"] != weights["classifier.dense.weight"]).any()
    again, _ = tune(
        tmp_path / "again", "--train_file", data, "--num_train_epochs", "1", "--model_name_or_path", str(tuned)
    )
    assert (load_file(again / "model.safetensors")["classifier.wide.weight"] == head["classifier.wide.weight"]).all()


@pytest.mark.parametrize("is_cross_validated", [True, False])
@pytest.mark.quick("False")
def test_the_candidate_that_is_chosen_is_saved(is_cross_validated, tune, data, tmp_path, monkeypatch, keep):
    """The head alone, the trained weights, or the mean of the weights before and after training."""
    command = ["--train_file", data, "--num_train_epochs", "2"]
    command += [] if is_cross_validated else ["--validation_file", data]
    alone, _ = tune(tmp_path / "alone", *command, "--num_train_epochs", "0")
    weights = {}
    monkeypatch.setattr(candidates, "_temperature", lambda *_: 1.0)
    for name in (HEAD, TRAINED, MEAN):
        keep(name)
        folder, results = tune(tmp_path / name, *command)
        assert results["head"]["is_kept"] == (name == HEAD)
        assert results["is_mean_of_weights"] == (name == MEAN) and (results["epochs"] > 0 or is_cross_validated)
        assert ("the mean of those before and after training" in (folder / "README.md").read_text()) == (name == MEAN)
        weights[name] = load_file(folder / "model.safetensors")
    head, trained, mean = weights.values()
    assert all((weight == head[name]).all() for name, weight in load_file(alone / "model.safetensors").items())
    for name, weight in mean.items():
        assert torch.allclose(weight, (head[name] + trained[name]) / 2, atol=1e-7)
    assert any((head[name] != trained[name]).any() for name in head)


@pytest.mark.usefixtures("always_wide")
@pytest.mark.parametrize("is_cross_validated", [True, False])
@pytest.mark.quick("True")
def test_the_logits_of_a_fine_tuned_model_are_divided_by_what_suits_held_out_rows(
    is_cross_validated, tune, data, tmp_path, monkeypatch, keep
):
    command = ["--train_file", data, "--num_train_epochs", "1"]
    command += [] if is_cross_validated else ["--validation_file", data]
    keep(MEAN)
    monkeypatch.setattr(held_out, "FEW_ROWS", 1)
    losses = []

    def temperature_of(task, logits):
        losses.append(task.problem.score(logits.texts / divisor, task.targets(task.validation[""]))["loss"])
        return divisor

    monkeypatch.setattr(candidates, "_temperature", temperature_of)
    weights = {}
    for divisor in (1.0, 4.0):
        losses.clear()
        folder, results = tune(tmp_path / str(divisor), *command)
        assert results["is_mean_of_weights"] and results["measures"]["loss"] == pytest.approx(losses[-1], rel=1e-5)
        weights[divisor] = load_file(folder / "model.safetensors")
    for name, weight in weights[1.0].items():
        is_last = name.startswith(("classifier.out_proj", "classifier.wide"))
        torch.testing.assert_close(weights[4.0][name], weight / 4 if is_last else weight, rtol=0, atol=0)


def test_a_temperature_counts_the_weights_of_held_out_rows(tmp_path):
    """Logits of 8 are wrong for one row in four, so the temperature is far above 1, unless these rows hardly count."""
    task = load_own_data(DataArguments(train_file=str(write_csv(tmp_path / "mine.csv", ROWS))), scores_folds=True)
    targets = task.targets(task.validation[""])
    logits = 8.0 * np.eye(3)[targets]
    wrong = np.arange(len(targets)) % 4 == 0
    logits[wrong] = np.roll(logits[wrong], 1, axis=1)

    def temperature_of(task):
        of_texts = {"": TextLogits(logits, logits[:0], np.empty(0, int))}
        return Candidate.of(TRAINED, task, of_texts, is_calibrated=False).temperature

    found = temperature_of(task)
    assert 3 < found < 7 and found == task.problem.temperature(logits, targets)
    examples = replace(task.validation[""], weights=np.where(wrong, 0.01, 1.0))
    assert temperature_of(replace(task, validation={"": examples})) < found / 1.5


@pytest.mark.parametrize(("epochs", "accuracy", "is_enough"), [
    (None, 1.0, True), (None, 0.9, True), (None, 0.8, False), (2, 1.0, False),
])  # fmt: skip
def test_nothing_is_trained_where_nothing_can_be_gained_unless_epochs_are_given(
    epochs, accuracy, is_enough, encoder, data, tmp_path, monkeypatch
):
    """Half of the interval of an accuracy of 0.9 in 60 rows of five folds is 0.12, and of 0.8 it is 0.15."""
    score, trained = SingleLabel.score, []
    monkeypatch.setattr(SingleLabel, "score", lambda *given: score(*given) | {"accuracy": accuracy})

    def on_folds(shared, head):
        trained.append(1)
        return shared.data, [Candidate.of(HEAD, shared.data, {"": head.held_out})]

    monkeypatch.setattr(fitting, "tune_on_folds", on_folds)
    flags = [] if epochs is None else ["--num_train_epochs", str(epochs)]
    _, results = fine_tune(tmp_path / "run", "--model_name_or_path", encoder, "--train_file", data, *flags)
    assert (not trained) == is_enough and results["head"]["is_kept"] and results["scored_folds"] == FOLDS


def test_a_run_on_own_data_loads_the_model_once_and_tokenises_each_row_once(tune, data, tmp_path, monkeypatch):
    loads, texts, encode = [], [], prepared.encode
    load = PreTrainedModel.from_pretrained.__func__
    counted = classmethod(lambda *given, **options: loads.append(given) or load(*given, **options))
    monkeypatch.setattr(PreTrainedModel, "from_pretrained", counted)
    monkeypatch.setattr(prepared, "encode", lambda part, *rest: texts.extend(part.texts) or encode(part, *rest))
    tune(tmp_path / "run", "--train_file", data)
    assert len(loads) == 1 and sorted(texts) == sorted(text for text, _ in ROWS)


def test_the_figures_are_those_of_the_estimator_with_the_same_settings(tune, data, tmp_path, encoder):
    settings = ["--learning_rate", "1e-3", "--seed", "3", "--per_device_train_batch_size", "16"]
    folder, results = tune(tmp_path / "run", "--train_file", data, *settings)
    classifier = VocablessClassifier(encoder, epochs=1, learning_rate=1e-3, random_state=3)
    texts, labels = zip(*ROWS, strict=True)
    classifier.fit(texts, labels)
    for name, value in classifier.cross_validated_.items():
        assert results["measures"][name] == value
    weights = load_file(folder / "model.safetensors")
    assert all(torch.equal(weights[name], weight) for name, weight in classifier.model_.state_dict().items())


def test_a_checkpoint_with_a_head_for_these_labels_keeps_it_and_others_of_theirs_fit_none(
    tune, data, tmp_path, stock_folder, capsys
):
    command = ["--train_file", data, "--validation_file", data]
    folder, _ = tune(tmp_path / "first", *command, "--num_train_epochs", "0")
    capsys.readouterr()
    _, results = tune(tmp_path / "second", *command, "--model_name_or_path", folder)
    assert "head" not in results and "head alone" not in capsys.readouterr().out
    for name in (folder, stock_folder("bert"), "hashgram-nano"):  # the last one is not trained
        with pytest.raises(SystemExit, match=r"--num_train_epochs 0 fits the head of an encoder .* is not; leave"):
            tune(tmp_path / "third", *command, "--model_name_or_path", name, "--num_train_epochs", "0")


KINDS = {  # kind of problem → header and rows, a metric, and the names of a prediction
    "multi_label_classification": (
        *(("text", "label"), [(t, f"{c};any" if c != "blue" else "") for t, c in ROWS]),
        *("micro_f1", {"labels", "probabilities"}),
    ),
    "regression": (("text", "label"), [(t, 0.5 if c == "blue" else 2.25) for t, c in ROWS], "pearson", {"value"}),
    "single_label_classification": (
        *(("sentence1", "sentence2", "label"), [(t, t[::-1], c) for t, c in ROWS]),
        *("accuracy", {"label", "probabilities"}),
    ),
}


@pytest.mark.parametrize(("kind", "validated"), [
    ("multi_label_classification", False), ("multi_label_classification", True), ("regression", True),
    ("single_label_classification", False),
])  # fmt: skip
@pytest.mark.quick("multi_label_classification-False", "regression-True")
def test_several_labels_numbers_and_pairs_begin_with_a_fitted_head(kind, validated, tune, tmp_path, monkeypatch):
    header, rows, metric, names = KINDS[kind]
    data = write_csv(tmp_path / "mine.csv", rows, header)
    written, write = [], first_head.write_head
    for module in (first_head, tuning):
        monkeypatch.setattr(module, "write_head", lambda *given: written.append(given) or write(*given))
    flags = ["--test_file", data, "--do_predict", *(["--label_separator", ";"] if kind.startswith("multi") else [])]
    flags += ["--validation_file", data] if validated else []
    folder, results = tune(tmp_path / "run", "--train_file", data, *flags, "--num_train_epochs", "1")
    assert len(written) == (1 if validated else 6)
    head, constant = results["head"]["measures"][metric], results["constant_baselines"][metric]
    assert head > constant + 0.1 and results["is_pair"] == (len(header) == 3)
    assert json.loads((folder / "config.json").read_text())["problem_type"] == kind
    limit = json.loads((folder / "config.json").read_text()).get("classifier_threshold")
    assert (limit is not None) == kind.startswith("multi") and results["threshold"] == (limit or 0.5)
    row = predictions_of(folder)[0]
    assert row.keys() == names and f"test_{metric}" in results["measures"]
    if kind.startswith("multi"):
        assert row["labels"] == [label for label, value in row["probabilities"].items() if value >= limit]
