"""A run of a script: its base class, its process, its way from the locked folder to the checkpoint, a trial of it."""

import atexit
import logging
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import datasets
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.trainer_utils import SaveStrategy
from transformers.utils import logging as transformers_logging

from vocabless.disk_errors import existing_folder
from vocabless.public_names import without_paths
from vocabless.saving.checkpoint import loads_without_package, save_checkpoint
from vocabless.saving.model_card import write_card
from vocabless.saving.record import card_facts
from vocabless.saving.run_folder import RESULTS, locked_run_folder, read_results, versions, write_json
from vocabless.saving.uploads import upload_run
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.script import ScriptTrainingArguments

Results = dict[str, Any]  # content of results.json


class Outcome(NamedTuple):
    """A finished run."""

    results: Results
    text: str  # what the main process prints


class Trained(NamedTuple):
    """What a run saves."""

    module: nn.Module  # the model, or a module that holds it
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    weights: dict[str, Tensor] | None  # all weights of the module if it holds only a part of them
    log: list[dict[str, float]]
    results: Results  # what else results.json says; `arguments` of it replace those of the fingerprint


class Run(ABC):
    """Says what is trained: a pre-training objective, or a task to fine-tune on. `run` calls its methods."""

    arguments: Any  # of the script
    training: ScriptTrainingArguments
    checks_standalone: ClassVar[bool] = True  # by loading the checkpoint without this package before the run ends
    left_overs: ClassVar[tuple[str, ...]] = ()  # patterns of folders that a finished run does not need

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return Path(str(self.training.output_dir))

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """Returns every argument that makes a run this run and no other, by name."""

    @abstractmethod
    def data_fingerprint(self) -> dict[str, str]:
        """Returns what identifies the data of a run, by name."""

    @abstractmethod
    def train(self) -> Trained:
        """Trains, from the last checkpoint in the folder of the run if there is one."""

    def save(self, trained: Trained) -> None:
        """Writes the checkpoint into the folder of the run."""
        save_checkpoint(trained.model, trained.tokenizer, self.folder, trained.weights)

    def complete(self, results: Results) -> Results:
        """Returns the results of a finished run with what this command measures and an earlier one did not."""
        return results

    @abstractmethod
    def summary(self, results: Results) -> str:
        """Returns the text that a script prints at the end of a run."""


def prepare_process(training: ScriptTrainingArguments) -> None:
    """Hides progress bars with `--disable_tqdm`, and in any case the lines for requests to the Hub.

    If nothing can be written into the cache of `datasets`, a temporary folder takes its place.
    """
    if not os.access(existing_folder(Path(datasets.config.HF_DATASETS_CACHE)), os.W_OK):
        datasets.config.HF_DATASETS_CACHE = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, datasets.config.HF_DATASETS_CACHE, ignore_errors=True)
    if training.disable_tqdm:
        datasets.disable_progress_bars()
        transformers_logging.disable_progress_bar()
    logging.getLogger("httpx").setLevel(logging.WARNING)


def run(task: Run, repository: str | None = None) -> Outcome:
    """Trains in the folder of the run, unless it holds the finished run: then its results are read.

    A run that was interrupted continues. Every process of a run calls this. A finished run is uploaded to the
    repository with the id `repository`, if it is given.

    Raises:
        ValueError: a user's mistake, another run in the folder, or training that cannot continue.
    """
    folder, training = task.folder, task.training
    is_main = training.process_index == 0
    training.push_to_hub = False  # the Trainer would push unfinished runs; `upload_run` pushes finished ones
    fingerprint = task.fingerprint()
    data = task.data_fingerprint() if is_main else {}
    with locked_run_folder(folder, fingerprint | data) if is_main else nullcontext():
        if (results := read_results(folder)) is not None:
            first = f"Nothing was trained: the run in {folder} is finished, and these are its results."
        else:
            folder.mkdir(parents=True, exist_ok=True)
            trained = task.train()
            if is_main:
                _save(task, trained, fingerprint)
            PartialState().wait_for_everyone()
            results = read_results(folder)
            first = ""
        assert results is not None
        for path in (path for pattern in task.left_overs for path in folder.glob(pattern)) if is_main else ():
            shutil.rmtree(path)
        results = task.complete(results)
        notes = []
        if results.get("loads_without_package_bit_equal"):
            notes.append(f"Loaded {folder} in a process without vocabless: outputs are bit-equal.")
        if repository is not None:
            notes.append(f"Uploaded to {upload_run(folder, repository, training)}.")
    return Outcome(results, "\n".join(filter(None, [first, task.summary(results), *notes])))


def dry_run(task: Run) -> Outcome:
    """Does what `run` does, but one step of training alone, in a temporary folder, which it removes."""
    cache, training = datasets.config.HF_DATASETS_CACHE, task.training
    with tempfile.TemporaryDirectory() as name:
        (name,) = broadcast_object_list([name])  # all processes work in the folder of the first
        datasets.config.HF_DATASETS_CACHE = Path(name) / "cache"
        training.output_dir, training.max_steps, training.report_to = str(Path(name) / "run"), 1, []
        training.save_strategy, training.load_best_model_at_end = SaveStrategy.NO, False
        try:
            outcome = run(task)
            PartialState().wait_for_everyone()  # before the first process removes the folder
            return outcome
        finally:
            datasets.config.HF_DATASETS_CACHE = cache


def _save(task: Run, trained: Trained, fingerprint: dict[str, Any]) -> None:
    """Writes the model, its card and the results."""
    folder, model, tokenizer = task.folder, trained.model, trained.tokenizer
    task.save(trained)
    record = {"arguments": fingerprint, "versions": versions(), "parameters": model.num_parameters()}
    results = {"log": trained.log, **record, **trained.results}
    results["arguments"] = without_paths(results["arguments"])
    block_size, mask = getattr(tokenizer, "block_size", None), tokenizer.mask_token
    write_card(folder, model, block_size, card_facts(results), mask)
    if isinstance(tokenizer, VocablessTokenizer) and task.checks_standalone:
        if not loads_without_package(model, tokenizer, folder):
            raise ValueError(
                f"{folder} loads without vocabless, but gives other outputs; do not use it, and report it."
            )
        results["loads_without_package_bit_equal"] = True
    write_json(folder / RESULTS, results)
