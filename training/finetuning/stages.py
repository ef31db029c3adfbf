"""The stages of a fine-tuning run: the first head, cross-validation if no rows can be spared, and training."""
# mypy: allow-untyped-calls

import copy
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from vocabless.saving.run_folder import read_results, rows_identity
from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.default_hyper_parameters import default_patience
from vocabless.training.finetuning.first_head import FirstHead, Vectors
from vocabless.training.finetuning.load_model import is_checkpoint, load_model
from vocabless.training.finetuning.probe import Probe, can_probe, probe
from vocabless.training.finetuning.runs import Evaluation, FineTuning, run_folder
from vocabless.training.finetuning.sequence_length import choose_sequence_length
from vocabless.training.finetuning.tasks import FOLDS, Task
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.run import Outcome, run, train

TRAINING_PER_READING = 5  # time of a row in training, as a multiple of that for reading it; measured: 4 to 5.5


def fine_tune(
    task: Task,
    seed: int,
    arguments: GlueArguments,
    training: GlueTrainingArguments,
    repository: str | None,
    say: Callable[[str], None],
) -> Outcome:
    """Fine-tunes on a task with a seed, in the run's own folder.

    Args:
        task: the task.
        seed: of the run.
        arguments: of the command.
        training: of the command.
        repository: id of the repository that the run is uploaded to, or None.
        say: prints the score of the first head, before the training.
    """
    folder = run_folder(task, seed, training)
    loaded = load_model(arguments, task, folder) if is_checkpoint(arguments.model_name_or_path) else None
    length, sentence = choose_sequence_length(arguments, task, loaded)
    arguments = replace(arguments, max_seq_length=length)
    begins_with_head = loaded is not None and not arguments.random_head and can_probe(loaded, task.problem)
    if arguments.head_only and not begins_with_head:
        raise ValueError(
            f"--head_only fits a head to a trained encoder of ours, but {arguments.model_name_or_path!r} is none, has "
            "a head for these labels, or needs another kind of head for them; leave it out."
        )
    of_run = training.for_run(
        folder,
        seed,
        len(task.train),
        task.problem.best_metric,
        arguments.eval_steps_of(task.name),
        begins_with_head,
    )
    if arguments.early_stopping_patience is None:
        arguments = replace(arguments, early_stopping_patience=default_patience(float(of_run.num_train_epochs or 0)))
    if task.is_cross_validated:
        of_run.eval_strategy, of_run.load_best_model_at_end = IntervalStrategy.NO, False
    if read_results(folder) is not None:
        return run(FineTuning(task), arguments, of_run, repository)
    first = probe(task, loaded, length) if loaded is not None and begins_with_head else None
    if training.process_index == 0:
        lines = [sentence] if first is None else [sentence, _describe(task, first)]
        if first is not None and not arguments.head_only:
            lines.append(_describe_training(task, first, float(of_run.num_train_epochs or 0)))
        for line in filter(None, lines):
            say(line)
    folds = folder.with_name(f"folds-{folder.name}")
    fine_tuning = _choose(task, folds, arguments, of_run, first)
    outcome = run(fine_tuning, arguments, of_run, repository)
    shutil.rmtree(folds, ignore_errors=True)
    return outcome


def _choose(
    task: Task, folder: Path, arguments: GlueArguments, training: GlueTrainingArguments, first: Probe | None
) -> FineTuning:
    """Returns what is trained and saved, by the scores of the folds if there are any; `folder` keeps their logits."""
    tuned, share = None, 0.0
    if task.is_cross_validated and not arguments.head_only:
        logits, rows = _held_out_logits(task, folder, arguments, training, first), task.scored_rows()
        share, logits = (0.0, logits[rows]) if first is None else first.add_scores(logits, rows)
        tuned = task.problem.score(logits, task.targets())
    if first is None:
        return FineTuning(task, evaluation=Evaluation(None, tuned))
    chosen = FineTuning(task, first.head(), Evaluation(first.metrics, tuned))
    share = first.share if chosen.needs_no_training(arguments) else share
    return replace(chosen, scores=first.scores(share))


def _describe(task: Task, first: Probe) -> str:
    """Returns a sentence with the scores of the first head."""
    metric = task.problem.best_metric
    count = len(task.validation[""])
    ways = "cross-validated" if task.scored_folds == FOLDS else f"on {count:,} held-out rows"
    return (
        f"{task.title}, head alone (a linear model of the frozen encoder's vectors): {metric.replace('_', ' ')} "
        f"{100 * first.metrics[metric]:.1f}, {ways}."
    )


def _describe_training(task: Task, first: Probe, epochs: float) -> str:
    """Returns a sentence that says what follows the first head, and about how long it takes."""
    parts = "without the held-out rows" if task.scored_folds == 1 else f"in {FOLDS} folds"
    ways = f", {parts} and then on all rows" if task.is_cross_validated else ""
    rows = len(task.train) * (1 + task.scored_folds * (1 - 1 / FOLDS))
    seconds = TRAINING_PER_READING * first.seconds * rows * epochs
    time = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    return f"Now fine-tuning, up to {epochs:g} epochs{ways}: about {time}."


def _held_out_logits(
    task: Task, folder: Path, arguments: GlueArguments, training: GlueTrainingArguments, first: Probe | None
) -> Vectors:
    """Returns (n, outputs), the logits of each row in the scored folds, of a model that was fine-tuned without it.

    The logits of each fold are kept in a folder until the run is finished, so a run that was killed loses one fold.
    """
    folder.mkdir(parents=True, exist_ok=True)
    identity = rows_identity(task.train.rows())
    logits = np.full((len(task.train), task.problem.config["num_labels"]), np.nan)
    folds = task.folds()[: task.scored_folds]
    is_quiet = training.disable_tqdm or len(folds) == 1
    for number, rows in enumerate(tqdm(folds, desc="Cross-validation", disable=is_quiet)):
        file = folder / f"{identity[:16]}-{number}.npy"
        if not file.is_file():
            scratch = file.with_suffix(".new.npy")
            np.save(scratch, _fold_logits(task, rows, folder, arguments, training, first))
            os.replace(scratch, file)
        logits[rows] = np.load(file)
    return logits


def _fold_logits(
    task: Task, rows: Any, folder: Path, arguments: GlueArguments, training: GlueTrainingArguments, first: Probe | None
) -> Any:
    rest = np.setdiff1d(np.arange(len(task.train)), rows)
    train_rows, held_out = task.train.select(rest.tolist()), task.train.select(rows.tolist())
    fold = replace(task, train=train_rows, validation={"": held_out}, test={}, scored_folds=0)
    head: FirstHead | None = None if first is None else first.head(rest)
    quiet = copy.copy(training)
    quiet.output_dir = str(folder)  # nothing is written there
    quiet.report_to, quiet.do_predict = [], False
    quiet.disable_tqdm = training.disable_tqdm or task.scored_folds > 1
    quiet.save_strategy, quiet.logging_strategy = SaveStrategy.NO, IntervalStrategy.NO
    trained = train(FineTuning(fold, head), arguments, quiet)
    return trained.trainer.predict(trained.examples.evaluated[""]).predictions
