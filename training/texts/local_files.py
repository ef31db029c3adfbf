"""Reads local files with `datasets`: literal names, and a cache that follows the content of the files."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import datasets
from datasets import Dataset, IterableDataset, load_dataset
from datasets.data_files import DataFilesList
from datasets.exceptions import DatasetGenerationError
from datasets.fingerprint import Hasher

from vocabless.training.texts.text_format import UTF8, TextFormat

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".tsv": "csv", ".txt": "text"}
STRING_TYPES = ("string", "large_string")
LINKS = "vocabless-files"  # folder in the cache of `datasets`
CHUNK = 1 << 20  # bytes that are read at once
_STREAMED = ("streamed",)  # key of files whose rows are not cached
_NESTED = {"Json": "values of several types", "List": "lists", "LargeList": "lists", "dict": "objects"}


def load_files(
    files: Sequence[str],
    where: str,
    text_format: TextFormat = UTF8,
    streaming: bool = False,
    may_be_empty: bool = False,
) -> Dataset | IterableDataset:
    """Returns the rows of files of one format.

    A file's name is no pattern. Rows come from the cache only if every byte of the files is the same as before, or are
    read one by one when they are needed (`streaming`). Messages call the files `where`, such as "the corpus 'texts'".

    Raises:
        ValueError: a file is damaged or empty, has another encoding or delimiter, names a column twice, or has a row
            with more fields than its header.
    """
    suffix = Path(files[0]).suffix
    for file in files:
        text_format.check(file, may_be_empty)
    # `datasets` would expand the patterns in plain names, and would not read a file again that kept its time.
    data_files = DataFilesList(
        [_plain_name(file) for file in files], [_STREAMED if streaming else (_digest(file),) for file in files]
    )
    options: dict[str, Any] = text_format.options(suffix)
    try:
        with _uncounted():
            return load_dataset(
                FORMATS[suffix], data_files={"train": data_files}, split="train", streaming=streaming, **options
            )
    except (DatasetGenerationError, ValueError) as error:
        cause = error.__cause__ or error
        if isinstance(cause, UnicodeError):
            raise text_format.decoding_error(where, cause) from error
        raise ValueError(
            f"{where} cannot be read: {' '.join(str(cause).split())}; check that it is complete."
        ) from error


def column_type(feature: Any) -> str:
    """Returns what a column holds, for checks and messages: a dtype such as `string`, or words for nested values."""
    return getattr(feature, "dtype", None) or _NESTED.get(type(feature).__name__, str(feature))


@contextmanager
def _uncounted() -> Iterator[None]:
    """Lets `datasets` count no download: it would ask a server, which takes seconds on a machine without a network."""
    counts = datasets.config.HF_UPDATE_DOWNLOAD_COUNTS
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
    try:
        yield
    finally:
        datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = counts


def _plain_name(file: str) -> str:
    """Returns a path that `datasets` opens as it is written, and takes for no archive `a::b` and no variable `$A`."""
    path = os.path.abspath(file)
    if "::" not in path and os.path.expandvars(path) == path:
        return path
    folder = Path(datasets.config.HF_DATASETS_CACHE) / LINKS
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / f"{Hasher.hash_bytes(os.fsencode(path))}{Path(file).suffix}"
    if not link.is_symlink():
        link.symlink_to(path)
    return str(link)


def _digest(file: str) -> str:
    with open(file, "rb") as stream:
        digest: str = Hasher.hash_bytes(iter(lambda: stream.read(CHUNK), b""))
    return digest
