"""What a teacher gives a task: labels for training texts, unlabelled texts and corrupted copies, and its own scores."""
# mypy: allow-untyped-calls

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vocabless.saving.public_names import public_name
from vocabless.training.distillation.augmentation import Corruptor
from vocabless.training.distillation.task_teacher import Logits, TaskTeacher, TeacherSource, check_teacher, load_teacher
from vocabless.training.finetuning.arguments import TEACHER_FLAGS, GlueArguments
from vocabless.training.finetuning.base_problem import IGNORED, Prediction, Problem
from vocabless.training.finetuning.task_files import find_columns, read_files
from vocabless.training.finetuning.tasks import Examples, Task, read_text_examples
from vocabless.training.finetuning.training_arguments import GlueTrainingArguments
from vocabless.training.texts.corpora import load_text
from vocabless.training.texts.text_format import UTF8, TextFormat
from vocabless.training.trainer import EXACT_LOSS

KINDS = LABELLED, UNLABELLED, COPIES = "training rows", "unlabelled rows", "corrupted copies"


@dataclass(frozen=True)
class SoftLabelledExamples:
    """Examples with a teacher's logits.

    Attributes:
        examples: texts, with or without labels.
        logits: see `TaskTeacher.logits`.
    """

    examples: Examples
    logits: list[Logits]


@dataclass(frozen=True)
class TaskDistillation:
    """All that a student learns from a teacher.

    Attributes:
        examples: the training rows first.
        facts: what `results.json` says about the teacher: `name`, `description`, `fingerprint`, `rows` (kind → number)
            and `measures` (its metrics on the validation examples).
    """

    examples: list[SoftLabelledExamples]
    facts: dict[str, Any]


def check_task_distillation(arguments: GlueArguments, training: GlueTrainingArguments, tasks: Sequence[Task]) -> None:
    """Checks the flags of a teacher, its configuration and its tokenizer, before anything is computed.

    Raises:
        ValueError: a flag needs a teacher or does not work with one, or the teacher does not fit a task.
    """
    if arguments.teacher is None:
        default = GlueArguments(model_name_or_path="")
        unused = [flag for flag in TEACHER_FLAGS if getattr(arguments, flag) != getattr(default, flag)]
        if unused:
            raise ValueError(f"--{unused[0]} needs a model that labels texts; give --teacher, or leave it out.")
        return
    if training.label_smoothing_factor:
        raise ValueError(
            f"--label_smoothing_factor {training.label_smoothing_factor} does not work with --teacher, whose "
            "probabilities are smooth; leave it out."
        )
    for task in tasks:
        check_teacher(_source(arguments, task), task.problem)
        if arguments.unlabelled:
            read_unlabelled(arguments.unlabelled, task, arguments.text_format)


def distill_task(task: Task, arguments: GlueArguments, training: GlueTrainingArguments) -> TaskDistillation | None:
    """Returns what the teacher gives a task; None without a teacher. Its logits are read from the cache if they exist.

    Raises:
        ValueError: the teacher cannot be loaded or does not fit the task.
    """
    if arguments.teacher is None:
        return None
    source = _source(arguments, task)
    teacher = load_teacher(
        source, task.problem, training.device, training.per_device_eval_batch_size, bool(training.bf16)
    )
    examples, rows = [_label(teacher, task.train, LABELLED)], {LABELLED: len(task.train)}
    if arguments.unlabelled:
        unlabelled = read_unlabelled(arguments.unlabelled, task, arguments.text_format)
        examples.append(_label(teacher, unlabelled, UNLABELLED))
        rows[UNLABELLED] = len(unlabelled)
    if arguments.augment:
        corruptor = Corruptor(task.train.texts, task.train.pairs)
        for number in range(1, arguments.augment + 1):
            copies = Examples(*corruptor.copies(task.train.texts, task.train.pairs, number))
            examples.append(_label(teacher, copies, f"{COPIES} {number}/{arguments.augment}"))
        rows[COPIES] = arguments.augment * len(task.train)
    facts = {
        "name": public_name(source.name),
        "description": teacher.description,
        "fingerprint": teacher.fingerprint,
        "rows": rows,
        "measures": _measures(teacher, task),
    }
    return TaskDistillation(examples, facts)


def describe_teacher(facts: dict[str, Any]) -> str:
    """Returns name, type and size of a teacher.

    Args:
        facts: see `TaskDistillation`.
    """
    return f"{facts['name']} ({facts['description']})"


def describe_rows(facts: dict[str, Any]) -> str:
    """Returns what a teacher labelled.

    Args:
        facts: see `TaskDistillation`.

    Example:
        >>> describe_rows({"rows": {"training rows": 67349, "unlabelled rows": 10, "corrupted copies": 134698}})
        '67,349 training rows, 10 unlabelled rows and 134,698 corrupted copies'
    """
    *first, last = [f"{facts['rows'][kind]:,} {kind}" for kind in KINDS if kind in facts["rows"]]
    return f"{', '.join(first)} and {last}" if first else last


def read_unlabelled(sources: Sequence[str], task: Task, text_format: TextFormat = UTF8) -> Examples:
    """Returns the texts of all sources, in the form of the task's texts. Empty texts are left out.

    Args:
        sources: for single texts, what `load_text` reads; for pairs and lists of words, files with the task's columns.
        task: its text columns are read.
        text_format: encoding and delimiter of text files.

    Raises:
        ValueError: a source is missing, lacks a column of the task, or holds no text.
    """
    parts = [_read_texts(source, task, text_format) for source in sources]
    examples = Examples(
        [text for part in parts for text in part.texts],
        None if len(task.text_columns) == 1 else [pair for part in parts for pair in part.pairs or []],
    )
    empty, _ = examples.empty_rows()
    if len(empty) == len(examples):
        raise ValueError(f"--unlabelled {' '.join(sources)} holds no text; give files with text in them.")
    return examples.select(np.setdiff1d(np.arange(len(examples)), empty).tolist())


def _source(arguments: GlueArguments, task: Task) -> TeacherSource:
    name = str(arguments.teacher).replace("{task}", task.name)
    return TeacherSource(name, arguments.teacher_revision, arguments.trust_remote_code)


def _read_texts(source: str, task: Task, text_format: TextFormat) -> Examples:
    if len(task.text_columns) == 1 and not task.problem.per_word:
        (column,) = task.text_columns
        documents = load_text(source, "text" if source.endswith(".txt") else column, text_format=text_format)
        return Examples([text or "" for text in documents["text"]])
    table = read_files([source], text_format)
    examples = read_text_examples(table, source, find_columns(table, source, task.text_columns, (), "--unlabelled"))
    if task.problem.per_word and any(isinstance(text, str) for text in examples.texts):
        raise ValueError(f"the column {task.text_columns[0]!r} of {source} holds no lists of words; split its texts.")
    return examples


def _label(teacher: TaskTeacher, examples: Examples, what: str) -> SoftLabelledExamples:
    return SoftLabelledExamples(examples, teacher.logits(examples.texts, examples.pairs, what))


def _measures(teacher: TaskTeacher, task: Task) -> dict[str, float]:
    """Returns the teacher's metrics on the validation examples, with the suffixes of the splits."""
    measures: dict[str, float] = {}
    for suffix, examples in task.validation.items():
        logits = _label(teacher, examples, "validation rows").logits
        metrics = task.problem.compute_metrics(_prediction(task.problem, examples, logits))
        measures |= {f"{name}{suffix}": value for name, value in metrics.items() if name != EXACT_LOSS}
    return measures


def _prediction(problem: Problem, examples: Examples, logits: list[Logits]) -> Prediction:
    """Returns (N, labels) logits and their targets; per word (N, W, labels), W the words of the longest text.

    Words behind the teacher's limit, and padding, have the target `IGNORED`.
    """
    targets = [problem.target(label) for label in examples.labels or []]
    if not problem.per_word:
        return Prediction(np.concatenate(logits), np.asarray(targets))
    shape = len(logits), max(map(len, logits))
    padded = np.zeros((*shape, len(problem.labels)), np.float32)
    padded_targets = np.full(shape, IGNORED)
    for row, (values, tags) in enumerate(zip(logits, targets, strict=True)):
        has_token = ~np.isnan(values).any(axis=-1)
        padded[row, : len(values)] = np.nan_to_num(values)
        padded_targets[row, : len(values)] = np.where(has_token, np.asarray(tags, np.int64), IGNORED)
    return Prediction(padded, padded_targets)
