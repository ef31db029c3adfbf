"""A teacher: a fine-tuned model whose logits another model learns. They are cached on disk, see `output_cache`."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from datasets import Dataset, Features, Value
from numpy.typing import NDArray
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from vocabless.modeling.stock_encoders import arguments_of
from vocabless.saving.checkpoint_files import LOADING_ERRORS
from vocabless.saving.error_text import first_line
from vocabless.training.checkpoint_tokenizers import SMALLEST_VOCABULARY, load_checkpoint_tokenizer, longest_sequence
from vocabless.training.distillation.alignment import first_tokens
from vocabless.training.distillation.output_cache import cached_outputs, check_outputs, digest, fingerprint
from vocabless.training.distillation.reachable import check_reachable
from vocabless.training.finetuning.base_problem import Problem

ROWS_PER_PART = 1000  # labelled and cached together; a killed run loses at most one part
MAX_NAMES = 8  # label names in a message
Logits = NDArray[np.float32]
_GENERIC = re.compile(r"LABEL_\d+|-?\d+")  # transformers' default names, and numbers


class TaskTeacher:
    """Labels texts with a fine-tuned model, in evaluation mode and without gradients.

    Args:
        model: a model with a head, on the device that it shall use.
        tokenizer: its tokenizer.
        outputs: for each label of the task, the model's output; see `label_order`.
        per_word: whether a text is a list of words.
        batch_size: texts in a batch.
        bf16: whether to compute in bfloat16 where autocast allows it.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        outputs: Sequence[int],
        per_word: bool = False,
        batch_size: int = 64,
        bf16: bool = False,
    ) -> None:
        self.fingerprint = fingerprint(model, tokenizer)
        self.description = f"{model.config.model_type}, {model.num_parameters():,} parameters"  # for tables and cards
        self._model, self._tokenizer = model.eval(), tokenizer
        self._outputs, self._per_word, self._batch_size, self._bf16 = list(outputs), per_word, batch_size, bf16
        self._max_length = longest_sequence(model, tokenizer)

    def logits(self, texts: Sequence[Any], pairs: Sequence[str] | None, what: str) -> list[Logits]:
        """Returns the logits of each text, or pair, in the order of the task's labels: (1, labels) float32.

        Per word: (words, labels), the logits of the first token of each word, NaN for words without one. A text longer
        than the teacher's limit is truncated. The progress bar says `what` the texts are.

        Raises:
            ValueError: the teacher gives a text NaN or an infinite number.
        """
        starts = range(0, len(texts), ROWS_PER_PART)
        rows: list[Logits] = []
        for number, start in enumerate(starts, 1):
            part = slice(start, start + ROWS_PER_PART)
            title = f"Teacher: {what}" + (f" {number}/{len(starts)}" if len(starts) > 1 else "")
            rows += self._label_part(list(texts[part]), None if pairs is None else list(pairs[part]), title)
        return rows

    def _label_part(self, texts: list[Any], pairs: list[str] | None, title: str) -> list[Logits]:
        lengths = [len(text) for text in texts]
        order = np.argsort(lengths, kind="stable")[::-1]  # texts of similar length need less padding
        columns = {"text": texts} if pairs is None else {"text": texts, "pair": pairs}
        table = Dataset.from_dict({name: [values[row] for row in order] for name, values in columns.items()})
        settings = [self.fingerprint, self._max_length, self._per_word, self._bf16]
        key = digest(json.dumps([settings, texts, pairs]).encode())
        features = Features({"logits": Value("binary")})
        labelled = cached_outputs(table, self._label, features, self._batch_size, key, title)
        values = [np.frombuffer(row, np.float32).reshape(-1, len(self._outputs)) for row in labelled["logits"][:]]
        return [values[place][:, self._outputs] for place in np.argsort(order)]

    @torch.inference_mode()
    def _label(self, batch: dict[str, list[Any]]) -> dict[str, list[bytes]]:
        """Returns the logits of a batch in the model's order of labels, as bytes of float32."""
        encoding = self._tokenizer(
            batch["text"],
            batch.get("pair"),
            truncation=True,
            max_length=self._max_length,
            padding=True,
            is_split_into_words=self._per_word,
            return_tensors="pt",
        )
        device, accepted = self._model.device, arguments_of(self._model)
        inputs = {name: values.to(device) for name, values in encoding.items() if name in accepted}
        with torch.autocast(device.type, torch.bfloat16, enabled=self._bf16):
            logits = self._model(**inputs).logits
        rows = used = logits.float().cpu().numpy()
        if self._per_word:
            word_ids = [encoding.word_ids(index) for index in range(len(rows))]
            used = [row[[word is not None for word in words]] for row, words in zip(rows, word_ids, strict=True)]
            rows = [word_logits(*each) for each in zip(rows, word_ids, map(len, batch["text"]), strict=True)]
        check_outputs(used, batch["text"], self._model.name_or_path, float(np.finfo(np.float32).max))
        return {"logits": [row.tobytes() for row in rows]}


def word_logits(logits: Logits, word_ids: Sequence[int | None], num_words: int) -> Logits:
    """Returns (words, labels) float32, the logits (S, labels) of the first token of each word; NaN without a token."""
    positions = first_tokens(word_ids)
    rows = np.full((num_words, logits.shape[-1]), np.nan, np.float32)
    rows[list(positions)] = logits[list(positions.values())]
    return rows


def check_teacher(name: str, problem: Problem, **options: Any) -> tuple[PreTrainedTokenizerBase, list[int]]:
    """Checks configuration and tokenizer of a teacher against a problem, without its weights.

    `name` is a folder or Hub id; `options` are arguments of `from_pretrained`: `revision`, `trust_remote_code`.

    Returns:
        The tokenizer, and the teacher's output for each output of the problem, see `label_order`.

    Raises:
        ValueError: the teacher is missing, has no tokenizer, or does not fit the problem.
    """
    check_reachable(name, options.get("revision", "main"))
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(name, **options)
    except LOADING_ERRORS as error:
        raise _loading_error(name, error) from error
    check_head(name, config, problem)
    outputs, owner = label_order(name, config, problem), f"the tokenizer of the teacher {name!r}"
    try:
        tokenizer = load_checkpoint_tokenizer(name, config.model_type, problem.per_word, **options)
    except LOADING_ERRORS as error:
        raise ValueError(f"{owner} cannot be loaded ({first_line(error)}); save it beside the model.") from error
    if len(tokenizer) < SMALLEST_VOCABULARY:
        raise ValueError(f"the teacher {name!r} has no tokenizer; save it beside the model.")
    if tokenizer.pad_token is None:
        raise ValueError(f"{owner} has no padding token; set one and save it.")
    if problem.per_word and not tokenizer.is_fast:
        raise ValueError(f"{owner} gives no words; save a tokenizer.json with it.")
    return tokenizer, outputs


def check_head(teacher: str, config: PreTrainedConfig, problem: Problem) -> None:
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


def label_order(teacher: str, config: PreTrainedConfig, problem: Problem) -> list[int]:
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


def load_teacher(
    name: str, problem: Problem, device: torch.device, batch_size: int, bf16: bool, **options: Any
) -> TaskTeacher:
    """Returns the teacher of a problem, on a device; see `check_teacher` and `TaskTeacher` for the arguments.

    Raises:
        ValueError: see `check_teacher`; or the weights are missing, damaged or without a head.
    """
    tokenizer, outputs = check_teacher(name, problem, **options)
    try:
        model, loading_info = problem.auto_class.from_pretrained(
            name, dtype=torch.float32, output_loading_info=True, **options
        )
    except LOADING_ERRORS as error:
        raise _loading_error(name, error) from error
    missing = sorted(loading_info["missing_keys"])
    if missing:
        raise ValueError(
            f"the checkpoint of the teacher {name!r} holds no weights for {missing[0]}; fine-tune it first."
        )
    return TaskTeacher(model.to(device), tokenizer, outputs, problem.per_word, batch_size, bf16)


def _loading_error(name: str, error: Exception) -> ValueError:
    return ValueError(
        f"the teacher {name!r} cannot be loaded ({first_line(error)}); give a folder or Hub id of a fine-tuned model."
    )


def _names(config: PreTrainedConfig) -> list[str]:
    names: Mapping[Any, str] = config.id2label or {}
    return [names[index] for index in sorted(names)]


def _are_generic(names: Sequence[str]) -> bool:
    return all(_GENERIC.fullmatch(name) for name in names)


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + rest
