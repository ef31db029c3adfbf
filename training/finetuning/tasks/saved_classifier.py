"""What a checkpoint says of its problem: a classifier or a regressor that was saved."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from transformers.utils.hub import cached_file

from vocabless.saving.run_folder import RESULTS, read_json
from vocabless.training.finetuning.tasks.problems import PROBLEMS, THRESHOLD, Problem, Regression, SingleLabel
from vocabless.training.load import split_revision


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
    names = [] if kind == Regression.name else [str(config.id2label[number]) for number in range(config.num_labels)]
    threshold = getattr(config, "classifier_threshold", None) or record.get("threshold") or THRESHOLD
    return PROBLEMS[kind](names, threshold=threshold)
