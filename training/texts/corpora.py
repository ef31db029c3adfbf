"""Text of any source: the embedded corpus, local files, data sets of the Hub."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import regex
from datasets import Dataset, IterableDataset, load_dataset
from datasets.exceptions import DatasetGenerationError, DatasetNotFoundError

from vocabless.training.texts.pydocs import read_pydocs

EMBEDDED = "pydocs"  # the corpus that every installation has
FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".txt": "text"}
# In a csv file an empty cell alone is missing: "NA", "None" and "null" are texts, as in a jsonl file.
READER_OPTIONS: dict[str, dict[str, Any]] = {"csv": {"keep_default_na": False, "na_values": [""]}}
HUB_ID = regex.compile(r"(?P<path>[\w.-]+/[\w.-]+)(?::(?P<name>[\w.-]+))?(?:@(?P<revision>[\w./-]+))?")


def load_text(
    source: str, text_column: str = "text", workers: int = 2, streaming: bool = False
) -> Dataset | IterableDataset:
    """Returns the documents of a corpus, in one column `text`.

    Args:
        source: `pydocs` for the embedded corpus; a file (parquet, jsonl, json, csv, txt), a folder or a glob; or the
            train split of a Hub data set, `owner/name[:configuration][@revision]`.
        text_column: column of the text, in files with columns. In a txt file each line is a document.
        workers: processes that read `pydocs`.
        streaming: whether documents are read one by one, when they are needed.

    Raises:
        ValueError: the source does not exist, mixes file formats, lacks the column or holds no text.
    """
    if source != EMBEDDED:
        return _only_text(_load(source, streaming), source, text_column)
    documents = Dataset.from_dict({"text": [text for _, text in read_pydocs(workers)]})
    return documents.to_iterable_dataset(num_shards=max(1, workers)) if streaming else documents


def _only_text(dataset: Dataset | IterableDataset, source: str, text_column: str) -> Dataset | IterableDataset:
    """Returns the column of the text alone, by the name `text`."""
    _check_column(dataset, source, text_column)
    dataset = dataset.select_columns([text_column])
    dataset = dataset if text_column == "text" else dataset.rename_column(text_column, "text")
    if isinstance(dataset, Dataset) and not len(dataset):
        raise ValueError(f"the corpus {source!r} holds no document; give files with text in them.")
    return dataset


def _check_column(dataset: Dataset | IterableDataset, source: str, text_column: str) -> None:
    columns = dataset.column_names
    if not columns:  # the library only logs that a file is damaged
        raise ValueError(f"the corpus {source!r} cannot be read; check that its files are whole.")
    if text_column not in columns:
        raise ValueError(f"no column {text_column!r} in {source}; its columns are {', '.join(columns)}.")
    if dataset.features and dataset.features[text_column].dtype not in ("string", "large_string"):
        raise ValueError(
            f"the column {text_column!r} of {source} holds {dataset.features[text_column].dtype}, not text; "
            "name a column of strings."
        )


def _load(source: str, streaming: bool) -> Dataset | IterableDataset:
    paths = [source] if os.path.exists(source) else sorted(glob.glob(source, recursive=True))
    hub_id = None if paths else HUB_ID.fullmatch(source)
    options: dict[str, Any]
    if hub_id:
        options, remedy = hub_id.groupdict(), "check the id and the network, or give local files"
    else:
        files = _files(source, paths)
        reader = FORMATS[Path(files[0]).suffix]
        options, remedy = {"path": reader, "data_files": files, **READER_OPTIONS.get(reader, {})}, "check its files"
    try:
        return load_dataset(**options, split="train", streaming=streaming)
    except (DatasetGenerationError, DatasetNotFoundError, ConnectionError, ValueError) as error:
        cause = str(error.__cause__ or error).splitlines()[0]
        raise ValueError(f"the corpus {source!r} cannot be read: {cause}; {remedy}.") from error


def _files(source: str, paths: Sequence[str]) -> list[str]:
    """Returns the files of a path, a folder or a glob, sorted.

    Args:
        source: as the user wrote it, for error messages.
        paths: the existing paths that it names.
    """
    files: list[str] = []
    for path in paths:
        files += sorted(str(file) for file in Path(path).rglob("*")) if os.path.isdir(path) else [path]
    readable = [file for file in files if Path(file).suffix in FORMATS]
    if not readable:
        problem = f"holds no {', '.join(FORMATS)} file" if paths else "does not exist"
        raise ValueError(
            f"the corpus {source!r} {problem}; give pydocs, a file, a folder, a glob in quotes, or a Hub id owner/name."
        )
    formats = sorted({FORMATS[Path(file).suffix] for file in readable})
    if len(formats) > 1:
        raise ValueError(f"the corpus {source!r} mixes the formats {', '.join(formats)}; give each its own --corpus.")
    return readable
