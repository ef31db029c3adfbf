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

A score on held-out rows is that of the model as it is saved: with the sentences that it reads beside a text, see
`FrozenEncoder`, and with the limit of several labels, see `threshold_of`. The rules that decide are in `held_out.py`.

The first head is written into the loaded model; all training is of copies.
"""

import copy
from collections.abc import Mapping, Sequence
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
from vocabless.training.finetuning.candidates import HEAD, MEAN, TRAINED, Candidate, simplest
from vocabless.training.finetuning.data import EncodedRows, Rows, TaskData
from vocabless.training.finetuning.first_head import FrozenEncoder, has_linear_head
from vocabless.training.finetuning.held_out import (
    FOLDS,
    folds_to_train,
    gains_on_fold,
    is_head_enough,
    is_simpler_better,
    is_simpler_better_on_folds,
    scored_rows,
    training_folds,
    with_scored_folds,
)
from vocabless.training.finetuning.metrics import Scores
from vocabless.training.finetuning.prepared import Log, Prepared, prepare
from vocabless.training.finetuning.problems import MultiLabel
from vocabless.training.finetuning.teacher import DistillingTrainer, distill_task
from vocabless.training.finetuning.text_logits import TextLogits
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
    data: TaskData  # with the validation rows of the scores, and the limit of several labels
    arguments: GlueArguments  # with the length that was chosen
    training: GlueTrainingArguments  # with the epochs and the batch size that were chosen
    chosen: Candidate  # the model on validation rows, or others like it on folds
    head: Candidate | None = None  # the head alone, on the same rows; None without a first head
    trainer: ResumableTrainer | None = None  # that trained the model
    train_metrics: Scores | None = None  # times, and the loss on the training rows
    teacher: dict[str, Any] | None = None  # see `distill_task`


@dataclass(frozen=True)
class _Head:
    """The first head."""

    frozen: FrozenEncoder
    alone: Candidate

    def on_scored_rows(self, data: TaskData) -> Candidate:
        """Returns the head alone on the folds of the data that are scored."""
        return Candidate.of(HEAD, data, {"": self.frozen.held_out.select(scored_rows(data))})


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
    prepared = prepare(data, loaded, arguments, training, has_first_head, log)
    head = _fit_head(prepared) if has_first_head else None
    if head is not None and (training.num_train_epochs == 0 or _is_enough(prepared, head.alone)):
        fitted = _result(prepared, data, prepared.model, head.alone, head.alone)
    else:
        fitted = _fine_tune(prepared, head)
    config: Any = fitted.model.config
    if head is not None:
        config.classifier_reads_sentences = head.frozen.reads_sentences
    if data.problem.name == MultiLabel.name:
        config.classifier_threshold = fitted.chosen.threshold
    return fitted


def _fine_tune(prepared: Prepared, head: _Head | None) -> Fitted:
    """Trains on folds and on all rows, and returns the best model."""
    # 2. and 3. Fine-tuning on folds, and the choice.
    data, alone = prepared.data, None if head is None else head.alone
    if head is not None:
        prepared.log(_describe_training(prepared, head.frozen.seconds))
    if data.is_cross_validated:
        data, alone, chosen = _choose_on_folds(prepared, head)
        if head is not None and chosen is alone:
            return _result(prepared, prepared.data, prepared.model, head.alone, head.alone)

    # 4. Fine-tuning on all rows; on validation rows that are apart, the choice follows.
    rows, teacher = prepared.rows, None
    if prepared.arguments.teacher is not None:
        rows, teacher = distill_task(data, rows, prepared.arguments, prepared.training, prepared.encode)
    trainer = _trainer(prepared, copy.deepcopy(prepared.model), rows)
    train_metrics = trainer.resume()
    models = {HEAD: prepared.model, TRAINED: cast(PreTrainedModel, trainer.model)}
    is_calibrated_here = head is not None and not trainer.is_sharded  # else there is no whole, linear head to divide
    if is_calibrated_here:
        models[MEAN] = mean_model(prepared.model, models[TRAINED])
    if not data.is_cross_validated:
        chosen = _choose_on_validation_rows(prepared, head, models)
    if is_calibrated_here and chosen.name != HEAD:
        divide_logits(models[chosen.name], chosen.temperature)
    result = _result(prepared, data, models[chosen.name], chosen, alone)
    return replace(result, trainer=trainer, train_metrics=train_metrics, teacher=teacher)


def _result(
    prepared: Prepared, data: TaskData, model: PreTrainedModel, chosen: Candidate, alone: Candidate | None
) -> Fitted:
    """Returns the chosen model."""
    data = replace(data, problem=data.problem.with_threshold(chosen.threshold))
    return Fitted(model, data, prepared.arguments, prepared.training, chosen, alone)


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
    cast(Any, model).config.classifier_reads_sentences = False  # until models were compared
    frozen = FrozenEncoder(model, prepared.rows, prepared.collator, data)
    frozen.head().write_into(model)
    if data.is_cross_validated:
        logits, way = {"": frozen.held_out}, "cross-validated"
    else:
        logits = _validation_logits(prepared, model, frozen.reads_sentences)
        way = f"on {len(data.validation['']):,} held-out rows"
    alone = Candidate.of(HEAD, data, logits)
    words = " and of the words" if cast(Any, model).config.classifier_wide_rows else ""
    prepared.log(
        f"{data.title}, head alone (a linear model of the frozen encoder's vectors{words}): "
        f"{_best_metric(data)} {100 * alone.scores[data.problem.best_metric]:.1f}, {way}."
    )
    return _Head(frozen, alone)


def _is_enough(prepared: Prepared, alone: Candidate) -> bool:
    """Returns whether nothing is trained: the number of epochs is free, and they could hardly gain anything."""
    is_enough = not prepared.are_epochs_given and is_head_enough(prepared.data, alone.scores)
    if is_enough:
        prepared.log("Training could not gain more than the interval of this score, so the head alone is kept.")
    return is_enough


def _train_on_folds(prepared: Prepared, head: _Head | None) -> tuple[TaskData, TextLogits, TextLogits]:
    """Returns the data with the folds that are scored, and the logits of their rows by models with trained weights.

    Those of a fold are of copies of the model that are trained without the fold, and then of those with the mean of the
    weights before and after training; twice the former where there is no mean, see `fit`. If the number of epochs is
    free and neither gains anything on the first fold, this is the only one. The logits of a finished fold are kept, so
    a run that was killed loses one fold.
    """
    data = with_scored_folds(prepared.data, folds_to_train(len(prepared.rows)))
    folds = training_folds(data)[: data.scored_folds]
    folder = Path(str(prepared.training.output_dir)) / FOLDS_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    is_one = len(folds) == 1
    training = prepared.training.without_output(folder)
    training.disable_tqdm = bool(training.disable_tqdm) or not is_one
    bar = tqdm(folds, desc="Cross-validation", disable=bool(prepared.training.disable_tqdm) or is_one)
    parts: list[list[tuple[Rows, TextLogits]]] = [[], []]  # of the trained weights, of the mean
    for number, fold in enumerate(bar):
        file = folder / f"{number}.npz"
        found = TextLogits.read(file) if file.is_file() else _train_without(fold, prepared, head, training, file)
        for of_folds, of_fold in zip(parts, found, strict=True):
            of_folds.append((fold, of_fold))
        if number or is_one or head is None or prepared.are_epochs_given:
            continue
        alone = head.frozen.held_out.select(fold)
        if not any(gains_on_fold(data, fold, alone, of_fold) for of_fold in found):
            prepared.log("Training gains nothing on the first of five folds, so the others are not trained.")
            data = with_scored_folds(prepared.data, 1)
            break
    of_trained, of_mean = map(TextLogits.of_parts, parts)
    return data, of_trained, of_mean


def _choose_on_folds(prepared: Prepared, head: _Head | None) -> tuple[TaskData, Candidate | None, Candidate]:
    """Trains on folds; returns the data with the scored folds, the head alone on them, and the simplest of the best."""
    data, of_trained, of_mean = _train_on_folds(prepared, head)
    if head is None:
        return data, None, Candidate.of(TRAINED, data, {"": of_trained})

    def is_better(simpler: Candidate, other: Candidate) -> bool:
        return is_simpler_better_on_folds(data, simpler.logits, other.logits)

    alone = head.on_scored_rows(data)
    named = {TRAINED: of_trained, MEAN: of_mean}
    tuned = simplest([Candidate.of(name, data, {"": each}, False) for name, each in named.items()], is_better)
    chosen = simplest([alone, tuned], is_better)
    prepared.log(_describe_choice(data, alone.scores, tuned.scores, chosen is alone))
    return data, alone, chosen


def _choose_on_validation_rows(
    prepared: Prepared, head: _Head | None, models: Mapping[str, PreTrainedModel]
) -> Candidate:
    """Returns the simplest of the models that no other one is better than on validation rows that are apart."""

    def is_better(simpler: Candidate, other: Candidate) -> bool:
        return is_simpler_better(prepared.training, simpler.scores, other.scores)

    reads_sentences = head is not None and head.frozen.reads_sentences
    candidates = [] if head is None else [head.alone]
    for name in (TRAINED, MEAN):
        if name in models:
            logits = _validation_logits(prepared, models[name], reads_sentences)
            candidates.append(Candidate.of(name, prepared.data, logits, is_calibrated=MEAN not in models))
    return simplest(candidates, is_better)


def _train_without(
    fold: Rows, prepared: Prepared, head: _Head | None, training: GlueTrainingArguments, file: Path
) -> Sequence[TextLogits]:
    """Returns the logits of the rows of a fold, with trained weights and with their mean; writes them into the file."""
    rest = np.setdiff1d(np.arange(len(prepared.rows)), fold)
    start: Any = copy.deepcopy(prepared.model)
    if head is not None:
        head.frozen.head(rest).write_into(start)
    model = copy.deepcopy(start)
    trainer = _trainer(prepared, model, [prepared.rows[row] for row in rest], training)
    trainer.resume()
    models = [model, mean_model(start, model) if head is not None and not trainer.is_sharded else model]
    reads_sentences = head is not None and head.frozen.reads_sentences
    held_out = [prepared.rows[row] for row in fold]
    logits = [TextLogits.of_model(each, held_out, prepared.collator, reads_sentences) for each in models]
    if training.process_index == 0:
        TextLogits.write(file, logits)
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


def _validation_logits(prepared: Prepared, model: PreTrainedModel, reads_sentences: bool) -> dict[str, TextLogits]:
    """Returns suffix → a model's logits of validation rows that are apart."""
    rows_of = prepared.validation_rows
    return {
        suffix: TextLogits.of_model(model, rows, prepared.collator, reads_sentences) for suffix, rows in rows_of.items()
    }


def _describe_training(prepared: Prepared, seconds: float) -> str:
    """Returns a sentence on how long training takes, by the seconds in which the frozen encoder read all rows."""
    epochs = float(prepared.training.num_train_epochs or 0)
    folds = folds_to_train(len(prepared.rows)) if prepared.data.is_cross_validated else 0
    models = 1 + folds * (1 - 1 / FOLDS)  # a fold is trained on the rows of the others
    step = ADVERSARIAL_STEP if prepared.epsilon else STEP
    minutes = step * seconds * epochs * models / 60
    once = f"{folds} without {'a' if folds == 1 else 'its'} fold, then one on all rows" if folds else "one"
    times = "epoch" if epochs == 1 else "epochs"
    rate = f"at a learning rate of {prepared.training.learning_rate:g}"
    return f"Training {once}, for {epochs:g} {times} {rate}: about {max(1, round(minutes))} min."


def _describe_choice(data: TaskData, head: Scores, tuned: Scores, is_head: bool) -> str:
    """Returns a sentence with both scores, and which model is kept."""
    metric, kept = data.problem.best_metric, "the head alone" if is_head else "fine-tuning"
    both = f"{100 * tuned[metric]:.1f} with fine-tuning, {100 * head[metric]:.1f} with the head alone"
    return f"{data.title}: {_best_metric(data)} {both}; {kept} is kept."


def _best_metric(data: TaskData) -> str:
    return data.problem.best_metric.replace("_", " ")
