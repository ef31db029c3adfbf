"""Reads .conll files: a word and its tag in each line, and an empty line between sentences.

The first column is the word and the last one the tag; columns between them are left out. Tabs separate the columns of a
line that has one, else spaces. A file without tags has one column.
"""

from collections.abc import Iterator, Sequence

from datasets import Dataset

from vocabless.training.texts.text_format import UTF8, TextFormat

SUFFIX = ".conll"
DOCUMENT_START = "-DOCSTART-"  # the one word of a sentence that says no more, in the data of CoNLL-2003


def read_conll(files: Sequence[str], text_format: TextFormat = UTF8) -> Dataset:
    """Returns the sentences: columns `tokens` and, unless no line has a tag, `ner_tags`, which are lists of strings.

    A line that begins with `#` and has another number of columns than the words is a comment.

    Raises:
        ValueError: a file has another encoding or is empty, or some words have a tag and others have none.
    """
    sentences: list[list[list[str]]] = []
    for file in files:
        text_format.check(file)
        sentences += _sentences(file, "utf-8-sig" if text_format.encoding == "utf-8" else text_format.encoding)
    columns = {"tokens": [[line[0] for line in sentence] for sentence in sentences]}
    if any(len(line) > 1 for sentence in sentences for line in sentence):
        columns["ner_tags"] = [[line[-1] for line in sentence] for sentence in sentences]
    return Dataset.from_dict(columns)


def _sentences(file: str, encoding: str) -> Iterator[list[list[str]]]:
    """Yields the columns of each line of each sentence."""
    sentence: list[list[str]] = []
    width = 0
    with open(file, encoding=encoding) as stream:
        for number, line in enumerate([*stream, ""], 1):
            columns = [part.strip() for part in line.split("\t")] if "\t" in line else line.split()
            if not any(columns):
                if sentence and [sentence[0][0], len(sentence)] != [DOCUMENT_START, 1]:
                    yield sentence
                sentence = []
            elif columns[0].startswith("#") and len(columns) != width:
                continue
            else:
                width = width or len(columns)
                if "" in (columns[0], columns[-1]) or (len(columns) == 1) != (width == 1):
                    raise ValueError(
                        f"line {number} of {file!r} has no word or no tag; write the word first and its tag last."
                    )
                sentence.append(columns)
