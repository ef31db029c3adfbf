"""Codecs: between texts, the bytes that a corpus stores, and the `input_ids` of a model.

`BlockCodec` stores a token of this family as the bytes of its block. `IdCodec` stores a token of a stock tokenizer as
four bytes, its id. For the objectives both are blocks: a stock token is a block of one element.
"""

from collections.abc import Sequence
from itertools import chain, compress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from vocabless.tokenization.block_coders import CLS, MASK, SEP, Bytes, Integers, special_blocks
from vocabless.tokenization.splitters import SubwordSplitter, Unit, WhitespaceSplitter, WordSplitter
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.pretraining.fragments import Fragments, find_fragments, join_ranges
from vocabless.training.texts.sentences import sentences

Targets = NDArray[np.int32]
BYTES_OF_AN_ID = 4


class Codec(Protocol):
    """Stores texts as bytes and turns the bytes into a model's inputs.

    Attributes:
        packed_block_size: bytes of a packed token.
        mask: (K,) elements of the mask token.
    """

    packed_block_size: int
    mask: Integers

    def packed_blocks(self, texts: Sequence[str]) -> tuple[Bytes, list[int]]:
        """Returns the packed tokens of all texts, (n, packed_block_size), and the number of tokens of each sentence."""
        ...

    def targets(self, texts: Sequence[str]) -> Targets | None:
        """Returns the target id of each token, (n,), for masked LM; None if the codec has no targets."""
        ...

    def unpack(self, packed: Bytes) -> Integers:
        """Returns the elements, (n, K), of packed tokens."""
        ...

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns the `input_ids` of a sequence: (n, K) elements between the special tokens."""
        ...


class BlockCodec:
    """Codec of a tokenizer of this family.

    Args:
        tokenizer: writes the blocks.
        target_tokenizer: gives the target ids; the target of a token that it splits is the first piece.
    """

    def __init__(self, tokenizer: VocablessTokenizer, target_tokenizer: Tokenizer | None = None) -> None:
        self.tokenizer = tokenizer
        self.target_tokenizer = target_tokenizer
        self.packed_block_size = tokenizer.packed_block_size
        self.mask = special_block(MASK, tokenizer.block_size)
        self._first_pieces: dict[Unit, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_first_pieces": {}}

    def packed_blocks(self, texts: Sequence[str]) -> tuple[Bytes, list[int]]:
        """See `Codec.packed_blocks`."""
        if not self.tokenizer.splits_at_spaces:
            return self.tokenizer.packed_blocks(_all_sentences(texts))
        splits_words = isinstance(self.tokenizer.unit_splitter, WordSplitter)
        try:
            fragments = find_fragments(texts, splits_words)
        except UnicodeEncodeError:  # a lone surrogate
            return self.tokenizer.packed_blocks(_all_sentences(texts))

        units, first_unit, num_units = self._distinct_units(fragments)
        blocks = self.tokenizer.packed_units(units)
        # Copy the blocks of each distinct fragment to every place where it occurs.
        places, ends = join_ranges(first_unit[fragments.indices], num_units[fragments.indices])
        sentence_lengths = np.diff(ends[fragments.ends_sentence], prepend=0)
        return blocks.take(places, axis=0), sentence_lengths.tolist()

    def _distinct_units(self, fragments: Fragments) -> tuple[list[Unit], Integers, Integers]:
        """Returns the units of the distinct fragments, and for each fragment its first unit's index and its length.

        Most fragments are one unit and need no splitter. Their units come first, those of all others behind them.
        """
        splitter = self.tokenizer.unit_splitter
        is_unit = fragments.is_ascii & isinstance(splitter, WordSplitter | WhitespaceSplitter)
        single = list(compress(fragments.distinct, is_unit))
        split = [splitter.units(fragments.distinct[i]) for i in np.flatnonzero(~is_unit).tolist()]
        lengths = np.fromiter(map(len, split), np.int64, len(split))

        num_units = np.ones(len(is_unit), np.int64)
        num_units[~is_unit] = lengths
        first_unit = np.empty_like(num_units)
        first_unit[is_unit] = np.arange(len(single))
        first_unit[~is_unit] = len(single) + np.cumsum(lengths) - lengths
        return [*single, *chain.from_iterable(split)], first_unit, num_units

    def targets(self, texts: Sequence[str]) -> Targets | None:
        """See `Codec.targets`."""
        target = self.target_tokenizer
        if target is None:
            return None
        splitter = self.tokenizer.unit_splitter
        if isinstance(splitter, SubwordSplitter) and splitter.tokenizer.get_vocab() == target.get_vocab():
            encodings = target.encode_batch(_all_sentences(texts), add_special_tokens=False)
            return np.array([i for encoding in encodings for i in encoding.ids], np.int32)
        units = [unit for sentence in splitter.units_of_batch(_all_sentences(texts)) for unit in sentence]
        self._add_first_pieces(target, [unit for unit in dict.fromkeys(units) if unit not in self._first_pieces])
        return np.array([self._first_pieces[unit] for unit in units], np.int32)

    def _add_first_pieces(self, target: Tokenizer, units: list[Unit]) -> None:
        """Remembers the id of the first piece of each unit; [UNK] for a unit without pieces."""
        unknown = target.token_to_id("[UNK]") or 0
        texts = [unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit for unit in units]
        encodings = target.encode_batch(texts, add_special_tokens=False)
        first_ids = [encoding.ids[0] if encoding.ids else unknown for encoding in encodings]
        self._first_pieces.update(zip(units, first_ids, strict=True))

    def unpack(self, packed: Bytes) -> Integers:
        """See `Codec.unpack`."""
        return self.tokenizer.unpack(packed)

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns (n + 2, K), see `Codec.input_ids`."""
        block_size = blocks.shape[1]
        return np.concatenate([special_block(CLS, block_size)[None], blocks, special_block(SEP, block_size)[None]])


class IdCodec:
    """Codec of a stock tokenizer: a packed token is its id, four bytes, little-endian.

    Args:
        tokenizer: has [CLS], [SEP] and [MASK], or RoBERTa's tokens for them.
        has_targets: whether the ids are targets too.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, has_targets: bool = False) -> None:
        self.tokenizer = tokenizer
        self.has_targets = has_targets
        self.packed_block_size = BYTES_OF_AN_ID
        self.mask = np.array([tokenizer.mask_token_id])

    def packed_blocks(self, texts: Sequence[str]) -> tuple[Bytes, list[int]]:
        """See `Codec.packed_blocks`."""
        ids, lengths = self._encode(texts)
        return ids.view(np.uint8).reshape(-1, BYTES_OF_AN_ID), lengths

    def targets(self, texts: Sequence[str]) -> Targets | None:
        """Returns the ids themselves, see `Codec.targets`."""
        return self._encode(texts)[0] if self.has_targets else None

    def unpack(self, packed: Bytes) -> Integers:
        """Returns (n, 1), see `Codec.unpack`."""
        return np.ascontiguousarray(packed).view("<i4").astype(np.int64)

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns (n + 2,), see `Codec.input_ids`."""
        return np.array([self.tokenizer.cls_token_id, *blocks[:, 0].tolist(), self.tokenizer.sep_token_id])

    def _encode(self, texts: Sequence[str]) -> tuple[Targets, list[int]]:
        """Returns the ids of all texts end to end, (n,), and the tokens of each sentence."""
        encodings = self.tokenizer.backend_tokenizer.encode_batch(_all_sentences(texts), add_special_tokens=False)
        ids = [encoding.ids for encoding in encodings]
        return np.array(list(chain.from_iterable(ids)), "<i4"), list(map(len, ids))


def build_codec(tokenizer: PreTrainedTokenizerBase, needs_targets: bool) -> Codec:
    """Returns the codec of a tokenizer.

    Args:
        tokenizer: of this family, or a stock one.
        needs_targets: whether the objective needs target ids.
    """
    if isinstance(tokenizer, VocablessTokenizer):
        return BlockCodec(tokenizer, tokenizer.target_tokenizer if needs_targets else None)
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    return IdCodec(tokenizer, needs_targets)


def special_block(special_id: int, block_size: int) -> Integers:
    """Returns the block [id, 0, …, 0] of a special token, (block_size,)."""
    block: Integers = special_blocks(block_size)[special_id].astype(np.int64)
    return block


def _all_sentences(texts: Sequence[str]) -> list[str]:
    return [sentence for text in texts for sentence in sentences(text)]
