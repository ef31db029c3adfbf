"""Local files and data sets of the Hub → rows; the text of any source, also of the embedded corpus."""

import glob
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from datasets import Dataset, IterableDataset, Value, load_dataset
from datasets.exceptions import DatasetGenerationError

from vocabless.public_names import DATASET_ID, EMBEDDED
from vocabless.texts.documents import HTML, MARKDOWN, read_file
from vocabless.texts.pydocs import read_pydocs
from vocabless.texts.tables import check_texts, explained, load_files
from vocabless.texts.text_format import FORMATS, UTF8, TextFormat, suffix_of

CORPUS_FORMATS = FORMATS | dict.fromkeys(MARKDOWN + HTML, "pages")


def first_texts(source: str, text_column: str, text_format: TextFormat, number: int) -> Dataset:
    """Returns the first documents of a corpus that are not blank, in one column `text`, see `load_text`."""
    documents = load_text(source, text_column, 1, True, text_format)
    try:
        rows = list(islice((row for row in documents if (row["text"] or "").strip()), number))
    except (OSError, ValueError) as error:
        raise explained(error, f"the corpus {source!r}") from error
    if not rows:
        raise ValueError(f"the corpus {source!r} holds no text; give files with text in them.")
    return Dataset.from_list(rows)


def load_text(
    source: str, text_column: str = "text", workers: int = 2, streaming: bool = False, text_format: TextFormat = UTF8
) -> Dataset | IterableDataset:
    """Returns the documents of a corpus, in one column `text`.

    Args:
        source: `pydocs` for the embedded corpus; a file (parquet, jsonl, json, csv, tsv, txt, md, html), a folder or a
            glob; or the train split of a Hub data set, `owner/name[:configuration][@revision]`.
        text_column: column of the text, in files with columns. In a txt file each line is a document; an md or html
            file is one, as its reader sees it.
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
    # A stream of the Hub may not know its columns, but its documents do.
    features = dataset.features or Dataset.from_list(list(dataset.take(1))).features
    if text_column not in features:
        raise ValueError(f"no column {text_column!r} in {source}; its columns are {', '.join(features)}.")
    check_texts(features, text_column, source)
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
    is_hub_id = DATASET_ID.fullmatch(source) is not None and suffix_of(source) not in CORPUS_FORMATS
    if source == EMBEDDED or (is_hub_id and not paths):
        return []
    files: list[str] = []
    for path in paths:
        files += sorted(str(file) for file in Path(path).rglob("*")) if os.path.isdir(path) else [path]
    readable = [file for file in files if suffix_of(file) in CORPUS_FORMATS and not os.path.isdir(file)]
    unreadable = next((file for file in readable if not os.path.isfile(file)), None)
    if unreadable is not None:  # a pipe would wait for ever for its other end
        raise ValueError(f"the corpus {source!r} holds {unreadable!r}, a broken link or a pipe; remove it.")
    if not readable:
        problem = f"holds no {', '.join(CORPUS_FORMATS)} file" if paths else "does not exist"
        remedy = "give pydocs, a file, a folder, a glob in quotes, or a Hub id owner/name."
        raise ValueError(f"the corpus {source!r} {problem}; {remedy}")
    formats = sorted({CORPUS_FORMATS[suffix_of(file)] for file in readable})
    if len(formats) > 1:
        raise ValueError(f"the corpus {source!r} mixes the formats {', '.join(formats)}; give each its own --corpus.")
    return readable


def load_hub(source: str, kind: str, remedy: str, **options: Any) -> Any:
    """Returns the data set `owner/name[:configuration][@revision]` of the Hub, see `load_dataset`.

    Raises:
        ValueError: it does not exist or cannot be read. The message calls it a `kind`, and ends with the remedy.
    """
    match = DATASET_ID.fullmatch(source)
    try:
        return load_dataset(**({"path": source} if match is None else match.groupdict()), **options)
    except (DatasetGenerationError, OSError, RuntimeError, ValueError) as error:
        cause = " ".join(str(error.__cause__ or error).split())
        if "scripts are no longer supported" in cause:
            cause = "it is a script, which `datasets` does not run"
            converted = f"{source.partition('@')[0]}@refs/convert/parquet"
            remedy = f"give its conversion to parquet, {converted}, if it is complete, or local files."
        raise ValueError(f"the {kind} {source!r} cannot be read from the Hub: {cause}; {remedy}") from error


def _load(source: str, streaming: bool, text_format: TextFormat) -> Dataset | IterableDataset:
    files = find_files(source)
    if not files:
        remedy = "check the id and the network, or give local files."
        return load_hub(source, "corpus", remedy, split="train", streaming=streaming)  # type: ignore[no-any-return]
    if CORPUS_FORMATS[suffix_of(files[0])] != "pages":
        return load_files(files, f"the corpus {source!r}", text_format, streaming)
    if streaming:
        return IterableDataset.from_generator(_pages, gen_kwargs={"files": files, "text_format": text_format})
    return Dataset.from_dict({"text": [row["text"] for row in _pages(files, text_format)]})


def _pages(files: Sequence[str], text_format: TextFormat) -> Iterator[dict[str, str]]:
    """Yields the texts of md and html files that have some."""
    for file in files:
        try:
            page = read_file(file, text_format.encoding)
        except UnicodeError as error:
            raise text_format.misread(file, error) from error
        except ValueError as error:
            raise explained(error, f"the file {file!r}") from error
        if page.text:
            yield {"text": page.text}
