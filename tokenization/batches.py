"""What a call reads and returns: texts and pairs, rows of blocks, and padded arrays as lists or tensors."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.tokenization_utils_base import BatchEncoding

from .block_coders import CLS, NUM_SPECIAL, SEP, Elements, Integers
from .truncation import Row

BatchArray = NDArray[Any] | Sequence[Any]  # one array for all rows, or a list of arrays or lists, one for each row

# The padding value of each name; other names are not padded.
PAD_VALUES = {"input_ids": 0, "attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1}


def as_batch(text: Any, pair: Any, is_split: bool) -> tuple[list[Any], list[Any] | None, bool]:
    """Returns a list of texts, the list of their second texts or None, and whether a batch was given.

    Args:
        text: a text, or a batch of texts; a text is a str, or a list of str if `is_split`. Without `pair` and
            `is_split`, a batch whose values are all (str, str) is a batch of pairs.
        pair: the second text, or a batch of second texts, or None.
        is_split: whether texts are lists of words.

    Raises:
        ValueError: a value is not a text, or `pair` has another number of texts.

    >>> as_batch([("a", "b"), ("c", "d")], None, is_split=False)
    (['a', 'c'], ['b', 'd'], True)
    """
    if isinstance(text, str) and pair is None and not is_split:
        return [text], None, False
    text, is_batch = _listed(text, "text", is_split)
    texts, pairs = text if is_batch else [text], None
    if pair is not None:
        pair, is_pair_batch = _listed(pair, "text_pair", is_split)
        pairs = pair if is_batch and is_pair_batch else [pair]
    elif is_batch and not is_split and texts and all(_are_words(each) and len(each) == 2 for each in texts):
        texts, pairs = [first for first, _ in texts], [second for _, second in texts]
    for name, values in (("text", texts), ("text_pair", pairs or [])):
        for position, value in enumerate(values):
            if not (_are_words(value) if is_split else isinstance(value, str)):
                _refuse(value, f"{name}[{position}]" if is_batch else name, is_split)
    if pairs is not None and len(pairs) != len(texts):
        raise ValueError(f"got {len(texts)} texts and {len(pairs)} values of text_pair; give one for each text.")
    return texts, pairs, is_batch


def write_rows(
    samples: Sequence[Sequence[bytes]], rows: Sequence[Row], block_bytes: int, special: Sequence[bytes] | None
) -> tuple[list[bytes], list[int]]:
    """Returns the blocks of all rows end to end, in parts, and the number of tokens of each sequence.

    `samples` are the blocks of each sample's one or two sequences, end to end, and `special` those of the special
    tokens by id; None writes none. A special token belongs to the sequence before it, [CLS] to the first.

    >>> write_rows([[b"ab", b"c"]], [(0, [(0, 2), (0, 1)])], 1, [b"P", b"U", b"C", b"S"])
    ([b'C', b'ab', b'S', b'c', b'S'], [4, 2])
    """
    parts: list[bytes] = []
    counts = []
    for sample, ranges in rows:
        num_special = 0
        if special:
            parts.append(special[CLS])
            num_special = 2  # of the first sequence
        for sequence, (start, stop) in zip(samples[sample], ranges, strict=True):
            parts.append(sequence[start * block_bytes : stop * block_bytes])
            if special:
                parts.append(special[SEP])
            counts.append(stop - start + num_special)
            num_special = bool(special)
    return parts, counts


class RowPadding:
    """The lengths of a batch's rows, and where their padding is.

    Args:
        lengths: number of tokens of each row.
        width: the length that rows are padded to, at least the longest; None: rows are not padded.
        side: which side is padded, "right" or "left".

    >>> RowPadding([1, 2], width=3, side="left").pad(np.array([7, 8, 9])).tolist()
    [[0, 0, 7], [0, 8, 9]]
    """

    def __init__(self, lengths: Sequence[int], width: int | None, side: str) -> None:
        if side not in ("left", "right"):
            raise ValueError(f"padding_side={side!r} is unknown; give left or right.")
        self.lengths, self._side = lengths, side
        shortest, longest = (min(lengths), max(lengths)) if lengths else (0, 0)
        self._is_ragged = width is None and shortest != longest
        self._width = longest if width is None else width
        self._is_full = shortest == self._width

    @cached_property
    def counts(self) -> list[tuple[int, int]]:
        """The number of padding positions on the left and on the right of each row."""
        missing = [0 if self._is_ragged else self._width - length for length in self.lengths]
        return [(count, 0) if self._side == "left" else (0, count) for count in missing]

    @cached_property
    def _is_token(self) -> NDArray[np.bool_]:
        """Whether each position holds a token, (rows, width)."""
        is_token = np.arange(self._width) < np.array(self.lengths)[:, None]
        return is_token[:, ::-1] if self._side == "left" else is_token

    def fill(self, number: int) -> BatchArray:
        """Returns `number`, 0 or 1, for each token and 0 for padding, int64."""
        if self._is_ragged:
            return [np.full(length, number, dtype=np.int64) for length in self.lengths]
        if number and not self._is_full:
            return self._is_token.astype(np.int64)
        filled = np.empty((len(self.lengths), self._width), dtype=np.int64)
        filled.fill(number)  # np.ones takes twice as long for a single text
        return filled

    def pad(self, flat: NDArray[Any], value: int = 0) -> BatchArray:
        """Returns the rows of `flat`, (sum of lengths, …), each padded with `value`: (rows, width, …)."""
        if self._is_ragged:
            ends = accumulate(self.lengths)
            return [flat[end - length : end] for length, end in zip(self.lengths, ends, strict=True)]
        shape = (len(self.lengths), self._width, *flat.shape[1:])
        if self._is_full:
            return flat.reshape(shape)
        padded = np.full(shape, value, dtype=flat.dtype)
        padded[self._is_token] = flat
        return padded


def requested_arrays(
    blocks: Elements,
    type_ids: Integers | None,
    padding: RowPadding,
    encodings: Sequence[Any],
    model_input_names: Collection[str],
    flags: Mapping[str, Any],
) -> dict[str, BatchArray]:
    """Returns `input_ids` and the other arrays that models take or that `flags`, `return_…`, request, by name.

    `blocks`, (tokens, K), and `type_ids`, (tokens,) or None if all are 0, are those of all rows end to end, special
    tokens included.
    """
    data = {"input_ids": padding.pad(blocks)}
    if is_requested("token_type_ids", flags.get("return_token_type_ids"), model_input_names):
        data["token_type_ids"] = padding.fill(0) if type_ids is None else padding.pad(type_ids)
    if is_requested("attention_mask", flags.get("return_attention_mask"), model_input_names):
        data["attention_mask"] = padding.fill(1)
    if flags.get("return_special_tokens_mask"):
        is_special = (blocks[:, 0] < NUM_SPECIAL).astype(np.int64)
        data["special_tokens_mask"] = padding.pad(is_special, PAD_VALUES["special_tokens_mask"])
    if flags.get("return_offsets_mapping"):
        data["offset_mapping"] = [encoding.offsets for encoding in encodings]
    if flags.get("return_length"):
        data["length"] = np.array([len(encoding) for encoding in encodings], dtype=np.int64)
    return data


def is_requested(name: str, flag: bool | None, model_input_names: Collection[str]) -> bool:
    """Returns whether a call returns an array: `flag` if the caller gave one, else whether models take the array."""
    return name in model_input_names if flag is None else flag


def padded_width(lengths: Sequence[int], strategy: str, max_length: int | None, multiple: int | None) -> int | None:
    """Returns the length that all rows are padded to, or None if they are not padded."""
    if strategy == "do_not_pad":
        return None
    width = max(lengths, default=0)
    if strategy == "max_length" and max_length is not None:
        width = max(width, max_length)
    return -(-width // multiple) * multiple if multiple else width


def pad_columns(columns: Mapping[str, Sequence[Any]], padding: RowPadding) -> dict[str, BatchArray]:
    """Returns the values of each name as arrays, one for each row, or padded if `PAD_VALUES` has the name.

    Raises:
        ValueError: a name that is padded differs from `input_ids` in the lengths of its rows.
    """
    arrays: dict[str, BatchArray] = {}
    for name, column in columns.items():
        rows = [np.asarray(row) for row in column]
        arrays[name] = rows
        if name in PAD_VALUES and padding.lengths:
            if [len(row) for row in rows] != padding.lengths:
                raise ValueError(f"pad got {name} of other lengths than input_ids; give one value for each block.")
            arrays[name] = padding.pad(np.concatenate(rows), PAD_VALUES[name])
    return arrays


def to_lists(data: Mapping[str, BatchArray], is_batch: bool) -> dict[str, Any]:
    """Returns the arrays as nested lists: all rows if `is_batch`, else the values of the only row."""
    lists = {
        name: rows.tolist()
        if isinstance(rows, np.ndarray)
        else [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
        for name, rows in data.items()
    }
    return lists if is_batch else {name: rows[0] for name, rows in lists.items()}


def to_tensors(data: Mapping[str, BatchArray], kind: Any) -> dict[str, Any]:
    """Returns the arrays as tensors of a kind that `transformers` has, such as "pt" or "np".

    Raises:
        ValueError: the rows of a name differ in length, or are not numbers.
    """
    if kind == "pt":
        return {name: torch.from_numpy(_stack(name, rows)) for name, rows in data.items()}
    arrays = {name: _stack(name, rows) for name, rows in data.items()}
    return arrays if kind == "np" else BatchEncoding(arrays, tensor_type=kind).data


def _stack(name: str, rows: BatchArray) -> NDArray[Any]:
    """Returns one array of int64, float32 or bool for all rows."""
    if isinstance(rows, np.ndarray) and rows.dtype == np.int64:
        return rows
    if not isinstance(rows, np.ndarray):
        rows = [np.asarray(row) for row in rows]
        if len({row.shape for row in rows}) > 1:
            lengths = sorted({len(row) if row.ndim else 1 for row in rows})
            raise ValueError(
                f"return_tensors needs rows of one length, but the rows of {name} have lengths {lengths}; "
                "give padding=True, and truncation=True if needed."
            )
        rows = np.stack(rows) if rows else np.zeros(0, dtype=np.int64)
    if rows.dtype.kind not in "biuf":
        raise ValueError(f"return_tensors needs numbers, but {name} holds no numbers; leave it out, or give None.")
    if rows.dtype.kind == "f":
        return rows.astype(np.float32)  # as torch makes of Python floats
    return rows if rows.dtype.kind == "b" else rows.astype(np.int64, copy=False)


def _listed(value: Any, name: str, is_split: bool) -> tuple[Any, bool]:
    """Returns `value`, as a list unless it is a str, and whether it is a batch of texts."""
    if isinstance(value, str):
        return value, False
    if isinstance(value, (bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        _refuse(value, name, is_split)
    values = list(value)
    return values, not (is_split and values and isinstance(values[0], str))


def _are_words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def _refuse(value: Any, name: str, is_split: bool) -> None:
    expected = "a list of str (is_split_into_words=True)" if is_split else "a str"
    hint = " (words need is_split_into_words=True)" if not is_split and _are_words(value) else ""
    raise ValueError(f"{name} is {type(value).__name__} {str(value)[:40]!r}; it must be {expected}{hint}.")
