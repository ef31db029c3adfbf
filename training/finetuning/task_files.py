"""The examples of a task: the columns of a file or of a data set on the Hub, and their tokens and targets."""

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from datasets import ClassLabel, Dataset, load_dataset
from numpy.typing import NDArray
from torch.utils import data
from transformers import PreTrainedTokenizerBase

from vocabless.training.finetuning.problems import Problem
from vocabless.training.texts.corpora import HUB_ID
from vocabless.training.texts.local_files import FORMATS, STRING_TYPES, column_type, load_files
from vocabless.training.texts.text_format import UTF8, TextFormat

TABLES = [suffix for suffix in FORMATS if suffix != ".txt"]
TEXT_COLUMNS = ("text", "sentence")
PAIR_COLUMNS = (("sentence1", "sentence2"), ("text1", "text2"), ("premise", "hypothesis"), ("question1", "question2"))
LABEL_COLUMNS = ("label", "labels", "tags")
SHARD = re.compile(r"-\d+-of-\d+")  # in the name of a file
TOKENIZER_BATCH_SIZE = 1000  # texts
TEACHER_LOGITS, IS_GOLD = "teacher_logits", "is_gold"  # further entries of examples and batches
SAMPLING_SEED = 42  # fixed: all seeds of a run use the same held-out and the same sampled rows


@dataclass
class Examples:
    """Texts; optionally the second texts of pairs, labels, groups and a teacher's logits."""

    texts: list[str]
    pairs: list[str] | None = None
    labels: list[Any] | None = None
    groups: list[Any] | None = None  # of rows that are held out together
    logits: list[NDArray[np.float32]] | None = None  # (labels,) each, a teacher's
    is_gold: bool = True  # whether the labels are learned beside the logits; if not, they are any labels

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yields what each example has: text, second text, label."""
        return zip(*(column for column in (self.texts, self.pairs, self.labels) if column is not None), strict=True)

    def empty_rows(self) -> list[int]:
        """Returns the rows without a text, or with one text of a pair."""
        texts = zip(self.texts, self.pairs or self.texts, strict=True)
        return [row for row, both in enumerate(texts) if not all(text and text.strip() for text in both)]

    def sample(self, limit: int | None) -> "Examples":
        """Returns at most `limit` random examples in their original order; None returns all."""
        if limit is None or limit >= len(self):
            return self
        return self.select(sorted(random.Random(SAMPLING_SEED).sample(range(len(self)), limit)))

    def select(self, indices: Sequence[int]) -> "Examples":
        """Returns the examples with these indices."""
        columns = {name: column for name, column in vars(self).items() if isinstance(column, list)}
        selected: dict[str, Any] = {name: [column[index] for index in indices] for name, column in columns.items()}
        return replace(self, **selected)


def read_files(files: Sequence[str], text_format: TextFormat = UTF8) -> Dataset:
    """Returns the rows of one or more files of the same format.

    Raises:
        ValueError: a file does not exist, has an unknown format, is damaged, has another encoding or delimiter, or has
            no rows.
    """
    for file in files:
        if not Path(file).is_file():
            raise ValueError(f"the file {file!r} does not exist; give a {', '.join(TABLES)} file.")
        if Path(file).suffix not in TABLES:
            raise ValueError(f"the file {file!r} has an unknown format; convert it to one of {', '.join(TABLES)}.")
        if not Path(file).stat().st_size:
            raise ValueError(f"the file {file!r} is empty; give a file with rows.")
    return check_rows(load_files(files, f"the file {files[0]!r}", text_format), files[0])


def read_hub(source: str, remedy: str) -> dict[str, Dataset]:
    """Returns the splits of a data set on the Hub, `owner/name[:configuration][@revision]`.

    Raises:
        ValueError: it does not exist or cannot be downloaded; `remedy` is the end of the message.
    """
    match = HUB_ID.fullmatch(source)
    try:
        return dict(load_dataset(**match.groupdict()) if match else load_dataset(source))
    except (OSError, RuntimeError, ValueError) as error:
        cause = " ".join(str(error).split())
        raise ValueError(f"the data set {source} cannot be loaded from the Hub: {cause}; {remedy}") from error


def check_rows(table: Dataset, where: str) -> Dataset:
    """Returns the table unchanged; raises an error if it has no rows."""
    if not table.column_names or not len(table):
        raise ValueError(f"{where} has no rows; give data with at least one.")
    return table


def find_columns(table: Dataset, where: str, names: Sequence[str], candidates: Sequence[str], flag: str) -> list[str]:
    """Returns the columns with these names; without names, the first candidate that the table has.

    Raises:
        ValueError: the table, for the message `where`, has no such column; `flag` names one.
    """
    existing = table.column_names
    missing = [name for name in names if name not in existing]
    columns = list(names) or [name for name in candidates if name in existing][:1]
    if missing or not columns:
        expected = ", ".join(missing) or " or ".join(candidates)
        raise ValueError(
            f"{where} has no column {expected}; its columns are {', '.join(existing)}: give one by {flag}."
        )
    return columns


def find_text_columns(table: Dataset, where: str, names: Sequence[str]) -> list[str]:
    """Returns the text column of a table, or the two columns of a text pair, see `find_columns`."""
    if not names and not set(TEXT_COLUMNS) & set(table.column_names):
        names = next((pair for pair in PAIR_COLUMNS if set(pair) <= set(table.column_names)), ())
    return find_columns(table, where, names, TEXT_COLUMNS, "--text_column")


def read_examples(table: Dataset, where: str, text_columns: Sequence[str], label_columns: Sequence[str]) -> Examples:
    """Returns the examples of a table, which messages call `where`; two text columns make text pairs.

    Several label columns make a list of labels for each row; none leaves the labels out.

    Raises:
        ValueError: a column is missing or does not hold texts, or a row has a label that is no finite number.
    """
    find_columns(table, where, text_columns, (), "--text_column")
    find_columns(table, where, label_columns, table.column_names, "--label_column")
    texts: Any = (_read_texts(table, where, column) for column in text_columns)
    examples = Examples(*texts)
    if label_columns:
        examples.labels = _read_labels(table, where, label_columns)
    return examples


def has_labels(table: Dataset, columns: Sequence[str]) -> bool:
    """Returns whether a table has all label columns, and the first one at least one label."""
    if not set(columns) <= set(table.column_names):
        return False
    return any(label is not None for label in _class_names(table.features[columns[0]], table[columns[0]][:]))


def _read_texts(table: Dataset, where: str, column: str) -> list[str]:
    """Returns the texts of a column."""
    kind = column_type(table.features[column])
    if kind not in STRING_TYPES:
        raise ValueError(f"the column {column!r} of {where} holds {kind}, not text; name a column of strings.")
    texts: list[str] = table[column][:]
    return texts


def _read_labels(table: Dataset, where: str, columns: Sequence[str]) -> list[Any]:
    """Returns one label for each row, None if it has none; several columns make a list of labels for each row."""
    values = [_class_names(table.features[column], table[column][:]) for column in columns]
    labels = values[0] if len(values) == 1 else [list(row) for row in zip(*values, strict=True)]
    for row, label in enumerate(labels):
        parts = label if isinstance(label, list) else [label]
        if any(isinstance(part, float) and not math.isfinite(part) for part in parts):
            raise ValueError(
                f"row {row} of {where} has the label {label} in {columns[0]!r}; give a finite number or drop the row."
            )
    return labels


def _class_names(feature: Any, values: list[Any]) -> list[Any]:
    """Returns the names of the values if the column declares names; −1, the Hub's unknown label, becomes None."""
    inner = getattr(feature, "feature", feature)
    if not isinstance(inner, ClassLabel):
        return values
    names = [*inner.names, None]  # index −1 is the last
    if inner is feature:
        return [None if value is None else names[value] for value in values]
    return [None if row is None else [None if value is None else names[value] for value in row] for row in values]


class EncodedExamples(data.Dataset[dict[str, Any]]):
    """A data set of token ids and targets in memory. A collator pads them batch by batch.

    With a teacher, an example also has `TEACHER_LOGITS`, (labels,), and `IS_GOLD`.
    """

    def __init__(
        self, examples: Examples, problem: Problem, tokenizer: PreTrainedTokenizerBase, max_seq_length: int
    ) -> None:
        self._inputs: list[dict[str, Any]] = []
        for start in range(0, len(examples), TOKENIZER_BATCH_SIZE):
            batch = examples.select(range(start, min(start + TOKENIZER_BATCH_SIZE, len(examples))))
            encoding = tokenizer(
                batch.texts, batch.pairs, truncation=True, max_length=max_seq_length, return_attention_mask=False
            )
            for index in range(len(batch)):
                inputs: dict[str, Any] = {name: _compact(values[index]) for name, values in encoding.items()}
                if batch.labels is not None:
                    inputs["label"] = problem.target(batch.labels[index])
                if batch.logits is not None:
                    inputs |= {TEACHER_LOGITS: batch.logits[index], IS_GOLD: batch.is_gold}
                self._inputs.append(inputs)

    def __len__(self) -> int:
        return len(self._inputs)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return dict(self._inputs[index])


def _compact(values: Any) -> NDArray[Any] | list[int]:
    """Returns blocks (S, K) as uint16 to save memory, and other token ids unchanged."""
    return np.asarray(values, np.uint16) if len(values) and not np.isscalar(values[0]) else values
