"""Fine-tuning of all weights: without a fold of the rows, to see what it gains on rows not learned, and on all rows."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from tqdm.auto import tqdm
from transformers import PreTrainedModel

from vocabless.training.finetuning.candidates import HEAD, MEAN, TRAINED, Candidate, loss_gains, with_tuned
from vocabless.training.finetuning.head.first_head import HeadFit
from vocabless.training.finetuning.head.head_writing import write_head
from vocabless.training.finetuning.prepared import Prepared
from vocabless.training.finetuning.rows.held_out import folds_to_train, with_folds
from vocabless.training.finetuning.tasks.data import EncodedRows, Examples, Rows, TaskData
from vocabless.training.finetuning.tasks.logits import TextLogits
from vocabless.training.finetuning.tasks.metrics import Scores, is_gain
from vocabless.training.trainer import ResumableTrainer

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
    """Trains a copy of the model on all rows."""
    rows, teacher = prepared.rows, None
    if teach is not None:
        rows, teacher = teach(rows, prepared.encode)
    trainer = prepared.trainer(copy.deepcopy(prepared.model), rows, prepared.training)
    metrics = trainer.resume()
    models = {TRAINED: cast(PreTrainedModel, trainer.model)}
    if prepared.has_first_head and not trainer.is_sharded:  # else there is no whole model to compute with
        models[MEAN] = mean_model(prepared.model, models[TRAINED])
    return Tuned(models, trainer, metrics, teacher)


def tune_on_folds(prepared: Prepared, head: HeadFit | None) -> tuple[TaskData, list[Candidate]]:
    """Returns the data with the folds that are scored, and all candidates on their rows.

    For each fold copies of the model are trained without it: with their weights as `TRAINED`, and after a first head
    with `mean_model` of the weights as `MEAN`. If the number of epochs is free and neither gains anything on the first
    fold, this is the only one. The logits of a finished fold are kept, so a run that was killed loses one fold.
    """
    folds, rows = prepared.folds[: folds_to_train(len(prepared.rows))], prepared.data.train
    folder, training = Path(str(prepared.fold_training.output_dir)), copy.copy(prepared.fold_training)
    folder.mkdir(parents=True, exist_ok=True)
    is_one = len(folds) == 1
    training.disable_tqdm = bool(training.disable_tqdm) or not is_one
    scored: list[Sequence[TextLogits]] = []
    for fold in tqdm(folds, desc="Cross-validation", disable=bool(prepared.training.disable_tqdm) or is_one):
        file = folder / f"{len(scored)}.npz"
        scored.append(TextLogits.read(file) if file.is_file() else _tune_without(fold, prepared, head, training, file))
        if len(scored) > 1 or is_one or head is None or prepared.are_epochs_given:
            continue
        fold_rows, of_head = rows.select(fold.tolist()), head.held_out.select(fold)
        if not any(is_gain(loss_gains(prepared.data.problem, fold_rows, of_head, each), 0.0) for each in scored[0]):
            prepared.log("Training gains nothing on the first of five folds, so the others are not trained.")
            break
    folds = folds[: len(scored)]
    data = with_folds(prepared.data, folds)
    logits = [TextLogits.of_parts([*zip(folds, of_model, strict=True)]) for of_model in zip(*scored, strict=True)]
    alone = None
    if head is not None:
        of_head = head.held_out.select(np.sort(np.concatenate(folds)))
        alone = Candidate.of(HEAD, data, {"": of_head}, head.reads_sentences)
    of_names = {name: {"": of_model} for name, of_model in zip((TRAINED, MEAN), logits, strict=False)}
    return data, with_tuned(alone, data, of_names, prepared)


def _tune_without(
    fold: Rows, prepared: Prepared, head: HeadFit | None, training: Any, file: Path
) -> Sequence[TextLogits]:
    """Returns the logits of the rows of a fold, with trained weights and with their mean; writes them into the file."""
    rest = np.setdiff1d(np.arange(len(prepared.rows)), fold)
    start: Any = copy.deepcopy(prepared.model)
    if head is not None:
        write_head(head.head(rest), start)
    model = copy.deepcopy(start)
    trainer = prepared.trainer(model, [prepared.rows[row] for row in rest], training)
    trainer.resume()
    models = [model, *([mean_model(start, model)] if head is not None and not trainer.is_sharded else [])]
    held_out, reads_sentences = [prepared.rows[row] for row in fold], head is not None and head.reads_sentences
    logits = [TextLogits.of_model(each, held_out, prepared.collator, reads_sentences) for each in models]
    if training.process_index == 0:
        TextLogits.write(file, logits)
    return logits


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
