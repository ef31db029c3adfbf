"""Learning from a teacher, a fine-tuned model that adds its logits to the texts of a task."""

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from vocabless.hub_connection import offline_without_hub
from vocabless.modeling.stock_encoders import arguments_of
from vocabless.public_names import without_path
from vocabless.saving.checkpoint_files import LOADING_ERRORS, check_source
from vocabless.saving.record import COPIES, LABELLED, UNLABELLED
from vocabless.saving.stock_models import SMALLEST_VOCABULARY, longest_sequence
from vocabless.texts.corpora import load_text
from vocabless.texts.text_format import UTF8, TextFormat
from vocabless.training.finetuning.tasks.arguments import GlueArguments, GlueTrainingArguments
from vocabless.training.finetuning.tasks.data import EncodedRows, Examples, TaskData
from vocabless.training.finetuning.tasks.metrics import Scores
from vocabless.training.finetuning.tasks.problems import Problem
from vocabless.training.finetuning.trainers.task_trainer import IS_GOLD, TEACHER_LOGITS
from vocabless.training.output_cache import add_outputs, fingerprint

SEED = 42  # of corrupted copies, fixed: all seeds of a run learn from the same copies
REMOVED, SPAN, LONGEST_SPAN = 0.1, 0.25, 5  # probability for each word, and for each text; words
GENERIC = re.compile(r"LABEL_\d+|-?\d+")  # transformers' default names of labels, and numbers


class TaskTeacher:
    """A fine-tuned model in evaluation mode, from a folder or the Hub; `description` is its type and size.

    Raises:
        ValueError: it cannot be loaded, or has other labels than the problem.
    """

    def __init__(self, name: str, problem: Problem, training: GlueTrainingArguments, trust_remote_code: bool) -> None:
        self._outputs = label_order(name, problem, trust_remote_code)
        options: Any = {"trust_remote_code": trust_remote_code}
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(name, **options)
            options |= {"dtype": torch.float32, "output_loading_info": True}
            model, info = AutoModelForSequenceClassification.from_pretrained(name, **options)
            if info["missing_keys"] or len(self._tokenizer) < SMALLEST_VOCABULARY:
                raise ValueError("it lacks the weights of a classifier, or a tokenizer")
        except LOADING_ERRORS as error:
            raise _refusal(name, error) from error
        self.description = f"{model.config.model_type}, {model.num_parameters():,} parameters"
        self._max_length = longest_sequence(model, self._tokenizer)
        self._key = fingerprint(model, self._tokenizer, self._max_length, training.bf16)
        self._model, self._training = model.to(training.device).eval(), training

    def logits(self, examples: Examples, title: str) -> NDArray[np.float32]:
        """Returns the logits (n, labels) of texts or pairs for the labels of the task; the progress bar has a title."""
        columns = {"text": examples.texts, "pair": examples.pairs}
        table = Dataset.from_dict({name: texts for name, texts in columns.items() if texts})
        order = np.argsort([-len(text) for text in examples.texts], kind="stable")  # for less padding
        options = self._compute, self._training.per_device_eval_batch_size, self._key, f"Teacher: {title}"
        table = add_outputs(table.select(order), "logits", *options)
        return np.asarray(table.with_format("numpy")["logits"][:])[np.argsort(order)][:, self._outputs]

    @torch.inference_mode()
    def _compute(self, batch: dict[str, list[Any]]) -> NDArray[np.float32]:
        options: Any = {"truncation": True, "max_length": self._max_length, "padding": True, "return_tensors": "pt"}
        encoding = self._tokenizer(batch["text"], batch.get("pair"), **options).to(self._model.device)
        with torch.autocast(self._model.device.type, torch.bfloat16, enabled=bool(self._training.bf16)):
            output = self._model(**{name: encoding[name] for name in arguments_of(self._model) & encoding.keys()})
        return np.asarray(output.logits.float().cpu())


def label_order(name: str, problem: Problem, trust_remote_code: bool) -> list[int]:
    """Returns, for each output of a problem, the output of the teacher with this name for the same label.

    Labels are matched by name, if need be in any case. Generic names (LABEL_0, 0) match by their position.
    """
    check_source(name)
    try:
        with offline_without_hub(name):
            config = AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code)
    except LOADING_ERRORS as error:
        raise _refusal(name, error) from error
    theirs, ours = [config.id2label[index] for index in sorted(config.id2label)], problem.labels or ["0"]
    for fold in (str, str.casefold):
        names = [fold(label) for label in theirs]
        if sorted(names) == sorted(fold(label) for label in ours):
            return [names.index(fold(label)) for label in ours]
    is_generic = any(all(map(GENERIC.fullmatch, labels)) for labels in (theirs, ours))
    if is_generic and len(theirs) == len(ours):
        return list(range(len(ours)))
    labels, needed = (shorten(", ".join(names), 200) for names in (theirs, problem.labels or ["a number"]))
    raise ValueError(
        f"the teacher {name!r} has the labels {labels}, but the task {needed}; give a teacher of this task."
    )


def _refusal(name: str, error: Exception) -> ValueError:
    return ValueError(f"the teacher {name!r} cannot be loaded ({shorten(str(error), 200)}); give a fine-tuned model.")


def distill_task(
    data: TaskData,
    unlabelled: Examples | None,
    arguments: GlueArguments,
    training: GlueTrainingArguments,
    rows: EncodedRows,
    encode: Callable[[Examples], EncodedRows],
) -> tuple[EncodedRows, dict[str, Any]]:
    """Returns all rows that a student learns, with the teacher's logits, and facts for `results.json`.

    `rows` are the training rows of the task, which come first; `unlabelled` are other texts or pairs; `encode` encodes
    further texts. The facts are the teacher's name and description, the rows (kind → number) and its scores. Logits are
    read from the cache if it has them.
    """
    name, train = str(arguments.teacher).replace("{task}", data.name), data.train
    parts = [(LABELLED, train)] + ([] if unlabelled is None else [(UNLABELLED, unlabelled)])
    parts += [(COPIES, corrupted_copies(train, n)) for n in range(arguments.augment)]
    counts: dict[str, int] = {}
    taught: EncodedRows = []
    scores: Scores = {}
    with training.main_process_first(desc="teacher"):
        teacher = TaskTeacher(name, data.problem, training, arguments.trust_remote_code)
        for kind, examples in parts:
            counts[kind] = counts.get(kind, 0) + len(examples)
            labels = (train.labels or [])[:1] * len(examples)  # a batch needs some for all
            encoded = rows if kind == LABELLED else encode(replace(examples, labels=labels))
            taught += with_logits(encoded, teacher.logits(examples, kind), kind == LABELLED)
        for suffix, examples in data.validation.items():
            of_split = data.problem.score(teacher.logits(examples, "validation rows"), data.targets(examples))
            scores |= {f"{metric}{suffix}": value for metric, value in of_split.items() if metric != "loss"}
    facts = {"name": without_path(name), "description": teacher.description, "rows": counts, "measures": scores}
    return taught, facts


def with_logits(rows: EncodedRows, logits: Any, is_gold: bool) -> EncodedRows:
    """Returns n rows with a teacher's logits, (n, labels), and whether their labels are learned, too."""
    return [row | {TEACHER_LOGITS: values, IS_GOLD: is_gold} for row, values in zip(rows, logits, strict=True)]


def read_unlabelled(sources: Sequence[str], data: TaskData, text_format: TextFormat = UTF8) -> Examples:
    """Returns the texts or pairs of all sources, see `load_text`, without empty ones; ValueError if there is none."""
    columns: list[list[str]] = [[] for _ in data.text_columns]
    for source in sources:
        for name, column in zip(data.text_columns, columns, strict=True):
            name = "text" if source.lower().endswith(".txt") and len(columns) == 1 else name
            column += [text or "" for text in load_text(source, name, text_format=text_format)["text"]]
    texts, *pairs = columns
    examples = Examples(texts, pairs[0] if pairs else None)
    empty = {*examples.empty_rows()}
    if len(empty) == len(examples):
        raise ValueError(f"--unlabelled {' '.join(sources)} holds no text; give files with text in them.")
    return examples.select([row for row in range(len(examples)) if row not in empty])


def corrupted_copies(examples: Examples, number: int) -> Examples:
    """Returns a corrupted copy of each text, or of each pair, of which one text or both are changed.

    Only a teacher has labels for them. The same row and number of the copy give the same texts. Source: Tang et al.,
    *Distilling Task-Specific Knowledge from BERT into Simple Neural Networks*, 2019, section 3.2. Differs: a masked
    word is removed, and no word is replaced by another, see docs/papers.md.
    """
    copies = []
    for row in Examples(examples.texts, examples.pairs).rows():
        chance = random.Random(json.dumps([SEED, number, row]))
        chosen = chance.choice([(0,), (1,), (0, 1)]) if len(row) == 2 else (0,)
        copies.append([corrupted(text, chance) if place in chosen else text for place, text in enumerate(row)])
    return Examples(*map(list, zip(*copies, strict=True)))


def corrupted(text: str, chance: random.Random) -> str:
    """Returns a text of two or more words without at least one, sometimes only a short span; any other unchanged."""
    words = text.split()
    if len(words) < 2:
        return text
    kept = [word for word in words if chance.random() >= REMOVED] or [chance.choice(words)]
    if chance.random() < SPAN:
        length = min(chance.randint(1, LONGEST_SPAN), len(kept))
        start = chance.randint(0, len(kept) - length)
        kept = kept[start : start + length]
    if len(kept) == len(words):
        del kept[chance.randrange(len(kept))]
    return " ".join(kept)
