"""`VocablessTokenizer`: text → blocks of K bytes, with the interface of a Hugging Face tokenizer.

A splitter cuts a text into units, and a block coder writes each unit as a block; a bounded cache keeps the blocks of
units seen before. `input_ids` is (batch, sequence, K): elements 0–4 are [PAD], [UNK], [CLS], [SEP], [MASK], and byte
value b is element b + 5. Special tokens are blocks [id, 0, …, 0]; padding is 0. "[MASK]" in a text is the mask token;
no text can spell one of the other four.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from tokenizers import AddedToken, Tokenizer
from transformers.tokenization_utils_base import BatchEncoding, PreTrainedTokenizerBase, TruncationStrategy
from transformers.utils.generic import PaddingStrategy

from .batches import (
    RowPadding,
    as_batch,
    is_requested,
    pad_columns,
    padded_width,
    requested_arrays,
    to_lists,
    to_tensors,
    write_rows,
)
from .block_cache import BlockCache
from .block_coders import CODERS, MASK, NUM_SPECIAL, PAD, BlockCoder, Bytes, Integers, special_blocks, unpack
from .block_encodings import BlockEncodings
from .components import check_special_tokens, check_types, read_ngrams, read_subword, subword_of
from .given_blocks import as_blocks, as_columns, depth
from .library_lengths import LibraryTokenizer
from .options import build
from .piece_coders import PIECE_CODERS
from .splitters import BYTE_NAMES, MASK_UNIT, SPLITTERS, MaskSplitter, Splitter, Unit, to_text
from .truncation import rows_of_samples

# `__call__` leaves calls with these arguments to the library's `__call__`.
_RARE_ARGUMENTS = frozenset(("text_target", "text_pair_target", "max_target_length", "tokenizer_kwargs"))
_LENGTH_ARGUMENTS = frozenset(("padding", "truncation", "max_length"))
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")  # their ids are 0–4


class VocablessTokenizer(LibraryTokenizer):
    """A tokenizer without a vocabulary.

    Args:
        splitter: `word`, `scripts`, `whitespace`, `bytes` or `subword`.
        coder: `md5`, `lsh`, `lsh-index`, `utf8`, or the HashFormers authors' `lsh-pieces` or `lsh-index-pieces`.
        splitter_options: keyword arguments of the splitter, for instance `{"lowercase": True}`.
        coder_options: keyword arguments of the coder, for instance `{"num_bits": 128}`.
        subword_file: the `tokenizer.json` whose tokens are the units of `subword`, or that the last two coders read.
        ngrams_file: for `lsh` and `lsh-index`: a JSON list of the n-grams that have a feature; None: all n-grams.
        target_file: for masked LM: the `tokenizer.json` whose tokens the head predicts; None: those that are units.
        kwargs: arguments of every Hugging Face tokenizer. With `split_special_tokens=True`, here or in a call, "[MASK]"
            in a text is text too.

    Attributes:
        unit_splitter: the splitter.
        block_size: K, bytes in a block.

    Raises:
        ValueError: unknown splitter or coder, unknown or wrong options, more special tokens, a missing file.

    Example:
        >>> tokenizer = VocablessTokenizer(splitter="word", coder="utf8", coder_options={"block_size": 3})
        >>> tokenizer("as is")["input_ids"]
        [[2, 0, 0], [102, 120, 0], [110, 120, 0], [3, 0, 0]]
    """

    vocab_files_names = {f"{name}_file": f"{name}.json" for name in ("subword", "ngrams", "target")}  # noqa: RUF012
    model_input_names = ["input_ids", "token_type_ids", "attention_mask"]  # noqa: RUF012
    is_fast = True  # calls can return offsets and word ids
    _auto_class = "AutoTokenizer"

    def __init__(
        self,
        splitter: str = "word",
        coder: str = "md5",
        splitter_options: dict[str, Any] | None = None,
        coder_options: dict[str, Any] | None = None,
        subword_file: str | os.PathLike[str] | None = None,
        ngrams_file: str | os.PathLike[str] | None = None,
        target_file: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        check_types(splitter_options, coder_options, kwargs.get("model_max_length"))
        self.splitter, self.coder = splitter, coder
        self.splitter_options, self.coder_options = dict(splitter_options or {}), dict(coder_options or {})
        for role, name in zip(ROLES, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), strict=True):
            kwargs.setdefault(role, name)
        kwargs.pop("added_tokens_decoder", None)  # saved for other tools; here the ids are fixed
        kwargs.pop("auto_map", None)  # always the code in the same folder, never another repository's
        check_special_tokens(kwargs, [str(kwargs[role]) for role in ROLES])
        super().__init__(  # type: ignore[no-untyped-call]
            splitter=splitter,
            coder=coder,
            splitter_options=self.splitter_options,
            coder_options=self.coder_options,
            **kwargs,
        )
        self._ngrams = read_ngrams(ngrams_file)
        self._subword = subword_of(splitter, coder, subword_file)
        self._target = None if target_file is None else read_subword(target_file)
        subword = {"tokenizer": self._subword}
        options = self.splitter_options | (subword if splitter == "subword" else {})
        self.unit_splitter: Splitter = build("splitter", SPLITTERS, splitter, options)
        files = {"ngrams": self._ngrams} | (subword if coder in (*PIECE_CODERS,) else {})
        self._coder: BlockCoder = build("coder", CODERS | PIECE_CODERS, coder, self.coder_options | files)
        self.block_size = self._coder.block_size
        # Caches of elements, for calls, and one of packed blocks, for corpora, which have no special tokens.
        self._mask_splitter = MaskSplitter(self.unit_splitter, str(self.mask_token))
        self._cache = self._new_cache(self._mask_splitter)
        self._unmasked_cache = self._new_cache(self.unit_splitter)
        no_blocks = np.empty((0, self.packed_block_size), dtype=np.uint8)
        self._packed_cache = BlockCache(self.unit_splitter, self._coder.encode, no_blocks)

    def _new_cache(self, splitter: Splitter) -> BlockCache:
        return BlockCache(splitter, self._coder.elements, special_blocks(self.block_size), {MASK_UNIT: MASK})

    @property
    def target_tokenizer(self) -> Tokenizer | None:
        """The tokenizer whose tokens masked LM predicts: of `target_file`, else that whose tokens are units."""
        return (self._subword if self.splitter == "subword" else None) if self._target is None else self._target

    # -- Corpora -----------------------------------------------------------------------------------------------------

    def packed_units(self, units: Sequence[Unit]) -> Bytes:
        """Returns units as corpora store them, (units, K or K + 1) uint8; `unpack` returns their elements.

        A packed unit is K bytes, or K + 1 with its length last where the coder pads.
        """
        return self._packed_cache.as_array(self._packed_cache.look_up_units(units))

    def unpack(self, packed: Bytes) -> Integers:
        """Returns the elements, (…, K) int64, of packed blocks."""
        return unpack(packed, self._coder.pads)

    @property
    def packed_block_size(self) -> int:
        """Bytes of a packed unit: K, or K + 1 where the coder pads."""
        return self._coder.block_size + self._coder.pads

    # -- Text → blocks -----------------------------------------------------------------------------------------------

    def __call__(self, text: Any = None, text_pair: Any = None, *others: Any, **options: Any) -> BatchEncoding:
        """Encodes a text, a pair or a batch of either; takes the arguments of every Hugging Face tokenizer.

        Calls `_encode_plus` directly: the library's `__call__` would take a fifth of the time of a sentence.
        """
        options = self.with_defaults(options)
        if text is None or others or not _RARE_ARGUMENTS.isdisjoint(options):
            return cast(BatchEncoding, super().__call__(text, text_pair, *others, **options))
        if not _LENGTH_ARGUMENTS.isdisjoint(options):
            names = ("padding_strategy", "truncation_strategy", "max_length")
            strategies = self._get_padding_truncation_strategies(**options)  # type: ignore[no-untyped-call]
            options.update(zip(names, strategies, strict=False))
        return self._encode_plus(text, text_pair, **options)

    __call__.__wrapped__ = PreTrainedTokenizerBase.__call__  # type: ignore[attr-defined]  # for inspect.signature

    def _encode_plus(  # type: ignore[override]
        self,
        text: Any,
        text_pair: Any = None,
        *,
        add_special_tokens: bool = True,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_overflowing_tokens: bool = False,
        verbose: bool = True,
        warns_of_cuts: bool = False,
        **flags: Any,
    ) -> BatchEncoding:
        """Encodes a text, a pair or a batch of either; `flags` are the arguments `return_…` of the library."""
        texts, pairs, is_batch = as_batch(text, text_pair, is_split_into_words)
        sequences = [texts] if pairs is None else [texts, pairs]
        names, splits_masks = self._special_names, flags.get("split_special_tokens", self.split_special_tokens)
        if names[MASK] != self._mask_splitter.mask:  # it was renamed
            self._mask_splitter = MaskSplitter(self.unit_splitter, names[MASK])
            self._cache = self._new_cache(self._mask_splitter)
        cache = self._unmasked_cache if splits_masks else self._cache
        size, look_up = cache.block_bytes, cache.look_up_words if is_split_into_words else cache.look_up
        blocks = look_up(texts)
        samples: list[Any] = list(zip(blocks)) if pairs is None else list(zip(blocks, look_up(pairs), strict=True))

        max_units = sys.maxsize
        if truncation_strategy != TruncationStrategy.DO_NOT_TRUNCATE and max_length is not None:
            max_units = max_length - add_special_tokens * self.num_special_tokens_to_add(pairs is not None)
        limits = max_units, truncation_strategy, self.truncation_side, stride, return_overflowing_tokens
        rows, is_cut = rows_of_samples(([len(part) // size for part in sample] for sample in samples), *limits)
        if is_cut and warns_of_cuts:
            self.warn_of_cut(max_length)
        parts, counts = write_rows(samples, rows, size, cache.special if add_special_tokens else None)
        lengths = counts if pairs is None else list(map(sum, zip(counts[::2], counts[1::2], strict=True)))
        longest = max(lengths, default=0)
        if max_units == sys.maxsize and longest > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(cast(Any, range(longest)), max_length, verbose)

        width = padded_width(lengths, padding_strategy, max_length, pad_to_multiple_of)
        padding = RowPadding(lengths, width, padding_side or self.padding_side)
        type_ids = np.repeat(np.arange(len(counts)) % 2, counts) if pairs else None  # 1 in the second sequences
        encodings = BlockEncodings(cache.splitter, sequences, rows, padding, names, add_special_tokens)
        data = requested_arrays(cache.as_array(parts), type_ids, padding, encodings, self.model_input_names, flags)
        if return_overflowing_tokens:
            data["overflow_to_sample_mapping"] = np.array([sample for sample, _ in rows], dtype=np.int64)

        batch = BatchEncoding(None, cast(Any, encodings), n_sequences=len(sequences))
        has_rows = is_batch or return_overflowing_tokens
        batch.data = to_tensors(data, return_tensors) if return_tensors else to_lists(data, has_rows)
        return batch

    # -- Padding -----------------------------------------------------------------------------------------------------

    def pad(  # type: ignore[override]
        self,
        encoded_inputs: Any,
        padding: bool | str | PaddingStrategy = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: Any = None,
        verbose: bool = True,
    ) -> BatchEncoding:
        """Pads encodings, a mapping of names to rows or a list of mappings, one for each row, to one length.

        Names that are not in `PAD_VALUES` stay as they are.

        Raises:
            ValueError: no `input_ids`, blocks of another size, or rows that differ in length.
        """
        strategy, _, max_length, _ = self._get_padding_truncation_strategies(  # type: ignore[no-untyped-call]
            padding=padding, max_length=max_length, verbose=verbose
        )
        columns, is_batch = as_columns(encoded_inputs, self.block_size)
        lengths = [len(row) for row in columns["input_ids"]]
        if is_requested("attention_mask", return_attention_mask, self.model_input_names):
            columns.setdefault("attention_mask", [np.ones(length, dtype=np.int64) for length in lengths])
        width = padded_width(lengths, strategy, max_length, pad_to_multiple_of)
        arrays = pad_columns(columns, RowPadding(lengths, width, padding_side or self.padding_side))
        if return_tensors is None:
            return BatchEncoding(to_lists(arrays, is_batch))
        tensors = to_tensors(arrays, return_tensors)
        return BatchEncoding(tensors if is_batch else {name: rows[0] for name, rows in tensors.items()})

    # -- Blocks → text -----------------------------------------------------------------------------------------------

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> str | list[str]:
        """Returns the text of blocks (S, K), or the texts of a batch (B, S, K).

        Units are joined by the splitter's separator. A unit that was cut at K bytes stays cut.

        Raises:
            NotImplementedError: the coder is a hash, which has no inverse.
            ValueError: the blocks have another K.
        """
        if depth(token_ids) > 2 and len(token_ids):
            return [cast(str, self.decode(row, skip_special_tokens)) for row in token_ids]
        blocks = as_blocks(token_ids, self.block_size)
        pieces = [self._unit(block) for block in blocks if block[0] >= NUM_SPECIAL or not skip_special_tokens]
        decoder = self._subword.decoder if self._subword is not None and self.splitter == "subword" else None
        if decoder is not None:
            return cast(str, decoder.decode([to_text(piece) for piece in pieces]))
        return to_text(self.unit_splitter.separator.encode("utf-8").join(pieces))

    def _unit(self, block: Integers) -> bytes:
        """Returns the bytes of a block's unit, or the name of a special token."""
        if block[0] < NUM_SPECIAL:
            return self._special_names[int(block[0])].encode("utf-8")
        return self._coder.decode((block[block >= NUM_SPECIAL] - NUM_SPECIAL).astype(np.uint8).tobytes())

    # -- Tokens, ids and the five special tokens ---------------------------------------------------------------------

    def tokenize(  # type: ignore[override]
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Returns the units of a text, normalised, as strings."""
        return self(text, pair, add_special_tokens=add_special_tokens, **kwargs).tokens()

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Returns the id, 0–4, of a special token, or the block, K elements, of any other token; a list for a list."""
        if not isinstance(tokens, str):
            return None if tokens is None else [self.convert_tokens_to_ids(token) for token in tokens]
        names = self._special_names
        if tokens in names:
            return names.index(tokens)
        return self._cache.as_array(self._cache.look_up_units([tokens]))[0].tolist()

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Returns the name of an element, see `get_vocab`, or the unit of a block; a list for a list."""
        if np.ndim(ids) == 0:
            return [*self._special_names, *BYTE_NAMES][int(ids)]
        if depth(ids) == 1 and len(ids) == self.block_size and (ids[0] >= NUM_SPECIAL or not any(ids[1:])):
            return to_text(self._unit(as_blocks(ids, self.block_size)[0]))
        kept = [row for row in ids if not skip_special_tokens or np.ravel(row)[0] >= NUM_SPECIAL]
        return [self.convert_ids_to_tokens(row) for row in kept]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Joins units with the splitter's separator."""
        return self.unit_splitter.separator.join(tokens)

    def get_special_tokens_mask(  # type: ignore[override]
        self, token_ids_0: Any, token_ids_1: Any = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Returns 1 for each special token or padding and 0 for each unit.

        The blocks are a row if `already_has_special_tokens`, else one or two sequences, which become a row.
        """
        if already_has_special_tokens:
            return cast(list[int], (as_blocks(token_ids_0, self.block_size)[:, 0] < NUM_SPECIAL).astype(int).tolist())
        second = [] if token_ids_1 is None else [0] * len(token_ids_1) + [1]
        return [1] + [0] * len(token_ids_0) + [1, *second]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Returns 2 for a text, [CLS] a [SEP], or 3 for a pair, [CLS] a [SEP] b [SEP]."""
        return 3 if pair else 2

    def add_special_tokens(self, special_tokens_dict: Any, *args: Any, **kwargs: Any) -> int:
        """Renames special tokens: role, such as `mask_token`, → name. Refuses new ones before anything changes."""
        check_special_tokens(special_tokens_dict, [str(special_tokens_dict.get(role, "")) for role in ROLES])
        return super().add_special_tokens(special_tokens_dict, *args, **kwargs)

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken], special_tokens: bool = False) -> int:
        check_special_tokens({"tokens": [*new_tokens]}, self._special_names)
        return 0

    @property
    def vocab_size(self) -> int:
        """Number of values of an element, 261: 5 special ids and 256 bytes. There is no vocabulary."""
        return NUM_SPECIAL + 256

    def __len__(self) -> int:
        return self.vocab_size

    def get_vocab(self) -> dict[str, int]:
        """Returns the values of an element by name: the special tokens, then the bytes, "<0x00>" to "<0xFF>"."""
        return {name: index for index, name in enumerate([*self._special_names, *BYTE_NAMES])}

    def get_added_vocab(self) -> dict[str, int]:
        """Returns the ids of the special tokens; no other token has one id."""
        return {name: index for index, name in enumerate(self._special_names)}

    added_tokens_encoder = property(get_added_vocab)

    @property
    def all_special_tokens(self) -> list[str]:
        """The names of the special tokens, by id."""
        return self._special_names

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The special tokens by id."""
        return {index: AddedToken(name, special=True) for index, name in enumerate(self._special_names)}

    @property
    def pad_token_id(self) -> int:
        """Id of [PAD], 0. Calls that pad read it, and the library's own property takes 2 µs more."""
        return PAD

    @property
    def _special_names(self) -> list[str]:
        return [str(self._special_tokens_map[role]) for role in ROLES]

    # -- Saving ------------------------------------------------------------------------------------------------------

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Writes those of `subword.json`, `target.json` and `ngrams.json` that the tokenizer has; returns the paths."""
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        files = []
        for name, tokenizer in (("subword_file", self._subword), ("target_file", self._target)):
            if tokenizer is not None:
                files.append(os.path.join(save_directory, prefix + self.vocab_files_names[name]))
                tokenizer.save(files[-1])
        if self._ngrams is not None:
            files.append(os.path.join(save_directory, prefix + self.vocab_files_names["ngrams_file"]))
            Path(files[-1]).write_text(json.dumps(self._ngrams, ensure_ascii=False), encoding="utf-8")
        return tuple(files)
