"""Text of any source: the embedded corpus, local files, data sets of the Hub."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

import regex
from datasets import Dataset, IterableDataset, load_dataset
from datasets.exceptions import DatasetGenerationError, DatasetNotFoundError

from vocabless.training.texts.pydocs import read_pydocs

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".txt": "text"}
HUB_ID = regex.compile(r"(?P<path>[\w.-]+/[\w.-]+)(?::(?P<name>[\w.-]+))?(?:@(?P<revision>[\w./-]+))?")


def load_text(
    source: str, text_column: str = "text", workers: int = 2, streaming: bool = False
) -> Dataset | IterableDataset:
    """Returns the documents of a corpus, one `text` a row.

    Args:
        source: `pydocs` for the embedded corpus; a file (parquet, jsonl, json, csv, txt), a folder or a glob of them;
            or a data set of the Hub, `owner/name[:configuration][@revision]`, its train split.
        text_column: where files with columns keep the text; a line of a txt file is a document.
        workers: processes that read `pydocs`.
        streaming: whether documents are read as they are needed.

    Raises:
        ValueError: nothing at a path, files of unlike formats, no such column, a column without text, no text at all.
    """
    if source == "pydocs":
        documents = Dataset.from_dict({"text": [text for _, text in read_pydocs(workers)]})
        return documents.to_iterable_dataset(num_shards=max(1, workers)) if streaming else documents
    dataset = _load(source, streaming)
    columns = dataset.column_names
    if not columns:  # the library only logs a damaged file
        raise ValueError(f"the corpus {source!r} cannot be read; check that its files are whole.")
    if text_column not in columns:
        raise ValueError(f"no column {text_column!r} in {source}; its columns are {', '.join(columns)}.")
    if dataset.features and dataset.features[text_column].dtype not in ("string", "large_string"):
        raise ValueError(
            f"the column {text_column!r} of {source} holds {dataset.features[text_column].dtype}, not text; "
            "name a column of strings."
        )
    dataset = dataset.select_columns([text_column])
    dataset = dataset if text_column == "text" else dataset.rename_column(text_column, "text")
    if isinstance(dataset, Dataset) and not len(dataset):
        raise ValueError(f"the corpus {source!r} holds no document; give files with text in them.")
    return dataset


def _load(source: str, streaming: bool) -> Dataset | IterableDataset:
    paths = sorted(glob.glob(source, recursive=True)) if not os.path.exists(source) else [source]
    hub = None if paths else HUB_ID.fullmatch(source)
    if hub:
        given, remedy = hub.groupdict(), "check the id and the network, or give local files"
    else:
        files = _files(source, paths)
        given, remedy = {"path": FORMATS[Path(files[0]).suffix], "data_files": files}, "check its files"
    try:
        return load_dataset(**given, split="train", streaming=streaming)
    except (DatasetGenerationError, DatasetNotFoundError, ConnectionError, ValueError) as error:
        cause = str(error.__cause__ or error).splitlines()[0]
        raise ValueError(f"the corpus {source!r} cannot be read: {cause}; {remedy}.") from error


def _files(source: str, paths: Sequence[str]) -> list[str]:
    """Returns the files that a path, a folder or a glob names, sorted."""
    files = []
    for path in paths:
        files += sorted(str(file) for file in Path(path).rglob("*")) if os.path.isdir(path) else [path]
    known = [file for file in files if Path(file).suffix in FORMATS]
    if not known:
        found = f"holds no {', '.join(FORMATS)} file" if paths else "does not exist"
        raise ValueError(
            f"the corpus {source!r} {found}; give pydocs, a file, a folder, a glob in quotes, or a Hub id owner/name."
        )
    formats = sorted({FORMATS[Path(file).suffix] for file in known})
    if len(formats) > 1:
        raise ValueError(f"the corpus {source!r} mixes the formats {', '.join(formats)}; give each its own --corpus.")
    return known
