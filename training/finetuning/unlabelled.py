"""Reads texts without labels, which a teacher labels."""
# mypy: allow-untyped-calls

from collections.abc import Sequence

from vocabless.training.finetuning.task_files import find_columns, read_files
from vocabless.training.finetuning.tasks import Examples, Task, read_text_examples
from vocabless.training.texts.corpora import load_text
from vocabless.training.texts.text_format import UTF8, TextFormat

LINES = ".txt"  # of files with a text in each line
FLAG = "--unlabelled"


def read_unlabelled(sources: Sequence[str], task: Task, text_format: TextFormat = UTF8) -> Examples:
    """Returns the texts of all sources, in the form of the task's texts. Empty texts are left out.

    Args:
        sources: for single texts, what `load_text` reads; for pairs and lists of words, files with the task's columns.
        task: its text columns are read.
        text_format: encoding and delimiter of text files.

    Raises:
        ValueError: a source is missing, lacks a column of the task, or holds no text.
    """
    parts = [_read(source, task, text_format) for source in sources]
    examples = Examples(
        [text for part in parts for text in part.texts],
        None if len(task.text_columns) == 1 else [pair for part in parts for pair in part.pairs or []],
    )
    filled = [index for index, text in enumerate(examples.texts) if (text.strip() if isinstance(text, str) else text)]
    if not filled:
        raise ValueError(f"{FLAG} {' '.join(sources)} holds no text; give files with text in them.")
    return examples.select(filled)


def _read(source: str, task: Task, text_format: TextFormat) -> Examples:
    if len(task.text_columns) == 1 and not task.problem.per_word:
        (column,) = task.text_columns
        documents = load_text(source, "text" if source.endswith(LINES) else column, text_format=text_format)
        return Examples([text or "" for text in documents["text"]])
    table = read_files([source], text_format)
    examples = read_text_examples(table, source, find_columns(table, source, task.text_columns, (), FLAG))
    if task.problem.per_word and isinstance(examples.texts[0], str):
        raise ValueError(f"the column {task.text_columns[0]!r} of {source} holds no lists of words; split its texts.")
    return examples
