"""One fine-tuning run: one task with one seed."""
# mypy: allow-untyped-calls

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.utils.data import ConcatDataset, Dataset
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    set_seed,
)

from vocabless.saving.checkpoint import save_checkpoint
from vocabless.saving.model_card import write_card
from vocabless.saving.run_folder import RESULTS, locked_run_folder, read_results, rows_identity, versions, write_json
from vocabless.saving.starting_checkpoints import describe_start
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.checkpoint_tokenizers import longest_sequence
from vocabless.training.finetuning.arguments import GlueArguments, reported_arguments
from vocabless.training.finetuning.card import card_example, card_facts
from vocabless.training.finetuning.default_hyper_parameters import BASE_WIDTH, default_epochs, default_patience
from vocabless.training.finetuning.distilled_examples import DistilledExamples, DistillingTrainer
from vocabless.training.finetuning.encoded_examples import EncodedExamples
from vocabless.training.finetuning.floor_note import floor_note
from vocabless.training.finetuning.initial_models import is_checkpoint, load_initial_model
from vocabless.training.finetuning.predictions import write_predictions
from vocabless.training.finetuning.tasks import Examples, Task
from vocabless.training.finetuning.teaching import Teaching, teach
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.finetuning.unlabelled import read_unlabelled
from vocabless.training.run_checkpoints import remove_all
from vocabless.training.trainer import ResumableTrainer

Results = dict[str, Any]  # content of a run's results.json


def run_folder(task: Task, seed: int, training: GlueTrainingArguments) -> Path:
    """Returns the folder of a run, in the output folder of the command."""
    return Path(str(training.output_dir)) / task.name / f"seed-{seed}"


def fine_tune(task: Task, seed: int, arguments: GlueArguments, training: GlueTrainingArguments) -> Results:
    """Returns the results of a task with a seed. A finished run is read from its folder, any other is run.

    Raises:
        ValueError: the model cannot be loaded, the sequence length does not fit, or the run began with other data.
        TrainingStopped: the loss is not finite, or the disk is full.
    """
    folder, is_main = run_folder(task, seed, training), training.process_index == 0
    with locked_run_folder(folder, _data_identity(task, arguments, training)) if is_main else nullcontext():
        if (results := read_results(folder)) is None:
            eval_steps = arguments.eval_steps_of(task.name)
            _run(task, folder, arguments, training.for_run(folder, seed, task.problem.best_metric, eval_steps))
            results = read_results(folder)
        if is_main:
            remove_all(folder)
    assert results is not None
    return results


def check_best_metric(training: GlueTrainingArguments, tasks: Sequence[Task]) -> None:
    """Checks that the evaluations of every task report `--metric_for_best_model`.

    Raises:
        ValueError: they do not; the message lists what they report.
    """
    metric = training.metric_for_best_model
    for task in tasks if metric is not None else ():
        reported = ["loss", *task.problem.constant_baselines(task.targets())]
        if str(metric).removeprefix("eval_") not in reported:
            raise ValueError(
                f"--metric_for_best_model {metric} is not reported for {task.title}; give one of {', '.join(reported)}."
            )


def all_versions() -> dict[str, str]:
    """Returns the versions that a result depends on, with those of the packages that compute the metrics."""
    return versions() | {name: version(name) for name in ("evaluate", "scikit-learn", "scipy")}


def _data_identity(task: Task, arguments: GlueArguments, training: GlueTrainingArguments) -> dict[str, str]:
    """Returns what identifies the data that a run reads, by name: a run with other data needs another folder."""
    parts = {"training rows": task.train}
    parts |= {f"validation rows{suffix}": examples for suffix, examples in task.validation.items()}
    if training.do_predict:
        parts |= {f"test rows{suffix}": examples for suffix, examples in task.test.items()}
    if arguments.unlabelled:
        parts["unlabelled rows"] = read_unlabelled(arguments.unlabelled, task, arguments.text_format)
    identity = {name: rows_identity(examples.rows()) for name, examples in parts.items()}
    return identity | {"labels": rows_identity(task.problem.labels)}


def _run(task: Task, folder: Path, arguments: GlueArguments, training: GlueTrainingArguments) -> None:
    """Loads a model, trains it, evaluates it, predicts the test splits if asked to, and saves all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    with training.main_process_first(desc="reading the outputs of the teacher"):
        teaching = teach(task, arguments, training)
    set_seed(training.seed)
    with training.main_process_first(desc="loading the model"):
        model, tokenizer = load_initial_model(arguments, task, folder)
    _check_length(arguments, model, tokenizer)
    if training.num_train_epochs is None:
        training.num_train_epochs = default_epochs(len(task.train), training)
    if arguments.early_stopping_patience is None:
        arguments = replace(arguments, early_stopping_patience=default_patience(training.num_train_epochs))

    def encode(examples: Examples) -> EncodedExamples:
        return EncodedExamples(examples, task.problem, tokenizer, arguments.max_seq_length)

    validation = {suffix: encode(examples) for suffix, examples in task.validation.items()}
    train_set: Dataset[Any] = encode(task.train) if teaching is None else _distilled(teaching, task, encode)
    trainer = _make_trainer(task, model, tokenizer, train_set, validation[""], arguments, training)
    train_metrics = trainer.resume()
    metrics = _evaluate(trainer, validation)
    if training.do_predict:
        tests = {suffix: encode(examples) for suffix, examples in task.test.items()}
        metrics |= write_predictions(trainer, task, tests, folder)
    weights = trainer.full_state_dict()
    if trainer.is_world_process_zero():
        save_checkpoint(model, tokenizer, folder, weights)
        footnotes = _footnotes(task, validation)
        results = _results(task, model, trainer, train_metrics, metrics, footnotes, arguments, training)
        if teaching is not None:
            results["teacher"] = teaching.facts
        if isinstance(tokenizer, VocablessTokenizer):
            write_card(folder, model, tokenizer.block_size, card_facts(results))
        write_json(folder / RESULTS, results)
    trainer.accelerator.wait_for_everyone()


def _check_length(arguments: GlueArguments, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    limit = longest_sequence(model, tokenizer)
    if not 3 <= arguments.max_seq_length <= limit:
        raise ValueError(
            f"--max_seq_length {arguments.max_seq_length} does not fit {arguments.model_name_or_path}; "
            f"give 3 to {limit}."
        )


def _distilled(teaching: Teaching, task: Task, encode: Callable[[Examples], EncodedExamples]) -> Dataset[Any]:
    """Returns the examples of all lessons, encoded for the student."""
    return ConcatDataset(
        DistilledExamples(encode(lesson.examples), lesson.logits, task.problem, lesson.examples.labels is not None)
        for lesson in teaching.lessons
    )


def _make_trainer(
    task: Task,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    train_set: Dataset[Any],
    eval_set: EncodedExamples,
    arguments: GlueArguments,
    training: GlueTrainingArguments,
) -> ResumableTrainer:
    options: dict[str, Any] = {
        "model": model,
        "args": training,
        "train_dataset": train_set,
        "eval_dataset": eval_set,
        "data_collator": task.problem.collator(tokenizer),
        "compute_metrics": task.problem.compute_metrics,
        "preprocess_logits_for_metrics": logits_only,
        "processing_class": tokenizer,
    }
    trainer = (
        ResumableTrainer(**options)
        if arguments.teacher is None
        else DistillingTrainer(task.problem, arguments.gold_weight, arguments.teacher_temperature, **options)
    )
    patience = arguments.early_stopping_patience or 0
    if patience > 0 and training.load_best_model_at_end:
        trainer.add_callback(EarlyStoppingCallback(patience))
    if training.disable_tqdm:
        trainer.remove_callback(PrinterCallback)
    return trainer


def logits_only(logits: Any, labels: Tensor) -> Tensor:
    """Returns the logits. Some models also return hidden states."""
    return logits if isinstance(logits, Tensor) else logits[0]


def _evaluate(trainer: ResumableTrainer, validation: dict[str, EncodedExamples]) -> dict[str, float]:
    """Returns the metrics of all validation splits, with the splits' suffixes."""
    return {
        f"{name.removeprefix('eval_')}{suffix}": value
        for suffix, encoded in validation.items()
        for name, value in trainer.evaluate(encoded).items()
    }


def _footnotes(task: Task, validation: dict[str, EncodedExamples]) -> list[str]:
    """Returns a footnote on the words that are not evaluated, if there are any; only for problems per word."""
    if not task.problem.per_word:
        return []
    words = sum(len(text) for text in task.validation[""].texts)
    unscored = words - sum(map(len, validation[""].scored_words))
    if not unscored:
        return []
    return [f"{task.title}: {unscored:,} of {words:,} words, cut off or without a token, are not scored"]


def _results(
    task: Task,
    model: PreTrainedModel,
    trainer: ResumableTrainer,
    train_metrics: dict[str, float],
    metrics: dict[str, float],
    footnotes: list[str],
    arguments: GlueArguments,
    training: GlueTrainingArguments,
) -> Results:
    """Returns the content of results.json."""
    from_scratch = not is_checkpoint(arguments.model_name_or_path)
    results: Results = {
        "task": task.name,
        "example": [] if arguments.task_name else card_example(task.validation[""]),
        "from_scratch": from_scratch,
        "start": describe_start(arguments.model_name_or_path, from_scratch),
        "seed": trainer.args.seed,
        "measures": metrics,
        "floors": task.constant_baselines(),
        "train": train_metrics,
        "best_checkpoint": Path(trainer.state.best_model_checkpoint or "").name or None,
        "epochs": trainer.state.epoch,
        "log": trainer.state.log_history,
        "parameters": model.num_parameters(),
        "footnotes": footnotes,
        "arguments": reported_arguments(arguments, training),
        "versions": all_versions(),
    }
    note = floor_note(task, results, getattr(model.config, "hidden_size", BASE_WIDTH))
    return results | ({"floor_note": note} if note else {})
