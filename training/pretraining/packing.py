"""Corpora: any text → packed sequences of stored tokens, memory-mapped or streamed.

A prepared corpus has one row per sequence: `blocks`, the raw bytes of its tokens end to end (K bytes a token, K + 1
where blocks are padded, no special tokens), and for masked-LM `targets`, int32, the id to predict for each token.
Sequences are packed of whole sentences, documents follow each other, and no token is dropped: a sentence longer than a
sequence goes on in the next.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from datasets import (
    Dataset,
    Features,
    IterableDataset,
    Value,
    concatenate_datasets,
    interleave_datasets,
)
from datasets.distributed import split_dataset_by_node

from vocabless.training.pretraining.codecs import Codec

DOCUMENTS_AT_A_TIME = 1000  # packed together: one sequence in that many documents may be shorter
DOCUMENTS_A_PART = 200_000  # prepared and cached together: what a kill can cost
STREAMED_AT_A_TIME = 100

AnyDataset = TypeVar("AnyDataset", Dataset, IterableDataset)


def prepare(documents: AnyDataset, codec: Codec, max_seq_length: int, num_proc: int | None = None) -> AnyDataset:
    """Returns the packed sequences of `documents`; those of a memory-mapped corpus are cached on disk by content.

    A long corpus is prepared part by part: the parts that a killed run has finished are found in the cache.

    Args:
        documents: with a column `text`.
        codec: stores the tokens.
        max_seq_length: tokens of a sequence, [CLS] and [SEP] included.
        num_proc: processes beside this one, if more than one; a stream has its own.

    Raises:
        ValueError: `max_seq_length` below 3, or no token in the whole corpus.
    """
    if max_seq_length < 3:
        raise ValueError(f"max_seq_length={max_seq_length} leaves no room beside [CLS] and [SEP]; give at least 3.")
    has_targets = codec.targets([]) is not None
    given: dict[str, Any] = {
        "batched": True,
        "remove_columns": ["text"],
        "features": Features({name: Value("large_binary") for name in ("blocks", "targets")[: 1 + has_targets]}),
        "fn_kwargs": {"codec": codec, "room": max_seq_length - 2},
    }
    if isinstance(documents, IterableDataset):
        return documents.map(pack_rows, batch_size=STREAMED_AT_A_TIME, **given)
    num_proc = num_proc if num_proc and num_proc > 1 else None  # for the library, 1 is a process of its own
    starts = range(0, len(documents), DOCUMENTS_A_PART)
    parts: list[Dataset] = []
    for start in starts:
        part = documents.select(range(start, min(start + DOCUMENTS_A_PART, len(documents))))
        number = f" {len(parts) + 1}/{len(starts)}" if len(starts) > 1 else ""
        parts.append(
            part.map(pack, batch_size=DOCUMENTS_AT_A_TIME, num_proc=num_proc, desc=f"Packing{number}", **given)
        )
    sequences = concatenate_datasets(parts)
    if not len(sequences):
        raise ValueError(f"the corpus has {len(documents)} documents but not one token; give files with text in them.")
    return sequences


def pack(batch: dict[str, list[Any]], codec: Codec, room: int) -> pa.Table:
    """Returns the texts of `batch` as sequences of up to `room` tokens: whole sentences, documents end to end."""
    texts = [text for text in batch["text"] if text]
    blocks, lengths = codec.raw_blocks(texts)
    ends = sequence_ends(lengths, room)
    columns = {"blocks": _rows(blocks, ends)}
    targets = codec.targets(texts)
    return pa.table(columns if targets is None else {**columns, "targets": _rows(targets, ends)})


def pack_rows(batch: dict[str, list[Any]], codec: Codec, room: int) -> dict[str, list[bytes]]:
    """Returns the same as `pack`, row by row, as streams take it."""
    rows: dict[str, list[bytes]] = pack(batch, codec, room).to_pydict()
    return rows


def sequence_ends(lengths: Iterable[int], room: int) -> list[int]:
    """Returns where sequences of whole sentences end, in tokens.

    Args:
        lengths: tokens of each sentence.
        room: tokens of a sequence; a longer sentence fills sequences of its own and begins the next with its rest.

    Example:
        >>> sequence_ends([3, 2, 4, 12], 5)
        [5, 9, 14, 19, 21]
    """
    ends, start, position = [], 0, 0
    for length in lengths:
        if position > start and position + length - start > room:
            ends.append(start := position)
        position += length
        while position - start > room:
            ends.append(start := start + room)
    return [*ends, position] if position > start else ends


def mix(corpora: Sequence[AnyDataset], weights: Sequence[float] | None, seed: int) -> AnyDataset:
    """Returns several prepared corpora as one.

    Args:
        corpora: see `prepare`.
        weights: the share of sequences that comes from each; an epoch ends with the corpus that is used up first. None
            takes all of all, one after the other.
        seed: of the order in which they take turns.

    Raises:
        ValueError: not one weight for each corpus, or one that is not above 0.
    """
    if weights is None:
        return concatenate_datasets(list(corpora)) if len(corpora) > 1 else corpora[0]
    if len(weights) != len(corpora) or min(weights) <= 0:
        raise ValueError(
            f"--mix {' '.join(map(str, weights))} for {len(corpora)} corpora; give one weight above 0 for each."
        )
    shares = [weight / sum(weights) for weight in weights]
    return interleave_datasets(list(corpora), probabilities=shares, seed=seed, stopping_strategy="first_exhausted")


def own_part(documents: IterableDataset, seed: int, rank: int, world_size: int) -> IterableDataset:
    """Returns the documents of a stream that one of several processes reads, its files in another order each epoch."""
    shuffled = documents.shuffle(seed=seed, buffer_size=1)
    return split_dataset_by_node(shuffled, rank=rank, world_size=world_size) if world_size > 1 else shuffled


def _rows(tokens: np.ndarray[Any, Any], ends: Sequence[int]) -> pa.LargeBinaryArray:
    """Returns tokens that lie end to end as rows of bytes, without a copy."""
    tokens = np.ascontiguousarray(tokens)
    offsets = np.array([0, *ends], np.int64) * (tokens.nbytes // max(1, len(tokens)))
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(tokens)]
    )
