"""Corpora: any text → packed sequences of raw blocks, memory-mapped.

A prepared corpus is a `datasets.Dataset` with one row per sequence: `blocks`, the raw bytes of its tokens end to end
(K bytes a token, K + 1 where blocks are padded, no special tokens), and for masked-LM `targets`, int32, a target
vocabulary's id for each token. Documents follow each other; no token is dropped.
"""

import glob
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, Features, Value, load_dataset
from datasets.exceptions import DatasetGenerationError
from numpy.typing import NDArray
from tokenizers import Tokenizer

from vocabless.tokenization.splitters import SubwordSplitter
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.pydocs import read_pydocs

FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv", ".txt": "text"}
DOCUMENTS_AT_A_TIME = 1000  # packed together: one sequence in that many documents may be shorter


def load_text(sources: Sequence[str], text_column: str = "text", workers: int = 2) -> Dataset:
    """Returns the documents of a corpus, one `text` a row.

    Args:
        sources: `pydocs` for the embedded corpus, or files (parquet, jsonl, json, csv, txt), folders and globs of them.
        text_column: where files with columns keep the text; a line of a txt file is a document.
        workers: processes that read `pydocs`.

    Raises:
        ValueError: nothing at a path, files of unlike formats, no such column, a column without text, no text at all.
    """
    if list(sources) == ["pydocs"]:
        return Dataset.from_dict({"text": [text for _, text in read_pydocs(workers)]})
    files = [file for source in sources for file in _expand(source)]
    formats = sorted({FORMATS[Path(file).suffix] for file in files})
    if len(formats) > 1:
        raise ValueError(f"the corpus mixes the formats {', '.join(formats)}; give files of one format.")
    try:
        dataset = load_dataset(formats[0], data_files=files, split="train")
    except (DatasetGenerationError, ValueError) as error:
        cause = error.__cause__ or error
        raise ValueError(f"the corpus {', '.join(sources)} cannot be read: {cause}; check its files.") from error
    if not dataset.column_names:  # the library only logs a damaged file
        raise ValueError(f"the corpus {', '.join(sources)} cannot be read; check that its files are whole.")
    if text_column not in dataset.column_names:
        raise ValueError(f"no column {text_column!r} in {files[0]}; its columns are {', '.join(dataset.column_names)}.")
    if dataset.features[text_column].dtype not in ("string", "large_string"):
        raise ValueError(
            f"the column {text_column!r} of {files[0]} holds {dataset.features[text_column].dtype}, not text; "
            "name a column of strings."
        )
    dataset = dataset.select_columns([text_column])
    dataset = dataset if text_column == "text" else dataset.rename_column(text_column, "text")
    if not len(dataset):
        raise ValueError(f"the corpus {', '.join(sources)} holds no document; give files with text in them.")
    return dataset


def prepare(
    documents: Dataset,
    tokenizer: VocablessTokenizer,
    max_seq_length: int,
    target_tokenizer: Tokenizer | None = None,
    num_proc: int | None = None,
) -> Dataset:
    """Returns the packed sequences of `documents`, cached on disk by content.

    Args:
        documents: with a column `text`.
        tokenizer: writes the blocks.
        max_seq_length: tokens of a sequence, [CLS] and [SEP] included.
        target_tokenizer: gives each token the id that masked-LM predicts; a token that it splits is predicted by its
            first piece. None leaves `targets` out.
        num_proc: processes.

    Raises:
        ValueError: `max_seq_length` below 3, or no token in the whole corpus.
    """
    if max_seq_length < 3:
        raise ValueError(f"max_seq_length={max_seq_length} leaves no room beside [CLS] and [SEP]; give at least 3.")
    features = {"blocks": Value("binary")} | ({"targets": Value("binary")} if target_tokenizer else {})
    sequences = documents.map(
        pack,
        batched=True,
        batch_size=DOCUMENTS_AT_A_TIME,
        num_proc=num_proc,
        remove_columns=documents.column_names,
        features=Features(features),
        fn_kwargs={"tokenizer": tokenizer, "room": max_seq_length - 2, "target_tokenizer": target_tokenizer},
        desc="Packing",
    )
    if not len(sequences):
        raise ValueError(f"the corpus has {len(documents)} documents but not one token; give files with text in them.")
    return sequences


def pack(
    batch: dict[str, list[Any]], tokenizer: VocablessTokenizer, room: int, target_tokenizer: Tokenizer | None = None
) -> dict[str, list[bytes]]:
    """Returns the texts of `batch` as sequences of up to `room` tokens, documents end to end."""
    texts = [text for text in batch["text"] if text]
    blocks = np.concatenate([np.empty((0, tokenizer.raw_block_size), np.uint8), *tokenizer.raw_blocks(texts)])
    starts = range(0, len(blocks), room)
    columns = {"blocks": [blocks[start : start + room].tobytes() for start in starts]}
    if target_tokenizer is not None:
        targets = target_ids(tokenizer, target_tokenizer)(texts)
        columns["targets"] = [targets[start : start + room].tobytes() for start in starts]
    return columns


def target_ids(
    tokenizer: VocablessTokenizer, target_tokenizer: Tokenizer
) -> Callable[[Sequence[str]], NDArray[np.int32]]:
    """Returns a function from texts to the target ids of their tokens, end to end, int32."""
    splitter = tokenizer.unit_splitter
    if isinstance(splitter, SubwordSplitter) and splitter.tokenizer.get_vocab() == target_tokenizer.get_vocab():
        return lambda texts: np.array(
            [i for e in target_tokenizer.encode_batch(list(texts), add_special_tokens=False) for i in e.ids], np.int32
        )
    unknown = target_tokenizer.token_to_id("[UNK]") or 0
    ids: dict[Any, int] = {}

    def first_pieces(texts: Sequence[str]) -> NDArray[np.int32]:
        units = [unit for text in splitter.units_of_batch(texts) for unit in text]
        new = [unit for unit in dict.fromkeys(units) if unit not in ids]
        printed = [unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit for unit in new]
        for unit, encoding in zip(new, target_tokenizer.encode_batch(printed, add_special_tokens=False), strict=True):
            ids[unit] = encoding.ids[0] if encoding.ids else unknown
        return np.array([ids[unit] for unit in units], np.int32)

    return first_pieces


def _expand(source: str) -> list[str]:
    """Returns the files that a path, a folder or a glob names, sorted."""
    paths = sorted(glob.glob(source, recursive=True)) if not os.path.exists(source) else [source]
    files = []
    for path in paths:
        files += sorted(str(file) for file in Path(path).rglob("*")) if os.path.isdir(path) else [path]
    known = [file for file in files if Path(file).suffix in FORMATS]
    if not known:
        found = f"holds no {', '.join(FORMATS)} file" if paths else "does not exist"
        raise ValueError(f"the corpus {source!r} {found}; give pydocs, a file, a folder or a glob in quotes.")
    return known
