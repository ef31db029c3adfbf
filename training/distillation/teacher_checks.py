"""Whether a teacher fits a task: the same kind of head, the same labels."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from transformers import PreTrainedConfig

MAX_NAMES = 8  # label names in a message
_GENERIC = re.compile(r"LABEL_\d+|-?\d+")  # transformers' default names, and numbers


class DistilledProblem(Protocol):
    """What a teacher must know of the problem that it teaches.

    Attributes:
        name: name of the kind of problem, for messages.
        per_word: whether a text is a list of words, each with a label.
        auto_class: the `AutoModelFor…` class of its head.
        labels: label names by index; empty for regression.
    """

    name: str
    per_word: bool
    auto_class: Any
    labels: list[str]

    @property
    def config(self) -> dict[str, Any]:
        """`num_labels` and `problem_type` as a model's configuration holds them."""


def check_head(teacher: str, config: PreTrainedConfig, problem: DistilledProblem) -> None:
    """Checks that the teacher has a head for this kind of problem.

    A configuration without `architectures` or `problem_type` does not say what the head is; it passes.

    Raises:
        ValueError: the head is another one.
    """
    head = problem.auto_class.__name__.removeprefix("AutoModel")  # such as ForSequenceClassification
    others = [name for name in config.architectures or () if not name.endswith(head)]
    if others:
        raise ValueError(
            f"the teacher {teacher!r} is a {others[0]} and cannot teach {problem.name}; "
            f"give a fine-tuned model that ends in {head}."
        )
    needed = problem.config["problem_type"]
    kind = config.problem_type or ("regression" if config.num_labels == 1 else None)
    if needed and kind and kind != needed:
        raise ValueError(f"the teacher {teacher!r} does {kind}, but the task is {needed}; give a teacher of this task.")


def label_order(teacher: str, config: PreTrainedConfig, problem: DistilledProblem) -> list[int]:
    """Returns, for each output of the problem, the teacher's output for the same label.

    Labels are matched by name, if need be without regard to case. Generic names (LABEL_0, 0) match by their position.

    Raises:
        ValueError: the numbers or the names of the labels differ.
    """
    count = problem.config["num_labels"]
    if config.num_labels != count:
        raise ValueError(
            f"the teacher {teacher!r} has {config.num_labels} outputs ({_listed(_names(config))}), but the task has "
            f"{count} ({_listed(problem.labels) or 'a number'}); give a teacher of this task."
        )
    theirs, ours = _names(config), problem.labels or [""]
    for fold in (str, str.casefold):
        index_of = {fold(name): index for index, name in enumerate(theirs)}
        if sorted(index_of) == sorted(fold(name) for name in ours):
            return [index_of[fold(name)] for name in ours]
    if not problem.labels or _are_generic(theirs) or _are_generic(ours):
        return list(range(count))
    raise ValueError(
        f"the teacher {teacher!r} knows the labels {_listed(theirs)}, but the task has {_listed(ours)}; "
        "give a teacher of this task, or rename its labels in its config.json."
    )


def _names(config: PreTrainedConfig) -> list[str]:
    names: Mapping[Any, str] = config.id2label or {}
    return [names[index] for index in sorted(names)]


def _are_generic(names: Sequence[str]) -> bool:
    return all(_GENERIC.fullmatch(name) for name in names)


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + rest
