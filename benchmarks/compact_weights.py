"""Weights of 16 bits that an archive, such as a wheel, compresses to less than half.

Each row of a matrix becomes whole numbers times a power of two. Numbers of 16 bits hold these products exactly, and few
of them are different, so deflate needs few bits for each.

    python -m benchmarks.compact_weights runs/mine
    vocabless hub runs/mine small/ --half

The first command changes the folder; the second one stores the rounded weights in 16 bits.
"""

import sys
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from vocabless.saving.sentence_modules import DENSE

BITS = 6  # of a whole number with its sign
TABLE_BITS = 4  # of one in a table of n-grams: an embedding is a sum of twenty rows and more, so that errors cancel out
TABLE = "front_end.table.weight"


def compact(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the weights in 16 bits, with rounded matrices; whole numbers and vectors keep their values.

    See `round_rows`. Of `hashgram-multi-sentence`, a zip archive holds 34 % of the bytes, and 91 % without rounding.
    """
    return {
        name: (round_rows(value, TABLE_BITS if name.endswith(TABLE) else BITS) if value.dim() == 2 else value).half()
        if value.is_floating_point()
        else value
        for name, value in weights.items()
    }


def round_rows(matrix: Tensor, bits: int) -> Tensor:
    """Returns a matrix (rows, D) whose rows are whole numbers of so many bits times a power of two.

    Of the smallest power that holds the largest number of a row, and its half, which cuts the numbers that are larger,
    each row has the one with the smaller squared error.

    Example:
        >>> round_rows(torch.tensor([[1.9, -0.3, 0.6]]), 3).tolist()
        [[1.5, -0.5, 0.5]]
    """
    values, most = matrix.float(), 2 ** (bits - 1) - 1
    largest = values.abs().amax(dim=-1, keepdim=True).clamp(min=torch.finfo(torch.float16).tiny)
    power = torch.exp2((largest / most).log2().ceil())
    whole, cut = ((values / step).round().clamp(-most, most) * step for step in (power, power / 2))
    errors = [(rounded - values).square().sum(dim=-1, keepdim=True) for rounded in (whole, cut)]
    return torch.where(errors[1] < errors[0], cut, whole).to(matrix.dtype)


def main(argv: list[str] | None = None) -> None:
    """Rounds the weights in the folder of a checkpoint, and those of its dense layer."""
    (folder,) = map(Path, sys.argv[1:] if argv is None else argv)
    for file in filter(Path.is_file, (folder / "model.safetensors", folder / DENSE / "model.safetensors")):
        with safe_open(file, "pt") as weights:
            metadata = weights.metadata()  # it has the id that config.json has, too
        save_file({name: value.clone() for name, value in compact(load_file(file)).items()}, file, metadata)


if __name__ == "__main__":
    main()
