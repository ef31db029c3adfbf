"""How corpora store tokens, and how models get them back: as blocks of bytes, whatever the tokenizer.

A stored token is a few bytes: a block of K elements, with its length where blocks are padded. The token of a stock
model is a block, too: of the one number that its vocabulary has for it.
"""

from collections.abc import Sequence
from itertools import chain, compress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from vocabless.tokenization.block_coders import NUM_SPECIAL
from vocabless.tokenization.splitters import SubwordSplitter, WhitespaceSplitter, WordSplitter
from vocabless.tokenization.tokenization_vocabless import CLS, MASK, SEP, VocablessTokenizer
from vocabless.training.pretraining.fragments import fragments
from vocabless.training.texts.sentences import sentences

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Targets = NDArray[np.int32]


class Codec(Protocol):
    """Between texts, stored tokens and a model's inputs.

    Attributes:
        raw_block_size: bytes of a stored token.
        mask: (K,) elements of the mask token.
    """

    raw_block_size: int
    mask: Integers

    def raw_blocks(self, texts: Sequence[str]) -> tuple[Bytes, list[int]]:
        """Returns the stored tokens of all texts end to end, (n, raw_block_size), and how many each sentence has."""
        ...

    def targets(self, texts: Sequence[str]) -> Targets | None:
        """Returns the ids that masked-LM predicts, of the tokens of all texts end to end; None if there are none."""
        ...

    def widen(self, raw: Bytes) -> Integers:
        """Returns the elements, (n, K), of stored tokens."""
        ...

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns what the model takes for a sequence, with the special tokens around its (n, K) elements."""
        ...


class BlockCodec:
    """Of the family's tokenizers.

    Args:
        tokenizer: writes the blocks.
        target_tokenizer: gives each token the id that masked-LM predicts; a token that it splits is predicted by its
            first piece.
    """

    def __init__(self, tokenizer: VocablessTokenizer, target_tokenizer: Tokenizer | None = None) -> None:
        self.tokenizer = tokenizer
        self.target_tokenizer = target_tokenizer
        self.raw_block_size = tokenizer.raw_block_size
        self.mask = special_block(MASK, tokenizer.block_size)
        self._first_pieces: dict[Any, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_first_pieces": {}}

    def raw_blocks(self, texts: Sequence[str]) -> tuple[Bytes, list[int]]:
        """Stores, see `Codec`."""
        if not self.tokenizer.splits_at_spaces:
            return self.tokenizer.raw_blocks(_sentences(texts))
        splitter = self.tokenizer.unit_splitter
        try:
            known, plain, which, last = fragments(texts, runs=isinstance(splitter, WordSplitter))
        except UnicodeEncodeError:  # a lone surrogate
            return self.tokenizer.raw_blocks(_sentences(texts))
        # Each fragment is looked up once; the rest is arithmetic on the places of its units.
        whole = plain & isinstance(splitter, WordSplitter | WhitespaceSplitter)  # those that are one unit
        cut = [splitter.units(known[i]) for i in np.flatnonzero(~whole).tolist()]
        blocks = self.tokenizer.raw_units([*compress(known, whole), *chain.from_iterable(cut)])
        counts = np.ones(len(known), np.int64)
        counts[~whole] = list(map(len, cut))
        order = np.argsort(~whole, kind="stable")  # in which they were looked up
        starts = np.empty_like(counts)
        starts[order] = np.cumsum(counts[order]) - counts[order]
        starts, counts = starts[which], counts[which]
        ends = np.cumsum(counts)
        places = np.arange(len(blocks) and ends[-1]) + np.repeat(starts - ends + counts, counts)
        return blocks.take(places, axis=0), np.diff(ends[last], prepend=0).tolist()

    def targets(self, texts: Sequence[str]) -> Targets | None:
        """Looks up, see `Codec`."""
        if self.target_tokenizer is None:
            return None
        splitter = self.tokenizer.unit_splitter
        if (
            isinstance(splitter, SubwordSplitter)
            and splitter.tokenizer.get_vocab() == self.target_tokenizer.get_vocab()
        ):
            encodings = self.target_tokenizer.encode_batch(_sentences(texts), add_special_tokens=False)
            return np.array([i for encoding in encodings for i in encoding.ids], np.int32)
        units = [unit for sentence in splitter.units_of_batch(_sentences(texts)) for unit in sentence]
        known = self._first_pieces
        new = [unit for unit in dict.fromkeys(units) if unit not in known]
        printed = [unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit for unit in new]
        unknown = self.target_tokenizer.token_to_id("[UNK]") or 0
        encodings = self.target_tokenizer.encode_batch(printed, add_special_tokens=False)
        known.update((u, e.ids[0] if e.ids else unknown) for u, e in zip(new, encodings, strict=True))
        return np.array([known[unit] for unit in units], np.int32)

    def widen(self, raw: Bytes) -> Integers:
        """Reads, see `Codec`."""
        return self.tokenizer.widen(raw)

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns (n + 2, K), see `Codec`."""
        size = blocks.shape[1]
        return np.concatenate([special_block(CLS, size)[None], blocks, special_block(SEP, size)[None]])


class IdCodec:
    """Of stock tokenizers: the id, four bytes, little-endian.

    Args:
        tokenizer: with [CLS], [SEP] and [MASK], or RoBERTa's names of them.
        with_targets: whether the ids are to be predicted.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, with_targets: bool = False) -> None:
        self.tokenizer = tokenizer
        self.with_targets = with_targets
        self.raw_block_size = 4
        self.mask = np.array([tokenizer.mask_token_id])

    def raw_blocks(self, texts: Sequence[str]) -> tuple[Bytes, list[int]]:
        """Stores, see `Codec`."""
        ids, lengths = self._ids(texts)
        return ids.view(np.uint8).reshape(-1, 4), lengths

    def targets(self, texts: Sequence[str]) -> Targets | None:
        """Repeats the ids, see `Codec`."""
        return self._ids(texts)[0] if self.with_targets else None

    def widen(self, raw: Bytes) -> Integers:
        """Reads, see `Codec`."""
        return np.ascontiguousarray(raw).view("<i4").astype(np.int64)

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns (n + 2,), see `Codec`."""
        return np.array([self.tokenizer.cls_token_id, *blocks[:, 0].tolist(), self.tokenizer.sep_token_id])

    def _ids(self, texts: Sequence[str]) -> tuple[Targets, list[int]]:
        encodings = self.tokenizer.backend_tokenizer.encode_batch(_sentences(texts), add_special_tokens=False)
        ids = [encoding.ids for encoding in encodings]
        return np.array([i for row in ids for i in row], "<i4"), [len(row) for row in ids]


def _sentences(texts: Sequence[str]) -> list[str]:
    return [sentence for text in texts for sentence in sentences(text)]


def special_block(special_id: int, block_size: int) -> Integers:
    """Returns the block [id, 0, …, 0] of a special token."""
    assert special_id < NUM_SPECIAL
    return np.array([special_id] + [0] * (block_size - 1), dtype=np.int64)
