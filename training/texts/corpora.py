"""Local files and data sets of the Hub → rows; the text of any source, also of the embedded corpus."""

import codecs
import csv
import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset, IterableDataset, Value, load_dataset
from datasets.exceptions import DatasetGenerationError

from vocabless.public_names import DATASET_ID, EMBEDDED
from vocabless.training.texts.pydocs import read_pydocs

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".tsv": "csv", ".txt": "text"}
DELIMITERS = {".csv": ",", ".tsv": "\t"}
STRING_TYPES = ("string", "large_string")
INDEX = "__index_level_0__"  # column in which `datasets` puts the first fields of rows that are longer than the header
_NESTED = {"Json": "values of several types", "List": "lists", "LargeList": "lists", "dict": "objects"}


@dataclass(frozen=True)
class TextFormat:
    r"""The format of csv, tsv, txt, jsonl and json files; other files are not read with it.

    Raises:
        ValueError: the encoding is unknown, or the delimiter is not one character.
    """

    encoding: str = "utf-8"
    delimiter: str | None = None  # `\t` or `tab` is a tab; None is a comma in csv, a tab in tsv

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except LookupError as error:
            raise ValueError(f"--encoding {self.encoding!r} is unknown; give one that Python has.") from error
        if self.delimiter in ("tab", r"\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ValueError(f"--delimiter {self.delimiter!r} is not one character; give one, for instance ';' or tab.")

    def options(self, suffix: str) -> dict[str, Any]:
        """Returns the arguments of `load_dataset` for files with a suffix.

        In a csv file an empty cell alone is missing: "NA", "None" and "null" are texts, as in a jsonl file.
        """
        options: dict[str, Any] = {}
        if suffix in DELIMITERS:
            options = {"keep_default_na": False, "na_values": [""], "sep": self.delimiter or DELIMITERS[suffix]}
        # By another name than "utf-8", `datasets` decodes JSON, too, and finds wrong bytes.
        encoding = "utf8" if self.encoding == "utf-8" else self.encoding
        return options | ({"encoding": encoding} if suffix != ".parquet" else {})

    def check(self, file: str) -> None:
        """Decodes a text file. Raises ValueError if a byte does not belong to the encoding."""
        decoder, start = codecs.getincrementaldecoder(self.encoding)(), 0
        with open(file, "rb") as stream:
            while chunk := stream.read(1 << 20):
                try:
                    decoder.decode(chunk, len(chunk) < 1 << 20)
                except UnicodeError as error:
                    data, place = getattr(error, "object", chunk), getattr(error, "start", 0)
                    raise ValueError(
                        f"the file {file!r} is not {self.encoding} (byte {start + len(chunk) - len(data) + place} is "
                        f"0x{data[place]:02x}); give its own, such as --encoding latin-1, or convert it to UTF-8."
                    ) from error
                start += len(chunk)

    def row_lines(self, file: str) -> list[int]:
        """Returns the line in which each row of a csv, tsv or jsonl file begins, from 1; nothing for other files."""
        suffix, begins, line = Path(file).suffix, [], 1
        if suffix not in (*DELIMITERS, ".jsonl", ".json"):
            return []
        csv.field_size_limit((1 << 31) - 1)  # characters; 128 KiB by default
        with open(file, encoding="utf-8-sig" if self.encoding == "utf-8" else self.encoding, newline="") as stream:
            if suffix in (".jsonl", ".json"):
                return [number for number, text in enumerate(stream, 1) if text.strip()]
            reader = csv.reader(stream, delimiter=self.delimiter or DELIMITERS[suffix])
            for record in reader:
                if len(record) > 1 or any(map(str.strip, record)):
                    begins.append(line)
                line = reader.line_num + 1
        return begins[1:]  # without the header


UTF8 = TextFormat()


def load_files(
    files: Sequence[str], where: str, text_format: TextFormat = UTF8, streaming: bool = False
) -> Dataset | IterableDataset:
    """Returns the rows of files of one format; with `streaming`, they are read when they are needed.

    Empty files are left out, unless all are empty. Messages call the files `where`, such as "the corpus 'texts'".

    Raises:
        ValueError: the files are damaged or empty, have another encoding, or rows with more fields than their header.
    """
    suffix = Path(files[0]).suffix
    # Links are followed: `datasets` would compare the time of a link with that in its cache, not that of the file.
    names = [glob.escape(os.path.realpath(file)) for file in files if os.path.getsize(file)]
    if not names:
        raise ValueError(f"{where} is empty; give a file with rows.")
    read = getattr(Dataset, f"from_{FORMATS[suffix]}")  # `load_dataset` would ask a server, to count a download
    try:
        rows: Any = read(names, split="train", streaming=streaming, **text_format.options(suffix))
        columns = rows.column_names or list(next(iter(rows.take(1)), {}))
    except (DatasetGenerationError, OSError, ValueError) as error:
        for file in files if suffix != ".parquet" else ():
            text_format.check(file)
        cause = " ".join(str(error.__cause__ or error).split())
        if "corresponds to no data" in cause:  # a header alone
            raise ValueError(f"{where} is empty; give a file with rows.") from error
        raise ValueError(f"{where} cannot be read: {cause}; check that it is complete.") from error
    if INDEX in columns:
        raise ValueError(f"{where} has rows with more fields than its header; put texts with delimiters in quotes.")
    return rows  # type: ignore[no-any-return]


def load_table(file: str, flag: str, columns: Sequence[str]) -> Any:
    """Returns the rows of the parquet, jsonl or csv file that a flag names. `label` may be the name of `score`.

    Raises:
        ValueError: the file does not exist, cannot be read, or lacks one of the columns.
    """
    where = f"{flag} {file!r}"
    if not Path(file).is_file() or Path(file).suffix not in FORMATS:
        raise ValueError(f"{where} is no parquet, jsonl or csv file; give one.")
    rows: Any = load_files([file], where)
    if "score" in columns and "score" not in rows.column_names and "label" in rows.column_names:
        rows = rows.rename_column("label", "score")
    missing = [name for name in columns if name not in rows.column_names]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}; it needs the columns {', '.join(columns)}.")
    return rows


def column_type(feature: Any) -> str:
    """Returns what a column holds, for checks and messages: a dtype such as `string`, or words for nested values."""
    return getattr(feature, "dtype", None) or _NESTED.get(type(feature).__name__, str(feature))


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
    files, where = find_files(source), f"the corpus {source!r}"
    if not files:
        remedy = "check the id and the network, or give local files."
        return load_hub(source, "corpus", remedy, split="train", streaming=streaming)  # type: ignore[no-any-return]
    if not any(os.path.getsize(file) for file in files):
        raise ValueError(f"{where} is empty; give files with text in them.")
    return load_files(files, where, text_format, streaming)
