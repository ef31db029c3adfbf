"""The one way to fine-tune: a head on frozen vectors, then folds, a choice, and training on all rows.

Both `run_glue.py` and `VocablessClassifier` call `fit`, so they have one definition of scores and of the saved model:

1. The rows are tokenised once, and a trained encoder of ours reads them: a linear head is fitted to its vectors, and
   to the words if that lowers the held-out loss (`WideLayer`). Fine-tuning does not change this wide part. If the
   score can hardly become better and no number of epochs is given, this is all.
2. If no validation rows are apart, a copy of the model is trained without one fold, or for few rows for each fold.
3. `is_head_better`, or `is_head_better_on_folds`, compares the head alone with fine-tuning, on the same rows.
4. What is better is saved: the head, or a copy of the model that is trained on all rows.
"""

import copy
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from tqdm.auto import tqdm
from transformers import DataCollatorWithPadding, EarlyStoppingCallback, PreTrainedModel

from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments, default_patience
from vocabless.training.finetuning.data import EncodedRows, Examples, Rows, TaskData, encode
from vocabless.training.finetuning.first_head import FrozenEncoder, has_linear_head
from vocabless.training.finetuning.frozen_features import Vectors, logits_of
from vocabless.training.finetuning.metrics import FOLDS, interval
from vocabless.training.finetuning.teacher import DistillingTrainer, distill_task
from vocabless.training.finetuning.weighted_rows import WeightedTrainer
from vocabless.training.load import Loaded, is_checkpoint
from vocabless.training.trainer import ResumableTrainer, logits_only

LENGTHS = (64, 128, 256, 512)  # tokens
DEFAULT_LENGTH = 128
MAX_CUT = 0.01  # share of the texts that a length cuts
FEW_ROWS = 200  # of them, all folds are trained; of more rows one fold
STEP = 4  # time of a training step on some texts, as a multiple of the time in which the frozen encoder reads them
FOLDS_FOLDER = "folds"  # in the folder of a run, until it is finished
Metrics = dict[str, float]


@dataclass(frozen=True)
class Fitted:
    """A fine-tuned model, and how it came about."""

    model: PreTrainedModel
    data: TaskData  # with the validation rows of the metrics
    arguments: GlueArguments  # with the length that was chosen
    training: GlueTrainingArguments  # with the epochs and the batch size that were chosen
    metrics: Metrics  # of the model on validation rows, or of others like it on folds
    head_metrics: Metrics | None = None  # of the head alone, on the same rows; None without a first head
    is_head: bool = False  # whether the head alone was kept
    trainer: ResumableTrainer | None = None  # that trained the model
    train_metrics: Metrics | None = None
    teacher: dict[str, Any] | None = None  # see `distill_task`


def fit(
    data: TaskData,
    loaded: Loaded,
    arguments: GlueArguments,
    training: GlueTrainingArguments,
    log: Callable[[str], object] = lambda line: None,
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
    data = replace(data)  # which folds are scored belongs to this run
    tuner = _Tuner(data, loaded, arguments, training, has_first_head, log)
    if has_first_head:
        tuner.fit_head()
        if training.num_train_epochs == 0 or tuner.is_head_enough(training.num_train_epochs):
            return tuner.head_alone()
        log(tuner.describe_training())
    tuned = None
    if data.is_cross_validated:
        logits = tuner.fold_logits()
        tuned = tuner.score_folds(logits)
        if tuner.frozen is not None:
            is_head = is_head_better_on_folds(data, tuner.frozen.held_out_logits, logits)
            log(_describe_choice(data, tuner.head, tuned, "the head alone" if is_head else "fine-tuning"))
            if is_head:
                return tuner.head_alone()
    rows, teacher = tuner.rows, None
    if arguments.teacher is not None:
        rows, teacher = distill_task(data, rows, tuner.arguments, tuner.training, tuner.encode)
    trainer = tuner.trainer(copy.deepcopy(tuner.model), rows)
    details = {"train_metrics": trainer.resume(), "trainer": trainer, "teacher": teacher}
    model = cast(PreTrainedModel, trainer.model)
    if tuned is None:
        tuned = tuner.score(model)
        if has_first_head and is_head_better(tuner.training, tuner.head, tuned):
            return tuner.fitted(tuner.model, tuner.head, is_head=True, **details)
    return tuner.fitted(model, tuned, **details)


def is_head_better(training: GlueTrainingArguments, head: Metrics, tuned: Metrics) -> bool:
    """Returns whether the head alone is saved, by its score on validation rows.

    The metric that chooses the best epoch decides, and the simpler model is kept where both are equal.
    """
    metric = str(training.metric_for_best_model).removeprefix("eval_")
    if not training.load_best_model_at_end or metric not in head:
        return False
    return head[metric] >= tuned[metric] if training.greater_is_better else head[metric] <= tuned[metric]


def is_head_better_on_folds(data: TaskData, head: Vectors, tuned: Vectors) -> bool:
    """Returns whether the head alone is saved, by the logits of both, (n, outputs), on the scored folds.

    Fine-tuning must lower the loss by more than half of the standard error of the difference.
    """
    gains = _gains(data, data.scored_rows(), head, tuned)
    return bool(gains.mean() <= gains.std() / math.sqrt(len(gains)) / 2)


def _gains(data: TaskData, rows: Rows, head: Vectors, tuned: Vectors) -> Vectors:
    """Returns how much lower the loss of each of the training rows is by the second of two models' logits.

    The logits are calibrated first: a model that was trained for some epochs is too sure of itself, which raises its
    loss without more mistakes.
    """
    examples = data.train.select(rows.tolist())
    targets = torch.from_numpy(np.asarray(data.targets(examples)))
    losses = [data.problem.calibrated_losses(torch.from_numpy(logits[rows]), targets) for logits in (head, tuned)]
    gains: Vectors = (losses[0] - losses[1]).numpy()
    return gains if examples.weights is None else gains * examples.weights / np.mean(examples.weights)


def _encode_training_rows(
    data: TaskData, loaded: Loaded, arguments: GlueArguments
) -> tuple[EncodedRows, int, int, str]:
    """Returns the training rows, their length in tokens, that of texts to read later, and a sentence, or "".

    If a length is given, it is both. GLUE and random weights get `DEFAULT_LENGTH`. The texts are measured for a
    checkpoint and own data: the training rows are cut where that saves time, and the sentence says so. Later texts may
    be longer than these rows, so all tokens are read that the encoder has places for.
    """
    wanted, limit = arguments.max_seq_length, loaded.limit
    if wanted is not None:
        loaded.check_length(wanted, str(arguments.model_name_or_path))

    def tokenise(examples: Examples, length: int) -> EncodedRows:
        return encode(examples, data.problem, loaded.tokenizer, length)

    if wanted is not None or arguments.task_name is not None or not is_checkpoint(arguments.model_name_or_path):
        length = wanted or min(DEFAULT_LENGTH, limit)
        return tokenise(data.train, length), length, length, ""
    longest = min(LENGTHS[-1], limit)
    rows = tokenise(data.train, limit + 1)  # longer than the limit, to see which texts it cuts
    lengths = np.array([len(row["input_ids"]) for row in rows])
    length = min(next((length for length in LENGTHS if (lengths > length).mean() <= MAX_CUT), longest), longest)
    longer = np.flatnonzero(lengths > length)
    if not len(longer):
        return rows, length, longest, ""
    for row, shortened in zip(longer, tokenise(data.train.select(longer.tolist()), length), strict=True):
        rows[row] = shortened
    share = 100 * len(longer) / len(lengths)
    return rows, length, longest, f"Training reads up to {length} tokens of a text, which cuts {share:.1f} % of them."


def _describe_head(data: TaskData, metrics: Metrics, wide_rows: int) -> str:
    """Returns a sentence with the score of the head alone, which may have a wide part."""
    words = " and of the words" if wide_rows else ""
    metric = data.problem.best_metric
    ways = "cross-validated" if data.scored_folds == FOLDS else f"on {len(data.validation['']):,} held-out rows"
    return (
        f"{data.title}, head alone (a linear model of the frozen encoder's vectors{words}): {metric.replace('_', ' ')} "
        f"{100 * metrics[metric]:.1f}, {ways}."
    )


def _describe_choice(data: TaskData, head: Metrics, tuned: Metrics, kept: str) -> str:
    """Returns a sentence with both scores, and which model is kept."""
    metric = data.problem.best_metric
    scores = f"{100 * tuned[metric]:.1f} with fine-tuning, {100 * head[metric]:.1f} with the head alone"
    return f"{data.title}: {metric.replace('_', ' ')} {scores}; {kept} is kept."


class _Tuner:
    """What all steps of `fit` share: the rows, tokenised once, and the arguments, without None.

    `rows` are those to train on, `held_out` (suffix → rows) validation rows that are apart. Copies of `model` are
    trained.
    """

    def __init__(
        self,
        data: TaskData,
        loaded: Loaded,
        arguments: GlueArguments,
        training: GlueTrainingArguments,
        has_first_head: bool,
        log: Callable[[str], object],
    ) -> None:
        self.data, self.model, self.log, tokenizer = data, loaded.model, log, loaded.tokenizer
        self.rows, self.trained_length, length, sentence = _encode_training_rows(data, loaded, arguments)
        if sentence:
            log(sentence)
        if isinstance(tokenizer, VocablessTokenizer):
            tokenizer.model_max_length = length  # for pipelines, ONNX and page
            tokenizer.call_defaults = {"truncation": True}  # as from the folder of a classifier
        self.tokenizer = tokenizer
        validation = {} if data.is_cross_validated else data.validation
        self.held_out = {suffix: self.encode(examples, length) for suffix, examples in validation.items()}
        eval_steps = arguments.eval_steps.get(data.name)
        tokens = sum(len(row["input_ids"]) for row in self.rows)
        self.training = training.arguments_of_run(data, eval_steps, tokens if has_first_head else None)
        self.has_given_epochs = training.num_train_epochs is not None
        self.trained_folds = FOLDS if len(self.rows) <= FEW_ROWS else 1  # where no validation rows are apart
        self.frozen: FrozenEncoder | None = None  # what the first head was fitted to
        self.head: Metrics = {}  # of the first head, on the validation rows
        patience = arguments.early_stopping_patience
        patience = default_patience(float(self.training.num_train_epochs or 0)) if patience is None else patience
        self.arguments = replace(arguments, max_seq_length=length, early_stopping_patience=patience)
        self.collator = DataCollatorWithPadding(tokenizer)

    def encode(self, examples: Examples, length: int | None = None) -> EncodedRows:
        """Returns the token ids of examples; without a length, of that of the training rows."""
        return encode(examples, self.data.problem, self.tokenizer, length or self.trained_length)

    def fit_head(self) -> None:
        """Fits the first head to the vectors of the frozen encoder, writes it into the model and logs its score."""
        started = time.monotonic()
        self.frozen = FrozenEncoder(self.model, self.rows, self.collator, self.data)
        self.seconds = time.monotonic() - started
        self.frozen.head().write_into(self.model)
        is_cross_validated = self.data.is_cross_validated
        self.head = self.score_folds(self.frozen.held_out_logits) if is_cross_validated else self.score(self.model)
        self.log(_describe_head(self.data, self.head, cast(Any, self.model).config.classifier_wide_rows))

    def is_head_enough(self, epochs: float | None) -> bool:
        """Returns whether no epochs are asked for, and training could gain at most half of the score's interval."""
        metric = self.data.problem.best_metric
        low, high = interval(metric, self.head[metric], len(self.data.validation[""]), self.data.scored_folds)
        is_enough = epochs is None and 1 - self.head[metric] <= (high - low) / 2
        if is_enough:
            self.log("Training could not gain more than the interval of this score, so the head alone is kept.")
        return is_enough

    def head_alone(self) -> Fitted:
        """Returns the model with the first head; without rows that are apart, it is scored on all folds."""
        if self.frozen is not None and self.data.is_cross_validated:
            self._score_head_on(FOLDS)
        return self.fitted(self.model, self.head, is_head=True)

    def describe_training(self) -> str:
        """Returns a sentence on how long training takes, by the time in which the frozen encoder read all rows."""
        epochs = float(self.training.num_train_epochs or 0)
        folds = self.trained_folds if self.data.is_cross_validated else 0
        models = 1 + folds * (1 - 1 / FOLDS)  # a fold is trained on the rows of the others
        minutes = STEP * self.seconds * epochs * models / 60
        once = f"{folds} without {'a' if folds == 1 else 'its'} fold, then one on all rows" if folds else "one"
        return f"Training {once}, for {epochs:g} epochs: about {max(1, round(minutes))} min."

    def fitted(self, model: PreTrainedModel, metrics: Metrics, **details: Any) -> Fitted:
        """Returns the result, with the arguments that were chosen."""
        details["head_metrics"] = self.head or None
        return Fitted(model, self.data, self.arguments, self.training, metrics, **details)

    def score(self, model: PreTrainedModel) -> Metrics:
        """Returns the metrics of a model on the validation rows."""
        metrics: Metrics = {}
        for suffix, rows in self.held_out.items():
            targets = self.data.targets(self.data.validation[suffix])
            scores = self.data.problem.score(logits_of(model, rows, self.collator), targets)
            metrics |= {f"{name}{suffix}": value for name, value in scores.items()}
        return metrics

    def score_folds(self, logits: Vectors) -> Metrics:
        """Returns the metrics of held-out logits, (n, outputs), on the scored folds."""
        return self.data.problem.score(logits[self.data.scored_rows()], self.data.targets(self.data.validation[""]))

    def fold_logits(self) -> Vectors:
        """Returns (n, outputs), the logits of each row in `trained_folds`, of a copy of the model trained without it.

        The rows of these folds become the validation rows, also of the first head's score. If the number of epochs is
        free and training gains nothing on the first fold, this is the only one. The logits of a finished fold are kept,
        so a run that was killed loses one fold.
        """
        self._score_head_on(self.trained_folds)
        folder, folds = Path(str(self.training.output_dir)) / FOLDS_FOLDER, self.data.folds()[: self.data.scored_folds]
        folder.mkdir(parents=True, exist_ok=True)
        logits = np.full((len(self.rows), self.data.problem.config["num_labels"]), np.nan)
        is_one = len(folds) == 1
        training = self.training.without_output(folder)
        training.disable_tqdm = bool(training.disable_tqdm) or not is_one
        bar = tqdm(folds, desc="Cross-validation", disable=bool(self.training.disable_tqdm) or is_one)
        for number, held_out in enumerate(bar):
            file = folder / f"{number}.npy"
            logits[held_out] = np.load(file) if file.is_file() else self._trained_without(held_out, training, file)
            if self.frozen is None or self.has_given_epochs or number or is_one:
                continue
            if _gains(self.data, held_out, self.frozen.held_out_logits, logits).mean() <= 0:
                self.log("Training gains nothing on the first of five folds, so the others are not trained.")
                self._score_head_on(1)
                break
        return logits

    def _score_head_on(self, count: int) -> None:
        """Makes the rows of so many folds the validation rows, and scores the first head on them."""
        self.data.score_folds(count)
        if self.frozen is not None:
            self.head = self.score_folds(self.frozen.held_out_logits)

    def _trained_without(self, held_out: Rows, training: GlueTrainingArguments, file: Path) -> Vectors:
        """Returns the logits of held-out rows by a copy of the model that is trained on all others; writes them."""
        rest = np.setdiff1d(np.arange(len(self.rows)), held_out)
        model: Any = copy.deepcopy(self.model)
        if self.frozen is not None:
            self.frozen.head(rest).write_into(model)
        self.trainer(model, [self.rows[row] for row in rest], training).resume()
        logits = logits_of(model, [self.rows[row] for row in held_out], self.collator)
        if training.process_index == 0:
            np.save(file.with_suffix(".new.npy"), logits)
            os.replace(file.with_suffix(".new.npy"), file)
        return logits

    def trainer(
        self, model: PreTrainedModel, rows: Any, training: GlueTrainingArguments | None = None
    ) -> ResumableTrainer:
        """Returns the Trainer of a model, whose wide part stays as it is.

        Other arguments than those of the run are those of a fold.
        """
        wide = getattr(getattr(model, "classifier", None), "wide", None)
        if wide is not None:
            wide.requires_grad_(False)
        options: dict[str, Any] = {
            "model": model,
            "args": training or self.training,
            "train_dataset": rows,
            "eval_dataset": self.held_out.get(""),
            "data_collator": self.collator,
            "compute_metrics": self.data.problem.compute_metrics,
            "preprocess_logits_for_metrics": logits_only,
        }
        if self.arguments.teacher is not None:
            trainer: ResumableTrainer = DistillingTrainer(self.data.problem, **options)
        elif self.data.train.weights is not None:
            trainer = WeightedTrainer(self.data.problem, **options)
        else:
            trainer = ResumableTrainer(**options)
        if self.arguments.early_stopping_patience and trainer.args.load_best_model_at_end:
            trainer.add_callback(EarlyStoppingCallback(self.arguments.early_stopping_patience))
        return trainer
