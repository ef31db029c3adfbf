"""The one way to fine-tune: a head on frozen vectors, then folds, a choice, and training on all rows.

Both `run_glue.py` and `VocablessClassifier` call `fit`, so they have one definition of scores and of the saved model:

1. The rows are tokenised once, and a trained encoder of ours reads them: a linear head is fitted to its vectors.
2. If epochs are asked for and no validation rows are apart, a copy of the model is trained for each scored fold.
3. `is_head_better` compares the head alone with fine-tuning, on the same rows.
4. What is better is saved: the head, or a copy of the model that is trained on all rows.
"""

import copy
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from tqdm.auto import tqdm
from transformers import DataCollatorWithPadding, EarlyStoppingCallback, PreTrainedModel

from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.finetuning.arguments import GlueArguments, GlueTrainingArguments, default_patience
from vocabless.training.finetuning.data import EncodedRows, Examples, TaskData, encode
from vocabless.training.finetuning.first_head import FrozenVectors, Vectors, has_linear_head, logits_of
from vocabless.training.finetuning.metrics import FOLDS, interval
from vocabless.training.finetuning.teacher import DistillingTrainer, distill_task
from vocabless.training.load import Loaded, is_checkpoint
from vocabless.training.trainer import ResumableTrainer, logits_only

LENGTHS = (64, 128, 256, 512)  # tokens
DEFAULT_LENGTH = 128
MAX_CUT = 0.01  # share of the texts that a length cuts
FOLDS_FOLDER = "folds"  # in the folder of a run, until it is finished
Metrics = dict[str, float]


@dataclass(frozen=True)
class Fitted:
    """A fine-tuned model, and how it came about."""

    model: PreTrainedModel
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
    tuner = _Tuner(data, loaded, arguments, training, has_first_head, log)
    frozen, head, tuned = None, None, None  # vectors, and metrics
    if has_first_head:
        frozen = FrozenVectors(tuner.model, tuner.rows, tuner.collator, data)
        frozen.head().write_into(cast(Any, tuner.model).classifier)
        head = tuner.score_folds(frozen.held_out_logits) if data.is_cross_validated else tuner.score(tuner.model)
        log(_describe_head(data, head))
    if data.is_cross_validated and training.num_train_epochs != 0:
        tuned = tuner.score_folds(tuner.fold_logits(frozen))
    if head is not None and (training.num_train_epochs == 0 or (tuned and is_head_better(data, training, head, tuned))):
        return tuner.fitted(tuner.model, head, head_metrics=head, is_head=True)
    rows, teacher = tuner.rows, None
    if arguments.teacher is not None:
        rows, teacher = distill_task(data, rows, tuner.arguments, tuner.training, tuner.encode)
    trainer = tuner.trainer(copy.deepcopy(tuner.model), rows)
    details = {"train_metrics": trainer.resume(), "trainer": trainer, "head_metrics": head, "teacher": teacher}
    model = cast(PreTrainedModel, trainer.model)
    if tuned is None:
        tuned = tuner.score(model)
        if head is not None and is_head_better(data, tuner.training, head, tuned):
            return tuner.fitted(tuner.model, head, is_head=True, **details)
    return tuner.fitted(model, tuned, **details)


def is_head_better(data: TaskData, training: GlueTrainingArguments, head: Metrics, tuned: Metrics) -> bool:
    """Returns whether the head alone is saved: the one place where this is decided.

    On validation rows the metric that chooses the best epoch decides, and the simpler model is kept where both are
    equal. On folds, where no epoch is chosen, the head must be better by more than a standard error.
    """
    if data.is_cross_validated:
        metric = data.problem.best_metric
        low, high = interval(metric, tuned[metric], len(data.validation[""]))
        return head[metric] > tuned[metric] + (high - low) / 4  # a quarter of the interval is a standard error
    metric = str(training.metric_for_best_model).removeprefix("eval_")
    if not training.load_best_model_at_end or metric not in head:
        return False
    return head[metric] >= tuned[metric] if training.greater_is_better else head[metric] <= tuned[metric]


def _encode_training_rows(data: TaskData, loaded: Loaded, arguments: GlueArguments) -> tuple[EncodedRows, int, str]:
    """Returns the training rows, the sequence length, and a sentence on it, or "" if it is given or no text is cut.

    The texts are measured for a checkpoint and own data, if no length is given. GLUE and random weights get
    `DEFAULT_LENGTH`. Texts that are longer than what is chosen are tokenised again, so that the tokenizer cuts them.
    """
    wanted, limit = arguments.max_seq_length, loaded.limit
    if wanted is not None:
        loaded.check_length(wanted, str(arguments.model_name_or_path))

    def tokenise(examples: Examples, length: int) -> EncodedRows:
        return encode(examples, data.problem, loaded.tokenizer, length)

    if wanted is not None or arguments.task_name is not None or not is_checkpoint(arguments.model_name_or_path):
        length = wanted or min(DEFAULT_LENGTH, limit)
        return tokenise(data.train, length), length, ""
    rows = tokenise(data.train, limit + 1)  # longer than the limit, to see which texts it cuts
    lengths = np.array([len(row["input_ids"]) for row in rows])
    length = min(next((length for length in LENGTHS if (lengths > length).mean() <= MAX_CUT), LENGTHS[-1]), limit)
    longer = np.flatnonzero(lengths > length)
    if not len(longer):
        return rows, length, ""
    for row, shortened in zip(longer, tokenise(data.train.select(longer.tolist()), length), strict=True):
        rows[row] = shortened
    share = 100 * len(longer) / len(lengths)
    return rows, length, f"Texts are read up to {length} tokens, which cuts {share:.1f} % of them."


def _describe_head(data: TaskData, metrics: Metrics) -> str:
    """Returns a sentence with the score of the head alone."""
    metric = data.problem.best_metric
    ways = "cross-validated" if data.scored_folds == FOLDS else f"on {len(data.validation['']):,} held-out rows"
    return (
        f"{data.title}, head alone (a linear model of the frozen encoder's vectors): {metric.replace('_', ' ')} "
        f"{100 * metrics[metric]:.1f}, {ways}."
    )


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
        self.data, self.model, tokenizer = data, loaded.model, loaded.tokenizer
        self.rows, length, sentence = _encode_training_rows(data, loaded, arguments)
        if sentence:
            log(sentence)
        if isinstance(tokenizer, VocablessTokenizer):
            tokenizer.model_max_length = length  # for pipelines, ONNX and page
        self.encode = lambda examples: encode(examples, data.problem, tokenizer, length)
        validation = {} if data.is_cross_validated else data.validation
        self.held_out = {suffix: self.encode(examples) for suffix, examples in validation.items()}
        eval_steps = arguments.eval_steps.get(data.name)
        self.training = training.arguments_of_run(data, eval_steps, has_first_head)
        patience = arguments.early_stopping_patience
        patience = default_patience(float(self.training.num_train_epochs or 0)) if patience is None else patience
        self.arguments = replace(arguments, max_seq_length=length, early_stopping_patience=patience)
        self.collator = DataCollatorWithPadding(tokenizer)

    def fitted(self, model: PreTrainedModel, metrics: Metrics, **details: Any) -> Fitted:
        """Returns the result, with the arguments that were chosen."""
        return Fitted(model, self.arguments, self.training, metrics, **details)

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

    def fold_logits(self, frozen: FrozenVectors | None) -> Vectors:
        """Returns (n, outputs), the logits of each row in the scored folds, of a copy of the model trained without it.

        Those of a finished fold are kept, so a run that was killed loses one fold.
        """
        folder, folds = Path(str(self.training.output_dir)) / FOLDS_FOLDER, self.data.folds()[: self.data.scored_folds]
        folder.mkdir(parents=True, exist_ok=True)
        logits = np.full((len(self.rows), self.data.problem.config["num_labels"]), np.nan)
        is_one = len(folds) == 1
        training = self.training.without_output(folder)
        training.disable_tqdm = bool(training.disable_tqdm) or not is_one
        bar = tqdm(folds, desc="Cross-validation", disable=bool(self.training.disable_tqdm) or is_one)
        for number, held_out in enumerate(bar):
            file = folder / f"{number}.npy"
            if file.is_file():
                logits[held_out] = np.load(file)
                continue
            rest = np.setdiff1d(np.arange(len(self.rows)), held_out)
            model: Any = copy.deepcopy(self.model)
            if frozen is not None:
                frozen.head(rest).write_into(model.classifier)
            self.trainer(model, [self.rows[row] for row in rest], training).resume()
            logits[held_out] = logits_of(model, [self.rows[row] for row in held_out], self.collator)
            if training.process_index == 0:
                np.save(file.with_suffix(".new.npy"), logits[held_out])
                os.replace(file.with_suffix(".new.npy"), file)
        return logits

    def trainer(
        self, model: PreTrainedModel, rows: Any, training: GlueTrainingArguments | None = None
    ) -> ResumableTrainer:
        """Returns the Trainer of a model; other arguments than those of the run are those of a fold."""
        options: dict[str, Any] = {
            "model": model,
            "args": training or self.training,
            "train_dataset": rows,
            "eval_dataset": self.held_out.get(""),
            "data_collator": self.collator,
            "compute_metrics": self.data.problem.compute_metrics,
            "preprocess_logits_for_metrics": logits_only,
        }
        if self.arguments.teacher is None:
            trainer = ResumableTrainer(**options)
        else:
            trainer = DistillingTrainer(self.data.problem, **options)
        if self.arguments.early_stopping_patience and trainer.args.load_best_model_at_end:
            trainer.add_callback(EarlyStoppingCallback(self.arguments.early_stopping_patience))
        return trainer
