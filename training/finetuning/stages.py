"""The stages of a fine-tuning run: the first head, cross-validation if no rows can be spared, and training."""
# mypy: allow-untyped-calls

import copy
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from vocabless.saving.run_folder import read_results, rows_identity
from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.fine_tuning import FineTuning, run_folder
from vocabless.training.finetuning.first_head import Vectors
from vocabless.training.finetuning.load_model import choose_sequence_length, is_checkpoint, load_model
from vocabless.training.finetuning.metrics import FOLDS
from vocabless.training.finetuning.probe import Probe, can_probe, probe
from vocabless.training.finetuning.tasks import Rows, Task
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments, default_patience
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
    begins_with_head = loaded is not None and not arguments.random_head and can_probe(loaded, task)
    if arguments.head_only and not begins_with_head:
        raise ValueError(
            f"--head_only fits a head to a trained encoder of ours, but {arguments.model_name_or_path!r} is none, has "
            "a head for these labels, or needs another kind of head for them; leave it out."
        )
    training = training.for_run(folder, seed, task, arguments.eval_steps.get(task.name), begins_with_head)
    epochs, patience = float(training.num_train_epochs or 0), arguments.early_stopping_patience
    patience = default_patience(epochs) if patience is None else patience
    arguments = replace(arguments, max_seq_length=length, early_stopping_patience=patience)
    if read_results(folder) is not None:
        return run(FineTuning(task), arguments, training, repository)
    first = probe(task, loaded, length) if loaded is not None and begins_with_head else None
    if training.process_index == 0:
        lines = [sentence] if first is None else [sentence, _describe(first)]
        if first is not None and not arguments.head_only:
            lines.append(_describe_training(first, epochs))
        for line in filter(None, lines):
            say(line)
    folds = folder.with_name(f"folds-{folder.name}")
    outcome = run(_choose(task, folds, arguments, training, first), arguments, training, repository)
    shutil.rmtree(folds, ignore_errors=True)
    return outcome


def _choose(
    task: Task, folder: Path, arguments: GlueArguments, training: GlueTrainingArguments, first: Probe | None
) -> FineTuning:
    """Returns what is trained and saved, by the scores of the folds if there are any; `folder` keeps their logits."""
    tuned, share = None, 0.0
    if task.is_cross_validated and not arguments.head_only:
        logits, rows = _held_out_logits(task, folder, arguments, training, first), task.scored_rows()
        share, logits = (0.0, logits[rows]) if first is None else first.add_ngrams(logits, rows)
        tuned = task.problem.score(logits, task.targets(task.validation[""]))
    if first is None:
        return FineTuning(task, tuned_scores=tuned)
    chosen = FineTuning(task, first.head(), first.scores, tuned)
    share = first.share if chosen.needs_no_training(arguments) else share
    return replace(chosen, ngrams=first.fit_ngrams(share))


def _describe(first: Probe) -> str:
    """Returns a sentence with the scores of the first head."""
    task = first.task
    metric = task.problem.best_metric
    ways = "cross-validated" if task.scored_folds == FOLDS else f"on {len(task.validation['']):,} held-out rows"
    return (
        f"{task.title}, head alone (a linear model of the frozen encoder's vectors): {metric.replace('_', ' ')} "
        f"{100 * first.scores[metric]:.1f}, {ways}."
    )


def _describe_training(first: Probe, epochs: float) -> str:
    """Returns a sentence that says what follows the first head, and about how long it takes."""
    task = first.task
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
    task: Task, rows: Rows, folder: Path, arguments: GlueArguments, training: GlueTrainingArguments, first: Probe | None
) -> Vectors:
    """Returns (rows, outputs), the logits of some rows, of a model that was fine-tuned on the others."""
    rest = np.setdiff1d(np.arange(len(task.train)), rows)
    held_out = {"": task.train.select(rows.tolist())}
    fold = replace(task, train=task.train.select(rest.tolist()), validation=held_out, test={}, scored_folds=0)
    quiet = copy.copy(training)
    quiet.output_dir = str(folder)  # nothing is written there
    quiet.report_to, quiet.do_predict = [], False
    quiet.disable_tqdm = training.disable_tqdm or task.scored_folds > 1
    quiet.save_strategy, quiet.logging_strategy = SaveStrategy.NO, IntervalStrategy.NO
    trained = train(FineTuning(fold, None if first is None else first.head(rest)), arguments, quiet)
    trained.trainer.args.train_sampling_strategy = "random"  # `group_by_length` would sort the logits by length
    return np.asarray(trained.trainer.predict(trained.examples.evaluated[""]).predictions)
