"""The limits of the flags that are numbers."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple


class Limit(NamedTuple):
    """The values that a flag may have: from `low` to `high`, both included."""

    low: float = 0
    high: float = math.inf
    above: bool = False  # whether `low` is left out
    also: tuple[float, str] | None = None  # a value outside the limits that has a meaning of its own, and that meaning

    def allows(self, value: float) -> bool:
        """Returns whether a flag may have the value; NaN and infinity never."""
        if self.also is not None and value == self.also[0]:
            return True
        return math.isfinite(value) and (value > self.low if self.above else value >= self.low) and value <= self.high

    def __str__(self) -> str:
        """Returns the remedy, for instance "a number of at least 0 and at most 1"."""
        words = f"a number above {self.low:g}" if self.above else f"a number of at least {self.low:g}"
        words += f" and at most {self.high:g}" if math.isfinite(self.high) else ""
        return words if self.also is None else f"{words}, or {self.also[0]:g} {self.also[1]}"


MIN_VOCABULARY = 6  # of a subword tokenizer: five special tokens and one more
SHARE = Limit(0, 1)
COUNT = Limit(1)
POSITIVE = Limit(0, above=True)


def check_limits(values: Mapping[str, Any], limits: Mapping[str, Limit]) -> None:
    """Checks the values of flags, without their dashes, against the limits of some of them; None is always allowed.

    Raises:
        ValueError: a value is outside its limits.
    """
    for name, limit in limits.items():
        value = values[name]
        if value is not None and not limit.allows(value):
            raise ValueError(f"--{name} {value} is out of range; give {limit}.")
