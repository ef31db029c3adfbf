"""A run of a script, from its locked folder to the checkpoint in it; and a trial of it that leaves nothing."""

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple, cast

import datasets
from accelerate.utils import broadcast_object_list
from torch import nn
from transformers import set_seed
from transformers.trainer_utils import SaveStrategy

from vocabless.saving.checkpoint import loads_without_package
from vocabless.saving.model_card import write_card
from vocabless.saving.public_names import public_arguments
from vocabless.saving.run_folder import RESULTS, locked_run_folder, read_results, versions, write_json
from vocabless.saving.uploads import upload_run
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.run_checkpoints import remove_all
from vocabless.training.task import Results, Trained, TrainingTask


class Outcome(NamedTuple):
    """A finished run."""

    results: Results
    text: str  # what the main process prints


def run(task: TrainingTask, repository: str | None = None) -> Outcome:
    """Trains in the folder of the run, unless it holds the finished run: then its results are read.

    A run that was interrupted continues. Every process of a run calls this. A finished run is uploaded to the
    repository with the id `repository`, if it is given.

    Raises:
        ValueError: a user's mistake, another run in the folder, or training that cannot continue.
    """
    folder, training = task.folder, task.training
    is_main = training.process_index == 0
    training.push_to_hub = False  # the Trainer would push unfinished runs; `upload_run` pushes finished ones
    identity = task.identity()
    data = task.data_identity() if is_main else {}
    with locked_run_folder(folder, identity | data) if is_main else nullcontext():
        if (results := read_results(folder)) is not None:
            first = f"Nothing was trained: the run in {folder} is finished, and these are its results."
        else:
            _train_and_save(task, identity)
            results = read_results(folder)
            first = ""
        assert results is not None
        if is_main and not task.keeps_checkpoints:
            remove_all(folder)
        results = task.complete(results)
        last = ""
        if results.get("loads_without_package_bit_equal"):
            last = f"Loaded {folder} in a process without vocabless: outputs are bit-equal."
        if repository is not None:
            last += f"\nUploaded to {upload_run(folder, repository, training)}."
    return Outcome(results, "\n".join(filter(None, [first, task.summary(results), last.strip()])))


def dry_run(task: TrainingTask) -> Outcome:
    """Does what `run` does, but one step of training alone, in a temporary folder, which it removes."""
    cache, training = datasets.config.HF_DATASETS_CACHE, task.training
    with tempfile.TemporaryDirectory() as name:
        (name,) = broadcast_object_list([name])  # all processes work in the folder of the first
        datasets.config.HF_DATASETS_CACHE = Path(name) / "cache"
        training.output_dir, training.max_steps, training.report_to = str(Path(name) / "run"), 1, []
        training.save_strategy, training.load_best_model_at_end = SaveStrategy.NO, False
        try:
            return run(task)
        finally:
            datasets.config.HF_DATASETS_CACHE = cache


def train(task: TrainingTask) -> Trained:
    """Trains, from the last checkpoint in the folder of the run if there is one; writes nothing else there."""
    training = task.training
    task.folder.mkdir(parents=True, exist_ok=True)
    with training.main_process_first(desc="preparing the data"):
        data = task.read_data()
        set_seed(training.seed)
        model, tokenizer = task.load_model(data)
        examples = task.build_examples(data, tokenizer)
    trainer = task.make_trainer(
        model=task.module_to_train(model, examples),
        args=training,
        train_dataset=examples.train,
        eval_dataset=examples.evaluated.get(""),
        data_collator=examples.collator,
        compute_metrics=examples.compute_metrics,
        preprocess_logits_for_metrics=task.reduce_outputs,
    )
    train_metrics = task.train_with(trainer)
    measures = {
        f"{name}{suffix}": value
        for suffix, data_set in examples.evaluated.items()
        for name, value in trainer.evaluate(data_set).items()
    }
    measures |= task.predict(trainer, tokenizer)
    return Trained(model, tokenizer, examples, trainer, train_metrics, measures)


def _train_and_save(task: TrainingTask, identity: dict[str, Any]) -> None:
    """Trains; writes the model, its card and the results."""
    trained = train(task)
    folder, trainer = task.folder, trained.trainer
    model, tokenizer = trained.model, trained.tokenizer
    weights = trainer.full_state_dict()
    if trainer.is_world_process_zero():
        task.save(cast(nn.Module, trainer.model), tokenizer, folder, weights)
        results = {
            "train": trained.train_metrics,
            "log": trainer.state.log_history,
            "parameters": model.num_parameters(),
            "arguments": public_arguments(identity),
            "versions": versions(),
            **task.results(trained),
        }
        if isinstance(tokenizer, VocablessTokenizer):
            write_card(folder, model, tokenizer.block_size, task.card_facts(results))
            if task.checks_standalone:
                if not loads_without_package(model, tokenizer, folder):
                    raise ValueError(
                        f"{folder} loads without vocabless, but gives other outputs; do not use it, and report it."
                    )
                results["loads_without_package_bit_equal"] = True
        write_json(folder / RESULTS, results)
    trainer.accelerator.wait_for_everyone()
