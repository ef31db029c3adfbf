"""The weights of a page: one binary of float32 and int8 numbers."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
MIN_INT8_NUMBERS = 1024  # smaller matrices stay float32
LARGEST = 127


@dataclass
class Weights:
    """Collects numbers. float32 numbers come first, so that they are aligned to 4 bytes.

    Attributes:
        floats: the bytes of the float32 numbers so far.
        integers: the int8 numbers so far.
    """

    floats: bytearray = field(default_factory=bytearray)
    integers: bytearray = field(default_factory=bytearray)
    _int8: list[dict[str, Any]] = field(default_factory=list)

    def add(self, array: Floats) -> dict[str, Any]:
        """Adds an array; returns where it is, as the page reads it."""
        offset = len(self.floats)
        self.floats += array.astype("<f4").tobytes()
        return {"offset": offset}

    def add_int8(self, array: Floats, axis: int) -> dict[str, Any]:
        """Adds a matrix as int8 with one factor for each index of `axis`; returns where it is."""
        numbers, factors = quantize(array, axis)
        place = {"offset": len(self.integers), "scales": self.add(factors)["offset"], "axis": axis}
        self.integers += numbers.tobytes()
        self._int8.append(place)
        return {"int8": place}

    def finish(self) -> bytes:
        """Returns the binary; completes the places that `add_int8` returned. Call it once, at the end."""
        for place in self._int8:
            place["offset"] += len(self.floats)
        return bytes(self.floats + self.integers)


def quantize(array: Floats, axis: int) -> tuple[NDArray[np.int8], Floats]:
    """Returns a matrix as int8 numbers, −127 to 127, and the factor of each index of `axis`.

    >>> quantize(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32), axis=0)[0].tolist()
    [[64, -127], [0, 0]]
    """
    largest = np.abs(array).max(axis=1 - axis)
    factors = (np.where(largest > 0, largest, 1) / LARGEST).astype(np.float32)
    return np.rint(array / np.expand_dims(factors, 1 - axis)).astype(np.int8), factors
