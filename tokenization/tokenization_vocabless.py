"""`VocablessTokenizer`: text → blocks of K bytes, with the face of any Hugging Face tokenizer.

A splitter cuts a text into units, a block coder writes each unit as a block; a unit that was seen before is looked up in
a bounded cache. `input_ids` is (batch, sequence, K): elements 0–4 are [PAD], [UNK], [CLS], [SEP], [MASK], byte value b is
element b + 5, so no text can spell a special token. A special token is the block [id, 0, …, 0], padding is all 0.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers.tokenization_utils_base import (
    AddedToken,
    BatchEncoding,
    PaddingStrategy,
    PreTrainedTokenizerBase,
    TruncationStrategy,
)

from .block_coders import CODERS, NUM_SPECIAL, BlockCoder, Bytes, Integers, narrow, widen
from .block_encodings import BlockEncoding, Source
from .splitters import SPLITTERS, Splitter, SubwordSplitter, Unit

ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")  # their ids are 0–4
PAD, UNK, CLS, SEP, MASK = range(NUM_SPECIAL)
MAX_CACHED_UNITS = int(os.environ.get("VOCABLESS_CACHED_UNITS", 1 << 18))

# Padding of each name that `pad` knows; others are left as they are.
_PAD_VALUES = {"input_ids": PAD, "attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1}


class BlockCache:
    """Blocks of the units seen so far, at most `MAX_CACHED_UNITS`; never saved, pickled or shared.

    Args:
        splitter: normalises a unit.
        coder: writes its block.
    """

    def __init__(self, splitter: Splitter, coder: BlockCoder) -> None:
        self._splitter, self._coder = splitter, coder
        self._lock = Lock()
        self._clear()

    def blocks(self, units: Sequence[Unit]) -> NDArray[np.uint16]:
        """Returns the elements of each unit's block, (n, K) uint16, values 0–260."""
        with self._lock:
            rows = np.fromiter(map(self._rows.__getitem__, units), dtype=np.intp, count=len(units))
            if self._rows.unseen:
                self._code_unseen()
            blocks = self._table[rows]
            if len(self._rows) > MAX_CACHED_UNITS:
                self._clear()
        return blocks

    def _clear(self) -> None:
        self._rows = _Rows()
        self._table = np.empty((0, self._coder.block_size), dtype=np.uint16)

    def _code_unseen(self) -> None:
        raw, lengths = self._coder.encode([self._splitter.normalize(unit) for unit in self._rows.unseen])
        new = raw.astype(np.uint16) + NUM_SPECIAL
        if self._coder.pads:
            new[np.arange(new.shape[1]) >= lengths[:, None]] = PAD
        used = len(self._rows) - len(new)
        if len(self._table) < len(self._rows):
            grown = np.empty((2 * len(self._rows), new.shape[1]), dtype=np.uint16)
            grown[:used] = self._table[:used]
            self._table = grown
        self._table[used : used + len(new)] = new
        self._rows.unseen.clear()


class VocablessTokenizer(PreTrainedTokenizerBase):
    """A tokenizer without a vocabulary.

    Args:
        splitter: `word`, `whitespace`, `characters`, `bytes` or `subword`.
        coder: `md5`, `lsh`, `lsh-index` or `utf8`.
        splitter_options: keyword arguments of the splitter, for instance `{"lowercase": True}`.
        coder_options: keyword arguments of the coder, for instance `{"num_bits": 128}`.
        subword_file: for `subword`: the `tokenizer.json` of the `tokenizers` library whose tokens are the units.
        ngrams_file: for `lsh` and `lsh-index`: a JSON list of the n-grams that have a feature; without it they are hashed.

    Raises:
        ValueError: unknown splitter or coder, unknown options, a missing file.

    Example:
        >>> tokenizer = VocablessTokenizer(splitter="word", coder="utf8", coder_options={"block_size": 3})
        >>> tokenizer("as is")["input_ids"]
        [[2, 0, 0], [102, 120, 0], [110, 120, 0], [3, 0, 0]]
    """

    vocab_files_names = {"subword_file": "subword.json", "ngrams_file": "ngrams.json"}  # noqa: RUF012
    model_input_names = ["input_ids", "token_type_ids", "attention_mask"]  # noqa: RUF012
    is_fast = True  # offsets and words are known
    _auto_class = "AutoTokenizer"

    def __init__(
        self,
        splitter: str = "word",
        coder: str = "md5",
        splitter_options: dict[str, Any] | None = None,
        coder_options: dict[str, Any] | None = None,
        subword_file: str | os.PathLike[str] | None = None,
        ngrams_file: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.splitter, self.coder = splitter, coder
        self.splitter_options, self.coder_options = dict(splitter_options or {}), dict(coder_options or {})
        for role, name in zip(ROLES, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), strict=True):
            kwargs.setdefault(role, name)
        kwargs.pop("added_tokens_decoder", None)  # written for other tools; ids are fixed here
        super().__init__(
            splitter=splitter,
            coder=coder,
            splitter_options=self.splitter_options,
            coder_options=self.coder_options,
            **kwargs,
        )
        given: dict[str, Any] = {}
        if splitter == "subword":
            given = {"tokenizer": _read_subword(subword_file)}
        self._splitter = _build("splitter", SPLITTERS, splitter, {**self.splitter_options, **given})
        self._ngrams = None if ngrams_file is None else json.loads(Path(ngrams_file).read_text(encoding="utf-8"))
        given = {} if self._ngrams is None else {"ngrams": self._ngrams}
        self._coder = _build("coder", CODERS, coder, {**self.coder_options, **given})
        self._cache = BlockCache(self._splitter, self._coder)

    @property
    def block_size(self) -> int:
        """K, bytes in a block."""
        return self._coder.block_size

    # -- Corpora ------------------------------------------------------------------------------------------------------

    def raw_blocks(self, texts: Sequence[str]) -> list[Bytes]:
        """Returns each text as stored: (units, K) uint8 without special tokens, or (units, K + 1) with the length last.

        `widen` turns them into `input_ids`.
        """
        batch = self._splitter.units_of_batch(texts)
        raw = narrow(self._cache.blocks([unit for units in batch for unit in units]), self._coder.pads)
        return np.split(raw, np.cumsum([len(units) for units in batch])[:-1]) if batch else []

    def widen(self, raw: Bytes) -> Integers:
        """Returns the elements, (…, K) int64, of stored blocks."""
        return widen(raw, self._coder.pads)

    @property
    def raw_block_size(self) -> int:
        """Bytes that a stored token takes: K, or K + 1 where blocks are padded."""
        return self.block_size + self._coder.pads

    # -- Text → blocks ------------------------------------------------------------------------------------------------

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
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        **kwargs: Any,
    ) -> BatchEncoding:
        texts, pairs, is_batch = _as_batch(text, text_pair, is_split_into_words)
        sources = self._sources(texts, is_split_into_words)
        second = None if pairs is None else self._sources(pairs, is_split_into_words)
        names = self._special_names if add_special_tokens else None
        truncates = truncation_strategy != TruncationStrategy.DO_NOT_TRUNCATE
        num_special = self.num_special_tokens_to_add(pair=second is not None) if add_special_tokens else 0

        rows: list[BlockEncoding] = []
        samples: list[int] = []
        for sample, source in enumerate(sources):
            both = [source] if second is None else [source, second[sample]]
            lengths = [len(s.units) for s in both]
            if truncates and max_length is not None and sum(lengths) + num_special > max_length:
                windows = _windows(
                    lengths,
                    max_length - num_special,
                    truncation_strategy,
                    stride,
                    self.truncation_side,
                    return_overflowing_tokens,
                )
            else:
                windows = [[(0, length) for length in lengths]]
            rows += [BlockEncoding(both, ranges, names) for ranges in windows]
            samples += [sample] * len(windows)

        lengths = [sum(stop - start for start, stop in row.ranges) + num_special for row in rows]
        if not truncates and lengths:
            self._eventual_warn_about_too_long_sequence(cast(Any, range(max(lengths))), max_length, verbose)
        width = _padded_width(lengths, padding_strategy, max_length, pad_to_multiple_of)
        pads = padding_strategy != PaddingStrategy.DO_NOT_PAD
        arrays = self._assemble(rows, lengths, width, padding_side or self.padding_side, add_special_tokens, pads)

        wanted = {"input_ids": True, "token_type_ids": return_token_type_ids, "attention_mask": return_attention_mask}
        data: dict[str, Any] = {
            name: arrays[name]
            for name, want in wanted.items()
            if want or (want is None and name in self.model_input_names)
        }
        if return_special_tokens_mask:
            data["special_tokens_mask"] = [np.array(row.special_tokens_mask) for row in rows]
        if return_offsets_mapping:
            data["offset_mapping"] = [np.array(row.offsets).reshape(-1, 2) for row in rows]
        if return_length:
            data["length"] = [np.array(len(row)) for row in rows]
        if return_overflowing_tokens:
            data["overflow_to_sample_mapping"] = [np.array(sample) for sample in samples]
        return self._finish(data, rows, return_tensors, is_batch=is_batch or return_overflowing_tokens)

    def _sources(self, texts: Sequence[Any], is_split_into_words: bool) -> list[Source]:
        if is_split_into_words:
            return [Source(self._splitter, words) for words in texts]
        batch = self._splitter.units_of_batch(texts)
        return [Source(self._splitter, text, units) for text, units in zip(texts, batch, strict=True)]

    def _assemble(
        self,
        rows: Sequence[BlockEncoding],
        lengths: Sequence[int],
        width: int,
        side: str,
        add_special_tokens: bool,
        pads: bool,
    ) -> dict[str, Any]:
        """Returns arrays (rows, width[, K]) int64, or lists of unpadded arrays where rows differ and `pads` is false."""
        blocks = self._cache.blocks([unit for row in rows for unit in row.units])
        input_ids = np.zeros((len(rows), width, self.block_size), dtype=np.int64)
        types = np.zeros((len(rows), width), dtype=np.int64)
        mask = np.zeros((len(rows), width), dtype=np.int64)
        taken = 0
        begins = []
        for index, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            at = width - length if side == "left" else 0
            begins.append(at)
            if pads:
                row.left_padding, row.right_padding = at, width - length - at
            mask[index, at : at + length] = 1
            if add_special_tokens:
                input_ids[index, at, 0] = CLS
                at += 1
            for sequence, (start, stop) in enumerate(row.ranges):
                count = stop - start
                input_ids[index, at : at + count] = blocks[taken : taken + count]
                end = at + count + add_special_tokens
                if add_special_tokens:
                    input_ids[index, end - 1, 0] = SEP
                if sequence:
                    types[index, at:end] = 1
                at, taken = end, taken + count
        arrays = {"input_ids": input_ids, "token_type_ids": types, "attention_mask": mask}
        if pads or len(set(lengths)) <= 1:
            return arrays
        cuts = [slice(at, at + length) for at, length in zip(begins, lengths, strict=True)]
        return {name: [row[cut] for row, cut in zip(array, cuts, strict=True)] for name, array in arrays.items()}

    def _finish(
        self, data: dict[str, Any], rows: list[BlockEncoding] | None, return_tensors: Any, *, is_batch: bool
    ) -> BatchEncoding:
        if return_tensors is None:
            lists = {
                name: values.tolist() if isinstance(values, np.ndarray) else [_to_list(v) for v in values]
                for name, values in data.items()
            }
            if rows is not None and "offset_mapping" in lists:
                lists["offset_mapping"] = [[tuple(span) for span in row] for row in lists["offset_mapping"]]
            return BatchEncoding(lists if is_batch else {name: v[0] for name, v in lists.items()}, cast(Any, rows))
        for name, values in data.items():
            if not isinstance(values, np.ndarray):
                if len({np.shape(value) for value in values}) > 1:
                    raise ValueError(
                        f"tensors were asked for, but the rows of {name} have lengths "
                        f"{sorted({len(value) for value in values})}; give padding=True, and truncation=True if needed."
                    )
                data[name] = np.stack(values) if len(values) else np.zeros(0, dtype=np.int64)
        kind = getattr(return_tensors, "value", return_tensors)
        if kind == "pt":
            data = {name: torch.from_numpy(values) for name, values in data.items()}
        return BatchEncoding(data, cast(Any, rows), tensor_type=None if kind in ("pt", "np") else return_tensors)

    # -- Padding ------------------------------------------------------------------------------------------------------

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
        """Pads encodings, a mapping of names to rows or a list of such mappings, to one length.

        Knows `input_ids`, `attention_mask`, `token_type_ids` and `special_tokens_mask`; other names stay as they are.

        Raises:
            ValueError: no `input_ids`, or blocks of another size than this tokenizer's.
        """
        if not isinstance(encoded_inputs, Mapping):
            names = encoded_inputs[0].keys() if encoded_inputs else ["input_ids"]
            encoded_inputs = {name: [row[name] for row in encoded_inputs] for name in names}
        if "input_ids" not in encoded_inputs:
            raise ValueError(f"pad got {sorted(encoded_inputs)}; it needs input_ids as this tokenizer returns them.")
        strategy, _, max_length, _ = self._get_padding_truncation_strategies(
            padding=padding, max_length=max_length, verbose=verbose
        )
        is_batch = _depth(encoded_inputs["input_ids"]) != 2
        data: dict[str, Any] = {
            name: values if is_batch else [values] for name, values in encoded_inputs.items() if values is not None
        }
        ids = [np.asarray(row, dtype=np.int64).reshape(-1, self.block_size) for row in data["input_ids"]]
        lengths = [len(row) for row in ids]
        width = _padded_width(lengths, strategy, max_length, pad_to_multiple_of)
        data["input_ids"] = ids
        wants_mask = (
            "attention_mask" in self.model_input_names if return_attention_mask is None else return_attention_mask
        )
        if wants_mask and "attention_mask" not in data:
            data["attention_mask"] = [np.ones(length, dtype=np.int64) for length in lengths]
        side = padding_side or self.padding_side
        for name, values in data.items():
            rows = [np.asarray(row) for row in values]
            if strategy != PaddingStrategy.DO_NOT_PAD and name in _PAD_VALUES:
                rows = [_pad_row(row, width, side, _PAD_VALUES[name]) for row in rows]
            data[name] = rows
        return self._finish(data, None, return_tensors, is_batch=is_batch)

    # -- Blocks → text ------------------------------------------------------------------------------------------------

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> str | list[str]:
        """Returns the text of blocks (S, K), or the texts of a batch (B, S, K).

        Units are joined by a space, or by nothing for the bytes and characters splitters; a unit that was cut at K stays
        cut.

        Raises:
            NotImplementedError: the coder is a hash, which has no inverse.
        """
        if _depth(token_ids) == 3:
            return [cast(str, self.decode(row, skip_special_tokens)) for row in token_ids]
        blocks = np.asarray(token_ids, dtype=np.int64).reshape(-1, self.block_size)
        pieces: list[bytes] = []
        for block in blocks:
            if block[0] >= NUM_SPECIAL:
                pieces.append(self._coder.decode(narrow(block[block >= NUM_SPECIAL], pads=False).tobytes()))
            elif not skip_special_tokens:
                pieces.append(self._special_names[int(block[0])].encode("utf-8"))
        if isinstance(self._splitter, SubwordSplitter) and self._splitter.tokenizer.decoder is not None:
            return cast(str, self._splitter.tokenizer.decoder.decode([_to_text(piece) for piece in pieces]))
        return _to_text(self._splitter.separator.encode("utf-8").join(pieces))

    # -- What a tokenizer with a vocabulary would look up ---------------------------------------------------------------

    def tokenize(  # type: ignore[override]
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Returns the units of a text in their printed form."""
        return cast(list[str], self(text, pair, add_special_tokens=add_special_tokens, **kwargs).tokens())

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Returns the id, 0–4, of a special token, the block, K elements, of any other token; of a list, a list."""
        if not isinstance(tokens, str):
            return None if tokens is None else [self.convert_tokens_to_ids(token) for token in tokens]
        names = self._special_names
        return names.index(tokens) if tokens in names else self._cache.blocks([tokens])[0].tolist()

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Returns the name of a special id, 0–4, or the unit of a block; of a list, a list."""
        if np.ndim(ids) == 0:
            return self._special_names[int(ids)]
        blocks = np.asarray(ids)
        if blocks.ndim == 1 and blocks.shape[0] == self.block_size and (blocks >= NUM_SPECIAL).any():
            return self.decode([ids])
        return [
            self.convert_ids_to_tokens(int(row[0]) if np.ndim(row) and row[0] < NUM_SPECIAL else row)
            for row in ids
            if not (skip_special_tokens and np.ravel(row)[0] < NUM_SPECIAL)
        ]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Joins units."""
        return self._splitter.separator.join(tokens)

    def get_special_tokens_mask(  # type: ignore[override]
        self, token_ids_0: Any, token_ids_1: Any = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Returns 1 for each block of `token_ids_0` that is a special token or padding, else 0."""
        if already_has_special_tokens:
            return (np.asarray(token_ids_0)[:, 0] < NUM_SPECIAL).astype(int).tolist()
        second = [] if token_ids_1 is None else [0] * len(token_ids_1) + [1]
        return [1] + [0] * len(token_ids_0) + [1, *second]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Returns 2, [CLS] a [SEP], or 3 for a pair, [CLS] a [SEP] b [SEP]."""
        return 3 if pair else 2

    @property
    def vocab_size(self) -> int:
        """Values that an element can have: 5 special ones and 256 bytes. There is no vocabulary."""
        return NUM_SPECIAL + 256

    def __len__(self) -> int:
        return self.vocab_size

    def get_vocab(self) -> dict[str, int]:
        """Returns the special tokens, all that has an id."""
        return {name: index for index, name in enumerate(self._special_names)}

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The special tokens by id."""
        return {index: AddedToken(name, special=True) for index, name in enumerate(self._special_names)}

    @property
    def added_tokens_encoder(self) -> dict[str, int]:
        """The ids of the special tokens."""
        return self.get_vocab()

    def get_added_vocab(self) -> dict[str, int]:
        """Returns the special tokens."""
        return self.get_vocab()

    @property
    def _special_names(self) -> list[str]:
        return [str(self._special_tokens_map[role]) for role in ROLES]

    # -- Saving ---------------------------------------------------------------------------------------------------------

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Writes `subword.json` and `ngrams.json` where this tokenizer has them; returns their paths."""
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        files = []
        if isinstance(self._splitter, SubwordSplitter):
            files.append(os.path.join(save_directory, prefix + self.vocab_files_names["subword_file"]))
            self._splitter.tokenizer.save(files[-1])
        if self._ngrams is not None:
            files.append(os.path.join(save_directory, prefix + self.vocab_files_names["ngrams_file"]))
            Path(files[-1]).write_text(json.dumps(self._ngrams, ensure_ascii=False), encoding="utf-8")
        return tuple(files)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cache"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._cache = BlockCache(self._splitter, self._coder)


class _Rows(dict[Unit, int]):
    """Unit → row of the cache's table. A new unit gets the next row and waits in `unseen`."""

    def __init__(self) -> None:
        super().__init__()
        self.unseen: list[Unit] = []

    def __missing__(self, unit: Unit) -> int:
        self.unseen.append(unit)
        row = self[unit] = len(self)
        return row


def _build(axis: str, classes: Mapping[str, type[Any]], name: str, options: dict[str, Any]) -> Any:
    if name not in classes:
        raise ValueError(f"unknown {axis} {name!r}; choose one of {', '.join(classes)}.")
    try:
        return classes[name](**options)
    except TypeError as error:
        code = classes[name].__init__.__code__
        legal = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        raise ValueError(f"{axis} {name!r} got options {options}; it takes {', '.join(legal)}.") from error


def _read_subword(file: str | os.PathLike[str] | None) -> Tokenizer:
    if file is None:
        raise ValueError(
            "the subword splitter got no subword_file; give the tokenizer.json whose tokens are to be units."
        )
    return Tokenizer.from_file(os.fspath(file))


def _as_batch(text: Any, pair: Any, is_split: bool) -> tuple[list[Any], list[Any] | None, bool]:
    """Returns the texts, their pairs or None, and whether a batch was given.

    Raises:
        ValueError: something in it is no text.
    """
    item = (list, tuple) if is_split else str
    is_batch = not isinstance(text, str) and (not is_split or not text or not isinstance(text[0], str))
    if is_batch and not isinstance(text, Iterable):
        _check_text(text, "text", is_split)
    texts = list(text) if is_batch else [text]
    pairs = None if pair is None else list(pair) if is_batch and not isinstance(pair, str) else [pair]
    if is_batch and pair is None and not is_split and texts and all(_is_pair(one) for one in texts):
        texts, pairs = [one[0] for one in texts], [one[1] for one in texts]
    for name, values in (("text", texts), ("text_pair", pairs or [])):
        for position, value in enumerate(values):
            if not isinstance(value, item) or (is_split and not all(isinstance(word, str) for word in value)):
                _check_text(value, f"{name}[{position}]" if is_batch else name, is_split)
    if pairs is not None and len(pairs) != len(texts):
        raise ValueError(f"{len(texts)} texts came with {len(pairs)} pairs; give one pair for each text.")
    return texts, pairs, is_batch


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(text, str) for text in value)


def _check_text(value: Any, name: str, is_split: bool) -> None:
    expected = "a list of str (is_split_into_words=True)" if is_split else "a str"
    raise ValueError(f"{name} is {type(value).__name__} {str(value)[:40]!r}; it must be {expected}.")


def _windows(
    lengths: list[int], room: int, strategy: TruncationStrategy, stride: int, side: str, overflow: bool
) -> list[list[tuple[int, int]]]:
    """Returns the rows that a sample becomes: for each, the units (start, stop) of each sequence.

    Args:
        lengths: units of each of one or two sequences; too many together.
        room: units that fit a row.
        strategy: which sequence is cut.
        stride: units that neighbouring rows share.
        side: "right" cuts the end off, "left" the beginning.
        overflow: whether the rest is returned too, in further rows.

    Raises:
        ValueError: nothing would be left, or the overflow of a pair under longest_first is asked for.
    """
    cut = 0
    if len(lengths) == 2:
        if strategy == TruncationStrategy.LONGEST_FIRST:
            if overflow:
                raise ValueError(
                    "overflow of a pair under truncation='longest_first' has no one meaning; "
                    "give truncation='only_first' or 'only_second'."
                )
            return [[_kept(n, keep, side) for n, keep in zip(lengths, _longest_first(lengths, room), strict=True)]]
        cut = int(strategy == TruncationStrategy.ONLY_SECOND)
    elif strategy == TruncationStrategy.ONLY_SECOND:
        raise ValueError("truncation='only_second' got a single text; give text_pair, or truncation=True.")
    size = room - sum(lengths) + lengths[cut]
    if size < 0 or (size == 0 and len(lengths) == 2):
        raise ValueError(
            f"cutting the {'second' if cut else 'first'} sequence alone leaves {size} of its {lengths[cut]} tokens; "
            "raise max_length, or give truncation='longest_first'."
        )
    if not overflow:
        parts = [_kept(lengths[cut], size, side)]
    else:
        if not 0 <= stride < size:
            raise ValueError(f"stride={stride} must be at least 0 and less than the {size} tokens that fit a row.")
        starts = range(0, max(lengths[cut] - stride, 1), size - stride)
        parts = [(start, min(start + size, lengths[cut])) for start in starts]
        if side == "left":
            parts = [(lengths[cut] - stop, lengths[cut] - start) for start, stop in parts]
    whole = [(0, n) for n in lengths]
    return [[*whole[:cut], part, *whole[cut + 1 :]] for part in parts]


def _longest_first(lengths: list[int], room: int) -> list[int]:
    """Returns how much of each of two sequences is kept when the longer one always gives way."""
    room = max(room, 0)
    shorter = min(min(lengths), room // 2)
    longer = room - shorter
    return [longer, shorter] if lengths[0] > lengths[1] else [shorter, longer]


def _kept(length: int, keep: int, side: str) -> tuple[int, int]:
    keep = max(min(keep, length), 0)
    return (length - keep, length) if side == "left" else (0, keep)


def _padded_width(
    lengths: Sequence[int], strategy: PaddingStrategy, max_length: int | None, multiple: int | None
) -> int:
    width = max(lengths, default=0)
    if strategy == PaddingStrategy.DO_NOT_PAD:
        return width
    if strategy == PaddingStrategy.MAX_LENGTH and max_length is not None:
        width = max(width, max_length)
    return -(-width // multiple) * multiple if multiple else width


def _pad_row(row: NDArray[Any], width: int, side: str, value: int) -> NDArray[Any]:
    missing = width - len(row)
    before = missing if side == "left" else 0
    return np.pad(row, [(before, missing - before)] + [(0, 0)] * (row.ndim - 1), constant_values=value)


def _depth(value: Any) -> int:
    """Returns how deep a nested sequence, array or tensor is; an empty one counts as a batch."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape)
    if not isinstance(value, (list, tuple)):
        return 0
    return 1 + (_depth(value[0]) if len(value) else 2)


def _to_list(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _to_text(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # a unit or window was cut inside a character
        return data.decode("utf-8", "replace")
