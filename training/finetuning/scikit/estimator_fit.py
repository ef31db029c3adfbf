"""What the estimators for scikit-learn do with texts: fit, predict, save and upload.

It imports the libraries of training, so `estimators.py` imports it for the first fit.
"""

import random
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from tqdm.auto import tqdm
from transformers import DataCollatorWithPadding, PreTrainedModel
from transformers.utils.hub import cached_file

from vocabless.loading import find_model
from vocabless.modeling.modeling_vocabless import VocablessForSequenceClassification
from vocabless.public_names import without_paths
from vocabless.saving.checkpoint import load_checkpoint, save_checkpoint
from vocabless.saving.model_card import write_card
from vocabless.saving.record import TEST, card_facts
from vocabless.saving.run_folder import RESULTS, read_json, write_json
from vocabless.saving.uploads import check_upload, upload
from vocabless.training.finetuning.encoder_choice import choose_encoder
from vocabless.training.finetuning.fine_tuning import load_model, results_of
from vocabless.training.finetuning.fit import fit
from vocabless.training.finetuning.prepared import Log, takes_first_head
from vocabless.training.finetuning.rows.held_out import choose_validation
from vocabless.training.finetuning.tasks.arguments import (
    NONE_OF_THESE,
    DataArguments,
    GlueArguments,
    GlueTrainingArguments,
)
from vocabless.training.finetuning.tasks.data import Examples, TaskData, encode, shorten
from vocabless.training.finetuning.tasks.logits import logits_of
from vocabless.training.finetuning.tasks.problems import PROBLEMS, THRESHOLD, Problem, Regression, SingleLabel
from vocabless.training.load import quiet_library, split_revision

MOST_SEEDS = 1 << 31
_FITTING = threading.Lock()  # the Trainer has state that threads share


class Model(NamedTuple):
    """A fitted model."""

    model: PreTrainedModel
    tokenizer: Any
    problem: Problem
    scores: Mapping[str, float]
    results: Mapping[str, Any]  # the content of `results.json`


def fit_texts(problem_type: str, names: Sequence[str], examples: Examples, parameters: Mapping[str, Any]) -> Model:
    """Fits the head to examples with parsed labels, then all weights unless the number of epochs is 0.

    `problem_type` is a key of `PROBLEMS`, `names` are those of the labels, `parameters` those of the estimator.

    Raises:
        ValueError: a text is empty, or the model is not a trained encoder of ours without a head.
    """
    parameters = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
    problem = PROBLEMS[problem_type](names)
    _check_different_texts(examples, problem)
    data = TaskData("texts", "texts", problem, examples)
    epochs, seed = parameters["epochs"], parameters["random_state"]
    if not isinstance(seed, int):
        seed = check_random_state(seed).randint(MOST_SEEDS)
    tells = parameters["verbose"] and epochs != 0  # the head alone takes seconds
    quiet = quiet_library(shows_bars=parameters["verbose"])
    with _FITTING, _own_generators(), quiet, tempfile.TemporaryDirectory() as folder:
        log: Log = partial(tqdm.write, file=sys.stderr) if parameters["verbose"] else lambda line: None
        choice = None if parameters["model_name_or_path"] else choose_encoder(data, log)
        source = str(parameters["model_name_or_path"]) if choice is None else choice.source
        label = parameters.get("reject_label")
        arguments = GlueArguments(
            model_name_or_path=source,
            max_seq_length=parameters["max_seq_length"],
            reject=parameters.get("reject"),
            reject_label=NONE_OF_THESE if label is None else str(label),
        )
        training = GlueTrainingArguments(
            output_dir=folder,
            num_train_epochs=epochs,
            learning_rate=parameters["learning_rate"],
            per_device_train_batch_size=parameters["batch_size"],
            seed=seed,
            disable_tqdm=not tells,
            report_to="none",
        )
        loaded = load_model(arguments, data, Path(folder))
        if not takes_first_head(loaded, problem, arguments):
            raise ValueError(f"{source!r} is no encoder of ours without a head; give another one.")
        data = choose_validation(data, DataArguments(), scores_folds=True)
        fitted = fit(data, loaded, arguments, training, tqdm.write if tells else lambda line: None)
        results = results_of(fitted, DataArguments()) | ({} if choice is None else {"encoder_choice": asdict(choice)})
    results |= {"parameters": fitted.model.num_parameters(), "has_sample_weight": examples.weights is not None}
    results |= {"arguments": without_paths(results["arguments"])}
    return Model(fitted.model.eval(), loaded.tokenizer, fitted.data.problem, fitted.chosen.scores, results)


def _check_different_texts(examples: Examples, problem: Problem) -> None:
    """Raises an error if all texts are the same; warns of labels that folds cannot tell anything of."""
    keys = examples.keys()
    if len(set(keys)) < 2:
        raise ValueError(f"all texts are copies of {examples.texts[0]!r}; give some for each label.")
    texts: dict[str, set[Any]] = {}
    for key, label in zip(keys, examples.labels or [], strict=True):
        for name in problem.names_in(label):
            texts.setdefault(name, set()).add(key)
    if alone := [name for name, of_label in texts.items() if len(of_label) == 1]:
        warnings.warn(
            f"{len(alone)} of {len(texts)} labels have one different text each, which no model of cross_validated_ "
            "has both learned and not seen; give more texts, or do not rely on these scores.",
            stacklevel=4,
        )


def load(
    source: str, problem_types: Sequence[str] = (*PROBLEMS,), pairs: bool = False
) -> tuple[Model, list[Any] | None]:
    """Returns a fitted model of one of the problem types, a folder or a Hub id, and its classes, if they were recorded.

    Raises:
        ValueError: it is no classifier of texts of ours, of another problem type, or of pairs, unless `pairs` is true.
    """
    source = find_model(source)
    model, tokenizer = load_checkpoint(source)
    results = read_record(source)
    if not isinstance(model, VocablessForSequenceClassification) or (results.get("is_pair") and not pairs):
        reads = "pairs of texts" if results.get("is_pair") else f"the head {type(model).__name__}"
        raise ValueError(f"{source!r} has {reads}; give a classifier of single texts, or load it with transformers.")
    problem = problem_of(source, model.config, results)
    if problem.name not in problem_types:
        other = "VocablessRegressor" if problem.name == Regression.name else "VocablessClassifier"
        raise ValueError(f"{source!r} is a model for {problem.name}; load it with {other}.from_pretrained.")
    scores = {name: value for name, value in results.get("measures", {}).items() if not name.startswith(TEST)}
    classes = results.get("classes")  # may be numbers; those of another model have other names
    if classes is None or [*map(str, classes)] != problem.labels:
        classes = problem.labels or None
    return Model(model, tokenizer, problem, scores, results), classes


def read_record(source: str) -> dict[str, Any]:
    """Returns the `results.json` of a checkpoint, a folder or a Hub id; without one nothing."""
    name, revision = split_revision(source)
    with suppress(OSError):
        return read_json(Path(str(cached_file(name, RESULTS, revision=revision))), "save the model again")
    return {}


def problem_of(source: str, config: Any, record: dict[str, Any]) -> Problem:
    """Returns the problem of a classifier or a regressor, by the configuration and the record of a checkpoint.

    Raises:
        ValueError: the configuration names none.
    """
    kind = config.problem_type or (Regression.name if config.num_labels == 1 else SingleLabel.name)
    if kind not in PROBLEMS:
        raise ValueError(f"config.json of {source!r} has problem_type {kind!r}; write one of {', '.join(PROBLEMS)}.")
    outputs = config.num_labels - (getattr(config, "classifier_reject_score", None) is not None)
    names = [] if kind == Regression.name else [str(config.id2label[number]) for number in range(outputs)]
    threshold = getattr(config, "classifier_threshold", None) or record.get("threshold") or THRESHOLD
    return PROBLEMS[kind](names, threshold=threshold)


def read_texts(
    model: PreTrainedModel, tokenizer: Any, texts: list[str], pairs: list[str] | None = None
) -> NDArray[np.float64]:
    """Returns the logits (n, outputs) of texts, or of pairs; warns if it cuts some, which Python shows once."""
    length, examples = int(tokenizer.model_max_length), Examples(texts, pairs)
    rows = encode(examples, SingleLabel(), tokenizer, length + 1)
    if shorten(rows, examples, SingleLabel(), tokenizer, length):
        warnings.warn(f"a text has more than {length} tokens; only so many are read.", stacklevel=2)
    return logits_of(model, rows, DataCollatorWithPadding(tokenizer))


def save(folder: Path, model: PreTrainedModel, tokenizer: Any, results: Mapping[str, Any], example: str | None) -> None:
    """Writes model, code, tokenizer, record and card into a folder, which is created; see `save_pretrained`."""
    results = {**results, "example": [] if example is None else [example], "task": folder.resolve().name}
    folder.mkdir(parents=True, exist_ok=True)
    with quiet_library(shows_bars=False):  # written in a moment
        save_checkpoint(model, tokenizer, folder, write_more=lambda new: write_json(new / RESULTS, results))
    write_card(folder, model, tokenizer.block_size, card_facts(results))


def push(repo_id: str, fitted: Any, example: str | None, private: bool | None, token: str | None) -> str:
    """Uploads what `fitted.save_pretrained` writes; returns the address and the commit. See `push_to_hub`."""
    repo_id = check_upload(repo_id, token)
    with quiet_library(shows_bars=fitted.verbose), tempfile.TemporaryDirectory() as name:
        folder = Path(name) / repo_id.rpartition("/")[2]
        fitted.save_pretrained(folder, example)
        return upload(folder, repo_id, "Add the model", token, private)


@contextmanager
def _own_generators() -> Iterator[None]:
    """Gives the global generators of random numbers their states back: the Trainer seeds them."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng():
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
