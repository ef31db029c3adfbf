"""The one way to fine-tune: a head on frozen vectors, then folds, a choice, and training on all rows.

Both `run_glue.py` and `VocablessClassifier` call `fit`, so they have one definition of scores and of the saved model:

1. The rows are tokenised once, and a trained encoder of ours reads them: a linear head is fitted to its vectors, and
   to the words if that lowers the held-out loss (`WideLayer`). Training does not change this wide part. If the
   score can hardly become better and no number of epochs is given, this is all.
2. If no validation rows are apart, a copy of the model is trained without one fold, or for few rows for each fold.
3. Three models are compared on the same rows, each of which must be better than the simpler ones: the head alone; the
   trained weights; the mean of the weights before and after training, see `mean_model`.
4. What is better is saved: the head, or what becomes of a copy of the model that is trained on all rows. After a first
   head, the logits of the latter are divided by the temperature that suits the held-out rows, as those of the head are.

All scores on held-out rows are of whole texts. The model that is saved may read the sentences of texts, too, see
`FrozenEncoder`.

The rules that decide are in `held_out.py`. The first head is written into the loaded model; all training is of copies.
"""

import copy
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from tqdm.auto import tqdm
from transformers import EarlyStoppingCallback, PreTrainedModel

from vocabless.modeling.head_layers import PooledHead
from vocabless.training.finetuning.adversarial import AdversarialTrainer
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.data import EncodedRows, Rows, TaskData
from vocabless.training.finetuning.first_head import FrozenEncoder, has_linear_head
from vocabless.training.finetuning.frozen_features import Vectors, logits_of
from vocabless.training.finetuning.held_out import (
    FOLDS,
    folds_to_train,
    gains_on_fold,
    is_head_enough,
    is_simpler_better,
    is_simpler_better_on_folds,
    scored_rows,
    temperature_of,
    training_folds,
    with_scored_folds,
)
from vocabless.training.finetuning.metrics import Scores
from vocabless.training.finetuning.prepared import Log, Prepared, prepare
from vocabless.training.finetuning.teacher import DistillingTrainer, distill_task
from vocabless.training.finetuning.weighted_rows import WeightedTrainer
from vocabless.training.load import Loaded
from vocabless.training.trainer import ResumableTrainer, logits_only

# Time of a training step on some texts, as a multiple of the time in which the frozen encoder reads them.
STEP, ADVERSARIAL_STEP = 4, 7
FOLDS_FOLDER = "folds"  # in the folder of a run, until it is finished


@dataclass(frozen=True)
class Fitted:
    """A fine-tuned model, and how it came about."""

    model: PreTrainedModel
    data: TaskData  # with the validation rows of the scores
    arguments: GlueArguments  # with the length that was chosen
    training: GlueTrainingArguments  # with the epochs and the batch size that were chosen
    scores: Scores  # of the model on validation rows, or of others like it on folds
    head_scores: Scores | None = None  # of the head alone, on the same rows; None without a first head
    is_head: bool = False  # whether the head alone was kept
    is_mean: bool = False  # whether the weights are the mean of those before and after training
    trainer: ResumableTrainer | None = None  # that trained the model
    train_metrics: Scores | None = None  # times, and the loss on the training rows
    teacher: dict[str, Any] | None = None  # see `distill_task`


@dataclass(frozen=True)
class _Choice:
    """What is saved, as far as it is known before a model is trained on all rows."""

    data: TaskData  # with the validation rows of the scores
    scores: Scores  # of fine-tuning on folds; empty if validation rows are apart, and the choice follows
    head_scores: Scores | None = None  # of the head alone, on the same rows; None without a first head
    is_head: bool = False  # whether it is the head alone
    is_mean: bool = False  # whether it is the mean of the weights before and after training
    temperature: float = 1.0  # that suits its logits


@dataclass(frozen=True)
class _Head:
    """The first head."""

    frozen: FrozenEncoder
    alone: Fitted  # the result if the head alone is kept


def fit(
    data: TaskData,
    loaded: Loaded,
    arguments: GlueArguments,
    training: GlueTrainingArguments,
    log: Log = lambda line: None,
) -> Fitted:
    """Fine-tunes a model, see the module's first lines.

    Args:
        data: training and validation rows.
        loaded: model and tokenizer. The model gets the fitted head; its other weights are not changed.
        arguments: of the script.
        training: the Trainer's. What is None in both is chosen here. A killed run continues from its folder.
        log: takes lines for the user, such as the score of the head before training begins.

    Raises:
        ValueError: no epoch is asked for and no head can be fitted, the length is beyond the model's, or the loss is
            not finite.
    """
    cast(Any, loaded.model).to(training.device)
    has_first_head = loaded.lacks_head and has_linear_head(loaded.model, data.problem) and not arguments.random_head
    if training.num_train_epochs == 0 and not has_first_head:
        raise ValueError(
            f"--num_train_epochs 0 fits the head of a trained encoder of ours, but {arguments.model_name_or_path!r} is "
            "none, has a head for these labels, or needs another kind of head for them; leave it out."
        )
    # 1. The head alone.
    prepared = prepare(data, loaded, arguments, training, has_first_head, log)
    head = _fit_head(prepared) if has_first_head else None
    if head is None:
        return _fine_tune(prepared, None)
    if training.num_train_epochs == 0 or _is_enough(prepared, head.alone):
        fitted = head.alone
    else:
        log(_describe_training(prepared, head.frozen.seconds))
        fitted = _fine_tune(prepared, head)
    cast(Any, fitted.model).config.classifier_reads_sentences = head.frozen.reads_sentences
    return fitted


def _fine_tune(prepared: Prepared, head: _Head | None) -> Fitted:
    """Trains on folds and on all rows, and returns the best model."""
    # 2. and 3. Fine-tuning on folds, and the choice.
    data = prepared.data
    choice = _Choice(data, {}, head_scores=None if head is None else head.alone.scores)
    if data.is_cross_validated:
        choice = _choose_on_folds(prepared, head)
        if choice.is_head and head is not None:
            return head.alone

    # 4. Fine-tuning on all rows; on validation rows that are apart, the choice follows.
    rows, teacher = prepared.rows, None
    if prepared.arguments.teacher is not None:
        rows, teacher = distill_task(choice.data, rows, prepared.arguments, prepared.training, prepared.encode)
    trainer = _trainer(prepared, copy.deepcopy(prepared.model), rows)
    details: dict[str, Any] = {"train_metrics": trainer.resume(), "trainer": trainer, "teacher": teacher}
    model, common = cast(PreTrainedModel, trainer.model), (prepared.arguments, prepared.training)
    trained = Fitted(model, choice.data, *common, choice.scores, choice.head_scores, **details)
    if head is None:
        models = [trained]
    else:
        mean = [] if trainer.is_sharded else [replace(trained, model=mean_model(prepared.model, model), is_mean=True)]
        models = [replace(head.alone, **details), trained, *mean]
    calibrates = head is not None and not trainer.is_sharded
    if not data.is_cross_validated:
        return _best_on_validation_rows(prepared, models, calibrates)
    chosen = models[-1] if choice.is_mean else trained
    if calibrates:
        divide_logits(chosen.model, choice.temperature)
    return chosen


@torch.no_grad()
def mean_model(start: PreTrainedModel, trained: PreTrainedModel) -> PreTrainedModel:
    """Returns a model with the mean of the weights of two, which have the same parameters.

    Source: WiSE-FT (Wortsman et al., CVPR 2022) with α = 1/2: the mean keeps much of what `start` knew, and has most of
    what `trained` has learned from it.
    """
    model = copy.deepcopy(start)
    others = dict(trained.named_parameters())
    for name, parameter in model.named_parameters():
        parameter.lerp_(others[name].to(parameter), 0.5)
    return model


@torch.no_grad()
def divide_logits(model: Any, temperature: float) -> None:
    """Divides the logits of a model that `has_linear_head` by a temperature, in the weights of its head."""
    head: PooledHead = model.classifier
    for layer in filter(None, (head.out_proj, head.wide)):
        for parameter in layer.parameters():
            parameter.div_(temperature)


def _fit_head(prepared: Prepared) -> _Head:
    """Fits a head to the vectors of the frozen encoder, writes it into the model and logs its score."""
    data, model = prepared.data, prepared.model
    cast(Any, model).config.classifier_reads_sentences = False  # while models are compared
    frozen = FrozenEncoder(model, prepared.rows, prepared.collator, data)
    frozen.head().write_into(model)
    if data.is_cross_validated:
        scores, way = _score_on_folds(data, frozen.held_out_logits), "cross-validated"
    else:
        rows = len(data.validation[""])
        scores, way = _score_on_validation_rows(data, _validation_logits(prepared, model)), f"on {rows:,} held-out rows"
    words = " and of the words" if cast(Any, model).config.classifier_wide_rows else ""
    prepared.log(
        f"{data.title}, head alone (a linear model of the frozen encoder's vectors{words}): "
        f"{_best_metric(data)} {100 * scores[data.problem.best_metric]:.1f}, {way}."
    )
    alone = Fitted(model, data, prepared.arguments, prepared.training, scores, scores, is_head=True)
    return _Head(frozen, alone)


def _is_enough(prepared: Prepared, alone: Fitted) -> bool:
    """Returns whether nothing is trained: the number of epochs is free, and they could hardly gain anything."""
    is_enough = not prepared.are_epochs_given and is_head_enough(prepared.data, alone.scores)
    if is_enough:
        prepared.log("Training could not gain more than the interval of this score, so the head alone is kept.")
    return is_enough


def _train_on_folds(prepared: Prepared, head: _Head | None) -> tuple[TaskData, Vectors, Vectors]:
    """Returns the data with the folds that are scored, and logits (n, outputs) of their rows, NaN for other rows.

    Those of a fold are of copies of the model, with the mean of the weights before and after they are trained without
    the fold, and with the trained weights; twice the latter where there is no mean, see `fit`. If the number of epochs
    is free and neither gains anything on the first fold, this is the only one. The logits of a finished fold are kept,
    so a run that was killed loses one fold.
    """
    data = with_scored_folds(prepared.data, folds_to_train(len(prepared.rows)))
    folds = training_folds(data)[: data.scored_folds]
    folder = Path(str(prepared.training.output_dir)) / FOLDS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    logits = np.full((2, len(prepared.rows), data.problem.config["num_labels"]), np.nan)
    is_one = len(folds) == 1
    training = prepared.training.without_output(folder)
    training.disable_tqdm = bool(training.disable_tqdm) or not is_one
    bar = tqdm(folds, desc="Cross-validation", disable=bool(prepared.training.disable_tqdm) or is_one)
    for number, fold in enumerate(bar):
        file = folder / f"{number}.npy"
        logits[:, fold] = np.load(file) if file.is_file() else _train_without(fold, prepared, head, training, file)
        if number or is_one or head is None or prepared.are_epochs_given:
            continue
        if not any(gains_on_fold(data, fold, head.frozen.held_out_logits, each) for each in logits):
            prepared.log("Training gains nothing on the first of five folds, so the others are not trained.")
            return with_scored_folds(prepared.data, 1), logits[0], logits[1]
    return data, logits[0], logits[1]


def _choose_on_folds(prepared: Prepared, head: _Head | None) -> _Choice:
    """Trains on folds, and returns what shall be trained on all rows, or that the head alone is better."""
    data, of_mean, of_trained = _train_on_folds(prepared, head)
    if head is None:
        return _Choice(data, _score_on_folds(data, of_trained))
    is_mean = not is_simpler_better_on_folds(data, of_trained, of_mean)
    of_head, of_tuned = head.frozen.held_out_logits, of_mean if is_mean else of_trained
    temperature = temperature_of(data, of_tuned[scored_rows(data)])
    scores, head_scores = _score_on_folds(data, of_tuned / temperature), _score_on_folds(data, of_head)
    is_head = is_simpler_better_on_folds(data, of_head, of_tuned)
    choice = _Choice(data, scores, head_scores, is_head, is_mean, temperature)
    prepared.log(_describe_choice(data, head_scores, scores, choice.is_head))
    return choice


def _best_on_validation_rows(prepared: Prepared, models: Sequence[Fitted], calibrates: bool) -> Fitted:
    """Returns the simplest of the models that no other one is better than, with its scores; simpler ones come first."""
    best, *simpler = (
        each if each.is_head else _with_validation_scores(prepared, each, calibrates) for each in reversed(models)
    )
    for each in simpler:
        best = each if is_simpler_better(prepared.training, each.scores, best.scores) else best
    return best


def _with_validation_scores(prepared: Prepared, trained: Fitted, calibrates: bool) -> Fitted:
    """Returns a trained model with its scores on validation rows that are apart; it may be calibrated on them first."""
    logits = _validation_logits(prepared, trained.model)
    if calibrates:
        temperature = temperature_of(prepared.data, logits[""])
        divide_logits(trained.model, temperature)
        logits = {suffix: of_rows / temperature for suffix, of_rows in logits.items()}
    return replace(trained, scores=_score_on_validation_rows(prepared.data, logits))


def _train_without(
    fold: Rows, prepared: Prepared, head: _Head | None, training: GlueTrainingArguments, file: Path
) -> Vectors:
    """Returns the logits (2, n, outputs) of the n rows of a fold, see `_train_on_folds`; writes them."""
    rest = np.setdiff1d(np.arange(len(prepared.rows)), fold)
    start: Any = copy.deepcopy(prepared.model)
    if head is not None:
        head.frozen.head(rest).write_into(start)
    model = copy.deepcopy(start)
    trainer = _trainer(prepared, model, [prepared.rows[row] for row in rest], training)
    trainer.resume()
    held_out = [prepared.rows[row] for row in fold]
    of_mean = of_trained = logits_of(model, held_out, prepared.collator)
    if head is not None and not trainer.is_sharded:
        of_mean = logits_of(mean_model(start, model), held_out, prepared.collator)
    logits = np.stack([of_mean, of_trained])
    if training.process_index == 0:
        np.save(file.with_suffix(".new.npy"), logits)
        os.replace(file.with_suffix(".new.npy"), file)
    return logits


def _trainer(
    prepared: Prepared, model: PreTrainedModel, rows: EncodedRows, training: GlueTrainingArguments | None = None
) -> ResumableTrainer:
    """Returns the Trainer of a model, whose wide part stays as it is; without arguments, it has those of the run."""
    problem = prepared.data.problem
    wide = getattr(getattr(model, "classifier", None), "wide", None)
    if wide is not None:
        wide.requires_grad_(False)
    options: dict[str, Any] = {
        "model": model,
        "args": training or prepared.training,
        "train_dataset": rows,
        "eval_dataset": prepared.validation_rows.get(""),
        "data_collator": prepared.collator,
        "compute_metrics": problem.compute_metrics,
        "preprocess_logits_for_metrics": logits_only,
    }
    if prepared.arguments.teacher is not None:
        trainer: ResumableTrainer = DistillingTrainer(problem, **options)
    elif prepared.data.train.weights is not None:
        trainer = WeightedTrainer(problem, epsilon=prepared.epsilon, **options)
    else:
        trainer = AdversarialTrainer(epsilon=prepared.epsilon, **options)
    if prepared.arguments.early_stopping_patience and trainer.args.load_best_model_at_end:
        trainer.add_callback(EarlyStoppingCallback(prepared.arguments.early_stopping_patience))
    return trainer


def _score_on_folds(data: TaskData, logits: Vectors) -> Scores:
    """Returns the scores of held-out logits (n, outputs) of the training rows, on the scored folds."""
    return data.problem.score(logits[scored_rows(data)], data.targets(data.validation[""]))


def _validation_logits(prepared: Prepared, model: PreTrainedModel) -> dict[str, Vectors]:
    """Returns suffix → a model's logits (n, outputs) of validation rows that are apart."""
    rows_of = prepared.validation_rows
    return {suffix: logits_of(model, rows, prepared.collator) for suffix, rows in rows_of.items()}


def _score_on_validation_rows(data: TaskData, logits: dict[str, Vectors]) -> Scores:
    """Returns the scores of `_validation_logits`."""
    scores: Scores = {}
    for suffix, of_rows in logits.items():
        found = data.problem.score(of_rows, data.targets(data.validation[suffix]))
        scores |= {f"{name}{suffix}": value for name, value in found.items()}
    return scores


def _describe_training(prepared: Prepared, seconds: float) -> str:
    """Returns a sentence on how long training takes, by the seconds in which the frozen encoder read all rows."""
    epochs = float(prepared.training.num_train_epochs or 0)
    folds = folds_to_train(len(prepared.rows)) if prepared.data.is_cross_validated else 0
    models = 1 + folds * (1 - 1 / FOLDS)  # a fold is trained on the rows of the others
    step = ADVERSARIAL_STEP if prepared.epsilon else STEP
    minutes = step * seconds * epochs * models / 60
    once = f"{folds} without {'a' if folds == 1 else 'its'} fold, then one on all rows" if folds else "one"
    times = "epoch" if epochs == 1 else "epochs"
    return f"Training {once}, for {epochs:g} {times}: about {max(1, round(minutes))} min."


def _describe_choice(data: TaskData, head: Scores, tuned: Scores, is_head: bool) -> str:
    """Returns a sentence with both scores, and which model is kept."""
    metric, kept = data.problem.best_metric, "the head alone" if is_head else "fine-tuning"
    both = f"{100 * tuned[metric]:.1f} with fine-tuning, {100 * head[metric]:.1f} with the head alone"
    return f"{data.title}: {_best_metric(data)} {both}; {kept} is kept."


def _best_metric(data: TaskData) -> str:
    return data.problem.best_metric.replace("_", " ")
