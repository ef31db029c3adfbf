"""Fine-tuning without a fold of the training rows, to see what it gains on rows that it has not learned."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm.auto import tqdm
from transformers import PreTrainedModel

from vocabless.training.finetuning.candidates import HEAD, MEAN, TRAINED, Candidate, loss_gains, with_tuned
from vocabless.training.finetuning.head.first_head import HeadFit
from vocabless.training.finetuning.head.head_writing import write_head
from vocabless.training.finetuning.prepared import Prepared
from vocabless.training.finetuning.rows.held_out import folds_to_train, scored_rows, training_folds, with_scored_folds
from vocabless.training.finetuning.tasks.arguments import GlueTrainingArguments
from vocabless.training.finetuning.tasks.data import Rows, TaskData
from vocabless.training.finetuning.tasks.logits import TextLogits
from vocabless.training.finetuning.tasks.metrics import is_gain

FOLDER = "folds"  # in the folder of a run, until it is finished


def candidates_on_folds(prepared: Prepared, head: HeadFit | None) -> tuple[TaskData, list[Candidate]]:
    """Returns the data with the folds that are scored, and all candidates on their rows.

    For each fold copies of the model are trained without it: with their weights as `TRAINED`, and after a first head
    with `mean_model` of the weights as `MEAN`. If the number of epochs is free and neither gains anything on the first
    fold, this is the only one. The logits of a finished fold are kept, so a run that was killed loses one fold.
    """
    data = with_scored_folds(prepared.data, folds_to_train(len(prepared.rows)))
    folds = training_folds(data)[: data.scored_folds]
    folder = Path(str(prepared.training.output_dir)) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    is_one = len(folds) == 1
    training = prepared.training.without_output(folder)
    training.disable_tqdm = bool(training.disable_tqdm) or not is_one
    bar = tqdm(folds, desc="Cross-validation", disable=bool(prepared.training.disable_tqdm) or is_one)
    scored: list[Sequence[TextLogits]] = []
    for number, fold in enumerate(bar):
        file = folder / f"{number}.npz"
        scored.append(TextLogits.read(file) if file.is_file() else _train_without(fold, prepared, head, training, file))
        if number or is_one or head is None or prepared.are_epochs_given:
            continue
        rows, of_head = data.train.select(fold.tolist()), head.held_out.select(fold)
        if not any(is_gain(loss_gains(data.problem, rows, of_head, tuned), 0.0) for tuned in scored[0]):
            prepared.log("Training gains nothing on the first of five folds, so the others are not trained.")
            data = with_scored_folds(prepared.data, 1)
            break
    logits = [TextLogits.of_parts([*zip(folds, of_model, strict=False)]) for of_model in zip(*scored, strict=True)]
    alone: Candidate | None = None
    if head is not None:
        alone = Candidate.of(HEAD, data, {"": head.held_out.select(scored_rows(data))}, head.reads_sentences)
    of_names = {name: {"": of_model} for name, of_model in zip((TRAINED, MEAN), logits, strict=False)}
    return data, with_tuned(alone, data, of_names, prepared)


def _train_without(
    fold: Rows, prepared: Prepared, head: HeadFit | None, training: GlueTrainingArguments, file: Path
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
