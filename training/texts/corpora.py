"""Text of any source: the embedded corpus, local files, data sets of the Hub."""

import glob
import os
from pathlib import Path

from datasets import Dataset, IterableDataset, Value, load_dataset
from datasets.exceptions import DatasetGenerationError, DatasetNotFoundError

from vocabless.public_names import DATASET_ID, EMBEDDED
from vocabless.training.texts.local_files import FORMATS, STRING_TYPES, column_type, load_files
from vocabless.training.texts.pydocs import read_pydocs
from vocabless.training.texts.text_format import UTF8, TextFormat


def load_text(
    source: str, text_column: str = "text", workers: int = 2, streaming: bool = False, text_format: TextFormat = UTF8
) -> Dataset | IterableDataset:
    """Returns the documents of a corpus, in one column `text`.

    Args:
        source: `pydocs` for the embedded corpus; a file (parquet, jsonl, json, csv, tsv, txt), a folder or a glob; or
            the train split of a Hub data set, `owner/name[:configuration][@revision]`.
        text_column: column of the text, in files with columns. In a txt file each line is a document.
        workers: processes that read `pydocs`.
        streaming: whether documents are read one by one, when they are needed.
        text_format: encoding and delimiter of local text files.

    Raises:
        ValueError: the source does not exist, mixes file formats, has another encoding or delimiter, lacks the column
            or holds no text.
    """
    if source == EMBEDDED:
        documents = Dataset.from_dict({"text": [text for _, text in read_pydocs(workers)]})
        return documents.to_iterable_dataset(num_shards=max(1, workers)) if streaming else documents
    dataset = _load(source, streaming, text_format)
    # A stream does not know the columns of csv, json and txt files, but its documents do.
    features = dataset.features or Dataset.from_list(list(dataset.take(1))).features
    if not features:  # the library only logs that a file is damaged
        raise ValueError(f"the corpus {source!r} cannot be read; check that its files are whole.")
    if text_column not in features:
        raise ValueError(f"no column {text_column!r} in {source}; its columns are {', '.join(features)}.")
    kind = column_type(features[text_column])
    if kind not in (*STRING_TYPES, "null"):  # the first document of a stream may have no text
        raise ValueError(f"the column {text_column!r} of {source} holds {kind}, not text; name a column of strings.")
    dataset = dataset.select_columns([text_column])
    dataset = dataset if text_column == "text" else dataset.rename_column(text_column, "text")
    if isinstance(dataset, Dataset) and not len(dataset):
        raise ValueError(f"the corpus {source!r} holds no document; give files with text in them.")
    if dataset.features and dataset.features["text"].dtype == "large_string":  # as pandas and polars write it
        dataset = dataset.cast_column("text", Value("string"))  # one type, so that corpora can be joined
    return dataset


def find_files(source: str) -> list[str]:
    """Returns the local files of a source, a path, a folder or a glob, sorted; none for `pydocs` and for a Hub id.

    Raises:
        ValueError: the source does not exist, holds no file that can be read, or mixes file formats.
    """
    paths = [source] if os.path.exists(source) else sorted(glob.glob(source, recursive=True))
    is_hub_id = DATASET_ID.fullmatch(source) is not None and Path(source).suffix not in FORMATS
    if source == EMBEDDED or (is_hub_id and not paths):
        return []
    files: list[str] = []
    for path in paths:
        files += sorted(str(file) for file in Path(path).rglob("*")) if os.path.isdir(path) else [path]
    readable = [file for file in files if Path(file).suffix in FORMATS and not os.path.isdir(file)]
    unreadable = next((file for file in readable if not os.path.isfile(file)), None)
    if unreadable is not None:  # a pipe would wait for ever for its other end
        raise ValueError(f"the corpus {source!r} holds {unreadable!r}, a broken link or a pipe; remove it.")
    if not readable:
        problem = f"holds no {', '.join(FORMATS)} file" if paths else "does not exist"
        raise ValueError(
            f"the corpus {source!r} {problem}; give pydocs, a file, a folder, a glob in quotes, or a Hub id owner/name."
        )
    formats = sorted({FORMATS[Path(file).suffix] for file in readable})
    if len(formats) > 1:
        raise ValueError(f"the corpus {source!r} mixes the formats {', '.join(formats)}; give each its own --corpus.")
    return readable


def _load(source: str, streaming: bool, text_format: TextFormat) -> Dataset | IterableDataset:
    files = find_files(source)
    if files:
        if not any(os.path.getsize(file) for file in files):
            raise ValueError(f"the corpus {source!r} is empty; give files with text in them.")
        return load_files(files, f"the corpus {source!r}", text_format, streaming)
    try:
        match = DATASET_ID.fullmatch(source)
        assert match is not None  # else `find_files` would have refused it
        return load_dataset(**match.groupdict(), split="train", streaming=streaming)
    except RuntimeError as error:
        if "scripts are no longer supported" not in str(error):
            raise
        raise ValueError(
            f"the corpus {source!r} is a script, which `datasets` does not run; give its conversion to parquet, "
            f"{source.partition('@')[0]}@refs/convert/parquet, if it is complete, or local files."
        ) from error
    except (DatasetGenerationError, DatasetNotFoundError, ConnectionError, ValueError) as error:
        cause = str(error.__cause__ or error).splitlines()[0]
        raise ValueError(
            f"the corpus {source!r} cannot be read: {cause}; check the id and the network, or give local files."
        ) from error
