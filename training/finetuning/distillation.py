"""Learning from a teacher: the texts that it labels, its own scores, and the Trainer of labels and teacher's logits."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from vocabless.saving.public_names import public_name
from vocabless.training.distillation.augmentation import Corruptor
from vocabless.training.finetuning.arguments import TEACHER_FLAGS, GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.base_problem import IGNORED, Problem
from vocabless.training.finetuning.task_files import (
    IS_GOLD,
    TEACHER_LOGITS,
    Examples,
    find_columns,
    read_examples,
    read_files,
)
from vocabless.training.finetuning.task_teacher import Logits, TaskTeacher, check_teacher, load_teacher
from vocabless.training.finetuning.tasks import Task
from vocabless.training.texts.corpora import load_text
from vocabless.training.texts.text_format import UTF8, TextFormat
from vocabless.training.trainer import ResumableTrainer

KINDS = LABELLED, UNLABELLED, COPIES = "training rows", "unlabelled rows", "corrupted copies"


class TaskDistillation(NamedTuple):
    """All that a student learns from a teacher."""

    examples: list[Examples]  # with its logits; the training rows first
    facts: dict[str, Any]  # for `results.json`: name, description, fingerprint, rows (kind → number), measures


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
        check_teacher(_name_of_teacher(arguments, task), task.problem, **arguments.teacher_options)
        if arguments.unlabelled:
            read_unlabelled(arguments.unlabelled, task, arguments.text_format)


def distill_task(task: Task, arguments: GlueArguments, training: GlueTrainingArguments) -> TaskDistillation:
    """Returns what the teacher gives a task. Its logits are read from the cache if they exist.

    Raises:
        ValueError: the teacher cannot be loaded or does not fit the task.
    """
    name, problem, batch_size = _name_of_teacher(arguments, task), task.problem, training.per_device_eval_batch_size
    teacher = load_teacher(name, problem, training.device, batch_size, bool(training.bf16), **arguments.teacher_options)
    rows, train = {LABELLED: len(task.train)}, task.train
    parts = {LABELLED: replace(train)}
    if arguments.unlabelled:
        parts[UNLABELLED] = read_unlabelled(arguments.unlabelled, task, arguments.text_format)
        rows[UNLABELLED] = len(parts[UNLABELLED])
    if arguments.augment:
        corruptor = Corruptor(train.texts, train.pairs)
        for number in range(1, arguments.augment + 1):
            copies = corruptor.copies(train.texts, train.pairs, number)
            parts[f"{COPIES} {number}/{arguments.augment}"] = Examples(*copies)
        rows[COPIES] = arguments.augment * len(train)
    for what, examples in parts.items():
        examples.is_gold = what == LABELLED
        if not examples.is_gold and not problem.per_word:
            examples.labels = (train.labels or [])[:1] * len(examples)  # a batch needs targets of one form
        examples.logits = teacher.logits(examples.texts, examples.pairs, what)
    facts = {
        "name": public_name(name),
        "description": teacher.description,
        "fingerprint": teacher.fingerprint,
        "rows": rows,
        "measures": _scores(teacher, task),
    }
    return TaskDistillation([*parts.values()], facts)


def describe_teacher(facts: dict[str, Any]) -> str:
    """Returns name, type and size of a teacher, from the facts of `TaskDistillation`."""
    return f"{facts['name']} ({facts['description']})"


def describe_rows(facts: dict[str, Any]) -> str:
    """Returns what a teacher labelled, from the facts of `TaskDistillation`.

    Example:
        >>> describe_rows({"rows": {"training rows": 67349, "unlabelled rows": 10, "corrupted copies": 134698}})
        '67,349 training rows, 10 unlabelled rows and 134,698 corrupted copies'
    """
    *first, last = [f"{facts['rows'][kind]:,} {kind}" for kind in KINDS if kind in facts["rows"]]
    return f"{', '.join(first)} and {last}" if first else last


def read_unlabelled(sources: Sequence[str], task: Task, text_format: TextFormat = UTF8) -> Examples:
    """Returns the texts of all sources, in the form of the task's texts. Empty texts are left out.

    Single texts come from what `load_text` reads; pairs and lists of words from files with the task's columns.

    Raises:
        ValueError: a source is missing, lacks a column of the task, or holds no text.
    """
    parts = [_read_texts(source, task, text_format) for source in sources]
    examples = Examples(
        [text for part in parts for text in part.texts],
        None if len(task.text_columns) == 1 else [pair for part in parts for pair in part.pairs or []],
    )
    empty = examples.empty_rows()
    if len(empty) == len(examples):
        raise ValueError(f"--unlabelled {' '.join(sources)} holds no text; give files with text in them.")
    return examples.select(np.setdiff1d(np.arange(len(examples)), empty).tolist())


class DistillingTrainer(ResumableTrainer):
    """A Trainer that learns labels and logits, see `distillation_loss`, and evaluates on the labels alone."""

    def __init__(self, problem: Problem, gold_weight: float, temperature: float, **options: Any) -> None:
        super().__init__(**options)
        self._problem, self._gold_weight, self._temperature = problem, gold_weight, temperature
        self.data_collator = partial(collate, self.data_collator)
        self.model_accepts_loss_kwargs = False  # else `training_step` would not average over accumulated batches

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Returns the loss of a batch, and the model's outputs if asked to."""
        if TEACHER_LOGITS not in inputs:  # of an evaluation
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        inputs = dict(inputs)
        targets, teacher_logits, is_gold = (inputs.pop(name) for name in ("labels", TEACHER_LOGITS, IS_GOLD))
        outputs = model(**inputs)
        weights = self._gold_weight, self._temperature
        loss = distillation_loss(self._problem, outputs.logits.float(), targets, teacher_logits, is_gold, *weights)
        return (loss, outputs) if return_outputs else loss

    def _set_signature_columns_if_needed(self) -> None:
        """Keeps the teacher's entries, which the Trainer would remove because no model takes them."""
        super()._set_signature_columns_if_needed()
        columns: Any = self._signature_columns or []
        self._signature_columns = [*dict.fromkeys([*columns, TEACHER_LOGITS, IS_GOLD])]  # type: ignore[assignment]


def collate(own: Any, examples: Sequence[dict[str, Any]]) -> Any:
    """Returns the batch that a problem's own collator pads; with a teacher, also its logits.

    These are `TEACHER_LOGITS` (P, labels) of all examples, and `IS_GOLD` (P,).
    """
    if TEACHER_LOGITS not in examples[0]:  # of an evaluation
        return own(examples)
    logits = [torch.as_tensor(example[TEACHER_LOGITS]) for example in examples]
    flags = [torch.full((len(rows),), e[IS_GOLD]) for rows, e in zip(logits, examples, strict=True)]
    added = (TEACHER_LOGITS, IS_GOLD)
    batch = own([{k: value for k, value in example.items() if k not in added} for example in examples])
    return {**batch, TEACHER_LOGITS: torch.cat(logits), IS_GOLD: torch.cat(flags)}


def distillation_loss(
    problem: Problem,
    logits: Tensor,
    targets: Tensor,
    teacher_logits: Tensor,
    is_gold: Tensor,
    gold_weight: float,
    temperature: float,
) -> Tensor:
    """Returns the mean over all rows of g·(loss of the label) + (1 − g)·(loss against the teacher).

    g is 1 where the teacher has no logits, and 0 where there is no label. Rows with neither do not count.

    Args:
        problem: has both losses.
        logits: the logits of a batch, as the model returns them.
        targets: their targets; any where there is no label.
        teacher_logits: (P, labels), one row for each row of `Problem.scored`; NaN where the teacher has none.
        is_gold: (P,) bool, whether the target is a label.
        gold_weight: g where there are both, 0–1.
        temperature: see `Problem.teacher_losses`.
    """
    logits, targets = problem.scored(logits, targets)
    is_taught = ~teacher_logits.isnan().any(dim=-1)
    gold_share = torch.where(is_taught, gold_weight, 1.0) * is_gold
    teacher_share = (1 - gold_share) * is_taught
    gold = problem.losses(logits, targets)
    taught = problem.teacher_losses(logits, teacher_logits.nan_to_num(), temperature)
    return (gold_share * gold + teacher_share * taught).sum() / (is_taught | is_gold).sum().clamp(min=1)


def _name_of_teacher(arguments: GlueArguments, task: Task) -> str:
    return str(arguments.teacher).replace("{task}", task.name)


def _read_texts(source: str, task: Task, text_format: TextFormat) -> Examples:
    if len(task.text_columns) == 1 and not task.problem.per_word:
        (column,) = task.text_columns
        documents = load_text(source, "text" if source.endswith(".txt") else column, text_format=text_format)
        return Examples([text or "" for text in documents["text"]])
    table = read_files([source], text_format)
    find_columns(table, source, task.text_columns, (), "--unlabelled")
    examples = read_examples(table, source, task.text_columns, ())
    if task.problem.per_word and any(isinstance(text, str) for text in examples.texts):
        raise ValueError(f"the column {task.text_columns[0]!r} of {source} holds no lists of words; split its texts.")
    return examples


def _scores(teacher: TaskTeacher, task: Task) -> dict[str, float]:
    """Returns the teacher's scores on the validation examples, with the suffixes of the splits."""
    found: dict[str, float] = {}
    for suffix, examples in task.validation.items():
        logits = teacher.logits(examples.texts, examples.pairs, "validation rows")
        scores = task.problem.score(*_pad(task, examples, logits))
        found |= {f"{name}{suffix}": value for name, value in scores.items() if name != "loss"}
    return found


def _pad(task: Task, examples: Examples, logits: list[Logits]) -> tuple[Any, Any]:
    """Returns (N, labels) logits and their targets; per word (N, W, labels), W the words of the longest text.

    Words behind the teacher's limit, and padding, have the target `IGNORED`.
    """
    targets = task.targets(examples)
    if not task.problem.per_word:
        return np.concatenate(logits), targets
    shape = len(logits), max(map(len, logits))
    padded = np.zeros((*shape, len(task.problem.labels)), np.float32)
    padded_targets = np.full(shape, IGNORED)
    for row, (values, tags) in enumerate(zip(logits, targets, strict=True)):
        has_token = ~np.isnan(values).any(axis=-1)
        padded[row, : len(values)] = np.nan_to_num(values)
        padded_targets[row, : len(values)] = np.where(has_token, np.asarray(tags, np.int64), IGNORED)
    return padded, padded_targets
