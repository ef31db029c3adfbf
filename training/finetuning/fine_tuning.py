"""The tasks, the model and the runs of `vocabless finetune`: a run has one task, one seed and a folder of its own."""

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from datasets import Dataset
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerBase, set_seed

from vocabless import VocablessForSequenceClassification
from vocabless.saving.model_card import write_card
from vocabless.saving.record import MISMATCHED, TEST, card_facts, provenance
from vocabless.saving.run_folder import RESULTS, rows_fingerprint, version, versions, write_json
from vocabless.training.finetuning.candidates import HEAD, MEAN, interval
from vocabless.training.finetuning.fit import Fitted, fit
from vocabless.training.finetuning.head.head_writing import read_sentence_vector
from vocabless.training.finetuning.rows.glue import find_glue_tasks, load_glue_task
from vocabless.training.finetuning.rows.held_out import limited
from vocabless.training.finetuning.rows.second_look import SECOND_LOOK, write_second_look
from vocabless.training.finetuning.rows.sources import load_own_data
from vocabless.training.finetuning.tasks.arguments import (
    DataArguments,
    GlueArguments,
    GlueTrainingArguments,
    is_trained_vocabless,
)
from vocabless.training.finetuning.tasks.data import Examples, TaskData
from vocabless.training.finetuning.tasks.label_scores import predict_splits
from vocabless.training.finetuning.tasks.metrics import Scores
from vocabless.training.finetuning.trainers.teacher import distill_task, label_order, read_unlabelled
from vocabless.training.finetuning.tuning import FOLDS_FOLDER
from vocabless.training.load import Corpus, Head, Loaded, check_overrides, is_checkpoint, is_ours, load, split_revision
from vocabless.training.run import Results, Run, Trained
from vocabless.training.script import fingerprint
from vocabless.variants import Variant

SUBWORDS = 8000  # tokens, of a vocabulary that is trained on the task's texts
SOURCES = ("task_name", "train_file", "dataset_name")


def load_tasks(
    arguments: GlueArguments, training: GlueTrainingArguments, data_arguments: DataArguments
) -> list[TaskData]:
    """Returns the tasks that the arguments name, with at most the numbers of samples that they allow.

    Raises:
        ValueError: see `check_model`; not exactly one source of data is given, its data does not fit, or it does not
            fit the other flags.
    """
    check_model(arguments)
    flags = [f"--{name}" for name in SOURCES if getattr(data_arguments, name) is not None]
    if len(flags) != 1:
        mistake = f"{' and '.join(flags)} cannot be combined" if flags else "there is nothing to train on"
        remedy = f"give one of {', '.join(f'--{name}' for name in SOURCES)}"
        raise ValueError(f"{mistake}; {remedy}. To label rows by a saved model, run vocabless predict MODEL ROWS.")
    with training.main_process_first(desc="reading the data"):
        if data_arguments.task_name is not None:
            tasks = [load_glue_task(row, data_arguments.data_dir) for row in find_glue_tasks(data_arguments.task_name)]
        else:
            # A teacher's logits belong to one split.
            scores_folds = arguments.teacher is None and is_trained_vocabless(arguments)
            tasks = [load_own_data(data_arguments, scores_folds)]
        tasks = [limited(task, data_arguments.max_train_samples) for task in tasks]
        for task in tasks:
            _check_flags(task, arguments, training)
        return tasks


def _check_flags(task: TaskData, arguments: GlueArguments, training: GlueTrainingArguments) -> None:
    """Raises an error if `--example`, `--metric_for_best_model` or the labels of `--teacher` are not of the task."""
    needed, metric = 1 if task.train.pairs is None else 2, training.metric_for_best_model
    if arguments.example is not None and len(arguments.example) != needed:
        texts = f"--example has {len(arguments.example)} texts, but {task.title} has {needed} in each row"
        raise ValueError(f"{texts}; give as many, each in quotes.")
    reported = ["loss", *task.constant_baselines()]
    if metric is not None and metric.removeprefix("eval_") not in reported:
        raise ValueError(
            f"--metric_for_best_model {metric} is not reported for {task.title}; give one of {', '.join(reported)}."
        )
    if arguments.teacher is not None:
        if training.label_smoothing_factor:
            raise ValueError("--label_smoothing_factor does not work with --teacher, which is smooth; leave it out.")
        label_order(arguments.teacher.replace("{task}", task.name), task.problem, arguments.trust_remote_code)


def check_model(arguments: GlueArguments) -> None:
    """Checks the names of model, tokenizer and teacher, without data or network.

    Raises:
        ValueError: a tokenizer is missing, or is given for a model that cannot use it; a flag is for random weights.
    """
    name, tokenizer = arguments.model_name_or_path, arguments.tokenizer_name
    if is_checkpoint(name):
        check_overrides(name, arguments.overrides)
        if tokenizer == "train":
            raise ValueError(
                f"--tokenizer_name train does not fit {name!r}: its weights belong to its own tokenizer; leave it out."
            )
        return
    shape = arguments.shape
    is_variant = isinstance(shape, Variant)
    if tokenizer is not None and not shape.reads_subwords:
        units = "whole words" if is_variant else "characters"
        raise ValueError(f"{name} reads {units} and does not use --tokenizer_name; leave it out.")
    if not is_variant and arguments.ngrams is not None:
        raise ValueError(f"{name} has no n-gram features; leave --set ngrams out.")
    if not is_variant and shape.reads_subwords and tokenizer is None:
        raise ValueError(f"{name} has no tokenizer of its own; give --tokenizer_name PATH, or train.")


def load_model(arguments: GlueArguments, task: TaskData, folder: Path) -> Loaded:
    """Returns a model with a head for the task, and its tokenizer, see `vocabless.training.load.load`.

    A new head gets the vector of a sentence encoder, see `read_sentence_vector`.
    `--tokenizer_name train` and `--set ngrams=train` read the training texts.

    Raises:
        ValueError: the model or the tokenizer cannot be loaded.
    """
    name, tokenizer_name = arguments.model_name_or_path, arguments.tokenizer_name

    def options(config: Any, _: PreTrainedTokenizerBase) -> dict[str, Any]:
        if not is_ours(config):
            return task.problem.config
        settings = task.problem.config | {"classifier_reject_score": None}  # of a head for other texts
        if config.classifier_pooling == "cls":
            return settings
        # A head that reads means reads the two texts of a pair apart; single texts have no second one.
        return settings | (
            {"classifier_pooling": "mean"}
            if task.train.pairs is None
            else {"classifier_pooling": "siamese", "classifier_activation": "tanh", "classifier_wide_rows": 0}
        )

    def documents() -> Dataset:
        return Dataset.from_dict({"text": [*task.train.texts, *(task.train.pairs or [])]})

    head = Head(task.name, VocablessForSequenceClassification, AutoModelForSequenceClassification, options)
    corpus = Corpus(documents, folder, SUBWORDS)
    if not is_checkpoint(name):
        return load(arguments.shape, head, corpus, tokenizer_name, arguments.ngrams)
    loaded = load(name, head, corpus, tokenizer_name=tokenizer_name, trust_remote_code=arguments.trust_remote_code)
    if loaded.lacks_head and not arguments.random_head:
        read_sentence_vector(loaded.model, *split_revision(name))
    return loaded


class FineTuning(Run):
    """Fine-tuning on a task, with or without a teacher, see `fit`; `with_seed` gives the run of each seed.

    `arguments`, `training` and `data_arguments` are those of the command; `log` takes lines for the user.
    `encoder_choice` is what `EncoderChoice` says of the model, if the user named none.

    Raises:
        ValueError: the texts for a teacher cannot be read.
    """

    training: GlueTrainingArguments
    checks_standalone: ClassVar[bool] = False
    left_overs: ClassVar[tuple[str, ...]] = ("checkpoint-[0-9]*", FOLDS_FOLDER)

    def __init__(
        self,
        data: TaskData,
        arguments: GlueArguments,
        training: GlueTrainingArguments,
        data_arguments: DataArguments,
        log: Callable[[str], object] = print,
        encoder_choice: dict[str, Any] | None = None,
    ) -> None:
        self.encoder_choice, self.data_arguments = encoder_choice, data_arguments
        self.data, self.arguments, self.training = data, arguments, training
        self.log = log if training.process_index == 0 else lambda line: None
        self.unlabelled = self._read_unlabelled()

    def _read_unlabelled(self) -> Examples | None:
        """Returns the texts or pairs that the teacher shall label, if there are any."""
        if not self.arguments.unlabelled:
            return None
        with self.training.main_process_first(desc="reading texts for the teacher"):
            return read_unlabelled(self.arguments.unlabelled, self.data, self.data_arguments.text_format)

    def with_seed(self, seed: int) -> "FineTuning":
        """Returns the run with a seed, in a folder of its own; all of them share the texts for the teacher."""
        run = copy.copy(self)
        run.training = copy.copy(self.training)
        run.training.output_dir, run.training.seed = str(run_folder(self.data, seed, self.training)), seed
        return run

    def fingerprint(self) -> dict[str, Any]:
        """See `Run.fingerprint`."""
        return fingerprint(self.arguments, self.training, self.data_arguments)

    def data_fingerprint(self) -> dict[str, str]:
        """See `Run.data_fingerprint`."""
        data = self.data
        parts = {"training rows": data.train}
        parts |= {f"validation rows{suffix}": examples for suffix, examples in data.validation.items()}
        if self.training.do_predict:
            parts |= {f"test rows{suffix}": examples for suffix, examples in data.test.items()}
        if self.unlabelled is not None:
            parts["unlabelled rows"] = self.unlabelled
        fingerprints = {name: rows_fingerprint(examples.rows()) for name, examples in parts.items()}
        return fingerprints | {"labels": rows_fingerprint(data.problem.labels)}

    def train(self) -> Trained:
        """See `Run.train`."""
        started = time.monotonic()
        with self.training.main_process_first(desc="loading the model"):
            set_seed(self.training.seed)
            loaded = load_model(self.arguments, self.data, self.folder)
        teach = partial(distill_task, self.data, self.unlabelled, self.arguments, self.training)
        is_taught, is_main = self.arguments.teacher is not None, self.training.process_index == 0
        fitted = fit(self.data, loaded, self.arguments, self.training, self.log, teach if is_taught else None)
        folder, length = self.folder if is_main else None, fitted.prepared.arguments.max_seq_length
        if folder is not None and fitted.data.is_own and fitted.data.validation:
            if count := write_second_look(folder, fitted.data, fitted.chosen.saved_logits):
                self.log(f"{count} rows need a second look; they are in {folder / SECOND_LOOK}.")
        parts = self.data.test if self.training.do_predict else {}
        tested = predict_splits(fitted.model, loaded.tokenizer, cast(int, length), fitted.data.problem, parts, folder)
        trainer, model = fitted.tuned.trainer, fitted.model
        weights = trainer.full_state_dict() if trainer is not None and model is trainer.model else None
        log = [] if trainer is None else trainer.state.log_history
        choice = {} if self.encoder_choice is None else {"encoder_choice": self.encoder_choice}
        results = results_of(fitted, self.data_arguments, tested) | choice
        # Training may have taken longer: an interrupted command has done a part of it.
        results["seconds"] = round(max(time.monotonic() - started, results["train"]["train_runtime"]), 3)
        return Trained(model, model, loaded.tokenizer, weights, log, results)

    def complete(self, results: Results) -> Results:
        """Returns the results with the example that this command asks for.

        What an earlier command did not add is added to `results.json` and the card of the finished run.
        """
        arguments = self.arguments
        if not arguments.example or arguments.example == results["example"]:
            return results
        finished = replace(arguments, model_name_or_path=str(self.folder), tokenizer_name=None)
        loaded = load_model(finished, self.data, self.folder)
        results = results | {"example": arguments.example}
        if self.training.process_index == 0:
            write_card(self.folder, loaded.model, getattr(loaded.tokenizer, "block_size", None), card_facts(results))
            write_json(self.folder / RESULTS, results)
        return results

    def summary(self, results: Results) -> str:
        """Returns the line that is printed after a run, with the scores of the test rows if they have labels."""
        scores, constants = results["measures"], results["constant_baselines"]
        shown = {name: f"{name.removeprefix(TEST).replace('_', ' ')} {100 * scores[name]:.1f}" for name in scores}
        parts = [f"{shown[name]} (constant {100 * constant:.1f})" for name, constant in constants.items()]
        tested = [shown[TEST + name] for name in constants if TEST + name in shown]
        tests = f"; test rows: {', '.join(tested)}" if tested else ""
        time = f"{results['epochs']:.1f} epochs, {results.get('seconds', results['train']['train_runtime']):.0f} s"
        return f"{self.data.title}, seed {results['seed']}: {', '.join(parts)}{tests}; {time}"


def results_of(fitted: Fitted, data_arguments: DataArguments, tested: Scores | None = None) -> Results:
    """Returns what `results.json` says of a fitted model; `tested` are the scores on labelled test rows."""
    data, arguments, training = fitted.data, fitted.prepared.arguments, fitted.prepared.training
    from_scratch = not is_checkpoint(arguments.model_name_or_path)
    state = None if fitted.tuned.trainer is None else fitted.tuned.trainer.state
    scores = fitted.chosen.scores | (tested or {})
    constants = data.constant_baselines()
    rows = {
        f"{prefix}{name}": len(parts[MISMATCHED if name.endswith(MISMATCHED) else ""])
        for prefix, parts in (("", data.validation), (TEST, data.test))
        for name in constants
        if f"{prefix}{name}" in scores
    }
    results: dict[str, Any] = {
        "arguments": fingerprint(arguments, training, data_arguments),
        "task": data.name,
        "is_own_data": data.is_own,
        "example": arguments.example or [],
        "is_pair": data.train.pairs is not None,
        "text_columns": data.text_columns,
        "label_columns": data.label_columns,
        "from_scratch": from_scratch,
        "start": provenance(split_revision(arguments.model_name_or_path)[0], from_scratch),
        "seed": training.seed,
        "train": fitted.tuned.metrics or {"train_runtime": 0.0},
        "measures": scores,
        "rows": rows,
        "train_rows": len(data.train),
        "intervals": {name: interval(name, scores[name], count, data.scored_folds) for name, count in rows.items()},
        "threshold": data.problem.threshold,
        "constant_baselines": constants,
        "best_checkpoint": None if state is None else Path(state.best_model_checkpoint or "").name or None,
        "epochs": 0.0 if state is None else state.epoch or 0.0,
        "scored_folds": data.scored_folds,
        "versions": all_versions(),
    }
    if fitted.chosen.familiarity is not None:
        results["reject"] = {"share": arguments.reject, "label": arguments.reject_label}
    if fitted.tuned.teacher is not None:
        results["teacher"] = fitted.tuned.teacher
    if fitted.head is not None:
        results["head"] = {"measures": fitted.head.scores, "is_kept": fitted.chosen.name == HEAD}
        results["is_mean_of_weights"] = fitted.chosen.name == MEAN
    return results


def run_folder(data: TaskData, seed: int, training: GlueTrainingArguments) -> Path:
    """Returns the folder of a run, in the output folder of the command."""
    return Path(str(training.output_dir)) / data.name / f"seed-{seed}"


def all_versions() -> dict[str, str]:
    """Returns the versions that a result depends on, with those of the packages that compute the metrics."""
    return versions() | {name: version(name) for name in ("evaluate", "scikit-learn", "scipy")}
