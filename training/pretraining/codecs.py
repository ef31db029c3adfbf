"""Codecs: between texts, the tokens that a prepared corpus stores, and the `input_ids` of a model.

`BlockCodec` stores a token as the bytes of its block. `IdCodec` stores a subword as its id, in the smallest integer
type that holds the vocabulary, and looks the blocks up. For the objectives a token of a stock model is a block, too, of
one element. Both have the same attributes and methods:

- `columns`: names of the columns of a prepared corpus: `blocks`, and `targets` if the target ids are stored, too;
- `vocabulary`: (tokens, K) the blocks of all tokens; None without a vocabulary;
- `mask`: (K,) elements of the mask token;
- `pack(texts)`: the tokens of all texts end to end, column → (n, …);
- `unpack(record)`: the blocks of a stored sequence, (n, K), and its target ids, (n,), or None;
- `input_ids(blocks)`: the `input_ids` of a sequence with the special tokens at its ends, (n + 2, K), or (n + 2,) for a
  stock tokenizer.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from vocabless.tokenization.block_coders import CLS, MASK, SEP, Integers, special_blocks
from vocabless.tokenization.splitters import SubwordSplitter, Unit, WhitespaceSplitter, WordSplitter
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer
from vocabless.training.pretraining.fragments import find_fragments, join_ranges

Columns = dict[str, NDArray[Any]]
Record = Mapping[str, bytes]  # a stored sequence: column → the tokens' bytes


class BlockCodec:
    """Codec of a tokenizer of this family. The target of a token is its first piece for the target tokenizer."""

    vocabulary: Integers | None = None

    def __init__(self, tokenizer: VocablessTokenizer, target_tokenizer: Tokenizer | None = None) -> None:
        self.tokenizer = tokenizer
        self.target_tokenizer = target_tokenizer
        self.columns: tuple[str, ...] = ("blocks",)
        if target_tokenizer is not None:
            self.columns += ("targets",)
            self.target_type = smallest_type(target_tokenizer.get_vocab_size())
        self.mask, self._cls, self._sep = special_tokens(tokenizer)

    def pack(self, texts: Sequence[str]) -> Columns:
        """Returns the tokens of all texts, packed, (n, K or K + 1) uint8, and their targets."""
        if self.target_tokenizer is None and not self.tokenizer.splits_at_spaces:
            return {"blocks": self.tokenizer.packed_blocks(texts)[0]}
        units, places = self._distinct_units(texts)
        columns: Columns = {"blocks": self.tokenizer.packed_units(units).take(places, axis=0)}
        if self.target_tokenizer is not None:
            columns["targets"] = self._first_pieces(self.target_tokenizer, units).take(places)
        return columns

    def unpack(self, record: Record) -> tuple[Integers, Integers | None]:
        """Returns blocks and targets, see this module."""
        packed = np.frombuffer(record["blocks"], np.uint8).reshape(-1, self.tokenizer.packed_block_size)
        targets = np.frombuffer(record["targets"], self.target_type).astype(np.int64) if "targets" in record else None
        return self.tokenizer.unpack(packed), targets

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns (n + 2, K), see this module."""
        return np.concatenate([[self._cls], blocks, [self._sep]])

    def _distinct_units(self, texts: Sequence[str]) -> tuple[list[Unit], Integers]:
        """Returns units, each at least once, and where the units of all texts stand among them, (n,).

        Most distinct fragments are one unit and need no splitter. Their units come first, those of all others behind.
        """
        splitter = self.tokenizer.unit_splitter
        try:
            fragments = find_fragments(texts, isinstance(splitter, WordSplitter)) if splitter.splits_at_spaces else None
        except UnicodeEncodeError:  # a lone surrogate
            fragments = None
        if fragments is None:
            units = list(chain.from_iterable(splitter.units_of_batch(texts)))
            index_of = {unit: index for index, unit in enumerate(dict.fromkeys(units))}
            return list(index_of), np.fromiter(map(index_of.__getitem__, units), np.int64, len(units))
        is_unit = fragments.is_ascii & isinstance(splitter, WordSplitter | WhitespaceSplitter)
        single = list(compress(fragments.distinct, is_unit))
        split = [splitter.units(fragments.distinct[i]) for i in np.flatnonzero(~is_unit).tolist()]
        lengths = np.fromiter(map(len, split), np.int64, len(split))
        num_units = np.ones(len(is_unit), np.int64)
        num_units[~is_unit] = lengths
        first_unit = np.empty_like(num_units)
        first_unit[is_unit] = np.arange(len(single))
        first_unit[~is_unit] = len(single) + np.cumsum(lengths) - lengths
        # Each distinct fragment stands for its units at every place where it occurs.
        places = join_ranges(first_unit[fragments.indices], num_units[fragments.indices])
        return [*single, *chain.from_iterable(split)], places

    def _first_pieces(self, target: Tokenizer, units: Sequence[Unit]) -> NDArray[Any]:
        """Returns the id of the first piece of each unit, (n,); [UNK] for a unit without pieces."""
        unknown = target.token_to_id("[UNK]") or 0
        texts = [unit.decode("utf-8", "replace") if isinstance(unit, bytes) else unit for unit in units]
        encodings = target.encode_batch(texts, add_special_tokens=False)
        return np.array([encoding.ids[0] if encoding.ids else unknown for encoding in encodings], self.target_type)


class IdCodec:
    """Codec of a tokenizer with a vocabulary: one of this family that reads subwords, or a stock one.

    A stock one has [CLS], [SEP] and [MASK], or RoBERTa's tokens for them. With `has_targets` the ids are targets, too.
    """

    columns: tuple[str, ...] = ("blocks",)

    def __init__(self, tokenizer: PreTrainedTokenizerFast | VocablessTokenizer, has_targets: bool = False) -> None:
        self.has_targets = has_targets
        self.is_ours = isinstance(tokenizer, VocablessTokenizer)
        self.mask, self._cls, self._sep = special_tokens(tokenizer)
        if isinstance(tokenizer, VocablessTokenizer):
            self._subwords: Tokenizer = tokenizer.unit_splitter.tokenizer  # type: ignore[attr-defined]
        else:
            self._subwords = tokenizer.backend_tokenizer
        size = max(self._subwords.get_vocab().values()) + 1
        self.id_type = smallest_type(size)
        self.vocabulary: Integers = np.arange(size)[:, None]
        if isinstance(tokenizer, VocablessTokenizer):
            tokens = [self._subwords.id_to_token(index) or "" for index in range(size)]
            self.vocabulary = tokenizer.unpack(tokenizer.packed_units(tokens))

    def pack(self, texts: Sequence[str]) -> Columns:
        """Returns the ids of all texts."""
        # U+FFFD for a lone surrogate, which the library refuses.
        texts = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
        encodings = self._subwords.encode_batch(texts, add_special_tokens=False)
        return {"blocks": np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), self.id_type)}

    def unpack(self, record: Record) -> tuple[Integers, Integers | None]:
        """Returns blocks and targets, see this module; K is 1 for a stock tokenizer."""
        ids = np.frombuffer(record["blocks"], self.id_type)
        return self.vocabulary[ids], ids.astype(np.int64) if self.has_targets else None

    def input_ids(self, blocks: Integers) -> Integers:
        """Returns (n + 2, K), or (n + 2,) for a stock tokenizer, see this module."""
        ids = np.concatenate([[self._cls], blocks, [self._sep]])
        return ids if self.is_ours else ids[:, 0]


Codec = BlockCodec | IdCodec


def build_codec(tokenizer: PreTrainedTokenizerBase, needs_targets: bool) -> Codec:
    """Returns the codec of a tokenizer, of this family or a stock one, with target ids if the objective needs them."""
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
    return np.min_scalar_type(size - 1)


def special_tokens(tokenizer: PreTrainedTokenizerBase) -> Integers:
    """Returns the elements of [MASK], [CLS] and [SEP], (3, K); K is 1 for a stock tokenizer."""
    if isinstance(tokenizer, VocablessTokenizer):
        return special_blocks(tokenizer.block_size)[[MASK, CLS, SEP]].astype(np.int64)
    return np.array([[tokenizer.mask_token_id], [tokenizer.cls_token_id], [tokenizer.sep_token_id]])
