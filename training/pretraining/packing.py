"""Documents → packed sequences of stored tokens, memory-mapped or streamed.

A prepared corpus has one record a sequence. Its columns hold the bytes of the tokens end to end, without special
tokens, see `codecs`. The tokens of all documents stand in the order of the documents and are cut where a sequence is
full, as in the masked-LM script of transformers. No token is dropped.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import datasets
import numpy as np
import pyarrow as pa
from datasets import Dataset, Features, IterableDataset, Value, concatenate_datasets, interleave_datasets
from datasets.distributed import split_dataset_by_node

from vocabless.training.pretraining.codecs import Codec

DOCUMENTS_PER_BATCH = 1000  # packed together; the last sequence of a batch may be short
DOCUMENTS_PER_PART = 200_000  # prepared and cached together; a killed run loses at most one part
SAMPLED_DOCUMENTS = 200  # for the estimate of the disk space

AnyDataset = TypeVar("AnyDataset", Dataset, IterableDataset)


def prepare(documents: AnyDataset, codec: Codec, max_seq_length: int, num_proc: int | None = None) -> AnyDataset:
    """Returns the packed sequences of documents.

    A sequence has `max_seq_length` tokens, [CLS] and [SEP] included, at least 3. Those of a memory-mapped corpus are
    cached on disk by content. A long corpus is prepared in parts, by `num_proc` processes, and a run that continues
    after a kill finds the finished parts in the cache.

    Raises:
        ValueError: not one token in the whole corpus.
    """
    map_options: dict[str, Any] = {
        "batched": True,
        "remove_columns": ["text"],
        "features": Features({name: Value("large_binary") for name in codec.columns}),
        "fn_kwargs": {"codec": codec, "max_tokens": max_seq_length - 2},
    }
    if isinstance(documents, IterableDataset):
        return documents.map(pack_records, batch_size=DOCUMENTS_PER_BATCH, **map_options)
    map_options["num_proc"] = num_proc if num_proc and num_proc > 1 else None  # `datasets` starts a process for 1, too
    starts = range(0, len(documents), DOCUMENTS_PER_PART)
    parts = []
    for number, start in enumerate(starts, 1):
        part = documents.select(range(start, min(start + DOCUMENTS_PER_PART, len(documents))))
        title = f"Packing {number}/{len(starts)}" if len(starts) > 1 else "Packing"
        parts.append(part.map(pack, batch_size=DOCUMENTS_PER_BATCH, desc=title, **map_options))
    sequences = concatenate_datasets(parts)
    if not len(sequences):
        raise ValueError(f"the corpus has {len(documents)} documents but not one token; give files with text in them.")
    return sequences


def pack(batch: dict[str, list[Any]], codec: Codec, max_tokens: int) -> pa.Table:
    """Returns the texts of a batch as sequences of `max_tokens` tokens, the last one of the rest; one record each."""
    columns = codec.pack([text for text in batch["text"] if text])
    return pa.table({name: _split(tokens, max_tokens) for name, tokens in columns.items()})


def pack_records(batch: dict[str, list[Any]], codec: Codec, max_tokens: int) -> dict[str, list[bytes]]:
    """Returns what `pack` returns as lists, the form that streams need."""
    records: dict[str, list[bytes]] = pack(batch, codec, max_tokens).to_pydict()
    return records


def describe_disk_need(corpora: Sequence[Dataset], codec: Codec, max_seq_length: int) -> str:
    """Returns a line that says how much disk the prepared corpora will take, from samples, and how much is free."""
    needed = 0
    for documents in corpora:
        step = -(-len(documents) // SAMPLED_DOCUMENTS)
        needed += step * pack({"text": documents[::step]["text"]}, codec, max_seq_length - 2).nbytes
    folder = Path(datasets.config.HF_DATASETS_CACHE)
    free = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free
    number = sum(map(len, corpora))
    return f"{number:,} documents, prepared: about {needed / 1e9:.3g} GB in {folder}; {free / 1e9:.3g} GB are free.\n"


def mix(corpora: Sequence[AnyDataset], weights: Sequence[float] | None, seed: int) -> AnyDataset:
    """Returns prepared corpora as one, with a share of sequences from each, or end to end without weights.

    An epoch ends when one corpus is used up. The seed decides the order in which the corpora take turns.
    """
    if weights is None:
        return concatenate_datasets(list(corpora)) if len(corpora) > 1 else corpora[0]
    shares = [weight / sum(weights) for weight in weights]
    return interleave_datasets(list(corpora), probabilities=shares, seed=seed, stopping_strategy="first_exhausted")


def part_of_process(
    sequences: IterableDataset, seed: int, buffer_size: int, rank: int, world_size: int
) -> IterableDataset:
    """Returns the sequences of a stream that one of several processes reads, in another order each epoch.

    The files are shuffled, and each next sequence is drawn from a buffer of `buffer_size`.
    """
    shuffled = sequences.shuffle(seed=seed, buffer_size=buffer_size)
    return split_dataset_by_node(shuffled, rank=rank, world_size=world_size) if world_size > 1 else shuffled


def _split(tokens: np.ndarray[Any, Any], max_tokens: int) -> pa.LargeBinaryArray:
    """Returns tokens that stand end to end as one binary value a sequence, without a copy."""
    tokens = np.ascontiguousarray(tokens)
    ends = [*range(max_tokens, len(tokens), max_tokens), *([len(tokens)] if len(tokens) else [])]
    offsets = np.array([0, *ends], np.int64) * (tokens.nbytes // max(1, len(tokens)))
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(tokens)]
    )
