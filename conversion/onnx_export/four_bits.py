"""Rows of a table of n-grams in 4 bits: whole numbers from −8 to 7, and a factor for each 64 numbers of a row.

An embedding is a sum of twenty rows and more, so the errors of single numbers cancel out. The rows of other tables are
read alone, and stay in 8 bits.
"""
# mypy: no-warn-return-any

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel

TABLE = "front_end.table.weight"  # end of the name of the weights of `HashEmbedding`'s table
GROUP = 64  # numbers with one factor
SMALLEST, LARGEST = -8, 7
SHARES = np.linspace(0.5, 1, 11)  # of the largest number in a group, which may become LARGEST


def check_has_table(names: Iterable[str]) -> None:
    """Raises ValueError if none of the names of a model's weights is that of a table of n-grams."""
    if not any(name.endswith(TABLE) for name in names):
        raise ValueError("--int4 packs the rows of a table of n-grams, and this model has none; leave it out.")


def quantize_rows(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Returns the numbers of a table (rows, D) and their factors, those with the smallest squared error.

    The numbers are (rows, D) int8 within `SMALLEST` and `LARGEST`; the factors are (rows, G) float32, of which the last
    may have fewer numbers.

        >>> numbers, factors = quantize_rows(np.array([[0.7, -0.2, 0.1]], np.float32))
        >>> numbers.tolist(), factors.shape
        ([[7, -2, 1]], (1, 1))
    """
    rows, size = table.shape
    groups = -(-size // GROUP)
    values = np.pad(table, ((0, 0), (0, groups * GROUP - size))).reshape(rows, groups, GROUP)
    largest = np.abs(values).max(axis=-1, keepdims=True)
    whole = np.where(largest > 0, largest, 1) / LARGEST
    numbers, factors, error = np.zeros_like(values), whole, np.full(whole.shape, np.inf)
    for tried in (share * whole for share in SHARES):
        rounded = np.rint(values / tried).clip(SMALLEST, LARGEST)
        squares = np.square(rounded * tried - values).sum(axis=-1, keepdims=True)
        is_better = squares < error
        numbers, factors = np.where(is_better, rounded, numbers), np.where(is_better, tried, factors)
        error = np.where(is_better, squares, error)
    return numbers.reshape(rows, -1)[:, :size].astype(np.int8), factors[..., 0].astype(np.float32)


def restore_rows(numbers: NDArray[np.int8], factors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the table, (rows, D), that the numbers and factors of `quantize_rows` stand for."""
    return numbers * np.repeat(factors, GROUP, axis=1)[:, : numbers.shape[1]]


def pack(numbers: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Returns two numbers of (rows, D) in each byte, (rows, H), H = ⌈D / 2⌉.

    A byte holds columns j and j + H, the first in its low half.

    >>> pack(np.array([[-8, 7, 0]], np.int8)).tolist()
    [[128, 143]]
    """
    even = np.pad(numbers, ((0, 0), (0, numbers.shape[1] % 2)))
    low, high = np.split((even.astype(np.int16) - SMALLEST).astype(np.uint8), 2, axis=1)
    return low + np.uint8(16) * high


class PackedTable(nn.Module):
    """Takes the place of a table, `nn.Embedding`, in a graph that is exported: reads 4-bit rows and unpacks them."""

    packed: Tensor
    factors: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        numbers, factors = quantize_rows(weight.detach().numpy())
        self.register_buffer("packed", torch.from_numpy(pack(numbers)))
        self.register_buffer("factors", torch.from_numpy(factors))
        self._size = weight.shape[1]

    @property
    def weight(self) -> Any:
        """A tensor of the type that the rows have."""
        return self.factors

    def forward(self, rows: Tensor) -> Tensor:
        """Returns the rows of the table with the numbers (…), (…, D) float32."""
        packed, factors = (table.index_select(0, rows.flatten()) for table in (self.packed, self.factors))
        both = packed.float()  # onnxruntime shifts no bytes
        high = (both / 16).floor()
        numbers = torch.cat([both - 16 * high, high], dim=-1)[:, : self._size] + SMALLEST
        factors = factors.unsqueeze(-1).expand(-1, -1, GROUP).flatten(-2)[:, : self._size]
        return (numbers * factors).unflatten(0, rows.shape)


@contextmanager
def packed_rows(model: PreTrainedModel) -> Iterator[None]:
    """Lets a model that has a table of n-grams read 4-bit rows within a `with` block."""
    front_end: Any = model.base_model.front_end
    table = front_end.table
    front_end.table = PackedTable(table.weight)
    try:
        yield
    finally:
        front_end.table = table
