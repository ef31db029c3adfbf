"""Fine-tuning of all weights: without a fold of the rows, to see what it gains on rows not learned, and on all rows."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from tqdm.auto import tqdm
from transformers import EarlyStoppingCallback, PreTrainedModel
from transformers.trainer_callback import ProgressCallback
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from vocabless.training.finetuning.candidates import HEAD, MEAN, TRAINED, Candidate, log_scores, on_folds, simplest
from vocabless.training.finetuning.head.first_head import HeadFit
from vocabless.training.finetuning.head.head_writing import write_head
from vocabless.training.finetuning.prepared import Prepared
from vocabless.training.finetuning.rows.held_out import folds_to_train, with_folds
from vocabless.training.finetuning.tasks.arguments import GlueTrainingArguments
from vocabless.training.finetuning.tasks.data import EncodedRows, Examples, Rows, TaskData
from vocabless.training.finetuning.tasks.logits import TextLogits
from vocabless.training.finetuning.tasks.metrics import Scores
from vocabless.training.finetuning.trainers.task_trainer import TaskTrainer
from vocabless.training.trainer import LossBar, ResumableTrainer

FOLDS_FOLDER = "folds"  # in the folder of a run, until it is finished
# Takes the training rows, and what encodes further texts; returns all rows to learn, and facts for `results.json`.
Teach = Callable[[EncodedRows, Callable[[Examples], EncodedRows]], tuple[EncodedRows, dict[str, Any]]]


@dataclass(frozen=True)
class Tuned:
    """Models with weights that were trained on all rows, by the names of candidates, and how."""

    models: dict[str, PreTrainedModel]
    trainer: ResumableTrainer | None = None
    metrics: Scores | None = None  # times, and the loss on the training rows
    teacher: dict[str, Any] | None = None  # see `distill_task`


def tune(prepared: Prepared, teach: Teach | None) -> Tuned:
    """Trains a copy of the model on all rows, and on those of a teacher."""
    rows, teacher = (prepared.rows, None) if teach is None else teach(prepared.rows, prepared.encode)
    return replace(_tune(prepared, prepared.training, rows, prepared.model), teacher=teacher)


def tune_on_folds(prepared: Prepared, head: HeadFit | None) -> tuple[TaskData, list[Candidate]]:
    """Returns the data with the folds that are scored, and all candidates on their rows.

    For each fold copies of the model are trained without it: with their weights as `TRAINED`, and after a first head
    with `mean_model` of the weights as `MEAN`. If the number of epochs is free and neither gains anything on the first
    fold, this is the only one. The logits of a finished fold are kept, so a run that was killed loses one fold.
    """
    folds = prepared.folds[: folds_to_train(len(prepared.rows))]
    is_one, training = len(folds) == 1, fold_arguments(prepared.training)
    bar = tqdm(folds, "Cross-validation", disable=bool(training.disable_tqdm) or is_one)
    training.disable_tqdm = bool(training.disable_tqdm) or not is_one  # one bar for all folds
    folder = Path(str(training.output_dir))
    folder.mkdir(parents=True, exist_ok=True)
    scored: list[Sequence[TextLogits]] = []
    for fold in bar:
        file = folder / f"{len(scored)}.npz"
        scored.append(TextLogits.read(file) if file.is_file() else _tune_without(fold, prepared, head, training, file))
        data = with_folds(prepared.data, folds[: len(scored)])
        candidates = on_folds(data, head, folds, scored)
        is_first_of_many = len(scored) == 1 < len(folds) and not prepared.are_epochs_given
        if is_first_of_many and simplest(candidates, gain=0.0).name == HEAD:
            prepared.log("Training gains nothing on the first of five folds, so the others are not trained.")
            break
    log_scores(prepared, candidates)
    return data, candidates


def fold_arguments(training: GlueTrainingArguments) -> GlueTrainingArguments:
    """Returns a copy that neither evaluates, predicts, logs nor saves; its folder is `FOLDS_FOLDER`."""
    training = copy.copy(training)
    training.output_dir = str(Path(str(training.output_dir)) / FOLDS_FOLDER)
    training.report_to, training.do_predict = [], False
    training.eval_strategy = training.logging_strategy = IntervalStrategy.NO
    training.save_strategy, training.load_best_model_at_end = SaveStrategy.NO, False
    return training


def _tune_without(
    fold: Rows, prepared: Prepared, head: HeadFit | None, training: Any, file: Path
) -> Sequence[TextLogits]:
    """Returns the logits of the rows of a fold, with trained weights and with their mean; writes them into the file."""
    reads_sentences = head is not None and head.reads_sentences
    rows, model = [prepared.rows[row] for row in fold], prepared.model
    learned = [prepared.rows[row] for row in np.setdiff1d(np.arange(len(prepared.rows)), fold)]
    if head is not None:  # that has not learned the fold either
        model = copy.deepcopy(model)
        write_head(head.without(fold), model)
    models = _tune(prepared, training, learned, model).models.values()
    typical = learned if prepared.rejects else None
    logits = [TextLogits.of_model(each, rows, prepared.collator, reads_sentences, typical) for each in models]
    if training.process_index == 0:
        TextLogits.write(file, logits)
    return logits


def _tune(prepared: Prepared, training: Any, rows: EncodedRows, start: PreTrainedModel) -> Tuned:
    """Trains a copy of a model, whose wide part stays as it is, on rows."""
    model: Any = copy.deepcopy(start)
    if wide := getattr(getattr(model, "classifier", None), "wide", None):
        wide.requires_grad_(False)
    problem, validation_rows = prepared.data.problem, prepared.validation_rows.get("")
    trainer = TaskTrainer(problem, model, rows, training, prepared.collator, validation_rows, prepared.epsilon)
    if trainer.pop_callback(ProgressCallback):
        trainer.add_callback(LossBar)
    if prepared.arguments.early_stopping_patience and training.load_best_model_at_end:
        trainer.add_callback(EarlyStoppingCallback(prepared.arguments.early_stopping_patience))
    if trainer.is_sharded and prepared.rejects:
        raise ValueError(
            "reject reads the whole model, which FSDP and DeepSpeed split across processes; leave one out."
        )
    metrics = trainer.resume()
    models = {TRAINED: cast(PreTrainedModel, trainer.model)}
    if prepared.has_first_head and not trainer.is_sharded:  # else there is no whole model to compute with
        models[MEAN] = mean_model(start, models[TRAINED])
    return Tuned(models, trainer, metrics)


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
