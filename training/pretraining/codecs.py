"""Codecs: between texts, the tokens that a prepared corpus stores, and the `input_ids` of a model.

`BlockCodec` stores a token as the bytes of its block. `IdCodec` stores a subword as its id, in the smallest integer
type that holds the vocabulary, and looks the blocks up. For the objectives a token of a stock model is a block, too, of
one element.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, compress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from vocabless.tokenization.block_coders import CLS, MASK, SEP, Bytes, Integers, special_blocks
from vocabless.tokenization.splitters import SubwordSplitter, Unit, WhitespaceSplitter, WordSplitter
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.pretraining.fragments import Fragments, find_fragments, join_ranges

Columns = dict[str, NDArray[Any]]
Record = Mapping[str, bytes]  # a stored sequence: column → the tokens' bytes


class Codec(Protocol):
    """Turns texts into the columns of a prepared corpus, and a stored sequence into blocks.

    Attributes:
        columns: names of the columns: `blocks`, and `targets` if the target ids are stored, too.
        mask: (K,) elements of the mask token.
    """

    columns: tuple[str, ...]
    mask: Integers

    @property
    def vocabulary(self) -> Integers | None:
        """The blocks of all tokens, (tokens, K); None without a vocabulary."""
        ...

    def pack(self, texts: Sequence[str]) -> Columns:
        """Returns the tokens of all texts end to end: column → (n, …)."""
        ...

    def unpack(self, record: Record) -> tuple[Integers, Integers | None]:
        """Returns the blocks, (n, K), and the target ids for masked LM, (n,), or None if the codec has none."""
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
        self.columns: tuple[str, ...] = ("blocks",) if target_tokenizer is None else ("blocks", "targets")
        self.target_type = smallest_type(target_tokenizer.get_vocab_size() if target_tokenizer is not None else 0)
        self.mask = special_block(MASK, tokenizer.block_size)
        self.vocabulary: Integers | None = None
        self._first_pieces: dict[Unit, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_first_pieces": {}}

    def pack(self, texts: Sequence[str]) -> Columns:
        """See `Codec.pack`."""
        columns: Columns = {"blocks": self._packed_blocks(texts)}
        if self.target_tokenizer is not None:
            columns["targets"] = self._targets(self.target_tokenizer, texts)
        return columns

    def unpack(self, record: Record) -> tuple[Integers, Integers | None]:
        """See `Codec.unpack`."""
        packed = np.frombuffer(record["blocks"], np.uint8).reshape(-1, self.tokenizer.packed_block_size)
        targets = np.frombuffer(record["targets"], self.target_type).astype(np.int64) if "targets" in record else None
        return self.tokenizer.unpack(packed), targets

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns (n + 2, K), see `Codec.input_ids`."""
        return with_special_blocks(blocks)

    def _packed_blocks(self, texts: Sequence[str]) -> Bytes:
        """Returns the packed blocks of all texts, (n, K or K + 1) uint8."""
        if not self.tokenizer.splits_at_spaces:
            return self.tokenizer.packed_blocks(texts)[0]
        splits_words = isinstance(self.tokenizer.unit_splitter, WordSplitter)
        try:
            fragments = find_fragments(texts, splits_words)
        except UnicodeEncodeError:  # a lone surrogate
            return self.tokenizer.packed_blocks(texts)[0]
        units, first_unit, num_units = self._distinct_units(fragments)
        blocks = self.tokenizer.packed_units(units)
        # Copy the blocks of each distinct fragment to every place where it occurs.
        places, _ = join_ranges(first_unit[fragments.indices], num_units[fragments.indices])
        return blocks.take(places, axis=0)

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

    def _targets(self, target: Tokenizer, texts: Sequence[str]) -> NDArray[Any]:
        """Returns the id of the first piece of each unit, (n,); [UNK] for a unit without pieces."""
        units = list(chain.from_iterable(self.tokenizer.unit_splitter.units_of_batch(texts)))
        new = [unit for unit in dict.fromkeys(units) if unit not in self._first_pieces]
        unknown = target.token_to_id("[UNK]") or 0
        pieces = [unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit for unit in new]
        encodings = target.encode_batch(pieces, add_special_tokens=False)
        first_ids = [encoding.ids[0] if encoding.ids else unknown for encoding in encodings]
        self._first_pieces.update(zip(new, first_ids, strict=True))
        return np.array([self._first_pieces[unit] for unit in units], self.target_type)


class IdCodec:
    """Codec of a tokenizer with a vocabulary: a stock one, or one of this family that reads subwords.

    Args:
        tokenizer: a stock one has [CLS], [SEP] and [MASK], or RoBERTa's tokens for them.
        has_targets: whether the ids are targets too.
    """

    columns: tuple[str, ...] = ("blocks",)

    def __init__(self, tokenizer: PreTrainedTokenizerFast | VocablessTokenizer, has_targets: bool = False) -> None:
        self.tokenizer = tokenizer
        self.has_targets = has_targets
        self.is_ours = isinstance(tokenizer, VocablessTokenizer)
        if isinstance(tokenizer, VocablessTokenizer):
            self._subwords: Tokenizer = tokenizer.unit_splitter.tokenizer  # type: ignore[attr-defined]
            self.mask = special_block(MASK, tokenizer.block_size)
        else:
            self._subwords = tokenizer.backend_tokenizer
            self.mask = np.array([tokenizer.mask_token_id])
        size = max(self._subwords.get_vocab().values()) + 1
        self.id_type = smallest_type(size)
        self.vocabulary: Integers = np.arange(size)[:, None]
        if isinstance(tokenizer, VocablessTokenizer):
            tokens = [self._subwords.id_to_token(index) or "" for index in range(size)]
            self.vocabulary = tokenizer.unpack(tokenizer.packed_units(tokens))

    def pack(self, texts: Sequence[str]) -> Columns:
        """See `Codec.pack`."""
        # U+FFFD for a lone surrogate, which the library refuses.
        texts = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        encodings = self._subwords.encode_batch(texts, add_special_tokens=False)
        ids = chain.from_iterable(encoding.ids for encoding in encodings)
        return {"blocks": np.fromiter(ids, self.id_type)}

    def unpack(self, record: Record) -> tuple[Integers, Integers | None]:
        """See `Codec.unpack`; K is 1 for a stock tokenizer."""
        ids = np.frombuffer(record["blocks"], self.id_type)
        return self.vocabulary[ids], ids.astype(np.int64) if self.has_targets else None

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns (n + 2, K), or (n + 2,) for a stock tokenizer, see `Codec.input_ids`."""
        if self.is_ours:
            return with_special_blocks(blocks)
        return np.array([self.tokenizer.cls_token_id, *blocks[:, 0].tolist(), self.tokenizer.sep_token_id])


def build_codec(tokenizer: PreTrainedTokenizerBase, needs_targets: bool) -> Codec:
    """Returns the codec of a tokenizer.

    Args:
        tokenizer: of this family, or a stock one.
        needs_targets: whether the objective needs target ids.
    """
    if not isinstance(tokenizer, VocablessTokenizer):
        assert isinstance(tokenizer, PreTrainedTokenizerFast)
        return IdCodec(tokenizer, needs_targets)
    splitter, target = tokenizer.unit_splitter, tokenizer.target_tokenizer if needs_targets else None
    if isinstance(splitter, SubwordSplitter) and not isinstance(splitter.tokenizer.model, Unigram):
        # An id stands for one text, except in Unigram, where an unknown character is its own text.
        if target is None or target.get_vocab() == splitter.tokenizer.get_vocab():
            return IdCodec(tokenizer, needs_targets)
    return BlockCodec(tokenizer, target)


def smallest_type(size: int) -> np.dtype[Any]:
    """Returns the smallest unsigned integer type that holds the ids of `size` tokens.

    >>> [str(smallest_type(size)) for size in (256, 257, 50_265, 70_000)]
    ['uint8', 'uint16', 'uint16', 'uint32']
    """
    return np.min_scalar_type(max(0, size - 1))


def special_block(special_id: int, block_size: int) -> Integers:
    """Returns the block [id, 0, …, 0] of a special token, (block_size,)."""
    block: Integers = special_blocks(block_size)[special_id].astype(np.int64)
    return block


def with_special_blocks(blocks: Integers) -> Integers:
    """Returns blocks, (n, K), between those of [CLS] and [SEP], (n + 2, K)."""
    block_size = blocks.shape[1]
    return np.concatenate([special_block(CLS, block_size)[None], blocks, special_block(SEP, block_size)[None]])
