"""The stages of a fine-tuning run: the first head, cross-validation if no rows can be spared, and training."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm
from transformers import DataCollatorWithPadding

from vocabless.saving.run_folder import read_results, rows_identity
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments, default_patience
from vocabless.training.finetuning.fine_tuning import FineTuning, run_folder
from vocabless.training.finetuning.first_head import (
    FirstHead,
    Vectors,
    cross_validate_head,
    fits,
    head_inputs,
)
from vocabless.training.finetuning.load_model import LoadedModel, choose_sequence_length, is_checkpoint, load_model
from vocabless.training.finetuning.metrics import FOLDS
from vocabless.training.finetuning.task_files import EncodedExamples, Examples
from vocabless.training.finetuning.tasks import Rows, Task, folds_of
from vocabless.training.run import Outcome, run, train

MAX_ROWS = 20_000  # of the training rows; more hardly change a linear model


@dataclass
class Probe:
    """The first head of a task."""

    task: Task
    vectors: Vectors  # (n, D), what the head reads of the training rows
    targets: list[Any]  # of these rows
    strength: float = 0.0  # of the regularisation
    scores: dict[str, float] = field(default_factory=dict)  # of the head alone, on validation rows or cross-validated

    def head(self, rows: Any = slice(None)) -> FirstHead:
        """Returns the head that is fitted to some of the training rows."""
        targets = [self.targets[row] for row in np.arange(len(self.targets))[rows]]
        return FirstHead.fit(self.task.problem, self.vectors[rows], targets, self.strength)


def can_probe(loaded: LoadedModel, task: Task) -> bool:
    """Returns whether a model has a trained encoder, no head for the task, and room for one."""
    return loaded.lacks_head and fits(loaded.model, task.problem)


def probe(task: Task, loaded: LoadedModel, max_seq_length: int) -> Probe:
    """Returns the first head of a task, of whose training rows at most `MAX_ROWS` are read; see `can_probe`."""
    problem, model = task.problem, loaded.model

    def read(examples: Examples) -> Vectors:
        encoded = EncodedExamples(examples, problem, loaded.tokenizer, max_seq_length)
        return head_inputs(model, encoded, DataCollatorWithPadding(loaded.tokenizer))

    train = task.train.sample(MAX_ROWS)
    vectors, targets = read(train), task.targets(train)
    found = Probe(task, vectors, targets)
    folds = task.folds() if task.is_cross_validated else folds_of(problem.strata(targets))
    found.strength, logits = cross_validate_head(problem, vectors, targets, folds)
    if task.is_cross_validated:
        rows = task.scored_rows()
        found.scores = problem.score(logits[rows], [targets[row] for row in rows])
        return found
    head = found.head()
    for suffix, examples in task.validation.items():
        scores = problem.score(head.logits(read(examples)), task.targets(examples))
        found.scores |= {f"{name}{suffix}": value for name, value in scores.items()}
    return found


def fine_tune(
    task: Task,
    seed: int,
    arguments: GlueArguments,
    training: GlueTrainingArguments,
    repository: str | None,
    say: Callable[[str], None],
) -> Outcome:
    """Fine-tunes on a task with a seed, in the run's own folder; `arguments` and `training` are those of the command.

    The run is uploaded to `repository`, if there is one. `say` prints the score of the first head before the training.
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
        return run(FineTuning(arguments, training, task), repository)
    first = probe(task, loaded, length) if loaded is not None and begins_with_head else None
    if training.process_index == 0:
        for line in filter(None, [sentence, "" if first is None else _describe(first)]):
            say(line)
    folds = folder.with_name(f"folds-{folder.name}")
    outcome = run(_choose(FineTuning(arguments, training, task), folds, first), repository)
    shutil.rmtree(folds, ignore_errors=True)
    return outcome


def _choose(tuning: FineTuning, folder: Path, first: Probe | None) -> FineTuning:
    """Returns what is trained and saved, by the scores of the folds if there are any; `folder` keeps their logits."""
    task, tuned = tuning.task, None
    if task.is_cross_validated and not tuning.arguments.head_only:
        logits = _held_out_logits(tuning, folder, first)[task.scored_rows()]
        tuned = task.problem.score(logits, task.targets(task.validation[""]))
    if first is None:
        return replace(tuning, tuned_scores=tuned)
    return replace(tuning, head=first.head(), head_scores=first.scores, tuned_scores=tuned)


def _describe(first: Probe) -> str:
    """Returns a sentence with the scores of the first head."""
    task, metric = first.task, first.task.problem.best_metric
    ways = "cross-validated" if task.scored_folds == FOLDS else f"on {len(task.validation['']):,} held-out rows"
    return (
        f"{task.title}, head alone (a linear model of the frozen encoder's vectors): {metric.replace('_', ' ')} "
        f"{100 * first.scores[metric]:.1f}, {ways}."
    )


def _held_out_logits(tuning: FineTuning, folder: Path, first: Probe | None) -> Vectors:
    """Returns (n, outputs), the logits of each row in the scored folds, of a model that was fine-tuned without it.

    The logits of each fold are kept in a folder until the run is finished, so a run that was killed loses one fold.
    """
    task = tuning.task
    folder.mkdir(parents=True, exist_ok=True)
    identity = rows_identity(task.train.rows())
    logits = np.full((len(task.train), task.problem.config["num_labels"]), np.nan)
    folds = task.folds()[: task.scored_folds]
    is_quiet = tuning.training.disable_tqdm or len(folds) == 1
    for number, rows in enumerate(tqdm(folds, desc="Cross-validation", disable=is_quiet)):
        file = folder / f"{identity[:16]}-{number}.npy"
        if not file.is_file():
            scratch = file.with_suffix(".new.npy")
            np.save(scratch, _fold_logits(tuning, rows, folder, first))
            os.replace(scratch, file)
        logits[rows] = np.load(file)
    return logits


def _fold_logits(tuning: FineTuning, rows: Rows, folder: Path, first: Probe | None) -> Vectors:
    """Returns (rows, outputs), the logits of some rows, of a model that was fine-tuned on the others."""
    task, training = tuning.task, tuning.training
    rest = np.setdiff1d(np.arange(len(task.train)), rows)
    held_out = {"": task.train.select(rows.tolist())}
    fold = replace(task, train=task.train.select(rest.tolist()), validation=held_out, test={}, scored_folds=0)
    quiet = training.quiet(folder)
    quiet.disable_tqdm = training.disable_tqdm or task.scored_folds > 1
    trained = train(FineTuning(tuning.arguments, quiet, fold, None if first is None else first.head(rest)))
    trained.trainer.args.train_sampling_strategy = "random"  # `group_by_length` would sort the logits by length
    return np.asarray(trained.trainer.predict(trained.examples.evaluated[""]).predictions)
