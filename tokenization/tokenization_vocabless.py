"""`VocablessTokenizer`: text → blocks of K bytes, with the face of any Hugging Face tokenizer.

A splitter cuts a text into units, a block coder writes each unit as a block; a unit that was seen before is looked up
in a bounded cache. `input_ids` is (batch, sequence, K): elements 0–4 are [PAD], [UNK], [CLS], [SEP], [MASK], byte value
b is element b + 5, so no text can spell a special token. A special token is the block [id, 0, …, 0], padding is 0.
"""

import json
import os
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

import numpy as np
from tokenizers import AddedToken, Tokenizer
from transformers.tokenization_utils_base import BatchEncoding, PreTrainedTokenizerBase, TruncationStrategy
from transformers.utils.generic import PaddingStrategy

from .batch_rows import plan_rows, type_ids, write_rows
from .block_batches import as_blocks, depth
from .block_cache import BlockCache, Table
from .block_coders import CLS, MASK, NUM_SPECIAL, PAD, SEP, UNK, Bytes, Integers, narrow, widen
from .block_encodings import BlockEncodings
from .components import build_coder, build_splitter, read_ngrams, read_subword
from .padding import PAD_VALUES, Layout, Rows, padded_width, to_lists, to_tensors
from .splitters import Splitter, SubwordSplitter, Unit
from .text_batches import as_batch
from .truncation import Range  # noqa: F401 (transformers 5.0 takes from a folder what is named here)

__all__ = ["CLS", "MASK", "PAD", "ROLES", "SEP", "UNK", "VocablessTokenizer"]

_TARGETS = frozenset(("text_target", "text_pair_target", "max_target_length", "tokenizer_kwargs"))
_LENGTHS = frozenset(("padding", "truncation", "max_length"))
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")  # their ids are 0–4


class VocablessTokenizer(PreTrainedTokenizerBase):
    """A tokenizer without a vocabulary.

    Args:
        splitter: `word`, `whitespace`, `characters`, `bytes` or `subword`.
        coder: `md5`, `lsh`, `lsh-index` or `utf8`.
        splitter_options: keyword arguments of the splitter, for instance `{"lowercase": True}`.
        coder_options: keyword arguments of the coder, for instance `{"num_bits": 128}`.
        subword_file: for `subword`: the `tokenizer.json` of the `tokenizers` library whose tokens are the units.
        ngrams_file: for `lsh` and `lsh-index`: a JSON list of the n-grams that have a feature; None: all have.
        target_file: for masked LM: the `tokenizer.json` whose tokens the head predicts; None: the units' own.

    Raises:
        ValueError: unknown splitter or coder, unknown options, a missing file.

    Example:
        >>> tokenizer = VocablessTokenizer(splitter="word", coder="utf8", coder_options={"block_size": 3})
        >>> tokenizer("as is")["input_ids"]
        [[2, 0, 0], [102, 120, 0], [110, 120, 0], [3, 0, 0]]
    """

    vocab_files_names = {f"{name}_file": f"{name}.json" for name in ("subword", "ngrams", "target")}  # noqa: RUF012
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
        target_file: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.splitter, self.coder = splitter, coder
        self.splitter_options, self.coder_options = dict(splitter_options or {}), dict(coder_options or {})
        for role, name in zip(ROLES, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), strict=True):
            kwargs.setdefault(role, name)
        kwargs.pop("added_tokens_decoder", None)  # written for other tools; ids are fixed here
        super().__init__(  # type: ignore[no-untyped-call]
            splitter=splitter,
            coder=coder,
            splitter_options=self.splitter_options,
            coder_options=self.coder_options,
            **kwargs,
        )
        self._ngrams = read_ngrams(ngrams_file)
        self._splitter = build_splitter(splitter, self.splitter_options, subword_file)
        self._subword = self._splitter.tokenizer if isinstance(self._splitter, SubwordSplitter) else None
        self._target = None if target_file is None else read_subword(target_file)
        self._coder = build_coder(coder, self.coder_options, self._ngrams)
        self._cache = BlockCache(self._splitter, self._coder)

    def _switch_to_input_mode(self) -> None:
        pass  # every call asks whether this is defined, and finding out that it is not takes 3 µs

    @property
    def unit_splitter(self) -> Splitter:
        """The splitter itself."""
        return self._splitter

    @property
    def target_tokenizer(self) -> Tokenizer | None:
        """The tokenizer whose tokens masked LM predicts: `target_file`, else the one that cuts the units, or None."""
        return self._subword if self._target is None else self._target

    @property
    def block_size(self) -> int:
        """K, bytes in a block."""
        return self._coder.block_size

    # -- Corpora -----------------------------------------------------------------------------------------------------

    def raw_blocks(self, texts: Sequence[str]) -> tuple[Bytes, list[int]]:
        """Returns the units of all texts end to end, as stored, and how many each text has.

        A stored unit is K bytes, or K + 1 with the length last: (units, K or K + 1) uint8, without special tokens.
        `widen` turns them into `input_ids`.
        """
        batch, table = self._cache.look_up(texts)
        units = np.fromiter(chain.from_iterable(batch), dtype=np.intp)
        return narrow(table.take(units, axis=0), self._coder.pads), [len(rows) for rows in batch]

    @property
    def splits_at_spaces(self) -> bool:
        """Whether the units of a text are those of its pieces between white space."""
        return self._splitter.splits_at_spaces

    def raw_units(self, units: Sequence[Unit]) -> Bytes:
        """Returns units as stored, (units, K or K + 1) uint8, see `raw_blocks`."""
        rows, table = self._cache.look_up_units(units)
        return narrow(table.take(rows, axis=0), self._coder.pads)

    def widen(self, raw: Bytes) -> Integers:
        """Returns the elements, (…, K) int64, of stored blocks."""
        return widen(raw, self._coder.pads)

    @property
    def raw_block_size(self) -> int:
        """Bytes that a stored token takes: K, or K + 1 where blocks are padded."""
        return self.block_size + self._coder.pads

    # -- Text → blocks -----------------------------------------------------------------------------------------------

    def __call__(self, text: Any = None, text_pair: Any = None, *others: Any, **options: Any) -> BatchEncoding:
        """Encodes a text, a pair or a batch of either; takes what every tokenizer takes.

        Does what the library's own would, which spends a fifth of a sentence's time on passing its arguments on.
        """
        if text is None or others or not _TARGETS.isdisjoint(options):
            return cast(BatchEncoding, super().__call__(text, text_pair, *others, **options))
        if not _LENGTHS.isdisjoint(options):
            names = ("padding_strategy", "truncation_strategy", "max_length")
            found = self._get_padding_truncation_strategies(**options)  # type: ignore[no-untyped-call]
            options.update(zip(names, found, strict=False))
        return self._encode_plus(text, text_pair, **options)

    __call__.__wrapped__ = PreTrainedTokenizerBase.__call__  # type: ignore[attr-defined]  # its signature

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
        texts, pairs, is_batch = as_batch(text, text_pair, is_split_into_words)
        samples = list(zip(texts)) if pairs is None else list(zip(texts, pairs, strict=True))
        found, table = self._look_up(texts if pairs is None else texts + pairs, is_split_into_words)
        units = list(zip(found)) if pairs is None else list(zip(found, found[len(texts) :], strict=False))
        num_special = self.num_special_tokens_to_add(pair=pairs is not None) if add_special_tokens else 0
        room = None
        if truncation_strategy != TruncationStrategy.DO_NOT_TRUNCATE and max_length is not None:
            room = max_length - num_special
        side = self.truncation_side
        rows = plan_rows(units, room, truncation_strategy, stride, side, return_overflowing_tokens)
        tokens, segments = write_rows(units, rows, add_special_tokens)
        lengths = segments if pairs is None else [sum(both) for both in zip(segments[::2], segments[1::2], strict=True)]
        if room is None and max(lengths, default=0) > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(cast(Any, range(max(lengths))), max_length, verbose)
        width = padded_width(lengths, padding_strategy, max_length, pad_to_multiple_of)
        layout = Layout(lengths, width, padding_side or self.padding_side)

        blocks = table.take(np.array(tokens, dtype=np.intp), axis=0)
        data: dict[str, Rows] = {"input_ids": layout.spread(blocks, PAD_VALUES["input_ids"])}
        if self._wants("token_type_ids", return_token_type_ids):
            types = layout.spread(type_ids(segments), PAD_VALUES["token_type_ids"]) if pairs else layout.zeros()
            data["token_type_ids"] = types
        if self._wants("attention_mask", return_attention_mask):
            data["attention_mask"] = layout.mask()
        if return_special_tokens_mask:
            special = (blocks[:, 0] < NUM_SPECIAL).astype(np.int64)
            data["special_tokens_mask"] = layout.spread(special, PAD_VALUES["special_tokens_mask"])
        encodings = BlockEncodings(self._splitter, samples, rows, self._special_names, layout, add_special_tokens)
        if return_offsets_mapping:
            data["offset_mapping"] = [encoding.offsets for encoding in encodings]
        if return_length:
            data["length"] = np.array([len(encoding) for encoding in encodings], dtype=np.int64)
        if return_overflowing_tokens:
            data["overflow_to_sample_mapping"] = np.array([sample for sample, _ in rows], dtype=np.int64)
        batch = BatchEncoding(None, cast(Any, encodings), n_sequences=1 if pairs is None else 2)
        if return_tensors:
            batch.data = to_tensors(data, return_tensors)
        else:
            batch.data = to_lists(data, is_batch or return_overflowing_tokens)
        return batch

    def _wants(self, name: str, asked: bool | None) -> bool:
        return name in self.model_input_names if asked is None else asked

    def _look_up(self, texts: Sequence[Any], is_split_into_words: bool) -> tuple[list[list[int]], Table]:
        """Returns the units of each text as rows of a table, and the table."""
        if not is_split_into_words:
            return self._cache.look_up(texts)
        of_words, table = self._cache.look_up([word for words in texts for word in words])
        following = iter(of_words)
        return [list(chain.from_iterable(islice(following, len(words)))) for words in texts], table

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
        strategy, _, max_length, _ = self._get_padding_truncation_strategies(  # type: ignore[no-untyped-call]
            padding=padding, max_length=max_length, verbose=verbose
        )
        is_batch = depth(encoded_inputs["input_ids"]) != 2
        data: dict[str, Any] = {
            name: list(values) if is_batch else [values]
            for name, values in encoded_inputs.items()
            if values is not None
        }
        data["input_ids"] = [as_blocks(row, self.block_size) for row in data["input_ids"]]
        lengths = [len(row) for row in data["input_ids"]]
        if self._wants("attention_mask", return_attention_mask):
            data.setdefault("attention_mask", [np.ones(length, dtype=np.int64) for length in lengths])
        width = padded_width(lengths, strategy, max_length, pad_to_multiple_of)
        layout = Layout(lengths, width, padding_side or self.padding_side)
        for name, values in data.items():
            data[name] = [np.asarray(row) for row in values]
            if name not in PAD_VALUES or not lengths:
                continue
            if [len(row) for row in data[name]] != lengths:
                raise ValueError(f"pad got {name} of other lengths than input_ids; give one value for each block.")
            data[name] = layout.spread(np.concatenate(data[name]), PAD_VALUES[name])
        if return_tensors is None:
            return BatchEncoding(to_lists(data, is_batch))
        tensors = to_tensors(data, return_tensors)
        return BatchEncoding(tensors if is_batch else {name: rows[0] for name, rows in tensors.items()})

    # -- Blocks → text -----------------------------------------------------------------------------------------------

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> str | list[str]:
        """Returns the text of blocks (S, K), or the texts of a batch (B, S, K).

        Units are joined by a space, or by nothing for the bytes and characters splitters; a unit that was cut at K
        stays cut.

        Raises:
            NotImplementedError: the coder is a hash, which has no inverse.
            ValueError: the blocks have another K.
        """
        if depth(token_ids) > 2 and len(token_ids):
            return [cast(str, self.decode(row, skip_special_tokens)) for row in token_ids]
        blocks = as_blocks(token_ids, self.block_size)
        pieces = [self._unit(block) for block in blocks if block[0] >= NUM_SPECIAL or not skip_special_tokens]
        if self._subword is not None and self._subword.decoder is not None:
            return cast(str, self._subword.decoder.decode([_to_text(piece) for piece in pieces]))
        return _to_text(self._splitter.separator.encode("utf-8").join(pieces))

    def _unit(self, block: Integers) -> bytes:
        """Returns the bytes of a block's unit, or the name of a special token."""
        if block[0] < NUM_SPECIAL:
            return self._special_names[int(block[0])].encode("utf-8")
        return self._coder.decode(narrow(block[block >= NUM_SPECIAL], pads=False).tobytes())

    # -- What a tokenizer with a vocabulary would look up ------------------------------------------------------------

    def tokenize(  # type: ignore[override]
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Returns the units of a text in their printed form."""
        return self(text, pair, add_special_tokens=add_special_tokens, **kwargs).tokens()

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Returns the id, 0–4, of a special token, the block, K elements, of any other token; of a list, a list."""
        if not isinstance(tokens, str):
            return None if tokens is None else [self.convert_tokens_to_ids(token) for token in tokens]
        names = self._special_names
        return names.index(tokens) if tokens in names else self._cache.block(tokens).tolist()

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Returns the name of a special id, 0–4, or the unit of a block; of a list, a list."""
        if np.ndim(ids) == 0:
            return self._special_names[int(ids)]
        if depth(ids) == 1 and len(ids) == self.block_size and (ids[0] >= NUM_SPECIAL or not any(ids[1:])):
            return _to_text(self._unit(as_blocks(ids, self.block_size)[0]))
        kept = [row for row in ids if not skip_special_tokens or np.ravel(row)[0] >= NUM_SPECIAL]
        return [self.convert_ids_to_tokens(row) for row in kept]

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Joins units."""
        return self._splitter.separator.join(tokens)

    def get_special_tokens_mask(  # type: ignore[override]
        self, token_ids_0: Any, token_ids_1: Any = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Returns 1 for each block of `token_ids_0` that is a special token or padding, else 0."""
        if already_has_special_tokens:
            return cast(list[int], (as_blocks(token_ids_0, self.block_size)[:, 0] < NUM_SPECIAL).astype(int).tolist())
        second = [] if token_ids_1 is None else [0] * len(token_ids_1) + [1]
        return [1] + [0] * len(token_ids_0) + [1, *second]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Returns 2, [CLS] a [SEP], or 3 for a pair, [CLS] a [SEP] b [SEP]."""
        return 3 if pair else 2

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken], special_tokens: bool = False) -> int:
        names = self._special_names
        if any(str(token) not in names for token in new_tokens):
            raise ValueError(
                f"there is no vocabulary to add {', '.join(map(str, new_tokens))} to; any text has blocks already, "
                f"and the special tokens are {', '.join(names)}, which can only be renamed."
            )
        return 0

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
    def pad_token_id(self) -> int:
        """0; every call asks for it, and the library's way to it takes 2 µs."""
        return PAD

    @property
    def _special_names(self) -> list[str]:
        return [str(self._special_tokens_map[role]) for role in ROLES]

    # -- Saving ------------------------------------------------------------------------------------------------------

    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Writes `subword.json`, `target.json` and `ngrams.json` where this tokenizer has them; returns their paths."""
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


def _to_text(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # a unit or window was cut inside a character
        return data.decode("utf-8", "replace")
