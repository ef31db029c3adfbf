"""Documents → packed sequences of stored tokens, memory-mapped or streamed, and back to the blocks of a model.

The tokens of all documents are joined in the order of the documents and are cut where a sequence is full. No token is
dropped. A prepared corpus has a row for each sequence, without special tokens, unless they mark documents:

- `blocks`: the packed blocks of the tokens end to end, uint8, see `VocablessTokenizer.packed_units`;
- `targets`: the id of the first piece of each token for the target tokenizer, if the objective needs targets;
- `input_ids`: in place of both, the ids of the tokens of a vocabulary. Each is its own target. Two more ids mark the
  first and the last token of a document.

Ids have the smallest integer type that holds the vocabulary.
"""

import gc
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
import pyarrow as pa
from datasets import Dataset, IterableDataset, concatenate_datasets, interleave_datasets
from datasets.distributed import split_dataset_by_node
from datasets.fingerprint import get_temporary_cache_files_directory
from numpy.typing import NDArray
from pyarrow import compute
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from vocabless.tokenization.block_coders import CLS, MASK, SEP, Integers, special_blocks, unpack
from vocabless.tokenization.splitters import SubwordSplitter, Unit, WordSplitter
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

IGNORE_INDEX = -100  # label of a token that the loss leaves out
SHUFFLE_BUFFER = 10_000  # sequences of a stream from which the next one is drawn
_SIGN = r"[!-/:-@\[-^{-~]"  # of ASCII, without `, which `fold_forms` reads; beside a letter, digit or `_` a unit ends

AnyDataset = TypeVar("AnyDataset", Dataset, IterableDataset)
Record = Mapping[str, Any]  # stored tokens: column → integers


class Packing:
    """Stores the tokens of a tokenizer, and reads them. A token of a stock model is a block, too, of one element.

    Args:
        tokenizer: one of this family, or a stock one with [CLS], [SEP] and [MASK], or RoBERTa's tokens for them.
        needs_targets: whether the objective needs the target id of each token.
        max_seq_length: tokens of a sequence, [CLS] and [SEP] included, at least 3.
        marks_documents: whether [CLS] and [SEP] are around each document in place of each sequence, and what is left
            of a batch of documents behind its last full sequence is dropped, as in transformers' run_mlm.py.

    Raises:
        ValueError: documents shall be marked, and there is no vocabulary.

    Attributes:
        vocabulary: (tokens, K) the blocks of all tokens; None without a vocabulary.
        mask: (K,) elements of the mask token.
    """

    vocabulary: Integers | None = None

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        needs_targets: bool,
        max_seq_length: int,
        marks_documents: bool = False,
    ) -> None:
        self.tokenizer: Any = tokenizer
        self.marks_documents = marks_documents
        self.max_tokens = max_seq_length - (0 if marks_documents else 2)
        self.is_ours = isinstance(tokenizer, VocablessTokenizer)
        if isinstance(tokenizer, VocablessTokenizer):
            self._pads = tokenizer.packed_block_size > tokenizer.block_size
            self._target = _whole(tokenizer.target_tokenizer) if needs_targets else None
            self._subwords = _subwords(tokenizer, self._target)
            special = special_blocks(tokenizer.block_size)[[MASK, CLS, SEP]].astype(np.int16)
        else:
            assert isinstance(tokenizer, PreTrainedTokenizerFast)
            self._subwords = _whole(tokenizer.backend_tokenizer)
            self._target = None
            special = np.array([[tokenizer.mask_token_id], [tokenizer.cls_token_id], [tokenizer.sep_token_id]])
        self.mask, self._cls, self._sep = special
        ids_of = self._subwords or self._target
        self._id_type = None if ids_of is None else np.min_scalar_type(_size(ids_of) + 1)
        if self._subwords is not None:
            size = _size(self._subwords)
            self.vocabulary = np.arange(size)[:, None]
            if isinstance(tokenizer, VocablessTokenizer):
                tokens = [self._subwords.id_to_token(index) or "" for index in range(size)]
                self.vocabulary = unpack(tokenizer.packed_units(tokens), self._pads, np.int16)
            self._blocks = np.concatenate([self.vocabulary, [self._cls, self._sep]])  # of each stored id
        elif marks_documents:
            raise ValueError(
                "documents are marked in a vocabulary, and these units have none; give --mark_documents false."
            )

    def prepare(self, documents: AnyDataset, num_proc: int | None = None) -> AnyDataset:
        """Returns the packed sequences of documents, which have one column, `text`.

        Those of a memory-mapped corpus are cached on disk by content; `num_proc` processes prepare them.

        Raises:
            ValueError: not one token in the whole corpus.
        """
        if isinstance(documents, IterableDataset):
            return documents.map(self.pack_rows, batched=True, remove_columns=["text"])
        gc.freeze()  # the many lists of a batch would make Python search all imported modules for garbage
        processes = num_proc if num_proc and num_proc > 1 else None  # `datasets` starts a process for 1, too
        options: dict[str, Any] = {"remove_columns": ["text"], "num_proc": processes, "desc": "Packing"}
        if not documents.cache_files:  # a corpus in memory: processes would send its sequences back through pipes
            options["cache_file_name"] = f"{get_temporary_cache_files_directory()}/{uuid4().hex}.arrow"
        sequences = documents.map(self.pack, batched=True, **options)
        if not len(sequences):
            raise ValueError(f"the corpus has {len(documents)} documents but not one token; give files with text.")
        return sequences

    def pack(self, batch: Mapping[str, Sequence[str | None]]) -> pa.Table:
        """Returns the texts of a batch as sequences, all of `max_tokens` tokens but the last one; a row for each."""
        columns = self._tokens([text for text in batch["text"] if text])
        return pa.table(
            {name: _split(tokens, self.max_tokens, self.marks_documents) for name, tokens in columns.items()}
        )

    def pack_rows(self, batch: Mapping[str, Sequence[str | None]]) -> dict[str, list[NDArray[Any]]]:
        """Returns what `pack` returns as lists of arrays, the form that streams need."""
        table = self.pack(batch)
        return {name: [row.values.to_numpy() for row in table[name]] for name in table.column_names}

    def tokens(self, rows: pa.Table) -> tuple[Record, Integers]:
        """Returns the tokens of stored sequences end to end, and the number of tokens of each sequence."""
        columns = {name: rows[name].combine_chunks() for name in rows.column_names}
        tokens = {name: column.flatten().to_numpy() for name, column in columns.items()}
        name = next(iter(columns))
        lengths: Integers = compute.list_value_length(columns[name]).to_numpy()
        if name == "blocks":
            width = self.tokenizer.packed_block_size
            tokens[name], lengths = tokens[name].reshape(-1, width), lengths // width
        return tokens, lengths.astype(np.int64)

    def read(self, tokens: Record) -> tuple[Integers, Integers | None]:
        """Returns the blocks of stored tokens, (n, K), and their target ids, (n,), or None; a mark has no target."""
        if self.vocabulary is not None:
            ids = np.asarray(tokens["input_ids"], np.int64)
            return self._blocks[ids], np.where(ids < len(self.vocabulary), ids, IGNORE_INDEX)
        packed = np.asarray(tokens["blocks"], np.uint8).reshape(-1, self.tokenizer.packed_block_size)
        targets = np.asarray(tokens["targets"], np.int64) if "targets" in tokens else None
        return unpack(packed, self._pads, np.int16), targets

    def with_ends(self, blocks: Integers, labels: Integers, lengths: Integers) -> tuple[Integers, Integers]:
        """Returns blocks and labels of sequences end to end, with special tokens around each, without a label.

        The blocks are (n, K), or (n,) for a stock tokenizer. Where special tokens mark documents, nothing is added.
        """
        if not self.marks_documents:
            ends = np.cumsum(lengths)
            places = np.stack([ends - lengths, ends], axis=1).ravel()  # before and behind each sequence
            blocks = np.insert(blocks, places, [self._cls, self._sep] * len(lengths), axis=0)
            labels = np.insert(labels, places, IGNORE_INDEX)
        return blocks if self.is_ours else blocks[:, 0], labels

    def _tokens(self, texts: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Returns the tokens of all texts end to end: (n, K or K + 1) blocks and (n,) targets, or (n,) ids."""
        if self._subwords is not None:
            encodings = self._subwords.encode_batch(texts, add_special_tokens=False)
            first = _size(self._subwords)
            marks = ([first], [first + 1]) if self.marks_documents else ([], [])
            ids = chain.from_iterable(chain(marks[0], encoding.ids, marks[1]) for encoding in encodings)
            return {"input_ids": np.fromiter(ids, self._id_type)}
        # Most words are frequent: each distinct piece between white space is split once, and taken wherever it occurs.
        splitter, pieces = self.tokenizer.unit_splitter, pa.array(texts, pa.large_string())
        if isinstance(splitter, WordSplitter):  # most pieces become one unit
            pieces = compute.replace_substring_regex(pieces, rf"\b({_SIGN})", r" \1")
            pieces = compute.replace_substring_regex(pieces, rf"({_SIGN})\b", r"\1 ")
        if splitter.splits_at_spaces:
            pieces = compute.utf8_split_whitespace(pieces).flatten()
        pieces = pieces.dictionary_encode()
        units_of = splitter.units_of_batch(pieces.dictionary.to_pylist())
        places = _join_ranges(np.fromiter(map(len, units_of), np.int64, len(units_of)), pieces.indices.to_numpy())
        units = list(chain.from_iterable(units_of))
        columns = {"blocks": self.tokenizer.packed_units(units).take(places, axis=0)}
        if self._target is not None:
            ids_of = _first_pieces(self._target, list(dict.fromkeys(units)))
            targets = np.fromiter(map(ids_of.__getitem__, units), self._id_type, len(units))
            columns["targets"] = targets.take(places)
        return columns


def mix(corpora: Sequence[AnyDataset], weights: Sequence[float] | None, seed: int) -> AnyDataset:
    """Returns prepared corpora as one, with a share of sequences from each, or end to end without weights.

    An epoch ends when one corpus is used up. The seed decides the order in which the corpora take turns.
    """
    if weights is None:
        return concatenate_datasets(list(corpora)) if len(corpora) > 1 else corpora[0]
    shares = [weight / sum(weights) for weight in weights]
    return interleave_datasets(list(corpora), probabilities=shares, seed=seed, stopping_strategy="first_exhausted")


def part_of_process(sequences: IterableDataset, seed: int, rank: int, world_size: int) -> IterableDataset:
    """Returns the sequences of a stream that one of several processes reads, in another order each epoch.

    The files are shuffled, and each next sequence is drawn from a buffer.
    """
    shuffled = sequences.shuffle(seed=seed, buffer_size=SHUFFLE_BUFFER)
    return split_dataset_by_node(shuffled, rank=rank, world_size=world_size) if world_size > 1 else shuffled


def _subwords(tokenizer: VocablessTokenizer, target: Tokenizer | None) -> Tokenizer | None:
    """Returns the subword tokenizer whose ids stand for the units, and for their targets; None if there is none.

    An id stands for one text, except in Unigram, where an unknown character is its own text.
    """
    splitter = tokenizer.unit_splitter
    if not isinstance(splitter, SubwordSplitter) or isinstance(splitter.tokenizer.model, Unigram):
        return None
    subwords: Tokenizer = splitter.tokenizer
    return subwords if target is None or target.get_vocab() == subwords.get_vocab() else None


def _whole(tokenizer: Tokenizer | None) -> Tokenizer | None:
    """Returns a copy of a tokenizer that reads whole texts: many files say that texts are cut and padded."""
    copied = deepcopy(tokenizer)
    if copied is not None:
        copied.no_truncation()
        copied.no_padding()
    return copied


def _join_ranges(lengths: Integers, indices: Integers) -> Integers:
    """Returns the places of the members of groups that stand end to end, for the groups of some indices in turn.

    Example:
        >>> _join_ranges(np.array([2, 1, 3]), np.array([2, 0])).tolist()
        [3, 4, 5, 0, 1]
    """
    starts, chosen = np.cumsum(lengths) - lengths, lengths[indices]
    offsets = starts[indices] - (np.cumsum(chosen) - chosen)  # what to add to 0, 1, … inside each group
    places: Integers = np.arange(chosen.sum()) + np.repeat(offsets, chosen)
    return places


def _first_pieces(target: Tokenizer, units: Sequence[Unit]) -> dict[Unit, int]:
    """Returns unit → id of its first piece; [UNK] for a unit without pieces."""
    unknown = target.token_to_id("[UNK]") or 0
    texts = [unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit for unit in units]
    encodings = target.encode_batch(texts, add_special_tokens=False)
    return {unit: encoding.ids[0] if encoding.ids else unknown for unit, encoding in zip(units, encodings, strict=True)}


def _size(tokenizer: Tokenizer) -> int:
    """Returns the number of rows of a table that holds all ids of a tokenizer."""
    return max(tokenizer.get_vocab().values()) + 1


def _split(tokens: NDArray[Any], max_tokens: int, drops_rest: bool) -> pa.LargeListArray:
    """Cuts one run of tokens into a list for each sequence, without a copy; the last, short one may be dropped."""
    ends = [*range(max_tokens, len(tokens) + 1, max_tokens)]
    if len(tokens) % max_tokens and not (drops_rest and ends):
        ends.append(len(tokens))
    offsets = np.array([0, *ends], np.int64) * (tokens.size // max(1, len(tokens)))
    return pa.LargeListArray.from_arrays(offsets, tokens.reshape(-1))
